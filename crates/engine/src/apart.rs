//! Threads that a library makes for itself, while the program is inside it: none of what they do is an event.
//!
//! A message-passing library has threads of its own, which lock, read clocks and wake each other otherwise in every run.
//! See [`crate::turn::in_library`] for the program's own threads inside such a library.

use crate::sys;
use crate::thread::{self, Thread};
use crate::tls;
use crate::turn;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Release};

/// What `in_use` is for such a thread.
const APART: u32 = 3;

/// A thread that the library makes, with its function and argument. Null if there is no memory.
pub fn make(start: usize, argument: usize) -> *mut Thread {
    let made = thread::fresh();
    // SAFETY: a fresh thread is nobody else's.
    if let Some(thread) = unsafe { made.as_mut() } {
        // It has no tape; what it makes in turn is the library's, too.
        (thread.live, thread.library) = (true, 1);
        (thread.start, thread.argument) = (start, argument);
        thread.in_use.store(APART, Release);
    }
    made
}

/// Runs the function of a thread that [`make`] made.
///
/// # Safety
/// `made` must be for this thread.
pub unsafe fn run<R>(made: *mut Thread, body: impl FnOnce() -> R) -> R {
    // SAFETY: the thread is this one's own from here on.
    unsafe { (*made).tid = sys::gettid_now() };
    tls::set(made);
    let _ended = Ended;
    body()
}

struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(thread) = thread::current() {
            thread.has_ended();
        }
    }
}

/// The calling thread enters a library. One that the engine does not know (libc's, for a timer) stays unknown: it is the
/// library's as long as it is there.
pub fn enter() {
    match thread::current() {
        Some(_) => turn::enter_library(),
        None => tls::set(make(0, 0)),
    }
}

/// It leaves again.
pub fn leave() {
    let Some(thread) = thread::current() else { return };
    // No thread that a library has made is without a function.
    if thread.in_use.load(Acquire) == APART && thread.start == 0 && thread.library == 1 {
        tls::set(null_mut());
        thread.in_use.store(0, Release);
    } else if thread.library > 0 {
        turn::leave_library();
    }
}
