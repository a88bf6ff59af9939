//! The baton on the tape: where threads ran one at a time, a replay lets them run so, too.
//!
//! Exploring runs one thread at a time, and what the threads do to plain memory between two points is in an order then. So
//! that a replay keeps that order, passing the baton on is two events: the thread that stops at a point says at which of
//! its points that was, and the thread that goes on names the event of the one that ran before it. A point at which nobody
//! else was chosen is no event.
//!
//! Law: points are counted alike in both: each operation, yield or end of a thread that is a point raises the count.

use crate::process;
use crate::replay::Order;
use crate::thread::Thread;
use crate::turn;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use retake_tape::op::Op;
use retake_tape::session::flag;

/// The code of going on; the code of stopping is the number of the point.
const GOES_ON: i64 = 0;

static REPLAYS: AtomicBool = AtomicBool::new(false);

/// The program begins: from here on points count.
pub fn begin() {
    let replays = !turn::recording() && process::get().has(flag::BATON) && process::get().name() == b"0";
    REPLAYS.store(replays, Relaxed);
}

/// In a forked child nobody has a baton.
pub fn reset() {
    REPLAYS.store(false, Relaxed);
}

/// Recording: `thread` stops at its present point.
pub fn stops(thread: &mut Thread) {
    let point = i64::from(thread.part.points);
    thread.result(Op::Baton, point);
    thread.happen();
}

/// Recording: `thread` goes on, after `count` events of the thread with number `other`.
pub fn goes_on(thread: &mut Thread, other: u32, count: u64) {
    thread.result(Op::Baton, GOES_ON);
    if other != 0 {
        thread.edge(other, count);
    }
    thread.happen();
}

/// Replay: the calling thread, if it passes a baton on here.
fn player() -> Option<&'static mut Thread> {
    if REPLAYS.load(Relaxed) { turn::enter() } else { None }
}

/// Replay: a point before `op` on `object`.
#[inline]
pub fn again(op: Op, object: usize) {
    if REPLAYS.load(Relaxed) {
        point_again(op, object);
    }
}

#[cold]
#[inline(never)]
fn point_again(op: Op, object: usize) {
    let Some(thread) = player() else { return };
    thread.part.points += 1;
    let point = i64::from(thread.part.points);
    // Whoever finds its object taken stops at the same point again.
    while thread.next_result(Op::Baton) == Some(point) {
        pass(thread);
        if thread.next_result(Op::Baton).is_none() {
            // It never went on: what it waits for is what it was about to do.
            thread.step_at(op, object);
            return;
        }
        pass(thread);
    }
}

/// Replay: a point at which the thread yields or sleeps. Where the recorded program was ended because it went on for ever,
/// this does not.
pub fn rests_again() {
    again(Op::Sleep, 0);
    let signal = process::get().session().map_or(0, |session| session.root_signal.load(Relaxed));
    if signal == libc::SIGKILL as u32
        && let Some(thread) = player()
        && thread.is_at_end()
    {
        thread.step(Op::Sleep);
    }
}

/// Replay: a new thread waits for its turn.
pub fn starts_again() {
    if let Some(thread) = player() {
        if thread.next_result(Op::Baton) == Some(GOES_ON) {
            pass(thread);
        } else if thread.is_at_end() {
            thread.step(Op::ThreadStart);
        }
    }
}

/// Replay: a thread has ended, and gives the baton on.
pub fn ends_again(thread: &mut Thread) {
    if REPLAYS.load(Relaxed) {
        thread.part.points += 1;
        if thread.next_result(Op::Baton) == Some(i64::from(thread.part.points)) {
            pass(thread);
        }
    }
}

/// Whether a replay passes batons on.
pub fn is_passed() -> bool {
    REPLAYS.load(Relaxed)
}

fn pass(thread: &mut Thread) {
    let Some(step) = thread.step(Op::Baton) else { return };
    if let Order::Edge { thread: other, count } = step.order {
        crate::park::wait_for_thread(thread, other, count);
    }
    thread.happened();
}
