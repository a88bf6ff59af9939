//! Condition variables: what counts is when the waiter has its mutex again.
//!
//! Recording: the real wait, then an ordinary acquire of the mutex. If nobody else had the mutex meanwhile, the waiter
//! may have been woken by a thread that signalled without it: then the tape names that signal.
//! Replay: the mutex is given up, its turn waited for, and it is taken again. Nobody waits for the condition, so
//! signals are only counted.

use crate::glibc::Mutex;
use crate::handle::mutex;
use crate::table::cond::real;
use crate::table::mutex::real as real_mutex;
use libc::{EOWNERDEAD, ETIMEDOUT, c_int, clockid_t, pthread_cond_t, timespec};
use retake_engine::objects::{Meeting, Object};
use retake_engine::park;
use retake_engine::replay::Order;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, CANCELLED};
use retake_tape::op::Op;

pub unsafe fn wait(c: *mut pthread_cond_t, m: *mut Mutex) -> c_int {
    // SAFETY: the program's condition and mutex.
    unsafe { wait_by(Op::CondWait, c, m, || real::pthread_cond_wait(c, m)) }
}

pub unsafe fn timedwait(c: *mut pthread_cond_t, m: *mut Mutex, until: *const timespec) -> c_int {
    // SAFETY: the program's condition and mutex.
    unsafe { wait_by(Op::CondTimed, c, m, || real::pthread_cond_timedwait(c, m, until)) }
}

pub unsafe fn clockwait(c: *mut pthread_cond_t, m: *mut Mutex, id: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: the program's condition and mutex.
    unsafe { wait_by(Op::CondTimed, c, m, || real::pthread_cond_clockwait(c, m, id, until)) }
}

/// Whether the mutex is the waiter's again after such a result.
fn has_mutex(result: i64) -> bool {
    matches!(result, 0 | CANCELLED) || result == i64::from(ETIMEDOUT) || result == i64::from(EOWNERDEAD)
}

/// Waits by `call`; the mutex is `m`. Also for C11.
pub unsafe fn wait_by(op: Op, c: *mut pthread_cond_t, m: *mut Mutex, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    if turn::recording() {
        turn::tell(thread, Op::MutexUnlock, 0, m as usize, 0, 0);
        // SAFETY: a cancelled waiter has its mutex again before its clean-up handlers run.
        let result = turn::inside(call, || unsafe { record_cancelled(op, c, m) });
        // SAFETY: the waiter has its mutex again.
        unsafe { record(thread, op, c, m, i64::from(result)) };
        return result;
    }
    // SAFETY: the program's condition and mutex.
    unsafe { replay(thread, op, c, m, call) }
}

unsafe fn record(thread: &mut Thread, op: Op, c: *mut pthread_cond_t, m: *mut Mutex, result: i64) {
    thread.begin();
    let mut version = 0;
    // SAFETY: the waiter has its mutex.
    if has_mutex(result) {
        let before = thread.writer.position();
        match unsafe { (*m).slot() } {
            Some(slot) => {
                slot.took(thread);
                version = slot.version();
            }
            None => Meeting(m as usize).took(thread),
        }
        let handed_over = before != thread.writer.position();
        if result == 0 && !handed_over {
            Meeting(c as usize).note_last(thread);
        }
    }
    if result != 0 {
        thread.result(op, result);
    }
    thread.happen();
    thread.finish();
    turn::tell(thread, op, thread.count(), c as usize, version, result);
}

unsafe fn record_cancelled(op: Op, c: *mut pthread_cond_t, m: *mut Mutex) {
    if let Some(thread) = turn::enter() {
        // SAFETY: the waiter has its mutex.
        unsafe { record(thread, op, c, m, CANCELLED) };
    }
}

unsafe fn replay(
    thread: &mut Thread,
    op: Op,
    c: *mut pthread_cond_t,
    m: *mut Mutex,
    call: impl FnOnce() -> c_int,
) -> c_int {
    // A handler that ran inside the wait ran without the mutex.
    let given = thread.is_signal_next();
    if given {
        turn::tell(thread, Op::MutexUnlock, 0, m as usize, 0, 0);
        // SAFETY: the waiter has its mutex.
        unsafe { mutex::give(m, || real_mutex::pthread_mutex_unlock(m)) };
    }
    let Some(step) = thread.step(op) else { return call() };
    if has_mutex(step.result) {
        // SAFETY: the waiter has its mutex, gives it up, and takes it again.
        unsafe {
            if !given {
                turn::tell(thread, Op::MutexUnlock, 0, m as usize, 0, 0);
                mutex::give(m, || real_mutex::pthread_mutex_unlock(m));
            }
            let slot = (*m).slot();
            match (&slot, step.order) {
                (_, Order::Edge { thread: other, count }) => park::wait_for_thread(thread, other, count),
                (Some(slot), order @ Order::Version(_)) => slot.wait(thread, order),
                _ => {}
            }
            mutex::lock_in_turn(m);
            if let Some(slot) = slot {
                slot.taken(thread);
            }
        }
    }
    if step.result == CANCELLED {
        turn::cancelled_here(thread, op, c as usize);
    }
    thread.happened();
    // SAFETY: the waiter has its mutex.
    let version = unsafe { (*m).slot() }.map_or(0, |slot| slot.version());
    turn::tell(thread, op, thread.count(), c as usize, version, step.result);
    step.result as c_int
}

pub unsafe fn signal(c: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition.
    unsafe { signal_by(Op::CondSignal, c, || real::pthread_cond_signal(c)) }
}

pub unsafe fn broadcast(c: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition.
    unsafe { signal_by(Op::CondBroadcast, c, || real::pthread_cond_broadcast(c)) }
}

/// Signals by `call`. An event, so that a waiter can name it.
pub unsafe fn signal_by(op: Op, c: *mut pthread_cond_t, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    if turn::recording() {
        thread.begin();
        Meeting(c as usize).leave_word(thread);
        thread.happen();
        thread.finish();
        turn::tell(thread, op, thread.count(), c as usize, 0, 0);
        return call();
    }
    if thread.step(op).is_none() {
        return call();
    }
    thread.happened();
    turn::tell(thread, op, thread.count(), c as usize, 0, 0);
    0
}

pub unsafe fn destroy(c: *mut pthread_cond_t) -> c_int {
    // In a replay nobody ever waits for it, so there is nothing that destroying could wait for.
    if turn::recording() {
        Meeting(c as usize).forget();
    }
    // SAFETY: the program's condition.
    unsafe { real::pthread_cond_destroy(c) }
}
