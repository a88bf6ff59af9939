//! The bytes between us and a nats-server: plain, or through TLS from the moment when the server has said who it is.
//!
//! One thread reads, any thread writes. Law: what is sealed goes out in the order of its sealing, so both happen under one
//! lock; reading never waits for it.

use super::tls::Tls;
use crate::carrier::Papers;
use crate::error::words;
use crate::waiting::now;
use crate::wire::{self, Fd};
use libc::{POLLIN, POLLOUT, pollfd};
use retake_engine::sys;
use std::sync::{Mutex, MutexGuard};

/// How long hands may be shaken, and how long a server may take nothing.
const TIME_NS: i64 = 5_000_000_000;
/// So much is read at once.
const BUFFER: usize = 64 << 10;

#[derive(Debug)]
pub struct Pipe {
    fd: Fd,
    /// Held while something is sealed and written.
    writing: Mutex<()>,
    tls: Option<Mutex<Tls>>,
}

/// What was read last, by whoever reads.
#[derive(Debug)]
pub struct Room {
    raw: Vec<u8>,
    plain: Vec<u8>,
    /// So much is read at once.
    most: usize,
}

impl Room {
    /// Byte by byte: what comes behind a line may be no line, but the beginning of TLS.
    pub fn narrow() -> Room {
        Room { raw: vec![0; 1], plain: Vec::new(), most: 1 }
    }

    pub fn wide() -> Room {
        Room { raw: vec![0; BUFFER], plain: Vec::new(), most: BUFFER }
    }
}

fn of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Pipe {
    pub fn new(fd: Fd) -> Pipe {
        wire::keep_alive(&fd);
        Pipe { fd, writing: Mutex::default(), tls: None }
    }

    /// From here on, through TLS; the server must prove to be `host`.
    pub fn shake(&mut self, host: &str, papers: &Papers) -> Result<(), String> {
        self.tls = Some(Mutex::new(Tls::shake(self.fd.0, host, papers, now() + TIME_NS)?));
        Ok(())
    }

    /// Waits for bytes, so long at most; none if nothing has come. The error says why nothing more will.
    pub fn read<'a>(&self, room: &'a mut Room, timeout_ms: i32) -> Result<&'a [u8], String> {
        let mut polled = [pollfd { fd: self.fd.0, events: POLLIN, revents: 0 }];
        let _ = wire::poll(&mut polled, timeout_ms);
        // SAFETY: the room is as long as said.
        let got = unsafe { sys::read(self.fd.0 as usize, room.raw.as_mut_ptr() as usize, room.most) };
        let many = match sys::error(got) {
            None if got == 0 => return Err("it hung up".into()),
            None => got as usize,
            Some(libc::EAGAIN | libc::EINTR) => return Ok(&[]),
            Some(errno) => return Err(words(errno)),
        };
        let Some(tls) = &self.tls else { return Ok(&room.raw[..many]) };
        room.plain.clear();
        let answers = of(tls).open(&room.raw[..many], &mut room.plain)?;
        if answers {
            self.write([b"", b"", b""])?;
        }
        Ok(&room.plain)
    }

    /// Writes, waiting for a server that takes nothing for a while, and not for one that never does. That a server has hung up
    /// is told by reading, behind its last words, which say why.
    pub fn write(&self, pieces: [&[u8]; 3]) -> Result<(), String> {
        let _writing = of(&self.writing);
        let sealed = self.tls.as_ref().map(|tls| of(tls).seal(&pieces)).transpose()?;
        let mut left = sealed.as_ref().map_or(pieces, |sealed| [sealed, b"", b""]);
        while left.iter().any(|piece| !piece.is_empty()) {
            let Ok(mut taken) = wire::offer(&self.fd, left) else {
                self.close();
                return Ok(());
            };
            if taken == 0 {
                let mut polled = [pollfd { fd: self.fd.0, events: POLLOUT, revents: 0 }];
                if !wire::poll(&mut polled, wire::left_ms(now() + TIME_NS)).unwrap_or(false) {
                    return Err("it takes nothing any more".into());
                }
            }
            for piece in &mut left {
                let many = taken.min(piece.len());
                *piece = &piece[many..];
                taken -= many;
            }
        }
        Ok(())
    }

    /// Hangs up; whoever reads sees the end.
    pub fn close(&self) {
        // SAFETY: a plain call on a descriptor of ours.
        unsafe { sys::shutdown(self.fd.0 as usize, libc::SHUT_RDWR as usize) };
    }
}
