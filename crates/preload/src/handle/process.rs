//! Processes: children are recorded into the same take, and ids are shown as they were.

use crate::handle::mpi::hooks;
use crate::handle::{output, python};
use crate::table::process::real;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::{c_char, c_int, c_void, pid_t};
use retake_engine::process::{self, mode};
use retake_engine::report;
use retake_engine::schedule;
use retake_engine::turn;
use retake_engine::{end, pids, signals, sys, thread};
use retake_tape::layout::state;
use retake_tape::op::Op;
use retake_tape::session::{RANK_NAME, ROOT_NAME};

/// Whether this is a child that borrows its parent's memory (`vfork`): it must leave no trace there.
pub fn is_borrowed() -> bool {
    process::mode() != mode::OFF && sys::getpid_now() != process::get().pid
}

/// This process has made another.
static HAS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether there are other processes in the take, as far as this one can know by what it did itself.
pub fn has_relatives() -> bool {
    HAS_CHILD.load(Relaxed) || process::get().name() != ROOT_NAME.as_bytes()
}

/// Before any fork in this process: the child will be the calling thread's next creation.
pub extern "C" fn before_fork() {
    if let Some(thread) = thread::current() {
        if thread.library == 0 {
            thread.creations += 1;
        }
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
    lend(false);
    if turn::is_in_library() {
        // A library's own helper (a daemon, say) is no part of the program.
        return process::leave();
    }
    process::forked();
    python::reset();
    crate::handle::ready::reset();
    crate::handle::stream::reset();
    crate::handle::mpi::requests::reset();
    crate::handle::mpi::full::underway::reset();
    crate::handle::modules::note_all();
}

pub unsafe fn fork() -> pid_t {
    // SAFETY: a fork as the program asked for it.
    copied(|| unsafe { real::fork() })
}

/// The fork that runs no handlers, so that ours must be called here.
pub unsafe fn fork_alone() -> pid_t {
    // SAFETY: a fork as the program asked for it.
    copied(|| unsafe {
        before_fork();
        let pid = real::_Fork();
        if pid == 0 {
            after_fork_in_child()
        } else {
            after_fork_in_parent()
        }
        pid
    })
}

/// Makes a child that goes on from here, too. No handler may run between the two events: a replay could not tell whether
/// the child has seen what it did.
fn copied(call: impl FnOnce() -> pid_t) -> pid_t {
    let mut before = None;
    let hold = || {
        process::announce();
        before = Some(signals::hold());
    };
    let pid = child_by(hold, call);
    if let Some(mask) = before {
        signals::release(mask);
        turn::look_ahead();
    }
    pid
}

/// Makes a child that executes another program.
pub fn forked(call: impl FnOnce() -> pid_t) -> pid_t {
    child_by(|| {}, call)
}

/// Makes a child by `call` and notes its id; the child's own events go to a tape of its own. Two events: what the child
/// does may come between them, even the end of its parent. `hold` is called before the first.
fn child_by(hold: impl FnOnce(), call: impl FnOnce() -> pid_t) -> pid_t {
    if !begin_child(hold) {
        return call();
    }
    if !turn::recording()
        && let Some(thread) = thread::current()
        && thread.next_is(Op::Fork)
    {
        let failed = thread.step(Op::Fork).map_or(0, |step| step.result);
        thread.happened();
        crate::errno::set(-failed as c_int);
        return -1;
    }
    match call() {
        0 => 0,
        pid => end_child(pid),
    }
}

/// The first event of making a child. False if it does not count.
fn begin_child(hold: impl FnOnce()) -> bool {
    HAS_CHILD.store(true, Relaxed);
    turn::place();
    let Some(thread) = turn::enter() else { return false };
    if turn::recording() {
        hold();
        thread.begin();
        thread.happen();
        thread.finish();
        return true;
    }
    let counts = thread.step(Op::Fork).is_some();
    if counts {
        hold();
        thread.happened();
    }
    counts
}

/// The second event, in the parent: the child's id as the program shall see it.
fn end_child(pid: pid_t) -> pid_t {
    if turn::recording() {
        note_child(pid);
        return pid;
    }
    let Some(thread) = thread::current() else { return pid };
    let Some(step) = thread.step(Op::Fork) else { return pid };
    if step.created == 0 {
        // Zero would make a second child of the parent.
        report::other(thread, Op::Fork, "no new process");
    }
    pids::pair(step.created as u32, pid as u32);
    thread.happened();
    turn::tell(thread, Op::Fork, thread.count(), 0, 0, step.created as i64);
    step.created as pid_t
}

/// The two halves of [`vfork`], called from its assembly.
extern "C" fn before_vfork() {
    begin_child(|| {});
    lend(true);
}

/// The calling thread's memory is its child's as well until that has a program of its own.
fn lend(it_does: bool) {
    if let Some(thread) = thread::current() {
        thread.lends = it_does;
    }
}

extern "C" fn after_vfork(pid: pid_t) -> pid_t {
    lend(false);
    if pid < 0 {
        crate::errno::set(-pid);
    }
    let pid = pid.max(-1);
    if turn::enter().is_some() { end_child(pid) } else { pid }
}

/// The child borrows its parent's memory and stack until it executes a program, so the return address must not be left
/// there: the kernel keeps it for the parent, in a register.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!(
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rdi",
        "mov eax, 58",
        "syscall",
        "push rdi",
        "test eax, eax",
        "jz 2f",
        "sub rsp, 8",
        "mov edi, eax",
        "call {after}",
        "add rsp, 8",
        "2: ret",
        before = sym before_vfork,
        after = sym after_vfork,
    );
}

/// Recording: notes the id of a new child, or why there is none.
fn note_child(pid: pid_t) {
    let Some(thread) = thread::current() else { return };
    let before = crate::errno::get();
    thread.begin();
    if pid > 0 {
        thread.created(pid as u64)
    } else {
        thread.result(Op::Fork, -i64::from(before))
    }
    thread.happen();
    thread.finish();
    turn::tell(thread, Op::Fork, thread.count(), 0, 0, i64::from(pid));
    crate::errno::set(before);
}

/// The present id of a process (or group, if negative) that the program knows by its recorded one.
pub fn present(pid: pid_t) -> pid_t {
    match process::mode() {
        _ if turn::is_in_library() => pid,
        mode::REPLAY if pid > 0 => pids::present(pid as u32).map_or(pid, |now| now as pid_t),
        mode::REPLAY if pid < -1 => pids::present(-pid as u32).map_or(pid, |now| -(now as pid_t)),
        _ => pid,
    }
}

/// The recorded id of a process that has the id `pid` now.
pub fn recorded(pid: pid_t) -> pid_t {
    match process::mode() {
        _ if turn::is_in_library() => pid,
        mode::REPLAY if pid > 0 => pids::recorded(pid as u32).map_or(pid, |then| then as pid_t),
        _ => pid,
    }
}

pub unsafe fn getpid() -> pid_t {
    let pid = sys::getpid_now() as pid_t;
    let process = process::get();
    if turn::is_in_library() {
        pid
    } else if process::mode() == mode::REPLAY && pid as u32 == process.pid {
        process.shown_pid as pid_t
    } else {
        recorded(pid)
    }
}

pub unsafe fn getppid() -> pid_t {
    // SAFETY: asks and does nothing; so for the others.
    let parent = unsafe { real::getppid() };
    let process = process::get();
    if process::mode() == mode::REPLAY && !is_borrowed() && !turn::is_in_library() {
        process.shown_parent as pid_t
    } else {
        recorded(parent)
    }
}

pub unsafe fn gettid() -> pid_t {
    if process::mode() == mode::REPLAY
        && !is_borrowed()
        && let Some(thread) = thread::current()
        && thread.library == 0
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
    schedule::before(Op::Exit, 0);
    if let Some(thread) = turn::enter() {
        turn::tell(thread, Op::Exit, 0, 0, 0, i64::from(status));
    }
    match process::mode() {
        mode::RECORD => {
            // SAFETY: the header is mapped while recording.
            if let Some(header) = unsafe { process::get().tape.header().as_ref() } {
                header.status.store(status as u32, Relaxed);
                header.ended_by.store(by, Relaxed);
                header.state.store(how, Release);
            }
        }
        mode::REPLAY => {
            if let Some(thread) = turn::enter() {
                thread.settle();
                end::comes(thread, how);
                crate::handle::pvm::task::settle();
            }
            end::wait_for_others();
        }
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
    output::end();
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

fn is_rank() -> bool {
    process::get().name().windows(RANK_NAME.len()).any(|part| part == RANK_NAME.as_bytes())
}

/// A library that comes later is noted, so that its addresses can be told.
pub unsafe fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: the program's arguments.
    let call = || unsafe { real::dlopen(path, flags) };
    // A rank that loads MPI late (Python): what its constructors do is none of the program's.
    let load = || {
        let library = call();
        if !library.is_null() {
            // SAFETY: the dynamic linker's handle.
            unsafe { hooks::look_in(library) };
        }
        library
    };
    let handle = if is_rank() { turn::in_library(load) } else { call() };
    if !handle.is_null() && turn::recording() && !is_borrowed() {
        crate::handle::modules::note_new();
    }
    handle
}
