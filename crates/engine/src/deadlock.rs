//! Deadlocks: found by the thread that closes the circle, from who holds and who waits.
//!
//! A thread that is about to block says what it wants, then looks. A thread is *live* if it waits for nothing, or if
//! what it waits for can come: the holder of its mutex is live, the thread that it joins is live, or, for what any
//! thread could give (a signal, a post, an arrival, a mutex whose holder has ended), any other thread is live. Threads that
//! are not live are dead for ever: nothing in the program can wake them, and so a deadlock, once seen, stays.
//!
//! What is exact about it: wants are read twice, and between the readings nobody has moved. Objects that other processes
//! can reach, threads that Retake does not know, and handlers that a signal could run make what they could give come.
//! Threads that sleep, compute, or wait outside (a socket) have no want, and so are live.
//!
//! Law: a thread that does not block pays nothing here. One that waits for a plain mutex says so after a millisecond: who
//! contends for short sections pays nothing, either, and a deadlock is found that much later.

use crate::lock::Lock;
use crate::process;
use crate::store::Path;
use crate::sys;
use crate::thread::{self, Thread};
use crate::turn;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
use retake_tape::op::Op;
use retake_tape::rich;
use retake_tape::session::DEADLOCK_MAX;

/// Kinds of objects that a thread can wait for.
pub mod want {
    pub const NOTHING: u32 = 0;
    pub const MUTEX: u32 = 1;
    pub const READ: u32 = 2;
    pub const WRITE: u32 = 3;
    pub const CONDITION: u32 = 4;
    pub const SEMAPHORE: u32 = 5;
    pub const JOIN: u32 = 6;
    pub const BARRIER: u32 = 7;
    /// What is run once, and is under way in another thread.
    pub const ONCE: u32 = 8;
    pub const SPIN: u32 = 9;
    /// A futex of the program's own.
    pub const FUTEX: u32 = 10;
}

/// What a thread is about to wait for.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub kind: u32,
    pub object: usize,
    /// What the surface needs to tell whether the object has come meanwhile.
    pub mark: u64,
}

/// The same, for the others to see.
#[repr(C)]
pub struct Want {
    pub kind: AtomicU32,
    object: AtomicUsize,
    mark: AtomicU64,
    /// Changes whenever the rest does.
    serial: AtomicU64,
}

impl Want {
    /// All of one time: an object of another kind, or none, would be looked at as what it is not.
    pub fn get(&self) -> Wanted {
        loop {
            let serial = self.serial.load(Acquire);
            let kind = self.kind.load(Acquire);
            let (object, mark) = (self.object.load(Acquire), self.mark.load(Acquire));
            if self.serial.load(Acquire) == serial {
                return Wanted { kind, object, mark };
            }
        }
    }

    pub fn set(&self, wanted: Wanted) {
        self.kind.store(want::NOTHING, Relaxed);
        self.serial.fetch_add(1, AcqRel);
        self.object.store(wanted.object, Relaxed);
        self.mark.store(wanted.mark, Relaxed);
        self.kind.store(wanted.kind, Release);
    }
}

/// How many threads want exactly that.
pub fn how_many_want(wanted: Wanted) -> u32 {
    let mut many = 0;
    thread::each(|thread| {
        let theirs = thread.want.get();
        many += u32::from((theirs.kind, theirs.object, theirs.mark) == (wanted.kind, wanted.object, wanted.mark));
    });
    many
}

/// What must happen before a thread gets what it wants.
pub enum Need<'a> {
    /// It is there.
    Nothing,
    /// It can come without any thread of this process: from another process, or from a handler.
    Outside,
    /// The thread of this id must give it up, or end.
    Thread(u32),
    /// All threads that have it for reading must give it up.
    Readers,
    /// Any other thread can give it.
    Anyone,
    /// That thread must end.
    End(&'a Thread),
    /// Nobody can give it: its holder has ended, and nobody else is allowed to unlock it.
    Nobody,
}

/// Tells what `thread` needs; set by the surface, which knows the objects.
pub type Needs = fn(wanted: Wanted, thread: &Thread) -> Need<'static>;
/// The stack of a blocked thread.
pub type StackOf = fn(thread: &Thread) -> [u64; STACK];
/// Holds a thread that computes, if it does so outside of the shim, and calls a function with its stack meanwhile. Whether
/// it could be held.
pub type WhileHeld = fn(thread: &Thread, body: &mut dyn FnMut(&[u64; STACK])) -> bool;
/// What must be known of an object now to tell later whether it has come.
pub type Mark = fn(kind: u32, object: usize, thread: &Thread) -> u64;
/// From where its holder obtained the object: the lower half of a return address, or 0.
pub type Since = fn(wanted: Wanted, holder: &Thread) -> u32;
/// Frames told of each thread.
pub const STACK: usize = 20;

/// What the surface knows and the engine does not.
pub struct Surface {
    pub mark: Mark,
    pub needs: Needs,
    pub stack_of: StackOf,
    pub while_held: WhileHeld,
    /// Whether a handler of the program's could run.
    pub has_handlers: fn() -> bool,
    pub since: Since,
    /// The id of the thread that has it and has ended.
    pub left_by: fn(wanted: Wanted) -> Option<u32>,
    /// The stack of the calling thread.
    pub own_stack: fn() -> [u64; STACK],
}

static SURFACE: AtomicPtr<Surface> = AtomicPtr::new(null_mut());

/// Says what the surface knows. Without it no deadlock is ever found.
pub fn set_surface(surface: &'static Surface) {
    SURFACE.store(core::ptr::from_ref(surface).cast_mut(), Release);
}

fn surface() -> Option<&'static Surface> {
    // SAFETY: only `set_surface` stores there.
    unsafe { SURFACE.load(Acquire).as_ref() }
}

/// Threads that want something.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// Threads that were created and have not ended.
static ALIVE: AtomicU32 = AtomicU32::new(1);
static LOCK: Lock = Lock::new();

/// A thread is about to be created.
pub fn begins() {
    ALIVE.fetch_add(1, SeqCst);
}

/// Something of the program's may run in a thread after its function has ended.
static DESTRUCTORS: AtomicBool = AtomicBool::new(false);

/// The program has asked for something to run when a thread's function has ended.
pub fn has_destructors() {
    DESTRUCTORS.store(true, Relaxed);
}

/// Whether something may.
pub fn may_have_destructors() -> bool {
    DESTRUCTORS.load(Relaxed)
}

/// A thread's function has ended. Unless something of the program's still runs in it, whoever waits for a signal may now
/// wait for ever.
pub fn ends() {
    let alive = ALIVE.fetch_sub(1, SeqCst) - 1;
    let waiting = WAITING.load(SeqCst);
    if DESTRUCTORS.load(Relaxed) || alive == 0 || waiting == 0 {
        return;
    }
    if waiting >= alive || surface().is_some_and(somebody_needs_nobody) {
        look(None);
    }
}

/// Whether a thread waits for what nobody can give.
fn somebody_needs_nobody(surface: &Surface) -> bool {
    let mut found = false;
    thread::each(|thread| {
        let serial = thread.want.serial.load(Acquire);
        let wanted = thread.want.get();
        // If it has gone on meanwhile, its object may be gone.
        let waits = wanted.kind == want::MUTEX && thread.want.serial.load(Acquire) == serial;
        found |= waits && matches!((surface.needs)(wanted, thread), Need::Nobody);
    });
    found
}

/// Whether the thread of that id has ended: nothing of the program's runs in it any more.
pub fn has_ended(tid: u32) -> bool {
    let is_gone = || {
        // SAFETY: signal 0 asks and does nothing.
        let asked = unsafe { sys::tgkill(sys::getpid_now() as usize, tid as usize, 0) };
        sys::error(asked) == Some(libc::ESRCH)
    };
    by_tid(tid).is_none() && (has_ended_quietly(tid) || is_gone())
}

/// Whether its function has ended and nothing of the program's comes behind that.
fn has_ended_quietly(tid: u32) -> bool {
    let mut ended = false;
    thread::each(|thread| ended |= thread.tid == tid && thread.in_use.load(Acquire) == 2);
    ended && !DESTRUCTORS.load(Relaxed)
}

/// A thread could not be created.
pub fn begins_not() {
    ALIVE.fetch_sub(1, SeqCst);
}

/// In a forked child one thread is left.
pub fn reset() {
    ALIVE.store(1, Relaxed);
    WAITING.store(0, Relaxed);
    LOCK.reset();
}

const TIDS: usize = 1024;
static BY_TID: [AtomicPtr<Thread>; TIDS] = [const { AtomicPtr::new(null_mut()) }; TIDS];

/// Makes `thread` known by its id.
pub fn knows(thread: &Thread) {
    BY_TID[thread.tid as usize % TIDS].store(core::ptr::from_ref(thread).cast_mut(), Release);
}

/// The thread of that id that has not ended.
pub fn by_tid(tid: u32) -> Option<&'static Thread> {
    let lives = |thread: &Thread| thread.tid == tid && thread.in_use.load(Acquire) == 1;
    // SAFETY: threads are never freed.
    if let Some(thread) = unsafe { BY_TID[tid as usize % TIDS].load(Acquire).as_ref() }
        && lives(thread)
    {
        return Some(thread);
    }
    let mut found = None;
    thread::each(|thread| {
        if lives(thread) {
            found = Some(core::ptr::from_ref(thread));
        }
    });
    // SAFETY: as above.
    found.map(|thread| unsafe { &*thread })
}

/// Makes a call of the program's that may block for ever, waiting for an object of that kind.
pub fn blocking<R>(op: Op, kind: u32, object: usize, call: impl FnOnce() -> R) -> R {
    let Some(thread) = turn::enter() else { return call() };
    let mark = mark(kind, object, thread);
    blocking_for(thread, op, Wanted { kind, object, mark }, call)
}

/// The same, with a mark that the caller knows.
pub fn blocking_for<R>(thread: &Thread, op: Op, wanted: Wanted, call: impl FnOnce() -> R) -> R {
    let before = thread.want.get();
    publish(thread, op, wanted);
    let _back = Back { thread, before };
    call()
}

/// Puts back what a handler of this thread interrupted, if it did.
struct Back<'a> {
    thread: &'a Thread,
    before: Wanted,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.thread.want.set(self.before);
        if self.before.kind == want::NOTHING {
            WAITING.fetch_sub(1, SeqCst);
        }
    }
}

/// Replay: `thread` has come to the end of its tape, wanting an object that it did not get before the deadlock. Returns what
/// it wanted before, which a handler of it has interrupted.
pub fn at_end(thread: &Thread, op: Op, object: usize) -> Option<Wanted> {
    let kind = match op {
        Op::MutexLock => want::MUTEX,
        Op::RwRead => want::READ,
        Op::RwWrite => want::WRITE,
        Op::CondWait => want::CONDITION,
        Op::SemWait => want::SEMAPHORE,
        Op::ThreadJoin => want::JOIN,
        Op::Barrier => want::BARRIER,
        Op::Once => want::ONCE,
        Op::SpinLock => want::SPIN,
        Op::Futex => want::FUTEX,
        _ => return None,
    };
    let (before, mark) = (thread.want.get(), mark(kind, object, thread));
    publish(thread, op, Wanted { kind, object, mark });
    Some(before)
}

/// Replay: what `thread` wanted there has come.
pub fn has_come(thread: &Thread, before: Wanted) {
    drop(Back { thread, before });
}

/// Says that `thread` wants something and looks whether that is the end.
fn publish(thread: &Thread, op: Op, wanted: Wanted) {
    let nested = thread.want.kind.load(Relaxed) != want::NOTHING;
    if turn::recording()
        && let Some(thread) = thread::current()
    {
        turn::tell(thread, op, 0, wanted.object, 0, rich::WAITS);
    }
    thread.want.set(wanted);
    let waiting = if nested { WAITING.load(SeqCst) } else { WAITING.fetch_add(1, SeqCst) + 1 };
    fence(SeqCst);
    if surface().is_some_and(|surface| is_suspicious(surface, thread, wanted, waiting)) {
        look(Some(thread));
    }
}

/// The usual answer, cheaply: the holder runs, or somebody else does.
fn is_suspicious(surface: &Surface, thread: &Thread, wanted: Wanted, waiting: u32) -> bool {
    match (surface.needs)(wanted, thread) {
        Need::Nothing | Need::Outside => false,
        Need::Thread(tid) => by_tid(tid).is_some_and(|holder| holder.want.kind.load(Acquire) != want::NOTHING),
        Need::End(target) => target.want.kind.load(Acquire) != want::NOTHING,
        Need::Readers | Need::Nobody => true,
        Need::Anyone => waiting >= ALIVE.load(SeqCst),
    }
}

/// What must be known of the object now to tell later whether it has come.
pub fn mark(kind: u32, object: usize, thread: &Thread) -> u64 {
    surface().map_or(0, |surface| (surface.mark)(kind, object, thread))
}

/// Looks now, whoever waits.
pub fn look_now() {
    look(None);
}

/// Whether what the thread wants is there.
pub fn is_there(wanted: Wanted, thread: &Thread) -> bool {
    surface().is_none_or(|surface| matches!((surface.needs)(wanted, thread), Need::Nothing))
}

/// Whether what the thread wants is there, or can come without any thread of this process.
pub fn may_come(wanted: Wanted, thread: &Thread) -> bool {
    surface().is_none_or(|surface| matches!((surface.needs)(wanted, thread), Need::Nothing | Need::Outside))
}

/// The stack of another thread, which is blocked in a call that a signal does not end.
pub(crate) fn stack_of(thread: &Thread) -> [u64; STACK] {
    surface().map_or([0; STACK], |surface| LOCK.with(|| (surface.stack_of)(thread)))
}

/// Calls `body` with the stack of another thread, which computes, while it is held. Whether it could be.
pub(crate) fn while_held(thread: &Thread, body: &mut dyn FnMut(&[u64; STACK])) -> bool {
    surface().is_some_and(|surface| LOCK.with(|| (surface.while_held)(thread, body)))
}

/// Whether a handler of the program's could run, and wake anybody.
pub(crate) fn has_handlers() -> bool {
    surface().is_none_or(|surface| (surface.has_handlers)())
}

/// The names of those whom the thread waits for.
pub fn holders(wanted: Wanted, thread: &Thread, mut name: impl FnMut(&Thread)) {
    let Some(surface) = surface() else { return };
    if matches!((surface.needs)(wanted, thread), Need::Anyone) {
        return;
    }
    thread::each(|other| {
        if other.in_use.load(Acquire) == 1 && needs_it(thread, wanted, other, surface) {
            name(other);
        }
    });
}

/// Threads of one look, at most; more are not looked at.
const MOST: usize = 4096;

struct Seen {
    thread: *const Thread,
    serial: u64,
    wanted: Wanted,
    live: bool,
}

struct Table(core::cell::UnsafeCell<[Seen; MOST]>);
// SAFETY: used under the lock only.
unsafe impl Sync for Table {}

const BLANK: Seen =
    Seen { thread: null_mut(), serial: 0, wanted: Wanted { kind: want::NOTHING, object: 0, mark: 0 }, live: true };
static TABLE: Table = Table(core::cell::UnsafeCell::new([BLANK; MOST]));

/// Looks at all threads. `me` is the one that has just said what it wants.
#[cold]
#[inline(never)]
fn look(me: Option<&Thread>) {
    let (Some(surface), Some(session)) = (surface(), process::get().session()) else { return };
    if session.deadlock_state.load(Acquire) != 0 {
        return;
    }
    let mut current = thread::current();
    if let Some(thread) = &mut current {
        thread.begin();
    }
    LOCK.with(|| {
        // SAFETY: under the lock.
        let table = unsafe { &mut *TABLE.0.get() };
        let Some(seen) = gather(table) else { return };
        settle(seen, surface);
        let dead = |seen: &Seen| !seen.live;
        let mine = me.is_none_or(|me| seen.iter().any(|seen| dead(seen) && core::ptr::eq(seen.thread, me)));
        if !mine || !seen.iter().any(dead) || !is_unmoved(seen) {
            return;
        }
        if !needs_anyone(seen, surface) {
            reduce(seen, surface);
        } else if has_strangers(seen) {
            return;
        }
        if seen.iter().any(dead) {
            tell(seen, surface);
        }
    });
    if let Some(thread) = current {
        thread.finish();
    }
}

fn gather(table: &mut [Seen; MOST]) -> Option<&mut [Seen]> {
    let mut length = 0;
    thread::each(|thread| {
        if thread.in_use.load(Acquire) == 1 {
            if length < MOST {
                let serial = thread.want.serial.load(Acquire);
                let wanted = thread.want.get();
                table[length] = Seen { thread, serial, wanted, live: wanted.kind == want::NOTHING };
            }
            length += 1;
        }
    });
    (length <= MOST).then(|| &mut table[..length])
}

/// Marks as live whoever can go on, until nothing changes.
fn settle(seen: &mut [Seen], surface: &Surface) {
    loop {
        let mut changed = false;
        for index in 0..seen.len() {
            if !seen[index].live && can_come(seen, index, surface) {
                seen[index].live = true;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

fn can_come(seen: &[Seen], index: usize, surface: &Surface) -> bool {
    let wanted = seen[index].wanted;
    // SAFETY: threads are never freed; so for the others.
    let thread = unsafe { &*seen[index].thread };
    if thread.want.serial.load(Acquire) != seen[index].serial {
        // It goes on already, and its object may be gone.
        return true;
    }
    match (surface.needs)(wanted, thread) {
        Need::Nothing | Need::Outside => true,
        Need::Thread(tid) => seen.iter().find(|other| unsafe { (*other.thread).tid } == tid).is_none_or(|it| it.live),
        Need::End(target) => {
            seen.iter().find(|other| core::ptr::eq(other.thread, target)).is_none_or(|target| target.live)
        }
        Need::Readers => {
            let mut readers = seen.iter().filter(|other| unsafe { (*other.thread).holds.has(wanted.object) });
            let mut any = false;
            let all = readers.all(|reader| {
                any = true;
                reader.live
            });
            all || !any
        }
        Need::Anyone => seen.iter().enumerate().any(|(other, seen)| other != index && seen.live),
        Need::Nobody => false,
    }
}

/// Leaves out those dead threads that only wait behind the others, so that what is told does not depend on who came to
/// wait there first.
fn reduce(seen: &mut [Seen], surface: &Surface) {
    loop {
        let is_needed = |index: usize| {
            seen.iter().any(|other| {
                // SAFETY: threads are never freed.
                !other.live && unsafe { needs_it(&*other.thread, other.wanted, &*seen[index].thread, surface) }
            })
        };
        let is_first = |index: usize| {
            // SAFETY: as above.
            matches!((surface.needs)(seen[index].wanted, unsafe { &*seen[index].thread }), Need::Nobody)
        };
        let is_behind = |index: &usize| !seen[*index].live && !is_needed(*index) && !is_first(*index);
        let Some(behind) = (0..seen.len()).find(is_behind) else { return };
        seen[behind].live = true;
    }
}

/// Whether `thread`, which waits for `wanted`, needs `other` to do something.
fn needs_it(thread: &Thread, wanted: Wanted, other: &Thread, surface: &Surface) -> bool {
    match (surface.needs)(wanted, thread) {
        Need::Nothing | Need::Outside | Need::Nobody => false,
        Need::Thread(tid) => other.tid == tid,
        Need::End(target) => core::ptr::eq(target, other),
        Need::Readers => other.holds.has(wanted.object),
        Need::Anyone => true,
    }
}

/// Nobody who is dead has moved since it was looked at.
fn is_unmoved(seen: &[Seen]) -> bool {
    fence(SeqCst);
    seen.iter().filter(|seen| !seen.live).all(|seen| {
        // SAFETY: threads are never freed.
        let want = unsafe { &(*seen.thread).want };
        want.serial.load(Acquire) == seen.serial && want.kind.load(Acquire) == seen.wanted.kind
    })
}

fn needs_anyone(seen: &[Seen], surface: &Surface) -> bool {
    seen.iter().filter(|seen| !seen.live).any(|seen| {
        // SAFETY: threads are never freed.
        matches!((surface.needs)(seen.wanted, unsafe { &*seen.thread }), Need::Anyone)
    })
}

/// Whether the kernel knows a thread of this process that Retake does not: it could wake the others.
fn has_strangers(seen: &[Seen]) -> bool {
    let mut strangers = false;
    sys::each_task(|tid| {
        let known = seen.iter().any(|seen| unsafe { (*seen.thread).tid } == tid);
        strangers |= !known && !has_ended_quietly(tid);
    }) || strangers
}

fn kind_word(kind: u32) -> &'static str {
    match kind {
        want::MUTEX => "mutex",
        want::READ => "rwlock (to read)",
        want::WRITE => "rwlock (to write)",
        want::CONDITION => "condition",
        want::SEMAPHORE => "semaphore",
        want::JOIN => "end of thread",
        want::BARRIER => "barrier",
        want::ONCE => "once",
        want::SPIN => "spinlock",
        want::FUTEX => "futex",
        _ => "object",
    }
}

/// Writes who waits for what into the session, for the command line to word.
fn tell(seen: &[Seen], surface: &Surface) {
    let Some(session) = process::get().session() else { return };
    if session.deadlock_state.compare_exchange(0, 1, AcqRel, Acquire).is_err() {
        return;
    }
    // SAFETY: whoever turned the state to 1 is the only writer.
    let room = unsafe { core::slice::from_raw_parts_mut(session.deadlock.as_ptr().cast_mut(), DEADLOCK_MAX) };
    let mut lines = Path { to: room, length: 0 };
    lines.push(b"process=").push(process::get().name()).push(b"\npid=").push_number(process::get().pid.into());
    lines.push(b"\n");
    for dead in seen.iter().filter(|seen| !seen.live) {
        tell_one(&mut lines, seen, dead, surface);
    }
    session.deadlock_len.store(lines.length.min(DEADLOCK_MAX) as u32, Release);
    session.deadlock_state.store(2, Release);
}

fn tell_one(lines: &mut Path<'_>, seen: &[Seen], dead: &Seen, surface: &Surface) {
    // SAFETY: threads are never freed.
    let thread = unsafe { &*dead.thread };
    lines.push(b"thread=").push(thread.name()).push(b"\nstart=").push_hex(thread.start as u64);
    lines.push(b"\nevent=").push_number(thread.count() + 1);
    lines.push(b"\nwaits=").push(kind_word(dead.wanted.kind).as_bytes());
    lines.push(b"\nobject=").push_hex(dead.wanted.object as u64).push(b"\n");
    let is_own = match dead.wanted.kind {
        want::MUTEX => dead.wanted.mark != 0,
        want::SPIN => thread.holds.has(dead.wanted.object),
        _ => false,
    };
    if is_own {
        tell_holder(lines, thread, dead.wanted, surface);
    }
    for other in seen {
        // SAFETY: as above.
        let other = unsafe { &*other.thread };
        let anyone = matches!((surface.needs)(dead.wanted, thread), Need::Anyone);
        if !anyone && needs_it(thread, dead.wanted, other, surface) {
            tell_holder(lines, other, dead.wanted, surface);
        }
    }
    tell_ended(lines, dead.wanted, surface);
    lines.push(b"pcs=");
    let is_current = thread::current().is_some_and(|current| core::ptr::eq(current, thread));
    let stack = if is_current { (surface.own_stack)() } else { (surface.stack_of)(thread) };
    for pc in stack.iter().take_while(|pc| **pc != 0) {
        lines.push_hex(*pc).push(b",");
    }
    lines.push(b"\n");
}

fn tell_holder(lines: &mut Path<'_>, holder: &Thread, wanted: Wanted, surface: &Surface) {
    lines.push(b"holder=").push(holder.name()).push(b"\n");
    let since = (surface.since)(wanted, holder);
    lines.push(b"since=").push_hex(u64::from(since)).push(b"\n");
    let calls = holder.taken.of(wanted.object).filter(|calls| since == 0 || calls[0] as u32 == since);
    lines.push(b"calls=");
    for call in calls.iter().flatten().take_while(|call| **call != 0) {
        lines.push_hex(*call).push(b",");
    }
    lines.push(b"\n");
}

/// Those in the way who have ended. One whose structure has become another's has no name any more.
fn tell_ended(lines: &mut Path<'_>, wanted: Wanted, surface: &Surface) {
    let left_by = (surface.left_by)(wanted);
    let mut is_named = false;
    thread::each(|thread| {
        let is_lock = matches!(wanted.kind, want::READ | want::WRITE);
        let has_it = left_by == Some(thread.tid) || is_lock && thread.holds.has(wanted.object);
        if thread.in_use.load(Acquire) == 2 && has_it {
            is_named = true;
            tell_holder(lines, thread, wanted, surface);
            lines.push(b"ended=1\n");
        }
    });
    if left_by.is_some() && !is_named {
        lines.push(b"holder=\nended=1\n");
    }
}
