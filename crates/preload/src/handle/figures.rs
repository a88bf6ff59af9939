//! Figures of the kernel's that are others in each run: time that was used, or is left, and load. They are kept as values of
//! clocks are.

use crate::handle::time::{OTHER, value};
use crate::table::figures::real;
use libc::{
    c_int, c_uint, clockid_t, itimerspec, itimerval, ntptimeval, rusage, sysinfo as SystemInfo, timer_t, timex,
};

/// The structure is as it was when it was recorded. Null is left alone.
pub unsafe fn keep<T>(to: *mut T) {
    const { assert!(size_of::<T>().is_multiple_of(size_of::<i64>())) };
    if to.is_null() {
        return;
    }
    for at in 0..size_of::<T>() / size_of::<i64>() {
        // SAFETY: a word of the program's structure.
        let word = unsafe { to.cast::<i64>().add(at) };
        // SAFETY: as above.
        unsafe { word.write_unaligned(value(OTHER, 0, || word.read_unaligned())) };
    }
}

/// The same of what a call has written, unless it has failed.
pub unsafe fn kept<T>(to: *mut T, result: c_int) -> c_int {
    if result != -1 {
        // SAFETY: the program's structure.
        unsafe { keep(to) };
    }
    result
}

pub unsafe fn getrusage(who: c_int, to: *mut rusage) -> c_int {
    // SAFETY: the program's structures; so for the others.
    unsafe { kept(to, real::getrusage(who, to)) }
}

pub unsafe fn getitimer(which: c_int, to: *mut itimerval) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::getitimer(which, to)) }
}

pub unsafe fn timer_gettime(timer: timer_t, to: *mut itimerspec) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::timer_gettime(timer, to)) }
}

pub unsafe fn timer_getoverrun(timer: timer_t) -> c_int {
    // SAFETY: as above.
    value(OTHER, 0, || i64::from(unsafe { real::timer_getoverrun(timer) })) as c_int
}

pub unsafe fn timerfd_gettime(timer: c_int, to: *mut itimerspec) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::timerfd_gettime(timer, to)) }
}

pub unsafe fn timerfd_settime(timer: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
    // SAFETY: as above.
    unsafe { kept(old, real::timerfd_settime(timer, flags, new, old)) }
}

pub unsafe fn ntp_gettime(to: *mut ntptimeval) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::ntp_gettime(to)) }
}

pub unsafe fn ntp_gettimex(to: *mut ntptimeval) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::ntp_gettimex(to)) }
}

pub unsafe fn adjtimex(to: *mut timex) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::adjtimex(to)) }
}

pub unsafe fn ntp_adjtime(to: *mut timex) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::ntp_adjtime(to)) }
}

pub unsafe fn clock_adjtime(clock: clockid_t, to: *mut timex) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::clock_adjtime(clock, to)) }
}

pub unsafe fn sysinfo(to: *mut SystemInfo) -> c_int {
    // SAFETY: as above.
    unsafe { kept(to, real::sysinfo(to)) }
}

pub unsafe fn getloadavg(to: *mut f64, many: c_int) -> c_int {
    // SAFETY: as above.
    let result = unsafe { real::getloadavg(to, many) };
    for at in 0..result.max(0) as usize {
        // SAFETY: so many are written.
        unsafe { keep(to.add(at)) };
    }
    result
}

/// What is left of a time, in seconds or microseconds.
pub fn left(call: impl FnOnce() -> c_uint) -> c_uint {
    let left = call();
    value(OTHER, 0, || i64::from(left)) as c_uint
}
