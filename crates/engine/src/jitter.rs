//! Delays at the seams of the engine, for tests: what lies a few instructions apart is far apart then, and a signal or another
//! thread comes in between as it otherwise does once in a million runs.
//!
//! Only where it is built with `--cfg retake_jitter`, as `tests/jitter` does; otherwise nothing is left of it.

/// One of 16 times.
pub const OFTEN: u32 = 4;
/// One of 512 times: for what happens at every event.
pub const SELDOM: u32 = 9;

/// Waits here now and then, up to some ten microseconds. A replay also lets others run: a recording does not, since a signal
/// that came at the end of that call would be taken for one that came at the end of the program's.
#[cfg(retake_jitter)]
#[inline(never)]
pub fn here(seldom: u32) {
    use crate::process::{self, mode};
    // SAFETY: every processor of this kind has the counter.
    let chance = unsafe { core::arch::x86_64::_rdtsc() }.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    if process::mode() == mode::OFF || chance >> (64 - seldom) != 0 {
        return;
    }
    for _ in 0..chance >> 40 & 0x1ff {
        core::hint::spin_loop();
    }
    if process::mode() == mode::REPLAY && chance >> 20 & 7 == 0 {
        // SAFETY: lets others run.
        unsafe { crate::sys::sched_yield() };
    }
}

#[cfg(not(retake_jitter))]
#[inline(always)]
pub fn here(_: u32) {}
