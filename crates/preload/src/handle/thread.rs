//! Threads: each is named by its place in the tree of creations, which is the same in every run.

use crate::handle::{callers, debugger, needs, time};
use crate::table::thread::{Destructor, Start, real};
use core::ptr::null;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};
use libc::{c_int, c_void, clockid_t, pthread_attr_t, pthread_key_t, pthread_t, timespec};
use retake_engine::deadlock::{self, want};
use retake_engine::objects::Nothing;
use retake_engine::park;
use retake_engine::process::{self, Creation};
use retake_engine::thread::{self, Thread};
use retake_engine::turn::{self, Turn};
use retake_engine::{apart, report, schedule, serial, settled, signals, tls};
use retake_tape::layout::born;
use retake_tape::op::Op;
use retake_tape::session::fate;

pub unsafe fn create(to: *mut pthread_t, attributes: *const pthread_attr_t, start: Start, arg: *mut c_void) -> c_int {
    // SAFETY: the program's arguments, with a function of ours that calls the program's.
    let call = |start, arg| unsafe { real::pthread_create(to, attributes, start, arg) };
    create_by(start as usize, arg as usize, |child| match child {
        Some(child) => {
            // SAFETY: the program's attributes.
            child.has_own_mask = unsafe { gives_mask(attributes) } || attributes.is_null() && child.has_own_mask;
            call(trampoline, core::ptr::from_mut(child).cast())
        }
        None => match turn::is_in_library().then(|| apart::make(start as usize, arg as usize)) {
            Some(made) if !made.is_null() => call(trampoline_apart, made.cast()),
            _ => call(start, arg),
        },
    })
}

/// A thread of a library's own.
unsafe extern "C-unwind" fn trampoline_apart(made: *mut c_void) -> *mut c_void {
    let made = made.cast::<Thread>();
    // SAFETY: `create` handed it over; the function and its argument are the library's.
    unsafe {
        let start: Start = core::mem::transmute((*made).start);
        let argument = (*made).argument as *mut c_void;
        apart::run(made, || start(argument))
    }
}

/// Whether the attributes give the thread a signal mask of its own.
unsafe fn gives_mask(attributes: *const pthread_attr_t) -> bool {
    unsafe extern "C" {
        fn pthread_attr_getsigmask_np(attributes: *const pthread_attr_t, mask: *mut libc::sigset_t) -> c_int;
    }
    // SAFETY: the program's attributes, and a variable of ours.
    unsafe {
        let mut mask: libc::sigset_t = core::mem::zeroed();
        !attributes.is_null() && pthread_attr_getsigmask_np(attributes, &raw mut mask) == 0
    }
}

/// Whether a thread that is given no attributes has a signal mask of its own.
static DEFAULT_GIVES_MASK: AtomicBool = AtomicBool::new(false);

pub unsafe fn set_default(attributes: *const pthread_attr_t) -> c_int {
    // SAFETY: the program's attributes.
    unsafe {
        let result = real::pthread_setattr_default_np(attributes);
        if result == 0 {
            DEFAULT_GIVES_MASK.store(gives_mask(attributes), Release);
        }
        result
    }
}

/// Creates a thread by `call`, which is given the thread to hand to [`run`], or nothing if its events do not count.
/// The event comes before the call, because the new thread may end the process before its creator goes on; a failure is
/// an event of its own.
pub fn create_by(start: usize, argument: usize, call: impl FnOnce(Option<&mut Thread>) -> c_int) -> c_int {
    // libc takes the signal back, for a moment, by which a thread is reminded of what waits.
    turn::place();
    let Some(thread) = turn::enter() else { return call(None) };
    process::get().threaded = true;
    schedule::before(Op::ThreadCreate, 0);
    thread.creations += 1;
    if turn::recording() {
        // No handler between the event and the new thread: a replay could not tell whether it ran before or after.
        let before = signals::hold();
        let number = process::next_number();
        thread.begin();
        thread.created(u64::from(number));
        thread.happen();
        thread.finish();
        let result = make(thread, number, start, argument, before, call);
        if result != 0 {
            thread.begin();
            thread.result(Op::ThreadCreate, i64::from(result));
            thread.happen();
            thread.finish();
        }
        signals::release(before);
        schedule::plain_point(Op::ThreadCreate, 0);
        schedule::behind();
        return result;
    }
    let Some(step) = thread.step(Op::ThreadCreate) else { return call(None) };
    if step.created == 0 {
        report::other(thread, Op::ThreadCreate, "no new thread");
    }
    // Handlers that ran behind the event run when the thread is there: they may wait for what it does.
    let before = signals::hold();
    thread.happened();
    let result = if thread.next_is(Op::ThreadCreate) {
        let failed = thread.step(Op::ThreadCreate).map_or(0, |step| step.result);
        thread.happened();
        failed as c_int
    } else {
        make(thread, step.created as u32, start, argument, before, call)
    };
    signals::release(before);
    turn::look_ahead();
    schedule::behind();
    result
}

/// Makes the thread that has `number`. Signals are held; `mask` is what the thread begins with: see [`run`].
fn make(
    thread: &mut Thread,
    number: u32,
    start: usize,
    argument: usize,
    mask: u64,
    call: impl FnOnce(Option<&mut Thread>) -> c_int,
) -> c_int {
    turn::tell(thread, Op::ThreadCreate, thread.count(), start, u64::from(number), 0);
    // SAFETY: a fresh thread is nobody else's.
    let Some(child) = (unsafe { thread::fresh().as_mut() }) else { return call(None) };
    child.set_name(thread.name(), thread.creations);
    (child.number, child.parent, child.index) = (number, thread.number, thread.creations);
    // Whoever is being cancelled has that signal blocked; a thread that it makes can be cancelled all the same.
    (child.start, child.argument, child.mask) = (start, argument, mask & !signals::CANCELLATION);
    child.has_own_mask = DEFAULT_GIVES_MASK.load(Acquire);
    if turn::recording() {
        child.pcs = callers();
    }
    let child_at = core::ptr::from_mut(child);
    deadlock::begins();
    schedule::creates(child);
    let result = call(Some(child));
    if result != 0 {
        deadlock::begins_not();
        // SAFETY: the thread never came to be.
        schedule::creates_not(unsafe { &*child_at });
        // SAFETY: the thread never came to be.
        unsafe { (*child_at).in_use.store(0, Release) };
    } else {
        // SAFETY: threads are never freed.
        schedule::created(unsafe { &*child_at });
    }
    result
}

unsafe extern "C-unwind" fn trampoline(child: *mut c_void) -> *mut c_void {
    let child = child.cast::<Thread>();
    // SAFETY: `create` handed it over; the function and its argument are the program's.
    unsafe {
        let start: Start = core::mem::transmute((*child).start);
        let argument = (*child).argument as *mut c_void;
        run(child, || start(argument))
    }
}

/// Runs the function of a new thread.
///
/// # Safety
/// `child` must have been made by [`create_by`] for this thread.
pub unsafe fn run<R>(child: *mut Thread, body: impl FnOnce() -> R) -> R {
    // SAFETY: the thread is this one's own from here on.
    let thread = unsafe { &mut *child };
    let creation = Creation {
        number: thread.number,
        parent: thread.parent,
        index: thread.index,
        born: born::THREAD,
        start: thread.start as u64,
        pcs: thread.pcs,
    };
    tls::set(child);
    thread.begin();
    process::adopt(thread, &creation);
    thread.finish();
    debugger::arm();
    if !thread.has_own_mask {
        signals::release(thread.mask);
    }
    if !turn::recording() {
        process::tell_fate(fate::THREADS);
        thread.look_ahead();
    }
    // SAFETY: asks and does nothing.
    turn::tell(thread, Op::ThreadStart, 0, thread.start, unsafe { libc::pthread_self() }, 0);
    park::begun();
    schedule::starts(thread);
    let _ended = AtEnd;
    body()
}

/// The thread's function has ended, by return, exit or cancellation. Destructors of its keys may still come.
struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        turn::place();
        schedule::ends();
        park::ended();
        if let Some(thread) = thread::current() {
            if !turn::recording() && turn::enter().is_some() {
                thread.settle();
                signals::wait_for_senders(thread);
            }
            turn::tell(thread, Op::ThreadEnd, 0, 0, 0, 0);
            // SAFETY: the header lives as long as the process.
            unsafe { (*thread.header).ended.store(1, Relaxed) };
            thread.has_ended();
            deadlock::ends();
            if !serial::is_on() || !ends_behind_destructors() {
                schedule::has_ended(thread);
            }
        }
    }
}

/// Ours, plus one; 0: none has been made.
static LAST_KEY: AtomicU32 = AtomicU32::new(0);
/// In so many rounds destructors may set their keys anew; libc makes one more.
const ROUNDS: usize = 3;

/// Where threads run in turn, destructors do, too: the calling thread has ended when they have run. Whether that can be had.
fn ends_behind_destructors() -> bool {
    let mut key = LAST_KEY.load(Acquire);
    if key == 0 {
        let mut made = 0;
        // SAFETY: a variable of ours; so for the others.
        if unsafe { real::pthread_key_create(&raw mut made, Some(behind_destructors)) } != 0 {
            return false;
        }
        match LAST_KEY.compare_exchange(0, made + 1, AcqRel, Acquire) {
            Ok(_) => key = made + 1,
            Err(theirs) => {
                // SAFETY: as above.
                unsafe { libc::pthread_key_delete(made) };
                key = theirs;
            }
        }
    }
    // SAFETY: the value is a number.
    unsafe { libc::pthread_setspecific(key - 1, null::<c_void>().wrapping_byte_add(1)) == 0 }
}

unsafe extern "C-unwind" fn behind_destructors(round: *mut c_void) {
    let next = round.wrapping_byte_add(1);
    // SAFETY: as above.
    let again = || unsafe { libc::pthread_setspecific(LAST_KEY.load(Acquire) - 1, next) == 0 };
    if (round as usize) < ROUNDS && again() {
        return;
    }
    if let Some(thread) = thread::current() {
        schedule::has_ended(thread);
    }
}

/// Runs `main`. If it returns, the process ends; if it is left, by `pthread_exit` or cancellation, only its thread does.
pub fn run_main<R>(main: impl FnOnce() -> R) -> R {
    let ended = AtEnd;
    let result = main();
    core::mem::forget(ended);
    result
}

unsafe fn join_by(
    op: Op,
    t: pthread_t,
    to: *mut *mut c_void,
    until_ns: Option<u64>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let mut turn = Turn::new(op, t as usize, &Nothing);
    turn.polls = op == Op::ThreadTryJoin;
    turn.cancels = true;
    if let Some(until_ns) = until_ns {
        (turn.late, turn.until_ns) = (libc::ETIMEDOUT, until_ns);
    }
    // SAFETY: the program's thread.
    let attempt = || (!needs::runs(t)).then(|| unsafe { real::pthread_join(t, to) });
    turn.attempt = Some(&attempt);
    let again = || {
        settled::wait_if_on(|| if deadlock::may_have_destructors() { needs::is_gone(t) } else { !needs::runs(t) });
        // SAFETY: the program's thread.
        park::aside(|| unsafe { real::pthread_join(t, to) })
    };
    turn.acquire(call, again)
}

pub unsafe fn join(t: pthread_t, to: *mut *mut c_void) -> c_int {
    // SAFETY: the program's thread; so for the others.
    unsafe {
        join_by(Op::ThreadJoin, t, to, None, || {
            deadlock::blocking(Op::ThreadJoin, want::JOIN, t as usize, || real::pthread_join(t, to))
        })
    }
}

pub unsafe fn tryjoin(t: pthread_t, to: *mut *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe { join_by(Op::ThreadTryJoin, t, to, None, || real::pthread_tryjoin_np(t, to)) }
}

pub unsafe fn timedjoin(t: pthread_t, to: *mut *mut c_void, until: *const timespec) -> c_int {
    // SAFETY: as above.
    unsafe { join_by(Op::ThreadJoin, t, to, Some(time::when(until)), || real::pthread_timedjoin_np(t, to, until)) }
}

pub unsafe fn clockjoin(t: pthread_t, to: *mut *mut c_void, id: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: as above.
    unsafe { join_by(Op::ThreadJoin, t, to, Some(time::when(until)), || real::pthread_clockjoin_np(t, to, id, until)) }
}

/// It may leave whatever it waits for, and so is not dead.
pub unsafe fn cancel(t: pthread_t) -> c_int {
    match needs::by_handle(t) {
        Some(target) => target.is_cancelled.store(true, Release),
        None => needs::STRAY_CANCEL.store(true, Release),
    }
    // SAFETY: the program's thread.
    unsafe { real::pthread_cancel(t) }
}

/// Whoever's function has ended can still do something.
pub fn note_destructor(destructor: Destructor) {
    if destructor.is_some() {
        deadlock::has_destructors();
    }
}

pub unsafe fn key_create(to: *mut pthread_key_t, destructor: Destructor) -> c_int {
    note_destructor(destructor);
    // SAFETY: the program's arguments.
    unsafe { real::pthread_key_create(to, destructor) }
}

pub unsafe fn at_thread_exit(destructor: Destructor, object: *mut c_void, library: *mut c_void) -> c_int {
    deadlock::has_destructors();
    // SAFETY: the program's arguments.
    unsafe { real::__cxa_thread_atexit_impl(destructor, object, library) }
}

/// An event only if the thread was cancelled here. In a replay a cancellation that has come early waits.
pub unsafe fn testcancel() {
    // SAFETY: asks for nothing.
    let call = || unsafe { real::pthread_testcancel() };
    let Some(thread) = turn::enter() else { return call() };
    if turn::recording() {
        return turn::cancellable(Op::ThreadCancel, call);
    }
    if thread.next_is(Op::ThreadCancel)
        && let Some(_) = thread.step(Op::ThreadCancel)
    {
        turn::cancelled_here(thread, Op::ThreadCancel, 0);
    }
}
