//! In turn: the threads of each process run one at a time, while they are recorded and in the replay.
//!
//! What threads do to plain memory, by atomics, and to locks that are futexes, is in no order on a tape. If only one of them
//! runs at a time, it is: a replay that passes the baton on where it was passed on does it all again in the same order. So
//! what Retake cannot see is recorded, too, at the price of one processor.
//!
//! Whoever has the baton goes on until it would have to wait, or until another wants it and its slice of time is over: that one
//! gets it at the next point. Slices are drawn, short ones as often as long ones, since a failure may need either. Points come
//! before events, behind what gives something to others, and where a thread yields. Around a call that may wait a thread is
//! away: it has given the baton on, and wants it back before it goes on. Nothing else differs from other recordings.
//!
//! ```text
//! stops    at a point, or when it goes away: an event, by the number of the point
//! goes on  an event with an edge to the stop of whoever had the baton last
//! ```
//!
//! Deviation: a thread that waits or spins where it is not seen would keep the baton for ever. It is left to itself, and wants
//! the baton again at its next point; what it does until then is in no order. Where it computed, that is told.
//!
//! Law: the baton changes hands under one lock, by threads that are busy. Points are counted alike in both runs.

use crate::lock::Lock;
use crate::park;
use crate::process;
use crate::replay::Order;
use crate::seen::Seen;
use crate::sys;
use crate::thread::Thread;
use crate::turn;
use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64};
use retake_tape::op::Op;
use retake_tape::session::flag;

/// A thread's part in it.
#[repr(C)]
pub struct Serial {
    /// See [`at`].
    at: AtomicU32,
    /// The baton is its own: it goes on.
    turn: AtomicU32,
    /// The points that it has come to.
    points: AtomicU64,
    /// Since when it waits for the baton, in an order of all.
    since: AtomicU64,
    /// How long it had computed when it was left to itself for that; 0: it was not.
    left_ns: AtomicI64,
    /// It makes a team of threads, which come when they have something to do; and it is one of those.
    makes_team: AtomicBool,
    is_of_team: AtomicBool,
}

mod at {
    /// It takes no part, any more or yet.
    pub const NOWHERE: u32 = 0;
    /// It has the baton.
    pub const RUNS: u32 = 1;
    /// It waits for the baton.
    pub const WAITS: u32 = 2;
    /// It goes on without the baton, and wants it at its next point.
    pub const AWAY: u32 = 3;
}

/// The code of going on; the code of stopping is the number of the point.
const GOES_ON: i64 = 0;

static ON: AtomicBool = AtomicBool::new(false);
static LOCK: Lock = Lock::new();
static HOLDER: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
/// Somebody wants the baton.
static WANTED: AtomicBool = AtomicBool::new(false);
/// Who had the baton last, and which event it had come to.
static LAST: AtomicU32 = AtomicU32::new(0);
static LAST_COUNT: AtomicU64 = AtomicU64::new(0);
/// Threads that take part.
static MANY: AtomicU32 = AtomicU32::new(0);
static CLOCK: AtomicU64 = AtomicU64::new(0);
/// When the slice of whoever has the baton is over, by the processor's counter.
static UNTIL: AtomicU64 = AtomicU64::new(0);
/// A slice in cycles, as a power of two: from less than a microsecond to some two milliseconds.
const SLICE_LEAST: u64 = 10;
const SLICE_MOST: u64 = 22;

/// Computing so long without a point is taken for spinning: less where it was, more where it was not.
static PATIENCE_NS: AtomicI64 = AtomicI64::new(250_000_000);
const PATIENCE_NS_MIN: i64 = 1_000_000;
const PATIENCE_NS_MAX: i64 = 2_000_000_000;
/// By the clock on the wall it is so many times as long, since other programs may have the processors.
const PATIENCE_WALL: i64 = 8;
/// How often those who wait for the baton look at who has it, all together.
const LOOK_NS: u64 = 1_000_000;
/// Seen asleep so often in a row, it waits where it is not seen.
const RESTS: u32 = 3;
/// A short wait spins.
const SPINS: u32 = 200;

/// Whether threads take turns here.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

/// The process begins: `thread` is its only one, and has the baton.
pub fn begin(thread: &mut Thread) {
    let is_on = process::get().has(flag::SERIAL);
    ON.store(is_on, Relaxed);
    if is_on {
        LOCK.reset();
        MANY.store(1, SeqCst);
        thread.serial.at.store(at::RUNS, SeqCst);
        HOLDER.store(thread, SeqCst);
        LAST.store(0, Relaxed);
    }
}

/// The calling thread, if it takes part. A child that borrows its memory leaves no trace there.
fn part() -> Option<&'static mut Thread> {
    turn::enter().filter(|thread| thread.serial.at.load(Relaxed) != at::NOWHERE && !thread.lends)
}

/// A thread is about to be created.
pub fn creates(child: &Thread) {
    if is_on() {
        MANY.fetch_add(1, SeqCst);
        let is_of_team = crate::thread::current().is_some_and(|thread| thread.serial.makes_team.load(Relaxed));
        child.serial.is_of_team.store(is_of_team, Relaxed);
        child.serial.at.store(at::AWAY, SeqCst);
    }
}

/// It could not be created.
pub fn creates_not(child: &Thread) {
    if is_on() {
        MANY.fetch_sub(1, SeqCst);
        child.serial.at.store(at::NOWHERE, SeqCst);
    }
}

/// A new thread waits for its turn.
pub fn starts(thread: &mut Thread) {
    if is_on() && !thread.serial.is_of_team.load(Relaxed) {
        goes_on(thread);
    }
}

/// A thread's function has ended: it takes no part any more.
pub fn has_ended(thread: &mut Thread) {
    if is_on() && thread.serial.at.load(Relaxed) != at::NOWHERE {
        arrives(thread);
        if turn::recording() || stops_here(thread) {
            stops(thread, at::NOWHERE);
        }
        MANY.fetch_sub(1, SeqCst);
    }
}

/// A point: who is wanted gives the baton on.
#[inline(always)]
pub fn point() {
    if is_on() {
        come(false);
    }
}

/// A point where the thread does nothing for a while.
#[inline(always)]
pub fn yields() {
    if is_on() {
        come(true);
    }
}

#[cold]
#[inline(never)]
fn come(yields: bool) {
    let Some(thread) = part() else { return };
    arrives(thread);
    let is_due = if turn::recording() {
        let is_time = yields || WANTED.load(Relaxed) && cycles() >= UNTIL.load(Relaxed);
        is_time && somebody_waits() || thread.serial.at.load(Relaxed) != at::RUNS
    } else {
        stops_here(thread)
    };
    if is_due {
        stops(thread, at::AWAY);
        goes_on(thread);
    }
}

/// The calling thread is about to wait for others, or for the outside: others go on until the value is dropped. `waits` says
/// whether it will, as far as can be told; it is asked only where others are there, and while recording.
#[inline(always)]
pub fn away(waits: impl FnOnce() -> bool) -> Option<Away> {
    if is_on() { leave(waits) } else { None }
}

#[cold]
#[inline(never)]
fn leave(waits: impl FnOnce() -> bool) -> Option<Away> {
    let thread = part()?;
    arrives(thread);
    let leaves = if turn::recording() { MANY.load(SeqCst) > 1 && waits() } else { stops_here(thread) };
    if !leaves {
        return None;
    }
    stops(thread, at::AWAY);
    Some(Away(()))
}

/// Without the baton. Dropped, it waits for it, even if the call unwinds: its thread may be cancelled in it.
pub struct Away(());

impl Drop for Away {
    fn drop(&mut self) {
        if let Some(thread) = part() {
            goes_on(thread);
        }
    }
}

/// A library makes a team of threads, and runs by all of them what the calling thread gives it: until the value is dropped, when
/// all have done their part.
pub fn team() -> Option<Team> {
    let thread = part().filter(|_| is_on())?;
    Some(Team(thread.serial.makes_team.swap(true, Relaxed)))
}

/// The team is made; whether the thread makes another one around it.
pub struct Team(bool);

impl Drop for Team {
    fn drop(&mut self) {
        if let Some(thread) = part() {
            thread.serial.makes_team.store(self.0, Relaxed);
            goes_on(thread);
        }
    }
}

/// The calling thread does its part in a team until the value is dropped; then it is away.
pub fn member() -> Option<Member> {
    let thread = part()?;
    if comes_back(thread) {
        goes_on(thread);
    }
    Some(Member(thread.serial.makes_team.swap(false, Relaxed)))
}

/// In its part; whether it is the one that has made the team.
pub struct Member(bool);

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(thread) = part() {
            thread.serial.makes_team.store(self.0, Relaxed);
            arrives(thread);
            stops(thread, at::AWAY);
        }
    }
}

/// Whether the thread has been away, and goes on here.
fn comes_back(thread: &Thread) -> bool {
    if turn::recording() {
        thread.serial.at.load(Relaxed) == at::AWAY
    } else {
        thread.next_result(Op::Baton) == Some(GOES_ON)
    }
}

/// The thread has come to a point. What a handler did before it, it has done by now: a point is a place for that, too.
fn arrives(thread: &mut Thread) {
    let is_replay = !turn::recording();
    if is_replay {
        thread.about_to_release();
    } else {
        let left_ns = thread.serial.left_ns.load(Relaxed);
        if left_ns != 0 {
            judge(thread, left_ns);
        }
    }
    // One instruction, because a handler of this thread may come to points, too.
    // SAFETY: only this thread writes the field.
    unsafe { core::arch::asm!("inc qword ptr [{}]", in(reg) thread.serial.points.as_ptr(), options(nostack)) }
    thread.releases();
    if is_replay {
        thread.released();
    }
}

/// The program's handler runs until the value is dropped: with the baton, even if it came into a call that waits, or where the
/// thread has been left to itself. The caller is busy, so that no other handler comes before this one has its turn.
pub fn in_handler(thread: &mut Thread) -> Option<InHandler> {
    if !is_on() || thread.busy > 1 || thread.serial.at.load(Relaxed) == at::NOWHERE {
        return None;
    }
    let was_away = comes_back(thread);
    let around = core::mem::replace(&mut thread.inside_around, thread.inside);
    if was_away {
        goes_on(thread);
    }
    Some(InHandler { was_away, around })
}

/// Dropped, the thread is away again, if it was.
pub struct InHandler {
    was_away: bool,
    /// [`Thread::inside_around`] before it.
    around: u32,
}

impl Drop for InHandler {
    fn drop(&mut self) {
        if let Some(thread) = part() {
            thread.inside_around = self.around;
            if self.was_away {
                arrives(thread);
                stops(thread, at::AWAY);
            }
        }
    }
}

/// Replay: whether the thread gave the baton on at the point that it has come to.
fn stops_here(thread: &Thread) -> bool {
    thread.next_result(Op::Baton) == Some(thread.serial.points.load(Relaxed) as i64)
}

/// The thread stops where it is, an event, and gives the baton on if it has it; what it does then is up to it. Handlers run
/// before all that or behind it.
fn stops(thread: &mut Thread, to: u32) {
    if turn::recording() {
        let mine = &raw mut *thread;
        let point = thread.serial.points.load(Relaxed) as i64;
        thread.begin();
        thread.result(Op::Baton, point);
        thread.happen();
        LOCK.with(|| {
            thread.serial.at.store(to, SeqCst);
            if HOLDER.load(SeqCst) == mine {
                pass(thread);
            }
        });
        thread.finish();
    } else if thread.step(Op::Baton).is_some() {
        thread.serial.at.store(to, Relaxed);
        thread.happened();
    }
}

/// The thread waits until it is its turn to go on: an event, behind the stop of whoever had the baton.
fn goes_on(thread: &mut Thread) {
    if turn::recording() {
        thread.begin();
        take(thread);
        let (other, count) = (LAST.load(Relaxed), LAST_COUNT.load(Relaxed));
        thread.result(Op::Baton, GOES_ON);
        if other != 0 && other != thread.number {
            thread.edge(other, count);
        }
        thread.happen();
        thread.finish();
    } else if let Some(step) = thread.step(Op::Baton) {
        if let Order::Edge { thread: other, count } = step.order {
            park::wait_for_thread(thread, other, count);
        }
        thread.serial.at.store(at::RUNS, Relaxed);
        thread.happened();
    }
}

/// The baton goes from `last` to whoever has waited longest. Under the lock.
fn pass(last: &Thread) {
    LAST.store(last.number, Relaxed);
    LAST_COUNT.store(last.count(), Relaxed);
    WANTED.store(false, Relaxed);
    let mut first: Option<&Thread> = None;
    let mut many = 0;
    each_that_waits(|thread| {
        many += 1;
        let since = |thread: &Thread| thread.serial.since.load(Relaxed);
        if first.is_none_or(|first| since(thread) < since(first)) {
            first = Some(thread);
        }
    });
    let next = first.map_or(null_mut(), |first| core::ptr::from_ref(first).cast_mut());
    HOLDER.store(next, SeqCst);
    if let Some(next) = first {
        next.serial.at.store(at::RUNS, SeqCst);
        next.serial.turn.store(1, SeqCst);
        // SAFETY: waking touches no memory.
        unsafe { sys::futex_wake(next.serial.turn.as_ptr(), 1, false) };
    }
}

fn each_that_waits(mut body: impl FnMut(&'static Thread)) {
    crate::thread::each(|thread| {
        if thread.serial.at.load(SeqCst) == at::WAITS {
            // SAFETY: threads are never freed.
            body(unsafe { &*core::ptr::from_ref(thread) });
        }
    });
}

fn somebody_waits() -> bool {
    let mut waits = false;
    each_that_waits(|_| waits = true);
    waits
}

fn cycles() -> u64 {
    // SAFETY: every processor of this kind has the counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// A new slice begins.
fn draw_slice() {
    let now = cycles();
    // The lower bits of the counter are as good as drawn.
    let drawn = now.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let power = SLICE_LEAST + drawn % (SLICE_MOST - SLICE_LEAST);
    UNTIL.store(now + (1 << power) + (drawn & ((1 << power) - 1)), Relaxed);
}

/// Takes the baton, when it is there.
fn take(thread: &mut Thread) {
    let mine = &raw mut *thread;
    let has_it = LOCK.with(|| {
        let holder = HOLDER.load(SeqCst);
        let is_free = holder.is_null() || holder == mine;
        if is_free {
            HOLDER.store(mine, SeqCst);
        } else {
            thread.serial.since.store(CLOCK.fetch_add(1, Relaxed), Relaxed);
        }
        thread.serial.at.store(if is_free { at::RUNS } else { at::WAITS }, SeqCst);
        is_free
    });
    if !has_it {
        WANTED.store(true, Relaxed);
        wait(thread);
    }
    draw_slice();
}

fn wait(thread: &Thread) {
    let word = &thread.serial.turn;
    let mut spins = 0;
    while word.swap(0, SeqCst) == 0 {
        spins += 1;
        if spins < SPINS && process::get().processors > 1 {
            core::hint::spin_loop();
            continue;
        }
        // SAFETY: threads are never freed.
        let late = unsafe { sys::futex_wait(word.as_ptr(), 0, LOOK_NS * u64::from(MANY.load(Relaxed))) };
        if late && word.load(SeqCst) == 0 {
            WANTED.store(true, Relaxed);
            LOCK.with(look);
        }
    }
}

/// What is known of whoever has the baton, and when that was looked at last. Under the lock.
struct Watched(UnsafeCell<(Seen, i64)>);
// SAFETY: under the lock.
unsafe impl Sync for Watched {}
static WATCHED: Watched = Watched(UnsafeCell::new((Seen::NOTHING, 0)));

/// Looks whether whoever has the baton will ever come to a point; if not, it is left to itself. Under the lock.
fn look() {
    // SAFETY: under the lock.
    let (seen, looked_ns) = unsafe { &mut *WATCHED.0.get() };
    // SAFETY: null, or a thread; these are never freed.
    let Some(running) = (unsafe { HOLDER.load(SeqCst).as_ref() }) else { return };
    let now_ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
    if now_ns - *looked_ns < LOOK_NS as i64 / 2 {
        return;
    }
    *looked_ns = now_ns;
    let step = running.serial.points.load(Relaxed).wrapping_add(running.count());
    let Some(computed_ns) = seen.look(running, step) else { return };
    let patience = PATIENCE_NS.load(Relaxed);
    let spins =
        computed_ns > patience || computed_ns > PATIENCE_NS_MIN && now_ns - seen.since_ns > PATIENCE_WALL * patience;
    if !spins && seen.rests < RESTS && !sys::is_no_more(running.tid) {
        return;
    }
    if spins {
        running.serial.left_ns.store(sys::cpu_ns_of(running.tid), Relaxed);
        if let Some(session) = process::get().session() {
            session.spun.fetch_add(1, Relaxed);
        }
    }
    running.serial.at.store(at::AWAY, SeqCst);
    pass(running);
}

/// Recording: the thread, which was left to itself, has come to a point. If it came soon, it had waited for others; if not, it
/// has computed, and next time more patience is due.
#[cold]
fn judge(thread: &Thread, left_ns: i64) {
    thread.serial.left_ns.store(0, Relaxed);
    let patience = PATIENCE_NS.load(Relaxed);
    let has_computed = sys::cpu_ns_of(thread.tid) - left_ns > 2 * patience;
    let next = if has_computed { patience * 4 } else { patience / 2 };
    PATIENCE_NS.store(next.clamp(PATIENCE_NS_MIN, PATIENCE_NS_MAX), Relaxed);
}
