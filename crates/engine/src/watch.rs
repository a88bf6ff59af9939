//! Watching a replay stand still.
//!
//! Only threads that wait have time to look. A replay is stuck if every thread waits for another (found at once), or if
//! nothing at all has moved for as long as the user has patience. While a debugger is attached to any process of the
//! replay nothing is ever stuck, and time in which a process is held does not count.

use crate::process;
use crate::report;
use crate::stops;
use crate::store::Path;
use crate::sys;
use crate::thread::{self, Thread, waiting};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI64, AtomicU64};
use retake_tape::session::Session;

static LAST_LOOK: AtomicI64 = AtomicI64::new(0);
static STILL: AtomicI64 = AtomicI64::new(0);
static LAST_SUM: AtomicU64 = AtomicU64::new(0);
/// What lies between two looks counts for so much at most: a process that a debugger holds does not look, and that time
/// is not the replay's.
const LOOK_NS_MAX: i64 = 100_000_000;
/// Everyone must have been waiting for so long.
const SURE_NS: i64 = 1_000_000_000;
/// How often something has moved.
static MOVES: AtomicU64 = AtomicU64::new(0);

/// Events and processor time so far: whatever moves, changes it.
fn sum() -> u64 {
    let events: u64 = process::get().seats().iter().map(|seat| seat.header.count.load(Relaxed)).sum();
    let work = sys::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID) as u64;
    // Looking costs processor time, too: a few milliseconds a second do not count.
    events.wrapping_mul(1_000_003).wrapping_add(work / 50_000_000)
}

/// How long nothing has moved, of the time in which something could.
pub fn still_ns() -> i64 {
    let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let sum = sum();
    let since = now - LAST_LOOK.swap(now, Relaxed);
    if LAST_SUM.swap(sum, Relaxed) != sum {
        STILL.store(0, Relaxed);
        MOVES.fetch_add(1, Relaxed);
        return 0;
    }
    let since = since.clamp(0, LOOK_NS_MAX);
    STILL.fetch_add(since, Relaxed) + since
}

/// Called by a waiting thread now and then; ends the process if nothing can come any more.
pub fn look(thread: &mut Thread, started: i64) {
    let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
    if now - started < SURE_NS / 2 {
        return;
    }
    let still = still_ns();
    looked(thread);
    if still < SURE_NS {
        return;
    }
    let mut someone_free = false;
    thread::each(|other| {
        let waits = other.waits.load(Acquire);
        let is_free = waits == waiting::NOT || waits == waiting::OUTSIDE || !has_looked(other);
        someone_free |= other.in_use.load(Acquire) == 1 && is_free;
    });
    let session = process::get().session();
    let alone = session.is_none_or(|session| session.processes.load(Relaxed) <= 1);
    let patience = session.map_or(60_000, |session| session.patience_ms.load(Relaxed));
    let patient = i64::from(patience) * 1_000_000;
    if (someone_free || !alone) && still < patient || is_debugged() {
        return;
    }
    report::stuck(thread);
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
