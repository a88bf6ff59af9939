//! The default: whoever runs goes on as long as it can; then the next one by number, round and round.
//!
//! Whoever yields again and again, or would time out, goes on only if all that can go on do. A thread that goes on for very long steps
//! back once, so that a loop that tries a lock again and again ends.
//!
//! Law: a function of the point and of how long the thread has run, so that a search knows what a run would have done.

use crate::{Choice, NOBODY, Point, Threads};

/// Steps after which a thread steps back once.
pub const PATIENCE: u32 = 2000;

/// Chooses among those of `able` that `may` go on; if there is none, among all. `run` is how often in a row the current
/// thread was chosen after another.
pub fn choose(point: &Point, run: u32, behind: &Threads, may: impl Fn(u32) -> bool) -> usize {
    let ranked = point.able.iter().enumerate();
    let best =
        ranked.min_by_key(|(_, act)| (!may(act.thread), rank(act.thread, behind.has(act.thread), point.current, run)));
    best.map_or(0, |(index, _)| index)
}

/// Whom [`choose`] would have chosen.
pub fn default_of(choice: &Choice, run: u32) -> u32 {
    let ranked = |thread: &u32| rank(*thread, choice.behind.has(*thread), choice.current, run);
    choice.able.iter().min_by_key(ranked).unwrap_or(NOBODY)
}

/// Its place among those that can go on. The current thread is first, or last in the round if it steps back.
pub fn rank(thread: u32, is_behind: bool, current: u32, run: u32) -> (bool, u64) {
    let is_current = thread == current;
    let waits = is_behind || is_current && run >= PATIENCE;
    let distance = u64::from(thread.wrapping_sub(current).wrapping_sub(1)) + 1;
    (waits, if is_current && !waits { 0 } else { distance })
}
