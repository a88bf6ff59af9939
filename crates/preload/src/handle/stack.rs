//! The stack of another thread: it is asked to look for itself, by a signal that restarts whatever it is blocked in.
//!
//! Only threads are asked whom that does not disturb: those that are dead for ever, that compute, or that are blocked in a
//! call that goes on by itself.

use crate::handle::modules;
use core::sync::atomic::Ordering::{Acquire, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};
use libc::{c_int, c_void, siginfo_t};
use retake_engine::deadlock::STACK;
use retake_engine::sys;
use retake_engine::thread::Thread;

unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, to: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Ignored by default, so that one that comes late does no harm.
const SIGNAL: c_int = libc::SIGURG;
/// How long to wait for the answer.
const STEPS: u32 = 200;
const STEP_NS: u64 = 1_000_000;

struct Found {
    pcs: [u64; STACK],
    length: usize,
    /// Where the thread was interrupted.
    at: usize,
}

impl Found {
    const NOTHING: Found = Found { pcs: [0; STACK], length: 0, at: 0 };
}

struct Shared(core::cell::UnsafeCell<Found>);
// SAFETY: one thread asks at a time, and reads only what is answered.
unsafe impl Sync for Shared {}
static FOUND: Shared = Shared(core::cell::UnsafeCell::new(Found::NOTHING));
/// The id of the thread that is asked; 0 once it has answered.
static ASKED: AtomicU32 = AtomicU32::new(0);
/// Whether it is to stay where it is when it has answered.
static STAYS: AtomicBool = AtomicBool::new(false);

extern "C" fn frame(context: *mut c_void, found: *mut c_void) -> c_int {
    // SAFETY: the unwinder's context; `answer` gave the other.
    unsafe {
        let pc = _Unwind_GetIP(context);
        let found = &mut *found.cast::<Found>();
        if pc == 0 || found.length == STACK {
            return 5;
        }
        if !modules::is_shim(pc) {
            found.pcs[found.length] = pc as u64;
            found.length += 1;
        }
        0
    }
}

unsafe extern "C" fn answer(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    if ASKED.load(Acquire) == sys::gettid_now() {
        // SAFETY: the kernel's context; nobody else has been asked.
        unsafe {
            let context = context.cast::<libc::ucontext_t>();
            (*FOUND.0.get()).at = (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
            _Unwind_Backtrace(frame, FOUND.0.get().cast());
        }
        ASKED.store(0, Release);
        while STAYS.load(Acquire) {
            sys::sleep_ns(50_000);
        }
    }
}

/// The kernel's structure: handler, flags, restorer, mask.
#[repr(C)]
struct Action([usize; 4]);

core::arch::global_asm!(
    ".hidden retake_restore",
    // The unwinder looks one byte before a return address, and must not find another function there.
    "nop",
    "retake_restore:",
    "mov rax, 15",
    "syscall",
);

unsafe extern "C" {
    fn retake_restore();
}

/// The return addresses of a thread that is blocked, without the shim's own, innermost first.
pub fn of(thread: &Thread) -> [u64; STACK] {
    let mut pcs = [0; STACK];
    ask(thread, &mut |found| pcs = found.pcs);
    pcs
}

/// Calls `body` with the stack of a thread that computes, while it stays where it is; not if it is in the shim. Whether that
/// was done.
pub fn while_held(thread: &Thread, body: &mut dyn FnMut(&[u64; STACK])) -> bool {
    let mut held = false;
    STAYS.store(true, Release);
    ask(thread, &mut |found| {
        held = !modules::is_shim(found.at);
        if held {
            let mut pcs = found.pcs;
            // No call was interrupted: what lies before the next instruction may be another line.
            pcs[0] += u64::from(pcs[0] == found.at as u64);
            body(&pcs);
        }
    });
    STAYS.store(false, Release);
    held
}

/// Asks for the stack of a thread, and tells it if there is an answer.
fn ask(thread: &Thread, tell: &mut dyn FnMut(&Found)) {
    const RESTORER: usize = 0x0400_0000;
    let flags = (libc::SA_RESTART | libc::SA_SIGINFO) as usize | RESTORER;
    let new = Action([answer as *const () as usize, flags, retake_restore as *const () as usize, 0]);
    let mut old = Action([0; 4]);
    // SAFETY: the structures are the kernel's; the action is put back before anybody else could use it.
    unsafe {
        *FOUND.0.get() = Found::NOTHING;
        ASKED.store(thread.tid, Release);
        sys::rt_sigaction(SIGNAL as usize, &raw const new as usize, &raw mut old as usize, 8);
        sys::tgkill(sys::getpid() as usize, thread.tid as usize, SIGNAL as usize);
        for _ in 0..STEPS {
            if ASKED.load(Acquire) == 0 {
                break;
            }
            sys::sleep_ns(STEP_NS);
        }
        let answered = ASKED.swap(0, core::sync::atomic::Ordering::AcqRel) == 0;
        sys::rt_sigaction(SIGNAL as usize, &raw const old as usize, 0, 8);
        if answered {
            tell(&*FOUND.0.get());
        }
    }
}
