//! A small lock for the engine's own few shared structures; none of them is touched on the way of an ordinary event.

use crate::sys;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};

/// Spins shortly, then sleeps in small steps. Its holders never block.
pub struct Lock(AtomicU32);

impl Lock {
    pub const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    /// Runs `body` while holding the lock. Signals must be deferred (the caller is busy), so that no handler can want
    /// the lock that its own thread holds.
    #[inline(always)]
    pub fn with<R>(&self, body: impl FnOnce() -> R) -> R {
        if self.0.compare_exchange(0, 1, Acquire, Acquire).is_err() {
            self.wait();
        }
        let result = body();
        self.0.store(0, Release);
        result
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let mut tries = 0;
        while self.0.compare_exchange_weak(0, 1, Acquire, Acquire).is_err() {
            tries += 1;
            if tries < 200 {
                core::hint::spin_loop();
            } else {
                sys::sleep_ns(20_000);
            }
        }
    }

    /// Forgets whoever held it: in a forked child that thread is gone.
    pub fn reset(&self) {
        self.0.store(0, Release);
    }
}

impl Default for Lock {
    fn default() -> Self {
        Lock::new()
    }
}
