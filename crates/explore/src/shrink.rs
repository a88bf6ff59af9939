//! Shrinking: from a run that fails to one that fails with the fewest preemptions, then the fewest choices, then the
//! fewest steps, within a budget of runs.
//!
//! Three ways take turns, from the cheapest on: the search by preemptions, which knows when there is no smaller one; steps
//! put together by thread in windows that grow smaller, as delta debugging does (A. Zeller, R. Hildebrandt, 2002);
//! and single segments moved back or forth, single choices left to the default.
//!
//! Guaranteed: what comes out has failed, and costs no more than what came in. If [`Shrunk::is_least`], no run with fewer
//! preemptions fails.

use crate::bounded::{Bounded, By, Shard};
use crate::log::{Cost, choices, cost, deviations, made};
use crate::{Choice, steady};

/// Runs the program: follows the choices, as far as they fit, then the default.
pub trait Run {
    /// What happened; nothing if no more runs can be made. `failed` means: in the way that is to be kept.
    fn run(&mut self, choices: &[u16]) -> Option<Trial>;
}

pub struct Trial {
    pub failed: bool,
    pub log: Vec<Choice>,
}

#[derive(Clone, Debug)]
pub struct Shrunk {
    /// What a run has to follow to fail; the default does the rest.
    pub choices: Vec<u16>,
    pub log: Vec<Choice>,
    pub before: Cost,
    pub cost: Cost,
    /// Whether no run with fewer preemptions fails.
    pub is_least: bool,
    /// Whether following the choices that were given failed at all; if not, nothing was changed.
    pub fails_again: bool,
    pub runs: u64,
}

/// Makes the failing run smaller, with at most `budget` runs.
pub fn shrink(run: &mut impl Run, failing: &[Choice], budget: u64) -> Shrunk {
    let before = cost(failing);
    let mut shrinker = Shrinker { run, log: failing.to_vec(), cost: before, left: budget, runs: 0 };
    let again = shrinker.trial(&choices(failing));
    let fails_again = again.is_some_and(|again| again.failed);
    let mut is_least = before.preemptions == 0;
    if fails_again {
        is_least = shrinker.search(budget / 4);
        shrinker.regroup();
        while shrinker.left > 0 && (shrinker.move_segments() || shrinker.drop_choices()) {}
        is_least = is_least || shrinker.search(u64::MAX);
    }
    let Shrinker { log, cost, runs, .. } = shrinker;
    let all = choices(&log);
    let end = deviations(&log).last().map_or(0, |last| last + 1);
    Shrunk { choices: all[..end].to_vec(), log, before, cost, is_least, fails_again, runs }
}

/// Into so many windows a run is divided at most.
const WINDOWS_MAX: usize = 512;

struct Shrinker<'a, R: Run> {
    run: &'a mut R,
    log: Vec<Choice>,
    cost: Cost,
    left: u64,
    runs: u64,
}

impl<R: Run> Shrinker<'_, R> {
    fn trial(&mut self, choices: &[u16]) -> Option<Trial> {
        self.left = self.left.checked_sub(1)?;
        let trial = self.run.run(choices);
        self.runs += u64::from(trial.is_some());
        if trial.is_none() {
            self.left = 0;
        }
        trial
    }

    /// Takes the trial's run if it fails and is smaller.
    fn take(&mut self, trial: &Trial) -> bool {
        let cost = cost(&trial.log);
        let better = trial.failed && cost < self.cost;
        if better {
            (self.log, self.cost) = (trial.log.clone(), cost);
        }
        better
    }

    fn try_out(&mut self, choices: &[u16]) -> bool {
        self.trial(choices).is_some_and(|trial| self.take(&trial))
    }

    /// Looks at all runs with fewer preemptions, fewest first. Whether none of them fails.
    fn search(&mut self, budget: u64) -> bool {
        let Some(bound) = self.cost.preemptions.checked_sub(1) else { return true };
        let mut search = Bounded::new(By::Preemptions, bound as u32, 0, Shard::ALL);
        let end = self.left.saturating_sub(budget);
        while self.left > end {
            let Some(open) = search.next_run() else { return search.is_done() };
            let Some(trial) = self.trial(&open.prefix) else { return false };
            if self.take(&trial) {
                // Cheaper ones have all been run.
                return true;
            }
            search.ran(open, &trial.log);
        }
        false
    }

    /// Puts the steps of each thread together, in windows from the whole run down.
    fn regroup(&mut self) {
        let mut size = self.log.len();
        // Looking through a long run for small windows takes long, even if there is none to try.
        let smallest = self.log.len() / WINDOWS_MAX;
        while size > smallest.max(1) && self.left > 0 && self.cost.preemptions > 0 {
            let mut at = 0;
            while at < made(&self.log).len() && self.left > 0 {
                let all = choices(&self.log);
                let window = at..all.len().min(at + size);
                let grouped = group(&all[window.clone()]);
                let is_other = grouped != all[window.clone()];
                if !is_other || !self.try_out(&[&all[..window.start], &grouped, &all[window.end..]].concat()) {
                    at += size.div_ceil(2);
                }
            }
            size /= 2;
        }
    }

    /// Moves one segment before or behind its neighbours, so that two of a thread become one.
    fn move_segments(&mut self) -> bool {
        let mut better = false;
        let mut at = 0;
        while self.left > 0 {
            let segments = segments(&choices(&self.log));
            let Some((thread, _)) = segments.get(at).copied() else { break };
            let next = (at + 1..segments.len()).find(|later| segments[*later].0 == thread);
            let before = (0..at).rev().find(|earlier| segments[*earlier].0 == thread);
            let mut moved = false;
            for to in [next, before].into_iter().flatten() {
                let mut other = segments.clone();
                let segment = other.remove(at);
                // Beside the segment of the same thread, on the near side.
                other.insert(if to > at { to - 1 } else { to + 1 }, segment);
                moved = moved || self.try_out(&flat(&other));
            }
            better |= moved;
            at += usize::from(!moved);
        }
        better
    }

    /// Leaves single choices to the default, and what follows, or not.
    fn drop_choices(&mut self) -> bool {
        let mut better = false;
        let mut place = 0;
        while self.left > 0 {
            let Some(at) = deviations(&self.log).get(place).copied() else { break };
            let all = choices(&self.log);
            let default = steady::default_of(&self.log[at], 0) as u16;
            let cut = self.try_out(&all[..at]);
            let dropped = cut || self.try_out(&[&all[..at], &[default], &all[at..]].concat());
            better |= dropped;
            place += usize::from(!dropped);
        }
        better
    }
}

/// The same steps, those of each thread together, in the order of their first.
fn group(window: &[u16]) -> Vec<u16> {
    let mut threads: Vec<u16> = Vec::new();
    window.iter().for_each(|thread| {
        if !threads.contains(thread) {
            threads.push(*thread);
        }
    });
    threads.iter().flat_map(|thread| window.iter().filter(move |other| *other == thread).copied()).collect()
}

/// How often each thread is chosen in a row.
fn segments(choices: &[u16]) -> Vec<(u16, usize)> {
    choices.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
}

fn flat(segments: &[(u16, usize)]) -> Vec<u16> {
    segments.iter().flat_map(|(thread, count)| std::iter::repeat_n(*thread, *count)).collect()
}
