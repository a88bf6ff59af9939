//! PCT: random priorities, changed at a few random points.
//!
//! Paper: S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees
//! of Finding Bugs", ASPLOS 2010.
//!
//! Guaranteed: a bug that needs d orderings (its depth) is found by one run with probability at least 1/(n k^(d-1)), for
//! n threads and k points, if k is not underestimated. The thread of the highest priority runs; at each of d-1 random
//! points whoever runs falls below all original priorities, to a level that was fixed for that point.
//!
//! Deviations from the paper:
//! 1. Only points at which more than one thread can go on are counted. Where there is no choice a fall has the same
//!    effect as one at the next point that has one, so that k is smaller and the guarantee better.
//! 2. Threads are not known beforehand: each draws its priority when it is first seen.
//! 3. Whoever yields again and again, or times out, draws a new priority or falls to the bottom, with equal chance: at
//!    the bottom for good, a thread that once slept would never again come before one that fell at a point of change; and
//!    never there, those that poll would keep the one that they wait for from ever going on. A thread that has run much
//!    longer than the whole program was expected to falls to the bottom, for the same reason.

use crate::plan::{DEPTH_MAX, Plan};
use crate::random::Random;
use crate::{Act, THREADS, Threads};

pub struct Pct {
    /// By thread; 0 is not drawn yet.
    priority: [u64; THREADS],
    /// The points of change, counted from 1.
    change: [u64; DEPTH_MAX],
    step: u64,
    /// The next level at the bottom.
    bottom: u64,
    last: u32,
    run: u64,
    patience: u64,
}

/// Levels: the bottom grows down from here, those of the points of change up, original priorities have the first bit.
const LEVEL: u64 = 1 << 32;
const ORIGINAL: u64 = 1 << 63;
/// What the length is taken for when there was no run to measure it.
const LENGTH: u64 = 50;

impl Pct {
    pub fn new(plan: &Plan, random: &mut Random) -> Pct {
        let length = if plan.length == 0 { LENGTH } else { plan.length };
        let mut change = [0; DEPTH_MAX];
        for point in change.iter_mut().take((plan.depth as usize).saturating_sub(1)) {
            *point = 1 + random.below(length);
        }
        let patience = length.saturating_mul(4).saturating_add(1000);
        Pct { priority: [0; THREADS], change, step: 0, bottom: LEVEL, last: crate::NOBODY, run: 0, patience }
    }

    pub fn choose(
        &mut self,
        random: &mut Random,
        able: &[Act],
        behind: &Threads,
        fits: impl Fn(&Act) -> bool,
    ) -> Option<usize> {
        for act in able {
            if let Some(priority) = self.priority.get_mut(act.thread as usize)
                && *priority == 0
            {
                *priority = random.next() | ORIGINAL;
            }
        }
        let mut first = self.first(able, &fits)?;
        if able.iter().filter(|act| fits(act)).count() > 1 {
            self.step += 1;
            for at in 0..DEPTH_MAX {
                if self.change[at] == self.step {
                    self.set(able.get(first)?, LEVEL + 1 + at as u64);
                    first = self.first(able, &fits)?;
                }
            }
        }
        let chosen = able.get(first)?;
        self.run = if chosen.thread == self.last { self.run + 1 } else { 0 };
        self.last = chosen.thread;
        if behind.has(chosen.thread) && random.below(2) == 0 {
            self.set(chosen, random.next() | ORIGINAL);
        } else if behind.has(chosen.thread) || self.run > self.patience {
            self.bottom = self.bottom.saturating_sub(1).max(1);
            self.run = 0;
            self.set(chosen, self.bottom);
        }
        Some(first)
    }

    fn set(&mut self, act: &Act, level: u64) {
        if let Some(priority) = self.priority.get_mut(act.thread as usize) {
            *priority = level;
        }
    }

    fn first(&self, able: &[Act], fits: &impl Fn(&Act) -> bool) -> Option<usize> {
        let fitting = able.iter().enumerate().filter(|(_, act)| fits(act));
        let of = |act: &Act| self.priority.get(act.thread as usize).copied().unwrap_or(0);
        fitting.max_by_key(|(_, act)| of(act)).map(|(index, _)| index)
    }
}
