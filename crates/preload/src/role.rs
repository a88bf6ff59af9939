//! What the shim tells the `retake` library, when a program links it: the process's part in the run, and how to wait at
//! the end of a tape. The library finds these two by name; neither links the other.

use libc::c_int;
use retake_engine::process::{self, mode};
use retake_engine::{end, thread};
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
