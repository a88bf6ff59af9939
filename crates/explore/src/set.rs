//! A set of threads, of those that a strategy tells apart.

use crate::THREADS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub struct Threads([u64; THREADS / 64]);

impl Threads {
    pub const NONE: Threads = Threads([0; THREADS / 64]);

    pub fn put(&mut self, thread: u32) {
        if let Some(word) = self.0.get_mut(thread as usize / 64) {
            *word |= 1 << (thread % 64);
        }
    }

    pub fn remove(&mut self, thread: u32) {
        if let Some(word) = self.0.get_mut(thread as usize / 64) {
            *word &= !(1 << (thread % 64));
        }
    }

    pub fn has(&self, thread: u32) -> bool {
        self.0.get(thread as usize / 64).is_some_and(|word| word >> (thread % 64) & 1 == 1)
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// By rising number.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..THREADS as u32).filter(|thread| self.has(*thread))
    }
}
