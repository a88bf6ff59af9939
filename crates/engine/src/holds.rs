//! What a thread has that does not itself say whose it is, for others to see: who waits for it must know whom for.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

/// What a thread has that does not itself say whose it is: read-write locks, spinlocks, what it runs once.
#[repr(C)]
pub struct Holds {
    held: [Hold; HOLDS],
}

#[repr(C)]
struct Hold {
    object: AtomicUsize,
    from: AtomicU32,
}

/// More than so many at once are not known; a writer that waits for one of the others is taken to be live.
const HOLDS: usize = 16;

impl Holds {
    fn find(&self, object: usize) -> Option<&Hold> {
        self.held.iter().find(|hold| hold.object.load(Acquire) == object)
    }

    /// The thread has it, by the call before the address `from`.
    pub fn add(&self, object: usize, from: u32) {
        if let Some(free) = self.find(0) {
            free.from.store(from, Relaxed);
            free.object.store(object, Release);
        }
    }

    /// The thread has given it up (once).
    pub fn remove(&self, object: usize) {
        if let Some(hold) = self.find(object) {
            hold.object.store(0, Release);
        }
    }

    pub fn has(&self, object: usize) -> bool {
        self.find(object).is_some()
    }

    /// The lower half of the address behind the call that obtained it, or 0.
    pub fn from(&self, object: usize) -> u32 {
        self.find(object).map_or(0, |hold| hold.from.load(Relaxed))
    }
}
