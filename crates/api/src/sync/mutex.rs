//! `Mutex`, as the standard library's.

use super::guard::{guard, guard_mut, lock, wrap, wrap_try};
use super::native::{Held, NativeMutex};
use std::sync::{LockResult, TryLockError, TryLockResult};

/// As [`std::sync::Mutex`].
pub struct Mutex<T: ?Sized> {
    native: NativeMutex,
    inner: std::sync::Mutex<T>,
}

/// As [`std::sync::MutexGuard`].
#[must_use]
pub struct MutexGuard<'a, T: ?Sized> {
    // Released in this order.
    pub(super) inner: std::sync::MutexGuard<'a, T>,
    pub(super) held: Held<'a>,
    pub(super) mutex: &'a Mutex<T>,
}

// SAFETY: as the standard guard; only whoever gives the guard up, to wait, comes to its mutex.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

lock!(Mutex, NativeMutex, |native| native.try_lock());
guard_mut!(MutexGuard);

impl<T: ?Sized> Mutex<T> {
    /// # Errors
    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let held = self.native.lock();
        self.guard(held)
    }

    /// The standard lock, when the native one is held.
    #[inline]
    pub(super) fn guard<'a>(&'a self, held: Held<'a>) -> LockResult<MutexGuard<'a, T>> {
        wrap(self.inner.lock(), |inner| MutexGuard { inner, held, mutex: self })
    }

    /// # Errors
    /// As the standard library's.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Some(held) = self.native.try_lock() else { return Err(TryLockError::WouldBlock) };
        wrap_try(self.inner.try_lock(), |inner| MutexGuard { inner, held, mutex: self })
    }
}
