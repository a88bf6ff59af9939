//! Processes: children are recorded into the same take, and ids are shown as they were.

use crate::table::process::real;
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::{c_char, c_int, c_void, pid_t};
use retake_engine::process::{self, mode};
use retake_engine::turn;
use retake_engine::{end, sys, thread};
use retake_tape::layout::state;
use retake_tape::op::Op;

/// Whether this is a child that borrows its parent's memory (`vfork`): it must leave no trace there.
pub fn is_borrowed() -> bool {
    process::mode() != mode::OFF && sys::getpid_now() != process::get().pid
}

/// Before any fork in this process: the child will be the calling thread's next creation.
pub extern "C" fn before_fork() {
    if let Some(thread) = thread::current() {
        thread.creations += 1;
        thread.begin();
    }
}

/// After it, in the parent.
pub extern "C" fn after_fork_in_parent() {
    if let Some(thread) = thread::current() {
        thread.finish();
    }
}

/// After it, in the child.
pub extern "C" fn after_fork_in_child() {
    process::forked();
    crate::handle::modules::note_all();
}

pub unsafe fn fork() -> pid_t {
    // SAFETY: a fork as the program asked for it.
    forked(|| unsafe { real::fork() })
}

/// The fork that runs no handlers, so that ours must be called here.
pub unsafe fn fork_alone() -> pid_t {
    // SAFETY: a fork as the program asked for it.
    forked(|| unsafe {
        before_fork();
        let pid = real::_Fork();
        if pid == 0 { after_fork_in_child() } else { after_fork_in_parent() }
        pid
    })
}

/// Makes a child by `call` and notes its id; the child's own events go to a tape of its own.
pub fn forked(call: impl FnOnce() -> pid_t) -> pid_t {
    let Some(thread) = turn::enter() else { return call() };
    if turn::recording() {
        let pid = call();
        if pid == 0 {
            return 0;
        }
        note_child(Op::Fork, pid);
        return pid;
    }
    let Some(step) = thread.step(Op::Fork) else { return call() };
    if step.result != 0 {
        thread.happened();
        return failed(step.result);
    }
    let pid = call();
    if pid == 0 {
        return 0;
    }
    if let Some(thread) = thread::current() {
        process::pair_pids(step.created as u32, pid as u32);
        thread.happened();
        turn::tell(thread, Op::Fork, thread.count(), 0, 0, step.created as i64);
    }
    step.created as pid_t
}

fn failed(result: i64) -> pid_t {
    crate::errno::set(-result as c_int);
    -1
}

/// Recording: notes the id of a new child, or why there is none.
pub fn note_child(op: Op, pid: pid_t) {
    let Some(thread) = thread::current() else { return };
    let before = crate::errno::get();
    thread.begin();
    if pid > 0 { thread.created(pid as u64) } else { thread.result(op, -i64::from(before)) }
    thread.commit();
    thread.finish();
    turn::tell(thread, op, thread.count(), 0, 0, i64::from(pid));
    crate::errno::set(before);
}

/// The present id of a process (or group, if negative) that the program knows by its recorded one.
pub fn present(pid: pid_t) -> pid_t {
    match process::mode() {
        mode::REPLAY if pid > 0 => process::present_pid(pid as u32).map_or(pid, |now| now as pid_t),
        mode::REPLAY if pid < -1 => process::present_pid(-pid as u32).map_or(pid, |now| -(now as pid_t)),
        _ => pid,
    }
}

/// The recorded id of a process that has the id `pid` now.
pub fn recorded(pid: pid_t) -> pid_t {
    match process::mode() {
        mode::REPLAY if pid > 0 => process::recorded_pid(pid as u32).map_or(pid, |then| then as pid_t),
        _ => pid,
    }
}

pub unsafe fn getpid() -> pid_t {
    let pid = sys::getpid_now() as pid_t;
    let process = process::get();
    if process::mode() == mode::REPLAY && pid as u32 == process.pid { process.shown_pid as pid_t } else { recorded(pid) }
}

pub unsafe fn getppid() -> pid_t {
    // SAFETY: asks and does nothing; so for the others.
    let parent = unsafe { real::getppid() };
    let process = process::get();
    if process::mode() == mode::REPLAY && !is_borrowed() { process.shown_parent as pid_t } else { recorded(parent) }
}

pub unsafe fn gettid() -> pid_t {
    if process::mode() == mode::REPLAY
        && !is_borrowed()
        && let Some(thread) = thread::current()
    {
        // SAFETY: the header lives as long as the process; it holds the recorded id.
        return unsafe { (*thread.header).tid } as pid_t;
    }
    sys::gettid_now() as pid_t
}

pub unsafe fn getpgrp() -> pid_t {
    // SAFETY: as above.
    recorded(unsafe { real::getpgrp() })
}

pub unsafe fn getpgid(pid: pid_t) -> pid_t {
    // SAFETY: as above.
    recorded(unsafe { real::getpgid(present(pid)) })
}

pub unsafe fn setpgid(pid: pid_t, group: pid_t) -> c_int {
    // SAFETY: as above.
    unsafe { real::setpgid(present(pid), present(group)) }
}

pub unsafe fn getsid(pid: pid_t) -> pid_t {
    // SAFETY: as above.
    recorded(unsafe { real::getsid(present(pid)) })
}

pub unsafe fn setsid() -> pid_t {
    // SAFETY: as above.
    recorded(unsafe { real::setsid() })
}

pub unsafe fn tcgetpgrp(fd: c_int) -> pid_t {
    // SAFETY: as above.
    recorded(unsafe { real::tcgetpgrp(fd) })
}

pub unsafe fn tcsetpgrp(fd: c_int, group: pid_t) -> c_int {
    // SAFETY: as above.
    unsafe { real::tcsetpgrp(fd, present(group)) }
}

/// The process is about to end: `how` is a [`state`].
pub fn ending(how: u32, status: c_int) {
    if is_borrowed() {
        return;
    }
    let by = thread::current().map_or(0, |thread| thread.number);
    match process::mode() {
        mode::RECORD => {
            // SAFETY: the header is mapped while recording.
            if let Some(header) = unsafe { process::get().tape.header().as_ref() } {
                header.status.store(status as u32, Relaxed);
                header.ended_by.store(by, Relaxed);
                header.state.store(how, Release);
            }
        }
        mode::REPLAY => end::wait_for_others(),
        _ => {}
    }
}

/// It did not end after all.
pub fn not_ending() {
    if !is_borrowed()
        && process::mode() == mode::RECORD
        // SAFETY: the header is mapped while recording.
        && let Some(header) = unsafe { process::get().tape.header().as_ref() }
    {
        header.state.store(state::OPEN, Release);
    }
}

/// Registered before everything else, and so called after everything else.
pub extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    ending(state::EXITED, status);
}

pub unsafe fn exit_now(status: c_int) {
    ending(state::EXITED, status);
    // SAFETY: the end.
    unsafe { real::_exit(status) }
}

pub unsafe fn quick_exit(status: c_int) {
    ending(state::EXITED, status);
    // SAFETY: the end.
    unsafe { real::quick_exit(status) }
}

pub unsafe fn abort() {
    if process::mode() == mode::REPLAY {
        end::wait_for_others();
    }
    // SAFETY: the end.
    unsafe { real::abort() }
}

/// A library that comes later is noted, so that its addresses can be told.
pub unsafe fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: the program's arguments.
    let handle = unsafe { real::dlopen(path, flags) };
    if !handle.is_null() && turn::recording() && !is_borrowed() {
        crate::handle::modules::note_new();
    }
    handle
}
