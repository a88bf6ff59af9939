//! A forked child must not keep its parent's connections open: partners would never see the parent end.

use crate::parked;
use libc::c_int;
use retake_engine::sys;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// Descriptors of this process, plus one; 0 is a free place. One that finds no place stays open until the process ends.
static OPEN: [AtomicI32; 4096] = [const { AtomicI32::new(0) }; 4096];
static WATCH: Once = Once::new();

/// How many forks lie between the first process and this one.
static GENERATION: AtomicI32 = AtomicI32::new(0);

/// Participants of this process.
pub static PRESENT: AtomicI32 = AtomicI32::new(0);

/// Differs between a process and its forked children.
#[inline]
pub fn generation() -> i32 {
    GENERATION.load(Relaxed)
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Relaxed);
    PRESENT.store(0, Relaxed);
    parked::begin_afresh();
    let_go();
}

/// Closes all that this process has of the library's.
pub fn let_go() {
    for place in &OPEN {
        let fd = place.swap(0, Relaxed) - 1;
        if fd >= 0 {
            // SAFETY: a descriptor that the parent's library opened; nobody in the child uses it.
            unsafe { sys::close(fd as usize) };
        }
    }
}

/// `fd` is the library's from now on.
pub fn opened(fd: c_int) {
    // SAFETY: the handler only closes descriptors.
    WATCH.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
    for at in 0..OPEN.len() {
        let place = &OPEN[(fd as usize + at) % OPEN.len()];
        if place.load(Relaxed) == 0 && place.compare_exchange(0, fd + 1, Relaxed, Relaxed).is_ok() {
            return;
        }
    }
}

/// `fd` is about to be closed. False if it is not ours any more: this is a forked child.
pub fn closed(fd: c_int) -> bool {
    (0..OPEN.len())
        .any(|at| OPEN[(fd as usize + at) % OPEN.len()].compare_exchange(fd + 1, 0, Relaxed, Relaxed).is_ok())
}
