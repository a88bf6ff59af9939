//! The stack of another thread: it is asked to look for itself, by a signal ([`asked`]) that restarts whatever it is blocked in.
//!
//! Only threads are asked whom that does not disturb: those that are dead for ever, that compute, or that are blocked in a
//! call that goes on by itself.

use crate::handle::{asked, modules};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};
use libc::{c_int, c_void};
use retake_engine::deadlock::STACK;
use retake_engine::sys;
use retake_engine::thread::Thread;

unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, to: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

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

/// The calling thread was asked, where its `context` is.
///
/// # Safety
/// The context must be what the kernel gave the handler.
pub unsafe fn answer(context: *const libc::ucontext_t) {
    if ASKED.load(Acquire) == sys::gettid_now() {
        // SAFETY: the kernel's context; nobody else has been asked.
        unsafe {
            (*FOUND.0.get()).at = (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
            _Unwind_Backtrace(frame, FOUND.0.get().cast());
        }
        ASKED.store(0, Release);
        while STAYS.load(Acquire) {
            sys::sleep_ns(50_000);
        }
    }
}

/// The return addresses of a thread that is blocked, without the shim's own, innermost first.
pub fn of(thread: &Thread) -> [u64; STACK] {
    let mut pcs = [0; STACK];
    ask(thread, &mut |found| pcs = found.pcs);
    pcs
}

/// The same of the calling thread.
pub fn own() -> [u64; STACK] {
    let mut pcs = [0; STACK];
    super::stack(&mut pcs);
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
    asked::arm();
    // SAFETY: nobody has been asked yet.
    unsafe { *FOUND.0.get() = Found::NOTHING };
    ASKED.store(thread.tid, Release);
    asked::ask(thread.tid);
    for _ in 0..STEPS {
        if ASKED.load(Acquire) == 0 {
            break;
        }
        sys::sleep_ns(STEP_NS);
    }
    if ASKED.swap(0, AcqRel) == 0 {
        // SAFETY: it has answered.
        tell(unsafe { &*FOUND.0.get() });
    }
}
