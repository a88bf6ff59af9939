//! Following a schedule: one thread at a time, the next one named by a list.
//!
//! After P-Rep (Gibson 2012). Entry *i* of the schedule names the thread that runs between points *i* and *i+1*; threads
//! are numbered as they are created, the main thread is 0. At a point the running thread ends its step, names the next
//! thread, and waits until it is named itself.
//!
//! Deviations from the thesis: only the thread that is named is woken; what a thread wants is known, so that a schedule
//! that cannot be followed is refused with the reason; a thread that comes out of a condition wait waits for its turn;
//! a thread that yields again and again waits for somebody, and lends the baton to whoever is named next; with
//! [`points::ALL`] every operation is a point, and a timed wait ends in time if it was signalled.
//!
//! Following is a way of recording: the take that it makes replays like any other. Exploring is the same with a strategy
//! in the place of the list: [`crate::explore`] then says who goes on, and every operation is a point, before it and,
//! where it gives something to others, behind it as well.
//!
//! Law: whoever runs has the baton, so that what is here needs no lock. Threads that Retake did not see being created,
//! and destructors that run when a thread's function has ended, are not scheduled.

use crate::baton;
use crate::deadlock::{self, Wanted, want};
use crate::explore::{self, About, Explored};
use crate::process;
use crate::report::{self, Refusal};
use crate::sys;
use crate::thread::{self, Thread};
use crate::turn;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use retake_tape::op::Op;
use retake_tape::rich;
use retake_tape::schedule::{Header, points, then};
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
    yields: AtomicU32,
    lent: AtomicU32,
    /// The condition that it waits for, since when, and the signal that woke it.
    condition: AtomicUsize,
    arrived: AtomicU64,
    woken: AtomicU64,
    /// The barrier that it waits at, and whether it may leave.
    barrier: AtomicUsize,
    leaves: AtomicBool,
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
/// Orders arrivals at conditions and signals.
static SERIAL: AtomicU64 = AtomicU64::new(0);

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

fn header() -> Option<&'static Header> {
    // SAFETY: mapped for good.
    unsafe { SCHEDULE.load(Acquire).as_ref() }
}

fn entries(header: &Header) -> &'static [AtomicU32] {
    // SAFETY: the file was checked to be that long.
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(header).add(1).cast(), 2 * header.length as usize) }
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
fn scheduled() -> Option<&'static mut Thread> {
    if !is_on() {
        return None;
    }
    turn::enter().filter(|thread| thread.part.on.load(Relaxed))
}

/// Whether the calling thread is scheduled now.
pub fn takes_part() -> bool {
    scheduled().is_some()
}

/// A point before `op` on `object`, in a replay of what was explored, too.
#[inline]
pub fn before(op: Op, object: usize) {
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
fn point(thread: &mut Thread, op: Op, object: usize, mark: u64) {
    let mark = if kind(op) == want::MUTEX { deadlock::mark(want::MUTEX, object, thread) } else { mark };
    let wanted = Wanted { kind: kind(op), object, mark };
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
        _ => want::NOTHING,
    }
}

/// What a thread that can do without it hopes for.
fn hoped(op: Op) -> u32 {
    match op {
        Op::MutexTimed => want::MUTEX,
        Op::RwTimedRead => want::READ,
        Op::RwTimedWrite => want::WRITE,
        Op::SemTimed => want::SEMAPHORE,
        other => kind(other),
    }
}

/// Ends the running thread's step and names the next one, unless somebody has lent the baton.
fn step(thread: &mut Thread) {
    let Some(header) = header() else { return };
    thread.part.yields.store(0, Relaxed);
    let lent = thread.part.lent.swap(0, Relaxed);
    if lent != 0 {
        note_followed(header, lent as usize - 1, thread);
        return name_next(thread, header.step.load(Relaxed) as usize);
    }
    let done = header.step.load(Relaxed) as usize;
    note_followed(header, done, thread);
    header.step.store(done as u32 + 1, Release);
    if let Some(lender) = pop_lender() {
        return name(lender);
    }
    name_next(thread, done + 1);
}

fn note_followed(header: &Header, step: usize, thread: &Thread) {
    if let Some(followed) = entries(header).get(header.length as usize + step) {
        followed.store(thread.part.index, Relaxed);
    }
}

/// Threads that have lent the baton, the one that has waited longest first.
static LENDERS: [AtomicPtr<Thread>; 64] = [const { AtomicPtr::new(null_mut()) }; 64];
static LENDERS_LEN: AtomicUsize = AtomicUsize::new(0);
/// Whether a lender looked last, and not a thread that is named.
static LOOKED: AtomicBool = AtomicBool::new(false);
/// A thread that yields so often in one step waits for something that another does.
const PATIENCE: u32 = 20;

fn pop_lender() -> Option<&'static Thread> {
    let length = LENDERS_LEN.load(Relaxed).checked_sub(1)?;
    let first = LENDERS[0].load(Relaxed);
    for at in 0..length {
        LENDERS[at].store(LENDERS[at + 1].load(Relaxed), Relaxed);
    }
    LENDERS_LEN.store(length, Relaxed);
    // SAFETY: threads are never freed.
    unsafe { first.as_ref() }
}

/// The running thread yields, or sleeps until `until_ns` of virtual time. If it does so again and again, whoever is named
/// next has its step meanwhile; the lenders look in between, one after the other.
pub fn yields(until_ns: u64) {
    if explores() {
        if let Some(thread) = scheduled() {
            let nothing = Wanted { kind: want::NOTHING, object: 0, mark: 0 };
            let about = About { yields: true, until_ns, ..About::new(Op::Sleep, 0, nothing) };
            explore::point(thread, &about);
        }
        return;
    }
    let (Some(thread), Some(header)) = (scheduled(), header()) else { return };
    let length = LENDERS_LEN.load(Relaxed);
    if thread.part.yields.fetch_add(1, Relaxed) + 1 < PATIENCE || length == LENDERS.len() {
        return;
    }
    if thread.part.lent.load(Relaxed) == 0 {
        let step = header.step.fetch_add(1, AcqRel) + 1;
        thread.part.lent.store(step, Relaxed);
    }
    LENDERS[length].store(thread, Relaxed);
    LENDERS_LEN.store(length + 1, Relaxed);
    let next = header.step.load(Relaxed) as usize;
    let index = entries(header)[..header.length as usize].get(next).map(|entry| entry.load(Relaxed));
    let is_free = index.and_then(by_index).is_some_and(|next| next.part.lent.load(Relaxed) == 0);
    if is_free && LOOKED.swap(false, Relaxed) {
        name_next(thread, next);
    } else if let Some(lender) = pop_lender() {
        LOOKED.store(true, Relaxed);
        name(lender);
    }
    wait(thread);
}

fn name_next(thread: &mut Thread, step: usize) {
    let Some(header) = header() else { return };
    if step >= header.length as usize {
        return end_of_schedule(header);
    }
    let index = entries(header)[step].load(Relaxed);
    let Some(next) = by_index(index) else {
        let why = if index >= NEXT.load(Relaxed) { "it has not been created" } else { "it has ended" };
        refuse(thread, index, None, why);
    };
    if header.verbose != 0 {
        report::tell_step(step, next.part.index, next.name(), next.part.op.load(Relaxed), next.want.get().object);
    }
    name(next);
}

/// It is that thread's turn.
fn name(next: &Thread) {
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
const LOOK_NS: u64 = 50_000_000;

/// Waits until `thread` is named.
fn wait(thread: &mut Thread) {
    let word = &thread.part.turn as *const AtomicU32;
    // SAFETY: the thread's own word; signals are deferred meanwhile, so that no handler runs without the baton.
    let word = unsafe { &*word };
    thread.begin();
    let mut spins = 0;
    while word.load(Acquire) == 0 && is_on() {
        spins += 1;
        if spins < SPINS && process::get().processors > 1 {
            core::hint::spin_loop();
        } else {
            // SAFETY: as above.
            unsafe { sys::futex_wait(word.as_ptr(), 0, LOOK_NS) };
        }
    }
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
    }
}

/// Waits until the new thread is known by its handle, so that whoever joins it finds it.
pub fn created(child: &Thread) {
    while child.part.on.load(Relaxed) && child.pthread.load(Acquire) == 0 && is_on() {
        sys::sleep_ns(20_000);
    }
}

/// It could not be created.
pub fn creates_not(child: &Thread) {
    if child.part.on.swap(false, Relaxed) {
        explore::creates_not(child);
        NEXT.fetch_sub(1, Relaxed);
    }
}

/// A new thread waits for its turn.
pub fn starts(thread: &mut Thread) {
    if !thread.part.on.load(Relaxed) {
        baton::starts_again();
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
    if !thread.part.on.swap(false, SeqCst) {
        baton::ends_again(thread);
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
        if explores() {
            if thread.is_cancelled.load(Acquire) && matches!(op, Op::SemWait | Op::ThreadJoin) {
                // The real call ends it.
                return None;
            }
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

fn refuse_busy(thread: &mut Thread, op: Op, object: usize, why: &str) -> ! {
    let index = thread.part.index;
    thread.part.op.store(op as u32, Relaxed);
    let mark = deadlock::mark(kind(op), object, thread);
    thread.want.set(Wanted { kind: kind(op), object, mark });
    deadlock::look_now();
    refuse(thread, index, Some((op, object)), why)
}

/// Ends the process: the schedule cannot be followed.
fn refuse(thread: &Thread, due: u32, blocked: Option<(Op, usize)>, why: &str) -> ! {
    let (step, length) = header().map_or((0, 0), |header| (header.step.load(Relaxed), header.length));
    report::infeasible(thread, &Refusal { step, length, due, blocked, why })
}

/// Whether the thread could go on if it were named.
pub fn could_run(thread: &Thread) -> bool {
    let wanted = thread.want.get();
    thread.part.on.load(Relaxed) && (wanted.kind == want::NOTHING || deadlock::is_there(wanted, thread))
}

/// Waits for a condition: `release` gives the mutex up, `attempt` takes it again if it is free. Whether it was a time-out,
/// or nothing if the schedule is over (the mutex is then not the thread's).
pub fn wait_for_condition(
    c: usize,
    m: usize,
    until_ns: Option<u64>,
    release: impl FnOnce(),
    attempt: impl Fn() -> bool,
) -> Option<bool> {
    let thread = scheduled()?;
    let timed = until_ns.is_some();
    if explores() {
        let late = wait_to_be_chosen(thread, c, m, until_ns, release);
        obtain(Op::MutexLock, m, || attempt().then_some(()))?;
        return Some(late);
    }
    if !is_rich() {
        return wait_plainly(thread, c, m, timed, release, attempt);
    }
    point(thread, Op::MutexUnlock, m, 0);
    arrive(thread, c);
    release();
    point(thread, Op::CondWait, c, m as u64);
    let thread = scheduled()?;
    // Whoever is named goes on, even if nobody has signalled: a wait may end for nothing.
    let late = !take_signal(thread, c) && timed;
    thread.part.condition.store(0, Relaxed);
    obtain(Op::MutexLock, m, || attempt().then_some(()))?;
    Some(late)
}

/// Gives the mutex up and waits for a signal. Whether it came too late.
fn wait_to_be_chosen(thread: &mut Thread, c: usize, m: usize, until_ns: Option<u64>, release: impl FnOnce()) -> bool {
    let nothing = Wanted { kind: want::NOTHING, object: 0, mark: 0 };
    explore::point(thread, &About { other: c, ..About::new(Op::MutexUnlock, m, nothing) });
    arrive(thread, c);
    release();
    let timed = until_ns.is_some();
    let wanted = Wanted { kind: want::CONDITION, object: c, mark: m as u64 };
    let op = if timed { Op::CondTimed } else { Op::CondWait };
    let about = About { other: m, timed, until_ns: until_ns.unwrap_or(0), ..About::new(op, c, wanted) };
    let mut late = explore::point(thread, &about);
    let mut woken = take_signal(thread, c);
    while !woken && !late && !thread.is_cancelled.load(Acquire) {
        // It only had a signal handler to run.
        late = explore::point(thread, &About { again: true, ..about });
        woken = take_signal(thread, c);
    }
    thread.part.condition.store(0, Relaxed);
    late && !woken
}

/// As the thesis has it: whoever is named is woken. A timed wait counts as unlock and lock, and times out.
fn wait_plainly(
    thread: &mut Thread,
    c: usize,
    m: usize,
    timed: bool,
    release: impl FnOnce(),
    attempt: impl Fn() -> bool,
) -> Option<bool> {
    if timed {
        point(thread, Op::MutexUnlock, m, 0);
    }
    release();
    let op = if timed { Op::MutexLock } else { Op::CondWait };
    point(thread, op, if timed { m } else { c }, m as u64);
    obtain(Op::MutexLock, m, || attempt().then_some(()))?;
    if let (Some(thread), false) = (scheduled(), timed) {
        point(thread, Op::MutexLock, m, 0);
    }
    Some(timed)
}

fn arrive(thread: &mut Thread, c: usize) {
    thread.part.condition.store(c, Relaxed);
    thread.part.woken.store(0, Relaxed);
    thread.part.arrived.store(SERIAL.fetch_add(1, Relaxed) + 1, Relaxed);
}

fn each_waiter(c: usize, mut body: impl FnMut(&Part)) {
    thread::each(|thread| {
        if thread.part.condition.load(Relaxed) == c && thread.in_use.load(Acquire) == 1 {
            body(&thread.part);
        }
    });
}

/// The condition is signalled: the one that has waited longest is woken, or all are.
pub fn signals(c: usize, all: bool) {
    if !is_on() {
        return;
    }
    let serial = SERIAL.fetch_add(1, Relaxed) + 1;
    let mut first: Option<(u64, *const Part)> = None;
    each_waiter(c, |part| {
        let arrived = part.arrived.load(Relaxed);
        if part.woken.load(Relaxed) != 0 {
            return;
        }
        if all {
            part.woken.store(serial, Relaxed);
        } else if first.is_none_or(|(earliest, _)| arrived < earliest) {
            first = Some((arrived, part));
        }
    });
    if let Some((_, part)) = first {
        // SAFETY: threads are never freed.
        unsafe { (*part).woken.store(serial, Relaxed) };
    }
}

/// Whether the thread has been woken, or may take the place of another that was: one who waited already when the signal
/// came.
pub fn is_woken(thread: &Thread, c: usize) -> bool {
    let part = &thread.part;
    if !is_rich() || part.woken.load(Relaxed) != 0 {
        return true;
    }
    let mut could = false;
    each_waiter(c, |other| could |= other.woken.load(Relaxed) > part.arrived.load(Relaxed));
    could
}

fn take_signal(thread: &Thread, c: usize) -> bool {
    let part = &thread.part;
    if part.woken.swap(0, Relaxed) != 0 {
        return true;
    }
    let mut taken = false;
    each_waiter(c, |other| {
        if !taken && other.woken.load(Relaxed) > part.arrived.load(Relaxed) {
            other.woken.store(0, Relaxed);
            taken = true;
        }
    });
    taken
}

/// Whether the thread has arrived at the barrier and may not leave it yet.
pub fn is_held(thread: &Thread, b: usize) -> bool {
    thread.part.barrier.load(Relaxed) == b && !thread.part.leaves.load(Relaxed)
}

/// Arrives at a barrier for `count` threads. Whether this thread was the last, or nothing if the schedule is over.
pub fn barrier(b: usize, count: u32) -> Option<bool> {
    let thread = scheduled()?;
    if is_rich() {
        point(thread, Op::Barrier, b, 0);
    }
    turn::tell(thread, Op::Barrier, 0, b, 0, rich::WAITS);
    thread.part.leaves.store(false, Relaxed);
    thread.part.barrier.store(b, Relaxed);
    let part = &raw const thread.part;
    let mut here = 0;
    let each_here = |body: &mut dyn FnMut(&Part)| {
        thread::each(|other| {
            if other.part.barrier.load(Relaxed) == b && !other.part.leaves.load(Relaxed) {
                body(&other.part);
            }
        });
    };
    each_here(&mut |_| here += 1);
    let last = here >= count;
    if last {
        each_here(&mut |part| part.leaves.store(true, Relaxed));
    }
    if is_rich() {
        point(thread, Op::Barrier, b, 0);
    }
    // SAFETY: this thread's own.
    let part = unsafe { &*part };
    let left = obtain(Op::Barrier, b, || part.leaves.load(Relaxed).then_some(()));
    part.barrier.store(0, Relaxed);
    left.map(|()| last)
}
