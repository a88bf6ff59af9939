//! `Condvar`, as the standard library's.

use super::guard::wrap;
use super::mutex::MutexGuard;
use super::native::{NativeCondition, is_ordered};
use crate::time::{Duration, Instant};
use std::fmt;
use std::sync::LockResult;

/// As [`std::sync::Condvar`].
pub struct Condvar {
    native: NativeCondition,
    inner: std::sync::Condvar,
}

/// As [`std::sync::WaitTimeoutResult`], which only the standard library can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// As the standard library's.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// As the standard library's.
    pub const fn new() -> Condvar {
        Condvar { native: NativeCondition::new(), inner: std::sync::Condvar::new() }
    }

    /// # Errors
    /// As the standard library's.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let MutexGuard { inner, held, mutex } = guard;
        if is_ordered() {
            // While the native mutex is held nobody else comes to the standard one.
            drop(inner);
            self.native.wait(&held);
            return mutex.guard(held);
        }
        wrap(self.inner.wait(inner), |inner| MutexGuard { inner, held, mutex })
    }

    /// # Errors
    /// As the standard library's.
    #[track_caller]
    pub fn wait_while<'a, T, F>(&self, mut guard: MutexGuard<'a, T>, mut condition: F) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// # Errors
    /// As the standard library's.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let MutexGuard { inner, held, mutex } = guard;
        if is_ordered() {
            drop(inner);
            let over = !self.native.wait_for(&held, time);
            return wrap(mutex.guard(held), |guard| (guard, WaitTimeoutResult(over)));
        }
        wrap(self.inner.wait_timeout(inner, time), |(inner, over)| {
            (MutexGuard { inner, held, mutex }, WaitTimeoutResult(over.timed_out()))
        })
    }

    /// # Errors
    /// As the standard library's.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        loop {
            if !condition(&mut guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(left) = time.checked_sub(start.elapsed()) else { return Ok((guard, WaitTimeoutResult(true))) };
            guard = self.wait_timeout(guard, left)?.0;
        }
    }

    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn notify_one(&self) {
        if is_ordered() { self.native.wake_one() } else { self.inner.notify_one() }
    }

    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn notify_all(&self) {
        if is_ordered() { self.native.wake_all() } else { self.inner.notify_all() }
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
