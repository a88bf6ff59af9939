//! C11's threads. glibc does not call the POSIX functions for them in a way that could be caught.

use super::sync::Routine;
use super::thread::Destructor;
use crate::glibc::Mutex;
use crate::handle::c11;
use libc::{c_int, c_void, pthread_cond_t, pthread_key_t, pthread_t, timespec};

/// A C11 thread's function.
pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

interpose! {
    Lock    fn mtx_lock      (m: *mut Mutex) -> c_int                                                   => c11::lock;
    Lock    fn mtx_trylock   (m: *mut Mutex) -> c_int                                                   => c11::trylock;
    Lock    fn mtx_timedlock (m: *mut Mutex, until: *const timespec) -> c_int                           => c11::timedlock;
    Release fn mtx_unlock    (m: *mut Mutex) -> c_int                                                   => c11::unlock;
    Wait    fn cnd_wait      (c: *mut pthread_cond_t, m: *mut Mutex) -> c_int                           => c11::wait;
    Wait    fn cnd_timedwait (c: *mut pthread_cond_t, m: *mut Mutex, until: *const timespec) -> c_int   => c11::timedwait;
    Release fn cnd_signal    (c: *mut pthread_cond_t) -> c_int                                          => c11::signal;
    Release fn cnd_broadcast (c: *mut pthread_cond_t) -> c_int                                          => c11::broadcast;
    Create  fn thrd_create   (to: *mut pthread_t, start: Start, arg: *mut c_void) -> c_int              => c11::create;
    Acquire fn thrd_join     (t: pthread_t, to: *mut c_int) -> c_int                                    => c11::join;
    Value   fn thrd_sleep    (time: *const timespec, left: *mut timespec) -> c_int                      => c11::sleep;
    Value   fn thrd_yield    ()                                                                         => c11::r#yield;
    Note    fn tss_create    (to: *mut pthread_key_t, destructor: Destructor) -> c_int                  => c11::key_create;
    Outcome fn call_once     (control: *mut c_int, routine: Routine)                                    => c11::once;
}
