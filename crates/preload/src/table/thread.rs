//! Threads.

use crate::handle::thread;
use libc::{c_int, c_void, clockid_t, pthread_attr_t, pthread_key_t, pthread_t, timespec};

/// A thread's function.
pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What runs when a thread ends.
pub type Destructor = Option<unsafe extern "C-unwind" fn(*mut c_void)>;

interpose! {
    Create  fn pthread_create       (to: *mut pthread_t, a: *const pthread_attr_t, start: Start, arg: *mut c_void) -> c_int      => thread::create;
    Acquire fn pthread_join         (t: pthread_t, to: *mut *mut c_void) -> c_int                                               => thread::join;
    Acquire fn pthread_tryjoin_np   (t: pthread_t, to: *mut *mut c_void) -> c_int                                               => thread::tryjoin;
    Acquire fn pthread_timedjoin_np (t: pthread_t, to: *mut *mut c_void, until: *const timespec) -> c_int                       => thread::timedjoin;
    Acquire fn pthread_clockjoin_np (t: pthread_t, to: *mut *mut c_void, id: clockid_t, until: *const timespec) -> c_int        => thread::clockjoin;
    Note    fn pthread_setattr_default_np (a: *const pthread_attr_t) -> c_int                                                   => thread::set_default;
    Note    fn pthread_cancel       (t: pthread_t) -> c_int                                                                     => thread::cancel;
    Note    fn pthread_key_create   (to: *mut pthread_key_t, destructor: Destructor) -> c_int                                   => thread::key_create;
    Note    fn __cxa_thread_atexit_impl (destructor: Destructor, object: *mut c_void, library: *mut c_void) -> c_int            => thread::at_thread_exit;
    Outcome fn pthread_testcancel   ()                                                                                          => thread::testcancel;
}
