//! Halting: a thread stops for a moment, where the tape can tell, because another one's wait was over by time.
//!
//! What a thread does when its time is over may be to set a flag at which another looks while it computes: so CPython's
//! threads ask for the interpreter's lock. When that flag is seen decides what happens next, and no event tells it.
//!
//! Recording: who is about to set the flag first waits until the other comes to a place, which is its next event or look
//! at a clock. There it halts until the flag is set. A replay lets the two meet at the same place, so the flag is seen
//! where it was. Who computes too long without a place is not waited for; it is told then behind which release it was,
//! and how long it had computed. A replay waits for as much: its events come out the same, but what it computes between two
//! of them may be cut elsewhere. If it comes to a place after all before the flag is set, it halts there.
//!
//! ```text
//! asks    time is over ──ask──────────────────> sets the flag ── next call of ours: point
//! halts        computes ── event comes: point ··············(halts)·············· goes on
//! ```

use crate::park;
use crate::process::{self, Seat, mode};
use crate::settled;
use crate::sys;
use crate::thread::{self, Thread, fast, waiting};
use crate::turn;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64};
use retake_tape::entry::Place;

/// A thread's part in it.
#[derive(Default)]
pub struct Halt {
    /// Recording, written by who asks, and from when it halts by this thread: see [`state`].
    state: AtomicU32,
    /// Who asks, for what came of which event, and behind which release this thread was.
    by: AtomicU32,
    count: AtomicU64,
    releases: AtomicU64,
    worked_ns: AtomicI64,
    /// Recording: who halts for this thread.
    halts: AtomicPtr<Thread>,
    /// Replay: the thread that its next wait, over by time, asks; and the event for which one halts now. 0: none.
    pub asks: u32,
    met: u64,
}

mod state {
    pub const FREE: u32 = 0;
    /// It is waited for.
    pub const ASKED: u32 = 1;
    pub const HALTS: u32 = 2;
    /// It is not waited for any more, but the flag is not set yet: it may still halt.
    pub const GIVEN_UP: u32 = 3;
    /// The flag is set while it computes.
    pub const MISSED: u32 = 4;
}

impl Halt {
    fn goes_from(&self, before: u32, after: u32) -> Result<u32, u32> {
        self.state.compare_exchange(before, after, AcqRel, Acquire)
    }
}

/// So many are asked, or halt: nobody else has to look.
static OPEN: AtomicU32 = AtomicU32::new(0);

/// How long a thread may compute before it is given up, by its own clock: less where that has been in vain.
static PATIENCE_NS: AtomicI64 = AtomicI64::new(PATIENCE_NS_MAX);
const PATIENCE_NS_MAX: i64 = 50_000_000;
const PATIENCE_NS_MIN: i64 = 5_000_000;
/// The same by the clock on the wall: it may be kept from its processor, or wait for the kernel.
const MOMENT_NS: i64 = 200_000_000;
/// The same for others that are let pass. In a recording they had as long as the wait took, in a replay that takes no time.
const PASS_NS: i64 = 1_000_000;
const REPLAY_PASS_NS: i64 = 20_000_000;
/// Between two looks.
const LOOK_NS: u64 = 20_000;
/// Nobody halts for longer in a recording, whatever becomes of the other.
const HALT_NS_MAX: i64 = 1_000_000_000;
/// A replay's thread that has no events left has so long to come to a place behind them.
const LAST_NS: i64 = 100_000_000;

/// In a forked child nobody asks.
pub fn reset() {
    OPEN.store(0, Relaxed);
}

fn now_ns() -> i64 {
    sys::clock_ns(libc::CLOCK_MONOTONIC)
}

/// Recording: the wait of `thread` is over by time, which will be its next event. Whatever it does about that, `other` is to
/// see it at a place that the tape can tell. Whether it does; if not, it is told only behind which release it was.
pub fn ask(thread: &mut Thread, other: &Thread) -> bool {
    let halt = &other.halt;
    halt.by.store(thread.number, Relaxed);
    halt.count.store(thread.count() + 1, Relaxed);
    OPEN.fetch_add(1, Release);
    if halt.state.swap(state::ASKED, AcqRel) != state::FREE {
        // It was given up before, and has come to no place since.
        OPEN.fetch_sub(1, AcqRel);
    }
    other.fast.store(fast::NONE, Release);
    let since = halts_soon(other);
    thread.begin();
    thread.note_asks(other.number);
    thread.finish();
    let_pass(thread, PASS_NS);
    halt.worked_ns.store(sys::cpu_ns_of(other.tid) - since, Relaxed);
    let halts = halt.goes_from(state::GIVEN_UP, state::MISSED) == Err(state::HALTS);
    if halts {
        thread.halt.halts.store(core::ptr::from_ref(other).cast_mut(), Relaxed);
        thread.fast.store(fast::NONE, Release);
    }
    halts
}

/// Waits until every other thread that was not asleep has worked for a moment. Who has just given something up may be about
/// to look whether it was asked for, and must not see a flag that is set for the next. A moment at most: others may be kept
/// from their processors.
fn let_pass(thread: &Thread, moment_ns: i64) {
    const WORK_NS: i64 = 20_000;
    let started = now_ns();
    thread::each(|other| {
        // SAFETY: the other's field; if it is changed just now, either value will do.
        let waits = || {
            other.waits.load(Relaxed) != waiting::NOT
                || unsafe { core::ptr::read_volatile(&raw const other.inside) } > 0
        };
        if core::ptr::eq(other, thread) || waits() {
            return;
        }
        let used = sys::cpu_ns_of(other.tid);
        let is_past = || sys::cpu_ns_of(other.tid) - used > WORK_NS || sys::is_asleep(other.tid);
        while other.in_use.load(Acquire) == 1 && !waits() && !is_past() && now_ns() - started < moment_ns {
            sys::sleep_ns(LOOK_NS);
        }
    });
}

/// Waits until the other halts, or has been given up. Since when it computes, by its own clock.
fn halts_soon(other: &Thread) -> i64 {
    let halt = &other.halt;
    let patience = PATIENCE_NS.load(Relaxed);
    let (started, used) = (now_ns(), sys::cpu_ns_of(other.tid));
    // SAFETY: the other's field; if it is raised just now, either value will do.
    let at = || (other.count(), unsafe { core::ptr::read_volatile(&raw const other.releases) });
    let (mut was_at, mut since) = (at(), used);
    while halt.state.load(Acquire) == state::ASKED {
        let is_gone = other.in_use.load(Acquire) != 1;
        let now = sys::cpu_ns_of(other.tid);
        if at() != was_at {
            (was_at, since) = (at(), now);
        }
        if is_gone || now - used > patience || now_ns() - started > MOMENT_NS {
            halt.releases.store(was_at.1, Relaxed);
            if halt.goes_from(state::ASKED, state::GIVEN_UP).is_ok() {
                if is_gone {
                    free(other);
                }
                PATIENCE_NS.store((patience / 2).max(PATIENCE_NS_MIN), Relaxed);
                return since;
            }
        }
        sys::sleep_ns(LOOK_NS);
    }
    PATIENCE_NS.store((patience * 2).min(PATIENCE_NS_MAX), Relaxed);
    since
}

fn free(thread: &Thread) {
    if thread.halt.state.swap(state::FREE, AcqRel) != state::FREE {
        OPEN.fetch_sub(1, AcqRel);
    }
}

/// A place: who halts for the calling thread goes on, and it halts itself if it was asked to.
#[inline(always)]
pub fn point() {
    if OPEN.load(Relaxed) != 0 {
        meet();
    }
}

#[cold]
#[inline(never)]
fn meet() {
    let Some(thread) = turn::enter() else { return };
    if process::mode() != mode::RECORD {
        return leave(thread);
    }
    // SAFETY: threads are never freed.
    if let Some(other) = unsafe { thread.halt.halts.swap(null_mut(), Relaxed).as_ref() } {
        free(other);
        process::set_short_cut(thread);
    }
    let goes = thread.halt.goes_from(state::ASKED, state::HALTS);
    match goes.or_else(|_| thread.halt.goes_from(state::GIVEN_UP, state::HALTS)) {
        Ok(_) => halt(thread),
        Err(state::MISSED) => {
            thread.begin();
            let worked_us = (thread.halt.worked_ns.load(Relaxed) / 1000) as u32;
            let place = Place::Behind { releases: thread.halt.releases.load(Relaxed), worked_us };
            thread.note_halts(thread.halt.by.load(Relaxed), thread.halt.count.load(Relaxed), place);
            free(thread);
            thread.finish();
        }
        Err(_) => return,
    }
    process::set_short_cut(thread);
}

fn halt(thread: &mut Thread) {
    /// The other only has to set its flag.
    const LOOKS: u32 = 2000;
    thread.begin();
    thread.note_halts(thread.halt.by.load(Relaxed), thread.halt.count.load(Relaxed), Place::Before);
    let (started, mut looks) = (now_ns(), 0);
    while thread.halt.state.load(Acquire) == state::HALTS {
        looks += 1;
        if looks < LOOKS {
            core::hint::spin_loop();
        } else if now_ns() - started < HALT_NS_MAX {
            sys::sleep_ns(LOOK_NS);
        } else {
            free(thread);
        }
    }
    thread.finish();
}

/// Replay: the thread halts here for what comes of that event of the other one.
pub fn replay(thread: &mut Thread, other: u32, count: u64) {
    let Some(seat) = process::get().seat(other) else { return };
    seat.halted_for.fetch_max(count, AcqRel);
    park::wait_until(thread, place(seat), || seat.went_on.load(Acquire) >= count);
}

/// In a replay, when who was asked in vain has computed for so long again.
#[derive(Default)]
pub struct Due {
    tid: AtomicU32,
    worked_ns: AtomicI64,
    count: AtomicU64,
}

/// Replay: the thread was behind its last release and had computed for so long when what came of that event was done. It goes
/// on, and the other one waits. Rather a little too early: the events behind the next are not to come before.
pub fn replay_behind(thread: &mut Thread, other: u32, count: u64, worked_us: u32) {
    const PART: i64 = 900;
    if settled::is_on() {
        return replay(thread, other, count);
    }
    let Some(seat) = process::get().seat(other) else { return };
    seat.due.worked_ns.store(sys::cpu_ns_of(thread.tid) + i64::from(worked_us) * PART, Relaxed);
    seat.due.count.store(thread.count(), Relaxed);
    seat.due.tid.store(thread.tid, Relaxed);
    seat.halted_for.fetch_max(count, AcqRel);
}

/// Replay: the wait of `thread` is over by time, as it was: waits for the one that halted for that, if one did.
pub fn replay_asks(thread: &mut Thread) {
    let other = core::mem::take(&mut thread.halt.asks);
    // SAFETY: seats live as long as the process.
    let (Some(seat), Some(other)) = (unsafe { thread.seat.as_ref() }, process::get().seat(other)) else { return };
    let event = thread.count() + 1;
    let last = AtomicI64::new(0);
    // Who was given up, and then killed before the next event, has nothing on its tape.
    let is_over = || {
        let now = now_ns();
        if other.header.count.load(Acquire) < other.total {
            last.store(now, Relaxed);
        }
        now - last.load(Relaxed) > LAST_NS
    };
    last.store(now_ns(), Relaxed);
    park::wait_until(thread, place(seat), || seat.halted_for.load(Acquire) >= event || is_over());
    let tid = seat.due.tid.swap(0, Relaxed);
    if tid != 0 {
        let is_due = || sys::cpu_ns_of(tid) >= seat.due.worked_ns.load(Relaxed);
        let has_gone_on = || other.header.count.load(Acquire) > seat.due.count.load(Relaxed);
        park::wait_until(thread, place(seat), || is_due() || has_gone_on());
    }
    if !settled::is_on() {
        let_pass(thread, REPLAY_PASS_NS);
    }
    thread.halt.met = event;
    OPEN.fetch_add(1, AcqRel);
    thread.fast.store(fast::NONE, Release);
}

/// Replay: the thread has come to the engine again, so whoever halts for it goes on.
fn leave(thread: &mut Thread) {
    let event = core::mem::take(&mut thread.halt.met);
    // SAFETY: as above.
    if let (true, Some(seat)) = (event > 0, unsafe { thread.seat.as_ref() }) {
        seat.went_on.store(event, Release);
        OPEN.fetch_sub(1, AcqRel);
        process::set_short_cut(thread);
    }
}

/// Where it is told to wait.
fn place(seat: &Seat) -> usize {
    core::ptr::from_ref(seat) as usize
}

/// Recording: waits until another thread has had more than `count` events: it is about to. A moment at most of its own time,
/// because it may not after all.
pub fn wait_for_next_event(other: &Thread, count: u64) {
    const WORK_NS: i64 = 2_000_000;
    let (started, used) = (now_ns(), sys::cpu_ns_of(other.tid));
    let mut looks = 0;
    while other.count() <= count && other.in_use.load(Acquire) == 1 {
        looks += 1;
        if looks % 64 != 0 {
            core::hint::spin_loop();
            continue;
        }
        if sys::cpu_ns_of(other.tid) - used > WORK_NS || now_ns() - started > MOMENT_NS {
            return;
        }
        sys::sleep_ns(LOOK_NS);
    }
}

/// The calling thread, if it may ask or be asked: its events are being recorded, at its own pace.
pub fn recorded() -> Option<&'static mut Thread> {
    let is_free = || turn::recording() && !crate::serial::is_on() && !crate::schedule::takes_part();
    thread::current().filter(|_| is_free())
}
