//! What the shim does for the `retake` library, when a program links it: it tells the process's part in the run, waits at
//! the end of a tape, plays on in a copy of the process, and takes no notice of a thread of the library's own. The library finds these by name; neither links the other.

use libc::{c_int, c_void};
use retake_engine::process::{self, mode};
use retake_engine::{apart, copy, end, thread};
use retake_tape::op::Op;
use retake_tape::session::Role;

/// Fills in the role of this process. 0 if it has none.
///
/// # Safety
/// `to` must be valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_role(to: *mut Role) -> c_int {
    let process = process::get();
    let now = process::mode();
    if now == mode::OFF {
        return 0;
    }
    let (take, session, name) = (process.take(), process.session_path(), process.name());
    // SAFETY: the caller's room; what it points at lives as long as the process.
    unsafe {
        to.write(Role {
            version: 1,
            mode: now,
            take: take.as_ptr(),
            take_len: take.len(),
            session: session.as_ptr(),
            session_len: session.len(),
            name: name.as_ptr(),
            name_len: name.len(),
        });
    }
    1
}

/// The calling thread has come to the end of its part, where the recorded one was blocked or killed.
#[unsafe(no_mangle)]
pub extern "C" fn retake_end_of_part() {
    if process::mode() == mode::REPLAY
        && let Some(thread) = thread::current()
    {
        end::reached(thread, Op::Misc, 0);
    }
}

/// The process is about to be copied.
#[unsafe(no_mangle)]
pub extern "C" fn retake_before_copy() {
    copy::before();
}

/// In the copy, whose maps of the take are its own: plays what the process went on to do. 0 if it cannot.
///
/// # Safety
/// `session` must be valid for reads of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_play_on(session: *const u8, length: usize) -> c_int {
    // SAFETY: passed on to the caller.
    c_int::from(copy::play_on(unsafe { core::slice::from_raw_parts(session, length) }))
}

/// Does some work of a thread that the library has made past the shim: nothing in it is an event.
///
/// # Safety
/// The function must be good for the argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn retake_run_apart(work: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    // A thread that has a part keeps it.
    let known = process::mode() == mode::OFF || thread::current().is_some();
    let made = if known { core::ptr::null_mut() } else { apart::make(0, 0) };
    // SAFETY: the thread was just made, for this one; the rest is passed on to the caller.
    unsafe {
        if made.is_null() {
            work(argument);
        } else {
            apart::run(made, || work(argument));
        }
    }
}
