//! Watching a replay stand still.
//!
//! Only threads that wait have time to look. A replay is stuck if every thread waits for another (found at once), or if
//! nothing at all has moved for as long as the user has patience: no event, and no process has worked more than it takes
//! to look. While a debugger is attached to any process of the replay nothing is ever stuck, and time in which a process is
//! held does not count.

use crate::process;
use crate::report;
use crate::stops;
use crate::store::Path;
use crate::sys;
use crate::thread::{self, Thread, waiting};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI64, AtomicU64};
use retake_tape::session::{Session, fate};

static LAST_LOOK: AtomicI64 = AtomicI64::new(0);
static STILL: AtomicI64 = AtomicI64::new(0);
static LAST_EVENTS: AtomicU64 = AtomicU64::new(0);
static LAST_WORK: AtomicI64 = AtomicI64::new(0);
/// The processor time that waiting threads have used to look.
static LOOKING: AtomicI64 = AtomicI64::new(0);
/// What all other processes had worked when this one had stood still for a while, and after which move that was.
static OTHERS: AtomicI64 = AtomicI64::new(0);
static OTHERS_AT: AtomicU64 = AtomicU64::new(0);
/// Less is no work.
const WORK_NS: i64 = 50_000_000;
/// What lies between two looks counts for so much at most: a process that a debugger holds does not look, and that time
/// is not the replay's.
const LOOK_NS_MAX: i64 = 100_000_000;
/// Everyone must have been waiting for so long.
const SURE_NS: i64 = 1_000_000_000;
/// How often something has moved.
static MOVES: AtomicU64 = AtomicU64::new(0);

/// How long nothing has moved, of the time in which something could: no event, and no work but that of looking.
pub fn still_ns() -> i64 {
    let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let since = now - LAST_LOOK.swap(now, Relaxed);
    let events: u64 = process::get().seats().iter().map(|seat| seat.header.count.load(Relaxed)).sum();
    let work = sys::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID) - LOOKING.load(Relaxed);
    let is_more = (work - LAST_WORK.load(Relaxed)).abs() > WORK_NS;
    if LAST_EVENTS.swap(events, Relaxed) != events || is_more {
        LAST_WORK.store(work, Relaxed);
        moved();
        return 0;
    }
    let since = since.clamp(0, LOOK_NS_MAX);
    STILL.fetch_add(since, Relaxed) + since
}

fn moved() {
    STILL.store(0, Relaxed);
    MOVES.fetch_add(1, Relaxed);
}

/// The calling thread, which has waited since `started`, looks again: what it has used since its last look is no work.
pub fn looks(thread: &mut Thread, started: i64) {
    let used = sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let (since, before) = core::mem::replace(&mut thread.look, (started, used));
    if since == started {
        let all = LOOKING.fetch_add(used - before, Relaxed) + used - before;
        process::tell_looking((all / 1000) as u32);
    }
}

/// What the other processes of the replay have worked so far. Whoever waits inside a message-passing library may look
/// there for ever: that is no work.
fn others_work(session: &Session) -> i64 {
    let length = (session.pids_len.load(Acquire) as usize).min(session.pids.len());
    let pid = |index: usize| session.pids[index].load(Acquire) as u32;
    let mut work = 0i64;
    for index in (0..length).filter(|index| pid(*index) != 0 && pid(*index) != process::get().pid) {
        if session.fates[index].load(Acquire) & fate::WAITS != 0 {
            continue;
        }
        work -= session.looking_us.get(index).map_or(0, |us| i64::from(us.load(Relaxed)) * 1000);
        // The clock of a process that is no more says nothing. One that has executed another image stands there twice.
        let used = sys::clock_ns((!pid(index) << 3 | CLOCK_OF_PROCESS) as libc::c_int);
        if used != 0 && !(index + 1..length).any(|later| pid(later) == pid(index)) {
            work += used;
        }
    }
    work
}

/// The processor time of a process, in the lower bits of a clock that is made of its id.
const CLOCK_OF_PROCESS: u32 = 2;

/// Whether another process works on while this one stands still.
fn others_work_on(session: &Session) -> bool {
    (others_work(session) - OTHERS.load(Relaxed)).abs() > WORK_NS
}

/// Nothing moves here: what the others have worked by then is remembered.
fn remember_others(session: Option<&Session>) {
    let moves = MOVES.load(Relaxed);
    if let Some(session) = session.filter(|_| OTHERS_AT.swap(moves, Relaxed) != moves) {
        OTHERS.store(others_work(session), Relaxed);
    }
}

/// Whether nothing has moved for so long, neither here nor in another process, while nobody looks at this replay.
pub fn is_still(ns: i64) -> bool {
    let still = still_ns();
    if still < ns / 2 {
        return false;
    }
    let session = process::get().session();
    remember_others(session);
    if still < ns || is_debugged() {
        return false;
    }
    if session.is_some_and(others_work_on) {
        moved();
        return false;
    }
    true
}

/// Called by a waiting thread now and then; ends the process if nothing can come any more.
pub fn look(thread: &mut Thread, started: i64) {
    let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
    if now - started < SURE_NS / 2 {
        return;
    }
    looks(thread, started);
    let still = still_ns();
    looked(thread);
    if still < SURE_NS {
        return;
    }
    let session = process::get().session();
    remember_others(session);
    let mut someone_free = false;
    thread::each(|other| {
        let waits = other.waits.load(Acquire);
        let is_free = waits == waiting::NOT || waits == waiting::OUTSIDE || !has_looked(other);
        someone_free |= other.in_use.load(Acquire) == 1 && is_free;
    });
    let others = session.filter(|session| session.processes.load(Relaxed) > 1);
    if (someone_free || others.is_some()) && still < patience_ns() || is_debugged() {
        return;
    }
    if others.is_some_and(others_work_on) {
        return moved();
    }
    report::stuck(thread);
}

/// How long a replay may stand still.
pub fn patience_ns() -> i64 {
    let patience = process::get().session().map_or(60_000, |session| session.patience_ms.load(Relaxed));
    i64::from(patience) * 1_000_000
}

/// The thread has looked for what it waits for, and it has not come.
fn looked(thread: &Thread) {
    let moves = MOVES.load(Relaxed);
    let again = thread.looked_at.load(Relaxed) == moves;
    thread.looked_again.store(again, Relaxed);
    thread.looked_at.store(moves, Release);
}

/// Whether the thread has looked since something moved, and once more: what it waits for may have come, and it may only not
/// have had a processor since.
fn has_looked(thread: &Thread) -> bool {
    thread.looked_at.load(Acquire) == MOVES.load(Relaxed) && thread.looked_again.load(Relaxed)
}

/// Whether somebody looks at this replay: a debugger is attached to one of its processes, or will be.
pub fn is_debugged() -> bool {
    let session = process::get().session();
    let traced = |session: &Session| {
        let length = (session.pids_len.load(Acquire) as usize).min(session.pids.len());
        session.pids[..length].iter().any(|pair| is_process_traced(pair.load(Acquire) as u32))
    };
    stops::is_on() || is_traced() || session.is_some_and(traced)
}

/// Whether a debugger is attached to this process.
pub fn is_traced() -> bool {
    is_process_traced(process::get().pid)
}

fn is_process_traced(pid: u32) -> bool {
    let mut room = [0u8; 64];
    let mut path = Path { to: &mut room, length: 0 };
    path.push(b"/proc/").push_number(u64::from(pid)).push(b"/status").finish();
    let mut text = [0u8; 1024];
    // SAFETY: the path ends in a zero byte; the buffer is as long as said.
    let length = unsafe {
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        let fd = sys::openat(libc::AT_FDCWD as usize, room.as_ptr() as usize, flags, 0);
        if fd < 0 {
            return false;
        }
        let length = sys::read(fd as usize, text.as_mut_ptr() as usize, text.len());
        sys::close(fd as usize);
        length.max(0) as usize
    };
    let key = b"TracerPid:\t";
    let found = text[..length].windows(key.len()).position(|window| window == key);
    found.is_some_and(|at| text.get(at + key.len()).is_some_and(|digit| *digit != b'0'))
}
