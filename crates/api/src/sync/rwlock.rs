//! `RwLock`, as the standard library's.

use super::guard::{guard, guard_mut, lock, wrap, wrap_try};
use super::native::{HeldRw, NativeRwLock};
use std::sync::{LockResult, TryLockError, TryLockResult};

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

lock!(RwLock, NativeRwLock);
guard!(RwLockReadGuard);
guard_mut!(RwLockWriteGuard);

/// The two ways to take the lock, and to try, differ in two names each.
macro_rules! ways {
    ($($name:ident $how:ident, $try:ident $try_how:ident, $guard:ident;)*) => {$(
        /// # Errors
        /// As the standard library's.
        pub fn $name(&self) -> LockResult<$guard<'_, T>> {
            // It fails only for a thread that has it already, where the standard lock would block for ever, too.
            let _held = self.native.take(libc::$how).expect("the thread does not hold the lock already");
            wrap(self.inner.$name(), |inner| $guard { inner, _held })
        }

        /// # Errors
        /// As the standard library's.
        pub fn $try(&self) -> TryLockResult<$guard<'_, T>> {
            let Some(_held) = self.native.take(libc::$try_how) else { return Err(TryLockError::WouldBlock) };
            wrap_try(self.inner.$try(), |inner| $guard { inner, _held })
        }
    )*};
}

impl<T: ?Sized> RwLock<T> {
    ways! {
        read pthread_rwlock_rdlock, try_read pthread_rwlock_tryrdlock, RwLockReadGuard;
        write pthread_rwlock_wrlock, try_write pthread_rwlock_trywrlock, RwLockWriteGuard;
    }
}
