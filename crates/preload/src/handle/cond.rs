//! Condition variables: what counts is when the waiter has its mutex again.
//!
//! Recording: the real wait, then an ordinary acquire of the mutex. If nobody else had the mutex meanwhile, the waiter
//! may have been woken by a thread that signalled without it: then the tape names that signal.
//! Replay: the mutex is given up, its turn waited for, and it is taken again. Nobody waits for the condition, so
//! signals are only counted.

use crate::glibc::Mutex;
use crate::handle::{mutex, python, time};
use crate::table::cond::real;
use crate::table::mutex::real as real_mutex;
use crate::table::thread::real as real_thread;
use core::sync::atomic::Ordering::Acquire;
use libc::{EOWNERDEAD, ETIMEDOUT, c_int, clockid_t, pthread_cond_t, timespec};
use retake_engine::baton;
use retake_engine::deadlock::{self, Wanted, want};
use retake_engine::halt;
use retake_engine::objects::{Meeting, Object};
use retake_engine::park;
use retake_engine::replay::Order;
use retake_engine::schedule;
use retake_engine::serial;
use retake_engine::stand_in;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, CANCELLED};
use retake_tape::op::Op;
use retake_tape::schedule::outcome;

pub unsafe fn wait(c: *mut pthread_cond_t, m: *mut Mutex) -> c_int {
    // SAFETY: the program's condition and mutex.
    unsafe { wait_by(Op::CondWait, c, m, None, || for_ever(c, m, || real::pthread_cond_wait(c, m))) }
}

pub unsafe fn timedwait(c: *mut pthread_cond_t, m: *mut Mutex, until: *const timespec) -> c_int {
    // SAFETY: the program's condition and mutex.
    unsafe { wait_by(Op::CondTimed, c, m, Some(time::when(until)), || real::pthread_cond_timedwait(c, m, until)) }
}

pub unsafe fn clockwait(c: *mut pthread_cond_t, m: *mut Mutex, id: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: the program's condition and mutex.
    unsafe { wait_by(Op::CondTimed, c, m, Some(time::when(until)), || real::pthread_cond_clockwait(c, m, id, until)) }
}

/// Waits for the condition, possibly for ever.
pub fn for_ever(c: *mut pthread_cond_t, m: *mut Mutex, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    let wanted = Wanted { kind: want::CONDITION, object: c as usize, mark: m as u64 };
    deadlock::blocking_for(thread, Op::CondWait, wanted, call)
}

/// Whether the mutex is the waiter's again after such a result.
fn has_mutex(result: i64) -> bool {
    matches!(result, 0 | CANCELLED) || result == i64::from(ETIMEDOUT) || result == i64::from(EOWNERDEAD)
}

/// Waits by `call`; the mutex is `m`. Also for C11.
pub unsafe fn wait_by(
    op: Op,
    c: *mut pthread_cond_t,
    m: *mut Mutex,
    until_ns: Option<u64>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    halt::point();
    let Some(thread) = turn::enter() else { return call() };
    let _away = serial::away(|| true);
    // SAFETY: the waiter has its mutex, before and after: since the call that locked it first.
    unsafe {
        let from = (*m).from();
        let result = wait_once(thread, op, c, m, until_ns, call);
        if has_mutex(i64::from(result)) {
            (*m).set_from(from);
        }
        result
    }
}

unsafe fn wait_once(
    thread: &mut Thread,
    op: Op,
    c: *mut pthread_cond_t,
    m: *mut Mutex,
    until_ns: Option<u64>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if turn::recording() {
        // SAFETY: the waiter has its mutex.
        let before = unsafe { (*m).kept() }.version();
        // SAFETY: the program's condition and mutex.
        if let Some(result) = unsafe { scheduled(thread, op, c, m, before, until_ns) } {
            return result;
        }
        turn::tell(thread, Op::MutexUnlock, 0, m as usize, 0, 0);
        let condition = Meeting(c as usize);
        condition.waits();
        let interpreters = if op == Op::CondTimed { python::waits(c) } else { None };
        // SAFETY: a cancelled waiter has its mutex again before its clean-up handlers run.
        let result = turn::inside(call, || unsafe {
            condition.waited(false);
            record_cancelled(op, c, m, before);
        });
        condition.waited(result == 0);
        if let Some(wait) = interpreters {
            wait.ends(thread, result);
        }
        // SAFETY: the waiter has its mutex again.
        unsafe { record(thread, op, c, m, before, i64::from(result)) };
        return result;
    }
    // SAFETY: the program's condition and mutex.
    unsafe { replay(thread, op, c, m, call) }
}

/// Following a schedule: nobody waits for the real condition. `None` if no schedule is followed.
unsafe fn scheduled(
    thread: &mut Thread,
    op: Op,
    c: *mut pthread_cond_t,
    m: *mut Mutex,
    before: u64,
    until_ns: Option<u64>,
) -> Option<c_int> {
    if !schedule::takes_part() {
        return None;
    }
    // SAFETY: the waiter has its mutex, gives it up, and takes it again.
    unsafe {
        let release = || {
            if let Some(thread) = turn::enter() {
                turn::tell(thread, Op::MutexUnlock, 0, m as usize, 0, 0);
            }
            real_mutex::pthread_mutex_unlock(m);
        };
        let attempt = || real_mutex::pthread_mutex_trylock(m) == 0;
        let waited = stand_in::wait_for_condition(c as usize, m as usize, until_ns, release, attempt);
        let result = match waited {
            Some(late) => {
                if late {
                    ETIMEDOUT
                } else {
                    0
                }
            }
            // The schedule is over. Whoever waited comes back, as if woken for nothing.
            None => real_mutex::pthread_mutex_lock(m),
        };
        let is_cancelled = match schedule::said() {
            Some(outcome::CANCELLED) => {
                schedule::require_cancelled(thread, op, c as usize);
                true
            }
            Some(_) => false,
            None => thread.is_cancelled.load(Acquire),
        };
        if is_cancelled {
            turn::inside(|| real_thread::pthread_testcancel(), || record_cancelled(op, c, m, before));
        }
        record(thread, op, c, m, before, i64::from(result));
        Some(result)
    }
}

/// Whether a wait gives up this mutex, which the waiter has: not one that it has locked more than once, and nobody else
/// comes to it then.
unsafe fn was_given_up(m: *mut Mutex) -> bool {
    // SAFETY: the waiter has its mutex.
    unsafe { (*m).will_be_free(mutex::sys_tid()) }
}

/// Replay: gives the mutex up. Like one that is really waited with, it stays in use.
unsafe fn give_up(thread: &mut Thread, m: *mut Mutex) {
    turn::tell(thread, Op::MutexUnlock, 0, m as usize, 0, 0);
    // SAFETY: the waiter has its mutex.
    unsafe {
        (*m).uses(1);
        mutex::give(m, || real_mutex::pthread_mutex_unlock(m));
    }
}

/// The wait is over. When it began, the mutex had the version `before`.
unsafe fn record(thread: &mut Thread, op: Op, c: *mut pthread_cond_t, m: *mut Mutex, before: u64, result: i64) {
    thread.begin();
    let mut version = 0;
    // SAFETY: the waiter has its mutex.
    if has_mutex(result) {
        unsafe { (*m).set_from(0) };
        let mut handed_over = false;
        if unsafe { was_given_up(m) } {
            let kept = unsafe { (*m).kept() };
            handed_over = kept.took_again(thread, before);
            version = kept.version();
        }
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

unsafe fn record_cancelled(op: Op, c: *mut pthread_cond_t, m: *mut Mutex, before: u64) {
    if let Some(thread) = turn::enter() {
        // SAFETY: the waiter has its mutex.
        unsafe { record(thread, op, c, m, before, CANCELLED) };
    }
}

unsafe fn replay(
    thread: &mut Thread,
    op: Op,
    c: *mut pthread_cond_t,
    m: *mut Mutex,
    call: impl FnOnce() -> c_int,
) -> c_int {
    // A handler that ran inside the wait ran without the mutex, and whoever waited for ever did not keep it.
    baton::again(Op::CondWait, c as usize);
    let given = baton::is_passed() || thread.is_signal_next() || thread.is_at_end();
    // SAFETY: the waiter has its mutex.
    let is_turn_given = unsafe { was_given_up(m) };
    if given {
        // SAFETY: as above.
        unsafe { give_up(thread, m) };
        baton::again(op, c as usize);
    }
    let Some(step) = thread.step_at(op, c as usize) else {
        if given {
            // SAFETY: the call that goes on without a tape wants the waiter to have its mutex.
            unsafe {
                real_mutex::pthread_mutex_lock(m);
                (*m).uses(-1);
            }
        }
        return call();
    };
    if has_mutex(step.result) {
        // SAFETY: the waiter has its mutex, gives it up, and takes it again.
        unsafe {
            if !given {
                give_up(thread, m);
            }
            let kept = is_turn_given.then(|| (*m).kept());
            match (&kept, step.order) {
                (_, Order::Edge { thread: other, count }) => park::wait_for_thread(thread, other, count),
                (Some(kept), order @ Order::Version(_)) => kept.wait(thread, order),
                _ => {}
            }
            mutex::lock_in_turn(m);
            (*m).uses(-1);
            if let Some(kept) = kept {
                kept.taken(thread);
            }
            halt::replay_asks(thread);
        }
    }
    if step.result == CANCELLED {
        turn::cancelled_here(thread, op, c as usize);
    }
    thread.happened();
    // SAFETY: the waiter has its mutex.
    let version = unsafe { (*m).kept() }.version();
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
    schedule::before(op, c as usize);
    if turn::recording() {
        stand_in::signals(c as usize, op == Op::CondBroadcast);
        thread.begin();
        let condition = Meeting(c as usize);
        condition.leave_word(thread);
        condition.wakes(op == Op::CondBroadcast);
        thread.happen();
        thread.finish();
        turn::tell(thread, op, thread.count(), c as usize, 0, 0);
        python::signalled(c);
        let result = call();
        schedule::behind();
        return result;
    }
    if thread.step(op).is_none() {
        return call();
    }
    thread.happened();
    turn::tell(thread, op, thread.count(), c as usize, 0, 0);
    schedule::behind();
    0
}

pub unsafe fn init(c: *mut pthread_cond_t, attributes: *const libc::pthread_condattr_t) -> c_int {
    // SAFETY: the program's condition and attributes.
    unsafe {
        let result = real::pthread_cond_init(c, attributes);
        if result == 0 && turn::enter().is_some() {
            let mut shared = 0;
            if !attributes.is_null() {
                libc::pthread_condattr_getpshared(attributes, &raw mut shared);
            }
            Meeting(c as usize).begin(shared == libc::PTHREAD_PROCESS_SHARED);
        }
        result
    }
}

pub unsafe fn destroy(c: *mut pthread_cond_t) -> c_int {
    // In a replay nobody ever waits for it, so there is nothing that destroying could wait for.
    if turn::recording() {
        Meeting(c as usize).forget();
    }
    // SAFETY: the program's condition.
    unsafe { real::pthread_cond_destroy(c) }
}
