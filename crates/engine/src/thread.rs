//! A thread as the engine knows it, and the list of all of them.
//!
//! A [`Thread`] belongs to the thread that it describes: nobody else writes to it, except for the fields that say so. It
//! outlives that thread, because destructors of thread-specific data still lock; it is used again once the kernel no
//! longer knows the thread.

use crate::came::Ahead;
use crate::deadlock::Want;
use crate::entries::Entries;
use crate::halt::Halt;
use crate::held::Held;
use crate::holds::Holds;
use crate::jitter;
use crate::lock::Lock;
use crate::messages::Messages;
use crate::neighbours::Sharing;
use crate::reader::Reader;
use crate::schedule::Part;
use crate::serial::Serial;
use crate::settled::Stand;
use crate::sys;
use crate::taken::TakenFrom;
use crate::tls;
use crate::writer::Writer;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use retake_tape::board::Row;
use retake_tape::entry::{Signal, sort};
use retake_tape::layout::ThreadHeader;

/// Which short cut the surfaces may take without asking the engine.
pub mod fast {
    pub const NONE: u32 = 0;
    pub const RECORD: u32 = 1;
    pub const REPLAY: u32 = 2;
}

/// Longest name of a thread or process; a longer one is shortened to a hash of itself.
pub const NAME_MAX: usize = 200;
/// Signals that can wait until the engine is left.
pub const DEFERRED: usize = 8;

/// Calls in each other, by handlers in handlers, whose places are known.
pub const INSIDES: usize = 8;

/// Numbers of signals, from 1.
pub const SIGNALS: usize = 65;

/// What a waiting thread waits for, told in a report.
pub use retake_tape::board::waiting;

/// What a thread has done between two events that is none.
#[derive(Default)]
pub struct Rests {
    /// The event that it was behind.
    count: u64,
    /// Sleeps that ended by themselves.
    pub sleeps: u32,
    yields: u32,
    /// Calls that wait for the outside and have returned.
    pub outward: u64,
    /// Those whose outcome is kept, by [`sort`].
    pub calls: [u64; sort::MANY],
}

impl Rests {
    pub fn slept(&mut self) {
        self.sleeps = self.sleeps.saturating_add(1);
    }

    pub fn yielded(&mut self) {
        self.yields = self.yields.saturating_add(1);
    }

    /// How often it has let others run.
    pub fn many(&self) -> u32 {
        self.sleeps.saturating_add(self.yields)
    }
}

/// A call that waits for the outside.
#[derive(Clone, Copy, Default)]
pub struct Outward {
    /// It has what it waited for.
    pub is_done: bool,
    /// The real call is being made, and a signal has been handled in it that was handled in a later one (replay).
    pub is_real: bool,
    pub is_early: bool,
    /// [`Thread::handlers`] when it began.
    pub handlers: u32,
}

#[repr(C)]
pub struct Thread {
    /// See [`fast`]. Cleared by others when the recording is cut.
    pub fast: AtomicU32,
    pub number: u32,
    pub tid: u32,
    /// Not 0 while the engine must not be entered again; signals are deferred meanwhile.
    pub busy: u32,
    /// Not 0 inside a library that is caught as a whole: what it calls itself is no event, but its signals are handled.
    pub library: u32,
    /// Where on the stack that began.
    pub library_at: usize,
    /// The committed count lives there: in the tape while recording, in memory in a replay.
    pub header: *mut ThreadHeader,
    /// The first event that is not plain: it has an entry, or lies behind the tape (replay).
    pub stop: u64,
    /// Objects that it has released.
    pub releases: u64,
    /// The release after which a handler is due (replay); `u64::MAX` if none is.
    pub release_stop: u64,
    pub writer: Writer,
    pub rich: Writer,
    pub reader: Reader,
    pub creations: u32,
    /// Woken through this word.
    pub parked: AtomicU32,
    /// See [`waiting`], for reports; written by [`Thread::waits_for`].
    pub waits: AtomicU32,
    pub waits_for: AtomicU64,
    pub waits_at: AtomicU64,
    /// How often anything had moved when it last looked for that, and whether nothing had since the look before.
    pub looked_at: AtomicU64,
    pub looked_again: AtomicBool,
    /// The wait in which it last looked, by its beginning, and the processor time that it had used by then.
    pub look: (i64, i64),
    /// Signals from the tape whose handlers have not run yet (replay).
    pub delivering_len: u32,
    pub delivering: [Signal; DEFERRED],
    /// Who last sent it each signal: thread and committed events, packed; written by the senders (recording).
    pub sent: [AtomicU64; SIGNALS],
    /// Signals that wait until the engine is left: so many were ever put there, by handlers that may interrupt each other
    /// and whoever takes them out; so many were taken. In a replay there are none, and one put means that any came.
    pub deferred_put: AtomicU32,
    pub deferred_taken: u32,
    pub deferred: [(Signal, u32); DEFERRED],
    /// Signals that wait in the kernel until those are sent again: they were not blocked before.
    pub masked: AtomicU64,
    /// Signals that wait for the next place that the tape can tell (recording).
    pub held: Held,
    /// What the thread was created for.
    pub start: usize,
    pub argument: usize,
    pub parent: u32,
    pub index: u32,
    pub pcs: [u64; 6],
    /// Its `pthread_t`, once it runs.
    pub pthread: AtomicU64,
    /// Its signal mask, unless its attributes give it one.
    pub mask: u64,
    pub has_own_mask: bool,
    /// Last values of clocks (replay).
    pub clocks: [i64; 16],
    pub rests: Rests,
    /// Uses of streams.
    pub uses: u64,
    /// Calls under way that may block (recording), and where on the stack each of the first ones began.
    pub inside: u32,
    pub inside_at: [usize; INSIDES],
    /// So many of them are around the handler that runs, and no place of what comes in it. Only where threads run in turn.
    pub inside_around: u32,
    /// Its cancellation is on the tape (recording): calls below it that are unwound, too, were not cancelled themselves.
    pub is_unwound: bool,
    /// How the innermost call stands that waits for the outside (recording).
    pub outward: Outward,
    /// Handlers of the program that run in each other, and those that were left by a jump.
    pub handlers: u32,
    /// The routine that is to run once, its control word, and whether it ran in this thread.
    pub once: usize,
    pub once_control: usize,
    pub once_ran: bool,
    /// The recorded thread that it plays (replay).
    pub seat: *const crate::process::Seat,
    /// Where it tells how far it is, if somebody looks (replay).
    pub row: Option<&'static Row>,
    /// Stands in for the tape's header where there is none.
    pub spare_header: [u64; 13],
    /// How the parking table links it.
    pub park_key: usize,
    pub park_value: u64,
    pub park_next: *mut Thread,
    /// Whether it shares its processor.
    pub sharing: Sharing,
    /// What it waits for, if it is blocked.
    pub want: Want,
    /// Somebody has asked it to end: it may leave whatever it waits for.
    pub is_cancelled: AtomicBool,
    /// Its part in the schedule that is followed.
    pub part: Part,
    /// Its part where one halts for another's time-out.
    pub halt: Halt,
    /// Its part where threads are replayed one at a time.
    pub stand: Stand,
    pub serial: Serial,
    /// Read-write locks that it has for reading.
    pub holds: Holds,
    /// From where it took what it has.
    pub taken: TakenFrom,
    /// It has left its tape behind and runs without.
    pub live: bool,
    /// Messages that it asked for.
    pub messages: Messages,
    /// What it exchanged, in a replay alone.
    pub records: Entries,
    /// What came of its calls that wait for the outside (replay).
    pub ahead: Ahead,
    /// A child has its memory: what that does leaves no trace.
    pub lends: bool,
    pub next: AtomicPtr<Thread>,
    /// 0: nobody's; 1: its function runs; 2: that has ended.
    pub in_use: AtomicU32,
    /// How many had ended before it did.
    ended_at: AtomicU64,
    pub name_len: u32,
    pub name: [u8; NAME_MAX],
}

impl Thread {
    /// Whether it is no more, with all destructors of its keys.
    pub fn is_gone(&self) -> bool {
        match self.in_use.load(Acquire) {
            0 => true,
            // Its function has ended; has the thread?
            2 => {
                // SAFETY: signal 0 asks and does nothing.
                let asked = unsafe { sys::tgkill(sys::getpid() as usize, self.tid as usize, 0) };
                sys::error(asked) == Some(libc::ESRCH)
            }
            _ => false,
        }
    }

    /// Its place in the tree of creations.
    pub fn name(&self) -> &[u8] {
        &self.name[..self.name_len as usize]
    }

    /// Events committed so far.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        // SAFETY: the header lives as long as the thread.
        unsafe { (*self.header).count.load(Relaxed) }
    }

    /// Sleeps and yields since the last event. Looked at before use, because the short cut of a lock has no time to set
    /// them back.
    pub fn rests(&mut self) -> &mut Rests {
        let count = self.count();
        if self.rests.count != count {
            self.rests = Rests { count, ..Rests::default() };
        }
        &mut self.rests
    }

    /// Commits the event that was under way. One instruction, because a handler of this thread may commit events, too.
    #[inline(always)]
    pub fn commit(&self) {
        jitter::here(jitter::SELDOM);
        // SAFETY: the header lives as long as the thread; only this thread writes the count.
        unsafe { core::arch::asm!("inc qword ptr [{}]", in(reg) &raw const (*self.header).count, options(nostack)) }
    }

    /// One more object is released: about to be while recording, by now in a replay. One instruction, for the same reason.
    #[inline(always)]
    pub fn releases(&self) {
        jitter::here(jitter::SELDOM);
        // SAFETY: this thread's own field.
        unsafe { core::arch::asm!("inc qword ptr [{}]", in(reg) &raw const self.releases, options(nostack)) }
    }

    /// Names this thread as the `index`-th creation of the thread called `parent`.
    pub fn set_name(&mut self, parent: &[u8], index: u32) {
        let mut name = [0u8; NAME_MAX];
        self.name_len = child_name(&mut name, parent, index) as u32;
        self.name = name;
    }
}

impl Thread {
    /// Names this thread as the `index`-th of its process that nobody was seen creating.
    pub fn set_foreign_name(&mut self, process: &[u8], index: u32) {
        let mut path = crate::store::Path { to: &mut self.name, length: 0 };
        path.push(&process[..process.len().min(NAME_MAX - 12)]).push(b"~").push_number(u64::from(index));
        self.name_len = path.length as u32;
    }
}

/// Writes the name of the `index`-th creation of `parent` and returns its length. `index` 0 means: the same name.
pub fn child_name(to: &mut [u8; NAME_MAX], parent: &[u8], index: u32) -> usize {
    let mut path = crate::store::Path { to, length: 0 };
    if parent.len() + 12 > NAME_MAX {
        let hash = parent
            .iter()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        path.push(b"h").push_hex(hash);
    } else {
        path.push(parent);
    }
    if index > 0 {
        path.push(b".").push_number(u64::from(index));
    }
    path.length
}

static ALL: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
static LOCK: Lock = Lock::new();
const SLAB: usize = 64 << 10;

/// Calls `body` for every thread that is or was.
pub fn each(mut body: impl FnMut(&Thread)) {
    let mut at = ALL.load(Acquire);
    while !at.is_null() {
        // SAFETY: threads are never freed.
        let thread = unsafe { &*at };
        if thread.in_use.load(Acquire) != 0 {
            body(thread);
        }
        at = thread.next.load(Acquire);
    }
}

/// The number of the thread of that id, and how many events it has had. It may have ended. The caller is busy.
pub fn last_event_of(tid: u32) -> Option<(u32, u64)> {
    // Nobody makes an ended thread a fresh one meanwhile, whose tape is not there any more.
    LOCK.with(|| {
        let mut found = None;
        each(|thread| {
            if thread.tid == tid && (found.is_none() || thread.in_use.load(Acquire) == 1) {
                found = Some((thread.number, thread.count()));
            }
        });
        found
    })
}

/// Replay: the present id of the thread of this process that had the id `shown`. If several had it, the one that lives.
pub fn present_tid(shown: u32) -> Option<u32> {
    let mut found = None;
    each(|thread| {
        // SAFETY: the header lives as long as the process; it holds the recorded id.
        let fits = unsafe { (*thread.header).tid } == shown;
        if fits && (found.is_none() || thread.in_use.load(Acquire) == 1) {
            found = Some(thread.tid);
        }
    });
    found
}

/// So many that have ended are kept, because one may have left something locked.
const ENDED_KEPT: u32 = 64;
static ENDED: AtomicU64 = AtomicU64::new(0);
/// So many of those that ended first are asked for; each costs a system call.
const FIRST: usize = 8;

impl Thread {
    /// Its function has ended.
    pub fn has_ended(&self) {
        self.ended_at.store(ENDED.fetch_add(1, Relaxed), Relaxed);
        self.in_use.store(2, Release);
    }
}

/// One that is nobody's, or else the one that ended first and that the kernel does not know any more, if there are enough
/// others. The very first may stay for long: a main thread that was left, a destructor that waits.
fn used_before() -> Option<*mut Thread> {
    let (mut free, mut first, mut ended) = (None, [(u64::MAX, null_mut::<Thread>()); FIRST], 0);
    let mut at = ALL.load(Acquire);
    while !at.is_null() {
        // SAFETY: threads are never freed.
        let thread = unsafe { &*at };
        match thread.in_use.load(Acquire) {
            0 => free = free.or(Some(at)),
            2 => {
                ended += 1;
                let when = thread.ended_at.load(Relaxed);
                let place = first.partition_point(|(earlier, _)| *earlier < when);
                if place < FIRST {
                    first[place..].rotate_right(1);
                    first[place] = (when, at);
                }
            }
            _ => {}
        }
        at = thread.next.load(Acquire);
    }
    // SAFETY: as above; that many have ended.
    let is_gone = |at: &*mut Thread| ended > ENDED_KEPT && unsafe { (**at).is_gone() };
    free.or_else(|| first.map(|(_, at)| at).into_iter().find(is_gone))
}

/// A blank thread, used again or fresh. Null if there is no memory.
pub fn fresh() -> *mut Thread {
    LOCK.with(|| {
        if let Some(at) = used_before() {
            // SAFETY: it is nobody's.
            unsafe {
                (*at).writer.release();
                (*at).rich.release();
                return blank(at);
            }
        }
        let slab = sys::memory(SLAB).cast::<Thread>();
        if slab.is_null() {
            return null_mut();
        }
        for index in 0..SLAB / size_of::<Thread>() {
            // SAFETY: inside the slab.
            unsafe {
                let thread = slab.add(index);
                (*thread).next.store(ALL.load(Relaxed), Relaxed);
                ALL.store(thread, Release);
            }
        }
        // SAFETY: the newest of the slab is not in use.
        unsafe { blank(ALL.load(Relaxed)) }
    })
}

unsafe fn blank(thread: *mut Thread) -> *mut Thread {
    // SAFETY: nobody uses it; all its fields may be zero. The link is kept.
    unsafe {
        let next = (*thread).next.load(Relaxed);
        core::ptr::write_bytes(thread, 0, 1);
        (*thread).next.store(next, Relaxed);
        (*thread).release_stop = u64::MAX;
        (*thread).held = Held::new();
        (*thread).taken.begin();
        (*thread).writer = Writer::new();
        (*thread).rich = Writer::new();
        (*thread).reader = Reader::new();
        (*thread).messages = Messages::new();
        (*thread).records = Entries::new();
        (*thread).ahead = Ahead::new();
        (*thread).header = (&raw mut (*thread).spare_header).cast();
        (*thread).in_use.store(1, Release);
    }
    thread
}

/// In a forked child: all threads but `mine` are gone.
pub fn forget_others(mine: *mut Thread) {
    LOCK.reset();
    let mut at = ALL.load(Acquire);
    while !at.is_null() {
        // SAFETY: threads are never freed.
        unsafe {
            if at != mine {
                (*at).writer = Writer::new();
                (*at).rich = Writer::new();
                (*at).in_use.store(0, Release);
            }
            at = (*at).next.load(Acquire);
        }
    }
}

/// The calling thread, if the engine knows it.
#[inline(always)]
pub fn current() -> Option<&'static mut Thread> {
    let thread = tls::get();
    // SAFETY: the word is null or this thread's own.
    unsafe { thread.as_mut() }
}
