//! Stream sockets by direct system calls.
//!
//! The calls go past libc, so that the shim, when it is loaded, does not take the library's own traffic for the
//! program's. No call waits, but those that say so; all sockets close themselves when another program is executed, and a
//! forked child closes them at once (see `forked`), so that the end of a process is seen by its partners.

use crate::cutter::{Cutter, Piece, Rooms};
use crate::error::{Error, Result};
use crate::forked;
use crate::parked;
use crate::waiting::now;
use libc::{POLLOUT, c_int, iovec, msghdr, pollfd, sockaddr_storage, socklen_t};
use retake_engine::sys;
use std::collections::VecDeque;
use std::net::SocketAddr;

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

impl Address {
    /// An address of the internet.
    pub fn of(at: SocketAddr) -> Address {
        // SAFETY: all zero is a valid address.
        let mut address = Address { storage: unsafe { std::mem::zeroed() }, length: 0 };
        let to = &raw mut address.storage;
        match at {
            SocketAddr::V4(at) => {
                // SAFETY: all zero is a valid address.
                let mut inner: libc::sockaddr_in = unsafe { std::mem::zeroed() };
                inner.sin_family = libc::AF_INET as u16;
                inner.sin_port = at.port().to_be();
                inner.sin_addr.s_addr = u32::from(*at.ip()).to_be();
                // SAFETY: the storage has room for any address.
                unsafe { to.cast::<libc::sockaddr_in>().write(inner) };
                address.length = size_of::<libc::sockaddr_in>() as socklen_t;
            }
            SocketAddr::V6(at) => {
                // SAFETY: all zero is a valid address.
                let mut inner: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
                inner.sin6_family = libc::AF_INET6 as u16;
                inner.sin6_port = at.port().to_be();
                inner.sin6_addr.s6_addr = at.ip().octets();
                inner.sin6_scope_id = at.scope_id();
                // SAFETY: the storage has room for any address.
                unsafe { to.cast::<libc::sockaddr_in6>().write(inner) };
                address.length = size_of::<libc::sockaddr_in6>() as socklen_t;
            }
        }
        address
    }
}

const FLAGS: usize = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as usize;
/// So long, at most, waits whoever reads patiently.
pub const PATIENCE_MS: i64 = 10;

/// A socket to which others connect at `address`.
pub fn listener(address: &Address) -> std::result::Result<Fd, c_int> {
    // SAFETY: the address is as long as it says.
    unsafe {
        let fd = Fd::new(sys::socket(address.storage.ss_family.into(), libc::SOCK_STREAM as usize | FLAGS, 0))?;
        if address.storage.ss_family != libc::AF_UNIX as u16 {
            put(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1);
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
        Ok(fd)
    }
}

/// The same, not waiting beyond that moment of the monotonic clock: then it is `ETIMEDOUT`.
pub fn connect_until(address: &Address, until: i64) -> std::result::Result<Fd, c_int> {
    // SAFETY: the address is as long as it says; the answer has room.
    unsafe {
        let fd = Fd::new(sys::socket(address.storage.ss_family.into(), libc::SOCK_STREAM as usize | FLAGS, 0))?;
        let at = &raw const address.storage as usize;
        match sys::error(sys::connect(fd.number(), at, address.length as usize)) {
            None => return Ok(fd),
            Some(libc::EINPROGRESS | libc::EINTR) => {}
            Some(error) => return Err(error),
        }
        loop {
            let mut polled = [pollfd { fd: fd.0, events: POLLOUT, revents: 0 }];
            if poll(&mut polled, left_ms(until)).is_ok_and(|ready| ready) {
                break;
            }
            if now() >= until {
                return Err(libc::ETIMEDOUT);
            }
        }
        let (mut error, mut length): (c_int, socklen_t) = (0, size_of::<c_int>() as socklen_t);
        let (level, option) = (libc::SOL_SOCKET as usize, libc::SO_ERROR as usize);
        sys::getsockopt(fd.number(), level, option, &raw mut error as usize, &raw mut length as usize);
        if error == 0 { Ok(fd) } else { Err(error) }
    }
}

/// For a connection between machines: nothing is held back, and the silent end of the other machine, or of the net, is
/// noticed within half a minute.
pub fn keep_alive(fd: &Fd) {
    put(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    put(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    put(fd, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 10);
    put(fd, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 5);
    put(fd, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 3);
    put(fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 30_000);
}

fn put(fd: &Fd, level: c_int, option: c_int, value: c_int) {
    put_any(fd, level, option, &value);
}

fn put_any<T>(fd: &Fd, level: c_int, option: c_int, value: &T) {
    let at = &raw const *value as usize;
    // SAFETY: the value lives as long as the call.
    unsafe { sys::setsockopt(fd.number(), level as usize, option as usize, at, size_of::<T>(), 0) };
}

/// A counter that can be polled: rung, it is readable until it is hushed.
pub fn bell() -> std::result::Result<Fd, c_int> {
    let flags = (libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) as usize;
    // SAFETY: makes a descriptor.
    Fd::new(unsafe { sys::eventfd2(0, flags) })
}

pub fn ring(bell: &Fd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight bytes.
    unsafe { sys::write(bell.number(), one.as_ptr() as usize, 8) };
}

pub fn hush(bell: &Fd) {
    let mut eight = [0u8; 8];
    // SAFETY: eight bytes of room; the bell does not block.
    unsafe { sys::read(bell.number(), eight.as_mut_ptr() as usize, 8) };
}

/// Fills the bytes with random ones.
pub fn random(bytes: &mut [u8]) {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        // SAFETY: the rest is as long as said.
        let got = unsafe { sys::getrandom(rest.as_mut_ptr() as usize, rest.len(), 0) };
        filled += usize::try_from(got).unwrap_or(0);
    }
}

/// Milliseconds until that moment of the monotonic clock, for [`poll`].
pub fn left_ms(until: i64) -> i32 {
    i32::try_from((until.saturating_sub(now()).max(0) + 999_999) / 1_000_000).unwrap_or(i32::MAX)
}

/// Writes a few bytes to a fresh connection, whose buffer is empty; false if it is broken.
pub fn write(fd: &Fd, bytes: &[u8]) -> bool {
    offer(fd, [bytes, &[], &[]]).is_ok_and(|taken| taken == bytes.len())
}

/// How reading so many bytes went.
#[derive(Debug, PartialEq, Eq)]
pub enum Reading {
    Whole,
    More,
    Closed,
}

/// Reads what is there, until `bytes` has `many`; never more.
pub fn read_up_to(fd: &Fd, bytes: &mut Vec<u8>, many: usize) -> Reading {
    while bytes.len() < many {
        let filled = bytes.len();
        bytes.resize(many, 0);
        let (room, flags) = (&mut bytes[filled..], libc::MSG_DONTWAIT as usize);
        // SAFETY: the room is as long as said.
        let got = unsafe { sys::recvfrom(fd.number(), room.as_mut_ptr() as usize, room.len(), flags, 0, 0) };
        bytes.truncate(filled + usize::try_from(got).unwrap_or(0));
        match sys::error(got) {
            None if got > 0 => {}
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => return Reading::More,
            _ => return Reading::Closed,
        }
    }
    Reading::Whole
}

/// The next connection that waits at `listener`. Whoever reads from it patiently waits [`PATIENCE_MS`] at most.
pub fn accept(listener: &Fd) -> Option<Fd> {
    // SAFETY: no address is asked for.
    let fd = Fd::new(unsafe { sys::accept4(listener.number(), 0, 0, libc::SOCK_CLOEXEC as usize) }).ok()?;
    let time = libc::timeval { tv_sec: 0, tv_usec: PATIENCE_MS * 1000 };
    put_any(&fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &time);
    Some(fd)
}

/// Waits for `fds`; returns whether anything happened.
pub fn poll(fds: &mut [pollfd], timeout_ms: i32) -> Result<bool> {
    // SAFETY: the slice is as long as said.
    let wait = || unsafe { sys::poll(fds.as_mut_ptr() as usize, fds.len(), timeout_ms as isize as usize) };
    let result = parked::standing(wait);
    match sys::error(result) {
        None => Ok(result > 0),
        Some(libc::EINTR | libc::EAGAIN) => Ok(false),
        Some(errno) => Err(Error::System { what: "wait for messages", errno }),
    }
}

/// A frame on its way: its length, its head, its contents.
pub struct Frame<'a> {
    length: [u8; 4],
    head: &'a [u8],
    contents: &'a [u8],
}

impl<'a> Frame<'a> {
    pub fn new(head: &'a [u8], contents: &'a [u8]) -> Frame<'a> {
        Frame { length: ((head.len() + contents.len()) as u32).to_le_bytes(), head, contents }
    }

    /// Bytes of all of it.
    pub fn whole(&self) -> usize {
        self.length.len() + self.head.len() + self.contents.len()
    }

    /// What comes behind so many bytes.
    fn behind(&self, mut sent: usize) -> [&[u8]; 3] {
        [&self.length[..], self.head, self.contents].map(|piece| {
            let skipped = sent.min(piece.len());
            sent -= skipped;
            &piece[skipped..]
        })
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

    /// Offers a frame, of which so many bytes are sent already; how many are sent now. None while others wait before it.
    pub fn offer(&self, frame: &Frame<'_>, sent: usize) -> std::result::Result<usize, Broken> {
        if self.queue.is_empty() { Ok(sent + offer(&self.fd, frame.behind(sent))?) } else { Ok(sent) }
    }

    /// The rest of a frame, of which so many bytes are sent, waits.
    pub fn queue(&mut self, frame: &Frame<'_>, sent: usize) {
        frame.behind(sent).into_iter().for_each(|piece| self.queue.extend(piece));
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

    /// Whether the other end has closed the connection. Nothing is ever sent on it in that direction.
    pub fn is_closed(&self) -> bool {
        let mut byte = [0u8; 1];
        let flags = (libc::MSG_DONTWAIT | libc::MSG_PEEK) as usize;
        // SAFETY: one byte of room.
        let got = unsafe { sys::recvfrom(self.fd.number(), byte.as_mut_ptr() as usize, 1, flags, 0, 0) };
        !matches!(sys::error(got), Some(libc::EAGAIN | libc::EINTR))
    }
}

/// Fewer bytes are put together, which costs less than to tell the kernel where each piece is.
const SMALL: usize = 512;

/// Offers bytes to the kernel; how many it took.
pub fn offer(fd: &Fd, pieces: [&[u8]; 3]) -> std::result::Result<usize, Broken> {
    let flags = (libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) as usize;
    let many = pieces.iter().map(|piece| piece.len()).sum();
    if many <= SMALL {
        let (mut together, mut end) = ([0u8; SMALL], 0);
        for piece in pieces {
            together[end..end + piece.len()].copy_from_slice(piece);
            end += piece.len();
        }
        // SAFETY: as many bytes as said.
        return taken(|| unsafe { sys::sendto(fd.number(), together.as_ptr() as usize, many, flags, 0, 0) });
    }
    let mut vectors = pieces.map(|piece| iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() });
    // SAFETY: a message of plain pieces; all zero is valid for the rest.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = vectors.len();
    // SAFETY: the message and its pieces live as long as the call.
    taken(|| unsafe { sys::sendmsg(fd.number(), &raw const message as usize, flags) })
}

/// How many bytes the kernel takes when it is asked so.
fn taken(ask: impl Fn() -> isize) -> std::result::Result<usize, Broken> {
    loop {
        let sent = ask();
        match sys::error(sent) {
            None => return Ok(sent as usize),
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => return Ok(0),
            Some(_) => return Err(Broken),
        }
    }
}

/// The receiving half of a connection: bytes, cut into frames.
#[derive(Debug)]
pub struct Incoming {
    pub fd: Fd,
    cutter: Cutter,
}

/// Receives what is there into the rooms; the kernel's answer.
fn receive(fd: &Fd, rooms: Rooms<'_>, patient: bool) -> isize {
    let flags = if patient { 0 } else { libc::MSG_DONTWAIT as usize };
    if let [room, []] = rooms {
        // SAFETY: the room is as long as said.
        return unsafe { sys::recvfrom(fd.number(), room.as_mut_ptr() as usize, room.len(), flags, 0, 0) };
    }
    let mut rooms = rooms.map(|room| iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() });
    // SAFETY: a message of plain pieces; all zero is valid for the rest.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (rooms.as_mut_ptr(), rooms.len());
    // SAFETY: the message and its rooms live as long as the call.
    unsafe { sys::recvmsg(fd.number(), &raw mut message as usize, flags) }
}

/// How reading ended.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    Open,
    /// Nothing was there.
    Silent,
    /// The other end has closed it, or has sent something that is no frame.
    Closed,
}

impl Incoming {
    pub fn new(fd: Fd) -> Incoming {
        Incoming { fd, cutter: Cutter::default() }
    }

    /// Reads what is there and gives what is whole to `sink`; about so much at most. Waits for it first if it is `patient`.
    pub fn read(&mut self, most: usize, mut patient: bool, sink: &mut dyn FnMut(Piece)) -> State {
        let mut left = most;
        loop {
            let rooms = self.cutter.rooms();
            let asked: usize = rooms.iter().map(|room| room.len()).sum();
            let got = receive(&self.fd, rooms, patient);
            match sys::error(got) {
                None if got > 0 => {
                    patient = false;
                    // SAFETY: the kernel has put so many bytes into the rooms.
                    if unsafe { self.cutter.filled(got as usize, sink) }.is_err() {
                        return State::Closed;
                    }
                    left = left.saturating_sub(got as usize);
                    if (got as usize) < asked || left == 0 {
                        return State::Open;
                    }
                }
                Some(libc::EAGAIN) if left == most => return State::Silent,
                Some(libc::EAGAIN) => return State::Open,
                // A timer that is faster than our patience would have us wait for ever.
                Some(libc::EINTR) if patient => return State::Silent,
                Some(libc::EINTR) => {}
                _ => return State::Closed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Head, Hello, Kind};
    use std::io::Write;
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;

    /// Whoever reads gets its messages however much is behind them, and what is behind them later.
    #[test]
    fn a_turn_ends_though_more_is_there() {
        let (mut there, here) = UnixStream::pair().unwrap();
        let hello = Hello { name: "me".into(), host: "here".into(), life: 1, number: 1 }.bytes();
        let frame = |head: &[u8], contents: &[u8]| {
            [&((head.len() + contents.len()) as u32).to_le_bytes(), head, contents].concat()
        };
        there.write_all(&frame(&hello, &[])).unwrap();
        for seq in 1..=10 {
            let head = Head { kind: Kind::Send, seq, id: seq, stamped: false }.bytes();
            there.write_all(&frame(&head, &[7; 10_000])).unwrap();
        }
        let mut incoming = Incoming::new(Fd::new(here.into_raw_fd() as isize).unwrap());
        let mut turns = Vec::new();
        while turns.iter().sum::<usize>() < 11 {
            let mut pieces = 0;
            assert_eq!(incoming.read(20_000, false, &mut |_| pieces += 1), State::Open);
            turns.push(pieces);
        }
        assert!(turns.len() > 2 && turns.iter().all(|pieces| (1..10).contains(pieces)), "{turns:?}");
        drop(there);
        assert_eq!(incoming.read(20_000, false, &mut |_| panic!("nothing is left")), State::Closed);
    }
}
