//! `Once`, as the standard library's.
//!
//! Recorded, two native mutexes order everyone who comes, as in [`super::OnceLock`]: one is held by whoever is inside, the other by
//! whoever only looks, so that a look never waits for whoever is inside; it may be the same thread.

use super::native::{NativeCondition, NativeMutex, call, is_ordered, is_recorded};
use crate::exploring::part::Touch;
use std::fmt;
use std::sync::OnceState;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// As [`std::sync::Once`].
pub struct Once {
    /// Recorded, whoever comes is put in order here: also those who find it done.
    native: NativeMutex,
    /// Recorded, those who wait sleep here until somebody was inside.
    called: NativeCondition,
    /// Recorded, whether the last who was inside panicked; changes under the native mutex.
    broken: AtomicBool,
    /// Recorded, whoever looks is put in order here.
    door: NativeMutex,
    /// Recorded, what a look finds; changes under `door`.
    done: AtomicBool,
    inner: std::sync::Once,
}

impl Once {
    /// As the standard library's.
    pub const fn new() -> Once {
        let (native, door, called) = (NativeMutex::new(), NativeMutex::new(), NativeCondition::new());
        let (broken, done) = (AtomicBool::new(false), AtomicBool::new(false));
        Once { native, called, broken, door, done, inner: std::sync::Once::new() }
    }

    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let _held = self.native.lock_for("call once");
        let _inside = self.enter();
        self.inner.call_once(f);
    }

    /// As the standard library's.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let _held = self.native.lock_for("call once");
        let _inside = self.enter();
        self.inner.call_once_force(f);
    }

    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        if is_recorded() {
            let _door = self.door.lock();
            return self.done.load(Relaxed);
        }
        let _held = self.native.touch(Touch::Load);
        self.inner.is_completed()
    }

    /// # Panics
    /// As the standard library's: if the call has panicked.
    #[track_caller]
    pub fn wait(&self) {
        if is_ordered() {
            self.wait_in_order(|once| once.broken.load(Relaxed));
        }
        self.inner.wait();
    }

    /// As the standard library's.
    #[track_caller]
    pub fn wait_force(&self) {
        if is_ordered() {
            self.wait_in_order(|_| false);
        }
        self.inner.wait_force();
    }

    /// The native mutex is held, if anything is ordered. Whoever finds it done has nothing to tell.
    #[inline]
    fn enter(&self) -> Option<Inside<'_>> {
        (is_ordered() && !self.inner.is_completed()).then(|| Inside(self))
    }

    /// Waits until it is done, or `enough`. While the native mutex is held nobody is inside.
    #[track_caller]
    fn wait_in_order(&self, enough: impl Fn(&Once) -> bool) {
        let _call = call("wait for once", false);
        let held = self.native.lock();
        while !self.inner.is_completed() && !enough(self) {
            self.called.wait(&held);
        }
    }
}

/// Somebody is inside.
struct Inside<'a>(&'a Once);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let done = self.0.inner.is_completed();
        if is_recorded() {
            let _door = self.0.door.lock();
            self.0.done.store(done, Relaxed);
        }
        self.0.broken.store(!done, Relaxed);
        self.0.called.wake_all();
    }
}

impl Default for Once {
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
