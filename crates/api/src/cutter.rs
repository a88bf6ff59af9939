//! The cutting of streams into frames: `length (4)  frame`, one after the other.
//!
//! Everything here may come from a stranger. Law: no bytes make it panic, and a lie about a length costs no memory.

use crate::frame::{HEAD, HELLO_MAX, MESSAGE_MAX, STAMP_MAX};

const BUFFER: usize = 64 << 10;
/// A frame that claims to be long gets room as its bytes come, so that a lie costs nothing.
const TRUST: usize = 1 << 20;

/// Bytes that are no frames.
#[derive(Debug, PartialEq, Eq)]
pub struct Garbage;

/// Cuts a stream of bytes into frames: `length (4)  frame`.
#[derive(Debug, Default)]
pub struct Cutter {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// A long frame, read into a place of its own.
    long: Option<Long>,
    started: bool,
}

#[derive(Debug)]
struct Long {
    frame: Vec<u8>,
    filled: usize,
    length: usize,
}

impl Cutter {
    /// Where the next bytes go; never empty.
    pub fn room(&mut self) -> &mut [u8] {
        if let Some(long) = &mut self.long {
            if long.filled == long.frame.len() {
                let more = long.frame.len().max(TRUST).min(long.length - long.filled);
                long.frame.resize(long.filled + more, 0);
            }
            return &mut long.frame[long.filled..];
        }
        if self.buffer.is_empty() {
            self.buffer.resize(BUFFER, 0);
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.buffer[self.end..]
    }

    /// So many bytes were put into the room. `sink` says false to a frame that is none.
    pub fn filled(&mut self, many: usize, sink: &mut dyn FnMut(Vec<u8>) -> bool) -> std::result::Result<(), Garbage> {
        if let Some(long) = &mut self.long {
            long.filled += many;
            if long.filled < long.length {
                return Ok(());
            }
            let whole = self.long.take().map(|long| long.frame).unwrap_or_default();
            return if sink(whole) { Ok(()) } else { Err(Garbage) };
        }
        self.end += many;
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
                self.started = true;
                if !sink(frame) {
                    return Err(Garbage);
                }
            } else if length + 4 > BUFFER {
                let filled = self.end - from;
                let mut frame = Vec::with_capacity(length.min(TRUST));
                frame.extend_from_slice(&self.buffer[from..self.end]);
                self.long = Some(Long { frame, filled, length });
                (self.start, self.end) = (0, 0);
                break;
            } else {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Head, Kind};

    fn feed(cutter: &mut Cutter, mut bytes: &[u8], step: usize) -> std::result::Result<Vec<Vec<u8>>, Garbage> {
        let mut frames = Vec::new();
        while !bytes.is_empty() {
            let room = cutter.room();
            let many = bytes.len().min(step).min(room.len());
            room[..many].copy_from_slice(&bytes[..many]);
            bytes = &bytes[many..];
            cutter.filled(many, &mut |frame| {
                frames.push(frame);
                true
            })?;
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
        for length in [0, 1, 63, 64, 65_000, 65_519, 65_520, 65_536, 300_000, 3_000_000] {
            let frame = [&head[..], &vec![length as u8; length]].concat();
            stream.extend(framed(&frame));
            expected.push(frame);
        }
        for step in [1000, 4096, 65_536, usize::MAX, 17] {
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
        assert!(cutter.room().len() <= TRUST);
        assert_eq!(feed(&mut Cutter::default(), &100_000u32.to_le_bytes(), 64), Err(Garbage));
    }
}
