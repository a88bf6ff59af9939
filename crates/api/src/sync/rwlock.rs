//! `RwLock`, as the standard library's.

use super::native::{HeldRw, NativeRwLock};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// As [`std::sync::RwLock`].
pub struct RwLock<T: ?Sized> {
    native: NativeRwLock,
    inner: std::sync::RwLock<T>,
}

/// As [`std::sync::RwLockReadGuard`].
#[must_use]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    // Released in this order.
    inner: std::sync::RwLockReadGuard<'a, T>,
    _held: HeldRw<'a>,
}

/// As [`std::sync::RwLockWriteGuard`].
#[must_use]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    // Released in this order.
    inner: std::sync::RwLockWriteGuard<'a, T>,
    _held: HeldRw<'a>,
}

impl<T> RwLock<T> {
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { native: NativeRwLock::new(), inner: std::sync::RwLock::new(value) }
    }

    /// # Errors
    /// As the standard library's.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

/// The four ways to take the lock differ in two names each.
macro_rules! ways {
    ($($name:ident $how:ident $guard:ident;)*) => {$(
        /// # Errors
        /// As the standard library's.
        pub fn $name(&self) -> LockResult<$guard<'_, T>> {
            // It fails only for a thread that has it already, where the standard lock would block for ever, too.
            let _held = self.native.take(libc::$how).expect("the thread does not hold the lock already");
            match self.inner.$name() {
                Ok(inner) => Ok($guard { inner, _held }),
                Err(poisoned) => Err(PoisonError::new($guard { inner: poisoned.into_inner(), _held })),
            }
        }
    )*};
}

macro_rules! tries {
    ($($name:ident $how:ident $guard:ident;)*) => {$(
        /// # Errors
        /// As the standard library's.
        pub fn $name(&self) -> TryLockResult<$guard<'_, T>> {
            let Some(_held) = self.native.take(libc::$how) else { return Err(TryLockError::WouldBlock) };
            match self.inner.$name() {
                Ok(inner) => Ok($guard { inner, _held }),
                Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
                Err(TryLockError::Poisoned(poisoned)) => {
                    let guard = $guard { inner: poisoned.into_inner(), _held };
                    Err(TryLockError::Poisoned(PoisonError::new(guard)))
                }
            }
        }
    )*};
}

impl<T: ?Sized> RwLock<T> {
    ways! {
        read pthread_rwlock_rdlock RwLockReadGuard;
        write pthread_rwlock_wrlock RwLockWriteGuard;
    }
    tries! {
        try_read pthread_rwlock_tryrdlock RwLockReadGuard;
        try_write pthread_rwlock_trywrlock RwLockWriteGuard;
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

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
