//! A lock for many readers or one writer whose entry and exit are separate calls, as C wants it.

use std::sync::{Condvar, Mutex, MutexGuard};

#[derive(Debug, Default)]
pub struct Gate {
    /// Readers inside; -1 for a writer.
    inside: Mutex<i64>,
    changed: Condvar,
}

impl Gate {
    fn inside(&self) -> MutexGuard<'_, i64> {
        self.inside.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn enter(&self, writes: bool) {
        let mut inside = self.inside();
        while *inside < 0 || writes && *inside > 0 {
            inside = self.changed.wait(inside).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        *inside += if writes { -1 } else { 1 };
    }

    pub fn leave(&self, writes: bool) {
        let mut inside = self.inside();
        *inside += if writes { 1 } else { -1 };
        if *inside == 0 {
            self.changed.notify_all();
        }
    }
}
