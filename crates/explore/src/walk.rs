//! Random walk: at each point every thread that can go on is chosen with the same probability.
//!
//! No paper; the yardstick of all others. Guarantee: every interleaving of a program that ends has some probability, at
//! least 1/n^k for n threads and k choices. It favours short threads and changes threads often, so bugs that need one
//! thread to stay behind for long are found seldom.
//!
//! 1. Whoever has just yielded is not chosen again at once.

use crate::Act;
use crate::random::Random;

pub struct Walk;

impl Walk {
    pub fn choose(&mut self, random: &mut Random, front: &[Act], fits: impl Fn(&Act) -> bool) -> Option<usize> {
        pick(random, front, fits)
    }
}

/// One of those that fit, each with the same probability.
pub fn pick(random: &mut Random, able: &[Act], fits: impl Fn(&Act) -> bool) -> Option<usize> {
    let count = able.iter().filter(|act| fits(act)).count();
    let chosen = random.below(count as u64) as usize;
    able.iter().enumerate().filter(|(_, act)| fits(act)).nth(chosen).map(|(index, _)| index)
}
