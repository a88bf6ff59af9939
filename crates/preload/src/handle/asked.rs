//! The signal by which a thread is asked for its stack, or reminded of a signal that waits: libc's own, which a program can
//! neither block nor handle.
//!
//! Whoever looks at a replay from outside sends it from another process; a thread of this process queues it with a code that
//! libc never uses. Whatever else comes is libc's, and handed on to it.

use crate::errno;
use crate::handle::{debugger, stack};
use core::arch::global_asm;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{SA_RESTART, SA_SIGINFO, SI_QUEUE, SIG_IGN, c_int, c_void, siginfo_t};
use retake_engine::{held, process, sys, thread};
use retake_tape::board::ASK_SIGNAL;

/// The kernel's own form of an action.
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

const SA_RESTORER: u64 = 0x0400_0000;

// The way back from a handler. Unwinders know it by these very bytes; they look one byte before a return address, and must
// not find another function there.
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

/// Makes this process answer, for good: a question that comes late finds its handler. libc takes the signal for itself when
/// the first thread is created, so this is to be called again behind that.
pub fn arm() {
    // SAFETY: the kernel's structure; the handler does only what handlers may do.
    unsafe {
        let mut old = KernelAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
        sys::rt_sigaction(ASK_SIGNAL as usize, 0, &raw mut old as usize, 8);
        if old.handler == asked as *const () as usize {
            return;
        }
        LIBCS.store(old.handler, Relaxed);
        let ours = KernelAction {
            handler: asked as *const () as usize,
            flags: (SA_SIGINFO | SA_RESTART) as u64 | SA_RESTORER,
            restorer: retake_restorer as *const () as usize,
            mask: 0,
        };
        sys::rt_sigaction(ASK_SIGNAL as usize, &raw const ours as usize, 0, 8);
    }
}

/// Before another program takes this one's place: a signal that was ignored is ignored there, too.
pub fn give_back() {
    if LIBCS.load(Relaxed) == SIG_IGN {
        let ignored = KernelAction { handler: SIG_IGN, flags: 0, restorer: 0, mask: 0 };
        // SAFETY: the kernel's structure.
        unsafe { sys::rt_sigaction(ASK_SIGNAL as usize, &raw const ignored as usize, 0, 8) };
    }
}

/// Asks the thread of this process that has this id.
pub fn ask(tid: u32) {
    let pid = process::get().pid;
    // The kernel's structure, as far as it is looked at: number, error, code, sender.
    let mut info = [0i32; 32];
    (info[0], info[2], info[4]) = (ASK_SIGNAL, SI_QUEUE, pid as i32);
    // SAFETY: the kernel copies the particulars.
    unsafe { sys::rt_tgsigqueueinfo(pid as usize, tid as usize, ASK_SIGNAL as usize, info.as_ptr() as usize) };
}

unsafe extern "C" fn asked(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments.
    unsafe {
        if held::is_from_our_timer(info) {
            if let Some(thread) = thread::current() {
                let before = errno::get();
                held::reminded(thread, context.cast());
                errno::set(before);
            }
        } else if (*info).si_pid() as u32 != process::get().pid {
            debugger::answer();
        } else if (*info).si_code == SI_QUEUE {
            stack::answer(context.cast());
        } else {
            let libcs = LIBCS.load(Relaxed);
            if libcs > SIG_IGN {
                let libcs: unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = core::mem::transmute(libcs);
                libcs(signal, info, context);
            }
        }
    }
}
