//! Condition variables.

use crate::glibc::Mutex;
use crate::handle::cond;
use libc::{c_int, clockid_t, pthread_cond_t, timespec};

interpose! {
    Wait    fn pthread_cond_wait      (c: *mut pthread_cond_t, m: *mut Mutex) -> c_int                                        => cond::wait;
    Wait    fn pthread_cond_timedwait (c: *mut pthread_cond_t, m: *mut Mutex, until: *const timespec) -> c_int                => cond::timedwait;
    Wait    fn pthread_cond_clockwait (c: *mut pthread_cond_t, m: *mut Mutex, id: clockid_t, until: *const timespec) -> c_int => cond::clockwait;
    Release fn pthread_cond_signal    (c: *mut pthread_cond_t) -> c_int                                                       => cond::signal;
    Release fn pthread_cond_broadcast (c: *mut pthread_cond_t) -> c_int                                                       => cond::broadcast;
    Release fn pthread_cond_init      (c: *mut pthread_cond_t, a: *const libc::pthread_condattr_t) -> c_int                   => cond::init;
    Release fn pthread_cond_destroy   (c: *mut pthread_cond_t) -> c_int                                                       => cond::destroy;
}
