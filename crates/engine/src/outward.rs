//! Calls that wait for the outside: for a file, a socket, another process.
//!
//! What they bring is not on the tape, and they are no events, since a replay may read the same input in other pieces. But a
//! signal may be handled inside of one, or end it, and so may a cancellation: then it is told which one it was, by how many had
//! returned since the last event, and whether it had already got what it waited for. In a replay such a call runs the handler
//! and is not made if it was ended; every other one is made, and goes on if a signal that is not the tape's comes into it.

use crate::held;
use crate::process;
use crate::signals;
use crate::sys;
use crate::thread::{Outward, Thread};
use crate::turn::{self, CANCELLED};
use retake_tape::entry::{Entry, INSIDE};
use retake_tape::op::Op;

/// Makes the call; `None` if a handler ended it when it was recorded. `mask` is what is blocked inside of it, if it says so;
/// `is_ended` tells whether a handler has ended it now.
pub fn call<R>(mask: Option<u64>, mut call: impl FnMut() -> R, is_ended: impl Fn(&R) -> bool) -> Option<R> {
    let Some(thread) = turn::enter() else { return Some(call()) };
    if turn::recording() {
        let result = turn::outward(|| with_places(thread, call, &is_ended), || turn::record_cancelled(Op::Outward));
        match turn::enter() {
            Some(thread) if !is_ended(&result) => thread.rests().outward += 1,
            // A child that borrows its parent's memory leaves no trace there.
            Some(thread) if sys::getpid_now() == process::get().pid => ended(thread),
            _ => {}
        }
        return Some(result);
    }
    // What was blocked inside of the call was handled at its end.
    let was_ended =
        signals::with_mask(mask, || thread.runs_inside(false)) || mask.is_some() && thread.runs_inside(false);
    if was_ended && let Some(step) = thread.step(Op::Outward) {
        if step.result == CANCELLED {
            turn::cancelled_here(thread, Op::Outward, 0);
        }
        thread.happened();
        return None;
    }
    let mut result = turn::undisturbed(&mut call);
    while is_ended(&result) {
        result = turn::undisturbed(&mut call);
    }
    thread.runs_inside(true);
    thread.rests().outward += 1;
    Some(result)
}

/// Recording: handlers that wait for a place run before the call or behind it, so that it is known which.
fn with_places<R>(thread: &mut Thread, call: impl FnOnce() -> R, is_ended: impl Fn(&R) -> bool) -> R {
    let now = Outward { is_done: false, handlers: thread.handlers };
    let before = core::mem::replace(&mut thread.outward, now);
    held::let_in(thread);
    let result = call();
    thread.outward.is_done = !is_ended(&result);
    held::let_in(thread);
    thread.outward = before;
    result
}

/// Recording: a handler has ended the call.
fn ended(thread: &mut Thread) {
    thread.begin();
    thread.came_inside(false);
    thread.result(Op::Outward, i64::from(libc::EINTR));
    thread.happen();
    thread.finish();
}

impl Thread {
    /// Recording: what is noted next came inside of the call that is under way.
    pub fn came_inside(&mut self, is_behind: bool) {
        let many = self.rests().outward;
        self.note_outward(many, is_behind);
    }

    /// Recording: whether what runs is that call, and not a handler that came into it.
    pub fn is_just_outward(&self) -> bool {
        self.is_outward() && self.handlers == self.outward.handlers
    }

    /// Replay: the handlers run that ran inside of the call that comes now, or behind what it waited for. Whether it was ended
    /// by one of them, or by a cancellation.
    fn runs_inside(&mut self, is_behind: bool) -> bool {
        self.begin();
        let mut is_here = false;
        while let Some((at, entry)) = self.reader.next {
            if at > self.count() + 1 || self.live {
                break;
            }
            match entry {
                Entry::Slept(many) if u64::from(self.rests().sleeps) >= many => self.reader.advance(),
                Entry::Outward { many, is_behind: it_was } if it_was == is_behind && self.rests().outward >= many => {
                    is_here = true;
                    self.reader.advance();
                }
                // One that did not come inside had come before.
                Entry::Signal(signal) if is_here || signal.number & INSIDE == 0 && self.releases >= signal.releases => {
                    is_here = false;
                    signals::wait_for(&signal);
                    self.reader.advance();
                    signals::deliver(self, signal);
                }
                _ => break,
            }
        }
        let is_ended = is_here && self.next_is(Op::Outward);
        self.set_stops();
        self.finish();
        is_ended
    }
}
