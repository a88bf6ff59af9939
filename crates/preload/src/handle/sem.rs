//! Semaphores: both posting and waiting have their place in the order. A post is put in order before its real call, a
//! wait after it, so that in the order noted no wait ever comes before the post that it needs.

use crate::errno;
use crate::glibc::Sem;
use crate::handle::time;
use crate::table::sem::real;
use core::cell::Cell;
use libc::{c_int, c_uint, clockid_t, timespec};
use retake_engine::deadlock::{self, want};
use retake_engine::park;
use retake_engine::schedule;
use retake_engine::thread;
use retake_engine::turn::{self, Turn};
use retake_tape::op::Op;

/// The result of a call that says -1 and leaves the reason in `errno`, as one number.
fn reason(result: c_int) -> c_int {
    if result == 0 { 0 } else { errno::get() }
}

/// The reverse.
fn result(reason: c_int) -> c_int {
    if reason == 0 {
        0
    } else {
        errno::set(reason);
        -1
    }
}

/// Replay: it is this thread's turn, so the post that it needs has been made, or is just about to be. If not, the replay goes
/// another way than the recording, and whoever watches it must see that this thread waits.
unsafe fn take_in_turn(s: *mut Sem) -> c_int {
    const SPINS: u32 = 200;
    // SAFETY: the program's semaphore.
    let takes = || unsafe { real::sem_trywait(s) == 0 || errno::get() != libc::EAGAIN };
    for _ in 0..SPINS {
        if takes() {
            return 0;
        }
        core::hint::spin_loop();
    }
    if let Some(thread) = thread::current() {
        let has_taken = Cell::new(false);
        park::wait_until(thread, s as usize, || {
            has_taken.set(has_taken.get() || takes());
            has_taken.get()
        });
    }
    0
}

unsafe fn take(op: Op, s: *mut Sem, until_ns: u64, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program's semaphore.
    let object = unsafe { (*s).touch() };
    let mut turn = Turn::new(op, s as usize, &object);
    turn.polls = op == Op::SemTry;
    turn.cancels = true;
    turn.until_ns = until_ns;
    turn.late = if op == Op::SemTimed { libc::ETIMEDOUT } else { 0 };
    // SAFETY: the program's semaphore.
    let attempt = || Some(reason(unsafe { real::sem_trywait(s) })).filter(|result| *result != libc::EAGAIN);
    turn.attempt = Some(&attempt);
    let mut before = errno::get();
    // SAFETY: the program's semaphore.
    let again = || unsafe { take_in_turn(s) };
    let got = turn.acquire(|| reason(call()), again);
    if got != 0 {
        before = got;
    } else {
        // SAFETY: as above.
        unsafe { (*s).took() };
    }
    errno::set(before);
    if got == 0 { 0 } else { -1 }
}

pub unsafe fn wait(s: *mut Sem) -> c_int {
    // SAFETY: the program's semaphore; so for the others.
    unsafe {
        take(Op::SemWait, s, 0, || deadlock::blocking(Op::SemWait, want::SEMAPHORE, s as usize, || real::sem_wait(s)))
    }
}

pub unsafe fn trywait(s: *mut Sem) -> c_int {
    // SAFETY: as above.
    unsafe { take(Op::SemTry, s, 0, || real::sem_trywait(s)) }
}

pub unsafe fn timedwait(s: *mut Sem, until: *const timespec) -> c_int {
    // SAFETY: as above.
    unsafe { take(Op::SemTimed, s, time::when(until), || real::sem_timedwait(s, until)) }
}

pub unsafe fn clockwait(s: *mut Sem, id: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: as above.
    unsafe { take(Op::SemTimed, s, time::when(until), || real::sem_clockwait(s, id, until)) }
}

pub unsafe fn post(s: *mut Sem) -> c_int {
    // SAFETY: as above.
    let object = unsafe { (*s).touch() };
    unsafe { (*s).gives() };
    let turn = Turn::new(Op::SemPost, s as usize, &object);
    // SAFETY: as above.
    result(turn.release(|| reason(unsafe { real::sem_post(s) })))
}

/// The value is noted above a bit of its own, so that 0 is worth an entry too.
pub unsafe fn getvalue(s: *mut Sem, to: *mut c_int) -> c_int {
    // SAFETY: as above.
    let read = || unsafe {
        real::sem_getvalue(s, to);
        schedule::said().map_or(i64::from(*to), i64::from) + (1 << 32)
    };
    schedule::before(Op::SemValue, s as usize);
    let value = turn::outcome_at(Op::SemValue, s as usize, true, read, |_| {});
    // SAFETY: the program's variable.
    unsafe { *to = (value - (1 << 32)) as c_int };
    0
}

pub unsafe fn init(s: *mut Sem, shared: c_int, value: c_uint) -> c_int {
    // SAFETY: as above.
    unsafe {
        let result = real::sem_init(s, shared, value);
        if result == 0 {
            (*s).clear(value);
        }
        result
    }
}
