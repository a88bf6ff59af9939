//! What orders threads at an object: libc's objects, which the shim catches, when the process is recorded; the exploration,
//! when the thread is explored; nothing otherwise.
//!
//! libc's object is not touched while a thread is explored, and a process that is recorded explores nothing. So the first
//! word of the object is the exploration's then: the name of the object in the present run.

use crate::exploring::part::{Called, Part, Touch, called, part, stay};
use std::cell::UnsafeCell;
use std::panic::{Location, RefUnwindSafe};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

static SEEN: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
/// Nobody orders anything.
const FREE: u8 = 1;
const RECORDED: u8 = 2;
/// There has been an exploration in this process: some of its threads may be explored.
const EXPLORES: u8 = 3;

/// Whether this thread is put in order: its process is recorded or replayed, or it is explored.
#[inline]
pub fn is_ordered() -> bool {
    SEEN.load(Relaxed) != FREE && look()
}

#[cold]
fn look() -> bool {
    match SEEN.load(Relaxed) {
        UNKNOWN => {
            let seen = if crate::mode::is_caught() { RECORDED } else { FREE };
            let _ = SEEN.compare_exchange(UNKNOWN, seen, Relaxed, Relaxed);
            is_ordered()
        }
        EXPLORES => part().is_some(),
        seen => seen == RECORDED,
    }
}

/// Whether this process is recorded or replayed.
pub fn is_recorded() -> bool {
    is_ordered() && SEEN.load(Relaxed) == RECORDED
}

/// From now on threads of this process may be explored. False if it is recorded.
pub fn explore() -> bool {
    look();
    let _ = SEEN.compare_exchange(FREE, EXPLORES, Relaxed, Relaxed);
    SEEN.load(Relaxed) == EXPLORES
}

/// The part of a thread that is explored; nothing if the process is recorded.
pub fn explored() -> Option<Part> {
    if SEEN.load(Relaxed) == EXPLORES { part() } else { None }
}

/// Until it is dropped, what this thread does is one operation to an exploration. Not around code of the program.
#[inline]
pub fn call(what: &'static str, polls: bool) -> Option<Called> {
    (SEEN.load(Relaxed) == EXPLORES).then(|| called(what, polls, false))
}

/// The same where something is dropped.
pub fn call_in_drop(what: &'static str) -> Option<Called> {
    (SEEN.load(Relaxed) == EXPLORES).then(|| called(what, false, true))
}

/// Whether this thread is being unwound because its exploration has ended its run. Locks are poisoned then that are not so in
/// the program, and whoever drops something must not panic over that.
#[cold]
pub fn forgives() -> bool {
    std::thread::panicking() && explored().is_some_and(|part| part.is_over())
}

/// The first word of an object of libc's, for the exploration.
fn mark<T>(object: &UnsafeCell<T>) -> &AtomicU64 {
    const { assert!(size_of::<T>() >= 8 && align_of::<T>() >= 8) };
    // SAFETY: large enough and aligned; all who use it now use it as this word.
    unsafe { AtomicU64::from_ptr(object.get().cast()) }
}

/// A plain mutex of libc's.
pub struct NativeMutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: libc's mutex is made for many threads. It is moved only while nobody holds it, which a plain one of glibc's does
// not mind.
unsafe impl Send for NativeMutex {}
// SAFETY: as above.
unsafe impl Sync for NativeMutex {}
// A panic leaves no object of libc's half done.
impl RefUnwindSafe for NativeMutex {}

impl NativeMutex {
    pub const fn new() -> NativeMutex {
        NativeMutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    /// Takes it, if this thread is ordered, until the result is dropped.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> Held<'_> {
        if is_ordered() { self.lock_now("lock mutex") } else { Held(None) }
    }

    /// The same, which is called `what` in an exploration.
    #[inline]
    #[track_caller]
    pub fn lock_for(&self, what: &'static str) -> Held<'_> {
        if is_ordered() { self.lock_now(what) } else { Held(None) }
    }

    #[cold]
    #[track_caller]
    fn lock_now(&self, what: &'static str) -> Held<'_> {
        if let Some(part) = explored() {
            return Held(part.lock(mark(&self.0), what, Location::caller()).then_some(self));
        }
        // SAFETY: a valid mutex.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        Held(Some(self))
    }

    /// Takes it, if this process is recorded, for one operation on an atomic; an exploration needs no more than a point.
    #[inline]
    #[track_caller]
    pub fn touch(&self, how: Touch) -> Held<'_> {
        if is_ordered() { self.touch_now(how) } else { Held(None) }
    }

    #[cold]
    #[track_caller]
    fn touch_now(&self, how: Touch) -> Held<'_> {
        match explored() {
            Some(part) => {
                part.touch(mark(&self.0), how, Location::caller());
                Held(None)
            }
            None => self.lock_now(""),
        }
    }

    /// Takes it, if this thread is ordered; `None` if another thread has it.
    #[track_caller]
    pub fn try_lock(&self) -> Option<Held<'_>> {
        if !is_ordered() {
            return Some(Held(None));
        }
        if let Some(part) = explored() {
            return match part.try_lock(mark(&self.0), Location::caller()) {
                Some(true) => Some(Held(Some(self))),
                Some(false) => None,
                None => Some(Held(None)),
            };
        }
        // SAFETY: a valid mutex.
        (unsafe { libc::pthread_mutex_trylock(self.0.get()) } == 0).then(|| Held(Some(self)))
    }
}

impl NativeMutex {
    #[cold]
    fn unlock(&self) {
        match explored() {
            Some(part) => part.unlock(mark(&self.0)),
            None => {
                // SAFETY: this thread holds it: guards do not go to other threads.
                unsafe { libc::pthread_mutex_unlock(self.0.get()) };
            }
        }
    }
}

/// A mutex of libc's that is held, or none.
pub struct Held<'a>(Option<&'a NativeMutex>);

impl<'a> Held<'a> {
    /// The mutex, for a thread that is ordered. It has none only if its run has ended: then nobody will wake it.
    fn mutex(&self) -> &'a NativeMutex {
        self.0.unwrap_or_else(|| stay())
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(mutex) = self.0 {
            mutex.unlock();
        }
    }
}

/// A condition variable of libc's.
pub struct NativeCondition(UnsafeCell<libc::pthread_cond_t>);

// SAFETY: as for the mutex; it is moved only while nobody waits.
unsafe impl Send for NativeCondition {}
// SAFETY: as above.
unsafe impl Sync for NativeCondition {}
impl RefUnwindSafe for NativeCondition {}

impl NativeCondition {
    pub const fn new() -> NativeCondition {
        NativeCondition(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER))
    }

    /// Gives the mutex up, waits, takes it again.
    #[track_caller]
    pub fn wait(&self, held: &Held<'_>) {
        let mutex = held.mutex();
        match explored() {
            Some(part) => drop(part.wait(mark(&self.0), mark(&mutex.0), None, Location::caller())),
            None => {
                // SAFETY: a valid condition variable, and a mutex that this thread holds.
                unsafe { libc::pthread_cond_wait(self.0.get(), mutex.0.get()) };
            }
        }
    }

    /// The same, for so long at most. False when the time was over.
    #[track_caller]
    pub fn wait_for(&self, held: &Held<'_>, time: Duration) -> bool {
        let mutex = held.mutex();
        if let Some(part) = explored() {
            return part.wait(mark(&self.0), mark(&mutex.0), Some(time), Location::caller());
        }
        // SAFETY: as above; the time lives on the stack.
        unsafe {
            let mut until: libc::timespec = std::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_REALTIME, &mut until);
            let whole = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
            until.tv_sec = until.tv_sec.saturating_add(whole);
            until.tv_nsec += i64::from(time.subsec_nanos());
            if until.tv_nsec >= 1_000_000_000 {
                until.tv_sec = until.tv_sec.saturating_add(1);
                until.tv_nsec -= 1_000_000_000;
            }
            libc::pthread_cond_timedwait(self.0.get(), mutex.0.get(), &until) != libc::ETIMEDOUT
        }
    }

    #[track_caller]
    pub fn wake_one(&self) {
        if let Some(part) = explored() {
            return part.wake(mark(&self.0), false, Location::caller());
        }
        // SAFETY: a valid condition variable.
        unsafe { libc::pthread_cond_signal(self.0.get()) };
    }

    #[track_caller]
    pub fn wake_all(&self) {
        if let Some(part) = explored() {
            return part.wake(mark(&self.0), true, Location::caller());
        }
        // SAFETY: a valid condition variable.
        unsafe { libc::pthread_cond_broadcast(self.0.get()) };
    }
}

/// A lock for readers and writers of libc's.
pub struct NativeRwLock(UnsafeCell<libc::pthread_rwlock_t>);

// SAFETY: as for the mutex.
unsafe impl Send for NativeRwLock {}
// SAFETY: as above.
unsafe impl Sync for NativeRwLock {}
impl RefUnwindSafe for NativeRwLock {}

impl NativeRwLock {
    pub const fn new() -> NativeRwLock {
        NativeRwLock(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER))
    }

    /// Takes it, if this thread is ordered; `None` if that did not work.
    #[inline]
    #[track_caller]
    pub fn take(&self, how: How) -> Option<HeldRw<'_>> {
        if is_ordered() { self.take_now(how) } else { Some(HeldRw(None)) }
    }

    #[cold]
    #[track_caller]
    fn take_now(&self, how: How) -> Option<HeldRw<'_>> {
        if let Some(part) = explored() {
            let (mark, at) = (mark(&self.0), Location::caller());
            let taken = match how {
                How::Read => part.read(mark, at).then_some(true),
                How::Write => part.write(mark, at).then_some(true),
                How::TryRead => part.try_read(mark, at),
                How::TryWrite => part.try_write(mark, at),
            };
            return match taken {
                Some(true) => Some(HeldRw(Some(self))),
                Some(false) => None,
                None => Some(HeldRw(None)),
            };
        }
        // SAFETY: a valid lock.
        let failed = unsafe {
            match how {
                How::Read => libc::pthread_rwlock_rdlock(self.0.get()),
                How::Write => libc::pthread_rwlock_wrlock(self.0.get()),
                How::TryRead => libc::pthread_rwlock_tryrdlock(self.0.get()),
                How::TryWrite => libc::pthread_rwlock_trywrlock(self.0.get()),
            }
        };
        (failed == 0).then(|| HeldRw(Some(self)))
    }

    #[cold]
    fn release(&self) {
        match explored() {
            Some(part) => part.release(mark(&self.0)),
            None => {
                // SAFETY: this thread holds it.
                unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
            }
        }
    }
}

/// The ways to take a lock for readers and writers.
#[derive(Clone, Copy)]
pub enum How {
    Read,
    Write,
    TryRead,
    TryWrite,
}

/// A lock of libc's that is held, or none.
pub struct HeldRw<'a>(Option<&'a NativeRwLock>);

impl Drop for HeldRw<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(lock) = self.0 {
            lock.release();
        }
    }
}
