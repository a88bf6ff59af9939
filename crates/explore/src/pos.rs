//! POS, partial order sampling: a random priority for each operation, drawn anew where the order counts.
//!
//! Paper: X. Yuan, J. Yang, R. Gu, "Partial Order Aware Concurrency Sampling", CAV 2018.
//!
//! Guaranteed: every partial order of a program has a probability, for n threads whose races are spread evenly one that
//! falls more slowly with the length than the random walk's. The operation of the highest priority goes first; those
//! that depend on it draw again, so that one draw never decides two races.
//!
//! Deviations from the paper:
//! 1. What blocked threads are about to do is not looked at: their priorities stay.
//! 2. Whoever has just yielded is not chosen again at once.

use crate::depends::depends;
use crate::random::Random;
use crate::{Act, THREADS};

pub struct Pos {
    /// By thread, for what it is about to do; 0 is not drawn yet.
    priority: [u64; THREADS],
}

impl Pos {
    pub fn new() -> Pos {
        Pos { priority: [0; THREADS] }
    }

    pub fn choose(&mut self, random: &mut Random, able: &[Act], fits: impl Fn(&Act) -> bool) -> Option<usize> {
        let mut best: Option<(u64, usize)> = None;
        for (index, act) in able.iter().enumerate() {
            let Some(priority) = self.priority.get_mut(act.thread as usize) else { continue };
            if *priority == 0 {
                *priority = random.next() | 1;
            }
            if fits(act) && best.is_none_or(|(highest, _)| *priority > highest) {
                best = Some((*priority, index));
            }
        }
        let (_, first) = best?;
        let chosen = able.get(first)?;
        for act in able.iter().filter(|act| depends(act, chosen)) {
            if let Some(priority) = self.priority.get_mut(act.thread as usize) {
                *priority = 0;
            }
        }
        Some(first)
    }
}
