//! Clocks and sleeps.
//!
//! A clock's value is on the tape, but reading one is no event: a loop that waits for a flag or a time may go round more
//! or less often in a replay, and must not lose its place. Values beyond the tape go on from the last one. A sleep is
//! an event only if a signal ended it.

use crate::errno;
use crate::table::thread::real as real_thread;
use crate::table::time::real;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Acquire;
use libc::{EINTR, c_int, c_uint, c_void, clock_t, clockid_t, time_t, timespec, timeval, tms};
use retake_engine::baton;
use retake_engine::clock;
use retake_engine::end;
use retake_engine::halt;
use retake_engine::lend;
use retake_engine::process;
use retake_engine::schedule;
use retake_engine::serial;
use retake_engine::settled;
use retake_engine::sys;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, CANCELLED};
use retake_tape::op::Op;
use retake_tape::session::flag;

const SECOND: i64 = 1_000_000_000;
/// Numbers of clocks that are no `clockid_t`; those of dynamic clocks are all one.
pub const OTHER: u8 = 10;
/// Numbers of clocks that are one.
const REALTIME: u8 = libc::CLOCK_REALTIME as u8;
const REALTIME_COARSE: u8 = libc::CLOCK_REALTIME_COARSE as u8;
const MONOTONIC: u8 = libc::CLOCK_MONOTONIC as u8;
const MONOTONIC_RAW: u8 = libc::CLOCK_MONOTONIC_RAW as u8;
const MONOTONIC_COARSE: u8 = libc::CLOCK_MONOTONIC_COARSE as u8;
const BOOTTIME: u8 = libc::CLOCK_BOOTTIME as u8;
const DAY: u8 = 12;
const TIME: u8 = 13;
const CPU: u8 = 14;
const TIMES: u8 = 15;

/// The value of clock `id`: from `read` while recording, from the tape in a replay.
pub fn value(id: u8, step: i64, read: impl FnOnce() -> i64) -> i64 {
    halt::point();
    serial::point();
    let Some(thread) = turn::enter() else { return read() };
    if turn::recording() {
        let ns = virtually(id, read);
        thread.begin();
        thread.clock(id, ns);
        thread.finish();
        return ns;
    }
    let last = thread.clocks[id as usize];
    let ns = match thread.recorded_clock(id) {
        Some(ns) => ns,
        None if last != 0 => last + step,
        None => read(),
    };
    thread.clocks[id as usize] = ns;
    ns
}

/// The value of a clock. One that shows wall-clock time, or time since some start, is virtual while a schedule is followed.
fn virtually(id: u8, read: impl FnOnce() -> i64) -> i64 {
    match id {
        MONOTONIC | MONOTONIC_RAW | MONOTONIC_COARSE | BOOTTIME if !schedule::is_on() => clock::monotonic_after(read()),
        _ if !schedule::is_on() => read(),
        TIME => clock::realtime_ns() / SECOND,
        DAY | REALTIME | REALTIME_COARSE | 11 => clock::realtime_ns(),
        MONOTONIC | MONOTONIC_RAW | MONOTONIC_COARSE | BOOTTIME => clock::monotonic_ns(),
        _ => read(),
    }
}

/// The virtual time at which a wait until then is over.
pub fn when(until: *const timespec) -> u64 {
    // SAFETY: the program's variable.
    match unsafe { until.as_ref() } {
        Some(until) if schedule::is_on() => clock::when(to_ns(until)),
        _ => 0,
    }
}

/// The virtual time at which a sleep is over: of that `length`, or until then if it is a time that a clock shows.
fn sleeps_until(length: *const timespec, is_absolute: bool) -> u64 {
    // SAFETY: the program's variable.
    match unsafe { length.as_ref() } {
        Some(_) if is_absolute => when(length),
        Some(length) if schedule::is_on() => clock::after_ns(to_ns(length).max(0) as u64),
        _ => 0,
    }
}

fn to_ns(time: &timespec) -> i64 {
    time.tv_sec.wrapping_mul(SECOND).wrapping_add(time.tv_nsec)
}

fn to_timespec(ns: i64) -> timespec {
    timespec { tv_sec: ns.div_euclid(SECOND), tv_nsec: ns.rem_euclid(SECOND) }
}

pub unsafe fn clock_gettime(id: clockid_t, to: *mut timespec) -> c_int {
    let number = u8::try_from(id).ok().filter(|id| *id < OTHER || *id == 11);
    // Whether there is such a clock is the same in a replay; not every machine has those of alarms.
    let asks = turn::recording() || number.is_none() || id >= libc::CLOCK_REALTIME_ALARM;
    // SAFETY: the program's variable.
    unsafe {
        if asks {
            let result = real::clock_gettime(id, to);
            if result != 0 {
                return result;
            }
        }
        let read = || {
            if asks || real::clock_gettime(id, to) == 0 { to_ns(&*to) } else { 0 }
        };
        *to = to_timespec(value(number.unwrap_or(OTHER), 1000, read));
    }
    0
}

pub unsafe fn gettimeofday(to: *mut timeval, zone: *mut c_void) -> c_int {
    let mut now = timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: a variable of ours, and the program's for the zone.
    let read = || unsafe {
        real::gettimeofday(&raw mut now, zone);
        now.tv_sec * SECOND + now.tv_usec * 1000
    };
    let ns = value(DAY, 1000, read);
    // SAFETY: the program's variable, if there is one.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = timeval { tv_sec: ns.div_euclid(SECOND), tv_usec: ns.rem_euclid(SECOND) / 1000 };
    }
    0
}

pub unsafe fn time(to: *mut time_t) -> time_t {
    // SAFETY: no variable is given.
    let seconds = value(TIME, 0, || unsafe { real::time(null_mut()) });
    // SAFETY: the program's variable, if there is one.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = seconds;
    }
    seconds
}

pub unsafe fn clock() -> clock_t {
    // SAFETY: asks and does nothing.
    value(CPU, 1, || unsafe { real::clock() })
}

/// The four parts do not fit one number; they are noted as values of one clock, one after the other.
pub unsafe fn times(to: *mut tms) -> clock_t {
    // SAFETY: a variable of ours.
    let mut now: tms = unsafe { core::mem::zeroed() };
    // SAFETY: as above.
    let elapsed = value(TIMES, 1, || unsafe { real::times(&raw mut now) });
    for part in [&mut now.tms_utime, &mut now.tms_stime, &mut now.tms_cutime, &mut now.tms_cstime] {
        let read = *part;
        *part = value(TIMES, 0, || read);
    }
    // SAFETY: the program's variable, if there is one.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = now;
    }
    elapsed
}

pub unsafe fn timespec_get(to: *mut timespec, base: c_int) -> c_int {
    if base != 1 {
        // SAFETY: the program's variable.
        return unsafe { real::timespec_get(to, base) };
    }
    // SAFETY: the program's variable.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, to) };
    base
}

/// Sleeps by `call`, which returns 0 or a reason; the same is returned. `left` is where the rest of the time goes.
pub unsafe fn sleep_by(length: *const timespec, left: *mut timespec, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: passed on to the caller.
    unsafe { sleep_until(length, left, false, call) }
}

unsafe fn sleep_until(
    length: *const timespec,
    left: *mut timespec,
    is_absolute: bool,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    let _away = serial::away(|| true);
    if schedule::is_on() {
        // Whoever is named next comes next, however long anybody sleeps.
        thread.rests().slept();
        lend::yields(sleeps_until(length, is_absolute));
        if thread.is_cancelled.load(Acquire) {
            // SAFETY: asks for nothing; it ends the thread if that is to be.
            turn::cancellable(Op::Sleep, || unsafe { real_thread::pthread_testcancel() });
        }
        return 0;
    }
    if baton::is_passed() {
        thread.rests().slept();
        baton::rests_again();
        if thread.is_woken()
            && let Some(step) = thread.step(Op::Sleep)
            && step.result == CANCELLED
        {
            turn::cancelled_here(thread, Op::Sleep, 0);
        }
        return 0;
    }
    if turn::recording() {
        let result = turn::cancellable(Op::Sleep, call);
        if result == EINTR {
            // SAFETY: the program's variable, filled by the call, if there is one.
            let rest = unsafe { left.as_ref() }.map_or(0, to_ns);
            thread.begin();
            thread.result(Op::Sleep, rest + 1);
            thread.happen();
            thread.finish();
        } else {
            thread.rests().slept();
        }
        return result;
    }
    if thread.is_woken()
        && let Some(step) = thread.step(Op::Sleep)
    {
        if step.result == CANCELLED {
            turn::cancelled_here(thread, Op::Sleep, 0);
        }
        thread.happened();
        // SAFETY: the program's variable, if there is one.
        if let Some(left) = unsafe { left.as_mut() } {
            *left = to_timespec(step.result - 1);
        }
        return EINTR;
    }
    thread.rests().slept();
    if process::get().has(flag::REAL_TIME) {
        let result = turn::undisturbed(call);
        thread.look_ahead();
        return result;
    }
    // SAFETY: the program's variable.
    let valid = unsafe { length.as_ref() }.is_some_and(|time| time.tv_sec >= 0 && (0..SECOND).contains(&time.tv_nsec));
    if !valid {
        return call();
    }
    step_back(thread, u64::MAX);
    thread.look_ahead();
    0
}

/// Replay: who has looked for something in vain, for `ns` at most, has let others run meanwhile. Who did not wait at all does
/// not now.
pub fn looked_in_vain(thread: &mut Thread, ns: i64) {
    if process::get().has(flag::REAL_TIME) && ns > 0 {
        sys::sleep_ns(ns as u64);
    } else if ns > 0 {
        thread.rests().yielded();
        step_back(thread, ns as u64);
    }
}

/// In a replay nobody sleeps for its own sake, but one that sleeps again and again, without an event, waits for somebody: `ns`
/// at most.
fn step_back(thread: &mut Thread, ns: u64) {
    let many = thread.rests().many();
    if many >= 20 {
        end::rests();
    }
    if settled::is_on() {
        settled::rests(many);
        return if many > 2000 {
            sys::sleep_ns(ns.min(1_000_000))
        };
    }
    match many {
        0..=1 => {}
        // SAFETY: lets others run.
        2..20 => unsafe {
            sys::sched_yield();
        },
        20..200 => sys::sleep_ns(ns.min(50_000)),
        _ => sys::sleep_ns(ns.min(1_000_000)),
    }
}

pub unsafe fn nanosleep(length: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program's variables.
    let call = || unsafe { if real::nanosleep(length, left) == 0 { 0 } else { errno::get() } };
    // SAFETY: as above.
    match unsafe { sleep_by(length, left, call) } {
        0 => 0,
        reason => {
            errno::set(reason);
            -1
        }
    }
}

pub unsafe fn clock_nanosleep(id: clockid_t, flags: c_int, length: *const timespec, left: *mut timespec) -> c_int {
    let nothing = to_timespec(0);
    // SAFETY: the program's variables, and one of ours.
    unsafe {
        if !turn::recording() && id != libc::CLOCK_REALTIME && id != libc::CLOCK_MONOTONIC {
            // A clock that nobody can sleep by is refused, though nobody sleeps.
            let refused = turn::undisturbed(|| real::clock_nanosleep(id, 0, &raw const nothing, null_mut()));
            if refused != 0 && refused != EINTR {
                return refused;
            }
        }
        sleep_until(length, if flags == 0 { left } else { null_mut() }, flags != 0, || {
            real::clock_nanosleep(id, flags, length, left)
        })
    }
}

pub unsafe fn usleep(us: c_uint) -> c_int {
    let length = to_timespec(i64::from(us) * 1000);
    // SAFETY: a variable of ours.
    unsafe { nanosleep(&raw const length, null_mut()) }
}

pub unsafe fn sleep(seconds: c_uint) -> c_uint {
    let length = to_timespec(i64::from(seconds) * SECOND);
    let mut left = to_timespec(0);
    // SAFETY: variables of ours.
    let result = unsafe { nanosleep(&raw const length, &raw mut left) };
    if result == 0 { 0 } else { left.tv_sec as c_uint }
}

pub unsafe fn sched_yield() -> c_int {
    serial::yields();
    if !turn::recording()
        && let Some(thread) = turn::enter()
    {
        thread.rests().yielded();
        if baton::is_passed() {
            baton::rests_again();
        } else {
            step_back(thread, u64::MAX);
        }
        return 0;
    }
    lend::yields(0);
    // SAFETY: asks for nothing.
    unsafe { real::sched_yield() }
}
