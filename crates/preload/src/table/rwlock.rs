//! Read-write locks.

use crate::glibc::RwLock;
use crate::handle::rwlock;
use libc::{c_int, clockid_t, timespec};

interpose! {
    Lock    fn pthread_rwlock_rdlock      (l: *mut RwLock) -> c_int                                        => rwlock::rdlock;
    Lock    fn pthread_rwlock_tryrdlock   (l: *mut RwLock) -> c_int                                        => rwlock::tryrdlock;
    Lock    fn pthread_rwlock_timedrdlock (l: *mut RwLock, until: *const timespec) -> c_int                => rwlock::timedrdlock;
    Lock    fn pthread_rwlock_clockrdlock (l: *mut RwLock, id: clockid_t, until: *const timespec) -> c_int => rwlock::clockrdlock;
    Lock    fn pthread_rwlock_wrlock      (l: *mut RwLock) -> c_int                                        => rwlock::wrlock;
    Lock    fn pthread_rwlock_trywrlock   (l: *mut RwLock) -> c_int                                        => rwlock::trywrlock;
    Lock    fn pthread_rwlock_timedwrlock (l: *mut RwLock, until: *const timespec) -> c_int                => rwlock::timedwrlock;
    Lock    fn pthread_rwlock_clockwrlock (l: *mut RwLock, id: clockid_t, until: *const timespec) -> c_int => rwlock::clockwrlock;
    Release fn pthread_rwlock_unlock      (l: *mut RwLock) -> c_int                                        => rwlock::unlock;
}
