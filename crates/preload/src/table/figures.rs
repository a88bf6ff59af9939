//! Figures of the kernel's: time used and left, load.

use crate::handle::figures;
use libc::{c_int, clockid_t, itimerspec, itimerval, ntptimeval, rusage, sysinfo as SystemInfo, timer_t, timex};

interpose! {
    Value fn getrusage        (who: c_int, to: *mut rusage) -> c_int                                                    => figures::getrusage;
    Value fn getitimer        (which: c_int, to: *mut itimerval) -> c_int                                               => figures::getitimer;
    Value fn timer_gettime    (timer: timer_t, to: *mut itimerspec) -> c_int                                            => figures::timer_gettime;
    Value fn timer_getoverrun (timer: timer_t) -> c_int                                                                 => figures::timer_getoverrun;
    Value fn timerfd_gettime  (timer: c_int, to: *mut itimerspec) -> c_int                                              => figures::timerfd_gettime;
    Value fn timerfd_settime  (timer: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int       => figures::timerfd_settime;
    Value fn ntp_gettime      (to: *mut ntptimeval) -> c_int                                                            => figures::ntp_gettime;
    Value fn ntp_gettimex     (to: *mut ntptimeval) -> c_int                                                            => figures::ntp_gettimex;
    Value fn adjtimex         (to: *mut timex) -> c_int                                                                 => figures::adjtimex;
    Value fn ntp_adjtime      (to: *mut timex) -> c_int                                                                 => figures::ntp_adjtime;
    Value fn clock_adjtime    (clock: clockid_t, to: *mut timex) -> c_int                                               => figures::clock_adjtime;
    Value fn sysinfo          (to: *mut SystemInfo) -> c_int                                                            => figures::sysinfo;
    Value fn getloadavg       (to: *mut f64, many: c_int) -> c_int                                                      => figures::getloadavg;
}
