//! Sending signals: a replay sends them again, and their handlers run by the tape.

use crate::errno;
use crate::handle::ids::present_task;
use crate::handle::process::present;
use crate::table::signal::real;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, pid_t, pthread_t, sigval};
use retake_engine::process::{self, mode};
use retake_engine::thread::{self, SIGNALS, Thread};
use retake_engine::turn;
use retake_engine::{end, pids, signals};
use retake_tape::op::Op;

/// Whom a signal is sent to.
enum Target {
    /// A thread of this process.
    Thread(pthread_t),
    /// A thread of this process, by its id.
    Id(u32),
    /// This process.
    Here,
    /// Another process, by its present id; not positive: several.
    There(pid_t),
}

/// Sends a signal by `call`, which returns 0 or a reason. Two events: a handler that runs at once stands between them.
fn send(number: c_int, target: &Target, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    let result = if turn::recording() {
        plain_event(thread);
        note_sender(thread, number, target);
        call()
    } else {
        send_again(thread, number, target, call)
    };
    // Its result is an event of its own; in a replay the call was made again, whatever it returned then.
    let before = errno::get();
    let recorded = turn::outcome(Op::Kill, false, || i64::from(result), |_| {});
    errno::set(before);
    recorded as c_int
}

/// The same, in a replay.
fn send_again(thread: &mut Thread, number: c_int, target: &Target, call: impl FnOnce() -> c_int) -> c_int {
    if thread.step(Op::Kill).is_none() {
        return call();
    }
    let count_and_call = |thread: &mut Thread| {
        thread.counts();
        if let Target::There(present) = target
            && (1..SIGNALS as c_int).contains(&number)
            && let Ok(present) = u32::try_from(*present)
            && present != process::get().pid
        {
            signals::sends_to(present, number as u8);
        }
        call()
    };
    let result = match target {
        Target::Thread(to) if *to != thread.pthread.load(Relaxed) => signals::sending(thread, *to, count_and_call),
        _ => count_and_call(thread),
    };
    let before = errno::get();
    thread.look_ahead();
    errno::set(before);
    result
}

/// Tells the receiver, if it is in this process, who sends it the signal. One that has just been made may not be known yet:
/// then all are told.
fn note_sender(sender: &Thread, number: c_int, target: &Target) {
    let mut is_told = matches!(target, Target::There(_));
    thread::each(|thread| {
        let is_meant = match target {
            Target::Thread(t) => thread.pthread.load(Relaxed) == *t,
            Target::Id(tid) => thread.tid == *tid,
            Target::Here | Target::There(_) => false,
        };
        if is_meant && thread.in_use.load(Relaxed) == 1 {
            signals::sends(sender, Some(thread), number);
            is_told = true;
        }
    });
    if !is_told {
        signals::sends(sender, None, number);
    }
}

/// The target that a process id means. The id of any thread means its process.
fn process_target(pid: pid_t) -> Target {
    if pid as u32 == process::get().pid || is_own_thread(pid) { Target::Here } else { Target::There(present(pid)) }
}

/// Whether a thread that lives in this process has that id, or had it when it was recorded.
fn is_own_thread(id: pid_t) -> bool {
    let mut is_own = false;
    thread::each(|thread| {
        // SAFETY: the header lives as long as the process; it holds the recorded id.
        is_own |= thread.in_use.load(Relaxed) == 1 && unsafe { (*thread.header).tid } == id as u32;
    });
    is_own
}

/// Sends to the process, or the group, that the program knows by `pid`. A replay only reaches those that belong to the take, and
/// children: whoever else had that number then, by now it may be anybody's.
fn reach(pid: pid_t, send: impl FnOnce(pid_t) -> c_int) -> c_int {
    let is_shown = process::mode() == mode::REPLAY && !matches!(pid, 0 | -1) && !turn::is_in_library();
    let now = match present(pid) {
        now if !is_shown || pids::present(pid.unsigned_abs()).is_some() => now,
        _ if is_own_thread(pid) => process::get().pid as pid_t,
        now if now > 0 && pids::is_child(now as u32) => now,
        _ => return libc::ESRCH,
    };
    reason(send(now))
}

pub fn plain_event(thread: &mut Thread) {
    thread.begin();
    thread.happen();
    thread.finish();
}

fn reason(result: c_int) -> c_int {
    if result == 0 { 0 } else { errno::get() }
}

fn or_errno(reason: c_int) -> c_int {
    if reason == 0 {
        return 0;
    }
    errno::set(reason);
    -1
}

pub unsafe fn raise(number: c_int) -> c_int {
    let target = Target::Id(crate::handle::mutex::sys_tid());
    // SAFETY: the program's own doing; so for the others.
    or_errno(send(number, &target, || reason(unsafe { real::raise(number) })))
}

pub unsafe fn kill(pid: pid_t, number: c_int) -> c_int {
    if process::mode() == mode::REPLAY && pid > 0 {
        let victim = present(pid) as u32;
        if victim != process::get().pid {
            end::wait_for_victim(victim);
        } else if number == libc::SIGKILL {
            end::wait_for_others();
        }
    }
    // SAFETY: as above.
    or_errno(send(number, &process_target(pid), || reach(pid, |now| unsafe { real::kill(now, number) })))
}

pub unsafe fn killpg(group: pid_t, number: c_int) -> c_int {
    // SAFETY: as above.
    or_errno(send(number, &Target::There(-1), || reach(-group, |now| unsafe { real::killpg(-now, number) })))
}

pub unsafe fn pthread_kill(t: pthread_t, number: c_int) -> c_int {
    // SAFETY: as above.
    send(number, &Target::Thread(t), || unsafe { real::pthread_kill(t, number) })
}

pub unsafe fn pthread_sigqueue(t: pthread_t, number: c_int, value: sigval) -> c_int {
    // SAFETY: as above.
    send(number, &Target::Thread(t), || unsafe { real::pthread_sigqueue(t, number, value) })
}

pub unsafe fn sigqueue(pid: pid_t, number: c_int, value: sigval) -> c_int {
    // SAFETY: as above.
    or_errno(send(number, &process_target(pid), || reach(pid, |now| unsafe { real::sigqueue(now, number, value) })))
}

pub unsafe fn tgkill(pid: pid_t, tid: pid_t, number: c_int) -> c_int {
    // The thread's recorded id is known only inside its own process.
    let now = present_task(tid);
    // SAFETY: as above.
    or_errno(send(number, &Target::Id(now as u32), || reason(unsafe { real::tgkill(present(pid), now, number) })))
}
