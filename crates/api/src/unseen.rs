//! Threads of the library's own, which a recording does not see.
//!
//! Such a thread is made by libc's own function, found past the shim. Law: whatever runs in it makes its system calls
//! directly and takes the standard library's locks only, which are futexes; so it has no part in the program's order.

use crate::real;
use libc::{c_void, pthread_attr_t, pthread_t};

const STACK: usize = 256 << 10;

type Work = Box<dyn FnOnce() + Send>;

type Create = unsafe extern "C" fn(
    *mut pthread_t,
    *const pthread_attr_t,
    extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> i32;

extern "C" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: `start` gave a box of this type away.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work();
    std::ptr::null_mut()
}

fn real_create() -> Option<Create> {
    // SAFETY: libc's function of that name has this type.
    real::find(c"pthread_create").map(|found| unsafe { std::mem::transmute::<*mut c_void, Create>(found) })
}

/// Starts a thread that does `work`, with all signals blocked; false if it cannot be had.
pub fn start(work: impl FnOnce() + Send + 'static) -> bool {
    let Some(create) = real_create() else { return false };
    let given: *mut Work = Box::into_raw(Box::new(Box::new(work)));
    // SAFETY: plain calls on variables of our own; the box is taken back if nobody takes it.
    unsafe {
        let mut attributes: pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&mut attributes, STACK);
        let (all, mut before) = (u64::MAX, 0u64);
        let (new, old) = (&raw const all as usize, &raw mut before as usize);
        retake_engine::sys::rt_sigprocmask(libc::SIG_SETMASK as usize, new, old, 8);
        let mut thread: pthread_t = 0;
        let failed = create(&mut thread, &attributes, run, given.cast());
        retake_engine::sys::rt_sigprocmask(libc::SIG_SETMASK as usize, old, 0, 8);
        libc::pthread_attr_destroy(&mut attributes);
        if failed != 0 {
            drop(Box::from_raw(given));
        }
        failed == 0
    }
}
