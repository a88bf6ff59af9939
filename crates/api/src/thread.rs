//! Threads, with the standard library's names: `use retake::thread` instead of `std::thread`.
//!
//! The standard library's threads are made and joined by calls that a recording sees; its parking is a futex, which none
//! sees. Here a thread that is recorded parks at an object of libc's, so that it is on the tape who was unparked when.
//! Everything else is the standard library's own.

use crate::sync::native::{NativeCondition, NativeMutex, is_recorded};
use std::cell::OnceCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
pub use std::thread::*;
use std::time::Duration;

/// Where one thread parks.
struct Parker {
    lock: NativeMutex,
    rung: NativeCondition,
    /// It has been unparked; changes under the lock.
    token: AtomicBool,
}

thread_local! {
    static MINE: OnceCell<Arc<Parker>> = const { OnceCell::new() };
}

impl Parker {
    fn new() -> Arc<Parker> {
        let (lock, rung) = (NativeMutex::new(), NativeCondition::new());
        Arc::new(Parker { lock, rung, token: AtomicBool::new(false) })
    }

    fn mine() -> Arc<Parker> {
        MINE.with(|mine| mine.get_or_init(Parker::new).clone())
    }

    /// In a thread that was made with it: runs `f`.
    fn run<T>(self: Arc<Parker>, f: impl FnOnce() -> T) -> T {
        MINE.with(|mine| drop(mine.set(self)));
        f()
    }
}

/// As [`std::thread::park`].
pub fn park() {
    if !is_recorded() {
        return std::thread::park();
    }
    let mine = Parker::mine();
    let held = mine.lock.lock();
    while !mine.token.swap(false, Relaxed) {
        mine.rung.wait(&held);
    }
}

/// As [`std::thread::park_timeout`].
pub fn park_timeout(time: Duration) {
    if !is_recorded() {
        return std::thread::park_timeout(time);
    }
    let mine = Parker::mine();
    let held = mine.lock.lock();
    if !mine.token.swap(false, Relaxed) {
        mine.rung.wait_for(&held, time);
        mine.token.store(false, Relaxed);
    }
}

/// As [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread {
    inner: std::thread::Thread,
    parker: Arc<Parker>,
}

impl Thread {
    pub fn unpark(&self) {
        if !is_recorded() {
            return self.inner.unpark();
        }
        let _held = self.parker.lock.lock();
        self.parker.token.store(true, Relaxed);
        self.parker.rung.wake_one();
    }

    pub fn id(&self) -> ThreadId {
        self.inner.id()
    }

    pub fn name(&self) -> Option<&str> {
        self.inner.name()
    }
}

impl std::fmt::Debug for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

/// As [`std::thread::current`].
pub fn current() -> Thread {
    Thread { inner: std::thread::current(), parker: Parker::mine() }
}

/// The handles differ in a lifetime.
macro_rules! handle {
    ($(#[$doc:meta])* $handle:ident $(<$scope:lifetime>)?) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $handle<$($scope,)? T> {
            inner: std::thread::$handle<$($scope,)? T>,
            thread: Thread,
        }

        impl<$($scope,)? T> $handle<$($scope,)? T> {
            fn new(inner: std::thread::$handle<$($scope,)? T>, parker: Arc<Parker>) -> Self {
                let thread = Thread { inner: inner.thread().clone(), parker };
                Self { inner, thread }
            }

            pub fn thread(&self) -> &Thread {
                &self.thread
            }

            /// # Errors
            /// What the thread has panicked with.
            pub fn join(self) -> Result<T> {
                self.inner.join()
            }

            pub fn is_finished(&self) -> bool {
                self.inner.is_finished()
            }
        }
    };
}

handle! {
    /// As [`std::thread::JoinHandle`].
    JoinHandle
}
handle! {
    /// As [`std::thread::ScopedJoinHandle`].
    ScopedJoinHandle<'scope>
}

/// As [`std::thread::spawn`].
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let parker = Parker::new();
    let given = parker.clone();
    JoinHandle::new(std::thread::spawn(move || given.run(f)), parker)
}

/// As [`std::thread::Builder`].
#[derive(Debug)]
pub struct Builder(std::thread::Builder);

impl Builder {
    #[allow(clippy::new_without_default)] // as the standard library's
    pub fn new() -> Builder {
        Builder(std::thread::Builder::new())
    }

    #[must_use]
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    #[must_use]
    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size))
    }

    /// # Errors
    /// As the standard library's.
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let parker = Parker::new();
        let given = parker.clone();
        Ok(JoinHandle::new(self.0.spawn(move || given.run(f))?, parker))
    }

    /// # Errors
    /// As the standard library's.
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let parker = Parker::new();
        let given = parker.clone();
        Ok(ScopedJoinHandle::new(self.0.spawn_scoped(&scope.0, move || given.run(f))?, parker))
    }
}

/// As [`std::thread::Scope`].
#[derive(Debug)]
#[repr(transparent)]
pub struct Scope<'scope, 'env: 'scope>(std::thread::Scope<'scope, 'env>);

impl<'scope> Scope<'scope, '_> {
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let parker = Parker::new();
        let given = parker.clone();
        ScopedJoinHandle::new(self.0.spawn(move || given.run(f)), parker)
    }
}

/// As [`std::thread::scope`].
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    std::thread::scope(|inner| {
        // SAFETY: the one has the layout of the other.
        f(unsafe { &*std::ptr::from_ref(inner).cast::<Scope<'_, 'env>>() })
    })
}
