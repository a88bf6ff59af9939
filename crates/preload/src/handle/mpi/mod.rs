//! MPI: each receive, probe, test and wait is answered as it was.
//!
//! ```text
//! record   real call ──> who sent it, which request was done ──> match, event
//! replay   event, match ──> the same call, for that sender and tag alone ──> the message itself comes again
//! ```
//!
//! Only what could have come out otherwise is on the tape: the source and tag of receives from anyone ([`retake_tape::matches`]),
//! and which requests were found done. Messages from one sender do not overtake each other, so that a sender and a tag
//! name a message. Data is not recorded: it is sent again.
//!
//! Law: what the library does inside is none of the program's ([`retake_engine::turn::in_library`]). No MPI header, and no MPI
//! library, is needed to build or load this: handles are words, and [`abi`] knows the rest.

pub mod abi;
pub mod complete;
pub mod find;
pub mod full;
pub mod handles;
pub mod hooks;
pub mod persistent;
pub mod probe;
pub mod receive;
pub mod requests;
pub mod spawn;
pub mod told;
pub mod wait;
pub mod world;

use libc::c_int;
use retake_engine::report;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, inside_library};
use retake_tape::matches::{Match, WITHDRAWN, calls};
use retake_tape::op::Op;

/// No error, in every MPI.
pub const SUCCESS: c_int = 0;

/// The calling thread, if nothing is wanted of it but to record, and no contents are kept.
#[inline(always)]
pub fn only_records() -> Option<&'static mut Thread> {
    if full::is_on() { None } else { turn::only_records() }
}

/// The same, if the library is known, and this thread as one that receives.
#[inline(always)]
fn only_receives() -> Option<(&'static mut Thread, &'static abi::Abi)> {
    only_records().filter(|thread| world::is_known(thread.number)).zip(abi::known())
}

/// Makes a call of which nothing counts but what it does.
#[inline]
pub fn aside<R>(call: impl FnOnce() -> R) -> R {
    match turn::enter() {
        Some(thread) => inside_library(thread, || wait::held(call)),
        None => call(),
    }
}

/// Commits an event of a recording.
#[inline(always)]
fn commit(thread: &mut Thread) {
    thread.begin();
    thread.happen();
    thread.finish();
}

/// Commits an event of a recording, and tells it.
#[inline]
fn happen(thread: &mut Thread, op: Op, result: i64) {
    commit(thread);
    turn::tell(thread, op, thread.count(), 0, 0, result);
}

/// Commits an event of a replay.
fn happened(thread: &mut Thread, op: Op, result: i64) {
    thread.happened();
    turn::tell(thread, op, thread.count(), 0, 0, result);
}

/// Recording: the next receive from anyone got this. It is an event.
#[inline(always)]
unsafe fn commit_match(thread: &mut Thread, abi: &abi::Abi, call: u8, status: *const u8) {
    let number = thread.messages.open;
    thread.messages.open += 1;
    // SAFETY: a status that the library has filled.
    let (source, tag) = unsafe { (abi.source(status), abi.tag(status)) };
    thread.begin();
    thread.matched(Match { thread: 0, number, call, source, tag });
    thread.happen();
    thread.finish();
}

/// Replay: what the next receive from anyone got; it must have been one of the same kind.
fn recorded_match(thread: &mut Thread, op: Op, call: u8, may_be_withdrawn: bool) -> Match {
    let found = thread.next_match();
    if found.source == WITHDRAWN && may_be_withdrawn {
        return found;
    }
    if found.call != call || found.source == WITHDRAWN {
        let recorded = if found.call == 0 { "no receive from anyone" } else { calls::word(found.call) };
        report::another_call(thread, op, recorded, calls::word(call));
    }
    found
}
