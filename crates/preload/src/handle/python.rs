//! CPython's interpreter lock: who waits for it too long asks for it by a plain flag.
//!
//! The holder looks at the flag while it computes, at whichever instruction it then is. Retake sees the conditions of the
//! lock, because they lie in the variable `_PyRuntime`: `gil->cond`, which is waited for with a time-out and signalled by
//! who gives the lock up, and `gil->switch_cond`, signalled by who takes it. That tells who has it and who asks, and so the
//! holder can be made to halt at a place that the tape can tell, while the flag is set ([`retake_engine::halt`]).
//!
//! The flag is looked at once more by a holder that has just given the lock up, while the next one resets it. That one
//! waits until the other has looked: it takes a second mutex then.
//!
//! Law: called under the mutex of the lock, as the conditions are; so nobody else is in here meanwhile.

use crate::glibc::Mutex;
use crate::handle::input::note_unsupported;
use crate::table::mutex::real;
use core::arch::asm;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};
use libc::{Dl_info, EBUSY, ETIMEDOUT, c_int, pthread_cond_t};
use retake_engine::halt;
use retake_engine::sys;
use retake_engine::thread::Thread;

/// Where the interpreter's variable lies: its first byte and the one behind its last; 1 and 0 before that was looked for.
static START: AtomicUsize = AtomicUsize::new(1);
static END: AtomicUsize = AtomicUsize::new(0);

/// The condition that is waited for with a time-out.
static FREED: AtomicUsize = AtomicUsize::new(0);
/// Who has the lock, as far as that was seen, and who last took it.
static HOLDER: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
static LAST: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
/// How often it came to another thread.
static SWITCHES: AtomicU64 = AtomicU64::new(0);
/// The holder has been asked for it.
static IS_ASKED: AtomicBool = AtomicBool::new(false);
/// Who gave it up when asked, and its events by then.
static GIVER: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
static GIVER_AT: AtomicU64 = AtomicU64::new(0);

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

unsafe extern "C" {
    fn dladdr1(at: *const c_void, info: *mut Dl_info, extra: *mut *const Symbol, what: c_int) -> c_int;
}

core::arch::global_asm!(".weak _PyRuntime");

/// The address of the interpreter's variable, which the dynamic linker filled in; 0 if there is none.
fn runtime() -> usize {
    let at: usize;
    // SAFETY: reads one word of our own.
    unsafe {
        asm!("mov {0}, qword ptr [rip + _PyRuntime@GOTPCREL]", out(reg) at, options(nostack, preserves_flags, readonly))
    };
    at
}

#[cold]
#[inline(never)]
fn look() {
    const SYMBOL: c_int = 1;
    let start = runtime();
    let mut size = 0;
    if start != 0 {
        // SAFETY: structures of ours; what the linker finds is its own and stays.
        unsafe {
            let (mut info, mut symbol) = (core::mem::zeroed(), core::ptr::null());
            if dladdr1(start as *const c_void, &raw mut info, &raw mut symbol, SYMBOL) != 0 && !symbol.is_null() {
                size = (*symbol).size;
            }
        }
    }
    END.store(start + size, Relaxed);
    START.store(start, Relaxed);
}

/// Whether what lies there belongs to the lock.
pub fn has(address: usize) -> bool {
    if START.load(Relaxed) == 1 {
        look();
    }
    (START.load(Relaxed)..END.load(Relaxed)).contains(&address)
}

/// In a forked child, nobody is known to have the lock.
pub fn reset() {
    for thread in [&HOLDER, &LAST, &GIVER] {
        thread.store(null_mut(), Relaxed);
    }
    IS_ASKED.store(false, Relaxed);
}

/// Recording: the condition has been signalled. By who gives the lock up, or takes it.
pub fn signalled(c: *mut pthread_cond_t) {
    if !has(c as usize) {
        return;
    }
    let Some(thread) = halt::recorded() else { return };
    let this: *mut Thread = thread;
    if c as usize != FREED.load(Relaxed) {
        HOLDER.store(this, Relaxed);
        IS_ASKED.store(false, Relaxed);
        if LAST.swap(this, Relaxed) != this {
            SWITCHES.store(SWITCHES.load(Relaxed) + 1, Relaxed);
        }
        return;
    }
    HOLDER.store(null_mut(), Relaxed);
    if IS_ASKED.load(Relaxed) {
        GIVER_AT.store(thread.count(), Relaxed);
        GIVER.store(this, Relaxed);
    }
}

/// A wait for the lock.
pub struct Wait {
    switches: u64,
}

/// Recording: a wait for the condition, with a time-out, begins; if it is one for the lock.
pub fn waits(c: *mut pthread_cond_t) -> Option<Wait> {
    if !has(c as usize) || halt::recorded().is_none() {
        return None;
    }
    FREED.store(c as usize, Relaxed);
    Some(Wait { switches: SWITCHES.load(Relaxed) })
}

impl Wait {
    /// It is over, and the waiter has the mutex again. If its time is over, it sets the flag unless another has.
    pub fn ends(self, thread: &mut Thread, result: c_int) {
        // SAFETY: threads are never freed.
        unsafe {
            if let Some(giver) = GIVER.swap(null_mut(), Relaxed).as_ref() {
                halt::wait_for_next_event(giver, GIVER_AT.load(Relaxed));
            }
            let is_same = self.switches == SWITCHES.load(Relaxed);
            let holder = HOLDER.load(Relaxed);
            if result == ETIMEDOUT && is_same && !holder.is_null() && !IS_ASKED.swap(true, Relaxed) {
                let is_told = halt::ask(thread, &*holder);
                if !is_told {
                    note_unsupported(
                        b"for Python's interpreter lock in the middle of a long computation (where in it)",
                    );
                }
            }
        }
    }
}

/// Recording: locks the mutex of the lock, which another has. The holder may be asked to halt just now, by who has the mutex.
pub unsafe fn lock(m: *mut Mutex) -> c_int {
    const LOOK_NS: u64 = 20_000;
    // SAFETY: the interpreter's mutex.
    unsafe {
        loop {
            let result = real::pthread_mutex_trylock(m);
            if result != EBUSY {
                return result;
            }
            halt::point();
            sys::sleep_ns(LOOK_NS);
        }
    }
}
