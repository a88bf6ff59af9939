//! Atomics, as the standard library's.
//!
//! When the process is recorded, every operation is made under a mutex of libc's, so that its place in the order is on the
//! tape. Explored, every operation is a point, and all of them are in one order that everybody sees, whatever `Ordering` they
//! ask for. Fences order nothing that is seen, and are the standard ones.

use super::native::NativeMutex;
use crate::exploring::part::Touch;
use std::fmt;
pub use std::sync::atomic::{Ordering, compiler_fence, fence};

/// What all atomics have. A weak exchange is a strong one when recorded: it must fail by the order alone.
macro_rules! atomic {
    ($($name:ident $(<$param:ident>)? of $value:ty, $standard:ty;)*) => {$(
        #[doc = concat!("As [`std::sync::atomic::", stringify!($name), "`].")]
        pub struct $name $(<$param>)? {
            native: NativeMutex,
            inner: $standard,
        }

        impl $(<$param>)? $name $(<$param>)? {
            /// As the standard library's.
            pub const fn new(value: $value) -> Self {
                Self { native: NativeMutex::new(), inner: <$standard>::new(value) }
            }

            /// As the standard library's.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let _held = self.native.touch(Touch::Load);
                self.inner.load(order)
            }

            /// As the standard library's.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                let _held = self.native.touch(Touch::Change);
                self.inner.store(value, order);
            }

            /// As the standard library's.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                let _held = self.native.touch(Touch::Change);
                self.inner.swap(value, order)
            }

            /// # Errors
            /// As the standard library's.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let _held = self.native.touch(Touch::Try);
                self.inner.compare_exchange(current, new, success, failure)
            }

            /// # Errors
            /// As the standard library's.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// # Errors
            /// As the standard library's.
            #[track_caller]
            pub fn fetch_update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut before = self.load(fetch);
                while let Some(next) = f(before) {
                    match self.compare_exchange_weak(before, next, set, fetch) {
                        Ok(before) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }

            /// As the standard library's.
            pub fn get_mut(&mut self) -> &mut $value {
                self.inner.get_mut()
            }

            /// As the standard library's.
            pub const fn into_inner(self) -> $value {
                self.inner.into_inner()
            }

            /// As the standard library's. What is done through the pointer is not put in order.
            pub const fn as_ptr(&self) -> *mut $value {
                self.inner.as_ptr()
            }
        }

        impl $(<$param>)? From<$value> for $name $(<$param>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl $(<$param>)? fmt::Debug for $name $(<$param>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }
    )*};
}

macro_rules! operations {
    ($($name:ident $value:ty: $($operation:ident)*;)*) => {$(
        impl $name {
            $(
                /// As the standard library's.
                #[inline]
                #[track_caller]
                pub fn $operation(&self, value: $value, order: Ordering) -> $value {
                    let _held = self.native.touch(Touch::Change);
                    self.inner.$operation(value, order)
                }
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(Default::default())
            }
        }
    )*};
}

atomic! {
    AtomicBool of bool, std::sync::atomic::AtomicBool;
    AtomicI8 of i8, std::sync::atomic::AtomicI8;
    AtomicI16 of i16, std::sync::atomic::AtomicI16;
    AtomicI32 of i32, std::sync::atomic::AtomicI32;
    AtomicI64 of i64, std::sync::atomic::AtomicI64;
    AtomicIsize of isize, std::sync::atomic::AtomicIsize;
    AtomicU8 of u8, std::sync::atomic::AtomicU8;
    AtomicU16 of u16, std::sync::atomic::AtomicU16;
    AtomicU32 of u32, std::sync::atomic::AtomicU32;
    AtomicU64 of u64, std::sync::atomic::AtomicU64;
    AtomicUsize of usize, std::sync::atomic::AtomicUsize;
    AtomicPtr<T> of *mut T, std::sync::atomic::AtomicPtr<T>;
}

impl AtomicBool {
    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        let _held = self.native.touch(Touch::Change);
        self.inner.fetch_not(order)
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> AtomicPtr<T> {
        AtomicPtr::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}

operations! {
    AtomicBool bool: fetch_and fetch_nand fetch_or fetch_xor;
    AtomicI8 i8: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicI16 i16: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicI32 i32: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicI64 i64: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicIsize isize: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicU8 u8: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicU16 u16: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicU32 u32: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicU64 u64: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
    AtomicUsize usize: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
}
