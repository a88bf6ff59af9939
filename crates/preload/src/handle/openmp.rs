//! OpenMP: critical sections and locks are objects without room, known by their address. What is shared out is shared out to one
//! at a time, under a mutex that is recorded like any other.

use crate::glibc::Mutex;
use crate::handle::mutex;
use crate::table::openmp::real;
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicUsize;
use libc::{c_int, c_void};
use retake_engine::objects::Meeting;
use retake_engine::schedule;
use retake_engine::serial;
use retake_engine::taken::Called;
use retake_engine::turn::{self, Turn};
use retake_tape::op::Op;

/// Stand for the objects that have no address of their own.
static CRITICAL: u8 = 0;
static ATOMIC: u8 = 0;

/// What is shared out, whatever it is.
static WORK: Work = Work(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

struct Work(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex.
unsafe impl Sync for Work {}

/// Asks for work by `call`, which does not wait. Who asks first gets it, in a replay, too.
pub fn shares<R>(call: impl FnOnce() -> R) -> R {
    if turn::enter().is_none() {
        return call();
    }
    let work = WORK.0.get().cast::<Mutex>();
    // SAFETY: a mutex of ours, which nobody destroys.
    unsafe {
        mutex::lock(work, Called { from: 0, frame: 0 });
        let result = call();
        mutex::unlock(work);
        result
    }
}

/// Waits until it is the calling thread's turn in a loop that is run in order: asking for the next part would wait for that.
pub fn wait_in_order() {
    static AT: AtomicUsize = AtomicUsize::new(0);
    let at = crate::real::find(&AT, "GOMP_ordered_start\0");
    let _away = serial::away(|| true);
    // SAFETY: the dynamic linker found the library's function, which waits for just that.
    unsafe { core::mem::transmute::<usize, unsafe extern "C" fn()>(at)() };
}

fn enter(op: Op, address: usize, call: impl Fn()) {
    let object = Meeting(address);
    let take = || {
        call();
        0
    };
    Turn::new(op, address, &object).acquire(take, take);
}

fn leave(op: Op, address: usize) {
    if let Some(thread) = turn::enter() {
        schedule::before(op, address);
        turn::tell(thread, op, 0, address, 0, 0);
    }
}

pub unsafe fn critical_start() {
    // SAFETY: the program's section; so for the others.
    enter(Op::OmpCritical, &raw const CRITICAL as usize, || unsafe { real::GOMP_critical_start() });
}

pub unsafe fn critical_end() {
    leave(Op::OmpCriticalEnd, &raw const CRITICAL as usize);
    // SAFETY: as above.
    unsafe { real::GOMP_critical_end() }
}

pub unsafe fn critical_name_start(name: *mut *mut c_void) {
    // SAFETY: as above.
    enter(Op::OmpCritical, name as usize, || unsafe { real::GOMP_critical_name_start(name) });
}

pub unsafe fn critical_name_end(name: *mut *mut c_void) {
    leave(Op::OmpCriticalEnd, name as usize);
    // SAFETY: as above.
    unsafe { real::GOMP_critical_name_end(name) }
}

pub unsafe fn atomic_start() {
    // SAFETY: as above.
    enter(Op::OmpCritical, &raw const ATOMIC as usize, || unsafe { real::GOMP_atomic_start() });
}

pub unsafe fn atomic_end() {
    leave(Op::OmpCriticalEnd, &raw const ATOMIC as usize);
    // SAFETY: as above.
    unsafe { real::GOMP_atomic_end() }
}

pub unsafe fn set_lock(l: *mut c_void) {
    // SAFETY: as above.
    enter(Op::OmpLock, l as usize, || unsafe { real::omp_set_lock(l) });
}

pub unsafe fn unset_lock(l: *mut c_void) {
    leave(Op::OmpUnlock, l as usize);
    // SAFETY: as above.
    unsafe { real::omp_unset_lock(l) }
}

pub unsafe fn set_nest_lock(l: *mut c_void) {
    // SAFETY: as above.
    enter(Op::OmpLock, l as usize, || unsafe { real::omp_set_nest_lock(l) });
}

pub unsafe fn unset_nest_lock(l: *mut c_void) {
    leave(Op::OmpUnlock, l as usize);
    // SAFETY: as above.
    unsafe { real::omp_unset_nest_lock(l) }
}

/// OpenMP says 0 when it finds nothing, and otherwise how often the lock is held.
fn test(l: *mut c_void, call: impl Fn() -> c_int, again: impl FnOnce() -> c_int) -> c_int {
    let object = Meeting(l as usize);
    let held = core::cell::Cell::new(0);
    let keep = |found: c_int| {
        held.set(found);
        c_int::from(found == 0)
    };
    let mut turn = Turn::polling(Op::OmpTry, l as usize, &object);
    let attempt = || Some(keep(call())).filter(|result| *result == 0);
    turn.attempt = Some(&attempt);
    turn.acquire(|| keep(call()), || keep(again()));
    held.get()
}

pub unsafe fn test_lock(l: *mut c_void) -> c_int {
    // SAFETY: as above.
    let again = || unsafe {
        real::omp_set_lock(l);
        1
    };
    // SAFETY: as above.
    test(l, || unsafe { real::omp_test_lock(l) }, again)
}

/// A nestable lock tells its depth only when it is tested: taken once in its turn, the test can only succeed.
pub unsafe fn test_nest_lock(l: *mut c_void) -> c_int {
    // SAFETY: as above.
    let again = || unsafe {
        real::omp_set_nest_lock(l);
        let depth = real::omp_test_nest_lock(l);
        real::omp_unset_nest_lock(l);
        depth - 1
    };
    // SAFETY: as above.
    test(l, || unsafe { real::omp_test_nest_lock(l) }, again)
}

pub unsafe fn init_lock(l: *mut c_void) {
    if turn::recording() {
        Meeting(l as usize).forget();
    }
    // SAFETY: as above.
    unsafe { real::omp_init_lock(l) }
}

pub unsafe fn init_nest_lock(l: *mut c_void) {
    if turn::recording() {
        Meeting(l as usize).forget();
    }
    // SAFETY: as above.
    unsafe { real::omp_init_nest_lock(l) }
}
