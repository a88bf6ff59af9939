//! Spinlocks, barriers, once.

use crate::glibc::{Barrier, guard_is_under_way, once_is_done, once_is_under_way, spin_is_free};
use crate::handle::modules::is_unwinders;
use crate::handle::needs;
use crate::table::sync::{Routine, real};
use libc::{c_int, pthread_barrier_t, pthread_spinlock_t};
use retake_engine::baton;
use retake_engine::deadlock::{self, Wanted, want};
use retake_engine::end;
use retake_engine::lend;
use retake_engine::objects::{Meeting, Nothing, Object};
use retake_engine::process;
use retake_engine::schedule;
use retake_engine::serial;
use retake_engine::settled;
use retake_engine::stand_in;
use retake_engine::sys;
use retake_engine::taken::Called;
use retake_engine::thread::{self, Thread, waiting};
use retake_engine::turn::{self, Turn};
use retake_engine::watch;
use retake_tape::op::Op;
use retake_tape::rich;

pub unsafe fn spin_lock(l: *mut pthread_spinlock_t, called: Called) -> c_int {
    let object = Meeting(l as usize);
    let mut turn = Turn::new(Op::SpinLock, l as usize, &object);
    // SAFETY: the program's lock.
    let attempt = || Some(unsafe { real::pthread_spin_trylock(l) }).filter(|result| *result == 0);
    turn.attempt = Some(&attempt);
    // SAFETY: as above.
    let call = || unsafe {
        if spins_soon(|| spin_is_free(l.cast_const()) && real::pthread_spin_trylock(l) == 0) {
            return 0;
        }
        deadlock::blocking(Op::SpinLock, want::SPIN, l as usize, || real::pthread_spin_lock(l))
    };
    // SAFETY: as above.
    spun(turn.acquire(call, || unsafe { real::pthread_spin_lock(l) }), l, called)
}

/// Whether it is obtained in the time in which short sections end.
fn spins_soon(attempt: impl Fn() -> bool) -> bool {
    const SOON: u32 = 100_000;
    (0..SOON).any(|_| {
        core::hint::spin_loop();
        attempt()
    })
}

/// The calling thread has the lock, if that is the result.
fn spun(result: c_int, l: *mut pthread_spinlock_t, called: Called) -> c_int {
    // What is taken inside of a library is given up there, too, and is not noted then.
    if result == 0
        && let Some(thread) = turn::enter()
    {
        thread.holds.add(l as usize, called.from as u32);
        thread.taken.note(l as usize, called);
    }
    result
}

pub unsafe fn spin_trylock(l: *mut pthread_spinlock_t, called: Called) -> c_int {
    let object = Meeting(l as usize);
    let mut turn = Turn::polling(Op::SpinTry, l as usize, &object);
    // SAFETY: the program's lock.
    let attempt = || Some(unsafe { real::pthread_spin_trylock(l) }).filter(|result| *result == 0);
    turn.attempt = Some(&attempt);
    // SAFETY: as above.
    let result = unsafe { turn.acquire(|| real::pthread_spin_trylock(l), || real::pthread_spin_lock(l)) };
    spun(result, l, called)
}

pub unsafe fn spin_unlock(l: *mut pthread_spinlock_t) -> c_int {
    if let Some(thread) = turn::enter() {
        schedule::before(Op::SpinUnlock, l as usize);
        turn::tell(thread, Op::SpinUnlock, 0, l as usize, 0, 0);
        needs::gives(thread, l as usize);
    }
    // SAFETY: the program's lock.
    let result = turn::releasing(|| unsafe { real::pthread_spin_unlock(l) });
    schedule::behind();
    result
}

pub unsafe fn spin_init(l: *mut pthread_spinlock_t, shared: c_int) -> c_int {
    if turn::enter().is_some() {
        Meeting(l as usize).begin(shared == libc::PTHREAD_PROCESS_SHARED);
    }
    // SAFETY: the program's lock.
    unsafe { real::pthread_spin_init(l, shared) }
}

/// Everyone passes together; which of them is told so is the only thing that could differ.
pub unsafe fn barrier_wait(b: *mut pthread_barrier_t) -> c_int {
    // SAFETY: the program's barrier.
    let arrive = || i64::from(unsafe { real::pthread_barrier_wait(b) });
    let told_arriving = || {
        if let Some(thread) = turn::enter() {
            turn::tell(thread, Op::Barrier, 0, b as usize, 0, rich::WAITS);
        }
    };
    if baton::is_passed() {
        // Arriving and leaving are points: who passes the baton on there needs no barrier.
        baton::again(Op::Barrier, b as usize);
        told_arriving();
        baton::again(Op::Barrier, b as usize);
        return turn::outcome_at(Op::Barrier, b as usize, false, arrive, |_| {}) as c_int;
    }
    let _away = serial::away(|| true);
    if let Some(thread) = turn::enter().filter(|thread| !turn::recording() && thread.is_at_end() && end::by_itself()) {
        // Another passed, and ended the process before this one could note that it had, too: it needs this one to come.
        thread.waits_for(waiting::OUTSIDE, 0, 0);
        arrive();
        thread.waits_for(waiting::NOT, 0, 0);
    }
    // A handler that ran inside may have needed others that could only go on because this one had come.
    let came = turn::enter().and_then(|thread| {
        let splits = !turn::recording() && (settled::is_on() || thread.is_handled_inside());
        // SAFETY: the program's barrier.
        if splits { unsafe { &*b.cast::<Barrier>() }.arrive() } else { None }
    });
    let result = turn::outcome_at(
        Op::Barrier,
        b as usize,
        false,
        || {
            // SAFETY: the program's barrier.
            let count = unsafe { (*b.cast::<Barrier>()).count() };
            match stand_in::barrier(b as usize, count) {
                Some(last) => i64::from(if last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }),
                None => deadlock::blocking(Op::Barrier, want::BARRIER, b as usize, arrive),
            }
        },
        |_| {
            // Arriving is told, too: it is half of what happens here.
            told_arriving();
            match came {
                Some(arrival) => {
                    // SAFETY: the program's barrier.
                    let barrier = unsafe { &*b.cast::<Barrier>() };
                    settled::wait_if_on(|| barrier.round() >= u64::from(arrival));
                    barrier.pass(arrival);
                }
                None => _ = arrive(),
            }
        },
    );
    result as c_int
}

/// The routine ran in this call.
const RAN: i64 = 1;

/// Who runs the routine is an event, put in order when the routine starts: it may have events of its own, and if it is
/// cancelled or throws, another thread runs it again. All others find it done, or wait until it is.
pub unsafe fn once(control: *mut c_int, routine: Routine) -> c_int {
    // SAFETY: the program's control word.
    let call = |routine| unsafe { real::pthread_once(control, routine) };
    if is_unwinders(control as usize) {
        return call(routine);
    }
    let (Some(thread), Some(wanted)) = (turn::enter(), routine) else { return call(routine) };
    schedule::before(Op::Once, control as usize);
    // SAFETY: the program's control word. If its routine is under way in another thread, this one has to wait.
    let _ = schedule::obtain(Op::Once, control as usize, || unsafe { !once_is_under_way(control) }.then_some(()));
    if !turn::recording() {
        drop(serial::away(|| true));
        let Some(step) = thread.step_at(Op::Once, control as usize) else { return call(routine) };
        Nothing.wait(thread, step.order);
        if step.result != RAN {
            // SAFETY: the program's control word.
            wait_outside(thread, || unsafe { once_is_done(control) });
            thread.happened();
            turn::tell(thread, Op::Once, thread.count(), control as usize, 0, 0);
            return 0;
        }
    }
    if turn::recording() {
        // SAFETY: the program's control word.
        wait_for_runner(thread, control as usize, || unsafe { once_is_under_way(control) });
    }
    let outer = (thread.once, thread.once_control, thread.once_ran);
    (thread.once, thread.once_control, thread.once_ran) = (wanted as usize, control as usize, false);
    let guard = PutBack(outer);
    let result = call(Some(noted_routine));
    let ran = thread.once_ran;
    drop(guard);
    if !ran && turn::recording() {
        Turn::new(Op::Once, control as usize, &Nothing).record(thread, 0);
    }
    result
}

/// Waits as long as a thread that is known runs what is run once. The real call would wait, too, but may also come to run
/// it itself, and then does not wait any more.
fn wait_for_runner(thread: &mut Thread, object: usize, is_under_way: impl Fn() -> bool) {
    let goes_on = || is_under_way() && needs::holder_of(object).is_some();
    let _away = serial::away(goes_on);
    if !schedule::is_on() && goes_on() {
        deadlock::blocking_for(thread, Op::Once, Wanted { kind: want::ONCE, object, mark: 0 }, || {
            let mut ns = 20_000;
            while goes_on() {
                sys::sleep_ns(ns);
                ns = (ns * 2).min(1_000_000);
            }
        });
    }
}

/// Waits for something that another thread does in libc. That may never come: then nobody else may be there to say so.
fn wait_outside(thread: &mut Thread, done: impl Fn() -> bool) {
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    thread.waits_for(waiting::OUTSIDE, 0, 0);
    settled::wait_if_on(&done);
    let mut step = 20_000;
    while !done() {
        sys::sleep_ns(step);
        watch::look(thread, started);
        step = (step * 5 / 4).min(2_000_000);
    }
    thread.waits_for(waiting::NOT, 0, 0);
}

/// Puts back what an outer `pthread_once` of this thread needs, even when the routine unwinds.
struct PutBack((usize, usize, bool));

impl Drop for PutBack {
    fn drop(&mut self) {
        if let Some(thread) = thread::current() {
            if thread.once_ran {
                note_end(thread.once_control);
            }
            (thread.once, thread.once_control, thread.once_ran) = self.0;
        }
    }
}

unsafe extern "C-unwind" fn noted_routine() {
    let Some(thread) = thread::current() else { return };
    thread.once_ran = true;
    let routine = thread.once;
    note_run(thread, thread.once_control, RAN);
    // SAFETY: `once` put the program's routine there.
    let routine: unsafe extern "C-unwind" fn() = unsafe { core::mem::transmute(routine) };
    // SAFETY: the program's routine.
    unsafe { routine() }
}

/// This thread runs what is to be run once: after whoever tried before it.
fn note_run(thread: &mut Thread, object: usize, result: i64) {
    let kind = if result == RAN { needs::CONTROL } else { needs::GUARD };
    thread.holds.add(object, kind);
    if turn::recording() {
        thread.begin();
        Meeting(object).took(thread);
        thread.result(Op::Once, result);
        thread.happen();
        thread.finish();
    } else {
        thread.happened();
    }
    turn::tell(thread, Op::Once, thread.count(), object, 0, RAN);
}

/// What this thread ran once has come to its end, or was given up.
fn note_end(object: usize) {
    if let Some(thread) = turn::enter() {
        turn::tell(thread, Op::OnceEnd, 0, object, 0, 0);
    }
    if let Some(thread) = thread::current() {
        thread.holds.remove(object);
    }
}

/// C++'s function-local variables: who makes one is an event. To find it made is none, because the compiled code looks
/// for itself before it calls.
pub unsafe fn guard_acquire(guard: *mut u8) -> c_int {
    // SAFETY: the program's guard.
    let call = || unsafe { real::__cxa_guard_acquire(guard) };
    let Some(thread) = turn::enter() else { return call() };
    // Its making may come to itself again. With one thread that throws; with several it waits for ever.
    // SAFETY: the program's guard.
    let is_itself = || thread.holds.has(guard as usize) && unsafe { guard_is_under_way(guard) };
    if !process::get().threaded && is_itself() {
        return call();
    }
    // SAFETY: the program's guard: its first byte says whether the variable is made.
    let is_made = || unsafe { core::ptr::read_volatile(guard) } != 0;
    if turn::recording() {
        // SAFETY: the program's guard: its second byte says whether the variable is being made.
        let is_under_way = || unsafe { core::ptr::read_volatile(guard.add(1)) } != 0;
        // Whoever finds it made has no point here, and may come before it is.
        let may_go = || is_made() || !is_under_way() && schedule::runs_next() != Some(false);
        if !schedule::explores() && schedule::is_rich() {
            lend::until(Op::Once, guard as usize, || may_go() || is_under_way());
            if !may_go() {
                let wanted = Wanted { kind: want::ONCE, object: guard as usize, mark: 0 };
                deadlock::blocking_for(thread, Op::Once, wanted, || lend::until(Op::Once, guard as usize, may_go));
            }
        }
        if !is_made() && (schedule::explores() || !is_under_way()) {
            schedule::before(Op::Once, guard as usize);
        }
        let _ = schedule::obtain(Op::Once, guard as usize, || (!is_under_way()).then_some(()));
        // SAFETY: the program's guard.
        wait_for_runner(thread, guard as usize, || unsafe { guard_is_under_way(guard) });
        let result = call();
        if result != 0 {
            note_run(thread, guard as usize, guard as i64);
        }
        return result;
    }
    drop(serial::away(|| true));
    if !is_made() {
        baton::again(Op::Once, guard as usize);
    }
    if thread.is_at_end() && !is_made() {
        // Another makes it, or nobody did before the end.
        if end::goes_on(thread) {
            return call();
        }
        // Where threads run one at a time, whoever makes it must have its turn first.
        if !settled::is_on() || !settled::wait_softly(thread, is_made) {
            end::waits(thread, Op::Once, guard as usize, is_made);
        }
        return 0;
    }
    if !thread.makes(guard as i64) {
        wait_outside(thread, is_made);
        return 0;
    }
    let Some(step) = thread.step(Op::Once) else { return call() };
    Nothing.wait(thread, step.order);
    let result = call();
    note_run(thread, guard as usize, guard as i64);
    result
}

/// The variable is made, or could not be.
pub unsafe fn guard_release(guard: *mut u8) {
    note_end(guard as usize);
    // SAFETY: the program's guard.
    unsafe { real::__cxa_guard_release(guard) }
}

pub unsafe fn guard_abort(guard: *mut u8) {
    note_end(guard as usize);
    // SAFETY: the program's guard.
    unsafe { real::__cxa_guard_abort(guard) }
}
