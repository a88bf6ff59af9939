//! One word of thread-local storage: the pointer to this thread's [`Thread`](crate::thread::Thread).
//!
//! It uses the initial-exec model, which a preloaded library may: two loads, no call. The compiler's own
//! `thread_local!` would call `__tls_get_addr` at each use.

use crate::thread::Thread;
use core::arch::{asm, global_asm};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("Retake runs on x86-64 Linux with glibc");

global_asm!(
    ".pushsection .tbss.retake_tls,\"awT\",@nobits",
    ".globl retake_tls",
    ".hidden retake_tls",
    ".type retake_tls,@object",
    ".size retake_tls,8",
    ".balign 8",
    "retake_tls:",
    ".zero 8",
    ".popsection",
);

/// This thread, or null if Retake does not know it yet.
#[inline(always)]
pub fn get() -> *mut Thread {
    let pointer: *mut Thread;
    // SAFETY: reads this thread's own word.
    unsafe {
        asm!("mov {0}, qword ptr [rip + retake_tls@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]", out(reg) pointer,
             options(nostack, preserves_flags, readonly));
    }
    pointer
}

/// Makes `thread` this thread's.
pub fn set(thread: *mut Thread) {
    // SAFETY: writes this thread's own word.
    unsafe {
        asm!("mov {0}, qword ptr [rip + retake_tls@GOTTPOFF]", "mov qword ptr fs:[{0}], {1}", out(reg) _, in(reg) thread,
             options(nostack, preserves_flags));
    }
}
