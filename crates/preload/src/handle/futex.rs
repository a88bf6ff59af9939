//! Futexes, where threads run in turn: what Rust's `std::sync` and C++'s `atomic::wait` sleep by.
//!
//! What a thread does to the word before and behind the call is in the order of turns; what the call returned is on the tape.
//! Elsewhere they are not looked at: who gets such a lock is decided one instruction before the call, in the program.

use crate::handle::outward::{answer_long, returned};
use libc::{c_int, c_long};
use retake_engine::{schedule, serial, turn};
use retake_tape::op::Op;

/// How the kernel is asked, without what says whose futex it is and which clock.
const COMMAND: c_int = 0x7f;

/// A call on the futex at `word`.
pub fn call(word: usize, how: c_int, call: impl Fn() -> c_long) -> c_long {
    match how & COMMAND {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            let _away = serial::away(|| true);
            // In a replay the word is as it was, but nobody sleeps.
            returned(turn::outcome_at(Op::Futex, word, false, || answer_long(call() as isize), |_| {}))
        }
        libc::FUTEX_WAKE
        | libc::FUTEX_WAKE_BITSET
        | libc::FUTEX_WAKE_OP
        | libc::FUTEX_REQUEUE
        | libc::FUTEX_CMP_REQUEUE => {
            schedule::before(Op::Futex, word);
            let woken = turn::outcome_at(Op::Futex, word, false, || answer_long(call() as isize), |_| _ = call());
            schedule::behind();
            returned(woken)
        }
        // Those with priorities, which the kernel itself writes.
        _ => {
            let _away = serial::away(|| true);
            call()
        }
    }
}
