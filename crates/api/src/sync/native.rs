//! libc's objects, which the shim catches, and the question whether the shim is there.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

static SEEN: AtomicU8 = AtomicU8::new(0);

/// Whether this process is recorded or replayed: then the shim is loaded, and libc's objects have to be used.
#[inline]
pub fn is_recorded() -> bool {
    match SEEN.load(Relaxed) {
        0 => look(),
        seen => seen == 2,
    }
}

#[cold]
fn look() -> bool {
    let recorded = crate::mode::is_caught();
    SEEN.store(1 + u8::from(recorded), Relaxed);
    recorded
}

/// A plain mutex of libc's.
pub struct NativeMutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: libc's mutex is made for many threads. It is moved only while nobody holds it, which a plain one of glibc's does
// not mind.
unsafe impl Send for NativeMutex {}
// SAFETY: as above.
unsafe impl Sync for NativeMutex {}

impl NativeMutex {
    pub const fn new() -> NativeMutex {
        NativeMutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    /// Takes it, if this process is recorded, until the result is dropped.
    #[inline]
    pub fn lock(&self) -> Held<'_> {
        if is_recorded() { self.lock_now() } else { Held(None) }
    }

    fn lock_now(&self) -> Held<'_> {
        // SAFETY: a valid mutex.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        Held(Some(self))
    }

    /// Takes it, if this process is recorded; `None` if another thread has it.
    pub fn try_lock(&self) -> Option<Held<'_>> {
        if !is_recorded() {
            return Some(Held(None));
        }
        // SAFETY: a valid mutex.
        (unsafe { libc::pthread_mutex_trylock(self.0.get()) } == 0).then(|| Held(Some(self)))
    }
}

/// A mutex of libc's that is held, or none.
pub struct Held<'a>(Option<&'a NativeMutex>);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(mutex) = self.0 {
            // SAFETY: this thread holds it: guards do not go to other threads.
            unsafe { libc::pthread_mutex_unlock(mutex.0.get()) };
        }
    }
}

/// A condition variable of libc's.
pub struct NativeCondition(UnsafeCell<libc::pthread_cond_t>);

// SAFETY: as for the mutex; it is moved only while nobody waits.
unsafe impl Send for NativeCondition {}
// SAFETY: as above.
unsafe impl Sync for NativeCondition {}

impl NativeCondition {
    pub const fn new() -> NativeCondition {
        NativeCondition(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER))
    }

    /// Gives the mutex up, waits, takes it again.
    pub fn wait(&self, held: &Held<'_>) {
        if let Some(mutex) = held.0 {
            // SAFETY: a valid condition variable, and a mutex that this thread holds.
            unsafe { libc::pthread_cond_wait(self.0.get(), mutex.0.get()) };
        }
    }

    /// The same, for so long at most. False when the time was over.
    pub fn wait_for(&self, held: &Held<'_>, time: Duration) -> bool {
        let Some(mutex) = held.0 else { return true };
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

    pub fn wake_one(&self) {
        // SAFETY: a valid condition variable.
        unsafe { libc::pthread_cond_signal(self.0.get()) };
    }

    pub fn wake_all(&self) {
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

impl NativeRwLock {
    pub const fn new() -> NativeRwLock {
        NativeRwLock(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER))
    }

    /// Takes it by `how`, if this process is recorded; `None` if that did not work.
    pub fn take(&self, how: unsafe extern "C" fn(*mut libc::pthread_rwlock_t) -> i32) -> Option<HeldRw<'_>> {
        if !is_recorded() {
            return Some(HeldRw(None));
        }
        // SAFETY: a valid lock, and a function of libc's that takes it.
        (unsafe { how(self.0.get()) } == 0).then(|| HeldRw(Some(self)))
    }
}

/// A lock of libc's that is held, or none.
pub struct HeldRw<'a>(Option<&'a NativeRwLock>);

impl Drop for HeldRw<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(lock) = self.0 {
            // SAFETY: this thread holds it.
            unsafe { libc::pthread_rwlock_unlock(lock.0.get()) };
        }
    }
}
