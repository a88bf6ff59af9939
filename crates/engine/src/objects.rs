//! Objects: where threads meet, and how each keeps its order (Instant Replay's protocols).
//!
//! - [`Slot`]: one at a time (ME). Version and last owner lie inside the object, so that they live exactly as long.
//! - [`Touch`]: counted objects that many change at once (semaphores): the same, in one atomic word.
//! - [`Readers`], [`Writer`]: many readers or one writer (CREW). A writer's turn comes when the version is right and as
//!   many have read it as had then; readers of one version go in parallel.
//! - [`Count`]: one at a time, with room for a version alone (robust mutexes).
//! - [`Meeting`]: objects without room. While recording, a table by address tells who was there last; the tape then
//!   names that thread and its event. A replay needs no table, so memory that is used again cannot mislead it. A stale
//!   row can only name an event that lies in the past anyway.
//!
//! An acquire is noted only if another thread had the object last.

use crate::lock::Lock;
use crate::park::{self, Place};
use crate::replay::Order;
use crate::report;
use crate::sys;
use crate::thread::{Thread, waiting};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

/// An object as the turn sees it.
pub trait Object {
    /// Recording: the calling thread has just obtained it.
    fn took(&self, thread: &mut Thread);
    /// Replay: wait until it may be obtained.
    fn wait(&self, thread: &mut Thread, order: Order);
    /// Replay: the calling thread has just obtained it.
    fn taken(&self, thread: &mut Thread);
    /// Its version, for a person to read.
    fn version(&self) -> u64 {
        0
    }
}

/// What a mutex has room for.
pub enum Kept {
    Slot(Slot),
    Count(Count),
    Meeting(Meeting),
}

impl Kept {
    fn object(&self) -> &dyn Object {
        match self {
            Kept::Slot(slot) => slot,
            Kept::Count(count) => count,
            Kept::Meeting(meeting) => meeting,
        }
    }

    /// Recording: the calling thread has obtained it again; when it gave it up, the version was `before`. Whether another may
    /// have had it in between, which is noted then.
    pub fn took_again(&self, thread: &mut Thread, before: u64) -> bool {
        let position = thread.writer.position();
        match self {
            Kept::Count(count) if count.version() == before => count.taken(thread),
            _ => self.took(thread),
        }
        position != thread.writer.position()
    }
}

impl Object for Kept {
    fn took(&self, thread: &mut Thread) {
        self.object().took(thread);
    }
    fn wait(&self, thread: &mut Thread, order: Order) {
        self.object().wait(thread, order);
    }
    fn taken(&self, thread: &mut Thread) {
        self.object().taken(thread);
    }
    fn version(&self) -> u64 {
        self.object().version()
    }
}

/// No object: only the outcome counts.
pub struct Nothing;

impl Object for Nothing {
    fn took(&self, _: &mut Thread) {}
    fn wait(&self, thread: &mut Thread, order: Order) {
        wait_edge(thread, order);
    }
    fn taken(&self, _: &mut Thread) {}
}

fn wait_edge(thread: &mut Thread, order: Order) {
    if let Order::Edge { thread: other, count } = order {
        park::wait_for_thread(thread, other, count);
    }
}

/// Version and last owner, inside an object that one thread has at a time.
#[repr(C)]
pub struct Words {
    pub version: AtomicU64,
    pub owner: AtomicU32,
    /// The least version that a sleeper wants (replay).
    pub wanted: AtomicU32,
}

/// One at a time.
pub struct Slot {
    pub words: *const Words,
    /// Other processes may take it, too.
    pub shared: bool,
}

impl Slot {
    fn words(&self) -> &Words {
        // SAFETY: the object is there while a call with it is under way.
        unsafe { &*self.words }
    }

    fn place(&self) -> Place {
        Place { key: self.words as usize, wanted: &self.words().wanted, poll: self.shared }
    }

    /// Replay: gives the turn on; to be called just before the real release. Returns what `gave` needs.
    #[inline(always)]
    pub fn give(&self) -> u64 {
        let words = self.words();
        let version = words.version.load(Relaxed) + 1;
        if park::give(&words.version, &words.wanted, version) { version } else { 0 }
    }

    /// Replay: after the real release, wakes the thread whose turn it is. The object may be gone.
    pub fn gave(&self, version: u64) {
        if version != 0 {
            park::wake(self.words as usize, unsafe { &raw const (*self.words).wanted }, version);
        }
    }
}

impl Slot {
    /// Recording: as [`Object::took`], for a thread that has just written a hand-over and may write the next.
    #[inline(always)]
    pub fn took_again(&self, thread: &mut Thread) {
        let words = self.words();
        let (version, owner) = (words.version.load(Relaxed), words.owner.load(Relaxed));
        if owner == 0 || !thread.hand_over_if(version, owner != thread.number) {
            return self.took(thread);
        }
        words.version.store(version + 1, Relaxed);
        words.owner.store(thread.number, Relaxed);
    }
}

impl Object for Slot {
    #[inline(always)]
    fn took(&self, thread: &mut Thread) {
        let words = self.words();
        let version = words.version.load(Relaxed);
        words.version.store(version + 1, Relaxed);
        let owner = words.owner.load(Relaxed);
        if owner != thread.number {
            words.owner.store(thread.number, Relaxed);
            if owner != 0 {
                thread.hand_over(version);
            }
        }
    }

    fn wait(&self, thread: &mut Thread, order: Order) {
        let words = self.words();
        match order {
            Order::Version(version) => {
                let left = || version.saturating_sub(words.version.load(Acquire));
                park::wait(thread, waiting::VERSION, &self.place(), version, left);
                let now = words.version.load(Acquire);
                if now > version {
                    report::passed(thread, self.words as usize, version, now);
                }
            }
            Order::Own => {
                let owner = words.owner.load(Relaxed);
                if owner != thread.number && owner != 0 {
                    report::not_own(thread, self.words as usize, owner);
                }
            }
            other => wait_edge(thread, other),
        }
    }

    fn taken(&self, thread: &mut Thread) {
        self.words().owner.store(thread.number, Relaxed);
    }

    fn version(&self) -> u64 {
        self.words().version.load(Relaxed)
    }
}

/// One at a time, with room for a version alone: who had it last is not known, so each acquire is noted. It is raised by who
/// obtains the object, in a replay, too, because a holder that dies does not give it up.
pub struct Count(pub *const AtomicU32);

impl Count {
    fn word(&self) -> &AtomicU32 {
        // SAFETY: the object is there while a call with it is under way.
        unsafe { &*self.0 }
    }
}

impl Object for Count {
    fn took(&self, thread: &mut Thread) {
        thread.hand_over(self.version());
        self.taken(thread);
    }

    fn wait(&self, thread: &mut Thread, order: Order) {
        let Order::Version(version) = order else { return wait_edge(thread, order) };
        let left = || (version as u32).wrapping_sub(self.word().load(Acquire)) as i32;
        let place = Place { key: self.0 as usize, wanted: null_mut(), poll: true };
        park::wait(thread, waiting::VERSION, &place, version, || left().max(0) as u64);
        if left() < 0 {
            report::passed(thread, self.0 as usize, version, self.version());
        }
    }

    fn taken(&self, _: &mut Thread) {
        self.word().fetch_add(1, SeqCst);
    }

    fn version(&self) -> u64 {
        u64::from(self.word().load(Relaxed))
    }
}

/// Version (40 bits) and last owner (24 bits) in one word, for objects that several threads change at once.
pub struct Touch {
    pub word: *const AtomicU64,
    pub wanted: *const AtomicU32,
    pub shared: bool,
}

const VERSION_BITS: u32 = 40;
const VERSION_MASK: u64 = (1 << VERSION_BITS) - 1;

impl Touch {
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the object is there while a call with it is under way.
        unsafe { &*self.word }
    }

    /// Makes `thread` the last one; the owner before and the version.
    fn touch(&self, thread: &Thread) -> (u32, u64) {
        let word = self.word();
        let mut old = word.load(Relaxed);
        loop {
            let new = u64::from(thread.number) << VERSION_BITS | (old + 1) & VERSION_MASK;
            match word.compare_exchange_weak(old, new, SeqCst, Relaxed) {
                Ok(_) => return ((old >> VERSION_BITS) as u32, old & VERSION_MASK),
                Err(now) => old = now,
            }
        }
    }
}

impl Object for Touch {
    fn took(&self, thread: &mut Thread) {
        let (owner, version) = self.touch(thread);
        if owner != 0 && owner != thread.number {
            thread.hand_over(version);
        }
    }

    fn wait(&self, thread: &mut Thread, order: Order) {
        let Order::Version(version) = order else { return wait_edge(thread, order) };
        let place = Place { key: self.word as usize, wanted: self.wanted, poll: self.shared };
        let now = || self.word().load(Acquire) & VERSION_MASK;
        park::wait(thread, waiting::VERSION, &place, version, || version.saturating_sub(now()));
        if now() > version {
            report::passed(thread, self.word as usize, version, now());
        }
    }

    fn taken(&self, thread: &mut Thread) {
        let (_, version) = self.touch(thread);
        // SAFETY: the object is there: its real release, or this thread's return, comes later.
        if unsafe { (*self.wanted).load(SeqCst) } != 0 {
            park::wake(self.word as usize, self.wanted, version + 1);
        }
    }

    fn version(&self) -> u64 {
        self.word().load(Relaxed) & VERSION_MASK
    }
}

/// What CREW needs, inside a read-write lock.
#[derive(Clone, Copy)]
pub struct Crew {
    /// Times that it was written.
    pub version: *const AtomicU32,
    /// Readers of this version so far.
    pub readers: *const AtomicU32,
    pub writer: *const AtomicU32,
    /// Recording: which threads (by number below 64) have noted this version. Replay: whether somebody sleeps.
    pub noted: *const AtomicU64,
    pub shared: bool,
}

impl Crew {
    fn version(&self) -> &AtomicU32 {
        // SAFETY: the object is there while a call with it is under way; so for the others.
        unsafe { &*self.version }
    }
    fn readers(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*self.readers }
    }
    fn writer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*self.writer }
    }
    fn noted(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &*self.noted }
    }

    fn wait(&self, thread: &mut Thread, version: u32, readers: u32) {
        let now = || self.version().load(Acquire);
        let left = || match version.wrapping_sub(now()) as i32 {
            0 => readers.saturating_sub(self.readers().load(Acquire)).into(),
            writes => writes.max(0) as u64,
        };
        let place = Place { key: self.version as usize, wanted: self.noted.cast(), poll: self.shared };
        park::wait(thread, waiting::VERSION, &place, 1, left);
        if now() != version {
            report::passed(thread, self.version as usize, u64::from(version), u64::from(now()));
        }
    }

    fn wake(&self) {
        if self.noted().load(SeqCst) != 0 {
            park::wake(self.version as usize, self.noted.cast(), u64::MAX);
        }
    }

    /// Replay: a writer gives the turn on, just before the real release.
    pub fn give(&self) {
        self.readers().store(0, SeqCst);
        self.version().fetch_add(1, SeqCst);
        self.wake();
    }
}

/// A read-write lock, obtained for reading.
pub struct Readers(pub Crew);

impl Object for Readers {
    fn took(&self, thread: &mut Thread) {
        let crew = &self.0;
        let version = crew.version().load(Acquire);
        crew.readers().fetch_add(1, AcqRel);
        let writer = crew.writer().load(Relaxed);
        if writer == 0 || writer == thread.number {
            return;
        }
        if thread.number < 64 {
            let bit = 1 << thread.number;
            if crew.noted().load(Relaxed) & bit != 0 {
                return;
            }
            crew.noted().fetch_or(bit, Relaxed);
        }
        thread.hand_over(u64::from(version));
    }

    fn wait(&self, thread: &mut Thread, order: Order) {
        match order {
            Order::Version(version) => self.0.wait(thread, version as u32, 0),
            other => wait_edge(thread, other),
        }
    }

    fn taken(&self, _: &mut Thread) {
        self.0.readers().fetch_add(1, SeqCst);
        self.0.wake();
    }

    fn version(&self) -> u64 {
        u64::from(self.0.version().load(Relaxed))
    }
}

/// A read-write lock, obtained for writing.
pub struct Writer(pub Crew);

impl Object for Writer {
    fn took(&self, thread: &mut Thread) {
        let crew = &self.0;
        let version = crew.version().load(Acquire);
        let readers = crew.readers().load(Acquire);
        let writer = crew.writer().load(Relaxed);
        if readers != 0 || writer != 0 && writer != thread.number {
            thread.write_turn(u64::from(version), u64::from(readers));
        }
        crew.readers().store(0, Relaxed);
        crew.noted().store(0, Relaxed);
        crew.writer().store(thread.number, Relaxed);
        crew.version().store(version.wrapping_add(1), Release);
    }

    fn wait(&self, thread: &mut Thread, order: Order) {
        match order {
            Order::Write { version, readers } => self.0.wait(thread, version as u32, readers as u32),
            other => wait_edge(thread, other),
        }
    }

    fn taken(&self, thread: &mut Thread) {
        self.0.writer().store(thread.number, Relaxed);
    }

    fn version(&self) -> u64 {
        u64::from(self.0.version().load(Relaxed))
    }
}

/// An object without room of its own, known by its address while recording.
pub struct Meeting(pub usize);

struct Row {
    address: AtomicUsize,
    /// Who was there last, and at which event or use, in one word: several may signal a condition at once. 0: nobody.
    last: AtomicU64,
    /// Other processes use the object, too, and they do not see this table.
    shared: AtomicU32,
    /// A condition's waiters (upper half), and how many of them have been woken but have not come back (lower half).
    waits: AtomicU64,
    next: AtomicPtr<Row>,
}

const ROWS: usize = 1 << 15;
const SLAB: usize = 64 << 10;
static HEADS: [AtomicPtr<Row>; ROWS] = [const { AtomicPtr::new(null_mut()) }; ROWS];
static LOCK: Lock = Lock::new();
static SLAB_AT: AtomicUsize = AtomicUsize::new(0);
static SLAB_END: AtomicUsize = AtomicUsize::new(0);

/// Runs `body` while nobody else runs one, nor makes a row. The caller is busy.
pub fn alone(body: impl FnOnce()) {
    LOCK.with(body);
}

/// In a forked child nobody holds the table.
pub fn reset() {
    LOCK.reset();
}

impl Meeting {
    fn head(&self) -> &'static AtomicPtr<Row> {
        &HEADS[(self.0 >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - 15)]
    }

    #[inline]
    fn row(&self) -> Option<&'static Row> {
        self.find().or_else(|| self.make())
    }

    #[inline]
    fn find(&self) -> Option<&'static Row> {
        let mut at = self.head().load(Acquire);
        // SAFETY: rows are never freed.
        while let Some(row) = unsafe { at.as_ref() } {
            if row.address.load(Relaxed) == self.0 {
                return Some(row);
            }
            at = row.next.load(Acquire);
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn make(&self) -> Option<&'static Row> {
        LOCK.with(|| {
            self.find().or_else(|| {
                let (head, row) = (self.head(), new_row()?);
                row.address.store(self.0, Relaxed);
                row.next.store(head.load(Relaxed), Relaxed);
                head.store(core::ptr::from_ref(row).cast_mut(), Release);
                Some(row)
            })
        })
    }

    /// The object is new.
    pub fn begin(&self, shared: bool) {
        if let Some(row) = self.row() {
            row.last.store(0, Relaxed);
            row.waits.store(0, Relaxed);
            row.shared.store(shared.into(), Relaxed);
        }
    }

    /// Whether the object was made to be shared between processes.
    pub fn is_out_of_reach(&self) -> bool {
        self.row().is_some_and(|row| row.shared.load(Relaxed) != 0)
    }

    /// Forgets who was there: the object is new.
    pub fn forget(&self) {
        self.begin(false);
    }

    fn change_waits(&self, change: impl Fn(u64, u64) -> (u64, u64)) {
        if let Some(row) = self.row() {
            let _ = row.waits.fetch_update(SeqCst, Relaxed, |waits| {
                let (waiters, woken) = change(waits >> 32, waits & 0xFFFF_FFFF);
                Some(waiters << 32 | woken.min(waiters))
            });
        }
    }

    /// A thread is about to wait for the condition.
    pub fn waits(&self) {
        self.change_waits(|waiters, woken| (waiters + 1, woken));
    }

    /// A thread no longer waits for the condition.
    pub fn waited(&self, by_signal: bool) {
        self.change_waits(|waiters, woken| (waiters.saturating_sub(1), woken.saturating_sub(u64::from(by_signal))));
    }

    /// The condition is about to be signalled to one waiter, or to all.
    pub fn wakes(&self, all: bool) {
        self.change_waits(|waiters, woken| (waiters, if all { waiters } else { woken + 1 }));
    }

    /// Whether a waiter has been woken but has not come back.
    pub fn is_woken(&self) -> bool {
        self.row().is_some_and(|row| row.waits.load(SeqCst) & 0xFFFF_FFFF != 0)
    }

    /// Recording: this thread was here, at its next event (to be committed by the caller).
    pub fn leave_word(&self, thread: &Thread) {
        if let Some(row) = self.row() {
            row.leave(thread.number, thread.count() + 1);
        }
    }

    /// Recording: this thread uses the object, a stream, whose order is kept as well as may be but is no event.
    pub fn used(&self, thread: &mut Thread) {
        thread.uses += 1;
        let Some(row) = self.row() else { return };
        if let Some((owner, count)) = row.other(thread.number) {
            thread.after(owner, count);
        }
        row.leave(thread.number, thread.uses);
    }

    /// Recording: notes who was here last, if it was another thread.
    pub fn note_last(&self, thread: &mut Thread) {
        if let Some((owner, count)) = self.row().and_then(|row| row.other(thread.number)) {
            thread.edge(owner, count);
        }
    }
}

impl Row {
    /// Who was there last, and when, if it was another thread.
    fn other(&self, number: u32) -> Option<(u32, u64)> {
        let last = self.last.load(Acquire);
        let owner = (last >> VERSION_BITS) as u32;
        (owner != 0 && owner != number).then_some((owner, last & VERSION_MASK))
    }

    fn leave(&self, number: u32, count: u64) {
        self.last.store(u64::from(number) << VERSION_BITS | count & VERSION_MASK, Release);
    }
}

fn new_row() -> Option<&'static Row> {
    if SLAB_AT.load(Relaxed) + size_of::<Row>() > SLAB_END.load(Relaxed) {
        let slab = sys::memory(SLAB) as usize;
        if slab == 0 {
            return None;
        }
        SLAB_AT.store(slab, Relaxed);
        SLAB_END.store(slab + SLAB, Relaxed);
    }
    let at = SLAB_AT.fetch_add(size_of::<Row>(), Relaxed);
    // SAFETY: inside the slab, zeroed, and handed out once.
    Some(unsafe { &*(at as *const Row) })
}

impl Object for Meeting {
    fn took(&self, thread: &mut Thread) {
        let Some(row) = self.row() else { return };
        if let Some((owner, count)) = row.other(thread.number) {
            thread.edge(owner, count);
        }
        row.leave(thread.number, thread.count() + 1);
    }

    fn wait(&self, thread: &mut Thread, order: Order) {
        wait_edge(thread, order);
    }

    fn taken(&self, _: &mut Thread) {}
}
