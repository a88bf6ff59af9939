//! SURW, selectively uniform random walk: uniform over the orders of the operations that were selected.
//!
//! Paper: H. Zhao, D. Wolff, U. Mathur, A. Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS 2025.
//!
//! Guaranteed: if the numbers of selected operations per thread are exact and nobody ever has to wait, every order of the
//! selected operations has the same probability. The thread that does the next selected operation is drawn, with a
//! weight of what is left of each thread and of those that it will create; others stop before a selected operation
//! until that one is done. What is not selected is chosen as in a random walk.
//!
//! Deviations from the paper:
//! 1. If the thread that was drawn cannot go on and everybody else has stopped, it is drawn again among these.
//! 2. A thread that does more than was expected keeps a weight of one while nobody else has any left.
//! 3. Who creates whom is taken from the earlier run; a thread that it did not have weighs nothing at first.

use crate::plan::Plan;
use crate::random::Random;
use crate::walk::pick;
use crate::{Act, NOBODY, THREADS, Threads};

pub struct Surw {
    /// Selected operations left, of a thread and of those that it will still create.
    weight: [u32; THREADS],
    parent: [u32; THREADS],
    seen: Threads,
    /// Who is to do the next selected operation.
    next: u32,
    /// Who waits before one.
    stopped: Threads,
}

impl Surw {
    pub fn new(plan: &Plan) -> Surw {
        let (mut weight, mut parent) = ([0u32; THREADS], [NOBODY; THREADS]);
        for (thread, estimate) in plan.threads.iter().enumerate() {
            weight[thread] = estimate.events;
            // A thread is created by an earlier one: that is also what ends the sums below.
            if (estimate.parent as usize) < thread {
                parent[thread] = estimate.parent;
            }
        }
        for thread in (1..THREADS).rev() {
            let own = weight[thread];
            if let Some(sum) = weight.get_mut(parent[thread] as usize) {
                *sum = sum.saturating_add(own);
            }
        }
        Surw { weight, parent, seen: Threads::NONE, next: NOBODY, stopped: Threads::NONE }
    }

    pub fn choose(
        &mut self,
        random: &mut Random,
        able: &[Act],
        fits: impl Fn(&Act) -> bool,
        selects: impl Fn(&Act) -> bool,
    ) -> Option<usize> {
        self.meet(random, able);
        if self.next == NOBODY {
            self.draw(random, able);
        }
        loop {
            let stopped = self.stopped;
            let Some(first) = pick(random, able, |act| fits(act) && !stopped.has(act.thread)) else {
                let redrawn = self.draw_among(random, able, &fits)?;
                self.done(random, able, redrawn, &selects);
                return Some(redrawn);
            };
            let chosen = able.get(first)?;
            if !selects(chosen) || chosen.thread == self.next {
                self.done(random, able, first, &selects);
                return Some(first);
            }
            self.stopped.put(chosen.thread);
        }
    }

    /// New threads take their weight from whoever created them, and its turn with the share that they have in it.
    fn meet(&mut self, random: &mut Random, able: &[Act]) {
        for act in able {
            let thread = act.thread as usize;
            if thread >= THREADS || self.seen.has(act.thread) {
                continue;
            }
            self.seen.put(act.thread);
            let parent = self.parent[thread];
            let Some(sum) = self.weight.get(parent as usize).copied() else { continue };
            let own = self.weight[thread];
            if self.next == parent && random.below(u64::from(sum)) < u64::from(own) {
                self.next = act.thread;
            }
            self.weight[parent as usize] = sum.saturating_sub(own);
        }
    }

    fn done(&mut self, random: &mut Random, able: &[Act], index: usize, selects: &impl Fn(&Act) -> bool) {
        let Some(act) = able.get(index).filter(|act| selects(act)) else { return };
        if let Some(weight) = self.weight.get_mut(act.thread as usize) {
            *weight = weight.saturating_sub(1);
        }
        self.stopped = Threads::NONE;
        self.draw(random, able);
    }

    /// Draws among all threads that were seen, able or not: blocked ones count, too.
    fn draw(&mut self, random: &mut Random, able: &[Act]) {
        let weights = || self.seen.iter().map(|thread| (thread, u64::from(self.weight[thread as usize])));
        let total: u64 = weights().map(|(_, weight)| weight).sum();
        let mut at = random.below(total);
        self.next = NOBODY;
        for (thread, weight) in weights() {
            if at < weight {
                self.next = thread;
                return;
            }
            at -= weight;
        }
        // Nothing is expected any more: anyone.
        self.next =
            pick(random, able, |act| (act.thread as usize) < THREADS).map_or(NOBODY, |index| able[index].thread);
    }

    fn draw_among(&mut self, random: &mut Random, able: &[Act], fits: &impl Fn(&Act) -> bool) -> Option<usize> {
        let of = |act: &Act| u64::from(self.weight.get(act.thread as usize).copied().unwrap_or(0).max(1));
        let fitting = || able.iter().enumerate().filter(|(_, act)| fits(act));
        let mut at = random.below(fitting().map(|(_, act)| of(act)).sum());
        for (index, act) in fitting() {
            if at < of(act) {
                return Some(index);
            }
            at -= of(act);
        }
        None
    }
}
