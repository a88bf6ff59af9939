//! Threads that a library makes for itself, while the program is inside it: none of what they do is an event.
//!
//! A message-passing library has threads of its own, which lock, read clocks and wake each other otherwise in every run.
//! See [`crate::turn::in_library`] for the program's own threads inside such a library.

use crate::sys;
use crate::thread::{self, Thread};
use crate::tls;
use core::sync::atomic::Ordering::Release;

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
            thread.in_use.store(2, Release);
        }
    }
}
