//! Following a schedule: one thread at a time, the next one named by a list.
//!
//! After P-Rep (Gibson 2012). Entry *i* of the schedule names the thread that runs between points *i* and *i+1*; threads
//! are numbered as they are created, the main thread is 0. At a point the running thread ends its step, names the next
//! thread, and waits until it is named itself.
//!
//! Deviations from the thesis: only the thread that is named is woken; what a thread wants is known, so that a schedule
//! that cannot be followed is refused with the reason; a thread that comes out of a condition wait waits for its turn;
//! a thread that yields again and again waits for somebody, and lends the baton to whoever is named next ([`crate::lend`]),
//! and so does one that blocks or spins where Retake does not see it ([`crate::outside`]);
//! with [`points::ALL`] every operation is a point, and a step may say what its operation returns.
//!
//! Following is a way of recording: the take that it makes replays like any other. Exploring is the same with a strategy
//! in the place of the list: [`crate::explore`] then says who goes on, and every operation is a point, before it and,
//! where it gives something to others, behind it as well.
//!
//! Law: whoever runs has the baton, so that what is here needs no lock; one that lost it outside waits for it before it does
//! anything here. Threads that Retake did not see being created,
//! and destructors that run when a thread's function has ended, are not scheduled.

use crate::baton;
use crate::clock;
use crate::deadlock::{self, Wanted, want};
use crate::explore::{self, About, Explored};
use crate::halt;
use crate::lend;
use crate::outside;
use crate::process;
use crate::report::{self, Refusal};
use crate::seen::Seen;
use crate::serial;
use crate::settled;
use crate::sys;
use crate::thread::{self, Thread};
use crate::turn;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use retake_tape::op::Op;
use retake_tape::schedule::{Header, outcome, points, then};
use retake_tape::session::flag;

/// A thread's part in a schedule.
#[repr(C)]
pub struct Part {
    /// Its number, in the order of creation.
    pub index: u32,
    /// The points that it has come to, where they are counted.
    pub points: u32,
    /// Whether it waits for its turns.
    on: AtomicBool,
    /// It has been named.
    pub turn: AtomicU32,
    /// What it will do when it is named.
    pub op: AtomicU32,
    /// Yields in this step, and which step it is, if the baton is lent to those behind it.
    pub yields: AtomicU32,
    pub lent: AtomicU32,
    /// It waits for its turn.
    pub waits: AtomicBool,
    /// See [`outside`].
    pub away: outside::Away,
    /// The condition that it waits for, since when, and the signal that woke it.
    pub condition: AtomicUsize,
    pub arrived: AtomicU64,
    pub woken: AtomicU64,
    /// The barrier that it waits at, and whether it may leave.
    pub barrier: AtomicUsize,
    pub leaves: AtomicBool,
    /// What is only explored.
    pub explored: Explored,
}

impl Part {
    /// Whether its thread waits for its turns.
    pub fn is_on(&self) -> bool {
        self.on.load(Acquire)
    }
}

static ON: AtomicBool = AtomicBool::new(false);
/// Whether a strategy names the threads.
static EXPLORES: AtomicBool = AtomicBool::new(false);
static SCHEDULE: AtomicPtr<Header> = AtomicPtr::new(null_mut());
/// The number of the next thread that is created.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Whether a schedule is being followed, or chosen.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Whether a strategy chooses.
#[inline(always)]
pub fn explores() -> bool {
    EXPLORES.load(Relaxed)
}

/// The program begins, after the libraries that it uses: from here on a strategy chooses, if one is to.
pub fn begin_exploring() {
    baton::begin();
    let process = process::get();
    if process.has(flag::EXPLORE)
        && process.name() == b"0"
        && let Some(thread) = turn::enter().filter(|_| turn::recording())
        && explore::begin(thread)
    {
        thread.part.on.store(true, Relaxed);
        EXPLORES.store(true, Relaxed);
        ON.store(true, Release);
    }
}

/// Begins to follow, if this process is to; called before anything of the program runs.
pub fn begin(thread: &mut Thread) {
    let process = process::get();
    if !process.has(flag::FOLLOW) || process.name() != b"0" {
        return;
    }
    let Some(header) = process.map_schedule() else { return };
    clock::begin(sys::clock_ns(libc::CLOCK_REALTIME), sys::clock_ns(libc::CLOCK_MONOTONIC));
    SCHEDULE.store(header, Release);
    thread.part.on.store(true, Relaxed);
    ON.store(true, Release);
    name_next(thread, 0);
    wait(thread);
}

/// In a forked child nothing is followed.
pub fn reset() {
    ON.store(false, Relaxed);
    EXPLORES.store(false, Relaxed);
}

pub(crate) fn header() -> Option<&'static Header> {
    // SAFETY: mapped for good.
    unsafe { SCHEDULE.load(Acquire).as_ref() }
}

/// One of the three lists behind the header.
fn list(header: &Header, which: usize) -> &'static [AtomicU32] {
    let length = header.length as usize;
    // SAFETY: the file was checked to be that long.
    unsafe {
        let first = core::ptr::from_ref(header).add(1).cast::<AtomicU32>();
        core::slice::from_raw_parts(first.add(which * length), length)
    }
}

/// The threads that were given.
pub(crate) fn threads(header: &Header) -> &'static [AtomicU32] {
    list(header, 0)
}

fn followed(header: &Header) -> &'static [AtomicU32] {
    list(header, 1)
}

fn outcomes(header: &Header) -> &'static [AtomicU32] {
    list(header, 2)
}

/// What the operation of the thread that has just been named is to return, if the schedule says so.
pub fn said() -> Option<u32> {
    if explores() || scheduled().is_none() {
        return None;
    }
    let header = header().filter(|header| header.points == points::ALL)?;
    let said = outcomes(header).get(header.step.load(Relaxed) as usize)?.load(Relaxed);
    (said != outcome::UNSAID).then_some(said)
}

/// The step behind the one that the thread has.
pub(crate) fn next_step(thread: &Thread, header: &Header) -> usize {
    header.step.load(Relaxed) as usize + usize::from(thread.part.lent.load(Relaxed) == 0)
}

/// Whether the next thing that is run once is run by the calling thread's next step; nothing if the schedule does not tell
/// of any more.
pub fn runs_next() -> Option<bool> {
    let (thread, header) = (scheduled()?, header().filter(|_| !explores())?);
    let mut own = 0;
    let rest = threads(header).iter().zip(outcomes(header)).skip(next_step(thread, header));
    for (named, said) in rest {
        let is_own = named.load(Relaxed) == thread.part.index;
        if said.load(Relaxed) == outcome::RUNS {
            return Some(is_own && own == 0);
        }
        own += u32::from(is_own);
    }
    None
}

/// Whether every operation is a point.
pub fn is_rich() -> bool {
    explores() || header().is_some_and(|header| header.points == points::ALL)
}

/// Whether `op` is one of the thesis's points that come before the operation.
fn is_plain_point(op: Op) -> bool {
    matches!(op, Op::MutexLock | Op::MutexUnlock | Op::ThreadJoin)
}

/// The calling thread, if it is scheduled now.
pub(crate) fn scheduled() -> Option<&'static mut Thread> {
    if !is_on() {
        return None;
    }
    let thread = turn::enter().filter(|thread| thread.part.on.load(Relaxed))?;
    outside::come_back(thread);
    Some(thread)
}

/// Whether the calling thread is scheduled now.
pub fn takes_part() -> bool {
    scheduled().is_some()
}

/// A point before `op` on `object`, in a replay of what was explored, too.
#[inline]
pub fn before(op: Op, object: usize) {
    halt::point();
    if is_on() {
        point_before(op, object);
    } else {
        baton::again(op, object);
    }
}

#[cold]
#[inline(never)]
fn point_before(op: Op, object: usize) {
    if let Some(thread) = scheduled()
        && (is_rich() || is_plain_point(op))
    {
        point(thread, op, object, 0);
    }
}

/// The thread has given something to others: what it does next, to plain memory, may come before or after what they do.
#[inline]
pub fn behind() {
    if explores() {
        if let Some(thread) = scheduled() {
            point(thread, Op::Misc, 0, 0);
        }
    } else {
        baton::again(Op::Misc, 0);
        settled::behind();
        serial::point();
    }
}

/// A point of the thesis alone.
pub fn plain_point(op: Op, object: usize) {
    if let Some(thread) = scheduled()
        && !is_rich()
    {
        point(thread, op, object, 0);
    }
}

/// The running thread ends its step and waits until it is named again; then it will do `op`.
pub(crate) fn point(thread: &mut Thread, op: Op, object: usize, mark: u64) {
    let mark = if kind(op) == want::MUTEX { deadlock::mark(want::MUTEX, object, thread) } else { mark };
    point_wanting(thread, op, object, Wanted { kind: kind(op), object, mark });
}

/// The same, where the thread has what it wants.
pub(crate) fn point_having(thread: &mut Thread, op: Op, object: usize) {
    point_wanting(thread, op, object, Wanted { kind: want::NOTHING, object, mark: 0 });
}

fn point_wanting(thread: &mut Thread, op: Op, object: usize, wanted: Wanted) {
    if explores() {
        explore::point(thread, &About::new(op, object, wanted));
        return;
    }
    thread.part.op.store(op as u32, Relaxed);
    thread.want.set(wanted);
    step(thread);
    wait(thread);
    thread.want.set(Wanted { kind: want::NOTHING, object: 0, mark: 0 });
}

fn kind(op: Op) -> u32 {
    match op {
        Op::MutexLock => want::MUTEX,
        Op::RwRead => want::READ,
        Op::RwWrite => want::WRITE,
        Op::CondWait => want::CONDITION,
        Op::SemWait => want::SEMAPHORE,
        Op::ThreadJoin => want::JOIN,
        Op::Barrier => want::BARRIER,
        Op::SpinLock => want::SPIN,
        Op::Once => want::ONCE,
        _ => want::NOTHING,
    }
}

/// What a thread that can do without it hopes for.
fn hoped(op: Op) -> u32 {
    match op {
        Op::MutexTimed | Op::MutexTry => want::MUTEX,
        Op::RwTimedRead | Op::RwTryRead => want::READ,
        Op::RwTimedWrite | Op::RwTryWrite => want::WRITE,
        Op::SemTimed | Op::SemTry => want::SEMAPHORE,
        Op::ThreadTryJoin => want::JOIN,
        other => kind(other),
    }
}

/// Ends the running thread's step and names the next one, unless somebody has lent the baton.
fn step(thread: &mut Thread) {
    let Some(header) = header() else { return };
    outside::hold(thread);
    thread.part.yields.store(0, Relaxed);
    let lent = thread.part.lent.swap(0, Relaxed);
    if lent != 0 {
        note_followed(header, lent as usize - 1, thread);
    } else {
        let done = header.step.load(Relaxed);
        note_followed(header, done as usize, thread);
        header.step.store(done + 1, Release);
    }
    if let Some(back) = outside::next_back() {
        return name(back);
    }
    if lent == 0
        && let Some(lender) = lend::pop()
    {
        return name(lender);
    }
    name_next(thread, header.step.load(Relaxed) as usize);
}

fn note_followed(header: &Header, step: usize, thread: &Thread) {
    if let Some(followed) = followed(header).get(step) {
        followed.store(thread.part.index, Relaxed);
    }
}

pub(crate) fn name_next(thread: &Thread, step: usize) {
    let Some(header) = header() else { return };
    if step >= header.length as usize {
        return end_of_schedule(header);
    }
    let index = threads(header)[step].load(Relaxed);
    let Some(next) = by_index(index) else {
        let why = if index >= NEXT.load(Relaxed) { "it has not been created" } else { "it has ended" };
        refuse(thread, index, None, why);
    };
    if next.part.lent.load(Relaxed) != 0 {
        lend::forget(next);
    }
    if header.verbose != 0 {
        report::tell_step(step, next.part.index, next.name(), next.part.op.load(Relaxed), next.want.get().object);
    }
    name(next);
}

/// It is that thread's turn.
pub(crate) fn name(next: &Thread) {
    outside::give(next);
    let word = &next.part.turn;
    word.store(1, SeqCst);
    let own = thread::current().is_some_and(|thread| core::ptr::eq(thread, next));
    if !own {
        // SAFETY: waking touches no memory.
        unsafe { sys::futex_wake(word.as_ptr(), 1, false) };
    }
}

fn end_of_schedule(header: &Header) {
    if header.then == then::RESUME {
        ON.store(false, SeqCst);
        // SAFETY: as above.
        thread::each(|thread| unsafe { sys::futex_wake(thread.part.turn.as_ptr(), 1, false) });
    } else {
        deadlock::look_now();
    }
    header.ended.store(1, Release);
}

/// A short wait spins: giving the baton on and getting it back is quick if there is a processor for each.
const SPINS: u32 = 400;
const LOOK_NS: u64 = 20_000_000;

/// Waits until `thread` is named. Whoever waits long looks what has become of the one who has the baton.
pub(crate) fn wait(thread: &mut Thread) {
    let word = &thread.part.turn as *const AtomicU32;
    // SAFETY: the thread's own word; signals are deferred meanwhile, so that no handler runs without the baton.
    let word = unsafe { &*word };
    thread.begin();
    thread.part.waits.store(true, SeqCst);
    let (mut spins, mut seen) = (0, Seen::default());
    while word.load(Acquire) == 0 && is_on() {
        spins += 1;
        if spins < SPINS && process::get().processors > 1 {
            core::hint::spin_loop();
        } else {
            // SAFETY: as above.
            let late = unsafe { sys::futex_wait(word.as_ptr(), 0, LOOK_NS) };
            if late && word.load(Acquire) == 0 && is_on() {
                outside::look(thread, &mut seen);
            }
        }
    }
    thread.part.waits.store(false, SeqCst);
    word.store(0, Relaxed);
    thread.finish();
}

/// The thread of that number that has not ended.
pub fn by_index(index: u32) -> Option<&'static Thread> {
    let mut found = None;
    thread::each(|thread| {
        if thread.part.index == index && thread.part.on.load(Relaxed) && thread.in_use.load(Acquire) == 1 {
            found = Some(core::ptr::from_ref(thread));
        }
    });
    // SAFETY: threads are never freed.
    found.map(|thread| unsafe { &*thread })
}

/// Gives a thread that is about to be created its number.
pub fn creates(child: &mut Thread) {
    if scheduled().is_some() {
        child.part.index = NEXT.fetch_add(1, Relaxed);
        child.part.op.store(Op::ThreadStart as u32, Relaxed);
        if explores() {
            explore::creates(child);
        }
        child.part.on.store(true, SeqCst);
    } else {
        settled::creates(child);
        serial::creates(child);
    }
}

/// Waits until the new thread is known by its handle, so that whoever joins it finds it.
pub fn created(child: &Thread) {
    /// A thread begins in less time than it takes to sleep.
    const YIELDS: u32 = 300;
    let is_awaited = || child.part.on.load(Relaxed) && is_on() || settled::is_on() || serial::is_on();
    let mut looks = 0;
    while child.pthread.load(Acquire) == 0 && is_awaited() {
        looks += 1;
        if looks < YIELDS {
            // SAFETY: lets others run.
            unsafe { sys::sched_yield() };
        } else {
            sys::sleep_ns(20_000);
        }
    }
}

/// It could not be created.
pub fn creates_not(child: &Thread) {
    if child.part.on.swap(false, Relaxed) {
        explore::creates_not(child);
        NEXT.fetch_sub(1, Relaxed);
    } else {
        settled::creates_not(child);
        serial::creates_not(child);
    }
}

/// A new thread waits for its turn.
pub fn starts(thread: &mut Thread) {
    if !thread.part.on.load(Relaxed) {
        baton::starts_again();
        settled::starts(thread);
        serial::starts(thread);
    } else if explores() {
        explore::starts(thread);
    } else {
        wait(thread);
    }
}

/// A thread's function has ended: a point, and when it is named again, its end.
pub fn ends() {
    if let Some(thread) = scheduled() {
        let handle = thread.pthread.load(Relaxed) as usize;
        point(thread, Op::ThreadEnd, if explores() { handle } else { 0 }, 0);
    } else {
        baton::again(Op::ThreadEnd, 0);
    }
}

/// What is scheduled of the thread is over: the next one is named.
pub fn has_ended(thread: &mut Thread) {
    outside::come_back(thread);
    if !thread.part.on.swap(false, SeqCst) {
        baton::ends_again(thread);
        settled::has_ended(thread);
        serial::has_ended(thread);
    } else if explores() {
        explore::has_ended(thread);
    } else if is_on() {
        step(thread);
    }
}

/// Tries `attempt` when the thread is named, until it gives something; nothing means that the thread would have to wait.
/// `None` if the schedule is over and the real call is to be made.
pub fn obtain<R>(op: Op, object: usize, attempt: impl Fn() -> Option<R>) -> Option<R> {
    let mut tries = 0;
    loop {
        if let Some(result) = attempt() {
            return Some(result);
        }
        let thread = scheduled()?;
        if thread.is_cancelled.load(Acquire) && matches!(op, Op::SemWait | Op::ThreadJoin) {
            // The real call ends it.
            return None;
        }
        if explores() {
            let mark = deadlock::mark(kind(op), object, thread);
            let wanted = Wanted { kind: kind(op), object, mark };
            explore::point(thread, &About { again: true, ..About::new(op, object, wanted) });
            continue;
        }
        // One point, or two if it finds the object busy at the first. What the thesis does not know is a point only if it
        // has to wait.
        if is_rich() || is_plain_point(op) && tries == 1 {
            refuse_busy(thread, op, object, "it is blocked");
        }
        point(thread, op, object, 0);
        tries += 1;
    }
}

/// The same for a call that gives up when its time is over, at `until_ns`: nothing then. Exploring only.
pub fn obtain_in_time<R>(op: Op, object: usize, until_ns: u64, attempt: impl Fn() -> Option<R>) -> Option<R> {
    let mut again = false;
    loop {
        let thread = scheduled()?;
        let wanted = Wanted { kind: hoped(op), object, mark: 0 };
        let about = About { timed: true, until_ns, again, ..About::new(op, object, wanted) };
        let late = explore::point(thread, &about);
        match attempt() {
            Some(result) => return Some(result),
            None if late => return None,
            None => again = true,
        }
    }
}

/// The thread that was named cannot do `op` as it should.
pub(crate) fn refuse_busy(thread: &mut Thread, op: Op, object: usize, why: &str) -> ! {
    let index = thread.part.index;
    thread.part.op.store(op as u32, Relaxed);
    let mark = deadlock::mark(hoped(op), object, thread);
    thread.want.set(Wanted { kind: hoped(op), object, mark });
    if kind(op) != want::NOTHING {
        deadlock::look_now();
    }
    refuse(thread, index, Some((op, object)), why)
}

/// The schedule says that the thread is cancelled here: somebody must have asked for it by now.
pub fn require_cancelled(thread: &mut Thread, op: Op, object: usize) {
    if !thread.is_cancelled.load(Acquire) {
        refuse_busy(thread, op, object, "nobody has cancelled it by then");
    }
}

/// Ends the process: the schedule cannot be followed.
fn refuse(thread: &Thread, due: u32, blocked: Option<(Op, usize)>, why: &str) -> ! {
    refuse_at(thread, due, blocked, why, report::callers().as_slice())
}

/// The same, of a thread that is elsewhere: where is told by `pcs`.
pub(crate) fn refuse_at(thread: &Thread, due: u32, blocked: Option<(Op, usize)>, why: &str, pcs: &[u64]) -> ! {
    let (step, length) = header().map_or((0, 0), |header| (header.step.load(Relaxed), header.length));
    report::infeasible(thread, &Refusal { step, length, due, blocked, why, pcs })
}

/// Whether the thread could go on if it were named.
pub fn could_run(thread: &Thread) -> bool {
    let wanted = thread.want.get();
    let is_here = thread.part.on.load(Relaxed) && !thread.part.away.is_away();
    is_here && (wanted.kind == want::NOTHING || deadlock::is_there(wanted, thread))
}
