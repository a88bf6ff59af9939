//! Mutexes: taking one is the event; its place in the order is where it was obtained, not where it was asked for.
//!
//! A plain mutex that is free is taken and released here, by glibc's own protocol, without a call: that is what makes
//! recording cheap. Everything else goes to the real function. Locking again what one has is no event: nobody could
//! have come in between.

use crate::glibc::Mutex;
use crate::handle::input::note_unsupported;
use crate::handle::time;
use crate::table::mutex::real;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use libc::{EBUSY, EOWNERDEAD, ETIMEDOUT, c_int, clockid_t, timespec};
use retake_engine::deadlock::{self, want};
use retake_engine::objects::{Meeting, Object, Slot};
use retake_engine::process;
use retake_engine::replay::Order;
use retake_engine::thread::{Thread, fast};
use retake_engine::turn::{self, Turn};
use retake_engine::{schedule, sys, tls};
use retake_tape::op::Op;

/// The holder died; the mutex was obtained all the same.
fn obtained(result: c_int) -> bool {
    result == EOWNERDEAD
}

#[inline(always)]
/// `from` is kept, so that a deadlock can be told with the line that is in the way.
pub unsafe fn lock(m: *mut Mutex, from: usize) -> c_int {
    let thread = tls::get();
    // SAFETY: the thread is null or this one's own; the mutex is the program's.
    unsafe {
        if !thread.is_null() && (*m).is_plain() {
            let short = (*thread).fast.load(Relaxed);
            if short == fast::RECORD && (*m).take_if_free((*thread).tid) {
                (*m).locked_from(from);
                return record_taken(thread, m);
            }
            if short == fast::REPLAY {
                let plain = (*thread).count() + 1 < (*thread).stop;
                if plain && replay_own(thread, m) || !plain && replay_hand_over(thread, m) {
                    (*m).locked_from(from);
                    return 0;
                }
            }
        }
        lock_slowly(m, from)
    }
}

#[inline(always)]
unsafe fn record_taken(thread: *mut Thread, m: *mut Mutex) -> c_int {
    // SAFETY: this thread has the mutex.
    unsafe {
        let words = (*m).words();
        if (*thread).is_among_hand_overs() {
            return record_among(thread, m);
        }
        if words.owner.load(Relaxed) != (*thread).number {
            return record_hand_over(thread, m);
        }
        words.version.store(words.version.load(Relaxed) + 1, Relaxed);
        (*thread).commit();
        0
    }
}

#[cold]
#[inline(never)]
unsafe fn record_hand_over(thread: *mut Thread, m: *mut Mutex) -> c_int {
    // SAFETY: the caller's.
    unsafe { record(thread, m, |slot, thread| slot.took(thread)) }
}

/// A lock by a thread that has just been handed over another, and so may have been handed over this one.
#[inline(never)]
unsafe fn record_among(thread: *mut Thread, m: *mut Mutex) -> c_int {
    // SAFETY: the caller's.
    unsafe { record(thread, m, |slot, thread| slot.took_again(thread)) }
}

#[inline(always)]
unsafe fn record(thread: *mut Thread, m: *mut Mutex, took: impl FnOnce(&Slot, &mut Thread)) -> c_int {
    // SAFETY: this thread has the mutex, which is plain and so has room.
    unsafe {
        let (slot, thread) = (Slot { words: (*m).words(), shared: false }, &mut *thread);
        thread.begin();
        took(&slot, thread);
        thread.happen();
        thread.finish();
        0
    }
}

/// A replayed lock without an entry: the mutex was this thread's before, and nobody else may have it now.
#[inline(always)]
unsafe fn replay_own(thread: *mut Thread, m: *mut Mutex) -> bool {
    // SAFETY: as for `lock`.
    unsafe {
        let words = (*m).words();
        let owner = words.owner.load(Relaxed);
        if owner != (*thread).number || !(*m).take_if_free((*thread).tid) {
            return false;
        }
        (*thread).commit();
        true
    }
}

/// A replayed lock whose only entry is a hand-over: the usual reason to wait.
#[inline(never)]
unsafe fn replay_hand_over(thread: *mut Thread, m: *mut Mutex) -> bool {
    // SAFETY: as for `lock`.
    unsafe {
        let (slot, thread) = (Slot { words: (*m).words(), shared: false }, &mut *thread);
        let Some(version) = thread.take_hand_over() else { return false };
        slot.wait(thread, Order::Version(version));
        lock_in_turn(m);
        slot.taken(thread);
        thread.happened();
        true
    }
}

#[cold]
#[inline(never)]
unsafe fn lock_slowly(m: *mut Mutex, from: usize) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { acquire(Op::MutexLock, m, from, 0, || lock_or_wait(m)) }
}

/// How long a thread waits for a mutex before it tells what it waits for. Who contends for short sections never does.
const SOON_NS: u64 = 1_000_000;

/// Locks by the real functions. Only one who has to wait tells what it waits for.
unsafe fn lock_or_wait(m: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        if (*m).is_mine_again(sys_tid()) {
            return real::pthread_mutex_lock(m);
        }
        if process::get().short_cut && (*m).is_plain() && !process::get().is_rich() {
            if (*m).take_soon(sys_tid(), SOON_NS) {
                return 0;
            }
        } else {
            let result = real::pthread_mutex_trylock(m);
            if result != EBUSY {
                return result;
            }
        }
        deadlock::blocking(Op::MutexLock, want::MUTEX, m as usize, || real::pthread_mutex_lock(m))
    }
}

pub unsafe fn trylock(m: *mut Mutex, from: usize) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { acquire(Op::MutexTry, m, from, 0, || real::pthread_mutex_trylock(m)) }
}

pub unsafe fn timedlock(m: *mut Mutex, until: *const timespec, from: usize) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { acquire(Op::MutexTimed, m, from, time::when(until), || real::pthread_mutex_timedlock(m, until)) }
}

pub unsafe fn clocklock(m: *mut Mutex, id: clockid_t, until: *const timespec, from: usize) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { acquire(Op::MutexTimed, m, from, time::when(until), || real::pthread_mutex_clocklock(m, id, until)) }
}

unsafe fn acquire(op: Op, m: *mut Mutex, from: usize, until_ns: u64, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        if (*m).is_robust() && Meeting(m as usize).is_out_of_reach() {
            note_unsupported(b"a robust mutex shared between processes");
            return call();
        }
        if (*m).is_mine_again(sys_tid()) {
            schedule::plain_point(op, m as usize);
            return call();
        }
        // A holder that has ended is about to leave a robust mutex to the next.
        let is_left = || (*m).is_robust() && deadlock::by_tid((*m).holder()).is_none();
        let attempt = || match real::pthread_mutex_trylock(m) {
            EBUSY if is_left() => Some(real::pthread_mutex_lock(m)),
            EBUSY => None,
            result => Some(result),
        };
        let again = || lock_in_turn(m);
        let slot = (*m).slot();
        let meeting = Meeting(m as usize);
        let waits = op != Op::MutexTry;
        let late = if op == Op::MutexTimed { ETIMEDOUT } else { 0 };
        let attempt: Option<&dyn Fn() -> Option<c_int>> = Some(&attempt);
        let result = match &slot {
            Some(slot) => Turn { obtained, polls: !waits, attempt, late, until_ns, ..Turn::new(op, m as usize, slot) }
                .acquire(call, again),
            None => Turn { obtained, polls: !waits, attempt, late, until_ns, ..Turn::new(op, m as usize, &meeting) }
                .acquire(call, again),
        };
        if result == 0 || obtained(result) {
            (*m).set_from(from as u32);
        }
        result
    }
}

/// Replay: it is this thread's turn. Whoever had the mutex has given it on, and is about to release it.
pub unsafe fn lock_in_turn(m: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        if process::get().short_cut && (*m).is_plain() {
            for _ in 0..200 {
                if (*m).take_if_free(sys_tid()) {
                    return 0;
                }
                core::hint::spin_loop();
            }
        }
        real::pthread_mutex_lock(m)
    }
}

/// The calling thread's id, without asking the kernel where the engine knows it.
pub fn sys_tid() -> u32 {
    // SAFETY: null or this thread's own.
    unsafe { tls::get().as_ref().map_or_else(sys::gettid_now, |thread| thread.tid) }
}

#[inline(always)]
pub unsafe fn unlock(m: *mut Mutex) -> c_int {
    let thread = tls::get();
    // SAFETY: the thread is null or this one's own; the mutex is the program's.
    unsafe {
        if !thread.is_null() && (*m).is_plain() {
            let short = (*thread).fast.load(Relaxed);
            if short == fast::RECORD {
                (*thread).releases();
                (*m).release();
                return 0;
            }
            if short == fast::REPLAY {
                (*thread).releases();
                let words = (*m).words();
                let version = words.version.load(Relaxed) + 1;
                words.version.swap(version, core::sync::atomic::Ordering::SeqCst);
                let wanted = words.wanted.load(Acquire) == version as u32;
                (*m).release();
                if wanted {
                    Slot { words, shared: false }.gave(version);
                }
                (*thread).released();
                return 0;
            }
        }
        unlock_slowly(m)
    }
}

#[cold]
#[inline(never)]
unsafe fn unlock_slowly(m: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        let Some(thread) = turn::enter() else { return real::pthread_mutex_unlock(m) };
        // Locking again was not told; nor is unlocking so often.
        if (*m).will_be_free(sys_tid()) {
            schedule::before(Op::MutexUnlock, m as usize);
            turn::tell(thread, Op::MutexUnlock, 0, m as usize, 0, 0);
        } else {
            schedule::plain_point(Op::MutexUnlock, m as usize);
        }
        let gives = (*m).will_be_free(sys_tid());
        let result = turn::releasing(|| give(m, || real::pthread_mutex_unlock(m)));
        if gives {
            schedule::behind();
        }
        result
    }
}

/// Releases the mutex by `call`; in a replay the turn is given on first.
pub unsafe fn give(m: *mut Mutex, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        match (*m).slot() {
            Some(slot) if !turn::recording() && (*m).will_be_free(sys_tid()) => {
                let version = slot.give();
                let result = call();
                slot.gave(version);
                result
            }
            _ => call(),
        }
    }
}

pub unsafe fn init(m: *mut Mutex, attributes: *const libc::pthread_mutexattr_t) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        let result = real::pthread_mutex_init(m, attributes);
        if result == 0 && (*m).is_robust() && turn::enter().is_some() {
            let mut shared = 0;
            libc::pthread_mutexattr_getpshared(attributes, &raw mut shared);
            Meeting(m as usize).begin(shared == libc::PTHREAD_PROCESS_SHARED);
        }
        if let (Some(thread), true) = (turn::enter(), process::get().is_rich()) {
            turn::tell(thread, Op::MutexInit, 0, m as usize, 0, i64::from(result));
        }
        result
    }
}

pub unsafe fn destroy(m: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        if let (Some(thread), true) = (turn::enter(), process::get().is_rich()) {
            turn::tell(thread, Op::MutexDestroy, 0, m as usize, 0, 0);
        }
        real::pthread_mutex_destroy(m)
    }
}
