//! What all runs together have seen, so that "500 runs" means something.
//!
//! An operation is told apart by its thread, its object, what it is, and how often that thread had used that object
//! (up to a limit: in a loop the first few are told apart). Two operations of different threads that depend on each other
//! and follow each other at an object make an ordered pair; a pair is covered if it was seen in both orders.
//!
//! Law: grows only; joining the coverage of two searches is the same as one search that did both.

use crate::depends::{depends, excludes, reads, releases};
use crate::order::Order;
use crate::random::mix;
use crate::{Act, Choice, log};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How often the use of an object by a thread is counted.
const USES_MAX: u64 = 15;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The partial orders seen.
    pub orders: BTreeSet<u64>,
    /// Pairs, by a hash of both; a bit for each order in which they were seen.
    pub pairs: BTreeMap<u64, u8>,
}

impl Coverage {
    /// Adds a run. Whether its partial order is new.
    pub fn add(&mut self, run: &[Choice]) -> bool {
        let mut uses: HashMap<(u32, u32), u64> = HashMap::new();
        // Who was at an object last: whoever changed it, and those that only read it since.
        let mut last: HashMap<u32, Vec<(Act, u64)>> = HashMap::new();
        for act in log::acts(run) {
            // Giving a lock back is no rival of taking it; but whoever begins to wait for a condition gives one back.
            let object = if releases(&act) { 0 } else { act.object };
            for object in [object, act.other].into_iter().filter(|object| *object != 0) {
                let count = uses.entry((act.thread, object)).or_default();
                *count = (*count + 1).min(USES_MAX);
                let name = mix(u64::from(object) << 32 ^ u64::from(act.thread) << 16 ^ u64::from(act.op)) ^ mix(*count);
                let reads = reads(&act);
                let there = last.entry(object).or_default();
                for (before, other) in there.iter() {
                    if depends(before, &act) && before.thread != act.thread && !excludes(before, &act) {
                        let bit = if name < *other { 1 } else { 2 };
                        *self.pairs.entry(mix(name.min(*other)) ^ name.max(*other)).or_default() |= bit;
                    }
                }
                if !reads {
                    there.clear();
                }
                there.push((act, name));
            }
        }
        self.orders.insert(Order::of(run))
    }

    /// Pairs that were seen in both orders, and all that were seen.
    pub fn both(&self) -> (usize, usize) {
        (self.pairs.values().filter(|seen| **seen == 3).count(), self.pairs.len())
    }

    pub fn join(&mut self, other: &Coverage) {
        self.orders.extend(&other.orders);
        for (pair, seen) in &other.pairs {
            *self.pairs.entry(*pair).or_default() |= seen;
        }
    }
}
