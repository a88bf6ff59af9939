//! The program's `errno`.

use libc::c_int;

/// Its value.
pub fn get() -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets it.
pub fn set(value: c_int) {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = value }
}
