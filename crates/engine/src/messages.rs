//! Messages that could have come from anyone: noted while recording, known beforehand in a replay.
//!
//! A receive that takes from anyone gets the next number of its thread when it is asked for, and its match is noted when
//! it is known, perhaps much later and by another thread. A replay must ask for the right message at once, so all
//! matches of a process are read before its first receive. What has no match was withdrawn: cancelled, or never served.

use crate::lock::Lock;
use crate::process::{self, Process};
use crate::sys;
use crate::thread::Thread;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};
use retake_tape::entry::{self, Context, Entry, ROOM, write};
use retake_tape::matches::{self, Match, Said, WITHDRAWN};
use retake_tape::walk;

/// Lengths of blocks: a thread that receives little costs little.
const BLOCKS: [usize; 3] = [32, 128, 480];

/// What a thread remembers of its receives.
pub struct Messages {
    context: matches::Context,
    blocks: usize,
    /// Receives from anyone that were asked for.
    pub open: u64,
    /// Receives from a given source that were asked for.
    pub given: u64,
}

impl Messages {
    pub const fn new() -> Messages {
        Messages { context: matches::Context::new(), blocks: 0, open: 0, given: 0 }
    }
}

impl Default for Messages {
    fn default() -> Self {
        Messages::new()
    }
}

impl Thread {
    /// Recording: a receive from anyone has got what `new` says. No event.
    #[inline(always)]
    pub fn matched(&mut self, new: Match) {
        let w = &mut self.writer;
        let left = w.block_end as usize - w.block as usize;
        if left > 0 {
            // SAFETY: the rest of a block, still zero.
            let end = unsafe { matches::add(&mut self.messages.context, w.block, left, new) };
            if !end.is_null() {
                w.block = end;
                return;
            }
        }
        self.fill(move |context, to, left| {
            // SAFETY: the rest of a block, still zero.
            unsafe { matches::add(context, to, left, new) }
        });
    }

    /// Recording: the receive of `number`, from a given source, was withdrawn. No event.
    pub fn withdrew(&mut self, number: u64) {
        self.fill(|context, to, left| {
            // SAFETY: the rest of a block, still zero.
            unsafe { matches::add_withdrawn(context, to, left, number) }
        });
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self, add: impl Fn(&mut matches::Context, *mut u8, usize) -> *mut u8) {
        for _ in 0..2 {
            let w = &mut self.writer;
            let left = w.block_end as usize - w.block as usize;
            if left > 0 {
                let end = add(&mut self.messages.context, w.block, left);
                if !end.is_null() {
                    w.block = end;
                    return;
                }
            }
            let length = BLOCKS[self.messages.blocks.min(BLOCKS.len() - 1)];
            self.messages.blocks += 1;
            self.messages.context.begin_block();
            // SAFETY: `put` gives the room.
            self.put(ROOM + length, |context, to, event| unsafe { write::matches(context, to, event, length) });
            if !self.writer.is_open() || process::mode() != process::mode::RECORD {
                return;
            }
            let end = self.writer.position() as *mut u8;
            (self.writer.block, self.writer.block_end) = (end.wrapping_sub(length), end);
        }
    }

    /// Replay: what the receive from anyone that is asked for now got then.
    pub fn next_match(&mut self) -> Match {
        expect();
        let number = self.messages.open;
        self.messages.open += 1;
        // SAFETY: seats live as long as the process.
        let expected = unsafe { self.seat.as_ref() }.map_or(&[][..], |seat| seat.expected.matches);
        expected.get(number as usize).copied().unwrap_or(NOTHING)
    }

    /// Replay: whether the receive from a given source that is asked for now was withdrawn.
    pub fn next_is_withdrawn(&mut self) -> bool {
        expect();
        let number = self.messages.given;
        self.messages.given += 1;
        // SAFETY: seats live as long as the process.
        unsafe { self.seat.as_ref() }.is_some_and(|seat| seat.expected.withdrawn.contains(&number))
    }
}

const NOTHING: Match = Match { thread: 0, number: 0, call: 0, source: WITHDRAWN, tag: 0 };

/// What the receives of one thread got.
#[derive(Default)]
pub struct Expected {
    /// By number.
    matches: &'static [Match],
    /// Receives from a given source that were withdrawn.
    withdrawn: &'static [u64],
    matches_len: usize,
    withdrawn_len: usize,
}

static READ: AtomicU32 = AtomicU32::new(0);
static LOCK: Lock = Lock::new();

/// In a forked child the tape is another.
pub fn reset() {
    READ.store(0, Release);
    LOCK.reset();
}

/// Replay: reads the matches of all threads, once.
fn expect() {
    if READ.load(Acquire) != 0 {
        return;
    }
    LOCK.with(|| {
        if READ.load(Acquire) == 0 {
            read_all(process::get());
            READ.store(1, Release);
        }
    });
}

fn read_all(process: &Process) {
    each(process, |owner, said| match said {
        Said::Match(one) => owner.matches_len = owner.matches_len.max(one.number.wrapping_add(1) as usize),
        Said::Withdrawn(_) => owner.withdrawn_len += 1,
    });
    for seat in process.seats() {
        if let Some(seat) = process.seat(seat.number) {
            let expected = &mut seat.expected;
            expected.matches = table(expected.matches_len, NOTHING);
            expected.withdrawn = table(expected.withdrawn_len, 0);
            expected.withdrawn_len = 0;
        }
    }
    each(process, |owner, said| match said {
        Said::Match(one) => set(owner.matches, one.number as usize, one),
        Said::Withdrawn(number) => {
            set(owner.withdrawn, owner.withdrawn_len, number);
            owner.withdrawn_len += 1;
        }
    });
}

/// Fresh memory for `length` values, all `value`; none if there is not so much.
fn table<T: Copy>(length: usize, value: T) -> &'static [T] {
    // A take may come from a stranger: no more than a tape of this size could say.
    let most = process::get().bytes.len().saturating_mul(128);
    let at = if length == 0 || length > most { core::ptr::null_mut() } else { sys::memory(length * size_of::<T>()) };
    let at = at.cast::<T>();
    if at.is_null() {
        return &[];
    }
    // SAFETY: fresh memory of that length.
    unsafe {
        (0..length).for_each(|index| at.add(index).write(value));
        core::slice::from_raw_parts(at, length)
    }
}

fn set<T>(table: &'static [T], index: usize, value: T) {
    if index < table.len() {
        // SAFETY: inside memory that `table` made; nobody else reads it yet.
        unsafe { table.as_ptr().cast_mut().add(index).write(value) };
    }
}

/// Calls `body` with everything that the blocks of all threads say, and whose it is.
fn each(process: &Process, mut body: impl FnMut(&mut Expected, Said)) {
    for seat in process.seats() {
        let Ok((_, first)) = walk::thread(process.bytes, seat.at) else { continue };
        let (mut context, mut said) = (Context::new(), matches::Context::new());
        let mut chunk = Some(first);
        while let Some(now) = chunk {
            let mut rest = now.payload;
            while let Ok(Some(entry)) = entry::read(&mut context, &mut rest) {
                let Entry::Matches(block) = entry else { continue };
                matches::read(&mut said, block, |one| {
                    let owner = match one {
                        Said::Match(one) if one.thread != 0 => one.thread,
                        _ => seat.number,
                    };
                    if let Some(owner) = process.seat(owner) {
                        body(&mut owner.expected, one);
                    }
                });
            }
            chunk = walk::next(process.bytes, &now).ok().flatten();
        }
    }
}
