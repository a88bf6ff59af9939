//! Questions and orders that name a process or a thread by its id: the program has the recorded one, the kernel must be given the
//! present one. What they answer is not kept.

use crate::handle::futex;
use crate::handle::process::present;
use crate::table::ids::real;
use libc::{
    c_int, c_long, c_uint, c_ulong, clockid_t, cpu_set_t, id_t, iovec, pid_t, rlimit, sched_param, size_t, ssize_t,
    timespec,
};
use retake_engine::process::mode;
use retake_engine::{process, thread, turn};

/// The present id of a process, or of a thread of this one: the recorded ids of others' threads are not known here.
pub fn present_task(id: pid_t) -> pid_t {
    let is_shown = process::mode() == mode::REPLAY && id > 0 && !turn::is_in_library();
    is_shown.then(|| thread::present_tid(id as u32)).flatten().map_or_else(|| present(id), |now| now as pid_t)
}

pub unsafe fn sched_setaffinity(id: pid_t, size: size_t, set: *const cpu_set_t) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe { real::sched_setaffinity(present_task(id), size, set) }
}

pub unsafe fn sched_getaffinity(id: pid_t, size: size_t, set: *mut cpu_set_t) -> c_int {
    // SAFETY: as above.
    unsafe { real::sched_getaffinity(present_task(id), size, set) }
}

pub unsafe fn sched_setscheduler(id: pid_t, policy: c_int, how: *const sched_param) -> c_int {
    // SAFETY: as above.
    unsafe { real::sched_setscheduler(present_task(id), policy, how) }
}

pub unsafe fn sched_getscheduler(id: pid_t) -> c_int {
    // SAFETY: as above.
    unsafe { real::sched_getscheduler(present_task(id)) }
}

pub unsafe fn sched_setparam(id: pid_t, how: *const sched_param) -> c_int {
    // SAFETY: as above.
    unsafe { real::sched_setparam(present_task(id), how) }
}

pub unsafe fn sched_getparam(id: pid_t, how: *mut sched_param) -> c_int {
    // SAFETY: as above.
    unsafe { real::sched_getparam(present_task(id), how) }
}

pub unsafe fn sched_rr_get_interval(id: pid_t, time: *mut timespec) -> c_int {
    // SAFETY: as above.
    unsafe { real::sched_rr_get_interval(present_task(id), time) }
}

/// Whom a priority is of: a process, a thread or a group; a user's id is no such.
fn present_who(which: c_uint, who: id_t) -> id_t {
    if which == libc::PRIO_USER { who } else { present_task(who as pid_t) as id_t }
}

pub unsafe fn getpriority(which: c_uint, who: id_t) -> c_int {
    // SAFETY: as above.
    unsafe { real::getpriority(which, present_who(which, who)) }
}

pub unsafe fn setpriority(which: c_uint, who: id_t, priority: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { real::setpriority(which, present_who(which, who), priority) }
}

pub unsafe fn prlimit(id: pid_t, what: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int {
    // SAFETY: as above.
    unsafe { real::prlimit(present_task(id), what, new, old) }
}

pub unsafe fn clock_getcpuclockid(id: pid_t, clock: *mut clockid_t) -> c_int {
    // SAFETY: as above.
    unsafe { real::clock_getcpuclockid(present(id), clock) }
}

pub unsafe fn pidfd_open(id: pid_t, flags: c_uint) -> c_int {
    // SAFETY: as above.
    unsafe { real::pidfd_open(present(id), flags) }
}

/// A system call made by hand. `pidfd_open` has no function before glibc 2.36, so this is how it is mostly made; what follows
/// from it is whether a child is waited for. A futex has none at all.
pub unsafe fn syscall(number: c_long, mut a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    if number == libc::SYS_pidfd_open {
        a = present(a as pid_t) as usize;
    }
    // SAFETY: as above; whatever the arguments are, each is a word, and the kernel takes six at most.
    let call = || unsafe { real::syscall(number, a, b, c, d, e, f) };
    if number == libc::SYS_futex { futex::call(a, b as c_int, c as u32, d, call) } else { call() }
}

pub unsafe fn process_vm_readv(
    id: pid_t,
    to: *const iovec,
    many_to: c_ulong,
    from: *const iovec,
    many_from: c_ulong,
    flags: c_ulong,
) -> ssize_t {
    // SAFETY: as above.
    unsafe { real::process_vm_readv(present_task(id), to, many_to, from, many_from, flags) }
}

pub unsafe fn process_vm_writev(
    id: pid_t,
    from: *const iovec,
    many_from: c_ulong,
    to: *const iovec,
    many_to: c_ulong,
    flags: c_ulong,
) -> ssize_t {
    // SAFETY: as above.
    unsafe { real::process_vm_writev(present_task(id), from, many_from, to, many_to, flags) }
}
