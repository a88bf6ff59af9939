//! Signals: a handler's place in the order is where it ran.
//!
//! The program's handlers are called through one of ours. While recording it notes the signal (or lets it wait, if it
//! came in the middle of the engine's own work); in a replay it lets through only what comes from the tape. Faults are
//! not touched: they come by themselves wherever the program makes the same mistake again.

use crate::errno;
use crate::glibc;
use crate::handle::process::is_borrowed;
use crate::handle::send::plain_event;
use crate::handle::{asked, mask};
use crate::table::signal::real;
use core::cell::UnsafeCell;
use core::ptr::{null, null_mut};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use libc::{
    EINTR, EINVAL, SA_RESETHAND, SA_RESTART, SA_SIGINFO, SIG_DFL, SIG_ERR, SIG_IGN, c_int, c_void, sigaction as Action,
    sighandler_t, siginfo_t, sigset_t, timespec, ucontext_t,
};
use retake_engine::held;
use retake_engine::objects::{Nothing, Object};
use retake_engine::process::{self, mode};
use retake_engine::thread::{self, SIGNALS, Thread};
use retake_engine::turn::{self, CANCELLED};
use retake_engine::{end, report, serial, signals};
use retake_tape::entry::{INSIDE, Signal};
use retake_tape::op::Op;

struct Actions(UnsafeCell<[Action; SIGNALS]>);
// SAFETY: one signal's action is changed by one thread at a time, as without Retake.
unsafe impl Sync for Actions {}
// SAFETY: all zero is the default action.
static ACTIONS: Actions = Actions(UnsafeCell::new(unsafe { core::mem::zeroed() }));

/// Signals that a fault raises.
const FAULTS: [c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Signals of timers.
const TIMERS: [c_int; 3] = [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF];

/// Signals that come by themselves in a replay and end the process, unless they are handled.
const DEADLY: [c_int; 10] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
];

/// The others that end a process unless they are handled. Those of the real-time kind follow from 34 on.
const ENDING: [c_int; 12] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];
const REAL_TIME: core::ops::Range<c_int> = 34..SIGNALS as c_int;

fn action(number: c_int) -> *mut Action {
    // SAFETY: the number was checked.
    unsafe { (*ACTIONS.0.get()).as_mut_ptr().add(number as usize) }
}

/// Whether the program has a handler that a signal could run at any time.
pub fn has_handlers() -> bool {
    (1..SIGNALS as c_int).any(|number| {
        // SAFETY: one of the table's.
        let handler = unsafe { (*action(number)).sa_sigaction };
        handler != SIG_DFL && handler != SIG_IGN
    })
}

fn is_caught(number: c_int) -> bool {
    (1..SIGNALS as c_int).contains(&number)
        && !FAULTS.contains(&number)
        && number != libc::SIGKILL
        && number != libc::SIGSTOP
}

pub unsafe fn sigaction(number: c_int, new: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the program's structures; so for the others.
    unsafe {
        if process::mode() == mode::OFF || !is_caught(number) {
            return plain_sigaction(number, new, old);
        }
        turn::place();
        let known = *action(number);
        let mut ours = new.as_ref().copied();
        if let Some(ours) = &mut ours
            && ours.sa_sigaction != SIG_DFL
            && ours.sa_sigaction != SIG_IGN
        {
            if is_borrowed() {
                // A child that borrows our memory must not change our table; its handlers end with its exec.
                return plain_sigaction(number, new, old);
            }
            *action(number) = *ours;
            ours.sa_sigaction = handler as *const () as usize;
            ours.sa_flags |= SA_SIGINFO;
            // Only a signal whose handler really runs may use it up, so `handler` does that.
            ours.sa_flags &= !SA_RESETHAND;
        }
        let mut before: Action = core::mem::zeroed();
        let result = plain_sigaction(number, ours.as_ref().map_or(null(), |ours| ours), &raw mut before);
        if result != 0 {
            *action(number) = known;
            return result;
        }
        if let Some(old) = old.as_mut() {
            *old = if before.sa_sigaction == handler as *const () as usize { known } else { before };
        }
        if let Some(ours) = ours {
            signals::set_handled(number, ours.sa_sigaction == handler as *const () as usize);
            turn::look_ahead();
        }
        result
    }
}

/// The real `sigaction`. In a replay, the default of a fault is to let the others come as far as they came, first; and what another
/// process sends may come before there is a handler, or after it.
pub unsafe fn plain_sigaction(number: c_int, new: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the program's structures.
    unsafe {
        let result = real::sigaction(number, new, old);
        if result == 0
            && let Some(old) = old.as_mut()
            && [last_words as *const () as usize, without_handler as *const () as usize].contains(&old.sa_sigaction)
        {
            *old = core::mem::zeroed();
        }
        if result == 0 && process::mode() == mode::REPLAY && new.as_ref().is_some_and(|new| new.sa_sigaction == SIG_DFL)
        {
            look_before_dying(number);
        }
        result
    }
}

fn look_before_dying(number: c_int) {
    let ours = match number {
        _ if DEADLY.contains(&number) => last_words as *const (),
        _ if ENDING.contains(&number) || REAL_TIME.contains(&number) => without_handler as *const (),
        _ => return,
    };
    // SAFETY: structures of ours.
    unsafe {
        let mut action: Action = core::mem::zeroed();
        action.sa_sigaction = ours as usize;
        action.sa_flags = SA_SIGINFO | SA_RESTART | libc::SA_ONSTACK | libc::SA_NODEFER;
        real::sigaction(number, &raw const action, null_mut());
    }
}

/// In a replay: whatever would end the process is looked at first.
pub fn watch_deaths() {
    for number in DEADLY.into_iter().chain(ENDING).chain(REAL_TIME) {
        // SAFETY: structures of ours.
        unsafe {
            let mut now: Action = core::mem::zeroed();
            if real::sigaction(number, null(), &raw mut now) == 0 && now.sa_sigaction == SIG_DFL {
                look_before_dying(number);
            }
        }
    }
}

/// Replay: a signal that ends the process by default has come.
unsafe extern "C-unwind" fn without_handler(number: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel's structure.
    if unsafe { !signals::comes_elsewhere(number, (*info).si_code, (*info).si_pid()) } {
        end::die_by(number as u32);
    }
}

unsafe extern "C-unwind" fn last_words(number: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: as above.
    if unsafe { signals::comes_elsewhere(number, (*info).si_code, (*info).si_pid()) } {
        return;
    }
    if TIMERS.contains(&number)
        && let Some(thread) = thread::current()
        && thread.count() < thread.reader.total
    {
        // The clock on the wall is no measure here. When all is played, the process ends by the signal that ended it.
        return;
    }
    end::wait_for_others();
    // SAFETY: the kernel's structures; the default action is put back, and the fault comes again or is sent again.
    unsafe {
        let default: Action = core::mem::zeroed();
        real::sigaction(number, &raw const default, null_mut());
        if (*info).si_code <= 0 {
            end::die_by(number as u32);
        }
    }
}

unsafe extern "C-unwind" fn handler(number: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's structures.
    unsafe {
        let before = errno::get();
        let (mut was_held, mut in_turn) = (false, None);
        if let Some(thread) = thread::current()
            && !is_borrowed_here(thread)
        {
            match process::mode() {
                mode::RECORD => {
                    let signal = signals::read(thread, number, info);
                    let context = context.cast::<ucontext_t>();
                    // The kernel's mask is as long as one word.
                    let mask = &raw mut (*context).uc_sigmask;
                    if thread.busy > 0 && signals::defer(thread, signal, &mut *mask.cast()) {
                        return;
                    }
                    // What comes meanwhile would take our own calls of the kernel for the program's.
                    thread.begin();
                    asked::arm();
                    let came = held::comes(thread, signal, held::amid(context));
                    thread.finish();
                    let Some(came) = came else { return };
                    signals::put_back(info, &came.signal.0, Some(came.signal.1));
                    was_held = came.was_held;
                    thread.begin();
                    note(thread, came.signal.0);
                    in_turn = serial::in_handler(thread);
                    thread.finish();
                }
                mode::REPLAY if !thread.live => {
                    let has_interrupted = || held::is_in_call(context.cast());
                    match signals::to_run(thread, number as u8, held::is_from_our_timer(info), has_interrupted) {
                        Some(signal) => signals::put_back(info, &signal, None),
                        None => return by_default(thread, number),
                    }
                    thread.begin();
                    in_turn = serial::in_handler(thread);
                    thread.finish();
                }
                _ => {}
            }
            crate::handle::stream::let_go(thread.tid);
        }
        errno::set(before);
        // The handler is the program's own code, wherever it interrupts.
        let library = thread::current().map_or(0, |thread| {
            thread.handlers += 1;
            core::mem::take(&mut thread.library)
        });
        let act = *action(number);
        if act.sa_flags & SA_RESETHAND != 0 {
            let default: Action = core::mem::zeroed();
            *action(number) = default;
            // In a replay signals that come by themselves still go through here: see `by_default`.
            if process::mode() != mode::REPLAY {
                real::sigaction(number, &raw const default, null_mut());
            }
        }
        match act.sa_sigaction {
            SIG_DFL | SIG_IGN => {}
            function if act.sa_flags & SA_SIGINFO != 0 => {
                let function: unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void) =
                    core::mem::transmute(function);
                function(number, info, context);
            }
            function => {
                let function: unsafe extern "C-unwind" fn(c_int) = core::mem::transmute(function);
                function(number);
            }
        }
        drop(in_turn);
        if let Some(thread) = thread::current() {
            thread.library = library;
            thread.handlers -= 1;
            // If the handler has been in a library, too, the short cut is on since it left that.
            if library > 0 {
                thread.fast.store(thread::fast::NONE, core::sync::atomic::Ordering::Release);
            }
        }
        if was_held {
            // It ran at the end of a call, whose error the program has not seen yet.
            errno::set(before);
        }
    }
}

/// Whether a child that borrows its parent's memory handles the signal. What comes meanwhile waits: it would take our own
/// call of the kernel for the program's.
fn is_borrowed_here(thread: &mut Thread) -> bool {
    if process::mode() != mode::RECORD {
        return is_borrowed();
    }
    thread.begin();
    let is_borrowed = is_borrowed();
    thread.finish();
    is_borrowed
}

/// Replay: a signal came by itself and is not the tape's. It is dropped, unless it is what ended the recording: a handler
/// that is to run only once has run, and the thread's tape is over.
unsafe fn by_default(thread: &Thread, number: c_int) {
    // SAFETY: structures of ours.
    if unsafe { (*action(number)).sa_sigaction } == SIG_DFL && thread.count() >= thread.reader.total {
        end::wait_for_others();
        end::die_by(number as u32);
    }
}

/// Notes a signal, and whether it came inside a call, or behind what that waited for. Sleeps, and calls that wait for the
/// outside, are no events, so those before it are counted.
fn note(thread: &mut Thread, signal: Signal) {
    thread.begin();
    let sleeps = thread.rests().sleeps;
    if sleeps > 0 {
        thread.slept(u64::from(sleeps));
    }
    if thread.is_outward() {
        thread.came_inside(thread.outward.is_done);
    }
    let inside = if thread.is_inside() { INSIDE } else { 0 };
    thread.signal(Signal { number: signal.number | inside, releases: thread.releases, ..signal });
    thread.finish();
}

unsafe fn by_flags(number: c_int, handler: sighandler_t, flags: c_int) -> sighandler_t {
    // SAFETY: structures of ours.
    unsafe {
        if handler == SIG_ERR || !(1..SIGNALS as c_int).contains(&number) {
            errno::set(EINVAL);
            return SIG_ERR;
        }
        let mut new: Action = core::mem::zeroed();
        let mut old: Action = core::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        if flags & SA_RESETHAND == 0 {
            libc::sigaddset(&raw mut new.sa_mask, number);
        }
        if sigaction(number, &raw const new, &raw mut old) == 0 { old.sa_sigaction } else { SIG_ERR }
    }
}

pub unsafe fn signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the program's handler.
    unsafe { by_flags(number, handler, if interrupts(number) { 0 } else { SA_RESTART }) }
}

/// Signals whose handlers, set by `signal`, end a blocking call: a bit each.
static INTERRUPTING: AtomicU64 = AtomicU64::new(0);

fn interrupts(number: c_int) -> bool {
    (1..SIGNALS as c_int).contains(&number) && INTERRUPTING.load(Relaxed) >> (number - 1) & 1 != 0
}

pub unsafe fn siginterrupt(number: c_int, interrupt: c_int) -> c_int {
    // SAFETY: structures of ours.
    unsafe {
        let mut act: Action = core::mem::zeroed();
        if sigaction(number, null(), &raw mut act) < 0 {
            return -1;
        }
        if interrupt != 0 {
            INTERRUPTING.fetch_or(1 << (number - 1), Relaxed);
            act.sa_flags &= !SA_RESTART;
        } else {
            INTERRUPTING.fetch_and(!(1 << (number - 1)), Relaxed);
            act.sa_flags |= SA_RESTART;
        }
        sigaction(number, &raw const act, null_mut())
    }
}

/// What `sigset` takes and returns for a signal that is blocked.
const SIG_HOLD: sighandler_t = 2;

/// System V's: libc's own would set and return handlers behind our back.
pub unsafe fn sigset(number: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: structures of ours.
    unsafe {
        let mut set: sigset_t = core::mem::zeroed();
        let mut before: sigset_t = core::mem::zeroed();
        let mut old: Action = core::mem::zeroed();
        if handler == SIG_ERR || libc::sigaddset(&raw mut set, number) < 0 {
            errno::set(EINVAL);
            return SIG_ERR;
        }
        let mut new: Action = core::mem::zeroed();
        new.sa_sigaction = handler;
        let hold = handler == SIG_HOLD;
        if hold {
            mask::sigprocmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
        }
        if sigaction(number, if hold { null() } else { &raw const new }, &raw mut old) < 0 {
            return SIG_ERR;
        }
        if !hold {
            mask::sigprocmask(libc::SIG_UNBLOCK, &raw const set, &raw mut before);
        }
        if libc::sigismember(&raw const before, number) == 1 { SIG_HOLD } else { old.sa_sigaction }
    }
}

pub unsafe fn sysv_signal(number: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the program's handler.
    unsafe { by_flags(number, handler, SA_RESETHAND | libc::SA_NODEFER) }
}

/// Waits for one of `set` by `call`, which fills the particulars and returns the signal, or -1 and a reason.
unsafe fn wait_for(to: *mut siginfo_t, call: impl FnOnce(*mut siginfo_t) -> c_int) -> c_int {
    // SAFETY: the program's variable, or one of ours.
    unsafe {
        let mut own: siginfo_t = core::mem::zeroed();
        let to = if to.is_null() { &raw mut own } else { to };
        let Some(thread) = turn::enter() else { return call(to) };
        let _away = serial::away(|| true);
        if turn::recording() {
            let got = turn::cancellable(Op::SigWait, || call(to));
            let why = errno::get();
            thread.begin();
            if got > 0 {
                if let Some((sender, sent_at)) = signals::sender_of_taken(thread, got, to) {
                    thread.edge(sender, sent_at);
                }
                thread.bytes(core::slice::from_raw_parts(to.cast::<u8>(), size_of::<siginfo_t>()));
            } else {
                thread.result(Op::SigWait, -i64::from(why));
            }
            thread.happen();
            thread.finish();
            turn::tell(thread, Op::SigWait, thread.count(), 0, 0, i64::from(got));
            errno::set(why);
            return got;
        }
        let Some(step) = thread.step(Op::SigWait) else { return call(to) };
        if step.result == CANCELLED {
            turn::cancelled_here(thread, Op::SigWait, 0);
        }
        if step.result != 0 {
            thread.happened();
            errno::set(-step.result as c_int);
            return -1;
        }
        if step.bytes.len() != size_of::<siginfo_t>() {
            report::other(thread, Op::SigWait, "another signal");
        }
        // Who sent it may have done something first. The real one does not tell: it may be an older one that was handled already.
        Nothing.wait(thread, step.order);
        core::ptr::copy_nonoverlapping(step.bytes.as_ptr(), to.cast::<u8>(), step.bytes.len());
        take_away(&*to);
        thread.happened();
        turn::tell(thread, Op::SigWait, thread.count(), 0, 0, i64::from((*to).si_signo));
        (*to).si_signo
    }
}

/// Takes the real signal away that stands for a recorded one. One from this process is on its way; others may not come.
fn take_away(info: &siginfo_t) {
    // SAFETY: structures of ours; the field is there for these codes.
    unsafe {
        let from_here =
            info.si_code <= 0 && info.si_code != libc::SI_TIMER && info.si_pid() as u32 == process::get().shown_pid;
        let time = timespec { tv_sec: i64::from(from_here), tv_nsec: 0 };
        let mut set: sigset_t = core::mem::zeroed();
        libc::sigaddset(&raw mut set, info.si_signo);
        let before = errno::get();
        turn::undisturbed(|| real::sigtimedwait(&raw const set, null_mut(), &raw const time));
        errno::set(before);
    }
}

pub unsafe fn sigwaitinfo(set: *const sigset_t, to: *mut siginfo_t) -> c_int {
    // SAFETY: the program's structures; so for the others.
    unsafe { wait_for(to, |to| real::sigwaitinfo(set, to)) }
}

pub unsafe fn sigtimedwait(set: *const sigset_t, to: *mut siginfo_t, time: *const timespec) -> c_int {
    // SAFETY: as above.
    unsafe { wait_for(to, |to| real::sigtimedwait(set, to, time)) }
}

pub unsafe fn sigwait(set: *const sigset_t, to: *mut c_int) -> c_int {
    let before = errno::get();
    // SAFETY: as above. Unlike the others, this one is not ended by a handler.
    unsafe {
        let got = wait_for(null_mut(), |info| {
            loop {
                let got = real::sigwaitinfo(set, info);
                if got >= 0 || errno::get() != EINTR {
                    return got;
                }
            }
        });
        if got < 0 {
            let reason = errno::get();
            errno::set(before);
            return reason;
        }
        errno::set(before);
        *to = got;
        0
    }
}

/// Waits by `call` until a handler has run: two events, and the handler between them.
unsafe fn suspend(set: *const sigset_t, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    let _away = serial::away(|| true);
    if turn::recording() {
        plain_event(thread);
        let result = turn::cancellable(Op::SigWait, call);
        plain_event(thread);
        return result;
    }
    if thread.step(Op::SigWait).is_none() {
        return call();
    }
    thread.happened();
    // The handler runs in the second step, with the signals let in that it was waiting for.
    // SAFETY: the program's set, and one of ours to put back.
    let step = unsafe {
        let mut before: sigset_t = core::mem::zeroed();
        if !set.is_null() {
            real::pthread_sigmask(libc::SIG_SETMASK, set, &raw mut before);
        }
        let step = thread.step(Op::SigWait);
        if !set.is_null() {
            real::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        }
        step
    };
    let Some(step) = step else { return call() };
    if step.result == CANCELLED {
        turn::cancelled_here(thread, Op::SigWait, 0);
    }
    thread.happened();
    errno::set(EINTR);
    -1
}

pub unsafe fn sigsuspend(set: *const sigset_t) -> c_int {
    // SAFETY: the program's set.
    unsafe { suspend(set, || real::sigsuspend(set)) }
}

/// BSD's: the first 32 signals, a bit each, are what is blocked meanwhile.
pub unsafe fn sigpause(blocked: c_int) -> c_int {
    // SAFETY: the first word of a set of ours; all zero is an empty one.
    unsafe {
        let mut set: sigset_t = core::mem::zeroed();
        *(&raw mut set).cast::<u64>() = u64::from(blocked as u32);
        sigsuspend(&raw const set)
    }
}

/// System V's: one signal is let in.
pub unsafe fn sigpause_for(number: c_int) -> c_int {
    // SAFETY: a set of ours.
    unsafe {
        let mut set: sigset_t = core::mem::zeroed();
        real::pthread_sigmask(libc::SIG_BLOCK, null(), &raw mut set);
        if libc::sigdelset(&raw mut set, number) < 0 { -1 } else { sigsuspend(&raw const set) }
    }
}

pub unsafe fn sigpause_either(what: c_int, is_number: c_int) -> c_int {
    // SAFETY: asks for nothing but to wait.
    unsafe { if is_number != 0 { sigpause_for(what) } else { sigpause(what) } }
}

pub unsafe fn pause() -> c_int {
    // SAFETY: asks for nothing.
    unsafe { suspend(null(), || real::pause()) }
}

/// Jumps by `call`; a call that a handler leaves this way is no longer under way.
unsafe fn jump(to: *mut c_void, call: impl FnOnce()) {
    // SAFETY: the program's buffer.
    turn::jumps(unsafe { glibc::stack_of_jump(to) });
    call();
}

pub unsafe fn siglongjmp(to: *mut c_void, value: c_int) {
    // SAFETY: the program's buffer; so for the others.
    unsafe { jump(to, || real::siglongjmp(to, value)) }
}

pub unsafe fn longjmp(to: *mut c_void, value: c_int) {
    // SAFETY: as above.
    unsafe { jump(to, || real::longjmp(to, value)) }
}

pub unsafe fn plain_longjmp(to: *mut c_void, value: c_int) {
    // SAFETY: as above.
    unsafe { jump(to, || real::_longjmp(to, value)) }
}

pub unsafe fn longjmp_chk(to: *mut c_void, value: c_int) {
    // SAFETY: as above.
    unsafe { jump(to, || real::__longjmp_chk(to, value)) }
}
