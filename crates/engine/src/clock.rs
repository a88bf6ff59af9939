//! Virtual time, while a schedule is followed or chosen: it moves when a sleep or a time-out is over, and a little whenever
//! it is asked for. So what a clock shows fits what was scheduled, however long that took.
//!
//! Law: whoever runs has the baton; others only look.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI64, AtomicU64};

/// What the two clocks showed when virtual time began.
static REALTIME_NS: AtomicI64 = AtomicI64::new(0);
static MONOTONIC_NS: AtomicI64 = AtomicI64::new(0);
/// Virtual time since then.
static NOW_NS: AtomicU64 = AtomicU64::new(0);
/// Asking takes so long.
const ASKING_NS: u64 = 1000;

/// Virtual time begins.
pub fn begin(realtime_ns: i64, monotonic_ns: i64) {
    REALTIME_NS.store(realtime_ns, Relaxed);
    MONOTONIC_NS.store(monotonic_ns, Relaxed);
}

fn since(began: &AtomicI64) -> i64 {
    began.load(Relaxed).wrapping_add(NOW_NS.fetch_add(ASKING_NS, Relaxed) as i64)
}

/// The wall clock.
pub fn realtime_ns() -> i64 {
    since(&REALTIME_NS)
}

/// The clock that never goes back.
pub fn monotonic_ns() -> i64 {
    since(&MONOTONIC_NS)
}

/// What that clock shows once time is real again, and it is `real_ns`: where virtual time was ahead, it stands until then.
pub fn monotonic_after(real_ns: i64) -> i64 {
    real_ns.max(MONOTONIC_NS.load(Relaxed).wrapping_add(NOW_NS.load(Relaxed) as i64))
}

/// The virtual time at which one of the two clocks shows `ns`. Which of them is told by what it shows: the wall clock is
/// far ahead of the other.
pub fn when(ns: i64) -> u64 {
    const LONG_AGO: i64 = 1_000_000_000 * 1_000_000_000;
    let began = if ns > LONG_AGO { &REALTIME_NS } else { &MONOTONIC_NS };
    ns.saturating_sub(began.load(Relaxed)).max(1) as u64
}

/// The virtual time in `ns` from now.
pub fn after_ns(ns: u64) -> u64 {
    NOW_NS.load(Relaxed).saturating_add(ns)
}

/// It is that late, at least.
pub fn reaches(virtual_ns: u64) {
    NOW_NS.fetch_max(virtual_ns, Relaxed);
}
