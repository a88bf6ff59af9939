//! Standard streams of the kinds that a program had when it was recorded, though now there are others: recorded at a terminal
//! and replayed into a pipe, or by CI and then at a desk. Programs and their libraries ask what they write to, and go another
//! way. So the program gets such a stream as it had, and what comes through is passed on.

use crate::facts::Facts;
use crate::replay::unnamed_file;
use crate::status::{Context, Result};
use crate::streams::{self, FILE, NULL, PIPE, SOCKET, TERMINAL};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;

/// The streams that stand in for the program's; `None` where it gets what is there.
#[derive(Default)]
pub struct Relay {
    ends: [Option<Arc<OwnedFd>>; 3],
    passers: Vec<Passer>,
}

/// Passes on what comes through.
struct Passer {
    from: From,
    to: File,
}

enum From {
    /// A pipe, a socket or a terminal.
    Stream(File),
    /// A file, as it grows.
    File(File),
}

/// Between two looks whether more has come.
const LOOK_MS: i32 = 20;
/// When the program has ended, what it has left behind may write for so long without a pause.
const PAUSE_MS: i32 = 200;

impl Relay {
    /// Pipes, such as a launcher or a daemon gives what it starts; to `to`, or to this process's own outputs.
    pub fn pipes(to: Option<[&File; 2]>) -> Result<Relay> {
        let mut relay = Relay::default();
        for (at, target) in targets(to).into_iter().enumerate() {
            relay.add(at + 1, PIPE, None, target).because(words)?;
        }
        Ok(relay)
    }

    /// What the program had, where that is of another kind now. `input` is what it would read from.
    pub fn new(facts: &Facts, input: RawFd, to: Option<[&File; 2]>) -> Result<Relay> {
        let mut relay = Relay::default();
        relay.add_nothing_like(&facts.stdin.kind, streams::kind_of(input)).because(words)?;
        let targets = targets(to);
        for (at, (recorded, target)) in facts.outputs.iter().zip(targets).enumerate() {
            let now = streams::kind_of(target.as_raw_fd());
            let first = relay.ends[1].clone();
            if recorded.kind == now {
                continue;
            }
            match first {
                Some(first) if at > 0 && facts.outputs[0] == *recorded && same(targets) => {
                    relay.ends[at + 1] = Some(first)
                }
                _ => relay.add(at + 1, &recorded.kind, recorded.size, target).because(words)?,
            }
        }
        Ok(relay)
    }

    fn add(&mut self, at: usize, kind: &str, size: Option<(u16, u16)>, to: BorrowedFd<'_>) -> io::Result<()> {
        let (end, from) = match kind {
            PIPE => {
                let (from, end) = io::pipe()?;
                (end.into(), From::Stream(OwnedFd::from(from).into()))
            }
            SOCKET => {
                let (from, end) = UnixStream::pair()?;
                (end.into(), From::Stream(OwnedFd::from(from).into()))
            }
            TERMINAL => {
                let (from, end) = terminal(size)?;
                (end, From::Stream(from.into()))
            }
            FILE | NULL => {
                let file = unnamed_file()?;
                (file.try_clone()?.into(), From::File(file))
            }
            _ => return Ok(()),
        };
        self.ends[at] = Some(Arc::new(end));
        self.passers.push(Passer { from, to: to.try_clone_to_owned()?.into() });
        Ok(())
    }

    /// An input of that kind from which nothing comes, where nothing comes now.
    fn add_nothing_like(&mut self, recorded: &str, now: &str) -> io::Result<()> {
        /// Control-D, as a terminal takes it.
        const END: [u8; 1] = [4];
        let end: OwnedFd = match (recorded, now) {
            (PIPE, NULL | TERMINAL) => io::pipe()?.0.into(),
            (SOCKET, NULL | TERMINAL) => UnixStream::pair()?.0.into(),
            (TERMINAL, NULL) => {
                let (other, end) = terminal(None)?;
                let mut other = File::from(other);
                other.write_all(&END)?;
                // Its other side must stay open.
                self.passers.push(Passer { from: From::Stream(other), to: File::create("/dev/null")? });
                end
            }
            _ => return Ok(()),
        };
        self.ends[0] = Some(Arc::new(end));
        Ok(())
    }

    /// Puts the streams in the place of those of the program.
    pub fn stand_in(&self, streams: &mut [Option<RawFd>; 3]) {
        for (stream, end) in streams.iter_mut().zip(&self.ends) {
            *stream = end.as_ref().map(|end| end.as_raw_fd()).or(*stream);
        }
    }

    /// Passes on from here on.
    pub fn start(self) -> Running {
        let is_over = Arc::new(AtomicBool::new(false));
        let start = |passer: Passer| {
            let is_over = is_over.clone();
            std::thread::spawn(move || passer.pass(&is_over))
        };
        let passers = self.passers.into_iter().map(start).collect();
        Running { ends: self.ends, passers, is_over }
    }

    /// The same by a process of its own, which is nobody's child: this one is to become the program.
    pub fn leave_behind(self) {
        let Relay { ends, passers } = self;
        if !passers.is_empty() {
            // SAFETY: this process has one thread; the child of the child only passes on until the program ends, and the child ends.
            unsafe {
                let program = libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) as RawFd;
                let child = libc::fork();
                if child == 0 {
                    if libc::fork() == 0 {
                        // What a terminal sends to the program is not for it.
                        libc::setsid();
                        drop(ends);
                        let running = Relay { passers, ..Relay::default() }.start();
                        let mut ended = libc::pollfd { fd: program, events: libc::POLLIN, revents: 0 };
                        while libc::poll(&raw mut ended, 1, -1) < 0 {}
                        running.finish();
                    }
                    libc::_exit(0);
                }
                libc::waitpid(child, std::ptr::null_mut(), 0);
                libc::close(program);
            }
        }
        // They are closed when this process has become the program, which has copies.
        std::mem::forget(ends);
    }
}

fn words() -> String {
    "cannot make the program's streams what they were".into()
}

fn targets(to: Option<[&File; 2]>) -> [BorrowedFd<'_>; 2] {
    to.map_or([streams::own(1), streams::own(2)], |files| files.map(File::as_fd))
}

fn same([one, other]: [BorrowedFd<'_>; 2]) -> bool {
    streams::are_same(one.as_raw_fd(), other.as_raw_fd())
}

/// Both sides of a terminal of that many rows and columns, which gives on what is written as it is.
fn terminal(size: Option<(u16, u16)>) -> io::Result<(OwnedFd, OwnedFd)> {
    let (rows, columns) = size.unwrap_or((24, 80));
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut from, mut end) = (0, 0);
    // SAFETY: the results are ours; the descriptors are fresh.
    unsafe {
        let none = std::ptr::null_mut();
        if libc::openpty(&raw mut from, &raw mut end, none, std::ptr::null(), &raw const size) != 0 {
            return Err(io::Error::last_os_error());
        }
        for fd in [from, end] {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        let mut settings: libc::termios = std::mem::zeroed();
        libc::tcgetattr(end, &raw mut settings);
        settings.c_oflag &= !libc::OPOST;
        settings.c_lflag &= !libc::ECHO;
        libc::tcsetattr(end, libc::TCSANOW, &raw const settings);
        Ok((OwnedFd::from_raw_fd(from), OwnedFd::from_raw_fd(end)))
    }
}

impl Passer {
    fn pass(self, is_over: &AtomicBool) {
        // Who does not take it any more is told by the program's own writes failing.
        let _ = match self.from {
            From::Stream(from) => pass_stream(from, self.to, is_over),
            From::File(from) => pass_file(&from, self.to, is_over),
        };
    }
}

fn pass_stream(mut from: File, mut to: File, is_over: &AtomicBool) -> io::Result<()> {
    let mut room = vec![0; 64 << 10];
    loop {
        let wait = if is_over.load(SeqCst) { PAUSE_MS } else { LOOK_MS };
        let mut asked = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, ours.
        match unsafe { libc::poll(&raw mut asked, 1, wait) } {
            0 if wait == PAUSE_MS => return Ok(()),
            // Nothing has come, or a signal has.
            ..=0 => continue,
            _ => {}
        }
        // A terminal whose other side is closed fails.
        match from.read(&mut room)? {
            0 => return Ok(()),
            length => to.write_all(&room[..length])?,
        }
    }
}

fn pass_file(from: &File, mut to: File, is_over: &AtomicBool) -> io::Result<()> {
    let (mut room, mut at) = (vec![0; 64 << 10], 0);
    loop {
        let was_over = is_over.load(SeqCst);
        match from.read_at(&mut room, at)? {
            0 if was_over => return Ok(()),
            0 => std::thread::park_timeout(std::time::Duration::from_millis(LOOK_MS as u64)),
            length => {
                to.write_all(&room[..length])?;
                give_back(from, at, length);
                at += length as u64;
            }
        }
    }
}

/// What has been passed on needs no room on the disk any more, where the file system can do that.
fn give_back(file: &File, at: u64, length: usize) {
    let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the descriptor is open; a failure changes nothing.
    unsafe { libc::fallocate(file.as_raw_fd(), how, at as libc::off_t, length as libc::off_t) };
}

/// A relay at work.
pub struct Running {
    ends: [Option<Arc<OwnedFd>>; 3],
    passers: Vec<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl Running {
    /// The program has ended: everything has been passed on when this returns.
    pub fn finish(self) {
        drop(self.ends);
        self.is_over.store(true, SeqCst);
        for passer in self.passers {
            passer.thread().unpark();
            let _ = passer.join();
        }
    }
}
