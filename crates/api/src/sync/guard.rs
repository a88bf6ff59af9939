//! What guards and locks have in common: a standard one inside, with a native one beside it that orders.

use super::native::forgives;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// The standard result with one of our guards in place of the standard one, poisoned or not.
#[inline]
pub fn wrap<S, G>(result: LockResult<S>, ours: impl FnOnce(S) -> G) -> LockResult<G> {
    match result {
        Ok(inner) => Ok(ours(inner)),
        Err(poisoned) if forgives() => Ok(ours(poisoned.into_inner())),
        Err(poisoned) => Err(PoisonError::new(ours(poisoned.into_inner()))),
    }
}

/// The same for whoever only tries.
pub fn wrap_try<S, G>(result: TryLockResult<S>, ours: impl FnOnce(S) -> G) -> TryLockResult<G> {
    match result {
        Ok(inner) => Ok(ours(inner)),
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        Err(TryLockError::Poisoned(poisoned)) => {
            Err(TryLockError::Poisoned(PoisonError::new(ours(poisoned.into_inner()))))
        }
    }
}

/// What the standard library gives to a guard that reads.
macro_rules! guard {
    ($guard:ident) => {
        impl<T: ?Sized> std::ops::Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                &self.inner
            }
        }

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + std::fmt::Display> std::fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

/// And to one that writes.
macro_rules! guard_mut {
    ($guard:ident) => {
        guard!($guard);

        impl<T: ?Sized> std::ops::DerefMut for $guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                &mut self.inner
            }
        }
    };
}

/// What all locks have besides the ways to take them. Whoever only looks tries the native lock: then it is on the tape what
/// was found.
macro_rules! lock {
    ($lock:ident, $native:ident, |$its:ident| $look:expr) => {
        impl<T> $lock<T> {
            /// As the standard library's.
            pub const fn new(value: T) -> $lock<T> {
                $lock { native: $native::new(), inner: std::sync::$lock::new(value) }
            }

            /// # Errors
            /// As the standard library's.
            pub fn into_inner(self) -> std::sync::LockResult<T> {
                self.inner.into_inner()
            }
        }

        impl<T: ?Sized> $lock<T> {
            /// As the standard library's.
            #[track_caller]
            pub fn is_poisoned(&self) -> bool {
                let $its = &self.native;
                let _held = $look;
                self.inner.is_poisoned()
            }

            /// As the standard library's.
            #[track_caller]
            pub fn clear_poison(&self) {
                let $its = &self.native;
                let _held = $look;
                self.inner.clear_poison();
            }

            /// # Errors
            /// As the standard library's.
            pub fn get_mut(&mut self) -> std::sync::LockResult<&mut T> {
                self.inner.get_mut()
            }
        }

        impl<T: ?Sized> std::panic::UnwindSafe for $lock<T> {}
        impl<T: ?Sized> std::panic::RefUnwindSafe for $lock<T> {}

        impl<T: Default> Default for $lock<T> {
            fn default() -> $lock<T> {
                $lock::new(T::default())
            }
        }

        impl<T> From<T> for $lock<T> {
            fn from(value: T) -> $lock<T> {
                $lock::new(value)
            }
        }

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $its = &self.native;
                let Some(_held) = $look else {
                    let mut told = f.debug_struct(stringify!($lock));
                    told.field("data", &"<locked>").field("poisoned", &self.inner.is_poisoned());
                    return told.finish_non_exhaustive();
                };
                self.inner.fmt(f)
            }
        }
    };
}

pub(super) use {guard, guard_mut, lock};
