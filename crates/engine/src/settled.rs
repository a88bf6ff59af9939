//! Settled replays: one thread at a time, in an order that is given, or tried.
//!
//! What threads do to plain memory between their events is in no order on the tape. If they run one at a time, it is; and
//! among the orders that the tape allows there may be one in which every race goes as it went. The command line looks for
//! it by trying, and keeps it (`cli/settle.rs`). That a replay may be tried until it holds is the idea of PRES (Park and
//! others, 2009); what is kept here is not one good replay, but an order that makes all of them good.
//!
//! A thread comes to a point before each event, behind what gives something to others, where it sleeps or yields, and where it ends.
//! There it gives the baton on: to the next thread of the order that is given, behind it to one that is drawn. Whoever
//! waits for its turn on the tape looks for it when it has the baton, and again when another has done something.
//!
//! Law: who goes on is decided under one lock, by threads that are busy. The tape is followed as ever; an order only says
//! which of the threads that may go on does.

use crate::deadlock;
use crate::lock::Lock;
use crate::process;
use crate::report;
use crate::seen::Seen;
use crate::stops;
use crate::sys;
use crate::thread::{self, Thread};
use crate::turn;
use crate::watch;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64};
use retake_tape::session::flag;
use retake_tape::settled::{FILE, Header, MAGIC, NAME_MAX, OTHERS, size};

/// A thread's part in it.
#[repr(C)]
pub struct Stand {
    /// See [`stand`].
    at: AtomicU32,
    /// It may go on, as whom; or 0.
    turn: AtomicU32,
    /// [`PROGRESS`] when it found that its turn on the tape had not come; 0 if it did not.
    failed: AtomicU64,
    /// If nobody else can go on, it can.
    rests: AtomicU32,
}

mod stand {
    /// It takes no part: it has ended, waits where it is not seen, or was left to itself.
    pub const AWAY: u32 = 0;
    /// It waits at a point.
    pub const WAITS: u32 = 1;
    /// It has the baton.
    pub const RUNS: u32 = 2;
}

/// Others could have gone on, too, or it was the only one.
const ONE_OF_SEVERAL: u32 = 1;
/// It was chosen because nobody else could go on.
const LAST: u32 = 2;

static HEADER: AtomicPtr<Header> = AtomicPtr::new(null_mut());
static LOCK: Lock = Lock::new();
/// The thread that has the baton, or null.
static HOLDER: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
/// How often anybody has done anything.
static PROGRESS: AtomicU64 = AtomicU64::new(1);
/// Since when nobody has done anything but look, as far as that was noticed; or 0. Those who look then do so in turn.
static IDLE_NS: AtomicI64 = AtomicI64::new(0);
static RANDOM: AtomicU64 = AtomicU64::new(0);

/// Threads among which one is drawn; those beyond wait.
const ABLE_MAX: usize = 256;
const LOOK_NS: u64 = 10_000_000;
/// The same for one whose function has ended: it will be gone soon.
const GONE_NS: u64 = 200_000;
/// Seen asleep so often in a row, it waits where it is not seen.
const RESTS: u32 = 2;
/// Computing so long without a point is spinning.
const SPIN_NS: i64 = 2_000_000_000;

fn header() -> Option<&'static Header> {
    // SAFETY: null, or mapped for good.
    unsafe { HEADER.load(Relaxed).as_ref() }
}

/// Whether threads run one at a time here.
#[inline]
pub fn is_on() -> bool {
    !HEADER.load(Relaxed).is_null()
}

/// A replay begins in this process: `thread` is its only one, and has the baton.
pub fn begin(thread: &mut Thread) {
    let process = process::get();
    if !process.has(flag::SETTLED) {
        return;
    }
    let (at, length) = process::map_beside(process.session_path(), FILE, size_of::<Header>());
    let found = at.cast::<Header>();
    // SAFETY: null, or mapped for good and long enough.
    let Some(header) = (unsafe { found.as_ref() }) else { return };
    let name = &header.name[..(header.name_len as usize).min(NAME_MAX)];
    let whole = header.given <= header.room && header.room < 1 << 32 && length >= size(header.room as usize);
    if header.magic != MAGIC || !whole || name != process.name() {
        return;
    }
    RANDOM.store(header.seed | 1, Relaxed);
    thread.stand.at.store(stand::RUNS, Relaxed);
    HOLDER.store(thread, SeqCst);
    HEADER.store(found, Release);
}

/// In a forked child nobody has a baton.
pub fn reset() {
    HEADER.store(null_mut(), Relaxed);
    LOCK.reset();
}

/// A thread is about to be created: it can be chosen at once.
pub fn creates(child: &Thread) {
    if is_on() {
        child.stand.at.store(stand::WAITS, SeqCst);
    }
}

/// It could not be created.
pub fn creates_not(child: &Thread) {
    child.stand.at.store(stand::AWAY, SeqCst);
}

/// A new thread waits for its turn.
pub fn starts(thread: &mut Thread) {
    if is_on() {
        thread.begin();
        wait_for_turn(thread);
        thread.finish();
    }
}

/// `thread` is about to have an event; it is busy.
#[inline]
pub fn before(thread: &mut Thread) {
    if let Some(header) = header() {
        header.events.fetch_add(1, Relaxed);
        come(thread, Coming::Able);
    }
}

/// The calling thread has given something to others.
#[inline]
pub fn behind() {
    if is_on() {
        point(Coming::Able);
    }
}

/// The calling thread has slept or yielded so often, without an event. One that does so again and again waits for others.
pub fn rests(many: u32) {
    point(if many > 3 { Coming::Yields } else { Coming::Able });
}

#[cold]
#[inline(never)]
fn point(coming: Coming) {
    if let Some(thread) = turn::enter() {
        thread.begin();
        come(thread, coming);
        thread.finish();
    }
}

/// Waits until `ready`; nobody else runs when it is found so.
pub fn wait(thread: &mut Thread, ready: impl Fn() -> bool) {
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let mut coming = Coming::Waits { again: false };
    thread.begin();
    while !ready() {
        come(thread, coming);
        coming = Coming::Waits { again: true };
        watch::look(thread, started);
    }
    thread.finish();
}

/// The same for the calling thread, where threads run one at a time; otherwise not at all.
pub fn wait_if_on(ready: impl Fn() -> bool) {
    if is_on()
        && let Some(thread) = thread::current()
    {
        wait(thread, ready);
    }
}

/// Waits until `ready`, or until nobody else can go on. Whether it was found ready: asking may use up what it asks for, so it
/// is not asked again behind that.
pub fn wait_softly(thread: &mut Thread, ready: impl Fn() -> bool) -> bool {
    let mut coming = Coming::Rests { again: false };
    thread.begin();
    let is_ready = loop {
        if ready() {
            break true;
        }
        if come(thread, coming) == LAST {
            break ready();
        }
        coming = Coming::Rests { again: true };
    };
    thread.finish();
    is_ready
}

/// The thread's function has ended. If something of the program's may still run in it, it keeps the baton until it is gone.
pub fn has_ended(thread: &mut Thread) {
    if deadlock::may_have_destructors() && HOLDER.load(SeqCst) == &raw mut *thread {
        // Somebody must look for that.
        let mut waits = None;
        thread::each(|other| {
            if other.stand.at.load(SeqCst) == stand::WAITS {
                waits = Some(other.stand.turn.as_ptr());
            }
        });
        // SAFETY: waking touches no memory.
        waits.inspect(|word| unsafe { sys::futex_wake(*word, 1, false) });
    } else {
        leaves(thread);
    }
}

/// A thread waits for what no thread of this process does; it takes part again at its next point.
pub fn leaves(thread: &mut Thread) {
    if is_on() {
        thread.begin();
        LOCK.with(|| {
            moves();
            thread.stand.at.store(stand::AWAY, SeqCst);
            if HOLDER.load(SeqCst) == &raw mut *thread {
                pass_on(thread, 0);
            }
        });
        thread.finish();
    }
}

/// Somebody does something: whoever found nothing may find it now.
fn moves() {
    PROGRESS.fetch_add(1, SeqCst);
    IDLE_NS.store(0, SeqCst);
}

/// How a thread comes to a point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coming {
    /// It can go on.
    Able,
    /// It can go on, and others as well.
    Yields,
    /// It waits for its turn on the tape; again, if it has done nothing but look since it came last.
    Waits { again: bool },
    /// The same, but it goes on if nobody else can.
    Rests { again: bool },
}

/// Comes to a point, and returns as whom the thread was chosen.
fn come(thread: &mut Thread, coming: Coming) -> u32 {
    let mine = &raw mut *thread;
    LOCK.with(|| {
        if !matches!(coming, Coming::Waits { again: true } | Coming::Rests { again: true }) {
            moves();
        }
        let is_able = matches!(coming, Coming::Able | Coming::Yields);
        let failed = if is_able { 0 } else { PROGRESS.load(SeqCst) };
        thread.stand.failed.store(failed, Relaxed);
        thread.stand.rests.store(matches!(coming, Coming::Rests { .. }).into(), Relaxed);
        thread.stand.at.store(stand::WAITS, SeqCst);
        let holder = HOLDER.load(SeqCst);
        if holder == mine || holder.is_null() {
            let keeps = holder == mine && coming != Coming::Yields;
            pass_on(thread, if keeps { thread.number } else { 0 });
        }
    });
    wait_for_turn(thread)
}

/// Gives the baton on; `current` is the number of the thread that had it, if it may keep it. Under the lock.
fn pass_on(teller: &mut Thread, current: u32) {
    let Some(header) = header() else { return };
    let mut able = [0u32; ABLE_MAX];
    let mut many = gather(&mut able, |stand| stand.failed.load(Relaxed) != PROGRESS.load(SeqCst));
    let turn = if many > 0 { ONE_OF_SEVERAL } else { LAST };
    if turn == LAST {
        many = gather(&mut able, |stand| stand.rests.load(Relaxed) != 0);
    }
    let able = &mut able[..many];
    able.sort_unstable();
    let Some(chosen) = choose(header, able, current) else {
        HOLDER.store(null_mut(), SeqCst);
        if is_stuck() {
            report::stuck(teller);
        }
        return;
    };
    // How often those look who have nothing else to do is up to the machine: that is no part of an order.
    let is_idle = IDLE_NS.load(SeqCst) != 0;
    let at = if is_idle { u64::MAX } else { header.choices.fetch_add(1, Relaxed) };
    if at < header.room {
        let others = if able.len() > 1 { OTHERS } else { 0 };
        // SAFETY: there is room for so many behind the header.
        unsafe { word(header, at).store(chosen | others, Relaxed) };
    }
    thread::each(|thread| {
        if thread.number == chosen && thread.stand.at.load(SeqCst) == stand::WAITS {
            HOLDER.store(core::ptr::from_ref(thread).cast_mut(), SeqCst);
            thread.stand.at.store(stand::RUNS, SeqCst);
            thread.stand.turn.store(turn, SeqCst);
            if thread.number != teller.number {
                // SAFETY: waking touches no memory.
                unsafe { sys::futex_wake(thread.stand.turn.as_ptr(), 1, false) };
            }
        }
    });
}

/// # Safety
/// `at` must be below [`Header::room`].
unsafe fn word(header: &'static Header, at: u64) -> &'static AtomicU32 {
    // SAFETY: the file is that long.
    unsafe { &*core::ptr::from_ref(header).add(1).cast::<AtomicU32>().add(at as usize) }
}

/// The numbers of the threads that wait at a point and fit.
fn gather(able: &mut [u32; ABLE_MAX], fits: impl Fn(&Stand) -> bool) -> usize {
    let mut many = 0;
    thread::each(|thread| {
        if thread.stand.at.load(SeqCst) == stand::WAITS && fits(&thread.stand) && many < ABLE_MAX {
            able[many] = thread.number;
            many += 1;
        }
    });
    many
}

fn choose(header: &'static Header, able: &[u32], current: u32) -> Option<u32> {
    if IDLE_NS.load(SeqCst) != 0 {
        return able.first().copied();
    }
    let at = header.choices.load(Relaxed);
    if at < header.given {
        // SAFETY: not more are given than have room.
        let given = unsafe { word(header, at).load(Relaxed) } & !OTHERS;
        if able.contains(&given) {
            return Some(given);
        }
    }
    let avoid = if at == header.given && able.len() > 1 { header.avoid } else { 0 };
    if able.contains(&current) && current != avoid && draw(header.switch.max(1)) != 0 {
        return Some(current);
    }
    let others = able.iter().filter(|number| **number != avoid);
    let many = others.clone().count() as u32;
    others.copied().nth(draw(many.max(1)) as usize)
}

/// A number below `limit`.
fn draw(limit: u32) -> u32 {
    let mut random = RANDOM.load(Relaxed);
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    RANDOM.store(random, Relaxed);
    ((random >> 33) % u64::from(limit)) as u32
}

/// Whether somebody waits, and nothing can come any more: from a thread that is not at a point, or from another process.
fn is_stuck() -> bool {
    let mut somebody_is_away = process::get().session().is_none_or(|session| session.processes.load(Relaxed) > 1);
    let mut somebody_waits = false;
    thread::each(|thread| {
        let waits = thread.stand.at.load(SeqCst) == stand::WAITS;
        somebody_waits |= waits;
        let is_there = thread.in_use.load(Acquire) == 1 && thread.waits.load(Acquire) != thread::waiting::END;
        somebody_is_away |= is_there && !waits;
    });
    somebody_waits && !somebody_is_away && !stops::is_on() && !has_strangers()
}

/// Whether the kernel knows a thread that takes no part: one that libc made, or that has ended and is not gone.
fn has_strangers() -> bool {
    let mut strangers = false;
    sys::each_task(|tid| {
        let mut takes_part = false;
        thread::each(|thread| takes_part |= thread.tid == tid && thread.in_use.load(Acquire) == 1);
        strangers |= !takes_part && !sys::is_no_more(tid);
    }) || strangers
}

/// Whether a thread that is not at a point runs.
fn somebody_computes() -> bool {
    let mut computes = false;
    sys::each_task(|tid| {
        let mut waits = false;
        thread::each(|thread| waits |= thread.tid == tid && thread.stand.at.load(SeqCst) == stand::WAITS);
        computes |= !waits && matches!(sys::state_of(tid), Some(b'R' | b'D'));
    });
    computes
}

fn wait_for_turn(thread: &mut Thread) -> u32 {
    let word = &raw const thread.stand.turn;
    // SAFETY: threads are never freed.
    let word = unsafe { &*word };
    let (mut seen, mut waited_ns) = (Seen::default(), 0);
    loop {
        let turn = word.swap(0, SeqCst);
        if turn != 0 {
            return turn;
        }
        // SAFETY: as above; null, or a thread.
        let ends = unsafe { HOLDER.load(SeqCst).as_ref() }.is_some_and(|holder| holder.in_use.load(Acquire) == 2);
        let ns = if ends { GONE_NS } else { LOOK_NS };
        // SAFETY: as above.
        unsafe { sys::futex_wait(word.as_ptr(), 0, ns) };
        waited_ns += ns;
        if word.load(SeqCst) == 0 {
            LOCK.with(|| look(thread, (waited_ns >= LOOK_NS).then_some(&mut seen)));
        }
        waited_ns %= LOOK_NS;
    }
}

/// Looks whether whoever has the baton will ever come to a point; if not, it is left to itself. Without `seen` it is only
/// looked whether it is gone. Under the lock.
fn look(thread: &mut Thread, seen: Option<&mut Seen>) {
    let Some(header) = header() else { return };
    let holder = HOLDER.load(SeqCst);
    // SAFETY: threads are never freed.
    if let Some(running) = unsafe { holder.as_ref() } {
        if !sys::is_no_more(running.tid) {
            let Some(seen) = seen else { return };
            let computed = seen.look(running, PROGRESS.load(SeqCst)).unwrap_or(0);
            if seen.rests < RESTS && computed < SPIN_NS {
                return;
            }
            header.left.fetch_add(1, Relaxed);
        }
        running.stand.at.store(stand::AWAY, SeqCst);
        moves();
        return pass_on(thread, 0);
    }
    let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let idle = now - IDLE_NS.load(SeqCst);
    if idle == now {
        IDLE_NS.store(now, SeqCst);
    } else if idle > watch::patience_ns() && !watch::is_debugged() {
        if !somebody_computes() {
            report::stuck(thread);
        }
        IDLE_NS.store(now, SeqCst);
    }
    // Whoever found nothing looks again: it may come from outside.
    PROGRESS.fetch_add(1, SeqCst);
    pass_on(thread, 0);
}
