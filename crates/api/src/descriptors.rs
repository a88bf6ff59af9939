//! The descriptors of a copy of this process: what it must not hold while it sleeps, and how it gets files of its own when
//! it is woken.
//!
//! A pipe, a socket or a terminal that stays open keeps others waiting for its end; so all of these are nothing in a copy.
//! Files share their position with the process that was copied: they are opened anew, where they stood.
//!
//! Law: direct system calls only; the shim, if it is there, still records.

use libc::{c_int, stat};
use retake_engine::sys;
use std::ffi::{CStr, CString};

const HERE: usize = libc::AT_FDCWD as usize;
/// Descriptors 0, 1 and 2: whoever wakes a copy gives it these.
pub const STREAMS: c_int = 3;

/// A regular file as it stood.
pub struct Stood {
    fd: c_int,
    flags: c_int,
    offset: usize,
}

/// Opens a file; it is not open in what this process executes.
pub fn open(path: &CStr, flags: c_int) -> Result<c_int, c_int> {
    // SAFETY: a C string.
    let fd = unsafe { sys::openat(HERE, path.as_ptr() as usize, (flags | libc::O_CLOEXEC) as usize, 0o600) };
    sys::error(fd).map_or(Ok(beside_streams(fd as c_int)), Err)
}

/// Two sockets that are connected: whoever has one sees the end of the other, and can be written to without a signal.
pub fn pair() -> Result<[c_int; 2], c_int> {
    let mut ends = [-1; 2];
    let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as usize;
    // SAFETY: room for two.
    let made = unsafe { sys::socketpair(libc::AF_UNIX as usize, kind, 0, ends.as_mut_ptr() as usize) };
    sys::error(made).map_or(Ok(ends.map(beside_streams)), Err)
}

/// Writes to a socket, whether or not anybody is there.
pub fn send(socket: c_int, bytes: &[u8]) {
    let mut piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: a message of one piece; all zero is valid for the rest.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
        sys::sendmsg(socket as usize, &raw const message as usize, libc::MSG_NOSIGNAL as usize);
    }
}

/// The same descriptor, if it is none of those that a copy is given when it is woken; else another one.
fn beside_streams(fd: c_int) -> c_int {
    if fd >= STREAMS {
        return fd;
    }
    // SAFETY: a descriptor of ours.
    let other = unsafe { sys::fcntl(fd as usize, libc::F_DUPFD_CLOEXEC as usize, STREAMS as usize) } as c_int;
    close(fd);
    other
}

pub fn close(fd: c_int) {
    // SAFETY: the caller's descriptor.
    unsafe { sys::close(fd as usize) };
}

/// What the kernel tells of an open file.
pub fn told(fd: c_int) -> Option<stat> {
    // SAFETY: room for the answer.
    unsafe {
        let mut data: stat = std::mem::zeroed();
        (sys::fstat(fd as usize, &raw mut data as usize) == 0).then_some(data)
    }
}

/// What the kernel tells of the file of this name; `None` if it is not there.
pub fn told_of(path: &CStr) -> Option<stat> {
    // SAFETY: a C string, and room for the answer.
    unsafe {
        let mut data: stat = std::mem::zeroed();
        let asked = sys::newfstatat(HERE, path.as_ptr() as usize, &raw mut data as usize, 0);
        (asked == 0).then_some(data)
    }
}

/// All of a file, from its start.
pub fn read_all(fd: c_int) -> Vec<u8> {
    let (mut bytes, mut room) = (Vec::new(), vec![0u8; 64 << 10]);
    loop {
        // SAFETY: the room is as long as said.
        let got = unsafe { sys::pread(fd as usize, room.as_mut_ptr() as usize, room.len(), bytes.len()) };
        match usize::try_from(got) {
            Ok(0) => return bytes,
            Ok(many) => bytes.extend(&room[..many]),
            Err(_) if sys::error(got) == Some(libc::EINTR) => {}
            Err(_) => return bytes,
        }
    }
}

/// A file that the kernel makes up as it is read, such as those in `/proc`.
pub fn read_made_up(path: &CStr) -> Vec<u8> {
    let Ok(fd) = open(path, libc::O_RDONLY) else { return Vec::new() };
    let (mut bytes, mut room) = (Vec::new(), vec![0u8; 64 << 10]);
    loop {
        // SAFETY: the room is as long as said.
        let got = unsafe { sys::read(fd as usize, room.as_mut_ptr() as usize, room.len()) };
        match usize::try_from(got) {
            Ok(many) if many > 0 => bytes.extend(&room[..many]),
            _ if sys::error(got) == Some(libc::EINTR) => {}
            _ => break,
        }
    }
    close(fd);
    bytes
}

/// Where an open file or directory lies.
pub fn path_of(fd: c_int) -> Vec<u8> {
    let link = name_of(fd);
    let mut room = vec![0u8; libc::PATH_MAX as usize];
    // SAFETY: a C string; the room is as long as said.
    let length = unsafe { sys::readlink(link.as_ptr() as usize, room.as_mut_ptr() as usize, room.len()) };
    room.truncate(usize::try_from(length).unwrap_or(0));
    room
}

fn name_of(fd: c_int) -> CString {
    CString::new(format!("/proc/self/fd/{fd}")).unwrap_or_default()
}

fn open_ones() -> Vec<c_int> {
    let mut found = Vec::new();
    let Ok(fd) = open(c"/proc/self/fd", libc::O_RDONLY | libc::O_DIRECTORY) else { return found };
    let mut room = [0u64; 512];
    loop {
        // SAFETY: the room is as long as said, and the kernel fills it with whole entries.
        let bytes = unsafe {
            let length = sys::getdents64(fd as usize, room.as_mut_ptr() as usize, size_of_val(&room));
            std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), usize::try_from(length).unwrap_or(0))
        };
        let mut at = 0;
        while at + 19 < bytes.len() {
            // Each entry: inode (8), offset (8), length (2), type (1), name.
            let name = bytes[at + 19..].split(|byte| *byte == 0).next().unwrap_or_default();
            found.extend(str::from_utf8(name).ok().and_then(|name| name.parse::<c_int>().ok()));
            at += usize::from(u16::from_le_bytes([bytes[at + 16], bytes[at + 17]])).max(1);
        }
        if bytes.is_empty() {
            break;
        }
    }
    close(fd);
    found.retain(|other| *other != fd);
    found
}

/// Makes nothing of all descriptors that are no files or directories, but for those to `keep`. Says how the files stood.
pub fn put_away(keep: &[c_int]) -> Vec<Stood> {
    let mut files = Vec::new();
    let Ok(nothing) = open(c"/dev/null", libc::O_RDWR) else { return files };
    for stream in (0..STREAMS).filter(|stream| told(*stream).is_none()) {
        // SAFETY: a number that is free.
        unsafe { sys::dup3(nothing as usize, stream as usize, 0) };
    }
    for fd in open_ones().into_iter().filter(|fd| *fd != nothing && !keep.contains(fd)) {
        let Some(data) = told(fd) else { continue };
        let number = fd as usize;
        // SAFETY: asks and changes descriptors of this process, which nobody uses now.
        unsafe {
            match data.st_mode & libc::S_IFMT {
                libc::S_IFREG if fd >= STREAMS => {
                    let flags = sys::fcntl(number, libc::F_GETFL as usize, 0) as c_int;
                    let offset = sys::lseek(number, 0, libc::SEEK_CUR as usize) as usize;
                    files.push(Stood { fd, flags, offset });
                }
                libc::S_IFDIR => {}
                libc::S_IFCHR if fd >= STREAMS && !is_terminal(&data) => {}
                _ => {
                    let closes = sys::fcntl(number, libc::F_GETFD as usize, 0) & libc::FD_CLOEXEC as isize != 0;
                    sys::dup3(nothing as usize, number, if closes { libc::O_CLOEXEC as usize } else { 0 });
                }
            }
        }
    }
    close(nothing);
    files
}

/// By the numbers that the kernel gives its terminals.
fn is_terminal(data: &stat) -> bool {
    matches!(libc::major(data.st_rdev), 4 | 5 | 136..=143)
}

/// Opens the files anew, each at its number and where it stood.
pub fn open_again(files: &[Stood]) {
    for file in files {
        let kept = file.flags & (libc::O_ACCMODE | libc::O_APPEND | libc::O_NONBLOCK);
        let Ok(fresh) = open(&name_of(file.fd), kept) else { continue };
        // SAFETY: descriptors of this process.
        unsafe {
            let closes = sys::fcntl(file.fd as usize, libc::F_GETFD as usize, 0) & libc::FD_CLOEXEC as isize != 0;
            sys::lseek(fresh as usize, file.offset, libc::SEEK_SET as usize);
            sys::dup3(fresh as usize, file.fd as usize, if closes { libc::O_CLOEXEC as usize } else { 0 });
        }
        close(fresh);
    }
}
