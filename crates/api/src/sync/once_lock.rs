//! `OnceLock` and `LazyLock`, as the standard library's.
//!
//! Recorded, two native locks order everyone who comes: `first` is held by whoever makes the value, so that one does;
//! `door` by whoever looks, so that it is on the tape who found the value there and who did not. A look never waits for a
//! value that is being made.

use super::native::{NativeCondition, NativeMutex, call, is_ordered};
use std::fmt;
use std::ops::Deref;

/// As [`std::sync::OnceLock`].
pub struct OnceLock<T> {
    first: NativeMutex,
    door: NativeMutex,
    made: NativeCondition,
    inner: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    /// As the standard library's.
    pub const fn new() -> OnceLock<T> {
        let (first, door, made) = (NativeMutex::new(), NativeMutex::new(), NativeCondition::new());
        OnceLock { first, door, made, inner: std::sync::OnceLock::new() }
    }

    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let _call = call("look at once-lock", true);
        let _door = self.door.lock();
        self.inner.get()
    }

    /// As the standard library's.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.inner.get_mut()
    }

    /// Waits until there is a value.
    #[track_caller]
    pub fn wait(&self) -> &T {
        if !is_ordered() {
            return self.inner.wait();
        }
        let _call = call("wait for once-lock", false);
        let door = self.door.lock();
        loop {
            if let Some(value) = self.inner.get() {
                return value;
            }
            self.made.wait(&door);
        }
    }

    /// # Errors
    /// The value, if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let _first = self.first.lock_for("set once-lock");
        self.put(value)
    }

    /// As the standard library's.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        if !is_ordered() {
            return self.inner.get_or_init(f);
        }
        if let Some(value) = self.get() {
            return value;
        }
        let _first = self.first.lock_for("set once-lock");
        if self.get().is_none() {
            let _ = self.put(f());
        }
        // It is there: whoever holds `first` has put it, or has found it.
        self.inner.wait()
    }

    /// As the standard library's.
    pub fn into_inner(self) -> Option<T> {
        self.inner.into_inner()
    }

    /// As the standard library's.
    pub fn take(&mut self) -> Option<T> {
        self.inner.take()
    }

    #[track_caller]
    fn put(&self, value: T) -> Result<(), T> {
        let _call = call("set once-lock", false);
        let _door = self.door.lock();
        let put = self.inner.set(value);
        if is_ordered() {
            self.made.wake_all();
        }
        put
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> OnceLock<T> {
        OnceLock { inner: value.into(), ..OnceLock::new() }
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> OnceLock<T> {
        self.get().map_or_else(OnceLock::new, |value| OnceLock::from(value.clone()))
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("OnceLock", self.get(), f)
    }
}

fn show(name: &str, value: Option<&impl fmt::Debug>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut told = f.debug_tuple(name);
    match value {
        Some(value) => told.field(value),
        None => told.field(&format_args!("<uninit>")),
    };
    told.finish()
}

/// As [`std::sync::LazyLock`].
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    /// Gone when it has been called, well or not.
    make: std::sync::Mutex<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// As the standard library's.
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { value: OnceLock::new(), make: std::sync::Mutex::new(Some(f)) }
    }

    /// # Panics
    /// If making the value has panicked.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.value.get_or_init(|| {
            let make = this.make.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
            make.expect("LazyLock instance has previously been poisoned")()
        })
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show("LazyLock", self.value.get(), f)
    }
}
