//! Mutexes: taking one is the event; its place in the order is where it was obtained, not where it was asked for.
//!
//! A plain mutex that is free is taken and released here, by glibc's own protocol, without a call: that is what makes
//! recording cheap. Everything else goes to the real function. Locking again what one has is no event: nobody could
//! have come in between.

use crate::glibc::Mutex;
use crate::handle::{python, time};
use crate::table::mutex::real;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use libc::{EBUSY, EOWNERDEAD, ETIMEDOUT, c_int, clockid_t, timespec};
use retake_engine::deadlock::{self, want};
use retake_engine::objects::{self, Nothing, Object, Slot};
use retake_engine::process;
use retake_engine::replay::Order;
use retake_engine::taken::Called;
use retake_engine::thread::{self, Thread, fast};
use retake_engine::turn::{self, Turn};
use retake_engine::{park, schedule, sys, tls};
use retake_tape::entry::unlock;
use retake_tape::op::Op;

/// The holder died; the mutex was obtained all the same.
fn obtained(result: c_int) -> bool {
    result == EOWNERDEAD
}

/// Where it was called is kept, so that a deadlock can be told with the lines that are in the way.
#[inline(always)]
pub unsafe fn lock(m: *mut Mutex, called: Called) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { if called.may_have_frame() { lock_in_frame(m, called) } else { lock_by::<false>(m, called) } }
}

/// The same, called by a function that can have a frame pointer. If the mutex is not taken at once after all, whoever takes
/// it for this thread notes that again.
#[inline(never)]
unsafe fn lock_in_frame(m: *mut Mutex, called: Called) -> c_int {
    let thread = tls::get();
    // SAFETY: the thread is null or this one's own; the mutex is the program's.
    unsafe {
        if !thread.is_null() && (*m).is_free() {
            (*thread).taken.note(m as usize, called);
        }
        lock_by::<true>(m, called)
    }
}

#[inline(always)]
unsafe fn lock_by<const FRAME: bool>(m: *mut Mutex, called: Called) -> c_int {
    let thread = tls::get();
    // SAFETY: the thread is null or this one's own; the mutex is the program's.
    unsafe {
        if !thread.is_null() && (*m).is_plain() {
            let short = (*thread).fast.load(Relaxed);
            if short == fast::RECORD && (*m).take_if_free() {
                (*m).locked_from(called.from);
                record_taken(thread, m);
                (*m).is_held_by((*thread).tid);
                return 0;
            }
            if short == fast::REPLAY {
                return lock_again::<FRAME>(thread, m, called);
            }
        }
        lock_slowly(m, called)
    }
}

/// Replay: the thread has the plain mutex, by that call.
#[inline(always)]
unsafe fn locked<const FRAME: bool>(thread: *mut Thread, m: *mut Mutex, called: Called) {
    // SAFETY: as for `lock`.
    unsafe {
        (*m).locked_from(called.from);
        if FRAME {
            (*thread).taken.note(m as usize, called);
        }
    }
}

/// Replay, the same. Each of these functions ends with a call of the next, so that none saves registers for another: what
/// they would save must be in memory before the mutex can be taken or released.
#[inline(never)]
unsafe fn lock_again<const FRAME: bool>(thread: *mut Thread, m: *mut Mutex, called: Called) -> c_int {
    // SAFETY: as for `lock`.
    unsafe {
        if (*thread).count() + 1 >= (*thread).stop {
            return lock_handed_over::<FRAME>(thread, m, called);
        }
        if !replay_own(thread, m) {
            return lock_slowly(m, called);
        }
        locked::<FRAME>(thread, m, called);
        0
    }
}

#[inline(never)]
unsafe fn lock_handed_over<const FRAME: bool>(thread: *mut Thread, m: *mut Mutex, called: Called) -> c_int {
    // SAFETY: as for `lock`.
    unsafe {
        if !replay_hand_over(thread, m) {
            return lock_slowly(m, called);
        }
        locked::<FRAME>(thread, m, called);
        0
    }
}

#[inline(always)]
unsafe fn record_taken(thread: *mut Thread, m: *mut Mutex) {
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
    }
}

#[cold]
#[inline(never)]
unsafe fn record_hand_over(thread: *mut Thread, m: *mut Mutex) {
    // SAFETY: the caller's.
    unsafe { record(thread, m, |slot, thread| slot.took(thread)) };
}

/// A lock by a thread that has just been handed over another, and so may have been handed over this one.
#[inline(never)]
unsafe fn record_among(thread: *mut Thread, m: *mut Mutex) {
    // SAFETY: the caller's.
    unsafe { record(thread, m, |slot, thread| slot.took_again(thread)) };
}

#[inline(always)]
unsafe fn record(thread: *mut Thread, m: *mut Mutex, took: impl FnOnce(&Slot, &mut Thread)) {
    // SAFETY: this thread has the mutex, which is plain and so has room.
    unsafe {
        let (slot, thread) = (Slot { words: (*m).words(), shared: false }, &mut *thread);
        thread.begin();
        took(&slot, thread);
        thread.happen();
        thread.finish();
    }
}

/// A replayed lock without an entry: the mutex was this thread's before, and nobody else may have it now.
#[inline(always)]
unsafe fn replay_own(thread: *mut Thread, m: *mut Mutex) -> bool {
    // SAFETY: as for `lock`.
    unsafe {
        let words = (*m).words();
        let owner = words.owner.load(Relaxed);
        if owner != (*thread).number || !(*m).take_if_free() {
            return false;
        }
        (*m).is_held_by((*thread).tid);
        (*thread).commit();
        true
    }
}

/// A replayed lock whose only entry is a hand-over: the usual reason to wait.
#[inline(always)]
unsafe fn replay_hand_over(thread: *mut Thread, m: *mut Mutex) -> bool {
    // SAFETY: as for `lock`.
    unsafe {
        let (words, thread) = ((*m).words(), &mut *thread);
        let Some((version, among)) = thread.take_hand_over() else { return false };
        if words.version.load(Acquire) != version {
            Slot { words, shared: false }.wait(thread, Order::Version(version));
        }
        if (*m).take_if_free() {
            (*m).is_held_by(thread.tid);
        } else {
            lock_in_turn(m);
        }
        words.owner.store(thread.number, Relaxed);
        if among {
            thread.counts();
        } else {
            thread.happened();
        }
        true
    }
}

#[cold]
#[inline(never)]
unsafe fn lock_slowly(m: *mut Mutex, called: Called) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { acquire(Op::MutexLock, m, called, 0, || lock_or_wait(m)) }
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
            if (*m).take_soon(SOON_NS) {
                return 0;
            }
        } else {
            let result = real::pthread_mutex_trylock(m);
            if result != EBUSY {
                return result;
            }
        }
        if python::has(m as usize) {
            return python::lock(m);
        }
        deadlock::blocking(Op::MutexLock, want::MUTEX, m as usize, || real::pthread_mutex_lock(m))
    }
}

pub unsafe fn trylock(m: *mut Mutex, called: Called) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { acquire(Op::MutexTry, m, called, 0, || real::pthread_mutex_trylock(m)) }
}

pub unsafe fn timedlock(m: *mut Mutex, until: *const timespec, called: Called) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { acquire(Op::MutexTimed, m, called, time::when(until), || real::pthread_mutex_timedlock(m, until)) }
}

pub unsafe fn clocklock(m: *mut Mutex, id: clockid_t, until: *const timespec, called: Called) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { acquire(Op::MutexTimed, m, called, time::when(until), || real::pthread_mutex_clocklock(m, id, until)) }
}

unsafe fn acquire(op: Op, m: *mut Mutex, called: Called, until_ns: u64, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
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
        let kept = (*m).kept();
        let waits = op != Op::MutexTry;
        let late = if op == Op::MutexTimed { ETIMEDOUT } else { 0 };
        let attempt: Option<&dyn Fn() -> Option<c_int>> = Some(&attempt);
        let result = Turn { obtained, polls: !waits, attempt, late, until_ns, ..Turn::new(op, m as usize, &kept) }
            .acquire(call, again);
        if result == 0 || obtained(result) {
            (*m).set_from(called.from as u32);
            if let Some(thread) = thread::current() {
                thread.taken.note(m as usize, called);
            }
            if (*m).is_plain() && (*m).holder() == 0 {
                (*m).is_held_by(sys_tid());
            }
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
                if (*m).take_if_free() {
                    (*m).is_held_by(sys_tid());
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
            if short == fast::RECORD && (*m).holder() == (*thread).tid {
                (*thread).releases();
                return (*m).release();
            }
            if short == fast::REPLAY {
                return unlock_again(thread, m);
            }
        }
        unlock_slowly(m)
    }
}

/// Replay, the same. It counts when all is done: a handler that is due then may want the mutex, or jump away.
#[inline(never)]
unsafe fn unlock_again(thread: *mut Thread, m: *mut Mutex) -> c_int {
    // SAFETY: as for `unlock`.
    unsafe {
        (*thread).about_to_release();
        let version = Slot { words: (*m).words(), shared: false }.give();
        let waited_for = (*m).release_quietly();
        if version != 0 || waited_for {
            wake(m, waited_for, version);
        }
        (*thread).releases();
        (*thread).released();
        0
    }
}

/// The mutex is released; who waits for it, or for its version, must be woken. It may be gone.
#[cold]
#[inline(never)]
unsafe fn wake(m: *mut Mutex, waited_for: bool, version: u64) {
    // SAFETY: as for `unlock`; no memory of the mutex is touched.
    unsafe {
        if waited_for {
            (*m).wake();
        }
        Slot { words: (*m).words(), shared: false }.gave(version);
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
        } else {
            schedule::plain_point(Op::MutexUnlock, m as usize);
        }
        let gives = (*m).will_be_free(sys_tid());
        let result = if is_not_own(thread, m) {
            unlock_anothers(thread, m)
        } else {
            if gives {
                turn::tell(thread, Op::MutexUnlock, 0, m as usize, 0, 0);
            }
            turn::releasing(|| give(m, || real::pthread_mutex_unlock(m)))
        };
        if gives {
            schedule::behind();
        }
        result
    }
}

/// Whether unlocking is an event, because the thread does not have the mutex. In a replay it may have it still, until the
/// other comes that took it away.
unsafe fn is_not_own(thread: &Thread, m: *mut Mutex) -> bool {
    // SAFETY: the program's mutex.
    let is_anothers = unsafe { (*m).is_anothers(thread.tid) };
    if turn::recording() {
        return is_anothers;
    }
    thread.next_unlock().is_some_and(|code| is_anothers || code == unlock::TAKEN_AWAY)
}

/// Unlocks a mutex that the thread does not have, which glibc allows: mutexes are used so as signals. If another has it,
/// that is an event behind the lock that it undoes. One that is free stays free, as if it were locked and unlocked, so that
/// it has its place between the locks of others.
unsafe fn unlock_anothers(thread: &mut Thread, m: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex.
    unsafe {
        if turn::recording() {
            thread.releases();
            thread.begin();
            objects::alone(|| record_unlock(thread, m));
            thread.finish();
            return 0;
        }
        let Some(step) = thread.step_at(Op::MutexUnlock, m as usize) else { return real::pthread_mutex_unlock(m) };
        let slot = (*m).slot();
        slot.as_ref().map_or(&Nothing as &dyn Object, |slot| slot).wait(thread, step.order);
        if step.result == unlock::FREES {
            park::wait_until(thread, core::ptr::from_ref((*m).words()) as usize, || (*m).holder() != 0);
        } else {
            lock_in_turn(m);
            if let Some(slot) = &slot {
                slot.taken(thread);
            }
        }
        turn::tell(thread, Op::MutexUnlock, thread.count() + 1, m as usize, 0, 0);
        thread.begin();
        thread.counts();
        give(m, || real::pthread_mutex_unlock(m));
        thread.releases();
        process::set_short_cut(thread);
        thread.finish();
        thread.look_ahead();
        0
    }
}

unsafe fn record_unlock(thread: &mut Thread, m: *mut Mutex) {
    // SAFETY: the program's mutex; the words are looked at by whoever has it, or knows that another has.
    unsafe {
        let slot = (*m).slot();
        let words = (*m).words();
        if let Some(holder) = holder_unless_free(m) {
            thread.result(Op::MutexUnlock, unlock::FREES);
            let version = words.version.load(Relaxed);
            match thread::last_event_of(holder) {
                Some((number, count)) => thread.edge(number, count),
                // It is gone, and its lock was the last.
                None if slot.is_some() => thread.hand_over(version.wrapping_sub(1)),
                None => {}
            }
            if slot.is_some() {
                words.wanted.store(version as u32, Relaxed);
            }
        } else {
            let freed_by_another = slot.is_some() && words.wanted.load(Relaxed) == words.version.load(Relaxed) as u32;
            let taken_away = freed_by_another && words.owner.load(Relaxed) == thread.number;
            thread.result(Op::MutexUnlock, if taken_away { unlock::TAKEN_AWAY } else { unlock::FINDS_FREE });
            (*m).kept().took(thread);
        }
        thread.happen();
        turn::tell(thread, Op::MutexUnlock, thread.count(), m as usize, 0, 0);
        real::pthread_mutex_unlock(m);
    }
}

/// The id of the thread that has the mutex. If it is free, the calling thread has it now. Whoever has just taken it says
/// so when that is on its tape.
unsafe fn holder_unless_free(m: *mut Mutex) -> Option<u32> {
    /// A mutex that is nobody's for so long was unlocked by two at once, and its holder is lost.
    const TRIES: u32 = 500;
    // SAFETY: the program's mutex.
    unsafe {
        for _ in 0..TRIES {
            if real::pthread_mutex_trylock(m) == 0 {
                return None;
            }
            match (*m).holder() {
                0 => sys::sleep_ns(20_000),
                tid => return Some(tid),
            }
        }
    }
    Some(0)
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
