//! C11's threads: the POSIX handlers, with C11's result codes.

use crate::glibc::Mutex;
use crate::handle::{cond, mutex, sync, thread, time};
use crate::table::c11::{Start, real};
use crate::table::sync::Routine;
use crate::table::thread::Destructor;
use libc::{EBUSY, EINTR, ENOMEM, ETIMEDOUT, c_int, c_void, pthread_cond_t, pthread_key_t, pthread_t, timespec};
use retake_engine::taken::Called;
use retake_engine::thread::Thread;
use retake_tape::op::Op;

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

fn code(result: c_int) -> c_int {
    match result {
        0 => SUCCESS,
        EBUSY => BUSY,
        ENOMEM => NO_MEMORY,
        ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

pub unsafe fn lock(m: *mut Mutex, called: Called) -> c_int {
    // SAFETY: the program's mutex; so for the others.
    code(unsafe { mutex::lock(m, called) })
}

pub unsafe fn trylock(m: *mut Mutex, called: Called) -> c_int {
    // SAFETY: as above.
    code(unsafe { mutex::trylock(m, called) })
}

pub unsafe fn timedlock(m: *mut Mutex, until: *const timespec, called: Called) -> c_int {
    // SAFETY: as above.
    code(unsafe { mutex::timedlock(m, until, called) })
}

pub unsafe fn unlock(m: *mut Mutex) -> c_int {
    // SAFETY: as above.
    code(unsafe { mutex::unlock(m) })
}

pub unsafe fn wait(c: *mut pthread_cond_t, m: *mut Mutex) -> c_int {
    // SAFETY: the program's condition and mutex; so for the others.
    code(unsafe { cond::wait(c, m) })
}

pub unsafe fn timedwait(c: *mut pthread_cond_t, m: *mut Mutex, until: *const timespec) -> c_int {
    // SAFETY: as above.
    code(unsafe { cond::timedwait(c, m, until) })
}

pub unsafe fn signal(c: *mut pthread_cond_t) -> c_int {
    // SAFETY: as above.
    code(unsafe { cond::signal_by(Op::CondSignal, c, || real::cnd_signal(c)) })
}

pub unsafe fn broadcast(c: *mut pthread_cond_t) -> c_int {
    // SAFETY: as above.
    code(unsafe { cond::signal_by(Op::CondBroadcast, c, || real::cnd_broadcast(c)) })
}

pub unsafe fn create(to: *mut pthread_t, start: Start, arg: *mut c_void) -> c_int {
    // SAFETY: the program's arguments, with a function of ours that calls the program's.
    let call = |start, arg| unsafe { real::thrd_create(to, start, arg) };
    thread::create_by(start as usize, arg as usize, |child| match child {
        Some(child) => call(trampoline, core::ptr::from_mut(child).cast()),
        None => call(start, arg),
    })
}

unsafe extern "C-unwind" fn trampoline(child: *mut c_void) -> c_int {
    let child = child.cast::<Thread>();
    // SAFETY: `create` handed it over; the function and its argument are the program's.
    unsafe {
        let start: Start = core::mem::transmute((*child).start);
        let argument = (*child).argument as *mut c_void;
        thread::run(child, || start(argument))
    }
}

pub unsafe fn join(t: pthread_t, to: *mut c_int) -> c_int {
    let mut result = core::ptr::null_mut();
    // SAFETY: the program's thread; a C11 thread's result is the number in the pointer.
    unsafe {
        let joined = thread::join(t, &raw mut result);
        if joined == 0 && !to.is_null() {
            *to = result as c_int;
        }
        code(joined)
    }
}

pub unsafe fn key_create(to: *mut pthread_key_t, destructor: Destructor) -> c_int {
    thread::note_destructor(destructor);
    // SAFETY: the program's arguments.
    unsafe { real::tss_create(to, destructor) }
}

pub unsafe fn sleep(length: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program's arguments.
    match unsafe { time::sleep_by(length, left, || -real::thrd_sleep(length, left)) } {
        0 => 0,
        EINTR => -1,
        other => -other.max(2),
    }
}

pub unsafe fn r#yield() {
    // SAFETY: asks for nothing.
    unsafe { time::sched_yield() };
}

pub unsafe fn once(control: *mut c_int, routine: Routine) {
    // SAFETY: the program's control word.
    unsafe { sync::once(control, routine) };
}
