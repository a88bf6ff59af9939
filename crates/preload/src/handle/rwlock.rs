//! Read-write locks: many readers or one writer (CREW).

use crate::glibc::RwLock;
use crate::handle::mutex::sys_tid;
use crate::handle::needs;
use crate::handle::time;
use crate::table::rwlock::real;
use libc::{EBUSY, ETIMEDOUT, c_int, clockid_t, timespec};
use retake_engine::deadlock::{self, want};
use retake_engine::objects::{Readers, Writer};
use retake_engine::schedule;
use retake_engine::taken::Called;
use retake_engine::turn::{self, Turn};
use retake_tape::op::Op;

unsafe fn read(op: Op, l: *mut RwLock, called: Called, until_ns: u64, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program's lock.
    unsafe {
        let object = Readers((*l).crew());
        let mut turn = Turn::new(op, l as usize, &object);
        turn.polls = op == Op::RwTryRead;
        turn.late = if op == Op::RwTimedRead { ETIMEDOUT } else { 0 };
        turn.until_ns = until_ns;
        let attempt = || Some(real::pthread_rwlock_tryrdlock(l)).filter(|result| *result != EBUSY);
        turn.attempt = Some(&attempt);
        obtained(turn.acquire(call, || real::pthread_rwlock_rdlock(l)), l, called)
    }
}

/// The calling thread has the lock, if that is the result.
fn obtained(result: c_int, l: *mut RwLock, called: Called) -> c_int {
    // What is taken inside of a library is given up there, too, and is not noted then.
    if result == 0
        && let Some(thread) = turn::enter()
    {
        thread.holds.add(l as usize, called.from as u32);
        thread.taken.note(l as usize, called);
    }
    result
}

unsafe fn write(op: Op, l: *mut RwLock, called: Called, until_ns: u64, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program's lock.
    unsafe {
        let object = Writer((*l).crew());
        let mut turn = Turn::new(op, l as usize, &object);
        turn.polls = op == Op::RwTryWrite;
        turn.late = if op == Op::RwTimedWrite { ETIMEDOUT } else { 0 };
        turn.until_ns = until_ns;
        let attempt = || Some(real::pthread_rwlock_trywrlock(l)).filter(|result| *result != EBUSY);
        turn.attempt = Some(&attempt);
        obtained(turn.acquire(call, || real::pthread_rwlock_wrlock(l)), l, called)
    }
}

pub unsafe fn rdlock(l: *mut RwLock, called: Called) -> c_int {
    // SAFETY: the program's lock; so for the others.
    unsafe {
        read(Op::RwRead, l, called, 0, || match real::pthread_rwlock_tryrdlock(l) {
            EBUSY => deadlock::blocking(Op::RwRead, want::READ, l as usize, || real::pthread_rwlock_rdlock(l)),
            result => result,
        })
    }
}

pub unsafe fn tryrdlock(l: *mut RwLock, called: Called) -> c_int {
    // SAFETY: as above.
    unsafe { read(Op::RwTryRead, l, called, 0, || real::pthread_rwlock_tryrdlock(l)) }
}

pub unsafe fn timedrdlock(l: *mut RwLock, until: *const timespec, called: Called) -> c_int {
    // SAFETY: as above.
    unsafe { read(Op::RwTimedRead, l, called, time::when(until), || real::pthread_rwlock_timedrdlock(l, until)) }
}

pub unsafe fn clockrdlock(l: *mut RwLock, id: clockid_t, until: *const timespec, called: Called) -> c_int {
    // SAFETY: as above.
    unsafe { read(Op::RwTimedRead, l, called, time::when(until), || real::pthread_rwlock_clockrdlock(l, id, until)) }
}

pub unsafe fn wrlock(l: *mut RwLock, called: Called) -> c_int {
    // SAFETY: as above.
    unsafe {
        write(Op::RwWrite, l, called, 0, || match real::pthread_rwlock_trywrlock(l) {
            EBUSY => deadlock::blocking(Op::RwWrite, want::WRITE, l as usize, || real::pthread_rwlock_wrlock(l)),
            result => result,
        })
    }
}

pub unsafe fn trywrlock(l: *mut RwLock, called: Called) -> c_int {
    // SAFETY: as above.
    unsafe { write(Op::RwTryWrite, l, called, 0, || real::pthread_rwlock_trywrlock(l)) }
}

pub unsafe fn timedwrlock(l: *mut RwLock, until: *const timespec, called: Called) -> c_int {
    // SAFETY: as above.
    unsafe { write(Op::RwTimedWrite, l, called, time::when(until), || real::pthread_rwlock_timedwrlock(l, until)) }
}

pub unsafe fn clockwrlock(l: *mut RwLock, id: clockid_t, until: *const timespec, called: Called) -> c_int {
    // SAFETY: as above.
    unsafe { write(Op::RwTimedWrite, l, called, time::when(until), || real::pthread_rwlock_clockwrlock(l, id, until)) }
}

pub unsafe fn unlock(l: *mut RwLock) -> c_int {
    // SAFETY: as above.
    unsafe {
        if let Some(thread) = turn::enter() {
            schedule::before(Op::RwUnlock, l as usize);
            turn::tell(thread, Op::RwUnlock, 0, l as usize, 0, 0);
            needs::gives(thread, l as usize);
            if !turn::recording() && (*l).is_written_by(sys_tid()) {
                (*l).crew().give();
            }
        }
        let result = turn::releasing(|| real::pthread_rwlock_unlock(l));
        schedule::behind();
        result
    }
}
