//! The entries of a tape, written and read side by side.
//!
//! An entry belongs to an event: the number of events that its thread had committed, plus one. *Strict* entries say how
//! that event came out and must be used up by it; *soft* ones (clock, note, signal) happened before it, and are not
//! events themselves.
//!
//! ```text
//! hand-over   varint(zigzag(version distance) << 3 | event distance)            if that is less than 6
//! farther     varint(zigzag(version distance) << 3 | 6)  varint(event distance)
//! other       varint(event distance << 3 | 7)            kind  payload
//! ```
//!
//! So a hand-over between threads that are busy with many objects takes two bytes, written and read at once.
//!
//! Kinds from 0x40 up carry the length of their payload, so that a reader may pass over kinds that it does not know.

pub use crate::came::{Came, sort};
pub use crate::note;
use crate::op::Op;
pub use crate::place::Place;
use crate::varint::{get, put, put_in_two, put_small, unzigzag, zigzag};

/// Room that any entry without a byte string needs.
pub const ROOM: usize = 96;
/// Clocks whose last value is remembered, so that the next one is a small number.
pub const CLOCKS: usize = 16;

/// What the lowest three bits of an entry say, if they are not the distance of a hand-over.
mod head {
    pub const BITS: u32 = 3;
    pub const FARTHER: u64 = 6;
    pub const OTHER: u64 = 7;
}

mod kind {
    pub const RESULT: u8 = 1;
    pub const POLLS: u8 = 2;
    pub const EDGE: u8 = 3;
    pub const WRITE_TURN: u8 = 4;
    pub const CREATED: u8 = 5;
    pub const CLOCK: u8 = 6;
    pub const SIGNAL: u8 = 7;
    pub const AFTER: u8 = 8;
    pub const SLEPT: u8 = 9;
    pub const BYTES: u8 = 0x40;
    pub const NOTE: u8 = 0x41;
    pub const MATCHES: u8 = 0x42;
    pub const OUTWARD: u8 = 0x43;
    pub const CAME: u8 = 0x44;
    pub const ASKS: u8 = 0x45;
    pub const HALTS: u8 = 0x46;
}

/// Results of unlocking a mutex that the thread does not have. Unlocking one's own is no event.
pub mod unlock {
    /// Another had it.
    pub const FREES: i64 = 1;
    /// It was free, and so stays.
    pub const FINDS_FREE: i64 = 2;
    /// It was free: the thread was the last to lock it, and another has unlocked it meanwhile.
    pub const TAKEN_AWAY: i64 = 3;
}

/// The result of a call in which its thread was cancelled.
pub const CANCELLED: i64 = -(1 << 60);

/// Set in [`Signal::number`] if the handler ran inside a call that blocked, rather than between calls.
pub const INSIDE: u8 = 0x80;

/// Set in the bytes of [`Signal::sender`] for [`Signal::is_just_behind`].
const JUST_BEHIND: u32 = 1 << 31;

/// An asynchronous signal as a handler saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The signal's number, perhaps with [`INSIDE`].
    pub number: u8,
    pub code: i32,
    pub pid: u32,
    pub value: u64,
    /// The thread of the same process that sent it, and how many events that had committed; 0 if it came from elsewhere.
    pub sender: u32,
    pub sent_at: u64,
    /// The handler ran just behind the event or release, before the program did anything else.
    pub is_just_behind: bool,
    /// How many objects the handling thread had released by then: releases are no events, but the handler may have to
    /// come after one.
    pub releases: u64,
}

/// Set in the byte of the sort if the number of times stands in the place of what was found, to be raised there.
const REPEATS: u8 = 0x80;

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// The object came from another thread; this is its version at that moment.
    HandOver(u64),
    /// The call returned something else than plain success.
    Result(Op, i64),
    /// So many calls in a row found nothing; each was an event.
    Polls(Op, i64, u32),
    /// The event came after the given event of another thread.
    Edge { thread: u32, count: u64 },
    /// A writer's turn at an object that many may read: the version, and how many had read it.
    WriteTurn { version: u64, readers: u64 },
    /// A thread or process was created; the number is the thread's, or the process's id.
    Created(u64),
    /// A clock was read (soft).
    Clock { id: u8, ns: i64 },
    /// A signal was handled (soft).
    Signal(Signal),
    /// This thread's use of a stream, its `own`-th, came after so many uses by another thread (soft).
    After { own: u64, thread: u32, uses: u64 },
    /// So many sleeps had ended by themselves since the last event (soft).
    Slept(u64),
    /// So many calls that wait for the outside had returned since the last event, and what comes next came inside of the one
    /// after them: before it had what it waited for, or behind that (soft).
    Outward { many: u64, is_behind: bool },
    /// What came of a call that waits for the outside (soft).
    Came(Came<'a>),
    /// The wait that comes next was over by time, and the other thread was asked to halt for what came of that (soft).
    Asks { thread: u32 },
    /// Here the thread halted until the other one was done with what came of its event `count` (soft).
    Halts { thread: u32, count: u64, place: Place },
    /// Bytes that the call returned.
    Bytes(&'a [u8]),
    /// Something worth knowing that replay does not need (soft).
    Note(u8, &'a [u8]),
    /// A block of matches: see [`crate::matches`] (soft).
    Matches(&'a [u8]),
    /// A kind that this build does not know (soft).
    Unknown(u8),
}

impl Entry<'_> {
    /// Whether the entry stands between events rather than for one.
    pub fn is_soft(&self) -> bool {
        use Entry::{After, Asks, Came, Clock, Halts, Matches, Note, Outward, Signal, Slept, Unknown};
        let is_counted = matches!(self, After { .. } | Slept(_) | Outward { .. } | Came(_));
        let is_halt = matches!(self, Asks { .. } | Halts { .. });
        is_counted || is_halt || matches!(self, Clock { .. } | Signal(_) | Note(..) | Matches(_) | Unknown(_))
    }
}

/// What both sides remember from one entry to the next.
#[derive(Clone, Copy)]
pub struct Context {
    pub event: u64,
    pub version: u64,
    pub clocks: [i64; CLOCKS],
}

impl Context {
    pub const fn new() -> Context {
        Context { event: 0, version: 0, clocks: [0; CLOCKS] }
    }
}

impl Default for Context {
    fn default() -> Self {
        Context::new()
    }
}

/// The writing side: each function writes one entry for `event` at `to` and returns the position behind it.
///
/// # Safety
/// `to` must be valid for writes of [`ROOM`] bytes, and of the byte string besides where one is given.
#[allow(clippy::missing_safety_doc)] // said above, for all of them
pub mod write {
    use super::*;

    #[inline(always)]
    unsafe fn other(c: &mut Context, to: *mut u8, event: u64, kind: u8) -> *mut u8 {
        let distance = event.wrapping_sub(c.event);
        c.event = event;
        // SAFETY: the caller gives the room.
        unsafe {
            let to = put_small(to, distance << head::BITS | head::OTHER);
            to.write(kind);
            to.add(1)
        }
    }

    #[inline(always)]
    pub unsafe fn hand_over(c: &mut Context, to: *mut u8, event: u64, version: u64) -> *mut u8 {
        let distance = event.wrapping_sub(c.event);
        let ahead = version.wrapping_sub(c.version) as i64;
        c.event = event;
        c.version = version;
        // SAFETY: the caller gives the room.
        unsafe {
            let word = zigzag(ahead) << head::BITS;
            if distance < head::FARTHER && word < 1 << 14 {
                put_in_two(to, (word | distance) as u16)
            } else if distance < head::FARTHER {
                put(to, word | distance)
            } else {
                put(put(to, word | head::FARTHER), distance)
            }
        }
    }

    /// A hand-over if `it_is`, and nothing if not, without a branch between the two: where every second acquire is a
    /// hand-over no processor guesses which. `None` if it is not short; then nothing is written.
    #[inline(always)]
    pub unsafe fn hand_over_if(c: &mut Context, to: *mut u8, event: u64, version: u64, it_is: bool) -> Option<*mut u8> {
        let distance = event.wrapping_sub(c.event);
        let word = zigzag(version.wrapping_sub(c.version) as i64) << head::BITS;
        if distance >= head::FARTHER || word >= 1 << 14 {
            return None;
        }
        let mask = 0u64.wrapping_sub(it_is.into());
        c.event ^= (c.event ^ event) & mask;
        c.version ^= (c.version ^ version) & mask;
        // SAFETY: the caller gives the room; what is written behind the last entry counts for nothing.
        unsafe {
            let behind = put_in_two(to, (word | distance) as u16) as usize - to as usize;
            Some(to.add(behind & mask as usize))
        }
    }

    pub unsafe fn result(c: &mut Context, to: *mut u8, event: u64, op: Op, code: i64) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe {
            let to = other(c, to, event, kind::RESULT);
            to.write(op as u8);
            put_small(to.add(1), zigzag(code))
        }
    }

    /// A run of polls; the last four bytes are how many, to be raised in place.
    pub unsafe fn polls(c: &mut Context, to: *mut u8, event: u64, op: Op, code: i64) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe {
            let to = other(c, to, event, kind::POLLS);
            to.write(op as u8);
            let to = put_small(to.add(1), zigzag(code));
            to.cast::<u32>().write_unaligned(1u32.to_le());
            to.add(4)
        }
    }

    pub unsafe fn edge(c: &mut Context, to: *mut u8, event: u64, thread: u32, count: u64) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe { put(put(other(c, to, event, kind::EDGE), u64::from(thread)), count) }
    }

    pub unsafe fn write_turn(c: &mut Context, to: *mut u8, event: u64, version: u64, readers: u64) -> *mut u8 {
        let ahead = version.wrapping_sub(c.version) as i64;
        c.version = version;
        // SAFETY: the caller gives the room.
        unsafe { put(put(other(c, to, event, kind::WRITE_TURN), zigzag(ahead)), readers) }
    }

    pub unsafe fn created(c: &mut Context, to: *mut u8, event: u64, number: u64) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe { put(other(c, to, event, kind::CREATED), number) }
    }

    pub unsafe fn clock(c: &mut Context, to: *mut u8, event: u64, id: u8, ns: i64) -> *mut u8 {
        let id = id % CLOCKS as u8;
        let ahead = ns.wrapping_sub(c.clocks[id as usize]);
        c.clocks[id as usize] = ns;
        // SAFETY: the caller gives the room.
        unsafe {
            let to = other(c, to, event, kind::CLOCK);
            to.write(id);
            put(to.add(1), zigzag(ahead))
        }
    }

    pub unsafe fn signal(c: &mut Context, to: *mut u8, event: u64, signal: Signal) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe {
            let to = other(c, to, event, kind::SIGNAL);
            to.write(signal.number);
            let to = put(to.add(1), zigzag(i64::from(signal.code)));
            let to = put(put(to, u64::from(signal.pid)), signal.value);
            let sender = signal.sender | if signal.is_just_behind { JUST_BEHIND } else { 0 };
            put(put(put(to, u64::from(sender)), signal.sent_at), signal.releases)
        }
    }

    pub unsafe fn after(c: &mut Context, to: *mut u8, event: u64, own: u64, thread: u32, uses: u64) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe { put(put(put(other(c, to, event, kind::AFTER), own), u64::from(thread)), uses) }
    }

    pub unsafe fn slept(c: &mut Context, to: *mut u8, event: u64, many: u64) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe { put(other(c, to, event, kind::SLEPT), many) }
    }

    pub unsafe fn outward(c: &mut Context, to: *mut u8, event: u64, many: u64, is_behind: bool) -> *mut u8 {
        let word = many << 1 | u64::from(is_behind);
        // SAFETY: the caller gives the room.
        unsafe { string(other(c, to, event, kind::OUTWARD), &word.to_le_bytes()) }
    }

    /// If it found nothing, the last four bytes are how often, to be raised in place.
    pub unsafe fn came(c: &mut Context, to: *mut u8, event: u64, came: Came<'_>) -> *mut u8 {
        let times = came.times.to_le_bytes();
        let (mark, found) = if came.is_nothing() { (REPEATS, &times[..]) } else { (0, came.found) };
        // What stands before it takes 19 bytes at most.
        let is_long = found.len() >= 100;
        // SAFETY: the caller gives the room. The length is known at the end, and takes one byte or two.
        unsafe {
            let length_at = other(c, to, event, kind::CAME);
            let start = length_at.add(1 + usize::from(is_long));
            start.write(came.sort | mark);
            let mut to = put_small(put_small(start.add(1), came.call), zigzag(came.answer));
            for byte in found {
                to.write(*byte);
                to = to.add(1);
            }
            let length = to as usize - start as usize;
            if is_long {
                put_in_two(length_at, length as u16);
            } else {
                length_at.write((length as u8) << 1 | 1);
            }
            to
        }
    }

    pub unsafe fn asks(c: &mut Context, to: *mut u8, event: u64, thread: u32) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe { string(other(c, to, event, kind::ASKS), &thread.to_le_bytes()) }
    }

    pub unsafe fn halts(c: &mut Context, to: *mut u8, event: u64, thread: u32, count: u64, place: Place) -> *mut u8 {
        let (words, length) = place.words(thread, count);
        // SAFETY: the caller gives the room.
        unsafe { string(other(c, to, event, kind::HALTS), &words[..length]) }
    }

    unsafe fn string(to: *mut u8, bytes: &[u8]) -> *mut u8 {
        // SAFETY: the caller gives the room for the bytes, too.
        unsafe {
            let to = put(to, bytes.len() as u64);
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            to.add(bytes.len())
        }
    }

    pub unsafe fn bytes(c: &mut Context, to: *mut u8, event: u64, bytes: &[u8]) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe { string(other(c, to, event, kind::BYTES), bytes) }
    }

    /// An empty block of matches, `length` bytes long; it ends where this returns.
    pub unsafe fn matches(c: &mut Context, to: *mut u8, event: u64, length: usize) -> *mut u8 {
        // SAFETY: the caller gives the room.
        unsafe {
            let to = put(other(c, to, event, kind::MATCHES), length as u64);
            core::ptr::write_bytes(to, 0, length);
            to.add(length)
        }
    }

    /// The bytes are those of all `parts`, one behind the other.
    pub unsafe fn note(c: &mut Context, to: *mut u8, event: u64, what: u8, parts: &[&[u8]]) -> *mut u8 {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        // SAFETY: the caller gives the room; the length counts the kind of note as well.
        unsafe {
            let mut to = put(other(c, to, event, kind::NOTE), length as u64 + 1);
            to.write(what);
            to = to.add(1);
            for part in parts {
                core::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
                to = to.add(part.len());
            }
            to
        }
    }
}

/// The bytes are not entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

/// The reading side: takes the first entry off `from`; the event that it belongs to is then `c.event`.
#[inline]
pub fn read<'a>(c: &mut Context, from: &mut &'a [u8]) -> Result<Option<Entry<'a>>, Garbled> {
    if from.is_empty() {
        return Ok(None);
    }
    let mut cursor = Cursor(from);
    let word = cursor.number()?;
    let (low, rest) = (word & ((1 << head::BITS) - 1), word >> head::BITS);
    let distance = match low {
        head::OTHER => rest,
        head::FARTHER => cursor.number()?,
        near => near,
    };
    let event = c.event.checked_add(distance).ok_or(Garbled)?;
    let entry = if low == head::OTHER {
        cursor.other(c)?
    } else {
        c.version = c.version.wrapping_add(unzigzag(rest) as u64);
        Entry::HandOver(c.version)
    };
    c.event = event;
    *from = cursor.0;
    Ok(Some(entry))
}

/// The same entry, of which `bytes` are all, with its event so far behind the last entry's and no farther than it was: the
/// numbers at its front, and what is behind them.
pub fn at_distance(bytes: &[u8], distance: u64) -> Result<([Option<u64>; 2], &[u8]), Garbled> {
    let mut cursor = Cursor(bytes);
    let word = cursor.number()?;
    let numbers = match word & ((1 << head::BITS) - 1) {
        head::OTHER => [Some(distance << head::BITS | head::OTHER), None],
        head::FARTHER => {
            cursor.number()?;
            [Some(word), Some(distance)]
        }
        near if distance <= near => [Some(word - near + distance), None],
        _ => return Err(Garbled),
    };
    Ok((numbers, cursor.0))
}

/// The first entry of `from`, if it is a hand-over soon after the last one, in at most two bytes: event, version, length.
#[inline(always)]
pub fn read_near(c: &Context, from: &[u8]) -> Option<(u64, u64, usize)> {
    let &[first, second, ..] = from else { return None };
    let (word, length) = match first & 3 {
        0 => return None,
        2 => ((u64::from(second) << 8 | u64::from(first)) >> 2, 2),
        _ => (u64::from(first) >> 1, 1),
    };
    let (distance, rest) = (word & ((1 << head::BITS) - 1), word >> head::BITS);
    if distance >= head::FARTHER {
        return None;
    }
    Some((c.event.wrapping_add(distance), c.version.wrapping_add(unzigzag(rest) as u64), length))
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn number(&mut self) -> Result<u64, Garbled> {
        let (value, length) = get(self.0).ok_or(Garbled)?;
        self.0 = &self.0[length..];
        Ok(value)
    }

    fn signed(&mut self) -> Result<i64, Garbled> {
        Ok(unzigzag(self.number()?))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Garbled> {
        let length = usize::try_from(length).map_err(|_| Garbled)?;
        if length > self.0.len() {
            return Err(Garbled);
        }
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Garbled> {
        Ok(self.take(1)?[0])
    }

    fn op(&mut self) -> Result<Op, Garbled> {
        Op::from_number(self.byte()?).ok_or(Garbled)
    }

    /// All that is left is what came of a call.
    fn came(mut self) -> Result<Came<'a>, Garbled> {
        let sort = self.byte()?;
        let came =
            Came { sort: sort & !REPEATS, call: self.number()?, times: 1, answer: self.signed()?, found: self.0 };
        if usize::from(came.sort) >= sort::MANY {
            return Err(Garbled);
        }
        if sort & REPEATS == 0 {
            return Ok(came);
        }
        let times = u32::from_le_bytes(self.0.try_into().map_err(|_| Garbled)?);
        Ok(Came { times, found: &[], ..came })
    }

    fn word32(&mut self) -> Result<u32, Garbled> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| Garbled)?))
    }

    fn word64(&mut self) -> Result<u64, Garbled> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| Garbled)?))
    }

    /// All that is left is where and for whom a thread halted.
    fn halts(mut self) -> Result<Entry<'a>, Garbled> {
        let (thread, count) = (self.word32()?, self.word64()?);
        let place = match self.0 {
            [] => Place::Before,
            _ => Place::Behind { releases: self.word64()?, worked_us: self.word32()? },
        };
        Ok(Entry::Halts { thread, count, place })
    }

    fn other(&mut self, c: &mut Context) -> Result<Entry<'a>, Garbled> {
        Ok(match self.byte()? {
            kind::RESULT => Entry::Result(self.op()?, self.signed()?),
            kind::POLLS => {
                let (op, code, count) = (self.op()?, self.signed()?, self.take(4)?);
                Entry::Polls(op, code, u32::from_le_bytes(count.try_into().map_err(|_| Garbled)?))
            }
            kind::EDGE => {
                let thread = u32::try_from(self.number()?).map_err(|_| Garbled)?;
                Entry::Edge { thread, count: self.number()? }
            }
            kind::WRITE_TURN => {
                c.version = c.version.wrapping_add(self.signed()? as u64);
                Entry::WriteTurn { version: c.version, readers: self.number()? }
            }
            kind::CREATED => Entry::Created(self.number()?),
            kind::CLOCK => {
                let id = self.byte()?;
                let last = c.clocks.get_mut(id as usize).ok_or(Garbled)?;
                *last = last.wrapping_add(self.signed()?);
                Entry::Clock { id, ns: *last }
            }
            kind::SIGNAL => {
                let number = self.byte()?;
                let code = i32::try_from(self.signed()?).map_err(|_| Garbled)?;
                let pid = u32::try_from(self.number()?).map_err(|_| Garbled)?;
                let value = self.number()?;
                let sender = u32::try_from(self.number()?).map_err(|_| Garbled)?;
                let (is_just_behind, sender) = (sender & JUST_BEHIND != 0, sender & !JUST_BEHIND);
                let (sent_at, releases) = (self.number()?, self.number()?);
                Entry::Signal(Signal { number, code, pid, value, sender, sent_at, is_just_behind, releases })
            }
            kind::AFTER => {
                let own = self.number()?;
                let thread = u32::try_from(self.number()?).map_err(|_| Garbled)?;
                Entry::After { own, thread, uses: self.number()? }
            }
            kind::SLEPT => Entry::Slept(self.number()?),
            kind::BYTES => {
                let length = self.number()?;
                Entry::Bytes(self.take(length)?)
            }
            kind::NOTE => {
                let length = self.number()?;
                let (what, words) = self.take(length)?.split_first().ok_or(Garbled)?;
                Entry::Note(*what, words)
            }
            kind::MATCHES => {
                let length = self.number()?;
                Entry::Matches(self.take(length)?)
            }
            kind::OUTWARD => {
                let length = self.number()?;
                let word = u64::from_le_bytes(self.take(length)?.try_into().map_err(|_| Garbled)?);
                Entry::Outward { many: word >> 1, is_behind: word & 1 != 0 }
            }
            kind::CAME => {
                let length = self.number()?;
                Entry::Came(Cursor(self.take(length)?).came()?)
            }
            kind::ASKS => {
                let length = self.number()?;
                Entry::Asks { thread: Cursor(self.take(length)?).word32()? }
            }
            kind::HALTS => {
                let length = self.number()?;
                Cursor(self.take(length)?).halts()?
            }
            newer @ 0x40.. => {
                let length = self.number()?;
                self.take(length)?;
                Entry::Unknown(newer)
            }
            _ => return Err(Garbled),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut room = [0u8; 1024];
        let mut c = Context::new();
        let is_just_behind = true;
        let (pid, value, sent_at) = (77, 1 << 60, 1 << 33);
        let signal = Signal { number: 14, code: -6, pid, value, sender: 4, sent_at, is_just_behind, releases: 5 };
        let polled = Came { sort: sort::READY, call: 2, times: 1, answer: 1, found: &[0, 1] };
        let many = Came { sort: sort::READY, call: 1 << 60, times: 1, answer: 1 << 60, found: &[7; 300] };
        let in_vain = Came { sort: sort::READ, call: 1 << 40, times: 9, answer: -11, found: &[] };
        let start = room.as_mut_ptr();
        // SAFETY: the room is long enough for these few entries.
        let end = unsafe {
            let mut to = write::hand_over(&mut c, start, 3, 100);
            to = write::hand_over(&mut c, to, 9, 90);
            to = write::result(&mut c, to, 9, Op::CondTimed, 110);
            to = write::polls(&mut c, to, 10, Op::MutexTry, 16);
            to = write::edge(&mut c, to, 12, 5, 1 << 40);
            to = write::write_turn(&mut c, to, 13, 91, 4);
            to = write::created(&mut c, to, 14, 6);
            to = write::clock(&mut c, to, 15, 1, -5);
            to = write::clock(&mut c, to, 15, 1, 1 << 62);
            to = write::signal(&mut c, to, 15, signal);
            to = write::after(&mut c, to, 15, 9, 3, 700);
            to = write::slept(&mut c, to, 15, 2);
            to = write::outward(&mut c, to, 15, 300, true);
            to = write::came(&mut c, to, 15, polled);
            to = write::came(&mut c, to, 15, many);
            to = write::came(&mut c, to, 15, in_vain);
            to = write::asks(&mut c, to, 15, 3);
            to = write::halts(&mut c, to, 15, 3, 1 << 40, Place::Before);
            to = write::halts(&mut c, to, 15, 3, 12, Place::Behind { releases: 1 << 40, worked_us: 9 });
            to = write::bytes(&mut c, to, 15, b"random");
            to = write::note(&mut c, to, 16, note::FILE, &[b"/etc/", b"hosts"]);
            write::matches(&mut c, to, 17, 5)
        };
        let length = end as usize - start as usize;
        let mut from = &room[..length];
        let mut c = Context::new();
        let mut got = Vec::new();
        while let Some(entry) = read(&mut c, &mut from).unwrap() {
            got.push((c.event, entry));
        }
        let want = [
            (3, Entry::HandOver(100)),
            (9, Entry::HandOver(90)),
            (9, Entry::Result(Op::CondTimed, 110)),
            (10, Entry::Polls(Op::MutexTry, 16, 1)),
            (12, Entry::Edge { thread: 5, count: 1 << 40 }),
            (13, Entry::WriteTurn { version: 91, readers: 4 }),
            (14, Entry::Created(6)),
            (15, Entry::Clock { id: 1, ns: -5 }),
            (15, Entry::Clock { id: 1, ns: 1 << 62 }),
            (15, Entry::Signal(signal)),
            (15, Entry::After { own: 9, thread: 3, uses: 700 }),
            (15, Entry::Slept(2)),
            (15, Entry::Outward { many: 300, is_behind: true }),
            (15, Entry::Came(polled)),
            (15, Entry::Came(many)),
            (15, Entry::Came(in_vain)),
            (15, Entry::Asks { thread: 3 }),
            (15, Entry::Halts { thread: 3, count: 1 << 40, place: Place::Before }),
            (15, Entry::Halts { thread: 3, count: 12, place: Place::Behind { releases: 1 << 40, worked_us: 9 } }),
            (15, Entry::Bytes(b"random")),
            (16, Entry::Note(note::FILE, b"/etc/hosts")),
            (17, Entry::Matches(&[0; 5])),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn a_close_hand_over_takes_two_bytes() {
        let mut room = [0u8; ROOM];
        let start = room.as_mut_ptr();
        for (event, version) in [(1001, 5003), (1005, 6023), (1005, 3977), (1000, 5000)] {
            let mut c = Context { event: 1000, version: 5000, ..Context::new() };
            // SAFETY: there is room for one entry.
            let end = unsafe { write::hand_over(&mut c, start, event, version) };
            let length = end as usize - start as usize;
            assert!(length <= 2, "{length} bytes for {event}, {version}");
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_crash() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut bytes = [0u8; 40];
            for byte in &mut bytes {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *byte = (state >> 56) as u8;
            }
            let (mut from, mut c) = (&bytes[..], Context::new());
            while let Ok(Some(_)) = read(&mut c, &mut from) {}
        }
    }
}
