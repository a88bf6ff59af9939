//! Semaphores, named ones too.

use crate::glibc::Sem;
use crate::handle::sem;
use libc::{c_int, c_uint, clockid_t, timespec};

interpose! {
    Acquire fn sem_wait      (s: *mut Sem) -> c_int                                        => sem::wait;
    Acquire fn sem_trywait   (s: *mut Sem) -> c_int                                        => sem::trywait;
    Acquire fn sem_timedwait (s: *mut Sem, until: *const timespec) -> c_int                => sem::timedwait;
    Acquire fn sem_clockwait (s: *mut Sem, id: clockid_t, until: *const timespec) -> c_int => sem::clockwait;
    Release fn sem_post      (s: *mut Sem) -> c_int                                        => sem::post;
    Outcome fn sem_getvalue  (s: *mut Sem, to: *mut c_int) -> c_int                        => sem::getvalue;
    Release fn sem_init      (s: *mut Sem, shared: c_int, value: c_uint) -> c_int          => sem::init;
}
