//! The default: whoever runs goes on as long as it can; then the next one by number, round and round.
//!
//! Whoever yields, or would time out, goes on only if all that can go on do. A thread that goes on for very long steps
//! back once, so that a loop that tries a lock again and again ends.
//!
//! Law: a function of the point and of how long the thread has run, so that a search knows what a run would have done.

use crate::{Act, Point};

/// Steps after which a thread steps back once.
pub const PATIENCE: u32 = 2000;

/// Chooses among those of `able` that `may` go on; if there is none, among all. `run` is how often in a row the current
/// thread was chosen.
pub fn choose(point: &Point, run: u32, may: impl Fn(u32) -> bool) -> usize {
    let rank = |act: &Act| {
        let is_current = act.thread == point.current;
        let waits = act.is_behind() || is_current && run >= PATIENCE;
        let tier = if !may(act.thread) { 2 } else { u32::from(waits) };
        let distance = if is_current && !waits { 0 } else { act.thread.wrapping_sub(point.current).wrapping_sub(1) };
        (tier, u64::from(distance) + u64::from(!is_current || waits))
    };
    let best = point.able.iter().enumerate().min_by_key(|(_, act)| rank(act));
    best.map_or(0, |(index, _)| index)
}
