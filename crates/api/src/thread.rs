//! Threads, with the standard library's names: `use retake::thread` instead of `std::thread`.
//!
//! The standard library's threads are made and joined by calls that a recording sees; its parking is a futex, which none
//! sees. Here a thread that is recorded parks at an object of libc's, so that it is on the tape who was unparked when. A thread
//! that is explored makes others that are, and asks the exploration before it waits for them, sleeps or yields. Everything
//! else is the standard library's own.

use crate::exploring::part::{Child, Part};
use crate::sync::native::{NativeCondition, NativeMutex, call, explored, is_ordered, is_recorded};
use std::cell::OnceCell;
use std::fmt;
use std::io;
use std::os::unix::thread::{JoinHandleExt, RawPthread};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
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
    /// What it had to do is done; changes under the lock, and only if the process is recorded.
    done: AtomicBool,
}

thread_local! {
    static MINE: OnceCell<Arc<Parker>> = const { OnceCell::new() };
}

impl Parker {
    fn new() -> Arc<Parker> {
        let (lock, rung) = (NativeMutex::new(), NativeCondition::new());
        Arc::new(Parker { lock, rung, token: AtomicBool::new(false), done: AtomicBool::new(false) })
    }

    fn mine() -> Arc<Parker> {
        MINE.with(|mine| mine.get_or_init(Parker::new).clone())
    }
}

/// What a new thread is given: where it parks, and its part if whoever makes it is explored.
struct Start {
    parker: Arc<Parker>,
    part: Option<Part>,
}

impl Start {
    /// A thread is about to be made; in that scope, if it has an address.
    #[track_caller]
    fn new(scope: usize) -> Start {
        let part = explored().and_then(|part| part.create(scope, Location::caller()));
        Start { parker: Parker::new(), part }
    }

    /// What the new thread does: `f`, when it may.
    fn given<T, F: FnOnce() -> T>(&self, f: F) -> impl FnOnce() -> T + use<T, F> {
        let (parker, part) = (self.parker.clone(), self.part.clone());
        move || {
            MINE.with(|mine| drop(mine.set(parker.clone())));
            let _end = End(parker);
            match part {
                Some(part) => part.run(f),
                None => f(),
            }
        }
    }

    /// The standard library could not make the thread.
    fn failed(&self, error: io::Error) -> io::Error {
        if let Some(part) = &self.part {
            part.creates_not();
        }
        error
    }
}

/// Until what a thread has to do is done, or panics.
struct End(Arc<Parker>);

impl Drop for End {
    fn drop(&mut self) {
        if is_recorded() {
            let _held = self.0.lock.lock();
            self.0.done.store(true, Relaxed);
        }
    }
}

/// As [`std::thread::park`].
#[track_caller]
pub fn park() {
    if !is_ordered() {
        return std::thread::park();
    }
    let _call = call("park", false);
    let mine = Parker::mine();
    let held = mine.lock.lock();
    while !mine.token.swap(false, Relaxed) {
        mine.rung.wait(&held);
    }
}

/// As [`std::thread::park_timeout`].
#[track_caller]
pub fn park_timeout(time: Duration) {
    if !is_ordered() {
        return std::thread::park_timeout(time);
    }
    let _call = call("park with time-out", false);
    let mine = Parker::mine();
    let held = mine.lock.lock();
    if !mine.token.swap(false, Relaxed) {
        mine.rung.wait_for(&held, time);
        mine.token.store(false, Relaxed);
    }
}

/// As [`std::thread::park_timeout_ms`].
#[deprecated(note = "as the standard library's: use `park_timeout`")]
#[track_caller]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(ms.into()));
}

/// As [`std::thread::sleep_ms`].
#[deprecated(note = "as the standard library's: use `sleep`")]
#[track_caller]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(ms.into()));
}

/// As [`std::thread::sleep`]; explored, it takes no time.
#[track_caller]
pub fn sleep(time: Duration) {
    match explored() {
        Some(part) => part.nap(Some(time), Location::caller()),
        None => std::thread::sleep(time),
    }
}

/// As [`std::thread::yield_now`].
#[track_caller]
pub fn yield_now() {
    match explored() {
        Some(part) => part.nap(None, Location::caller()),
        None => std::thread::yield_now(),
    }
}

/// As [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread {
    inner: std::thread::Thread,
    parker: Arc<Parker>,
}

impl Thread {
    /// As the standard library's.
    #[track_caller]
    pub fn unpark(&self) {
        if !is_ordered() {
            return self.inner.unpark();
        }
        let _call = call("unpark", false);
        let _held = self.parker.lock.lock();
        self.parker.token.store(true, Relaxed);
        self.parker.rung.wake_one();
    }

    /// As the standard library's.
    pub fn id(&self) -> ThreadId {
        self.inner.id()
    }

    /// As the standard library's.
    pub fn name(&self) -> Option<&str> {
        self.inner.name()
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        pub struct $handle<$($scope,)? T> {
            inner: std::thread::$handle<$($scope,)? T>,
            thread: Thread,
            child: Option<Child>,
        }

        impl<$($scope,)? T> fmt::Debug for $handle<$($scope,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.inner.fmt(f)
            }
        }

        impl<$($scope,)? T> $handle<$($scope,)? T> {
            fn new(inner: std::thread::$handle<$($scope,)? T>, start: Start) -> Self {
                let thread = Thread { inner: inner.thread().clone(), parker: start.parker };
                Self { inner, thread, child: start.part.map(|part| part.child()) }
            }

            /// As the standard library's.
            pub fn thread(&self) -> &Thread {
                &self.thread
            }

            /// # Errors
            /// What the thread has panicked with.
            #[track_caller]
            pub fn join(self) -> Result<T> {
                if let (Some(child), Some(part)) = (self.child, explored()) {
                    part.wait_for_end(child, Location::caller());
                }
                self.inner.join()
            }

            /// As the standard library's.
            #[track_caller]
            pub fn is_finished(&self) -> bool {
                let known = self.child.and_then(|child| explored()?.has_ended(child, Location::caller()));
                known.unwrap_or_else(|| {
                    if !is_recorded() {
                        return self.inner.is_finished();
                    }
                    // When the thread itself is gone, no recording tells.
                    let parker = &self.thread.parker;
                    let _held = parker.lock.lock();
                    parker.done.load(Relaxed)
                })
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

impl<T> JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> RawPthread {
        self.inner.as_pthread_t()
    }

    fn into_pthread_t(self) -> RawPthread {
        self.inner.into_pthread_t()
    }
}

/// As [`std::thread::spawn`].
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let start = Start::new(0);
    JoinHandle::new(std::thread::spawn(start.given(f)), start)
}

/// As [`std::thread::Builder`].
#[derive(Debug)]
pub struct Builder(std::thread::Builder);

impl Builder {
    /// As the standard library's.
    #[allow(clippy::new_without_default)] // as the standard library's
    pub fn new() -> Builder {
        Builder(std::thread::Builder::new())
    }

    /// As the standard library's.
    #[must_use]
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// As the standard library's.
    #[must_use]
    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size))
    }

    /// # Errors
    /// As the standard library's.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let start = Start::new(0);
        Ok(JoinHandle::new(self.0.spawn(start.given(f)).map_err(|error| start.failed(error))?, start))
    }

    /// # Safety
    /// As the standard library's.
    ///
    /// # Errors
    /// As the standard library's.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let start = Start::new(0);
        // SAFETY: the caller's.
        let made = unsafe { self.0.spawn_unchecked(start.given(f)) }.map_err(|error| start.failed(error))?;
        Ok(JoinHandle::new(made, start))
    }

    /// # Errors
    /// As the standard library's.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let start = Start::new(scope.address());
        let made = self.0.spawn_scoped(&scope.0, start.given(f)).map_err(|error| start.failed(error))?;
        Ok(ScopedJoinHandle::new(made, start))
    }
}

/// As [`std::thread::Scope`].
#[derive(Debug)]
#[repr(transparent)]
pub struct Scope<'scope, 'env: 'scope>(std::thread::Scope<'scope, 'env>);

impl<'scope> Scope<'scope, '_> {
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// As the standard library's.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let start = Start::new(self.address());
        ScopedJoinHandle::new(self.0.spawn(start.given(f)), start)
    }
}

/// As [`std::thread::scope`].
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let at = Location::caller();
    std::thread::scope(|inner| {
        // SAFETY: the one has the layout of the other.
        let scope = unsafe { &*std::ptr::from_ref(inner).cast::<Scope<'_, 'env>>() };
        let Some(part) = explored() else { return f(scope) };
        // The standard library waits for the threads where no exploration sees it: they have to end before.
        let result = catch_unwind(AssertUnwindSafe(|| f(scope)));
        part.wait_for_scope(scope.address(), at);
        result.unwrap_or_else(|payload| resume_unwind(payload))
    })
}
