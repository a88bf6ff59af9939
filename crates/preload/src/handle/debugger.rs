//! Telling the stack of this thread to somebody who looks at the replay and has no debugger; and where a rank waits, to the
//! command line.
//!
//! A signal asks for it ([`asked`]), so that a thread answers wherever it is: waiting for its turn, blocked in a call that
//! Retake does not catch, or computing.
//!
//! Law: a thread that was asked while it was outside of the engine stays in the handler until the replay goes on, so
//! that no interrupted call returns early into the program.

use crate::handle::{asked, callers, callers_of_library, stack};
use core::sync::atomic::Ordering::{Relaxed, Release};
use retake_engine::thread::{self, waiting};
use retake_engine::{ranks, report, stops, sys};
use retake_tape::board::DEPTH;

/// Makes the process answer, if somebody looks or it is a rank. Every thread calls this when it begins.
pub fn arm() {
    if stops::is_on() || ranks::is_rank() {
        asked::arm();
    }
}

/// Somebody outside has asked the calling thread.
pub fn answer() {
    let Some(thread) = thread::current() else { return };
    if ranks::is_asked() {
        let pcs = if thread.library > 0 { callers_of_library() } else { callers() };
        return report::answer(thread, &pcs);
    }
    let Some(row) = thread.row else { return };
    let mut pcs = [0; DEPTH];
    let depth = stack(&mut pcs);
    for (to, pc) in row.pcs.iter().zip(&pcs[..depth]) {
        to.store(*pc, Relaxed);
    }
    row.depth.store(depth as u32 + 1, Release);
    // A wait of the engine's own looks again by itself.
    if thread.busy == 0 && matches!(thread.waits.load(Relaxed), waiting::NOT | waiting::OUTSIDE) {
        while stops::is_standing() {
            sys::sleep_ns(5_000_000);
        }
    }
}
