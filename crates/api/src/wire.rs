//! Stream sockets by direct system calls, and the cutting of streams into frames.
//!
//! The calls go past libc, so that the shim, when it is loaded, does not take the library's own traffic for the
//! program's. All sockets are non-blocking and close themselves when another program is executed; a forked child closes
//! them at once (see `forked`), so that the end of a process is seen by its partners.

use crate::error::{Error, Result};
use crate::forked;
use crate::frame::{HEAD, HELLO_MAX, MESSAGE_MAX, STAMP_MAX};
use libc::{c_int, iovec, msghdr, pollfd, sockaddr_storage, socklen_t};
use retake_engine::sys;
use std::collections::VecDeque;

/// A descriptor of ours.
#[derive(Debug)]
pub struct Fd(pub c_int);

impl Fd {
    /// Makes a result of a system call ours.
    pub fn new(result: isize) -> std::result::Result<Fd, c_int> {
        match sys::error(result) {
            Some(error) => Err(error),
            None => {
                forked::opened(result as c_int);
                Ok(Fd(result as c_int))
            }
        }
    }

    fn number(&self) -> usize {
        self.0 as usize
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        if forked::closed(self.0) {
            // SAFETY: the descriptor is ours alone.
            unsafe { sys::close(self.number()) };
        }
    }
}

/// An address in the form that the kernel wants.
pub struct Address {
    pub storage: sockaddr_storage,
    pub length: socklen_t,
}

const FLAGS: usize = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as usize;

/// A socket to which others connect at `address`.
pub fn listener(address: &Address) -> std::result::Result<Fd, c_int> {
    // SAFETY: the address is as long as it says.
    unsafe {
        let fd = Fd::new(sys::socket(address.storage.ss_family.into(), libc::SOCK_STREAM as usize | FLAGS, 0))?;
        if address.storage.ss_family != libc::AF_UNIX as u16 {
            set(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR);
        }
        let at = &raw const address.storage as usize;
        for result in [sys::bind(fd.number(), at, address.length as usize), sys::listen(fd.number(), 1024)] {
            if let Some(error) = sys::error(result) {
                return Err(error);
            }
        }
        Ok(fd)
    }
}

/// A connection to `address`. Connecting may wait; the connection then does not.
pub fn connect(address: &Address) -> std::result::Result<Fd, c_int> {
    // SAFETY: the address is as long as it says.
    unsafe {
        let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as usize;
        let fd = Fd::new(sys::socket(address.storage.ss_family.into(), kind, 0))?;
        let at = &raw const address.storage as usize;
        loop {
            match sys::error(sys::connect(fd.number(), at, address.length as usize)) {
                None => break,
                Some(libc::EINTR) => {}
                Some(error) => return Err(error),
            }
        }
        if address.storage.ss_family != libc::AF_UNIX as u16 {
            set(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY);
        }
        Ok(fd)
    }
}

fn set(fd: &Fd, level: c_int, option: c_int) {
    let one: c_int = 1;
    // SAFETY: the value lives on the stack.
    unsafe {
        sys::setsockopt(fd.number(), level as usize, option as usize, &raw const one as usize, size_of::<c_int>(), 0)
    };
}

/// The next connection that waits at `listener`.
pub fn accept(listener: &Fd) -> Option<Fd> {
    // SAFETY: no address is asked for.
    Fd::new(unsafe { sys::accept4(listener.number(), 0, 0, FLAGS) }).ok()
}

/// Waits for `fds`; returns whether anything happened.
pub fn poll(fds: &mut [pollfd], timeout_ms: i32) -> Result<bool> {
    // SAFETY: the slice is as long as said.
    let result = unsafe { sys::poll(fds.as_mut_ptr() as usize, fds.len(), timeout_ms as isize as usize) };
    match sys::error(result) {
        None => Ok(result > 0),
        Some(libc::EINTR | libc::EAGAIN) => Ok(false),
        Some(errno) => Err(Error::System { what: "wait for messages", errno }),
    }
}

/// The sending half of a connection: a queue of what the kernel has not taken yet.
#[derive(Debug)]
pub struct Outgoing {
    pub fd: Fd,
    queue: VecDeque<u8>,
}

/// The other end is gone.
#[derive(Debug)]
pub struct Broken;

impl Outgoing {
    pub fn new(fd: Fd) -> Outgoing {
        Outgoing { fd, queue: VecDeque::new() }
    }

    pub fn backlog(&self) -> usize {
        self.queue.len()
    }

    /// Sends a frame: its length, then its pieces. What the kernel does not take is queued.
    pub fn send(&mut self, head: &[u8], contents: &[u8]) -> std::result::Result<(), Broken> {
        let length = ((head.len() + contents.len()) as u32).to_le_bytes();
        let pieces = [&length[..], head, contents];
        let taken = if self.queue.is_empty() { self.offer(pieces)? } else { 0 };
        let mut skip = taken;
        for piece in pieces {
            let from = skip.min(piece.len());
            self.queue.extend(&piece[from..]);
            skip -= from;
        }
        Ok(())
    }

    /// Offers the queue to the kernel again.
    pub fn flush(&mut self) -> std::result::Result<(), Broken> {
        while !self.queue.is_empty() {
            let (front, back) = self.queue.as_slices();
            let taken = offer(&self.fd, [front, back, &[]])?;
            self.queue.drain(..taken);
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }

    fn offer(&self, pieces: [&[u8]; 3]) -> std::result::Result<usize, Broken> {
        offer(&self.fd, pieces)
    }

    /// Whether the other end has closed the connection. Nothing is ever sent on it in that direction.
    pub fn is_closed(&self) -> bool {
        let mut byte = [0u8; 1];
        let flags = (libc::MSG_DONTWAIT | libc::MSG_PEEK) as usize;
        // SAFETY: one byte of room.
        let got = unsafe { sys::recvfrom(self.fd.number(), byte.as_mut_ptr() as usize, 1, flags, 0, 0) };
        !matches!(sys::error(got), Some(libc::EAGAIN | libc::EINTR))
    }
}

fn offer(fd: &Fd, pieces: [&[u8]; 3]) -> std::result::Result<usize, Broken> {
    let mut vectors = pieces.map(|piece| iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() });
    // SAFETY: a message of plain pieces; all zero is valid for the rest.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = vectors.len();
    loop {
        let flags = (libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) as usize;
        // SAFETY: the message and its pieces live as long as the call.
        let sent = unsafe { sys::sendmsg(fd.number(), &raw const message as usize, flags) };
        match sys::error(sent) {
            None => return Ok(sent as usize),
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => return Ok(0),
            Some(_) => return Err(Broken),
        }
    }
}

const BUFFER: usize = 64 << 10;
/// A frame that claims to be long gets room as its bytes come, so that a lie costs nothing.
const TRUST: usize = 1 << 20;

/// The receiving half of a connection: bytes, cut into frames.
#[derive(Debug)]
pub struct Incoming {
    pub fd: Fd,
    cutter: Cutter,
}

/// How reading ended.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    Open,
    /// The other end has closed it, or has sent something that is no frame.
    Closed,
}

impl Incoming {
    pub fn new(fd: Fd) -> Incoming {
        Incoming { fd, cutter: Cutter::default() }
    }

    /// Reads what is there and gives whole frames to `sink`; it says false to frames that are none.
    pub fn read(&mut self, sink: &mut dyn FnMut(Vec<u8>) -> bool) -> State {
        loop {
            let room = self.cutter.room();
            let asked = room.len();
            let flags = libc::MSG_DONTWAIT as usize;
            // SAFETY: the room is as long as said.
            let got = unsafe { sys::recvfrom(self.fd.number(), room.as_mut_ptr() as usize, asked, flags, 0, 0) };
            match sys::error(got) {
                None if got > 0 => {
                    if self.cutter.filled(got as usize, sink).is_err() {
                        return State::Closed;
                    }
                    if (got as usize) < asked {
                        return State::Open;
                    }
                }
                Some(libc::EAGAIN) => return State::Open,
                Some(libc::EINTR) => {}
                _ => return State::Closed,
            }
        }
    }
}

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
