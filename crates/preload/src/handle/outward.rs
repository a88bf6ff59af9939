//! Calls that wait for the outside: what they bring is not kept, but that a handler ended one is.

use crate::errno;
use crate::handle::figures;
use crate::table::outward::real;
use core::cell::Cell;
use core::ptr::null;
use libc::{EINTR, c_int, epoll_event, fd_set, nfds_t, pollfd, sigset_t, size_t, timespec, timeval};
use retake_engine::outward;

/// Makes a call that returns -1, and a reason, if it fails.
pub fn outward<R: PartialEq + From<i8>>(call: impl FnMut() -> R) -> R {
    // SAFETY: no set is given.
    unsafe { outward_with(null(), call) }
}

/// The same, of a call in which `blocked` are the signals that do not come, if it is given.
unsafe fn outward_with<R: PartialEq + From<i8>>(blocked: *const sigset_t, mut call: impl FnMut() -> R) -> R {
    // SAFETY: the program's set; the kernel's is as long as one word.
    let mask = unsafe { blocked.cast::<u64>().as_ref() }.copied();
    let has_failed = |result: &R| *result == R::from(-1);
    // A handler that runs behind the call may change the program's.
    let reason = Cell::new(EINTR);
    let call = || {
        let result = call();
        if has_failed(&result) {
            reason.set(errno::get());
        }
        result
    };
    let is_ended = |result: &R| has_failed(result) && reason.get() == EINTR;
    let result = outward::call(mask, call, is_ended).unwrap_or(R::from(-1));
    if has_failed(&result) {
        errno::set(reason.get());
    }
    result
}

/// Only who waits for a lock waits.
pub unsafe fn fcntl(fd: c_int, what: c_int, how: usize) -> c_int {
    // SAFETY: the program's arguments; whatever the last one is, it is a word.
    let call = || unsafe { real::fcntl(fd, what, how) };
    if what == libc::F_SETLKW || what == libc::F_OFD_SETLKW { outward(call) } else { call() }
}

/// How much of the time is left is written there.
pub unsafe fn select(
    many: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe {
        let result = outward(|| real::select(many, read, write, except, time));
        figures::keep(time);
        result
    }
}

pub unsafe fn pselect(
    many: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    blocked: *const sigset_t,
) -> c_int {
    // SAFETY: as above.
    unsafe { outward_with(blocked, || real::pselect(many, read, write, except, time, blocked)) }
}

pub unsafe fn ppoll(at: *mut pollfd, many: nfds_t, time: *const timespec, blocked: *const sigset_t) -> c_int {
    // SAFETY: as above.
    unsafe { outward_with(blocked, || real::ppoll(at, many, time, blocked)) }
}

pub unsafe fn ppoll_chk(
    at: *mut pollfd,
    many: nfds_t,
    time: *const timespec,
    blocked: *const sigset_t,
    room: size_t,
) -> c_int {
    // SAFETY: as above.
    unsafe { outward_with(blocked, || real::__ppoll_chk(at, many, time, blocked, room)) }
}

pub unsafe fn epoll_pwait(fd: c_int, to: *mut epoll_event, many: c_int, ms: c_int, blocked: *const sigset_t) -> c_int {
    // SAFETY: as above.
    unsafe { outward_with(blocked, || real::epoll_pwait(fd, to, many, ms, blocked)) }
}

pub unsafe fn epoll_pwait2(
    fd: c_int,
    to: *mut epoll_event,
    many: c_int,
    time: *const timespec,
    blocked: *const sigset_t,
) -> c_int {
    // SAFETY: as above.
    unsafe { outward_with(blocked, || real::epoll_pwait2(fd, to, many, time, blocked)) }
}
