//! Exploring: one thread at a time, the next one chosen by a strategy.
//!
//! A thread that comes to a point says what it is about to do and gives the baton to whoever the strategy chooses among
//! those that can go on. What a thread needs is known, so that nobody is chosen who would have to wait; where it is not
//! known (a spinlock), whoever finds its object taken waits until another has done something.
//!
//! Time is virtual ([`crate::clock`]): it moves when a sleep or a time-out is chosen.
//!
//! A thread that runs very long without a point (it spins on memory), or that waits outside (a socket, a futex of its own)
//! is left to itself: those who wait for the baton look now and then, and take it from such a thread. It takes part again
//! at its next point.
//!
//! Law: whoever has turned [`HOLDER`] to [`BUSY`] chooses, alone. A thread says that it is at a point before it looks
//! whether it must choose; whoever finds nobody to choose says so before it looks again. So somebody always does.

use crate::baton;
use crate::clock;
use crate::deadlock::{self, Wanted, want};
use crate::process;
use crate::seen::Seen;
use crate::sys;
use crate::thread::{self, Thread};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use retake_explore::{Act, Choice, Chooser, NOBODY, Plan, Point, flag};
use retake_tape::choices::Header;
use retake_tape::op::Op;

/// Nobody has the baton.
const NOONE: usize = 0;
/// Somebody is choosing.
const BUSY: usize = 1;
/// The thread that has the baton.
static HOLDER: AtomicUsize = AtomicUsize::new(NOONE);
static HEADER: AtomicPtr<Header> = AtomicPtr::new(null_mut());
/// How often anybody has done anything: whoever found its object taken looks again when this has changed.
static PROGRESS: AtomicU64 = AtomicU64::new(1);

/// A thread's part in an exploration.
#[repr(C)]
pub struct Explored {
    /// It is at a point: it does not run, unless it has just been chosen.
    at_point: AtomicBool,
    /// See `how`.
    how: AtomicU32,
    /// What it hopes for if it can do without.
    hopes: deadlock::Want,
    object: AtomicUsize,
    other: AtomicUsize,
    /// When its sleep or its wait is over.
    until_ns: AtomicU64,
    /// It was chosen to time out.
    late: AtomicBool,
    /// [`PROGRESS`] when it found its object taken; 0 if it did not.
    failed: AtomicU64,
    /// After which event of which thread it was chosen.
    after: AtomicU32,
    after_count: AtomicU64,
}

mod how {
    /// It goes on when its time is over, if it does not get what it hopes for.
    pub const TIMED: u32 = 1;
    /// It yields or sleeps.
    pub const YIELDS: u32 = 2;
}

/// What a thread is about to do.
#[derive(Clone, Copy)]
pub struct About {
    pub op: Op,
    pub object: usize,
    /// Another object that it changes, or 0.
    pub other: usize,
    pub wanted: Wanted,
    pub timed: bool,
    pub yields: bool,
    /// When its time is over, if it has one.
    pub until_ns: u64,
    /// It was here before, and found its object taken.
    pub again: bool,
}

impl About {
    /// About to do `op` on `object`, which needs what is `wanted`.
    pub fn new(op: Op, object: usize, wanted: Wanted) -> About {
        About { op, object, other: 0, wanted, timed: false, yields: false, until_ns: 0, again: false }
    }
}

/// Most threads that can go on at once; those beyond wait.
const ABLE_MAX: usize = 1024;

struct Choosing {
    chooser: MaybeUninit<Chooser<&'static Plan, &'static [u16]>>,
    able: [Act; ABLE_MAX],
}

struct Global(UnsafeCell<Choosing>);
// SAFETY: used by whoever has turned the holder to busy.
unsafe impl Sync for Global {}
static CHOOSING: Global = Global(UnsafeCell::new(Choosing {
    chooser: MaybeUninit::uninit(),
    able: [Act { thread: 0, object: 0, other: 0, op: 0, flags: 0 }; ABLE_MAX],
}));

fn header() -> Option<&'static Header> {
    // SAFETY: mapped for good.
    unsafe { HEADER.load(Acquire).as_ref() }
}

/// What lies `at` bytes behind the header.
///
/// # Safety
/// The caller has checked that the file is that long.
unsafe fn at<T>(header: &'static Header, at: u64) -> *mut T {
    // SAFETY: inside the map.
    unsafe { core::ptr::from_ref(header).cast::<u8>().cast_mut().add(at as usize).cast() }
}

/// Begins: `thread` is the only one, and has the baton. False if there is no choices file.
pub fn begin(thread: &mut Thread) -> bool {
    let Some((header, size)) = process::get().map_choices() else { return false };
    let ends = [
        header.plan_at + size_of::<Plan>() as u64,
        header.prefix_at + 2 * header.prefix_length,
        header.log_at + header.log_room * size_of::<Choice>() as u64,
    ];
    if ends.iter().any(|end| *end > size as u64) {
        return false;
    }
    // SAFETY: the parts lie in the file; nobody else chooses yet.
    unsafe {
        let plan = &*at::<Plan>(header, header.plan_at);
        let prefix = core::slice::from_raw_parts(at::<u16>(header, header.prefix_at), header.prefix_length as usize);
        (*CHOOSING.0.get()).chooser.write(Chooser::new(plan, prefix));
    }
    clock::begin(header.realtime_ns, header.monotonic_ns);
    HEADER.store(core::ptr::from_ref(header).cast_mut(), Release);
    HOLDER.store(core::ptr::from_ref(thread) as usize, SeqCst);
    true
}

/// A thread is about to be created: it can be chosen at once.
pub fn creates(child: &mut Thread) {
    child.part.explored.at_point.store(true, SeqCst);
}

/// It could not be created.
pub fn creates_not(child: &Thread) {
    child.part.explored.at_point.store(false, SeqCst);
}

/// A new thread waits for its turn.
pub fn starts(thread: &mut Thread) {
    thread.begin();
    wait(thread);
    thread.finish();
}

/// A point. Whether the thread's time is over.
pub fn point(thread: &mut Thread, about: &About) -> bool {
    thread.begin();
    let me = &raw const *thread as usize;
    say(thread, about);
    if !about.again {
        thread.part.points += 1;
        PROGRESS.fetch_add(1, SeqCst);
    }
    thread.part.explored.at_point.store(true, SeqCst);
    let has_it = HOLDER.compare_exchange(me, BUSY, SeqCst, SeqCst).is_ok();
    if has_it && about.wanted.kind != want::NOTHING && !about.timed && !is_able(thread) {
        look_for_deadlock(thread.part.index);
    }
    let next = if has_it { choose(thread.part.index) } else { None };
    if next.is_some_and(|next| core::ptr::eq(next, thread)) {
        HOLDER.store(me, SeqCst);
        thread.part.explored.at_point.store(false, SeqCst);
    } else {
        baton::stops(thread);
        let after = (thread.number, thread.count());
        match next {
            Some(next) => name(next, after),
            None if has_it => leave(thread.part.index, after),
            // It was left to itself, and has come back.
            None => take_up(after),
        }
        wait(thread);
    }
    thread.want.set(Wanted { kind: want::NOTHING, object: 0, mark: 0 });
    thread.finish();
    thread.part.explored.late.load(Relaxed)
}

fn say(thread: &Thread, about: &About) {
    let mine = &thread.part.explored;
    let nothing = Wanted { kind: want::NOTHING, object: 0, mark: 0 };
    thread.part.op.store(about.op as u32, Relaxed);
    mine.object.store(about.object, Relaxed);
    mine.other.store(about.other, Relaxed);
    mine.until_ns.store(about.until_ns, Relaxed);
    mine.late.store(false, Relaxed);
    let how = if about.timed { how::TIMED } else { 0 } | if about.yields { how::YIELDS } else { 0 };
    mine.how.store(how, Relaxed);
    mine.failed.store(if about.again { PROGRESS.load(SeqCst) } else { 0 }, Relaxed);
    mine.hopes.set(if about.timed { about.wanted } else { nothing });
    thread.want.set(if about.timed { nothing } else { about.wanted });
}

/// The thread's function has ended: it is chosen no more, and the baton is given on.
pub fn has_ended(thread: &mut Thread) {
    thread.begin();
    thread.part.points += 1;
    PROGRESS.fetch_add(1, SeqCst);
    baton::stops(thread);
    let after = (thread.number, thread.count());
    let me = &raw const *thread as usize;
    if HOLDER.compare_exchange(me, BUSY, SeqCst, SeqCst).is_ok() {
        pass_on(NOBODY, after);
    }
    thread.finish();
}

/// Chooses, and names whoever was chosen.
fn pass_on(current: u32, after: (u32, u64)) {
    match choose(current) {
        Some(next) => name(next, after),
        None => leave(current, after),
    }
}

/// Nobody can be chosen. Somebody may have come to a point meanwhile, and found that another was choosing.
fn leave(current: u32, after: (u32, u64)) {
    if !somebody_runs() {
        look_for_deadlock(current);
        end_stuck(current);
    }
    HOLDER.store(NOONE, SeqCst);
    if somebody_is_able() {
        take_up(after);
    }
}

/// Chooses if nobody has the baton.
fn take_up(after: (u32, u64)) {
    if HOLDER.compare_exchange(NOONE, BUSY, SeqCst, SeqCst).is_ok() {
        pass_on(NOBODY, after);
    }
}

/// It is that thread's turn.
fn name(next: &Thread, after: (u32, u64)) {
    next.part.explored.after.store(after.0, Relaxed);
    next.part.explored.after_count.store(after.1, Relaxed);
    HOLDER.store(core::ptr::from_ref(next) as usize, SeqCst);
    next.part.turn.store(1, SeqCst);
    // SAFETY: waking touches no memory.
    unsafe { sys::futex_wake(next.part.turn.as_ptr(), 1, false) };
}

const SPINS: u32 = 200;
const LOOK_NS: u64 = 10_000_000;

/// Waits for the turn.
fn wait(thread: &mut Thread) {
    let word = &raw const thread.part.turn;
    // SAFETY: threads are never freed.
    let word = unsafe { &*word };
    let (mut spins, mut seen) = (0, Seen::default());
    while word.load(Acquire) == 0 {
        spins += 1;
        if spins < SPINS && process::get().processors > 1 {
            core::hint::spin_loop();
            continue;
        }
        let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
        // SAFETY: as above.
        unsafe { sys::futex_wait(word.as_ptr(), 0, LOOK_NS) };
        if word.load(Acquire) == 0 && sys::clock_ns(libc::CLOCK_MONOTONIC) - started >= LOOK_NS as i64 / 2 {
            look(&mut seen);
        }
    }
    word.store(0, Relaxed);
    let mine = &thread.part.explored;
    let after = (mine.after.load(Relaxed), mine.after_count.load(Relaxed));
    mine.at_point.store(false, SeqCst);
    baton::goes_on(thread, after.0, after.1);
}

/// Computing so long without a point is spinning.
const SPIN_NS: i64 = 100_000_000;
/// Seen asleep so often in a row, it waits outside.
const RESTS: u32 = 2;

/// Looks whether the thread that has the baton will ever come to a point; if not, it is left to itself.
fn look(seen: &mut Seen) {
    let Some(header) = header() else { return };
    let holder = HOLDER.load(SeqCst);
    if holder == NOONE {
        // What nobody here could give may have come from outside.
        PROGRESS.fetch_add(1, SeqCst);
        return take_up((0, 0));
    }
    if holder == BUSY {
        return;
    }
    // SAFETY: threads are never freed.
    let running = unsafe { &*(holder as *const Thread) };
    if running.part.explored.at_point.load(SeqCst) {
        return;
    }
    let Some(computed_ns) = seen.look(running, header.steps.load(Acquire)) else { return };
    let spins = computed_ns > SPIN_NS;
    if (spins || seen.rests >= RESTS) && HOLDER.compare_exchange(holder, BUSY, SeqCst, SeqCst).is_ok() {
        if spins { &header.spun } else { &header.outside }.fetch_add(1, Relaxed);
        pass_on(running.part.index, (running.number, running.count()));
    }
}

fn takes_part(thread: &Thread) -> bool {
    thread.part.is_on() && thread.in_use.load(Acquire) == 1
}

/// What keeps a thread that is at a point.
enum Keeps {
    Nothing,
    /// It would time out.
    Time,
    Object,
}

fn what_keeps(thread: &Thread) -> Keeps {
    let mine = &thread.part.explored;
    let failed = mine.failed.load(Relaxed);
    let failed = failed != 0 && failed == PROGRESS.load(SeqCst);
    let timed = mine.how.load(Relaxed) & how::TIMED != 0;
    let wanted = if timed { mine.hopes.get() } else { thread.want.get() };
    let is_there = !failed && (wanted.kind == want::NOTHING || deadlock::is_there(wanted, thread));
    match (is_there || thread.has_deferred(), timed) {
        (true, _) => Keeps::Nothing,
        (false, true) => Keeps::Time,
        (false, false) => Keeps::Object,
    }
}

fn is_able(thread: &Thread) -> bool {
    takes_part(thread) && thread.part.explored.at_point.load(SeqCst) && !matches!(what_keeps(thread), Keeps::Object)
}

fn somebody_is_able() -> bool {
    let mut able = false;
    thread::each(|thread| able |= is_able(thread));
    able
}

/// Whether somebody runs who is not at a point, or who is not known: it may give what others wait for.
fn somebody_runs() -> bool {
    let mut many = 0;
    let mut all_here = true;
    let mut could_come = false;
    thread::each(|thread| {
        if takes_part(thread) {
            many += 1;
            let wanted = thread.want.get();
            all_here &= thread.part.explored.at_point.load(SeqCst);
            // What it wants can come without any thread of this process.
            could_come |= wanted.kind != want::NOTHING && deadlock::may_come(wanted, thread);
        }
    });
    let mut tasks = 0;
    let unknown = sys::each_task(|_| tasks += 1);
    !all_here || could_come || unknown || tasks > many
}

fn look_for_deadlock(current: u32) {
    deadlock::look_now();
    let told = process::get().session().is_some_and(|session| session.deadlock_state.load(Acquire) == 2);
    if told {
        end_briefly(current);
    }
}

/// Nothing can go on.
fn end_stuck(current: u32) {
    if let Some(header) = header() {
        header.is_stuck.store(1, Release);
    }
    end_briefly(current);
}

fn end_briefly(current: u32) {
    if header().is_some_and(|header| header.is_brief != 0) {
        log_last(current);
        crate::end::die_by(libc::SIGKILL as u32);
    }
}

/// Chooses who goes on; `current` is who ran. Nobody if nobody can. The holder is busy.
fn choose(current: u32) -> Option<&'static Thread> {
    let header = header()?;
    // SAFETY: whoever has turned the holder to busy is alone here.
    let choosing = unsafe { &mut *CHOOSING.0.get() };
    let point = look_around(current, header, &mut choosing.able);
    if point.able.is_empty() {
        return None;
    }
    // SAFETY: made at the start.
    let chooser = unsafe { choosing.chooser.assume_init_mut() };
    let index = chooser.choose(&point);
    let chosen = *point.able.get(index)?;
    log(header, chooser.log(&point, index));
    let next = crate::schedule::by_index(chosen.thread)?;
    let theirs = &next.part.explored;
    theirs.late.store(chosen.has(flag::TIMES_OUT), Relaxed);
    if chosen.has(flag::TIMES_OUT | flag::YIELDS) {
        clock::reaches(theirs.until_ns.load(Relaxed));
    }
    Some(next)
}

/// Nobody will be chosen any more: where all have come to is what the log ends with.
fn log_last(current: u32) {
    let Some(header) = header() else { return };
    // SAFETY: as above.
    let choosing = unsafe { &mut *CHOOSING.0.get() };
    let point = look_around(current, header, &mut choosing.able);
    log(header, Choice::of(&point, usize::MAX));
}

fn log(header: &'static Header, choice: Choice) {
    let step = header.steps.load(Relaxed);
    if step < header.log_room {
        // SAFETY: the file was checked to be that long.
        unsafe { at::<Choice>(header, header.log_at).add(step as usize).write(choice) };
    }
    header.steps.store(step + 1, Release);
}

/// Who can go on, and what `current`, who ran, is about to do.
fn look_around<'a>(current: u32, header: &Header, able: &'a mut [Act; ABLE_MAX]) -> Point<'a> {
    let mut length = 0;
    let mut arrived = Act::NONE;
    thread::each(|thread| {
        if !takes_part(thread) || !thread.part.explored.at_point.load(SeqCst) {
            return;
        }
        let keeps = what_keeps(thread);
        let act = act(thread, matches!(keeps, Keeps::Time));
        if act.thread == current {
            arrived = act;
        }
        if !matches!(keeps, Keeps::Object) && length < ABLE_MAX {
            able[length] = act;
            length += 1;
        }
    });
    let able = &mut able[..length];
    able.sort_unstable_by_key(|act| act.thread);
    Point { step: header.steps.load(Relaxed), arrived, current, able }
}

/// What the thread is about to do; `late` says that its wait would time out.
fn act(thread: &Thread, late: bool) -> Act {
    let mine = &thread.part.explored;
    let yields = mine.how.load(Relaxed) & how::YIELDS != 0;
    Act {
        thread: thread.part.index,
        object: name_of(mine.object.load(Relaxed)),
        other: name_of(mine.other.load(Relaxed)),
        op: thread.part.op.load(Relaxed) as u16,
        flags: if late { flag::TIMES_OUT } else { 0 } | if yields { flag::YIELDS } else { 0 },
    }
}

/// The object at that address in one word, the same in each run that has it there. Two that share it by chance are taken
/// for one: that costs an exhaustive search some runs.
fn name_of(object: usize) -> u32 {
    let hashed = (object as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    if object == 0 { 0 } else { hashed as u32 + 1 }
}
