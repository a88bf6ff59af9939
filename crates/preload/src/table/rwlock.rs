//! Read-write locks.

use crate::glibc::RwLock;
use crate::handle::rwlock;
use libc::{c_int, clockid_t, timespec};

interpose! {
    Acquire fn pthread_rwlock_rdlock      (l: *mut RwLock) -> c_int                                        => rwlock::rdlock;
    Acquire fn pthread_rwlock_tryrdlock   (l: *mut RwLock) -> c_int                                        => rwlock::tryrdlock;
    Acquire fn pthread_rwlock_timedrdlock (l: *mut RwLock, until: *const timespec) -> c_int                => rwlock::timedrdlock;
    Acquire fn pthread_rwlock_clockrdlock (l: *mut RwLock, id: clockid_t, until: *const timespec) -> c_int => rwlock::clockrdlock;
    Acquire fn pthread_rwlock_wrlock      (l: *mut RwLock) -> c_int                                        => rwlock::wrlock;
    Acquire fn pthread_rwlock_trywrlock   (l: *mut RwLock) -> c_int                                        => rwlock::trywrlock;
    Acquire fn pthread_rwlock_timedwrlock (l: *mut RwLock, until: *const timespec) -> c_int                => rwlock::timedwrlock;
    Acquire fn pthread_rwlock_clockwrlock (l: *mut RwLock, id: clockid_t, until: *const timespec) -> c_int => rwlock::clockwrlock;
    Release fn pthread_rwlock_unlock      (l: *mut RwLock) -> c_int                                        => rwlock::unlock;
}
