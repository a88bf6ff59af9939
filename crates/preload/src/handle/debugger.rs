//! Telling the stack of this thread to somebody who looks at the replay and has no debugger.
//!
//! A signal asks for it, so that a thread answers wherever it is: waiting for its turn, blocked in a call that Retake does
//! not catch, or computing. The signal is libc's own, which a program can neither block nor handle; what libc sends
//! itself is handed on to libc.
//!
//! Law: a thread that was asked while it was outside of the engine stays in the handler until the replay goes on, so
//! that no interrupted call returns early into the program.

use crate::handle::stack;
use core::arch::global_asm;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::{SA_RESTART, SA_SIGINFO, c_int, c_void, siginfo_t};
use retake_engine::thread::{self, waiting};
use retake_engine::{process, stops, sys};
use retake_tape::board::{ASK_SIGNAL, DEPTH};

/// The kernel's own form of an action.
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

const SA_RESTORER: u64 = 0x0400_0000;

// The way back from a handler. Unwinders know it by these very bytes.
global_asm!(
    ".pushsection .text.retake_restorer,\"ax\",@progbits",
    ".balign 16",
    "nop",
    ".hidden retake_restorer",
    ".type retake_restorer,@function",
    "retake_restorer:",
    "mov rax, 15",
    "syscall",
    ".size retake_restorer, . - retake_restorer",
    ".popsection",
);

unsafe extern "C" {
    fn retake_restorer();
}

static LIBCS: AtomicUsize = AtomicUsize::new(0);

/// Makes the calling thread's process answer. libc takes the signal for itself when the first thread is created, so
/// every thread calls this when it begins.
pub fn arm() {
    if !stops::is_on() {
        return;
    }
    // SAFETY: the kernel's structure; the handler does only what handlers may do.
    unsafe {
        let mut old = KernelAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
        sys::rt_sigaction(ASK_SIGNAL as usize, 0, &raw mut old as usize, 8);
        if old.handler == answer as *const () as usize {
            return;
        }
        LIBCS.store(old.handler, Relaxed);
        let ours = KernelAction {
            handler: answer as *const () as usize,
            flags: (SA_SIGINFO | SA_RESTART) as u64 | SA_RESTORER,
            restorer: retake_restorer as *const () as usize,
            mask: 0,
        };
        sys::rt_sigaction(ASK_SIGNAL as usize, &raw const ours as usize, 0, 8);
    }
}

unsafe extern "C" fn answer(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments.
    unsafe {
        if (*info).si_pid() as u32 == process::get().pid {
            let libcs = LIBCS.load(Relaxed);
            if libcs > 1 {
                let libcs: unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = core::mem::transmute(libcs);
                libcs(signal, info, context);
            }
            return;
        }
    }
    let Some(thread) = thread::current() else { return };
    let Some(row) = thread.row else { return };
    let mut pcs = [0; DEPTH];
    let depth = stack(&mut pcs);
    for (to, pc) in row.pcs.iter().zip(&pcs[..depth]) {
        to.store(*pc, Relaxed);
    }
    row.depth.store(depth as u32 + 1, Release);
    // A wait of the engine's own looks again by itself.
    if thread.busy == 0 && matches!(thread.waits.load(Relaxed), waiting::NOT | waiting::OUTSIDE) {
        while stops::is_standing() {
            sys::sleep_ns(5_000_000);
        }
    }
}
