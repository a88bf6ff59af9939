//! `retake replay --stop-at`: the state of the whole program before one event, without a debugger.
//!
//! The named thread stands before its event; the others go on until the order makes them wait, or they block, or they
//! have ended. When nothing moves any more, that is a state which the recorded run could have been in: a consistent cut.
//! Then every thread is asked for its stack.

use crate::board::{self, Where};
use crate::launch::{self, Verdict};
use crate::replay::{Player, Scene};
use crate::status::{Failure, Result, Status, say};
use crate::symbols::Symbols;
use crate::take::TempDir;
use crate::{Ending, gdb, session, words};
use retake_tape::board::{ASK_SIGNAL, AT_END, DEPTH, FILE, Row, stop, waiting};
use retake_tape::op::Op;
use retake_tape::reader::{Tape, Thread};
use retake_tape::session::{FILE as SESSION, ROOT_NAME, flag};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Nothing has moved in so many looks, one every [`launch`] nap: nothing will.
const LOOKS: u32 = 10;
/// A thread that is asked for its stack answers in so long.
const ANSWER: Duration = Duration::from_secs(2);
/// Threads that never come to rest (they spin, say) are told as running after so long.
const RESTLESS: Duration = Duration::from_secs(20);

pub fn main(mut player: Player, place: &str, hold: bool) -> Result<Ending> {
    let at_end = place == "end";
    let place = if at_end { Where { thread: ROOT_NAME.into(), event: None } } else { parse(place)? };
    let found = place.find(&player.take, &player.tapes)?;
    player.flags |= flag::BOARD;
    player.patience_ms = u32::MAX;
    let folder = TempDir::new()?;
    let mut scene = player.scene(folder.path(), None)?;
    let relay = std::mem::take(&mut scene.relay).start();
    let board = board::Mapped::create(&folder.path().join(FILE), &player.tapes)?;
    board.ask_thread.store(found.number, Relaxed);
    board.ask_event.store(if at_end { AT_END } else { place.event.unwrap_or(1) }, Relaxed);
    board.stand.store(1, Release);
    if hold {
        let debugged = gdb::Debugged { process: &found.process, attach: None, held: true, mi: false };
        gdb::write_plan(&player, folder.path(), &debugged)?;
    }
    let mut cut =
        Cut { board: &board, tapes: &player.tapes, scene: &scene, since: None, looks: 0, last: HashMap::new() };
    let mut told = false;
    let mut watch = |_| {
        if told || !cut.stands() {
            return Verdict::GoOn;
        }
        cut.ask();
        cut.tell(&mut Symbols::of_replay(&player.tapes));
        told = true;
        if hold {
            cut.tell_held(&folder.path().join(gdb::MODULE_FILE));
        }
        if hold { Verdict::GoOn } else { Verdict::StopAll }
    };
    let ran = launch::run(&scene.launch, &scene.session, &mut watch);
    // A process may outlive the first one, and the place may be in it.
    let session = folder.path().join(SESSION);
    while ran.is_ok() && scene.session.report_state.load(Acquire) == 0 && !session::living(&session).is_empty() {
        if watch(0) == Verdict::StopAll {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    session::end_all(&session);
    relay.finish();
    let ran = ran?;
    if told {
        return Ok(Ending::Status(Status::Fine));
    }
    player.went_well(&scene.session)?;
    let never = if at_end {
        "did not hang: it ended by itself".to_owned()
    } else {
        format!("ended before event {} of thread {}", place.event.unwrap_or(1), place.thread)
    };
    let what = format!("the program {never}, with {}", ran.ended.words());
    let status = if at_end { Status::Failed } else { Status::Diverged };
    Err(Failure::new(status, what).next(format!("retake show --light {}", player.take.label())))
}

fn parse(text: &str) -> Result<Where> {
    let place = Where::parse(text).filter(|place| place.event.is_some());
    let what = || format!("--stop-at {text}: not THREAD:EVENT, such as 0.2:812, nor `end`");
    place.ok_or_else(|| Failure::own(what()).next("retake show --light"))
}

/// What is known of the replay while it comes to rest.
struct Cut<'a> {
    board: &'a board::Mapped,
    tapes: &'a [Tape],
    scene: &'a Scene,
    /// When the named thread came to its event.
    since: Option<Instant>,
    looks: u32,
    /// Each thread's count and processor time at the last look.
    last: HashMap<u32, (u64, u64)>,
}

/// A thread of the take, with its row.
struct Member<'a> {
    tape: &'a Tape,
    thread: &'a Thread,
    row: &'a Row,
}

impl<'a> Cut<'a> {
    fn members(&self) -> Vec<Member<'a>> {
        let all = self.tapes.iter().flat_map(|tape| tape.threads.iter().map(move |thread| (tape, thread)));
        let member = |(tape, thread): (&'a Tape, &'a Thread)| {
            Some(Member { tape, thread, row: self.board.row(thread.header.number)? })
        };
        all.filter_map(member).collect()
    }

    /// Whether the named thread has come to its event and nothing moves any more.
    fn stands(&mut self) -> bool {
        if self.board.stopped.load(Acquire) == 0 || self.scene.session.report_state.load(Acquire) != 0 {
            return false;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let mut moved = false;
        for member in self.members() {
            let Some((sleeps, work)) = member.work() else { continue };
            let now = (member.row.count.load(Acquire), work);
            let before = self.last.insert(member.thread.header.number, now);
            let same =
                if member.waits() { before.is_some_and(|before| before.0 == now.0) } else { before == Some(now) };
            moved |= !same || !sleeps && !member.waits();
        }
        self.looks = if moved { 0 } else { self.looks + 1 };
        self.looks >= LOOKS || since.elapsed() > RESTLESS
    }

    /// Asks every thread for its stack, and waits for the answers.
    fn ask(&self) {
        let asked: Vec<_> = self.members().into_iter().filter(|member| member.work().is_some()).collect();
        for member in &asked {
            let (pid, tid) = (member.row.pid.load(Relaxed), member.row.tid.load(Relaxed));
            // SAFETY: a signal that the shim answers.
            unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, ASK_SIGNAL) };
        }
        let started = Instant::now();
        while started.elapsed() < ANSWER && asked.iter().any(|member| member.row.depth.load(Acquire) == 0) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Says where everyone is.
    fn tell(&self, symbols: &mut Symbols) {
        let members = self.members();
        let stopped = self.board.stopped.load(Relaxed);
        if let Some(member) = members.iter().find(|member| member.thread.header.number == stopped) {
            match member.row.stops.load(Relaxed) {
                stop::END => say(format_args!("all that was recorded is played; nothing moves any more")),
                _ => say(format_args!("stopped before {}", member.next_event())),
            }
        }
        let names: HashMap<u32, &str> =
            members.iter().map(|member| (member.thread.header.number, member.thread.name.as_str())).collect();
        for member in &members {
            let events = member.thread.events();
            let count = member.row.count.load(Relaxed);
            say(format_args!(
                "thread {}: {count} of {}; {}",
                member.thread.name,
                words::count(events, "event"),
                member.state(&names, symbols)
            ));
            for line in member.stack(symbols) {
                say(format_args!("    {line}"));
            }
        }
    }

    /// Says how to attach.
    fn tell_held(&self, module: &Path) {
        for tape in self.tapes {
            let main = tape.threads.first().and_then(|thread| self.board.row(thread.header.number));
            let pid = main.map_or(0, |row| row.pid.load(Relaxed));
            if pid != 0 && fs::exists(format!("/proc/{pid}")).unwrap_or(false) {
                say(format_args!("process {} is held; next: gdb -p {pid} -x {}", tape.name(), module.display()));
            }
        }
        say(format_args!("Ctrl-C ends it"));
    }
}

impl Member<'_> {
    fn waits(&self) -> bool {
        self.row.waits.load(Acquire) != waiting::NOT || self.row.stops.load(Acquire) != stop::NOT
    }

    /// Whether the kernel has put it to sleep, and its processor time in ticks; none if it does not exist.
    fn work(&self) -> Option<(bool, u64)> {
        let (pid, tid) = (self.row.pid.load(Acquire), self.row.tid.load(Acquire));
        if pid == 0 {
            return None;
        }
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        let state = *fields.first()?;
        if matches!(state, "Z" | "X") {
            return None;
        }
        Some((state != "R", ticks(11)? + ticks(12)?))
    }

    /// `event 4 of thread 0.1 (lock mutex)`.
    fn next_event(&self) -> String {
        let (event, name) = (self.row.count.load(Relaxed) + 1, &self.thread.name);
        match self.op() {
            Some(op) => format!("event {event} of thread {name} ({})", op.word()),
            None => format!("event {event} of thread {name}"),
        }
    }

    /// The operation that it has begun and that has not happened yet.
    fn op(&self) -> Option<Op> {
        let inside = self.row.begun.load(Relaxed) > self.row.count.load(Relaxed);
        Op::from_number(self.row.op.load(Relaxed) as u8).filter(|_| inside)
    }

    fn state(&self, names: &HashMap<u32, &str>, symbols: &mut Symbols) -> String {
        let row = self.row;
        let (value, at) = (row.waits_for.load(Relaxed), row.waits_at.load(Relaxed));
        if row.pid.load(Relaxed) == 0 {
            return "not begun".into();
        }
        let Some((sleeps, _)) = self.work() else { return "ended".into() };
        let doing = self.op().map(|op| format!("{}: ", op.word())).unwrap_or_default();
        match row.stops.load(Acquire) {
            stop::EVENT => return format!("{doing}stands before it"),
            stop::END => return format!("{doing}its tape ends here"),
            _ => {}
        }
        match row.waits.load(Acquire) {
            waiting::VERSION => {
                let object = symbols.variable(&self.tape.name(), at - board::word_offset(self.row.op.load(Relaxed)));
                let object = object.unwrap_or_else(|| format!("the object at {at:#x}"));
                format!("{doing}waits for its turn at {object}")
            }
            waiting::EDGE => {
                let other = names.get(&(at as u32)).copied().unwrap_or("unknown");
                format!("{doing}waits for event {value} of thread {other}")
            }
            waiting::RANK => {
                format!("{doing}waits for a message from rank {}, tag {}", (value >> 32) as i32, value as i32)
            }
            waiting::LIBRARY => format!("{doing}inside MPI"),
            waiting::END => format!("{doing}its tape ends here"),
            waiting::MESSAGE => format!("{doing}waits for a message from task t{at:x} with tag {value}"),
            waiting::TASK => format!("{doing}waits for task t{at:x}, which has not come"),
            waiting::SHARED => format!("{doing}waits for its turn at groups and mailboxes"),
            waiting::OUTSIDE => format!("{doing}waits until others have come as far as they came"),
            _ if !doing.is_empty() => format!("{doing}under way"),
            _ if sleeps => "blocked in a call that Retake does not order".into(),
            _ => "runs".into(),
        }
    }

    /// Its stack as lines, innermost first.
    fn stack(&self, symbols: &mut Symbols) -> Vec<String> {
        let depth = self.row.depth.load(Acquire) as usize;
        if self.work().is_none() {
            return Vec::new();
        }
        if depth == 0 {
            return vec!["(it did not tell its stack)".into()];
        }
        let process = self.tape.name();
        let pcs: Vec<u64> = self.row.pcs[..(depth - 1).min(DEPTH)].iter().map(|pc| pc.load(Relaxed)).collect();
        let places = symbols.calls(&process, &pcs);
        let mut lines: Vec<String> =
            places.iter().enumerate().map(|(index, place)| format!("#{index} {place}")).collect();
        if depth > DEPTH {
            lines.push("...".into());
        }
        lines
    }
}
