//! Recording: a signal that comes in the middle of the program waits for a place that the tape can tell.
//!
//! A handler's place is behind an event, a release or a sleep of its thread. What the program does between two of these is
//! not counted, so that a replay would run a handler of there too early: a loop that looks at a flag would see it a round
//! before. Therefore such a handler runs at the end of the thread's next call that releases something, or asks for
//! something. It does not run behind a lock that was obtained: there it would always find the lock held that it might want.
//!
//! If no such call comes soon, a timer of the kernel reminds the thread, and the handler runs wherever that is. What belongs
//! to what the thread itself does comes at once, and what ends a call of the kernel. Before the program changes what becomes
//! of signals, those that wait are handled: see [`crate::turn::place`].

use crate::process;
use crate::signals;
use crate::sys;
use crate::thread::{Thread, fast};
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::{REG_RAX, REG_RIP, itimerspec, siginfo_t, timespec, ucontext_t};
use retake_tape::board::ASK_SIGNAL;
use retake_tape::entry::Signal;
use retake_tape::session::flag;

/// So many wait at most.
const ROOM: usize = 8;
/// How long a thread may work while some wait; the first calls of ours take a tenth of it.
const WORK_NS: i64 = 1_000_000;
/// How often it is looked whether it has, or does not work but wait for the kernel.
const LOOK_NS: i64 = 200_000;
/// A call of a replay that takes so long waits for something that does not come at once.
const LONG_NS: i64 = 30_000_000;

/// A thread's signals that wait.
pub struct Held {
    signals: [(Signal, u32); ROOM],
    many: usize,
    /// The timer, and one; 0: none.
    timer: u32,
    /// How long the thread had worked when the first came.
    since_ns: i64,
    /// What comes next was let in.
    passes: Option<Passes>,
}

#[derive(Clone, Copy, PartialEq)]
enum Passes {
    JustBehind,
    Anywhere,
}

/// A signal has come, there, and the engine was not at work: the one that is to be handled now, if any is. The caller is busy.
pub fn comes(thread: &mut Thread, signal: (Signal, u32), amid: Amid) -> Option<Came> {
    if let Some(passes) = thread.held.passes.take() {
        let placed = Signal { is_just_behind: passes == Passes::JustBehind, ..signal.0 };
        return Some(Came { signal: (placed, signal.1), was_held: true });
    }
    let waits = thread.held.many < ROOM && may_wait(thread, &signal.0) && is_amid_work(thread, amid);
    if waits && (thread.held.timer > 0 || remind(thread)) {
        thread.fast.store(fast::NONE, Release);
        thread.held.put(signal);
        None
    } else {
        // One that waits, of the same number, came before it.
        let older = thread.held.take(|older| older.number == signal.0.number);
        if older.is_some() {
            thread.held.put(signal);
        }
        Some(Came { signal: older.unwrap_or(signal), was_held: older.is_some() })
    }
}

/// A signal that is to be handled.
pub struct Came {
    /// And the user who sent it.
    pub signal: (Signal, u32),
    /// It came before, and waited.
    pub was_held: bool,
}

impl Held {
    pub(crate) fn new() -> Held {
        let nothing =
            Signal { number: 0, code: 0, pid: 0, value: 0, sender: 0, sent_at: 0, is_just_behind: false, releases: 0 };
        Held { signals: [(nothing, 0); ROOM], many: 0, timer: 0, since_ns: 0, passes: None }
    }

    /// Whether any waits.
    pub fn waits(&self) -> bool {
        self.many > 0
    }

    fn put(&mut self, signal: (Signal, u32)) {
        self.signals[self.many] = signal;
        self.many += 1;
    }

    /// Takes out the first that fits.
    fn take(&mut self, fits: impl Fn(&Signal) -> bool) -> Option<(Signal, u32)> {
        let at = self.signals[..self.many].iter().position(|(signal, _)| fits(signal))?;
        let first = self.signals[at];
        self.signals.copy_within(at + 1..self.many, at);
        self.many -= 1;
        Some(first)
    }
}

fn may_wait(thread: &Thread, signal: &Signal) -> bool {
    // Those that the kernel sends for what the thread does; and one that asks where it is.
    let at_once = [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGTTIN, libc::SIGTTOU, libc::SIGPROF];
    let number = i32::from(signal.number);
    let is_from_outside = match signal.code {
        libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE if signal.pid == process::get().pid => {
            signal.sender != 0 && signal.sender != thread.number
        }
        libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE | libc::SI_TIMER | libc::SI_KERNEL => true,
        // A message, or input, that the thread itself may have sent.
        _ => number == libc::SIGCHLD,
    };
    thread.library == 0
        && thread.in_use.load(Relaxed) == 1
        && is_from_outside
        && !at_once.contains(&number)
        && !process::get().has(flag::FOLLOW | flag::EXPLORE)
}

/// Whether the thread is at work. In a call that waits for the outside it is, too, before it waits and behind that.
fn is_amid_work(thread: &Thread, amid: Amid) -> bool {
    match amid {
        // What such a call has got is noted before a handler has events of its own.
        Amid::Work | Amid::Again | Amid::Done => !thread.is_inside() || thread.is_just_outward(),
        Amid::Call | Amid::Unknown => false,
    }
}

/// Where a signal has come.
#[derive(Clone, Copy, PartialEq)]
pub enum Amid {
    /// Between two calls of the kernel.
    Work,
    /// In a call that it has ended, or that will go on behind the handler.
    Call,
    /// At the end of a call.
    Done,
    /// It was sent again, or let in, by us.
    Again,
    /// Nobody knows.
    Unknown,
}

/// Where the signal has come. The caller is busy: one that comes meanwhile would take this call of the kernel for the program's.
///
/// # Safety
/// `context` must be what the kernel gave the handler.
pub unsafe fn amid(context: *const ucontext_t) -> Amid {
    const CALL: [u8; 2] = [0x0F, 0x05];
    const NO_SUCH: usize = 99;
    // SAFETY: the kernel's structure. The system call looks whether eight bytes can be read there, and does nothing else.
    unsafe {
        let register = |number: i32| (*context).uc_mcontext.gregs[number as usize] as usize;
        let at = register(REG_RIP).wrapping_sub(CALL.len());
        if sys::error(sys::rt_sigprocmask(NO_SUCH, at, 0, size_of::<u64>())) != Some(libc::EINVAL) {
            return Amid::Unknown;
        }
        if signals::is_from_here(register(REG_RIP)) {
            return Amid::Again;
        }
        let [last, following] = (at as *const [[u8; 2]; 2]).read_unaligned();
        match sys::error(register(REG_RAX) as isize) {
            _ if following == CALL => Amid::Call,
            Some(libc::EINTR) if last == CALL => Amid::Call,
            _ if last == CALL => Amid::Done,
            _ => Amid::Work,
        }
    }
}

/// Whether the signal has ended a call of the kernel, or that will go on behind the handler.
///
/// # Safety
/// `context` must be what the kernel gave the handler.
pub unsafe fn is_in_call(context: *const ucontext_t) -> bool {
    // SAFETY: the caller's.
    matches!(unsafe { amid(context) }, Amid::Call | Amid::Unknown)
}

/// The kernel's `sigevent`.
#[repr(C)]
struct Event {
    value: usize,
    number: i32,
    how: i32,
    tid: u32,
    rest: [u32; 11],
}

/// Tells the timers of ours from the program's by its address.
static OURS: u8 = 0;

fn ours() -> usize {
    (&raw const OURS).addr()
}

/// Has the kernel remind the thread soon, if that is possible. Not by the signal that waits: another one of the same number,
/// which comes meanwhile, would be lost.
fn remind(thread: &mut Thread) -> bool {
    let Some(timer) = make_timer(thread, ASK_SIGNAL) else { return false };
    (thread.held.timer, thread.held.since_ns) = (timer + 1, worked_ns());
    start(thread);
    true
}

/// A timer of ours that sends the thread this signal.
fn make_timer(thread: &Thread, number: i32) -> Option<u32> {
    const IN_THREAD: i32 = 4;
    let event = Event { value: ours(), number, how: IN_THREAD, tid: thread.tid, rest: [0; 11] };
    let mut timer = 0u32;
    let clock = libc::CLOCK_MONOTONIC as usize;
    // SAFETY: structures of ours, which the kernel copies.
    let made = unsafe { sys::timer_create(clock, &raw const event as usize, &raw mut timer as usize) };
    sys::error(made).is_none().then_some(timer)
}

/// Makes a call into which the signal comes, by us, if it takes long (replay): the real one may have come before.
pub fn interrupted<R>(thread: &Thread, number: i32, call: impl FnOnce() -> R) -> R {
    let timer = make_timer(thread, number).inspect(|timer| start_timer(*timer, LONG_NS));
    let result = call();
    if let Some(timer) = timer {
        end_timer(timer);
    }
    result
}

fn worked_ns() -> i64 {
    sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn start(thread: &Thread) {
    start_timer(thread.held.timer - 1, LOOK_NS);
}

fn start_timer(timer: u32, ns: i64) {
    let soon = timespec { tv_sec: 0, tv_nsec: ns };
    let once = itimerspec { it_interval: timespec { tv_sec: 0, tv_nsec: 0 }, it_value: soon };
    // SAFETY: a timer of ours.
    unsafe { sys::timer_settime(timer as usize, 0, &raw const once as usize, 0) };
}

fn end_timer(timer: u32) {
    // SAFETY: a timer of ours; it does not send anything any more.
    unsafe { sys::timer_delete(timer as usize) };
}

/// One was taken out: the timer is for those that are left, even if a handler jumps away.
fn taken_out(thread: &mut Thread) {
    if thread.held.many > 0 {
        return start(thread);
    }
    end_timer(thread.held.timer - 1);
    thread.held.timer = 0;
    process::set_short_cut(thread);
}

/// Whether it comes from a timer of ours.
///
/// # Safety
/// `info` must be what the kernel gave the handler.
pub unsafe fn is_from_our_timer(info: *const siginfo_t) -> bool {
    // SAFETY: the caller's; a timer's signal has a value.
    unsafe { (*info).si_code == libc::SI_TIMER && (*info).si_value().sival_ptr.addr() == ours() }
}

/// Handles those that wait, wherever the thread is, if there is no more time; otherwise it is reminded again.
///
/// # Safety
/// `context` must be what the kernel gave the handler.
pub unsafe fn reminded(thread: &mut Thread, context: *const ucontext_t) {
    if thread.held.timer == 0 {
        return;
    }
    if thread.busy == 0 && (thread.has_deferred() || thread.masked.load(Relaxed) != 0) {
        // It is about to let in what came while it was at work, and must do so itself: what is let in here is kept away again
        // where this returns to.
        thread.set_busy(1);
        start(thread);
        return thread.set_busy(0);
    }
    let was_busy = thread.busy > 0;
    thread.begin();
    let has_worked = || worked_ns() - thread.held.since_ns >= WORK_NS;
    // SAFETY: the caller's.
    let is_time = !was_busy && (has_worked() || unsafe { is_in_call(context) });
    if !is_time {
        start(thread);
    }
    thread.finish();
    if is_time {
        let_all_in(thread, Passes::Anywhere);
    }
}

/// The thread is just behind what is counted: whatever waits is handled.
#[inline(always)]
pub fn let_in(thread: &mut Thread) {
    if thread.held.many > 0 {
        let_all_in(thread, Passes::JustBehind);
    }
}

#[cold]
#[inline(never)]
fn let_all_in(thread: &mut Thread, passes: Passes) {
    while thread.busy == 0 {
        thread.begin();
        let first = thread.held.take(|_| true);
        if first.is_some() {
            taken_out(thread);
        }
        thread.finish();
        let Some((signal, uid)) = first else { return };
        thread.held.passes = Some(passes);
        signals::send(thread, signal, uid);
        // If the program blocks it, it has not come.
        thread.held.passes = None;
    }
}
