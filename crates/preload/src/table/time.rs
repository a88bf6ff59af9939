//! Clocks, sleeps, random numbers.

use crate::handle::{random, time};
use libc::{c_int, c_uint, c_void, clock_t, clockid_t, size_t, ssize_t, time_t, timespec, timeval, tms};

interpose! {
    Value fn clock_gettime      (id: clockid_t, to: *mut timespec) -> c_int                                           => time::clock_gettime;
    Value fn gettimeofday       (to: *mut timeval, zone: *mut c_void) -> c_int                                        => time::gettimeofday;
    Value fn time               (to: *mut time_t) -> time_t                                                           => time::time;
    Value fn clock              () -> clock_t                                                                         => time::clock;
    Value fn times              (to: *mut tms) -> clock_t                                                             => time::times;
    Value fn timespec_get       (to: *mut timespec, base: c_int) -> c_int                                             => time::timespec_get;
    Value fn nanosleep          (time: *const timespec, left: *mut timespec) -> c_int                                 => time::nanosleep;
    Value fn clock_nanosleep    (id: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int    => time::clock_nanosleep;
    Value fn usleep             (us: c_uint) -> c_int                                                                 => time::usleep;
    Value fn sleep              (seconds: c_uint) -> c_uint                                                           => time::sleep;
    Value fn sched_yield        () -> c_int                                                                           => time::sched_yield;
    Value fn getrandom          (to: *mut c_void, length: size_t, flags: c_uint) -> ssize_t                           => random::getrandom;
    Value fn getentropy         (to: *mut c_void, length: size_t) -> c_int                                            => random::getentropy;
    Value fn arc4random         () -> u32                                                                             => random::arc4random;
    Value fn arc4random_buf     (to: *mut c_void, length: size_t)                                                     => random::arc4random_buf;
    Value fn arc4random_uniform (bound: u32) -> u32                                                                   => random::arc4random_uniform;
}
