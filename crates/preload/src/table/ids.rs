//! What names a process or a thread by its id, and is no signal and no wait.

use crate::handle::ids;
use libc::{
    c_int, c_long, c_uint, c_ulong, clockid_t, cpu_set_t, id_t, iovec, pid_t, rlimit, sched_param, size_t, ssize_t,
    timespec,
};

interpose! {
    Id fn sched_setaffinity     (id: pid_t, size: size_t, set: *const cpu_set_t) -> c_int                     => ids::sched_setaffinity;
    Id fn sched_getaffinity     (id: pid_t, size: size_t, set: *mut cpu_set_t) -> c_int                       => ids::sched_getaffinity;
    Id fn sched_setscheduler    (id: pid_t, policy: c_int, how: *const sched_param) -> c_int                  => ids::sched_setscheduler;
    Id fn sched_getscheduler    (id: pid_t) -> c_int                                                          => ids::sched_getscheduler;
    Id fn sched_setparam        (id: pid_t, how: *const sched_param) -> c_int                                 => ids::sched_setparam;
    Id fn sched_getparam        (id: pid_t, how: *mut sched_param) -> c_int                                   => ids::sched_getparam;
    Id fn sched_rr_get_interval (id: pid_t, time: *mut timespec) -> c_int                                     => ids::sched_rr_get_interval;
    Id fn getpriority           (which: c_uint, who: id_t) -> c_int                                           => ids::getpriority;
    Id fn setpriority           (which: c_uint, who: id_t, priority: c_int) -> c_int                          => ids::setpriority;
    Id fn prlimit               (id: pid_t, what: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int      => ids::prlimit;
    Id fn prlimit64             (id: pid_t, what: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int      => ids::prlimit;
    Id fn clock_getcpuclockid   (id: pid_t, clock: *mut clockid_t) -> c_int                                   => ids::clock_getcpuclockid;
    Id fn pidfd_open            (id: pid_t, flags: c_uint) -> c_int                                           => ids::pidfd_open;
    Id fn syscall               (number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long => ids::syscall;
    Id fn process_vm_readv      (id: pid_t, to: *const iovec, many_to: c_ulong, from: *const iovec, many_from: c_ulong, flags: c_ulong) -> ssize_t => ids::process_vm_readv;
    Id fn process_vm_writev     (id: pid_t, from: *const iovec, many_from: c_ulong, to: *const iovec, many_to: c_ulong, flags: c_ulong) -> ssize_t => ids::process_vm_writev;
}
