//! PVM: receives, spawns and all that tasks share come out in a replay as they were recorded.
//!
//! The replay runs real tasks under a real daemon. Task ids and contexts differ from run to run: the program is shown
//! the recorded ones, the library is handed the present ones ([`ids`]). A receive that could have got another message is
//! made again for exactly that one; FIFO order between two tasks does the rest. Questions are answered from the tape.
//!
//! One task can be replayed alone, without a daemon, if what it received was kept ([`full`]).
//!
//! Law: a call of the program is at most one event (enrolling and output of tasks besides); what the library calls
//! inside itself is none.

pub mod full;
pub mod group;
pub mod ids;
pub mod info;
pub mod machine;
pub mod mailbox;
pub mod meeting;
pub mod options;
pub mod output;
pub mod receive;
pub mod send;
pub mod task;

use libc::c_int;
use retake_engine::sys;
use retake_engine::thread::Thread;
use retake_engine::turn;
use retake_engine::{report, store::Path};
use retake_tape::op::Op;

pub use turn::in_library as library;

/// The calling thread, in an enrolled task, if its calls count.
pub fn enter() -> Option<&'static mut Thread> {
    let thread = turn::enter()?;
    output::play(thread);
    task::enrol(thread);
    turn::enter()
}

/// A question: what the answer was, it is again, and nobody is asked.
pub fn answer(op: Op, call: impl FnOnce() -> c_int) -> c_int {
    enter();
    told(turn::outcome(op, false, || i64::from(library(call)), |_| ()))
}

/// An action: it is done again if it succeeded then.
pub fn action(op: Op, call: impl Fn() -> c_int) -> c_int {
    enter();
    let again = |recorded| {
        if recorded >= 0 && !full::given() {
            must_succeed(op, library(&call));
        }
    };
    told(turn::outcome(op, false, || i64::from(library(&call)), again))
}

/// An action that others see. It counts before it is done, because its task may be killed right behind it, by whoever saw
/// it; a failure is an event of its own behind it.
pub fn effect(op: Op, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = enter() else { return call() };
    if turn::recording() {
        thread.begin();
        thread.happen();
        thread.finish();
        turn::tell(thread, op, thread.count(), 0, 0, 0);
        let result = library(call);
        if result < 0 {
            thread.begin();
            thread.result(op, i64::from(result));
            thread.happen();
            thread.finish();
        }
        return result;
    }
    if thread.step(op).is_none() {
        return call();
    }
    thread.happened();
    turn::tell(thread, op, thread.count(), 0, 0, 0);
    if thread.next_is(op)
        && let Some(step) = thread.step(op)
    {
        thread.happened();
        return told(step.result);
    }
    if full::given() {
        return 0;
    }
    let result = turn::undisturbed(|| library(call));
    must_succeed(op, result);
    result
}

/// Replay: ends it with a report if the call that succeeded then has failed now.
pub fn must_succeed(op: Op, result: c_int) {
    if result < 0
        && let Some(thread) = retake_engine::thread::current()
    {
        report::differs(
            thread,
            op,
            |words| {
                words.push(b"success");
            },
            |words| error(words, result),
        );
    }
}

/// A result in words.
pub fn error(words: &mut Path<'_>, result: c_int) {
    words.push(b"PVM's error -").push_number(u64::from(result.unsigned_abs()));
}

/// The result that the program is given. A failure that was not made again has not told the library.
pub fn told(result: i64) -> c_int {
    if result < 0 && !turn::recording() && turn::enter().is_some() {
        full::state::ERROR.set(result as c_int);
    }
    result as c_int
}

/// Memory of ours for as long as it is held.
pub struct Scratch {
    at: *mut u8,
    size: usize,
}

impl Scratch {
    pub fn new(size: usize) -> Scratch {
        let size = size.max(1);
        let at = sys::memory(size);
        Scratch { at, size: if at.is_null() { 0 } else { size } }
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        if self.size == 0 {
            return &mut [];
        }
        // SAFETY: fresh memory of that size.
        unsafe { core::slice::from_raw_parts_mut(self.at, self.size) }
    }

    /// As numbers; null if there is no memory.
    pub fn ints(&mut self) -> *mut c_int {
        self.at.cast()
    }

    /// Never given back: the program keeps what is in it.
    pub fn keep(self) -> *mut u8 {
        let at = self.at;
        core::mem::forget(self);
        at
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.size > 0 {
            // SAFETY: memory of ours that nobody uses any more.
            unsafe { sys::munmap(self.at as usize, self.size) };
        }
    }
}

/// The number at the start of `bytes`, which is then taken off.
pub fn take_int(bytes: &mut &[u8]) -> c_int {
    let Some((four, rest)) = bytes.split_first_chunk::<4>() else { return 0 };
    *bytes = rest;
    c_int::from_le_bytes(*four)
}
