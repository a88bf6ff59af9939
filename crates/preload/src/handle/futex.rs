//! Futexes: what Rust's `std::sync`, C++'s `atomic::wait` and programs' own locks sleep by.
//!
//! Who gets such a lock is decided one instruction before the call, in the program. So a call is an event only where threads run in
//! turn: then that instruction, too, is in the order. Everywhere else it only tells who waits, so that a deadlock is found.

use crate::errno;
use crate::handle::outward::{answer_long, returned};
use core::sync::atomic::AtomicI64;
use core::sync::atomic::Ordering::SeqCst;
use libc::{c_int, c_long};
use retake_engine::deadlock::{self, Wanted, want};
use retake_engine::{end, schedule, serial, turn};
use retake_tape::op::Op;

/// How the kernel is asked, without what says whose futex it is and which clock.
const COMMAND: c_int = 0x7f;

/// Threads that have been woken and have not come back yet; less than none while one who woke has not counted them yet.
static WOKEN: AtomicI64 = AtomicI64::new(0);
/// Threads that are waking others.
static WAKING: AtomicI64 = AtomicI64::new(0);
/// Many more than there are: somebody wakes who is not seen, and nobody is called dead any more.
const STRAY: i64 = 1 << 40;

/// A call on the futex at `word`; `value` and `time` as the kernel is given them.
pub fn call(word: usize, how: c_int, value: u32, time: usize, call: impl Fn() -> c_long) -> c_long {
    match how & COMMAND {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            // Nobody but this process ends it.
            let is_own = how & libc::FUTEX_PRIVATE_FLAG != 0 && time == 0;
            let wait = || if is_own { wait(word, value, &call) } else { came_back(call()) };
            let op = if is_own { Op::Futex } else { Op::FutexTimed };
            if !serial::is_on() {
                return wait();
            }
            let _away = serial::away(|| true);
            // In a replay the word is as it was, but nobody sleeps.
            returned(turn::outcome_at(op, word, false, || answer_long(wait() as isize), |_| {}))
        }
        libc::FUTEX_WAKE
        | libc::FUTEX_WAKE_BITSET
        | libc::FUTEX_WAKE_OP
        | libc::FUTEX_REQUEUE
        | libc::FUTEX_CMP_REQUEUE => {
            // Those that are moved to another futex are not told apart from those that are woken.
            let many = if matches!(how & COMMAND, libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET) { 1 } else { STRAY };
            let wake = || {
                WAKING.fetch_add(1, SeqCst);
                let woken = call();
                WOKEN.fetch_add(woken.max(0).saturating_mul(many), SeqCst);
                WAKING.fetch_sub(1, SeqCst);
                woken
            };
            if !serial::is_on() {
                return wake();
            }
            schedule::before(Op::FutexWake, word);
            let woken = turn::outcome_at(Op::FutexWake, word, false, || answer_long(wake() as isize), |_| _ = call());
            schedule::behind();
            returned(woken)
        }
        // Those with priorities, which the kernel itself writes.
        _ => {
            let _away = serial::away(|| true);
            call()
        }
    }
}

/// Waits for as long as it takes.
fn wait(word: usize, value: u32, call: impl Fn() -> c_long) -> c_long {
    // Whoever follows a schedule waits outside of it here.
    let Some(thread) = turn::enter().filter(|_| !schedule::is_on()) else { return came_back(call()) };
    if !turn::recording() && thread.is_at_end() && !end::by_itself() && !end::goes_on(thread) {
        // Perhaps it waited for ever. The program tries again whatever a wait returns.
        // SAFETY: the program waits at the word.
        end::waits(thread, Op::Futex, word, || unsafe { is_changed(word, mark(value)) });
        errno::set(libc::EAGAIN);
        return -1;
    }
    let wanted = Wanted { kind: want::FUTEX, object: word, mark: mark(value) };
    came_back(deadlock::blocking_for(thread, Op::Futex, wanted, call))
}

/// A wait has returned that: woken by one who was seen, or by one who was not.
fn came_back(result: c_long) -> c_long {
    let is_missing = || WOKEN.load(SeqCst) < 0;
    if result == 0 {
        WOKEN.fetch_sub(1, SeqCst);
        if is_missing() && WAKING.load(SeqCst) == 0 && is_missing() {
            WOKEN.fetch_add(STRAY, SeqCst);
        }
    }
    result
}

/// What is known of one who waits there as long as the word is `value`.
pub fn mark(value: u32) -> u64 {
    u64::from(value)
}

/// Whether whoever waits at the word with that mark goes on, or may.
///
/// # Safety
/// The word must be there.
pub unsafe fn can_come(word: usize, mark: u64) -> bool {
    // SAFETY: the caller's.
    unsafe { is_changed(word, mark) || is_woken() }
}

unsafe fn is_changed(word: usize, mark: u64) -> bool {
    // SAFETY: the caller's; others change it.
    u64::from(unsafe { (word as *const u32).read_volatile() }) != mark
}

fn is_woken() -> bool {
    WAKING.load(SeqCst) != 0 || WOKEN.load(SeqCst) != 0
}
