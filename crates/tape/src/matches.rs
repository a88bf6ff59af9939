//! Matches: from whom each receive of a message came, for receives that take from anyone. Written and read side by side.
//!
//! A thread's receives from anyone are numbered from 0 as they are asked for; a match says which source and tag number
//! *n* got. Matches stand in blocks on the tape, apart from events: a block is laid down empty and filled in place, so
//! that a receive costs one byte, and none if it came from where the last one came from.
//!
//! ```text
//! 0x00            end of the block
//! 0x01 call       the following are of this call (see `calls`)
//! 0x02 zigzag     the next one's number, less the one that is expected: the last one's plus 1
//! 0x03 source     the next one's source, if it is 64 or more; the match itself
//! 0x04 zigzag     the next one's tag, if it is not the last one of that source
//! 0x05            the next one was withdrawn: cancelled, or never matched; the match itself
//! 0x06 thread     the next one was asked for by this thread, not by the one whose tape this is
//! 0x07 number     a receive with a given source, of this number, was withdrawn
//! 0x40 | source   a match
//! 0x80 | n        n + 1 matches like the last one
//! ```
//!
//! Law: the first byte of what is added is stored last. A program killed in between has a whole block.

use crate::varint::{SLACK, get, put, unzigzag, zigzag};

/// Sources whose last tag is remembered.
const NEAR: usize = 64;
/// Room that one match may need, made beside.
const GROUP: usize = 6 * (SLACK + 1);
/// Source of a receive that was withdrawn.
pub const WITHDRAWN: i32 = i32::MIN;

/// The calls that take from anyone.
pub mod calls {
    pub const RECV: u8 = 1;
    pub const SENDRECV: u8 = 2;
    pub const SENDRECV_REPLACE: u8 = 3;
    pub const IRECV: u8 = 4;
    pub const START: u8 = 5;
    pub const PROBE: u8 = 6;
    pub const IPROBE: u8 = 7;
    pub const MPROBE: u8 = 8;
    pub const IMPROBE: u8 = 9;

    /// A call by its name.
    pub fn word(call: u8) -> &'static str {
        match call {
            RECV => "MPI_Recv",
            SENDRECV => "MPI_Sendrecv",
            SENDRECV_REPLACE => "MPI_Sendrecv_replace",
            IRECV => "MPI_Irecv",
            START => "MPI_Start",
            PROBE => "MPI_Probe",
            IPROBE => "MPI_Iprobe",
            MPROBE => "MPI_Mprobe",
            IMPROBE => "MPI_Improbe",
            _ => "another receive",
        }
    }
}

/// One receive from anyone, and what it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The thread that asked for it; 0 for the one whose tape it is.
    pub thread: u32,
    pub number: u64,
    pub call: u8,
    /// Who sent it, or [`WITHDRAWN`].
    pub source: i32,
    pub tag: i32,
}

/// What both sides remember from one match to the next.
#[derive(Clone, Copy)]
pub struct Context {
    last: Match,
    tags: [i32; NEAR],
    far_tag: i32,
    /// The last byte is a repetition, to be raised in place (writing).
    repeats: bool,
}

impl Context {
    pub const fn new() -> Context {
        let last = Match { thread: 0, number: u64::MAX, call: 0, source: WITHDRAWN, tag: 0 };
        Context { last, tags: [0; NEAR], far_tag: 0, repeats: false }
    }

    /// What comes next goes into a new block.
    pub fn begin_block(&mut self) {
        self.repeats = false;
    }

    fn tag(&mut self, source: i32) -> &mut i32 {
        self.tags.get_mut(source as usize).unwrap_or(&mut self.far_tag)
    }
}

impl Default for Context {
    fn default() -> Self {
        Context::new()
    }
}

/// Adds `new` at `to`, the end of what is written of a block with `left` bytes more. Returns the new end, or null if it
/// does not fit.
///
/// # Safety
/// `to` must be valid for writes of `left` bytes that are 0, and follow what was added last unless a block begins.
#[inline(always)]
pub unsafe fn add(c: &mut Context, to: *mut u8, left: usize, new: Match) -> *mut u8 {
    // As good as always: what is new is the source, or nothing.
    let expected = c.last.number.wrapping_add(1);
    let plain = new.call == c.last.call && new.thread == 0 && new.number == expected;
    if plain && (0..NEAR as i32).contains(&new.source) && c.tags[new.source as usize] == new.tag && left > 0 {
        let same = new.source == c.last.source && new.tag == c.last.tag;
        (c.last.number, c.last.source, c.last.tag) = (new.number, new.source, new.tag);
        // SAFETY: as the caller promises.
        unsafe {
            if same && c.repeats && to.sub(1).read() < 0xff {
                to.sub(1).write_volatile(to.sub(1).read() + 1);
                return to;
            }
            c.repeats = same;
            to.write_volatile(if same { 0x80 } else { 0x40 | new.source as u8 });
            return to.add(1);
        }
    }
    // SAFETY: as the caller promises.
    unsafe { add_whole(c, to, left, new) }
}

/// The same, of any match.
#[inline(never)]
unsafe fn add_whole(c: &mut Context, to: *mut u8, left: usize, new: Match) -> *mut u8 {
    let expected = c.last.number.wrapping_add(1);
    let same = Match { number: expected, ..c.last } == new && new.source != WITHDRAWN && new.thread == 0;
    // SAFETY: as the caller promises; the group is made beside and then copied.
    unsafe {
        if same && c.repeats && to.sub(1).read() < 0xff {
            c.last = new;
            to.sub(1).write_volatile(to.sub(1).read() + 1);
            return to;
        }
        let mut group = [0u8; GROUP];
        let mut at = group.as_mut_ptr();
        let mut with = |mark: u8, value: u64| {
            at.write(mark);
            at = put(at.add(1), value);
        };
        if new.call != c.last.call {
            with(0x01, u64::from(new.call));
        }
        if new.thread != 0 {
            with(0x06, u64::from(new.thread));
        }
        if new.number != expected {
            with(0x02, zigzag(new.number.wrapping_sub(expected) as i64));
        }
        let near = (0..NEAR as i32).contains(&new.source);
        if new.source != WITHDRAWN && *c.tag(new.source) != new.tag {
            with(0x04, zigzag(i64::from(new.tag)));
        }
        if new.source != WITHDRAWN && !same && !near {
            with(0x03, u64::from(new.source as u32));
        } else {
            let byte = if new.source == WITHDRAWN { 0x05 } else { 0x40 | new.source as u8 };
            at.write(if same { 0x80 } else { byte });
            at = at.add(1);
        }
        let end = lay(to, left, &group, at as usize - group.as_ptr() as usize);
        if !end.is_null() {
            c.repeats = same;
            c.last = Match { thread: 0, ..new };
            if new.source != WITHDRAWN {
                *c.tag(new.source) = new.tag;
            }
        }
        end
    }
}

/// Adds that the receive of `number`, one with a given source, was withdrawn. As [`add`].
///
/// # Safety
/// As for [`add`].
pub unsafe fn add_withdrawn(c: &mut Context, to: *mut u8, left: usize, number: u64) -> *mut u8 {
    let mut group = [0u8; GROUP];
    group[0] = 0x07;
    c.repeats = false;
    // SAFETY: the group is long enough; the rest is the caller's promise.
    unsafe {
        let end = put(group.as_mut_ptr().add(1), number);
        lay(to, left, &group, end as usize - group.as_ptr() as usize)
    }
}

unsafe fn lay(to: *mut u8, left: usize, group: &[u8; GROUP], length: usize) -> *mut u8 {
    if length > left {
        return core::ptr::null_mut();
    }
    // SAFETY: it fits; the first byte comes last.
    unsafe {
        core::ptr::copy_nonoverlapping(group.as_ptr().add(1), to.add(1), length - 1);
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
        to.write_volatile(group[0]);
        to.add(length)
    }
}

/// What a block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Match(Match),
    /// A receive with a given source was withdrawn.
    Withdrawn(u64),
}

/// Calls `each` with everything in `block`. False if it is garbled.
pub fn read(c: &mut Context, mut block: &[u8], mut each: impl FnMut(Said)) -> bool {
    let mut next = Match { thread: 0, number: c.last.number.wrapping_add(1), ..c.last };
    let mut tag = None;
    while let Some((&mark, rest)) = block.split_first() {
        block = rest;
        let mut number = || {
            let (value, length) = get(block)?;
            block = &block[length..];
            Some(value)
        };
        let source = match mark {
            0 => return true,
            0x80.. => {
                for _ in 0..=(mark & 0x7f) {
                    each(Said::Match(next));
                    c.last = next;
                    next.number = next.number.wrapping_add(1);
                }
                continue;
            }
            0x40.. => i32::from(mark & 0x3f),
            0x05 => WITHDRAWN,
            _ => {
                let Some(value) = number() else { return false };
                match mark {
                    0x01 => next.call = value as u8,
                    0x02 => next.number = next.number.wrapping_add(unzigzag(value) as u64),
                    0x04 => tag = Some(unzigzag(value) as i32),
                    0x06 => next.thread = value as u32,
                    0x07 => each(Said::Withdrawn(value)),
                    0x03 => {}
                    _ => return false,
                }
                if mark != 0x03 {
                    continue;
                }
                value as i32
            }
        };
        next.source = source;
        if source != WITHDRAWN {
            let known = c.tag(source);
            *known = tag.unwrap_or(*known);
            next.tag = *known;
        }
        tag = None;
        each(Said::Match(next));
        next.thread = 0;
        c.last = next;
        next.number = next.number.wrapping_add(1);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(all: &[Match]) -> (Vec<u8>, usize) {
        let mut room = vec![0u8; all.len() * GROUP + GROUP];
        let (mut c, start) = (Context::new(), room.as_mut_ptr());
        let mut to = start;
        for one in all {
            // SAFETY: there is room for all.
            to = unsafe { add(&mut c, to, GROUP, *one) };
        }
        let length = to as usize - start as usize;
        (room, length)
    }

    fn read_all(block: &[u8]) -> Vec<Said> {
        let mut got = Vec::new();
        assert!(read(&mut Context::new(), block, |said| got.push(said)));
        got
    }

    #[test]
    fn what_is_written_is_read() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for spread in [1, 2, 64, 100_000] {
            let mut all = Vec::new();
            for number in 0..3000u64 {
                let odd = random(50) == 0;
                let source = random(spread) as i32;
                all.push(Match {
                    thread: if odd && random(3) == 0 { 9 } else { 0 },
                    number: if odd { number + random(9) } else { number },
                    call: if odd { 4 } else { 1 },
                    source: if odd && random(4) == 0 { WITHDRAWN } else { source },
                    tag: random(2) as i32 * 1_000_000,
                });
            }
            let (block, _) = write(&all);
            for (got, want) in read_all(&block).iter().zip(&all) {
                let Said::Match(got) = got else { panic!("{got:?}") };
                let tag = if want.source == WITHDRAWN { got.tag } else { want.tag };
                assert_eq!(*got, Match { tag, ..*want });
            }
            assert_eq!(read_all(&block).len(), all.len());
        }
    }

    #[test]
    fn a_receive_costs_a_byte_or_less() {
        let one = |number, source| Match { thread: 0, number, call: 1, source, tag: 5 };
        let all: Vec<_> = (0..1000).map(|number| one(number, (number % 3) as i32)).collect();
        assert!(write(&all).1 < 1012);
        let all: Vec<_> = (0..1000).map(|number| one(number, 1)).collect();
        assert!(write(&all).1 < 20);
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
            read(&mut Context::new(), &bytes, |_| {});
        }
    }
}
