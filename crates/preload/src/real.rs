//! Finding the functions that the shim stands before.

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{RTLD_NEXT, c_char, dlsym, dlvsym};
use retake_engine::thread;

/// The address of the next function called `name` (which ends in a zero byte), remembered in `at`.
#[inline(always)]
pub fn find(at: &AtomicUsize, name: &'static str) -> usize {
    match at.load(Relaxed) {
        0 => look_up(at, name),
        known => known,
    }
}

/// Signals wait meanwhile: a handler could jump away from the linker's lock, and one that comes at the end of its calls of the
/// kernel would be taken for one that came at the end of the function's.
#[cold]
#[inline(never)]
fn look_up(at: &AtomicUsize, name: &'static str) -> usize {
    let mut thread = thread::current();
    if let Some(thread) = &mut thread {
        thread.begin();
    }
    let name_at = name.as_ptr().cast::<c_char>();
    // Condition variables exist in two layouts; the older one is for programs of the last century.
    let version = if name.starts_with("pthread_cond_") { Some(c"GLIBC_2.3.2") } else { None };
    // SAFETY: both names end in a zero byte.
    let found = unsafe {
        let versioned = version.map_or(core::ptr::null_mut(), |version| dlvsym(RTLD_NEXT, name_at, version.as_ptr()));
        if versioned.is_null() { dlsym(RTLD_NEXT, name_at) } else { versioned }
    };
    if found.is_null() {
        crate::say(&[b"retake: the program calls ", name.as_bytes(), b", which no library has\n"]);
        // SAFETY: without the function there is no way on, just as without Retake.
        unsafe { libc::_exit(127) }
    }
    at.store(found as usize, Relaxed);
    if let Some(thread) = thread {
        thread.finish();
    }
    found as usize
}
