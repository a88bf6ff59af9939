//! What a program's standard streams are: a terminal, a pipe, a file. Programs ask, and go another way.

use crate::facts::{Stdin, Stream, Text};
use crate::launch;
use std::fs;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

pub const TERMINAL: &str = "terminal";
pub const PIPE: &str = "pipe";
pub const SOCKET: &str = "socket";
pub const FILE: &str = "file";
pub const NULL: &str = "null";
const CLOSED: &str = "closed";
const OTHER: &str = "other";

/// What the descriptor is, in one word.
pub fn kind_of(fd: RawFd) -> &'static str {
    if (0..3).contains(&fd) && launch::was_closed(fd) {
        return CLOSED;
    }
    // SAFETY: only asks.
    if unsafe { libc::isatty(fd) } == 1 {
        return TERMINAL;
    }
    let Ok(data) = fs::metadata(place(fd)) else { return OTHER };
    match data.file_type() {
        kind if kind.is_fifo() => PIPE,
        kind if kind.is_socket() => SOCKET,
        _ if path(fd) == Path::new("/dev/null") => NULL,
        kind if kind.is_file() => FILE,
        _ => OTHER,
    }
}

fn place(fd: RawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{fd}"))
}

fn path(fd: RawFd) -> PathBuf {
    fs::read_link(place(fd)).unwrap_or_default()
}

/// Whether both lead to the same place.
pub fn are_same(one: RawFd, other: RawFd) -> bool {
    let which = |fd| fs::metadata(place(fd)).ok().map(|data| (data.dev(), data.ino()));
    which(one).is_some() && which(one) == which(other)
}

/// What the program will find as its standard input.
pub fn input() -> Stdin {
    let kind = kind_of(0);
    if kind != FILE {
        return Stdin { kind: kind.into(), ..Stdin::default() };
    }
    // SAFETY: only asks.
    let offset = unsafe { libc::lseek(0, 0, libc::SEEK_CUR) }.max(0) as u64;
    Stdin { kind: kind.into(), path: Some(Text::new(path(0).as_os_str())), offset }
}

/// What it will find there as an output.
pub fn output(fd: RawFd) -> Stream {
    let kind = kind_of(fd);
    let mut size: libc::winsize = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the structure is ours.
    let has_size = kind == TERMINAL && unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &raw mut size) } == 0;
    Stream { kind: kind.into(), size: has_size.then_some((size.ws_row, size.ws_col)) }
}

/// A standard stream of this process.
pub fn own(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the runtime opens those that were closed; nobody here closes them.
    unsafe { BorrowedFd::borrow_raw(fd) }
}
