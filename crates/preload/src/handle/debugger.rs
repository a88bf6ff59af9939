//! Telling the stack of this thread to somebody who looks at the replay and has no debugger.
//!
//! A signal asks for it ([`asked`]), so that a thread answers wherever it is: waiting for its turn, blocked in a call that
//! Retake does not catch, or computing.
//!
//! Law: a thread that was asked while it was outside of the engine stays in the handler until the replay goes on, so
//! that no interrupted call returns early into the program.

use crate::handle::{asked, stack};
use core::sync::atomic::Ordering::{Relaxed, Release};
use retake_engine::thread::{self, waiting};
use retake_engine::{stops, sys};
use retake_tape::board::DEPTH;

/// Makes the process answer, if somebody looks. Every thread calls this when it begins.
pub fn arm() {
    if stops::is_on() {
        asked::arm();
    }
}

/// Somebody outside has asked the calling thread.
pub fn answer() {
    let Some(thread) = thread::current() else { return };
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
