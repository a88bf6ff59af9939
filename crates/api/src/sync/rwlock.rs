//! `RwLock`, as the standard library's.

use super::guard::{guard, guard_mut, lock, wrap, wrap_try};
use super::native::{HeldRw, How, NativeRwLock};
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

lock!(RwLock, NativeRwLock, |native| native.take(How::TryRead));
guard!(RwLockReadGuard);
guard_mut!(RwLockWriteGuard);

/// The two ways to take the lock, and to try, differ in two names each.
macro_rules! ways {
    ($($name:ident $how:ident, $try:ident $try_how:ident, $guard:ident;)*) => {$(
        /// # Errors
        /// As the standard library's.
        #[track_caller]
        pub fn $name(&self) -> LockResult<$guard<'_, T>> {
            // It fails only for a thread that has it already, where the standard lock would block for ever, too.
            let _held = self.native.take(How::$how).expect("the thread does not hold the lock already");
            wrap(self.inner.$name(), |inner| $guard { inner, _held })
        }

        /// # Errors
        /// As the standard library's.
        #[track_caller]
        pub fn $try(&self) -> TryLockResult<$guard<'_, T>> {
            let Some(_held) = self.native.take(How::$try_how) else { return Err(TryLockError::WouldBlock) };
            wrap_try(self.inner.$try(), |inner| $guard { inner, _held })
        }
    )*};
}

impl<T: ?Sized> RwLock<T> {
    ways! {
        read Read, try_read TryRead, RwLockReadGuard;
        write Write, try_write TryWrite, RwLockWriteGuard;
    }
}
