//! Waiting for children: which one ended, and how, is on the tape.

use crate::errno;
use crate::handle::process::{is_borrowed, present};
use crate::table::process::real;
use core::ptr::null_mut;
use libc::{EINTR, P_PID, WNOHANG, c_int, id_t, idtype_t, pid_t, rusage, siginfo_t};
use retake_engine::report;
use retake_engine::serial;
use retake_engine::turn;
use retake_tape::op::Op;

/// Nobody had ended yet.
const NOBODY: i64 = 1;

fn packed(pid: pid_t, status: c_int) -> i64 {
    i64::from(pid) << 32 | i64::from(status as u32)
}

pub unsafe fn wait(status: *mut c_int) -> pid_t {
    // SAFETY: the program's variables; so for the others.
    unsafe { wait4(-1, status, 0, null_mut()) }
}

pub unsafe fn waitpid(pid: pid_t, status: *mut c_int, how: c_int) -> pid_t {
    // SAFETY: as above.
    unsafe { wait4(pid, status, how, null_mut()) }
}

pub unsafe fn wait3(status: *mut c_int, how: c_int, usage: *mut rusage) -> pid_t {
    // SAFETY: as above.
    unsafe { wait4(-1, status, how, usage) }
}

pub unsafe fn wait4(pid: pid_t, status: *mut c_int, how: c_int, usage: *mut rusage) -> pid_t {
    if is_borrowed() {
        // SAFETY: as above.
        return unsafe { real::wait4(present(pid), status, how, usage) };
    }
    let mut found: c_int = 0;
    let at = &raw mut found;
    // SAFETY: as above, and a variable of ours.
    let call = || unsafe {
        match real::wait4(present(pid), at, how, usage) {
            0 => NOBODY,
            -1 => -i64::from(errno::get()),
            child => packed(child, *at),
        }
    };
    // SAFETY: as above. The child is the one that ended first then; it ends some time now.
    let again = |code: i64| unsafe {
        if code <= NOBODY {
            return;
        }
        let child = present((code >> 32) as pid_t);
        while real::wait4(child, null_mut(), how & !WNOHANG, usage) == -1 && errno::get() == EINTR {}
    };
    let before = errno::get();
    let _away = serial::away(|| how & WNOHANG == 0);
    let code = turn::outcome(Op::Wait, true, call, again);
    if code < 0 {
        errno::set(-code as c_int);
        return -1;
    }
    errno::set(before);
    if code == NOBODY {
        return 0;
    }
    // SAFETY: the program's variable, if there is one.
    if let Some(status) = unsafe { status.as_mut() } {
        *status = code as u32 as c_int;
    }
    (code >> 32) as pid_t
}

/// The particulars are on the tape as bytes.
pub unsafe fn waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, how: c_int) -> c_int {
    let translated = if kind == P_PID { present(id as pid_t) as id_t } else { id };
    // SAFETY: as above.
    let call = |info| unsafe { real::waitid(kind, translated, info, how) };
    let Some(thread) = turn::enter() else { return call(info) };
    let _away = serial::away(|| how & WNOHANG == 0);
    // SAFETY: the program's variable, or one of ours.
    unsafe {
        let mut own: siginfo_t = core::mem::zeroed();
        let to = if info.is_null() { &raw mut own } else { info };
        if turn::recording() {
            let result = turn::cancellable(Op::Wait, || call(to));
            let reason = errno::get();
            thread.begin();
            if result == 0 {
                thread.bytes(core::slice::from_raw_parts(to.cast::<u8>(), size_of::<siginfo_t>()));
            } else {
                thread.result(Op::Wait, -i64::from(reason));
            }
            thread.happen();
            thread.finish();
            errno::set(reason);
            return result;
        }
        let Some(step) = thread.step(Op::Wait) else { return call(info) };
        if step.result < 0 {
            thread.happened();
            errno::set(-step.result as c_int);
            return -1;
        }
        if step.bytes.len() != size_of::<siginfo_t>() {
            report::other(thread, Op::Wait, "the end of another child");
        }
        core::ptr::copy_nonoverlapping(step.bytes.as_ptr(), to.cast::<u8>(), step.bytes.len());
        let child = (*to).si_pid();
        if child > 0 {
            let mut now: siginfo_t = core::mem::zeroed();
            let at = &raw mut now;
            turn::undisturbed(|| {
                let again = || real::waitid(P_PID, present(child) as id_t, at, how & !WNOHANG);
                while again() == -1 && errno::get() == EINTR {}
            });
        }
        thread.happened();
        0
    }
}
