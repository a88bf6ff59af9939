//! Ranks of a parallel job in a replay: who waits for whom, and whether anyone can still move.
//!
//! Each rank says in the session when it waits inside the message-passing library, and counts how often it came out. If
//! all of them wait and none comes out for a while, no message will come any more. A rank that computes is not waiting,
//! however long it takes; while a debugger is attached to any of them nothing is ever stuck. Whoever is in a call of the
//! library's that does not come back cannot look: the command line does (`cli/ranks.rs`), and asks the ranks where they are.

use crate::process::{self, mode};
use crate::report;
use crate::sys;
use crate::thread::{self, Thread, waiting};
use crate::watch;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use retake_tape::session::{PIDS, fate};

/// Nobody has moved for so long.
const SURE_NS: i64 = 10_000_000_000;

static SINCE: AtomicI64 = AtomicI64::new(0);
static LAST: AtomicU64 = AtomicU64::new(0);

static IS_RANK: AtomicBool = AtomicBool::new(false);

/// This process is about to become a rank (replay).
pub fn begins() {
    IS_RANK.store(true, Relaxed);
    process::tell_fate(fate::RANK);
}

/// Whether it is one (replay).
pub fn is_rank() -> bool {
    IS_RANK.load(Relaxed)
}

/// Whether the command line asks this process where it waits.
pub fn is_asked() -> bool {
    process::get().session().is_some_and(|session| session.asked.load(Acquire) == process::get().pid)
}

/// The calling thread waits inside the library until this is dropped (replay).
pub struct Waits(());

impl Waits {
    #[inline(always)]
    pub fn new() -> Waits {
        if process::mode() == mode::REPLAY {
            goes_in();
        }
        Waits(())
    }
}

#[inline(never)]
fn goes_in() {
    let Some(thread) = thread::current() else { return };
    process::waits_inside(thread.tid);
    if thread.waits.load(Relaxed) == waiting::NOT {
        thread.waits_for(waiting::LIBRARY, 0, 0);
    }
}

#[inline(never)]
fn comes_out() {
    if let Some(thread) = thread::current() {
        process::came_out();
        thread.waits_for(waiting::NOT, 0, 0);
    }
}

impl Default for Waits {
    fn default() -> Self {
        Waits::new()
    }
}

impl Drop for Waits {
    #[inline(always)]
    fn drop(&mut self) {
        if process::mode() == mode::REPLAY {
            comes_out();
        }
    }
}

/// The calling thread is about to wait for this message (replay).
pub fn waits_for(source: i32, tag: i32) {
    if let Some(thread) = thread::current() {
        thread.waits_for(waiting::RANK, u64::from(source as u32) << 32 | u64::from(tag as u32), 0);
    }
}

/// Source and tag of what the thread waits for.
pub fn wanted(thread: &Thread) -> (i32, i32) {
    let packed = thread.waits_for.load(Relaxed);
    ((packed >> 32) as i32, packed as i32)
}

/// Called by a thread that waits, now and then: ends the process if nothing can come any more.
pub fn look() {
    let Some(thread) = thread::current() else { return };
    let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let patience = process::get().session().map_or(0, |session| session.patience_ms.load(Relaxed));
    match all_wait() {
        Some(sum) if LAST.swap(sum, Relaxed) == sum && SINCE.load(Relaxed) != 0 => {
            let still = now - SINCE.load(Relaxed);
            if still > SURE_NS.min(i64::from(patience) * 1_000_000) && patience != u32::MAX && !watch::is_debugged() {
                report::stuck(thread);
            }
        }
        _ => SINCE.store(now, Relaxed),
    }
}

/// Calls `body` with the present id and the fate of every rank that lives.
fn each(mut body: impl FnMut(u32, u32)) {
    let Some(session) = process::get().session() else { return };
    let length = (session.pids_len.load(Acquire) as usize).min(PIDS);
    for (pair, fate) in session.pids[..length].iter().zip(&session.fates) {
        let (present, fate) = (pair.load(Acquire) as u32, fate.load(Acquire));
        // SAFETY: signal 0 asks and does nothing.
        if fate & fate::RANK != 0 && sys::error(unsafe { sys::kill(present as usize, 0) }).is_none() {
            body(present, fate);
        }
    }
}

/// If all ranks wait: a number that changes when one of them moves.
fn all_wait() -> Option<u64> {
    let (mut all, mut sum) = (true, 0u64);
    each(|present, fate| {
        // Of one with several threads it is not known here whether the others work; the command line looks.
        all &= fate & (fate::WAITS | fate::PLAYED) != 0 && fate & fate::THREADS == 0;
        sum = sum.wrapping_mul(31).wrapping_add(u64::from(present) << 32 | u64::from(fate));
    });
    all.then_some(sum)
}

/// Replay, at the end of this rank's tape: whether every other rank is there, too, or has ended. Only then was this one
/// killed by nobody but the one who killed it then: others may end the whole job.
pub fn all_played() -> bool {
    let mut all = true;
    each(|present, fate| all &= present == process::get().pid || fate & fate::PLAYED != 0);
    all
}
