//! Mutexes.

use crate::glibc::Mutex;
use crate::handle::mutex;
use libc::{c_int, clockid_t, timespec};

interpose! {
    Lock    fn pthread_mutex_lock      (m: *mut Mutex) -> c_int                                          => mutex::lock;
    Lock    fn pthread_mutex_trylock   (m: *mut Mutex) -> c_int                                          => mutex::trylock;
    Lock    fn pthread_mutex_timedlock (m: *mut Mutex, until: *const timespec) -> c_int                  => mutex::timedlock;
    Lock    fn pthread_mutex_clocklock (m: *mut Mutex, id: clockid_t, until: *const timespec) -> c_int   => mutex::clocklock;
    Release fn pthread_mutex_unlock    (m: *mut Mutex) -> c_int                                          => mutex::unlock;
    Release fn pthread_mutex_init      (m: *mut Mutex, a: *const libc::pthread_mutexattr_t) -> c_int     => mutex::init;
    Release fn pthread_mutex_destroy   (m: *mut Mutex) -> c_int                                          => mutex::destroy;
    Lock    fn __pthread_mutex_lock    (m: *mut Mutex) -> c_int                                          => mutex::lock;
    Lock    fn __pthread_mutex_trylock (m: *mut Mutex) -> c_int                                          => mutex::trylock;
    Release fn __pthread_mutex_unlock  (m: *mut Mutex) -> c_int                                          => mutex::unlock;
}
