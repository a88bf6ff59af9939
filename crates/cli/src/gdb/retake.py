"""gdb's side of a replay: stop before events, see where every thread is on its tape, run again to an earlier event.

The replay is an ordinary live process in which the shim enforces the recorded order. What it tells and what it is asked
lies on the board (crates/tape/src/board.rs), a file that this module maps; the shim compares positions itself and calls
retake_stopped() when it has come to the event, so that gdb traps once and not at each event.

The line before this text, written by `retake replay --gdb`, sets DIRECTORY: the board, the session and plan.json are there.
"""
import json
import mmap
import os
import signal
import struct
import subprocess
import time

import gdb

PLAN = json.load(open(os.path.join(DIRECTORY, "plan.json")))
LAYOUT = PLAN["layout"]
THREADS = {thread["name"]: thread for thread in PLAN["threads"]}
BY_NUMBER = {thread["number"]: thread for thread in PLAN["threads"]}
STOP_EVENT, STOP_BEGIN, STOP_END, STOP_REPORT = 1, 2, 3, 4
WAIT_VERSION, WAIT_EDGE, WAIT_END, WAIT_OUTSIDE, WAIT_MESSAGE, WAIT_TASK, WAIT_SHARED = 1, 2, 3, 4, 5, 6, 7
WAIT_RANK, WAIT_LIBRARY = 8, 9
SHIM = "libretake-"


def say(text):
    gdb.write("retake: " + text + "\n")


def path(name):
    return os.path.join(DIRECTORY, name)


# The board ------------------------------------------------------------------------------------------------------------


class Board:
    """The board of the present run. Each run makes a new file, so it is mapped afresh whenever it is asked."""

    def __init__(self):
        with open(path("board"), "r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), 0)

    def get(self, field, row=None):
        at, form = self.place(field, row)
        return struct.unpack_from("<" + form, self.bytes, at)[0]

    def put(self, field, value):
        at, form = self.place(field, None)
        struct.pack_into("<" + form, self.bytes, at, value)

    def place(self, field, row):
        at, form = LAYOUT["row" if row is not None else "board"][field]
        return (at if row is None else LAYOUT["rows_at"] + row * LAYOUT["row_size"] + at), form

    def row_of(self, pid, tid):
        """The thread of the take that the present thread is, if it is one."""
        for number, thread in BY_NUMBER.items():
            if self.get("tid", number) == tid and self.get("pid", number) == pid:
                return thread
        return None


def board():
    try:
        return Board()
    except (OSError, ValueError):
        return None


def is_live():
    return gdb.selected_inferior().pid != 0


def present_thread(now):
    """The selected thread's place in the take."""
    thread = gdb.selected_thread()
    if now is None or thread is None:
        return None
    return now.row_of(thread.ptid[0], thread.ptid[1])


def ask(thread=0, event=0, any_of=0):
    """Asks the threads to stop before an event, of one or of any of them; without arguments: not to stop."""
    now = board()
    if now is not None:
        now.put("ask_thread", thread)
        now.put("ask_event", event)
        now.put("ask_any", any_of)


def report():
    """The report of a divergence, in one line."""
    try:
        with open(path("session"), "rb") as file:
            session = file.read()
    except OSError:
        return None
    number = lambda field: struct.unpack_from("<I", session, LAYOUT["session"][field])[0]
    if number("report_state") != 2:
        return None
    start = LAYOUT["session"]["report"]
    text = session[start:start + number("report_len")].decode(errors="replace")
    said = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if said.get("what") == "stuck":
        return "stuck in thread %s at event %s" % (said.get("thread"), said.get("event"))
    words = (said.get("thread"), said.get("event"), said.get("recorded"), said.get("came"))
    return "diverged in thread %s at event %s: recorded %s; came %s" % words


# Words ----------------------------------------------------------------------------------------------------------------


def library(pc):
    return os.path.basename(gdb.current_progspace().solib_name(pc) or "")


def is_shim(pc):
    return library(pc).startswith(SHIM)


def program_frame():
    """The innermost frame of the selected thread that is neither the shim's nor libc's, if possible with a source line of
    the user's own, not of a header that came with the system."""
    found = []
    frame = gdb.newest_frame()
    for _ in range(64):
        if frame is None or not frame.is_valid():
            break
        if not library(frame.pc()).startswith((SHIM, "libc.so", "ld-linux", "libpthread")):
            found.append(frame)
        frame = frame.older()
    lined = [frame for frame in found if frame.find_sal().symtab is not None]
    own = [frame for frame in lined if not frame.find_sal().symtab.fullname().startswith("/usr/")]
    return (own + lined + found + [None])[0]


def place_of(thread):
    """Where the present thread is in the source: ` at relay.c:14 (change)`."""
    before = gdb.selected_thread()
    try:
        thread.switch()
        frame = program_frame()
        if frame is None:
            return ""
        sal, name = frame.find_sal(), frame.name() or "?"
        if sal.symtab is None:
            return " in %s" % name
        return " at %s:%d (%s)" % (os.path.basename(sal.symtab.filename), sal.line, name)
    except gdb.error:
        return ""
    finally:
        if before is not None and before.is_valid():
            before.switch()


def object_name(address):
    try:
        text = gdb.execute("info symbol %#x" % address, to_string=True)
    except gdb.error:
        text = ""
    name, found, _ = text.partition(" in section ")
    return name.replace(" + ", "+") if found else "the object at %#x" % address


def operation(now, number):
    """What the thread has begun and what has not happened yet."""
    if now.get("begun", number) <= now.get("count", number):
        return ""
    return PLAN["ops"].get(str(now.get("op", number)), ["", 0])[0]


def state(now, number):
    """What a thread does, as in `retake replay --stop-at`."""
    pid, tid = now.get("pid", number), now.get("tid", number)
    if pid == 0:
        return "not begun"
    if not os.path.exists("/proc/%d/task/%d" % (pid, tid)):
        return "ended"
    doing = operation(now, number)
    doing = doing + ": " if doing else ""
    stops, waits = now.get("stops", number), now.get("waits", number)
    if stops == STOP_EVENT:
        return doing + "stands before it"
    if stops == STOP_REPORT:
        return doing + "diverged"
    if stops == STOP_END or waits == WAIT_END:
        return doing + "its tape ends here"
    if waits == WAIT_VERSION:
        offset = PLAN["ops"].get(str(now.get("op", number)), ["", 0])[1]
        return doing + "waits for its turn at " + object_name(now.get("waits_at", number) - offset)
    if waits == WAIT_EDGE:
        other = BY_NUMBER.get(now.get("waits_at", number), {"name": "unknown"})["name"]
        return doing + "waits for event %d of thread %s" % (now.get("waits_for", number), other)
    if waits == WAIT_MESSAGE:
        words = (now.get("waits_at", number), now.get("waits_for", number))
        return doing + "waits for a message from task t%x with tag %d" % words
    if waits == WAIT_TASK:
        return doing + "waits for task t%x, which has not come" % now.get("waits_at", number)
    if waits == WAIT_SHARED:
        return doing + "waits for its turn at groups and mailboxes"
    if waits == WAIT_RANK:
        wanted = now.get("waits_for", number)
        words = struct.unpack("<ii", struct.pack("<Q", wanted))
        return doing + "waits for a message from rank %d, tag %d" % (words[1], words[0])
    if waits == WAIT_LIBRARY:
        return doing + "inside MPI"
    if waits == WAIT_OUTSIDE:
        return doing + "waits until others have come as far as they came"
    return doing + "under way" if doing else "between events"


# Stops ----------------------------------------------------------------------------------------------------------------


class StopPoint(gdb.Breakpoint):
    """Where the shim calls when a thread has come to its event."""

    def __init__(self):
        super().__init__("retake_stopped", internal=True)
        # An IDE needs gdb's own words, a person does not.
        self.silent = not PLAN["mi"]

    def stop(self):
        now = board()
        thread = present_thread(now)
        if thread is None:
            return False
        if now.get("stops", thread["number"]) == STOP_EVENT:
            # Two threads may come here at once; the first one has answered.
            if now.get("ask_thread") != thread["number"] and now.get("ask_any") == 0:
                return False
        PLAYER.told = False
        return True


def on_objfile(objfile):
    """The shim has been loaded: only now can the breakpoint be set without a complaint."""
    if PLAYER.point is None and os.path.basename(objfile.filename).startswith(SHIM):
        PLAYER.point = StopPoint()


def on_stop(_):
    """Whatever stopped it, what was asked for is over."""
    now = board()
    ask()
    if PLAYER.told or now is None:
        return
    PLAYER.told = True
    thread = present_thread(now)
    if thread is None:
        return
    number, name = thread["number"], thread["name"]
    why = now.get("stops", number)
    if why == STOP_END:
        say("all that was recorded is played; the program %s here. `continue` ends it so" % PLAN["ended"])
    elif why == STOP_REPORT:
        say("%s. `continue` ends the replay" % (report() or "diverged here"))
    else:
        event, events, doing = now.get("count", number) + 1, thread["events"], operation(now, number)
        doing = doing and ": " + doing
        if event > events:
            say("thread %s stands behind its last event, %d; what comes never happened%s" % (name, events, doing))
        else:
            say("thread %s stands before event %d of %d%s" % (name, event, events, doing))
    frame = program_frame()
    if frame is not None:
        frame.select()
        gdb.execute("frame")


def leave_shim():
    """Before gdb steps: a thread that stands before an event first has it, since the step is meant for the program. It is
let go up to the outermost function of the shim; from there gdb finds its own way out, to the right line."""
    thread, frame = gdb.selected_thread(), gdb.newest_frame()
    if thread is None or not is_shim(frame.pc()):
        return
    inner = None
    while frame.older() is not None and is_shim(frame.older().pc()):
        inner, frame = frame, frame.older()
    if inner is None:
        return
    back = gdb.FinishBreakpoint(inner, internal=True)
    back.silent = True
    resume()
    now = gdb.selected_thread()
    if now is None or now.ptid != thread.ptid or not is_shim(gdb.newest_frame().pc()):
        raise gdb.GdbError("retake: stopped before the step was done")


def on_exited(event):
    if PLAYER.again:
        return
    if hasattr(event, "exit_code"):
        open(path("ended"), "w").close()
    text = report()
    if text is not None:
        say(text)


def explain(setting):
    """Called when a setting was changed: some cannot work where the order of threads is enforced."""
    value = gdb.parameter(setting)
    if setting == "scheduler-locking" and value in ("on", "step"):
        say("scheduler-locking %s: only this thread runs%s; if the recorded order lets another thread go first, it waits "
            "for ever. Ctrl-C, then: set scheduler-locking off" % (value, " while you step" if value == "step" else ""))
    elif setting == "scheduler-locking" and value == "replay":
        say("scheduler-locking replay: the same as off, since this replay is a live process; do not use gdb's own `record`")
    elif setting == "non-stop" and value:
        say("non-stop: only the thread that comes to an event stops; the others go on until the order makes them wait, "
            "and the order of output is given up after two seconds. For one consistent state: set non-stop off")
    elif setting == "detach-on-fork" and not value and not gdb.parameter("schedule-multiple"):
        say("detach-on-fork off: a child stays stopped while its parent runs, and whoever waits for it waits for ever. "
            "Also: set schedule-multiple on. Or debug the child alone: retake replay %s --gdb PROCESS" % PLAN["take"])
    elif setting == "schedule-multiple" and not value and not gdb.parameter("detach-on-fork"):
        say("schedule-multiple off: only one process runs; if the recorded order lets another go first, it waits for ever. "
            "Better: set schedule-multiple on")


# Running --------------------------------------------------------------------------------------------------------------


class Player:
    """Starts the replay, and starts it again."""

    def __init__(self):
        self.child = None
        self.again = False
        self.point = None
        # Whether the last stop of ours has been put in words.
        self.told = True

    def begin(self, thread=0, event=0):
        """A fresh replay, up to an event of a thread; 0: the debugged process's own start."""
        if PLAN["held"]:
            raise gdb.GdbError("retake: this replay was started by --hold and cannot be started again from here; next: "
                               "retake replay %s --gdb %s:%d" % (PLAN["take"], BY_NUMBER[thread]["name"], event))
        wanted = {"thread": thread, "event": event, "begin": PLAN["attach"] or 0}
        with open(path("ask.json"), "w") as file:
            json.dump(wanted, file)
        if PLAN["attach"]:
            self.attach()
            if thread:
                # Attaching was a stop, too, and took back what was asked for.
                ask(thread=thread, event=event)
                gdb.execute("continue")
        else:
            gdb.execute("run")

    def back(self, thread, event):
        """Runs again to an event that is past. Breakpoints on the way would not be what was asked for."""
        active = [point for point in gdb.breakpoints() if point.enabled and point.visible]
        for point in active:
            point.enabled = False
        self.again = True
        try:
            if PLAN["attach"] and is_live() and not PLAN["held"]:
                self.end()
                gdb.execute("kill", to_string=True)
            self.begin(thread, event)
        finally:
            self.again = False
            for point in active:
                if point.is_valid():
                    point.enabled = True

    def end(self):
        """Ends what started the replay: first, since a launcher complains if it sees a rank end."""
        if self.child is None:
            return
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        self.child = None

    def attach(self):
        """Starts the whole replay beside gdb; the process asked for waits when it begins, and gdb attaches to it."""
        self.end()
        self.child = subprocess.Popen(PLAN["launcher"], stdin=subprocess.DEVNULL, start_new_session=True)
        main = PLAN["attach"]
        while True:
            now = board()
            if now is not None and now.get("rows") and now.get("stops", main) == STOP_BEGIN:
                break
            if self.child.poll() is not None:
                raise gdb.GdbError("the replay ended before process %s began" % BY_NUMBER[main]["process"])
            time.sleep(0.005)
        gdb.execute("attach %d" % now.get("pid", main), to_string=True)
        now.put("ask_begin", 0)


def go(thread, event):
    """To the event of a thread, forward or, if it is past, by running again."""
    number, now = thread["number"], board() if is_live() else None
    if not 1 <= event <= thread["events"]:
        raise gdb.GdbError("retake: thread %s has events 1 to %d, not %d" % (thread["name"], thread["events"], event))
    here = present_thread(now)
    if thread["process"] != (here["process"] if here else PLAN["process"]):
        words = (thread["name"], thread["process"], PLAN["take"], thread["name"], event)
        raise gdb.GdbError("retake: thread %s is in process %s, which this gdb does not debug; next: "
                           "retake replay %s --gdb %s:%d" % words)
    if now is None:
        PLAYER.begin(number, event)
    elif now.get("begun", number) >= event:
        say("event %d of thread %s is past; running again" % (event, thread["name"]))
        PLAYER.back(number, event)
    else:
        ask(thread=number, event=event)
        resume()


def resume():
    now = board()
    if now is not None:
        # What --hold made stand still goes on: from now on it is gdb that holds it.
        now.put("stand", 0)
    gdb.execute("continue")


def selected():
    """The selected thread and the board; an error if there is none."""
    now = board() if is_live() else None
    thread = present_thread(now)
    if thread is None:
        raise gdb.GdbError("retake: no thread of the replay is selected; next: retake-goto THREAD:N, or run")
    return thread, now


class Goto(gdb.Command):
    """Stop before an event: retake-goto [THREAD:]N

THREAD is a name such as 0.2, else the selected thread; N counts its events from 1. An event that is past is reached by
running again. The other threads are where the recorded order lets them be."""

    def __init__(self):
        super().__init__("retake-goto", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        name, _, event = argument.strip().rpartition(":")
        if not event.isdigit() or argument.strip() in THREADS:
            name, event = argument.strip(), "1"
        if name:
            thread = THREADS.get(name)
        elif is_live():
            thread = selected()[0]
        else:
            thread = PLAN["threads"][0]
        if thread is None:
            raise gdb.GdbError("retake: there is no thread %s; next: info retake" % name)
        go(thread, int(event))


class Next(gdb.Command):
    """Stop before the next event of the selected thread: retake-next"""

    def __init__(self):
        super().__init__("retake-next", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        thread, now = selected()
        number = thread["number"]
        event = max(now.get("begun", number), now.get("count", number)) + 1
        if event > thread["events"]:
            raise gdb.GdbError("retake: thread %s has no event after %d; `continue` lets it go on"
                               % (thread["name"], thread["events"]))
        go(thread, event)


class NextAny(gdb.Command):
    """Stop when any thread of this process is about to have an event: retake-next-any"""

    def __init__(self):
        super().__init__("retake-next-any", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        if not is_live():
            return go(PLAN["threads"][0], 1)
        ask(any_of=gdb.selected_inferior().pid)
        resume()


class Back(gdb.Command):
    """Run again to the event before, or to the N-th before: retake-back [N]

Nothing runs backwards: the replay is ended, started afresh, and stops there. Breakpoints are passed over on the way."""

    def __init__(self):
        super().__init__("retake-back", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        many = int(argument) if argument.strip().isdigit() else 1
        thread, now = selected()
        event = now.get("count", thread["number"]) + 1 - many
        if event < 1:
            raise gdb.GdbError("retake: thread %s has no event before that; `run` begins again" % thread["name"])
        PLAYER.back(thread["number"], event)


class Info(gdb.Command):
    """Every thread of the replay: its place on its tape, and what it does or waits for."""

    def __init__(self):
        super().__init__("info retake", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        now = board()
        here = present_thread(now) if is_live() else None
        present = {thread.ptid[1]: thread for thread in gdb.selected_inferior().threads()}
        rows = []
        for thread in PLAN["threads"]:
            number = thread["number"]
            mark = "*" if here is not None and here["number"] == number else " "
            if now is None or not is_live():
                rows.append((mark, thread["name"], "0 of %d" % thread["events"], "not begun"))
                continue
            text = state(now, number)
            at = present.get(now.get("tid", number))
            if at is not None and text != "ended":
                text += place_of(at)
            rows.append((mark, thread["name"], "%d of %d" % (now.get("count", number), thread["events"]), text))
        wide = [max(len(row[at]) for row in rows + [("", "thread", "events", "")]) for at in (1, 2)]
        gdb.write("  %-*s  %-*s  state\n" % (wide[0], "thread", wide[1], "events"))
        for mark, name, place, text in rows:
            gdb.write("%s %-*s  %-*s  %s\n" % (mark, wide[0], name, wide[1], place, text))


class Attach(gdb.Command):
    """Begin the replay and attach to the process that was asked for."""

    def __init__(self):
        super().__init__("retake-attach", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        PLAYER.begin()
        say("process %s has begun" % PLAN["process"])


class WithoutShim:
    """Backtraces without the shim's frames; `bt -no-filters` shows them."""

    def __init__(self):
        self.name, self.priority, self.enabled = "retake", 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        return (frame for frame in frames if not is_shim(frame.inferior_frame().pc()))


PLAYER = Player()
for command in (Goto, Next, NextAny, Back, Info, Attach):
    command()
WithoutShim()
gdb.events.new_objfile.connect(lambda event: on_objfile(event.new_objfile))
for objfile in gdb.objfiles():
    on_objfile(objfile)
gdb.events.stop.connect(on_stop)
gdb.events.exited.connect(on_exited)
# The replay sends the program's signals again by itself: they are nothing to stop at. Faults are.
gdb.execute("handle all nostop noprint pass", to_string=True)
gdb.execute("handle SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT SIGSYS stop print", to_string=True)
gdb.execute("set exec-wrapper " + PLAN["wrapper"])
for name in ("next", "step"):
    gdb.execute("define hook-%s\npython leave_shim()\nend" % name)
for name in ("scheduler-locking", "non-stop", "detach-on-fork", "schedule-multiple"):
    gdb.execute("define set hookpost-%s\npython explain('%s')\nend" % (name, name))
