//! `Mutex`, as the standard library's.

use super::native::{Held, NativeMutex};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

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

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { native: NativeMutex::new(), inner: std::sync::Mutex::new(value) }
    }

    /// # Errors
    /// As the standard library's.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// # Errors
    /// As the standard library's.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let held = self.native.lock();
        self.guard(held)
    }

    /// The standard lock, when the native one is held.
    #[inline]
    pub(super) fn guard<'a>(&'a self, held: Held<'a>) -> LockResult<MutexGuard<'a, T>> {
        match self.inner.lock() {
            Ok(inner) => Ok(MutexGuard { inner, held, mutex: self }),
            Err(poisoned) => Err(PoisonError::new(MutexGuard { inner: poisoned.into_inner(), held, mutex: self })),
        }
    }

    /// # Errors
    /// As the standard library's.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Some(held) = self.native.try_lock() else { return Err(TryLockError::WouldBlock) };
        match self.inner.try_lock() {
            Ok(inner) => Ok(MutexGuard { inner, held, mutex: self }),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                let guard = MutexGuard { inner: poisoned.into_inner(), held, mutex: self };
                Err(TryLockError::Poisoned(PoisonError::new(guard)))
            }
        }
    }

    pub fn is_poisoned(&self) -> bool {
        self.inner.is_poisoned()
    }

    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }

    /// # Errors
    /// As the standard library's.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
