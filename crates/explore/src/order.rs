//! The partial order of a run as one number: equal for runs that differ only in the order of what is independent.
//!
//! Each operation is hashed with what it comes after: the last operation of its thread, and what was done before it to
//! its objects. The sum of these numbers does not depend on the order in which independent operations were done
//! (A. Mazurkiewicz's traces, 1977), and differs for other traces but for collisions of 64 bits.
//!
//! Law: follows [`crate::depends`]; what depends there is chained here.

use crate::Act;
use crate::depends::{is_global, reads};
use crate::random::mix;
use std::collections::HashMap;

#[derive(Clone, Default)]
pub struct Order {
    threads: HashMap<u32, u64>,
    /// The last change of an object, and the sum of the reads since.
    objects: HashMap<u32, (u64, u64)>,
    /// The last operation that everything comes after.
    global: u64,
    sum: u64,
}

impl Order {
    /// The next operation is done.
    pub fn add(&mut self, act: &Act) {
        let before = self.threads.get(&act.thread).copied().unwrap_or(u64::from(act.thread));
        let late = u64::from(act.flags & crate::flag::TIMES_OUT);
        let mut hash = mix(before ^ mix(self.global ^ u64::from(act.op) << 8 ^ late));
        if is_global(act) {
            hash = mix(hash ^ self.sum);
            self.global = hash;
            self.objects.clear();
        } else {
            let reads = reads(act);
            let objects = [act.object.min(act.other), act.object.max(act.other)];
            for object in objects.into_iter().filter(|object| *object != 0) {
                let (change, read) = self.objects.get(&object).copied().unwrap_or_default();
                hash = mix(hash.wrapping_add(mix(u64::from(object) ^ mix(change ^ if reads { 0 } else { mix(read) }))));
            }
            for object in objects.into_iter().filter(|object| *object != 0) {
                let (change, read) = self.objects.entry(object).or_default();
                if reads {
                    *read = read.wrapping_add(hash);
                } else {
                    (*change, *read) = (hash, 0);
                }
            }
        }
        self.threads.insert(act.thread, hash);
        self.sum = self.sum.wrapping_add(mix(hash));
    }

    pub fn hash(&self) -> u64 {
        self.sum
    }

    /// The partial order of a whole run.
    pub fn of(log: &[crate::Choice]) -> u64 {
        let mut order = Order::default();
        crate::log::acts(log).for_each(|act| order.add(&act));
        order.hash()
    }
}
