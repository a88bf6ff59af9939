//! The cutting of streams into frames: `length (4)  frame`, one after the other.
//!
//! Everything here may come from a stranger. Law: no bytes make it panic, and a lie about a length costs no memory.

use crate::frame::{HEAD, HELLO_MAX, MESSAGE_MAX, STAMP_MAX};
use std::mem::MaybeUninit;

const BUFFER: usize = 64 << 10;
/// A frame that claims to be long gets room as its bytes come, so that a lie costs nothing.
const TRUST: usize = 1 << 20;
/// Longer frames are read into a place of their own, which becomes the message: their bytes are not copied.
const LONG: usize = 8 << 10;
/// Behind a long frame so much is read at once: probably another long one follows, and what is read of it is copied.
const GLANCE: usize = 2 << 10;

/// Bytes that are no frames.
#[derive(Debug, PartialEq, Eq)]
pub struct Garbage;

/// Cuts a stream of bytes into frames: `length (4)  frame`.
#[derive(Debug, Default)]
pub struct Cutter {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// A long frame of which the end has not come; the buffer is empty then.
    long: Option<Long>,
    /// The last frame was a long one.
    after_long: bool,
    started: bool,
}

#[derive(Debug)]
struct Long {
    frame: Vec<u8>,
    length: usize,
}

/// Where the next bytes go: into the first until it is full, then into the second. The first is never empty.
pub type Rooms<'a> = [&'a mut [MaybeUninit<u8>]; 2];

impl Cutter {
    pub fn rooms(&mut self) -> Rooms<'_> {
        if self.buffer.is_empty() {
            self.buffer.resize(BUFFER, 0);
        }
        if let Some(Long { frame, length }) = &mut self.long {
            let missing = *length - frame.len();
            if frame.len() == frame.capacity() {
                frame.reserve_exact(frame.len().max(TRUST).min(missing));
            }
            let room = frame.spare_capacity_mut();
            let most = missing.min(room.len());
            // What follows the frame, if all of it has room.
            let behind = if most == missing { GLANCE } else { 0 };
            return [&mut room[..most], as_room(&mut self.buffer[..behind])];
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end + GLANCE > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let most = if self.after_long { self.end + GLANCE } else { self.buffer.len() };
        [as_room(&mut self.buffer[self.end..most]), &mut []]
    }

    /// So many bytes were put into the rooms. `sink` says false to a frame that is none.
    ///
    /// # Safety
    /// They were.
    pub unsafe fn filled(&mut self, many: usize, sink: &mut dyn FnMut(Vec<u8>) -> bool) -> Result<(), Garbage> {
        if let Some(Long { frame, length }) = &mut self.long {
            let its = many.min(*length - frame.len());
            // SAFETY: the caller has filled the first room, which lies behind what the frame has, so far.
            unsafe { frame.set_len(frame.len() + its) };
            if frame.len() < *length {
                return Ok(());
            }
            (self.start, self.end, self.after_long) = (0, many - its, true);
            let whole = self.long.take().map(|long| long.frame).unwrap_or_default();
            if !sink(whole) {
                return Err(Garbage);
            }
        } else {
            self.end += many;
        }
        self.cut(sink)
    }

    /// Gives the whole frames of the buffer to `sink`.
    fn cut(&mut self, sink: &mut dyn FnMut(Vec<u8>) -> bool) -> Result<(), Garbage> {
        while let Some(length) = self.buffer[self.start..self.end].first_chunk::<4>() {
            let length = u32::from_le_bytes(*length) as usize;
            // The first frame is a hello, all others have a head.
            let most = if self.started { HEAD + STAMP_MAX + MESSAGE_MAX } else { HELLO_MAX };
            if length > most || (self.started && length < HEAD) {
                return Err(Garbage);
            }
            let from = self.start + 4;
            if self.end - from >= length {
                let frame = self.buffer[from..from + length].to_vec();
                self.start = from + length;
                (self.started, self.after_long) = (true, length > LONG);
                if !sink(frame) {
                    return Err(Garbage);
                }
            } else if length > LONG {
                let mut frame = Vec::with_capacity(length.min(TRUST));
                frame.extend_from_slice(&self.buffer[from..self.end]);
                self.long = Some(Long { frame, length });
                (self.start, self.end) = (0, 0);
                break;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Takes the first of these bytes; how many there was room for.
    pub fn take(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Vec<u8>) -> bool) -> Result<usize, Garbage> {
        let mut taken = 0;
        for room in self.rooms() {
            let rest = &bytes[taken..];
            room.iter_mut().zip(rest).for_each(|(to, from)| _ = to.write(*from));
            taken += room.len().min(rest.len());
        }
        // SAFETY: they were just put there.
        unsafe { self.filled(taken, sink) }.map(|()| taken)
    }
}

fn as_room(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: the same bytes; whoever gets them only writes, and only whole bytes.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Head, Kind};

    fn feed(cutter: &mut Cutter, mut bytes: &[u8], step: usize) -> std::result::Result<Vec<Vec<u8>>, Garbage> {
        let mut frames = Vec::new();
        while !bytes.is_empty() {
            let taken = cutter.take(&bytes[..bytes.len().min(step)], &mut |frame| {
                frames.push(frame);
                true
            })?;
            bytes = &bytes[taken..];
        }
        Ok(frames)
    }

    fn framed(frame: &[u8]) -> Vec<u8> {
        [&(frame.len() as u32).to_le_bytes(), frame].concat()
    }

    #[test]
    fn any_cut_of_the_stream_gives_the_same_frames() {
        let head = Head { kind: Kind::Send, seq: 1, id: 1, stamped: false }.bytes();
        let mut stream = framed(b"hello");
        let mut expected = vec![b"hello".to_vec()];
        for length in [0, 1, 63, 8_175, 8_176, 64, 65_000, 65_519, 2_000, 65_520, 65_536, 9, 9, 300_000, 3_000_000, 5] {
            let frame = [&head[..], &vec![length as u8; length]].concat();
            stream.extend(framed(&frame));
            expected.push(frame);
        }
        for step in [1000, 2048, 4096, 65_536, usize::MAX, 17] {
            assert!(feed(&mut Cutter::default(), &stream, step).unwrap() == expected, "step {step}");
        }
    }

    #[test]
    fn lies_about_lengths_are_found_or_cost_nothing() {
        for length in [u32::MAX, (HEAD + STAMP_MAX + MESSAGE_MAX) as u32 + 1, 3] {
            let mut cutter = Cutter::default();
            feed(&mut cutter, &framed(b"hello"), 64).unwrap();
            assert_eq!(feed(&mut cutter, &[&length.to_le_bytes()[..], &[0; 8]].concat(), 64), Err(Garbage));
        }
        let mut cutter = Cutter::default();
        feed(&mut cutter, &framed(b"hello"), 64).unwrap();
        feed(&mut cutter, &((MESSAGE_MAX) as u32).to_le_bytes(), 64).unwrap();
        assert!(cutter.rooms()[0].len() <= TRUST);
        assert_eq!(feed(&mut Cutter::default(), &100_000u32.to_le_bytes(), 64), Err(Garbage));
    }
}
