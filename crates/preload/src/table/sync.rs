//! Spinlocks, barriers, once.

use crate::handle::sync;
use libc::{c_int, pthread_barrier_t, pthread_spinlock_t};

/// A routine that is to run once.
pub type Routine = Option<unsafe extern "C-unwind" fn()>;

interpose! {
    Lock    fn pthread_spin_lock    (l: *mut pthread_spinlock_t) -> c_int              => sync::spin_lock;
    Lock    fn pthread_spin_trylock (l: *mut pthread_spinlock_t) -> c_int              => sync::spin_trylock;
    Release fn pthread_spin_unlock  (l: *mut pthread_spinlock_t) -> c_int              => sync::spin_unlock;
    Release fn pthread_spin_init    (l: *mut pthread_spinlock_t, s: c_int) -> c_int    => sync::spin_init;
    Outcome fn pthread_barrier_wait (b: *mut pthread_barrier_t) -> c_int               => sync::barrier_wait;
    Outcome fn pthread_once         (control: *mut c_int, routine: Routine) -> c_int   => sync::once;
    Outcome fn __pthread_once       (control: *mut c_int, routine: Routine) -> c_int   => sync::once;
    Outcome fn __cxa_guard_acquire  (guard: *mut u8) -> c_int                          => sync::guard_acquire;
    Release fn __cxa_guard_release  (guard: *mut u8)                                   => sync::guard_release;
    Release fn __cxa_guard_abort    (guard: *mut u8)                                   => sync::guard_abort;
}
