//! Masks of signals, and timers: what may come from here on. Each change is a place for handlers, as releases are.

use crate::handle::figures::{kept, left};
use crate::table::signal::real;
use libc::{c_int, c_uint, itimerspec, itimerval, sigset_t, timer_t};
use retake_engine::turn;

/// Changes which signals come. What has come before is handled before; what could not come until now is handled inside the
/// call, and so behind it in a replay.
unsafe fn mask_by(call: impl FnOnce() -> c_int) -> c_int {
    turn::place();
    turn::releasing(call)
}

pub unsafe fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: the program's sets; so for the others.
    unsafe { mask_by(|| real::sigprocmask(how, new, old)) }
}

pub unsafe fn thread_mask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    // SAFETY: as above.
    unsafe { mask_by(|| real::pthread_sigmask(how, new, old)) }
}

pub unsafe fn sighold(number: c_int) -> c_int {
    // SAFETY: a number.
    unsafe { mask_by(|| real::sighold(number)) }
}

pub unsafe fn sigrelse(number: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { mask_by(|| real::sigrelse(number)) }
}

pub unsafe fn sigblock(mask: c_int) -> c_int {
    // SAFETY: a mask.
    unsafe { mask_by(|| real::sigblock(mask)) }
}

pub unsafe fn sigsetmask(mask: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { mask_by(|| real::sigsetmask(mask)) }
}

/// A timer is set, or ended: its signal comes behind the former, and not behind the latter.
pub unsafe fn alarm(seconds: c_uint) -> c_uint {
    // SAFETY: the program's timers and structures; so for the others.
    left(|| turn::releasing(|| unsafe { real::alarm(seconds) }))
}

pub unsafe fn ualarm(us: c_uint, interval: c_uint) -> c_uint {
    // SAFETY: as above.
    left(|| turn::releasing(|| unsafe { real::ualarm(us, interval) }))
}

pub unsafe fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int {
    // SAFETY: as above.
    unsafe { kept(old, turn::releasing(|| real::setitimer(which, new, old))) }
}

pub unsafe fn timer_settime(timer: timer_t, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
    // SAFETY: as above.
    unsafe { kept(old, turn::releasing(|| real::timer_settime(timer, flags, new, old))) }
}

pub unsafe fn timer_delete(timer: timer_t) -> c_int {
    // SAFETY: as above.
    turn::releasing(|| unsafe { real::timer_delete(timer) })
}
