//! The end of tapes, and of the process.
//!
//! A thread whose tape has no more events was, when it was recorded, blocked for ever, killed, or cut off by the end of
//! its process. It must not run ahead: it waits here until the process ends as it ended then.

use crate::deadlock;
use crate::pids;
use crate::process::{self, Process};
use crate::ranks;
use crate::report;
use crate::settled;
use crate::signals;
use crate::stops;
use crate::store::{PATH_MAX, Path};
use crate::sys;
use crate::thread::{self, Thread, waiting};
use crate::turn;
use crate::watch;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use retake_tape::layout::state;
use retake_tape::op::Op;
use retake_tape::rich;
use retake_tape::session::{RANK_NAME, at_end, fate, flag};

const STEP_NS: u64 = 5_000_000;
/// Nothing has moved for so long: whoever is not here computes no more.
const QUIET_NS: i64 = 400_000_000;
/// The same where everything is noted and no thread may be missed.
const TOLD_NS: i64 = 1_500_000_000;
/// An ending process waits so long for the others, at most, while nothing moves.
const GRACE_NS: i64 = 3_000_000_000;

/// `thread` wants an event behind the end of its tape: `op` on `object`. Returns only if it is to go on without a tape.
pub fn reached(thread: &mut Thread, op: Op, object: usize) {
    if !goes_on(thread) {
        waits(thread, op, object, || false);
    }
}

/// Whether `thread`, which has played its tape, is to go on without one; it does from here on.
pub fn goes_on(thread: &mut Thread) -> bool {
    let is_live = policy() == at_end::LIVE;
    if is_live {
        thread.live = true;
        thread.fast.store(0, Release);
    }
    is_live
}

fn policy() -> u32 {
    process::get().session().map_or(at_end::STOP, |session| session.at_end.load(Relaxed))
}

/// `thread` has played its tape and waits for `object`, until it has come or the process ends as it ended then.
pub fn waits(thread: &mut Thread, op: Op, object: usize, has_come: impl Fn() -> bool) {
    let process = process::get();
    turn::tell(thread, op, 0, object, 0, rich::WAITS);
    thread.waits_for(waiting::END, 0, 0);
    let before = if process.has(flag::DEADLOCK) { deadlock::at_end(thread, op, object) } else { None };
    settled::leaves(thread);
    // The program's timers go on; handling their signals would look like work for ever.
    let mask = signals::hold_timers();
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    while !has_come() {
        sys::sleep_ns(STEP_NS);
        look(thread, started);
    }
    signals::release(mask);
    if let Some(before) = before {
        deadlock::has_come(thread, before);
    }
    thread.waits_for(waiting::NOT, 0, 0);
    settled::behind();
}

/// A thread at the end of its tape, which has waited there since `started`, looks whether that is the end of the process.
fn look(thread: &mut Thread, started: i64) {
    let process = process::get();
    tell_played(process);
    if policy() != at_end::STOP {
        return;
    }
    if by_itself() {
        return watch::look(thread, started);
    }
    watch::looks(thread, started);
    let quiet = all_told(process) && watch::still_ns() > QUIET_NS;
    if all_played(process) && ranks::all_played() && quiet && stops::at_end(thread) {
        finish(process);
    }
}

/// Whoever killed the process then may do so now if all has been played, unless somebody wants to look first.
fn tell_played(process: &Process) {
    if all_played(process) && all_told(process) && !stops::looks_at_end() {
        process::tell_fate(fate::PLAYED);
    }
}

/// The calling thread sleeps or yields again and again, without an event. In a process that was killed it may have done so
/// then, too, and comes to no other end.
pub fn rests() {
    if !by_itself() {
        tell_played(process::get());
    }
}

/// Whether the process was ended by one of its threads when it was recorded, not from outside.
pub fn by_itself() -> bool {
    matches!(process::get().recorded_state, state::EXITED | state::EXECED)
}

/// Whether every thread has done all that it did then.
fn all_played(process: &Process) -> bool {
    process.seats().iter().all(|seat| seat.header.count.load(Acquire) >= seat.total)
}

/// Where everything is noted: whether every thread has told what it wants and never gets. One that is not here computes,
/// or waits outside; it cannot be told from one that has not come yet, but by time.
fn all_told(process: &Process) -> bool {
    let mut all_here = true;
    thread::each(|other| all_here &= other.in_use.load(Acquire) != 1 || other.waits.load(Acquire) == waiting::END);
    all_here || !process.is_rich() || watch::still_ns() > TOLD_NS
}

/// Ends the process as the recorded one ended: by a signal from outside.
fn finish(process: &Process) -> ! {
    let root = process.name() == b"0";
    let signal = process.session().map_or(0, |session| session.root_signal.load(Relaxed));
    let signal = if root && signal != 0 { signal } else { libc::SIGKILL as u32 };
    die_by(signal)
}

/// Ends this process by `signal`, whatever it does about signals.
pub fn die_by(signal: u32) -> ! {
    // SAFETY: the process ends here; the structure is the kernel's (handler, flags, restorer, mask), all zero.
    unsafe {
        let default = [0u64; 4];
        sys::rt_sigaction(signal as usize, default.as_ptr() as usize, 0, 8);
        let all = 0u64;
        sys::rt_sigprocmask(libc::SIG_SETMASK as usize, &raw const all as usize, 0, 8);
        sys::kill(sys::getpid() as usize, signal as usize);
        sys::tgkill(sys::getpid() as usize, sys::gettid() as usize, signal as usize);
        loop {
            sys::exit_group(125);
        }
    }
}

/// Replay: `thread` is about to end the process; `how` is a [`state`]. If it is the one that ended it so then, it must have
/// done all that it did. If nobody did so then, the process was killed before, perhaps in a sleep that returns at once now.
pub fn comes(thread: &mut Thread, how: u32) {
    let process = process::get();
    let left = thread.reader.total.saturating_sub(thread.count());
    let by_this = process.recorded_state == how && process.recorded_by == thread.number;
    if left > 0 && (by_this || !by_itself()) {
        report::too_early(thread, left);
    }
    if !by_itself() && !thread.live {
        reached(thread, Op::Exit, 0);
    }
}

/// Replay: this thread is about to end the process. The others first do what they did before it ended then.
pub fn wait_for_others() {
    let process = process::get();
    let mut last = 0u64;
    let mut since = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let mine = crate::thread::current().map_or(0, |thread| {
        thread.waits_for(waiting::OUTSIDE, 0, 0);
        settled::leaves(thread);
        thread.number
    });
    loop {
        let mut left = false;
        let mut sum = 0u64;
        for seat in process.seats() {
            let count = seat.header.count.load(Acquire);
            sum += count;
            left |= seat.number != mine && count < seat.total;
        }
        let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
        if sum != last {
            (last, since) = (sum, now);
        }
        if !left || now - since > GRACE_NS && !watch::is_debugged() {
            return;
        }
        sys::sleep_ns(100_000);
    }
}

/// Replay: this process has no tape. Whoever made it was seen to make it, so it was most likely killed before it came so far;
/// then it is now, too. Returns if nobody does so for as long as the user has patience, or if the replay is over: it may have
/// outlived the program, and its recording. A rank is made by its launcher: nobody was seen to make it.
pub fn wait_to_be_killed() {
    let mut parts = process::get().name().rsplit(|byte| *byte == b'.');
    if parts.next().is_some_and(|last| last.starts_with(RANK_NAME.as_bytes())) {
        return;
    }
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let is_patient = || sys::clock_ns(libc::CLOCK_MONOTONIC) - started < watch::patience_ns() || watch::is_debugged();
    while is_patient() && is_session_there() {
        sys::sleep_ns(STEP_NS);
    }
}

/// Whether the session's file is still there: the command line removes it at the end.
fn is_session_there() -> bool {
    let mut room = [0; PATH_MAX];
    let mut path = Path { to: &mut room, length: 0 };
    path.push(process::get().session_path());
    // SAFETY: a path that ends in a zero.
    path.finish() && unsafe { sys::access(room.as_ptr() as usize, libc::F_OK as usize) == 0 }
}

/// Replay: this process is about to send a signal to the one that is `present` now. If that was killed then, it first
/// does what it did before.
pub fn wait_for_victim(present: u32) {
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    // SAFETY: signal 0 asks and does nothing.
    let lives = || sys::error(unsafe { sys::kill(present as usize, 0) }).is_none();
    let is_late = || sys::clock_ns(libc::CLOCK_MONOTONIC) - started > GRACE_NS && !watch::is_debugged();
    stops::waiting_outside(|| {
        while pids::is_killed_later(present) && lives() && !is_late() {
            sys::sleep_ns(500_000);
        }
    });
}
