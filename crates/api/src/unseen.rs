//! Threads of the library's own, which a recording does not see.
//!
//! Such a thread is made by libc's own function, found past the shim. Law: whatever runs in it makes its system calls
//! directly and takes the standard library's locks only, which are futexes; so it has no part in the program's order.
//! [`call`] is for work that cannot keep this law, because other people wrote it: the shim is told not to count it.

use crate::{parked, real};
use libc::{c_void, pthread_attr_t, pthread_t};
#[cfg(feature = "nats")]
use {
    crate::{mode, wire},
    libc::{POLLIN, pollfd},
    retake_tape::session::RUN_APART,
    std::sync::{Arc, Mutex},
};

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
    parked::work(*work);
    std::ptr::null_mut()
}

fn real_create() -> Option<Create> {
    // SAFETY: libc's function of that name has this type.
    real::find(c"pthread_create").map(|found| unsafe { std::mem::transmute::<*mut c_void, Create>(found) })
}

/// Starts a thread that does `work`, with all signals blocked; false if it cannot be had.
pub fn start(work: impl FnOnce() + Send + 'static) -> bool {
    start_with(STACK, work)
}

fn start_with(stack: usize, work: impl FnOnce() + Send + 'static) -> bool {
    let Some(create) = real_create() else { return false };
    let given: *mut Work = Box::into_raw(Box::new(Box::new(work)));
    // SAFETY: plain calls on variables of our own; the box is taken back if nobody takes it.
    unsafe {
        let mut attributes: pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&mut attributes, stack);
        let (all, mut before) = (u64::MAX, 0u64);
        let (new, old) = (&raw const all as usize, &raw mut before as usize);
        retake_engine::sys::rt_sigprocmask(libc::SIG_SETMASK as usize, new, old, 8);
        let mut thread: pthread_t = 0;
        parked::started(true);
        let failed = create(&mut thread, &attributes, run, given.cast());
        retake_engine::sys::rt_sigprocmask(libc::SIG_SETMASK as usize, old, 0, 8);
        libc::pthread_attr_destroy(&mut attributes);
        if failed != 0 {
            parked::started(false);
            drop(Box::from_raw(given));
        }
        failed == 0
    }
}

/// Does `work` in a thread whose calls are no events, and waits for what comes of it; `None` if there is no such thread.
#[cfg(feature = "nats")]
pub fn call<T: Send + 'static>(stack: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = Arc::new((Mutex::new(None), wire::bell().ok()?));
    let tells = done.clone();
    let doing = move || {
        let result = work();
        *tells.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
        wire::ring(&tells.1);
    };
    if !start_with(stack, move || apart(doing)) {
        return None;
    }
    loop {
        let result = done.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if result.is_some() {
            return result;
        }
        let _ = wire::poll(&mut [pollfd { fd: done.1.0, events: POLLIN, revents: 0 }], -1);
    }
}

/// Does `work` in this thread, of which the shim, if it is there, takes no notice meanwhile.
#[cfg(feature = "nats")]
fn apart<F: FnOnce()>(work: F) {
    extern "C" fn run<F: FnOnce()>(work: *mut c_void) {
        // SAFETY: what was given with this function.
        if let Some(work) = unsafe { (*work.cast::<Option<F>>()).take() } {
            work();
        }
    }
    type RunApart = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void);
    let Some(function) = mode::find(RUN_APART) else { return work() };
    let mut work = Some(work);
    // SAFETY: the shim's function of that name has this type; it calls the one that it is given.
    unsafe { std::mem::transmute::<usize, RunApart>(function)(run::<F>, (&raw mut work).cast()) };
}
