//! The turn: the one door through which every surface enters the engine.
//!
//! ```text
//! program -- pthread_mutex_lock --> table row --> turn --> real lock --> entry, count --> tape
//! ```
//!
//! Recording: the real call first, then, while the object is held, its place in the order. Replay: the next step of the
//! tape, waiting for its turn, then the real call in its blocking form.
//!
//! Law: the real call is made outside of the engine: signals are handled and cancellation unwinds while it blocks.

use crate::clock;
use crate::held;
use crate::objects::Object;
use crate::process::{self, mode};
use crate::replay::Order;
use crate::report;
use crate::schedule;
use crate::serial;
use crate::settled;
use crate::signals;
use crate::thread::{self, Thread, fast};
use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release, SeqCst};
use core::sync::atomic::compiler_fence;
use libc::c_int;
pub use retake_tape::entry::CANCELLED;
use retake_tape::layout::born;
use retake_tape::op::Op;
use retake_tape::rich::{self, Rich};
use retake_tape::schedule::outcome;

/// The calling thread, if its events count: known to the engine, not in the engine already, mode not off.
#[inline(always)]
pub fn enter() -> Option<&'static mut Thread> {
    match thread::current() {
        Some(thread) if thread.busy == 0 && thread.library == 0 && process::mode() != mode::OFF && !thread.live => {
            Some(thread)
        }
        Some(_) => None,
        None => stranger(),
    }
}

/// A thread that Retake did not see being created (a timer's, say) is named by the order of first appearance.
#[cold]
#[inline(never)]
fn stranger() -> Option<&'static mut Thread> {
    let process = process::get();
    if process::mode() == mode::OFF || crate::sys::getpid_now() != process.pid {
        return None;
    }
    let index = process.foreign.fetch_add(1, Relaxed) + 1;
    let number = if process::mode() == mode::RECORD {
        process::next_number()
    } else {
        let fits = |seat: &&process::Seat| seat.header.born == born::FOREIGN && seat.header.index == index;
        process.seats().iter().find(fits).map(|seat| seat.number)?
    };
    // No handler may come before the thread is known: it would be a stranger once more, at a lock held here.
    let before = signals::hold();
    // SAFETY: a fresh thread is nobody else's.
    let mut thread = unsafe { thread::fresh().as_mut() };
    if let Some(thread) = &mut thread {
        thread.set_foreign_name(process.name(), index);
        let creation = process::Creation { number, parent: 0, index, born: born::FOREIGN, start: 0, pcs: [0; 6] };
        process::adopt(thread, &creation);
        crate::tls::set(*thread);
    }
    signals::release(before);
    thread
}

/// Whether this is a recording.
#[inline(always)]
pub fn recording() -> bool {
    process::mode() == mode::RECORD
}

/// The calling thread, if it records and nothing else is wanted of it: nothing is told, no schedule is followed, and it is
/// not inside of a library. The short way of what is called often; everybody else takes the way by [`enter`].
#[inline(always)]
pub fn only_records() -> Option<&'static mut Thread> {
    thread::current().filter(|thread| thread.fast.load(Relaxed) == fast::RECORD && thread.busy == 0)
}

/// Makes a call of a library that is caught as a whole: what the library calls itself is no event.
pub fn in_library<R>(call: impl FnOnce() -> R) -> R {
    match thread::current() {
        Some(thread) => inside_library(thread, call),
        None => call(),
    }
}

/// The same, of the calling thread.
#[inline(always)]
pub fn inside_library<R>(thread: &mut Thread, call: impl FnOnce() -> R) -> R {
    let place = 0u8;
    if thread.library == 0 {
        thread.library_at = (&raw const place).addr();
    }
    let short_cut = thread.fast.load(Relaxed);
    go_inside(thread);
    let _inside = Library { thread, short_cut };
    call()
}

#[inline(always)]
fn go_inside(thread: &mut Thread) {
    thread.library += 1;
    thread.fast.store(fast::NONE, Release);
}

/// The short cut that it had outside was `before`: a recording's is the same again, unless that has ended meanwhile.
#[inline(always)]
fn come_out(thread: &mut Thread, before: u32) {
    thread.library -= 1;
    if thread.library == 0 {
        if before == fast::RECORD && recording() {
            thread.fast.store(before, Release);
        } else {
            process::set_short_cut(thread);
        }
    }
}

/// From here on this thread is inside such a library.
pub fn enter_library() {
    if let Some(thread) = thread::current() {
        go_inside(thread);
    }
}

/// From here on it is not any more.
pub fn leave_library() {
    if let Some(thread) = thread::current() {
        come_out(thread, fast::NONE);
    }
}

/// Whether this thread is inside such a library.
pub fn is_in_library() -> bool {
    thread::current().is_some_and(|thread| thread.library > 0)
}

/// Ends even if the call unwinds: its thread may be cancelled in it.
struct Library {
    thread: *mut Thread,
    /// What the thread had outside.
    short_cut: u32,
}

impl Drop for Library {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the calling thread's own; threads are never freed.
        come_out(unsafe { &mut *self.thread }, self.short_cut);
    }
}

/// Notes an operation for a person to read, where that is wanted.
#[inline]
pub fn tell(thread: &mut Thread, op: Op, event: u64, object: usize, version: u64, result: i64) {
    if tells(thread) {
        tell_whole(thread, Rich { op, event, object: object as u64, version, result, ..NOTHING_TOLD });
    }
}

const NOTHING_TOLD: Rich =
    Rich { sequence: 0, op: Op::Misc, event: 0, object: 0, version: 0, result: 0, message: None, pcs: [0; rich::PCS] };

/// Notes that a message was received on, or found at, `object`.
pub fn tell_message(thread: &mut Thread, op: Op, event: u64, object: usize, message: rich::Message) {
    if tells(thread) {
        tell_whole(thread, Rich { op, event, object: object as u64, message: Some(message), ..NOTHING_TOLD });
    }
}

/// Whether the thread tells everything.
#[inline]
pub fn tells(thread: &Thread) -> bool {
    process::get().is_rich() && thread.rich.is_open()
}

#[cold]
#[inline(never)]
fn tell_whole(thread: &mut Thread, told: Rich) {
    let process = process::get();
    let sequence = process.session().map_or(0, |session| session.sequence.fetch_add(1, AcqRel));
    let told = Rich { sequence, pcs: report::callers(), ..told };
    thread.begin();
    if let Some(to) = thread.rich.room(&raw mut process.rich, rich::ROOM) {
        // SAFETY: there is room.
        let to = unsafe { rich::write(to, &told) };
        thread.rich.advance(to);
    }
    thread.finish();
}

/// One operation on an object.
pub struct Turn<'a, O: Object> {
    pub op: Op,
    pub address: usize,
    pub object: &'a O,
    /// Whether a result other than 0 means that the object was obtained all the same.
    pub obtained: fn(c_int) -> bool,
    /// Whether failing is finding nothing, which costs no tape when it is repeated.
    pub polls: bool,
    /// Whether a thread can be cancelled in the call.
    pub cancels: bool,
    /// The call in a form that does not wait, for when a schedule is followed: `None` if it would have to.
    pub attempt: Option<&'a dyn Fn() -> Option<c_int>>,
    /// What the call returns when its time is over, if it has one, and when that is in virtual time.
    pub late: c_int,
    pub until_ns: u64,
}

fn never(_: c_int) -> bool {
    false
}

impl<'a, O: Object> Turn<'a, O> {
    pub fn new(op: Op, address: usize, object: &'a O) -> Self {
        Turn { op, address, object, obtained: never, polls: false, cancels: false, attempt: None, late: 0, until_ns: 0 }
    }

    /// Failing is finding nothing.
    pub fn polling(op: Op, address: usize, object: &'a O) -> Self {
        Turn { polls: true, ..Turn::new(op, address, object) }
    }

    /// Obtains the object: `real` is the call as the program made it, `again` its blocking form for a replay.
    #[inline]
    pub fn acquire(&self, real: impl FnOnce() -> c_int, again: impl FnOnce() -> c_int) -> c_int {
        let Some(thread) = enter() else { return real() };
        serial::point();
        let mut at_once = None;
        let _away = serial::away(|| {
            at_once = self.attempt.and_then(|attempt| attempt());
            at_once.is_none() && !self.polls
        });
        if recording() {
            let result = at_once.or_else(|| self.scheduled(thread));
            let result = result.unwrap_or_else(|| cancellable(self.op, real));
            self.record(thread, result);
            return result;
        }
        schedule::before(self.op, self.address);
        let Some(step) = thread.step_at(self.op, self.address) else { return real() };
        if step.result == CANCELLED {
            cancelled_here(thread, self.op, self.address);
        }
        if step.result != 0 && !(self.obtained)(step.result as c_int) {
            self.replayed(thread, step.result);
            return step.result as c_int;
        }
        self.object.wait(thread, step.order);
        let result = if self.cancels { undisturbed(again) } else { again() };
        if result != 0 && !(self.obtained)(result) {
            report::other(thread, self.op, "success");
        }
        self.object.taken(thread);
        self.replayed(thread, step.result);
        step.result as c_int
    }

    /// Following a schedule: what the call returns, made when this thread is named; `None` if the real call is to be made.
    #[inline]
    fn scheduled(&self, thread: &mut Thread) -> Option<c_int> {
        if self.late != 0 && schedule::explores() {
            let attempt = self.attempt?;
            let result = schedule::obtain_in_time(self.op, self.address, self.until_ns, attempt);
            return result.or_else(|| schedule::takes_part().then_some(self.late));
        }
        schedule::before(self.op, self.address);
        let attempt = self.attempt.filter(|_| schedule::is_on())?;
        let said = schedule::said();
        if said == Some(outcome::CANCELLED) && self.cancels {
            schedule::require_cancelled(thread, self.op, self.address);
            return cancellable(self.op, || wait_for_cancel());
        }
        match said.map(|said| said as c_int) {
            Some(said) if said != 0 && !(self.obtained)(said) => {
                if !self.polls && said != self.late {
                    schedule::refuse_busy(thread, self.op, self.address, "it cannot return what is said");
                }
                clock::reaches(self.until_ns);
                Some(said)
            }
            Some(_) => attempt().or_else(|| schedule::refuse_busy(thread, self.op, self.address, "it cannot succeed")),
            None if self.polls => None,
            None if self.late != 0 && schedule::is_rich() => attempt().or_else(|| {
                clock::reaches(self.until_ns);
                Some(self.late)
            }),
            None => schedule::obtain(self.op, self.address, attempt),
        }
    }

    /// Recording: the call has returned `result`.
    #[inline]
    pub fn record(&self, thread: &mut Thread, result: c_int) {
        thread.begin();
        if result == 0 || (self.obtained)(result) {
            self.object.took(thread);
        }
        if result != 0 {
            if self.polls {
                thread.poll(self.op, i64::from(result));
            } else {
                thread.result(self.op, i64::from(result));
            }
        }
        thread.happen();
        thread.finish();
        self.told(thread, thread.count(), i64::from(result));
    }

    fn told(&self, thread: &mut Thread, event: u64, result: i64) {
        if process::get().is_rich() {
            let version = if result == 0 { self.object.version() } else { 0 };
            tell(thread, self.op, event, self.address, version, result);
        }
    }

    /// Told first: once the event has happened, whoever waited for it tells the next.
    fn replayed(&self, thread: &mut Thread, result: i64) {
        self.told(thread, thread.count() + 1, result);
        thread.happened();
    }

    /// An ordered operation that does not block and comes before its real call (a post): `real` returns 0 or an error, the
    /// same in a replay. Whoever it lets go on may end the process at once, so the event counts before the call.
    pub fn release(&self, real: impl FnOnce() -> c_int) -> c_int {
        let Some(thread) = enter() else { return real() };
        schedule::before(self.op, self.address);
        if recording() {
            thread.begin();
            self.object.took(thread);
            if process::get().is_rich() {
                tell(thread, self.op, thread.count() + 1, self.address, self.object.version(), 0);
            }
            thread.happen();
            let result = real();
            thread.finish();
            held::let_in(thread);
            schedule::behind();
            return result;
        }
        let Some(step) = thread.step_at(self.op, self.address) else { return real() };
        self.object.wait(thread, step.order);
        self.object.taken(thread);
        self.told(thread, thread.count() + 1, step.result);
        // A handler may wait for what this gives.
        thread.begin();
        thread.counts();
        let result = real();
        thread.finish();
        thread.look_ahead();
        schedule::behind();
        result
    }
}

/// Recording: this thread was cancelled inside a call of kind `op`, or in a handler that came into it and has noted it.
pub fn record_cancelled(op: Op) {
    if let Some(thread) = enter()
        && !thread.is_unwound
    {
        thread.begin();
        thread.is_unwound = true;
        let sleeps = thread.rests().sleeps;
        if sleeps > 0 && op == Op::Sleep {
            thread.slept(u64::from(sleeps));
        }
        if op == Op::Outward {
            thread.came_inside(false);
        }
        thread.result(op, CANCELLED);
        thread.happen();
        thread.finish();
    }
}

/// Replay: this thread was cancelled here, so it waits for that. It is told when it has come: behind what its canceller did
/// before.
pub fn cancelled_here(thread: &mut Thread, op: Op, address: usize) -> ! {
    struct Told(Op, usize);
    impl Drop for Told {
        fn drop(&mut self) {
            if let Some(thread) = thread::current() {
                tell(thread, self.0, thread.count(), self.1, 0, CANCELLED);
            }
        }
    }
    thread.happened();
    let _told = Told(op, address);
    wait_for_cancel()
}

unsafe extern "C-unwind" {
    #[link_name = "pthread_setcanceltype"]
    fn libc_cancel_type(kind: c_int, old: *mut c_int) -> c_int;
}

/// Waits until this thread is cancelled; it then unwinds from here.
pub fn wait_for_cancel() -> ! {
    if let Some(thread) = thread::current() {
        settled::leaves(thread);
    }
    loop {
        // SAFETY: callers hold nothing that unwinding would lose. A cancellation that has come acts when the type is made
        // asynchronous; `pthread_testcancel` itself is caught.
        unsafe {
            let mut before = 0;
            libc_cancel_type(1, &mut before);
            libc_cancel_type(before, core::ptr::null_mut());
        }
        crate::sys::sleep_ns(200_000);
    }
}

/// Runs a call of a replay that was not cancelled when it was recorded: a cancellation waits until it is its time.
pub fn undisturbed<R>(call: impl FnOnce() -> R) -> R {
    let mut before = 0;
    // SAFETY: the state is this thread's own and is put back.
    unsafe { libc_cancel_state(1, &mut before) };
    let result = call();
    // SAFETY: as above.
    unsafe { libc_cancel_state(before, core::ptr::null_mut()) };
    result
}

unsafe extern "C" {
    #[link_name = "pthread_setcancelstate"]
    fn libc_cancel_state(state: c_int, old: *mut c_int) -> c_int;
}

/// Makes a call that shows the world something. No event, but a handler may have run after it, or inside, since it may have to
/// wait.
pub fn showing<R>(call: impl FnOnce() -> R) -> R {
    let Some(thread) = enter() else { return call() };
    if recording() {
        return releasing(call);
    }
    thread.about_to_release();
    thread.releases();
    let result = match thread.due_signal() {
        Some(number) => held::interrupted(thread, number, call),
        None => call(),
    };
    thread.released();
    result
}

/// Makes a call that releases an object, and does not wait. No event, but a handler may have run after it.
pub fn releasing<R>(call: impl FnOnce() -> R) -> R {
    let Some(thread) = enter() else { return call() };
    if recording() {
        thread.releases();
        let result = call();
        held::let_in(thread);
        return result;
    }
    thread.about_to_release();
    let result = call();
    thread.releases();
    thread.released();
    result
}

/// A place for handlers of signals that have come, before something that they must not come behind.
pub fn place() {
    releasing(|| {});
}

/// Signals can come that could not before: in a replay, those that are due are handled.
pub fn look_ahead() {
    if !recording()
        && let Some(thread) = enter()
    {
        thread.look_ahead();
    }
}

/// A call without an object whose result could have been another. `real` gives 0 or what is to be noted; `replay` makes
/// the result so again.
#[inline]
pub fn outcome(op: Op, polls: bool, real: impl FnOnce() -> i64, replay: impl FnOnce(i64)) -> i64 {
    outcome_at(op, 0, polls, real, replay)
}

/// The same, of a call on `object`.
#[inline]
pub fn outcome_at(op: Op, object: usize, polls: bool, real: impl FnOnce() -> i64, replay: impl FnOnce(i64)) -> i64 {
    let Some(thread) = enter() else { return real() };
    if recording() {
        let result = cancellable(op, real);
        thread.begin();
        if result != 0 {
            if polls { thread.poll(op, result) } else { thread.result(op, result) }
        }
        thread.happen();
        thread.finish();
        tell(thread, op, thread.count(), object, 0, result);
        held::let_in(thread);
        return result;
    }
    let Some(step) = thread.step_at(op, object) else { return real() };
    if step.result == CANCELLED {
        cancelled_here(thread, op, object);
    }
    if let Order::Edge { thread: other, count } = step.order {
        crate::park::wait_for_thread(thread, other, count);
    }
    undisturbed(|| replay(step.result));
    thread.happened();
    tell(thread, op, thread.count(), object, 0, step.result);
    step.result
}

/// Makes a blocking call while recording; a cancellation inside it is noted.
pub fn cancellable<R>(op: Op, call: impl FnOnce() -> R) -> R {
    inside(call, || record_cancelled(op))
}

/// Makes a blocking call while recording: signals that are handled meanwhile are inside it. `cancelled` is called if the
/// thread is cancelled in it.
pub fn inside<R>(call: impl FnOnce() -> R, cancelled: impl FnOnce()) -> R {
    inside_marked(0, call, cancelled)
}

/// The same, of a call that waits for the outside.
pub fn outward<R>(call: impl FnOnce() -> R, cancelled: impl FnOnce()) -> R {
    inside_marked(OUTWARD, call, cancelled)
}

/// In [`Thread::inside_at`]: the call waits for the outside.
const OUTWARD: usize = 1;

impl Thread {
    /// Recording: whether a call that may block is under way.
    pub fn is_inside(&self) -> bool {
        self.inside > self.inside_around
    }

    /// Recording: whether the innermost call under way waits for the outside.
    pub fn is_outward(&self) -> bool {
        if !self.is_inside() {
            return false;
        }
        let last = (self.inside as usize).checked_sub(1).and_then(|last| self.inside_at.get(last));
        last.is_some_and(|at| at & OUTWARD != 0)
    }
}

fn inside_marked<R>(mark: usize, call: impl FnOnce() -> R, cancelled: impl FnOnce()) -> R {
    let mut guard = Inside { depth: 0, cancelled: Some(cancelled) };
    let at = (&raw const guard).addr() | mark;
    if let Some(thread) = thread::current() {
        guard.depth = thread.inside;
        if let Some(place) = thread.inside_at.get_mut(guard.depth as usize) {
            *place = at;
        }
        // A handler that comes from here on may jump, and then the place counts.
        compiler_fence(SeqCst);
        thread.inside = guard.depth + 1;
    }
    let result = call();
    guard.cancelled = None;
    result
}

struct Inside<F: FnOnce()> {
    depth: u32,
    cancelled: Option<F>,
}

impl<F: FnOnce()> Drop for Inside<F> {
    fn drop(&mut self) {
        if let Some(thread) = thread::current() {
            thread.inside = self.depth;
        }
        if let Some(cancelled) = self.cancelled.take() {
            cancelled();
        }
    }
}

/// A handler jumps to where the stack pointer is `to`: the calls that began below are left, and nobody returns to say so.
/// A call that began very far away lies on another stack.
pub fn jumps(to: usize) {
    const STACK: usize = 64 << 20;
    let Some(thread) = thread::current() else { return };
    thread.outward.is_real = false;
    while let Some(last) = thread.inside.checked_sub(1) {
        let at = thread.inside_at.get(last as usize).copied().unwrap_or(to);
        if at > to || to - at > STACK {
            break;
        }
        thread.inside = last;
    }
    thread.inside_around = thread.inside_around.min(thread.inside);
}
