//! Names of objects: small numbers, the same for the same object in every run, where that can be.
//!
//! An object has no number of its own, and its address differs from run to run. It is named when a thread first comes to
//! it, and keeps its name in itself, stamped with the run. The first run of an exploration notes what each thread came to,
//! by how many it had come to before; later runs give the same names there.
//!
//! Law: two objects of one run never share a name, and the same choices give the same names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// What all creations of threads meet at: their order gives the numbers.
pub const THREADS: u32 = 1;
const FIRST: u32 = 2;

/// By thread, and how many objects it had come to before.
pub type Known = HashMap<(u32, u32), u32>;

/// Runs have a number of their own in the process: several explorations go on at once.
static RUNS: AtomicU32 = AtomicU32::new(1);

pub struct Names {
    pub run: u32,
    known: Option<Arc<Known>>,
    learned: Known,
    counts: HashMap<u32, u32>,
    used: HashSet<u32>,
    next: u32,
}

impl Names {
    pub fn new(known: Option<Arc<Known>>) -> Names {
        let next = known.iter().flat_map(|known| known.values()).max().map_or(FIRST, |last| last + 1);
        let run = RUNS.fetch_add(1, Relaxed);
        Names { run, known, learned: Known::new(), counts: HashMap::new(), used: HashSet::new(), next }
    }

    /// The name of the object whose own word is `mark`, to which `thread` comes.
    pub fn name(&mut self, mark: &AtomicU64, thread: u32) -> u32 {
        let count = self.counts.entry(thread).or_default();
        *count += 1;
        let here = (thread, *count);
        let seen = mark.load(Relaxed);
        if (seen >> 32) as u32 == self.run {
            self.learn(here, seen as u32);
            return seen as u32;
        }
        let known = self.known.as_ref().and_then(|known| known.get(&here)).copied();
        let name = known.filter(|name| !self.used.contains(name)).unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.used.insert(name);
        mark.store(u64::from(self.run) << 32 | u64::from(name), Relaxed);
        self.learn(here, name);
        name
    }

    fn learn(&mut self, here: (u32, u32), name: u32) {
        if self.known.is_none() {
            self.learned.insert(here, name);
        }
    }

    /// What later runs are to know.
    pub fn learned(&mut self) -> Known {
        std::mem::take(&mut self.learned)
    }
}
