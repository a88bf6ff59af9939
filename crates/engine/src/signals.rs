//! Signals: deferred while the engine is busy, delivered from the tape in a replay.
//!
//! A handler may lock, post and wait like any other code. While recording, a signal that arrives in the middle of the
//! engine's own work is kept and sent again when that work is done; its place in the order is where its handler runs.
//! In a replay the handler runs at that place, and signals that arrive by themselves are dropped.

use crate::process;
use crate::sys;
use crate::thread::{DEFERRED, Thread};
use retake_tape::entry::{INSIDE, Signal};

/// The kernel's `siginfo_t` as far as it is needed.
#[repr(C)]
struct Info {
    number: i32,
    error: i32,
    code: i32,
    pad: i32,
    pid: u32,
    uid: u32,
    value: u64,
    rest: [u64; 12],
}

/// Reads what a handler was given.
///
/// # Safety
/// `info` must be what the kernel gave the handler.
pub unsafe fn read(number: i32, info: *const libc::siginfo_t) -> (Signal, u32) {
    // SAFETY: the kernel's structure is 128 bytes.
    let info = unsafe { &*info.cast::<Info>() };
    (Signal { number: number as u8, code: info.code, pid: info.pid, value: info.value }, info.uid)
}

/// Keeps a signal until the engine is left. False if there is no room: it must be handled now.
pub fn defer(thread: &mut Thread, signal: (Signal, u32)) -> bool {
    let length = thread.deferred_len as usize;
    if length == DEFERRED {
        return false;
    }
    thread.deferred[length] = signal;
    thread.deferred_len += 1;
    true
}

/// Sends again what was deferred.
#[cold]
#[inline(never)]
pub fn flush(thread: &mut Thread) {
    while thread.deferred_len > 0 {
        let (signal, uid) = thread.deferred[0];
        thread.deferred.copy_within(1.., 0);
        thread.deferred_len -= 1;
        send(thread, signal, uid, 0);
    }
}

/// Stands in `si_errno` of a signal that comes from the tape.
const FROM_TAPE: i32 = 0x0052_544B;

/// Whether the handler was given a signal from the tape; wipes the mark.
///
/// # Safety
/// `info` must be what the kernel gave the handler.
pub unsafe fn is_from_tape(info: *mut libc::siginfo_t) -> bool {
    // SAFETY: the kernel's structure.
    unsafe {
        let marked = (*info).si_errno == FROM_TAPE;
        if marked {
            (*info).si_errno = 0;
        }
        marked
    }
}

/// Runs the handler of a recorded signal: here and now, or as soon as the program no longer blocks the signal.
#[inline(never)]
pub fn deliver(thread: &mut Thread, signal: Signal) {
    let signal = Signal { number: signal.number & !INSIDE, ..signal };
    let busy = core::mem::take(&mut thread.busy);
    send(thread, signal, 0, FROM_TAPE);
    thread.busy = busy;
}

fn send(thread: &Thread, signal: Signal, uid: u32, error: i32) {
    let info = Info {
        number: i32::from(signal.number),
        error,
        code: signal.code,
        pad: 0,
        pid: signal.pid,
        uid,
        value: signal.value,
        rest: [0; 12],
    };
    let pid = process::get().pid as usize;
    // SAFETY: a signal to this very thread; the kernel copies the particulars.
    unsafe {
        let sent = sys::rt_tgsigqueueinfo(pid, thread.tid as usize, signal.number as usize, &raw const info as usize);
        if sys::error(sent).is_some() {
            sys::tgkill(pid, thread.tid as usize, signal.number as usize);
        }
    }
}
