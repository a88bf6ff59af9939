//! The cutting of streams into frames: `length (4)  frame`, one after the other.
//!
//! What is behind the head of a frame gets memory of its own, so that a message's contents can be handed on as they are.
//! That also keeps them where memory is allocated, at a multiple of 16: kernels copy by `rep movsb`, which takes three times as
//! long on some processors if the target stands 1 to 15 bytes behind the source within its page, as that of a file's page does
//! for contents that begin just before the end of one.
//!
//! Everything here may come from a stranger. Law: no bytes make it panic, and a lie about a length costs no memory.

use crate::frame::{HEAD, HELLO_MAX, Head, Hello, MESSAGE_MAX, STAMP_MAX};
use std::mem::MaybeUninit;

const BUFFER: usize = 64 << 10;
/// A frame that claims to be long gets room as its bytes come, so that a lie costs nothing.
const TRUST: usize = 1 << 20;
/// Longer ones are read into a place of their own, which becomes the message: their bytes are not copied.
const LONG: usize = 8 << 10;
/// Behind a long frame so much is read at once: probably another long one follows, and what is read of it is copied.
const GLANCE: usize = 2 << 10;

/// What a stream is cut into: first a hello, then frames.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Hello(Hello),
    /// The head, and what is behind it.
    Frame(Head, Vec<u8>),
}

/// Bytes that are no frames.
#[derive(Debug, PartialEq, Eq)]
pub struct Garbage;

/// Cuts a stream of bytes.
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
    head: Head,
    body: Vec<u8>,
    length: usize,
}

/// Where the next bytes go: into the first until it is full, then into the second. The first is never empty.
pub type Rooms<'a> = [&'a mut [MaybeUninit<u8>]; 2];

impl Cutter {
    pub fn rooms(&mut self) -> Rooms<'_> {
        if self.buffer.is_empty() {
            self.buffer.resize(BUFFER, 0);
        }
        if let Some(Long { body, length, .. }) = &mut self.long {
            let missing = *length - body.len();
            if body.len() == body.capacity() {
                body.reserve_exact(body.len().max(TRUST).min(missing));
            }
            let room = body.spare_capacity_mut();
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

    /// So many bytes were put into the rooms. What is whole by now goes to `sink`.
    ///
    /// # Safety
    /// They were.
    pub unsafe fn filled(&mut self, many: usize, sink: &mut dyn FnMut(Piece)) -> Result<(), Garbage> {
        if let Some(Long { body, length, .. }) = &mut self.long {
            let its = many.min(*length - body.len());
            // SAFETY: the caller has filled the first room, which lies behind what the frame has, so far.
            unsafe { body.set_len(body.len() + its) };
            if body.len() < *length {
                return Ok(());
            }
            (self.start, self.end, self.after_long) = (0, many - its, true);
            if let Some(Long { head, body, .. }) = self.long.take() {
                sink(Piece::Frame(head, body));
            }
        } else {
            self.end += many;
        }
        self.cut(sink)
    }

    /// Gives what is whole of the buffer to `sink`.
    fn cut(&mut self, sink: &mut dyn FnMut(Piece)) -> Result<(), Garbage> {
        while let Some((length, rest)) = self.buffer[self.start..self.end].split_first_chunk::<4>() {
            let length = u32::from_le_bytes(*length) as usize;
            let most = if self.started { HEAD + STAMP_MAX + MESSAGE_MAX } else { HELLO_MAX };
            if length > most || (self.started && length < HEAD) {
                return Err(Garbage);
            }
            if !self.started {
                let Some(hello) = rest.get(..length) else { break };
                sink(Piece::Hello(Hello::of(hello).ok_or(Garbage)?));
            } else {
                let Some((head, body)) = rest.split_first_chunk::<HEAD>() else { break };
                let (head, length) = (Head::of(head).ok_or(Garbage)?, length - HEAD);
                if let Some(body) = body.get(..length) {
                    sink(Piece::Frame(head, body.to_vec()));
                } else if length > LONG {
                    let mut start = Vec::with_capacity(length.min(TRUST));
                    start.extend_from_slice(body);
                    self.long = Some(Long { head, body: start, length });
                    (self.start, self.end) = (0, 0);
                    break;
                } else {
                    break;
                }
            }
            self.start += 4 + length;
            (self.started, self.after_long) = (true, length > LONG);
        }
        Ok(())
    }

    /// Takes the first of these bytes; how many there was room for.
    pub fn take(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Piece)) -> Result<usize, Garbage> {
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

    fn feed(cutter: &mut Cutter, mut bytes: &[u8], step: usize) -> std::result::Result<Vec<Piece>, Garbage> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let taken = cutter.take(&bytes[..bytes.len().min(step)], &mut |piece| pieces.push(piece))?;
            bytes = &bytes[taken..];
        }
        Ok(pieces)
    }

    fn framed(frame: &[u8]) -> Vec<u8> {
        [&(frame.len() as u32).to_le_bytes(), frame].concat()
    }

    fn hello() -> Hello {
        Hello { name: "me".into(), host: "here".into(), life: 1, number: 2 }
    }

    fn head(seq: usize) -> Head {
        Head { kind: Kind::Send, seq: seq as u64, id: 1, stamped: false }
    }

    #[test]
    fn any_cut_of_the_stream_gives_the_same_frames() {
        let mut stream = framed(&hello().bytes());
        let mut expected = vec![Piece::Hello(hello())];
        for length in [0, 1, 63, 8_175, 8_193, 64, 65_000, 65_519, 2_000, 65_520, 65_536, 9, 9, 300_000, 3_000_000, 5] {
            let body = vec![length as u8; length];
            stream.extend(framed(&[&head(length).bytes()[..], &body].concat()));
            expected.push(Piece::Frame(head(length), body));
        }
        for step in [1000, 2048, 4096, 65_536, usize::MAX, 17] {
            assert!(feed(&mut Cutter::default(), &stream, step).unwrap() == expected, "step {step}");
        }
    }

    #[test]
    fn lies_about_lengths_are_found_or_cost_nothing() {
        let greeted = || {
            let mut cutter = Cutter::default();
            feed(&mut cutter, &framed(&hello().bytes()), 64).unwrap();
            cutter
        };
        for length in [u32::MAX, (HEAD + STAMP_MAX + MESSAGE_MAX) as u32 + 1, 3] {
            assert_eq!(feed(&mut greeted(), &[&length.to_le_bytes()[..], &[0; 8]].concat(), 64), Err(Garbage));
        }
        assert_eq!(feed(&mut greeted(), &framed(&[9; HEAD]), 64), Err(Garbage));
        let mut cutter = greeted();
        feed(&mut cutter, &[&(MESSAGE_MAX as u32).to_le_bytes()[..], &head(1).bytes()].concat(), 64).unwrap();
        assert!(cutter.rooms()[0].len() <= TRUST);
        assert_eq!(feed(&mut Cutter::default(), &100_000u32.to_le_bytes(), 64), Err(Garbage));
        assert_eq!(feed(&mut Cutter::default(), &framed(b"hello"), 64), Err(Garbage));
    }
}
