//! A copy of a participant's process: it sleeps at a checkpoint, and each time that it is woken, a copy of the copy plays
//! the tail.
//!
//! ```text
//! participant -- _Fork, twice --> copy, asleep -- _Fork, when woken --> plays the tail, and ends as it ended
//!      | leash                     | socket in the take
//!      '-- one byte: not needed    '-- wake, end
//! ```
//!
//! Law: a copy holds nothing that others wait for, writes nothing into the take, and never outlives it: it looks every
//! second whether its part is still there. Its system calls are direct; no signal reaches it but SIGKILL.

use crate::descriptors::{self, Stood, close};
use crate::forked;
use libc::{POLLIN, c_int, pollfd};
use retake_engine::sys;
use retake_tape::copy::{QUESTION_MAX, SLEEPER, answer, answer_bytes, ask};
use std::ffi::{CStr, CString};

/// How often a copy looks whether it is still of use.
const LOOK_MS: isize = 1000;

/// libc's `_Fork`: no handlers run, and the child knows its own number.
pub type Fork = unsafe extern "C" fn() -> c_int;

/// What a copy is given when it is made.
pub struct Bed {
    pub fork: Fork,
    /// The part that begins here, open for reading.
    pub part: c_int,
    /// Where that part will be.
    pub path: CString,
    /// The take.
    pub directory: CString,
    /// The copy's name in the take.
    pub socket: String,
    /// The participant holds the other end.
    pub leash: c_int,
    /// Told once the copy sleeps.
    pub ready: c_int,
}

/// What the process that plays is told.
pub struct Woken {
    /// The tail.
    pub part: Vec<u8>,
    /// The file of its session; empty if there is none.
    pub session: Vec<u8>,
}

/// Somebody for whom the tail is played.
struct Player {
    pid: c_int,
    watch: c_int,
    visitor: c_int,
}

struct Sleeper {
    bed: Bed,
    directory: c_int,
    listener: c_int,
    /// None once the participant has died.
    leash: Option<c_int>,
    retired: bool,
    /// Has connected and not said what it wants yet.
    visitor: Option<c_int>,
    player: Option<Player>,
    files: Vec<Stood>,
    mask: u64,
    name: [u8; 16],
}

/// Sleeps. Returns in processes that are to play the tail, never in the copy itself.
pub fn sleep(bed: Bed) -> Woken {
    forked::let_go();
    let Ok(directory) = descriptors::open(&bed.directory, libc::O_RDONLY | libc::O_DIRECTORY) else { end() };
    own_maps(&descriptors::path_of(directory));
    let (mut mask, all, mut name) = (0u64, u64::MAX, [0u8; 16]);
    // SAFETY: variables of ours; the name is as long as the kernel's names are.
    unsafe {
        let (new, old) = (&raw const all as usize, &raw mut mask as usize);
        sys::rt_sigprocmask(libc::SIG_SETMASK as usize, new, old, 8);
        sys::setsid();
        sys::prctl(libc::PR_GET_NAME as usize, name.as_mut_ptr() as usize, 0, 0);
        sys::prctl(libc::PR_SET_NAME as usize, SLEEPER.as_ptr() as usize, 0, 0);
    }
    let files = descriptors::put_away(&[bed.part, bed.leash, bed.ready, directory]);
    let Some(listener) = listen(directory, &bed.socket) else { end() };
    let (leash, ready) = (Some(bed.leash), bed.ready);
    descriptors::send(ready, b"r");
    close(ready);
    let (retired, visitor, player) = (false, None, None);
    Sleeper { bed, directory, listener, leash, retired, visitor, player, files, mask, name }.lie()
}

impl Sleeper {
    fn lie(mut self) -> Woken {
        loop {
            let player = self.player.as_ref().map(|player| [player.watch, player.visitor]);
            let [watch, waits_for_it] = player.map_or([-1; 2], |both| both);
            let listener = if self.retired || self.visitor.is_some() { -1 } else { self.listener };
            let (leash, visitor) = (self.leash.unwrap_or(-1), self.visitor.unwrap_or(-1));
            let mut polled =
                [listener, leash, visitor, watch, waits_for_it].map(|fd| pollfd { fd, events: POLLIN, revents: 0 });
            // SAFETY: as many as said; those below 0 are passed over.
            unsafe { sys::poll(polled.as_mut_ptr() as usize, polled.len(), LOOK_MS as usize) };
            let [listener, leash, visitor, watch, waits_for_it] = polled.map(|polled| polled.revents != 0);
            if watch {
                self.played();
            } else if waits_for_it {
                self.give_up();
            }
            if leash {
                self.pulled();
            }
            if listener {
                let flags = libc::SOCK_CLOEXEC as usize;
                // SAFETY: no address is asked for.
                let taken = unsafe { sys::accept4(self.listener as usize, 0, 0, flags) };
                self.visitor = c_int::try_from(taken).ok().filter(|fd| *fd >= 0);
            }
            if visitor && let Some(woken) = self.asked() {
                return woken;
            }
            if self.retired && self.player.is_none() || !self.is_of_use() {
                self.leave();
            }
        }
    }

    /// The participant has said that it needs this copy no more, or has died.
    fn pulled(&mut self) {
        let Some(leash) = self.leash.take() else { return };
        let mut byte = 0u8;
        // SAFETY: one byte of room.
        let got = unsafe { sys::read(leash as usize, &raw mut byte as usize, 1) };
        if got == 1 {
            self.retired = true;
            unlink(self.directory, &self.bed.socket);
        }
        // Whoever holds the other end sees it, and knows that nobody can wake this copy any more.
        close(leash);
    }

    /// Whether the take is there, and its part is the one that begins here or may still become it.
    fn is_of_use(&self) -> bool {
        let Some(there) = descriptors::told_of(&self.bed.path) else { return false };
        let same = |mine: libc::stat| (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino);
        self.leash.is_some() || self.retired || descriptors::told(self.bed.part).is_some_and(same)
    }

    /// Does what the visitor wants. The tail is played by a process of its own, in which this returns something.
    fn asked(&mut self) -> Option<Woken> {
        let visitor = self.visitor.take()?;
        let (question, streams) = question(visitor);
        match question.split_first() {
            Some((&ask::WAKE, session)) if streams.len() == 3 => {
                if let Some(player) = &self.player {
                    tell(visitor, answer::BUSY, player.pid);
                    close(visitor);
                } else if let Some(woken) = self.wake(visitor, session, &streams) {
                    return Some(woken);
                }
            }
            Some((&ask::END, _)) => self.leave(),
            _ => close(visitor),
        }
        streams.into_iter().for_each(close);
        None
    }

    fn wake(&mut self, visitor: c_int, session: &[u8], streams: &[c_int]) -> Option<Woken> {
        // SAFETY: libc's function; this process has one thread.
        let pid = unsafe { (self.bed.fork)() };
        if pid == 0 {
            return Some(self.get_up(visitor, session, streams));
        }
        // SAFETY: asks the kernel for a descriptor of a child that was not waited for.
        let watch = unsafe { sys::pidfd_open(pid as usize, 0) };
        if pid < 0 || watch < 0 {
            if pid > 0 {
                kill(pid);
            }
            tell(visitor, answer::FAILED, libc::EAGAIN);
            close(visitor);
            return None;
        }
        tell(visitor, answer::STARTED, pid);
        self.player = Some(Player { pid, watch: watch as c_int, visitor });
        None
    }

    /// In the process that plays: becomes what the copy was before it slept, with the visitor's streams.
    fn get_up(&mut self, visitor: c_int, session: &[u8], streams: &[c_int]) -> Woken {
        // SAFETY: settings and descriptors of this process.
        unsafe {
            // Whoever plays ends with the copy.
            sys::prctl(libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize, 0, 0);
            sys::prctl(libc::PR_SET_NAME as usize, self.name.as_ptr() as usize, 0, 0);
            for (stream, given) in streams.iter().enumerate() {
                sys::dup3(*given as usize, stream, 0);
                close(*given);
            }
        }
        for fd in [Some(visitor), Some(self.listener), self.leash].into_iter().flatten() {
            close(fd);
        }
        descriptors::open_again(&self.files);
        let part = descriptors::read_all(self.bed.part);
        close(self.bed.part);
        close(self.directory);
        // SAFETY: a variable of ours.
        unsafe { sys::rt_sigprocmask(libc::SIG_SETMASK as usize, &raw const self.mask as usize, 0, 8) };
        Woken { part, session: session.to_vec() }
    }

    /// Whoever played has ended.
    fn played(&mut self) {
        let Some(player) = self.player.take() else { return };
        let mut status: c_int = 0;
        // SAFETY: room for the status.
        unsafe { sys::wait4(player.pid as usize, &raw mut status as usize, 0, 0) };
        tell(player.visitor, answer::ENDED, status);
        close(player.watch);
        close(player.visitor);
    }

    /// Nobody waits any more for what is played.
    fn give_up(&mut self) {
        if let Some(player) = self.player.take() {
            kill(player.pid);
            close(player.watch);
            close(player.visitor);
        }
    }

    fn leave(&mut self) -> ! {
        self.give_up();
        unlink(self.directory, &self.bed.socket);
        end()
    }
}

fn end() -> ! {
    loop {
        // SAFETY: the process ends here.
        unsafe { sys::exit_group(0) };
    }
}

fn kill(pid: c_int) {
    // SAFETY: a child of ours that was not waited for.
    unsafe {
        sys::kill(pid as usize, libc::SIGKILL as usize);
        sys::wait4(pid as usize, 0, 0, 0);
    }
}

fn tell(visitor: c_int, what: u32, number: c_int) {
    descriptors::send(visitor, &answer_bytes(what, number));
}

/// What the visitor has said, and the descriptors that it has given.
fn question(visitor: c_int) -> (Vec<u8>, Vec<c_int>) {
    let mut bytes = vec![0u8; QUESTION_MAX];
    let mut room = [0u64; 8];
    let mut streams = Vec::new();
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: the kernel fills rooms of ours, and says how far; the macros only walk through what it has filled.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
        (message.msg_control, message.msg_controllen) = (room.as_mut_ptr().cast(), size_of_val(&room));
        let flags = (libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT) as usize;
        let got = sys::recvmsg(visitor as usize, &raw mut message as usize, flags);
        bytes.truncate(usize::try_from(got).unwrap_or(0));
        let mut at = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(head) = at.as_ref() {
            if (head.cmsg_level, head.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let many = (head.cmsg_len - libc::CMSG_LEN(0) as usize) / size_of::<c_int>();
                let first = libc::CMSG_DATA(at).cast::<c_int>();
                streams.extend((0..many).map(|index| first.add(index).read_unaligned()));
            }
            at = libc::CMSG_NXTHDR(&raw const message, at);
        }
    }
    (bytes, streams)
}

/// The address of a socket in an open directory, however deep that lies.
fn address(directory: c_int, name: &str) -> (libc::sockaddr_un, usize) {
    // SAFETY: all zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    let path = format!("/proc/self/fd/{directory}/{name}");
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from as libc::c_char;
    }
    (address, 2 + path.len() + 1)
}

fn listen(directory: c_int, name: &str) -> Option<c_int> {
    unlink(directory, name);
    let (address, length) = address(directory, name);
    let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as usize;
    // SAFETY: the address is as long as said.
    unsafe {
        let fd = sys::socket(libc::AF_UNIX as usize, kind, 0);
        let bound = fd >= 0 && sys::bind(fd as usize, &raw const address as usize, length) == 0;
        (bound && sys::listen(fd as usize, 16) == 0).then_some(fd as c_int)
    }
}

fn unlink(directory: c_int, name: &str) {
    if let Ok(name) = CString::new(name) {
        // SAFETY: a C string.
        unsafe { sys::unlinkat(directory as usize, name.as_ptr() as usize, 0) };
    }
}

/// Memory that is shared with the files of the take becomes this process's own, with what is in it now: nothing that the
/// engine or the library does here is to be seen by others.
fn own_maps(take: &[u8]) {
    const MAPS: &CStr = c"/proc/self/maps";
    for line in descriptors::read_made_up(MAPS).split(|byte| *byte == b'\n') {
        let Some((from, to)) = shared_with(line, take) else { continue };
        let length = to - from;
        let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as usize;
        // SAFETY: the range is mapped and readable; it is replaced by memory of the same length and content, and this
        // process has one thread, which uses none of it meanwhile.
        unsafe {
            let content = std::slice::from_raw_parts(from as *const u8, length).to_vec();
            if sys::error(sys::mmap(from, length, access, flags, usize::MAX, 0)).is_none() {
                std::ptr::copy_nonoverlapping(content.as_ptr(), from as *mut u8, length);
            }
        }
    }
}

/// The range of a line of `/proc/self/maps`, if it is shared memory of a file in the directory `take`.
fn shared_with(line: &[u8], take: &[u8]) -> Option<(usize, usize)> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_ascii_whitespace();
    let (range, access) = (words.next()?, words.next()?);
    let at = line.iter().position(|byte| *byte == b'/')?;
    let name = line[at..].strip_prefix(take)?.strip_prefix(b"/")?;
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let (from, to) = range.split_once('-')?;
    let fits = access.starts_with("rw") && access.ends_with('s') && !name.contains(&b'/');
    Some((number(from)?, number(to)?)).filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_maps_of_the_take_are_found() {
        let line = |text: &str| shared_with(text.as_bytes(), b"/t/a take");
        assert_eq!(line("1000-2000 rw-s 00000000 fe:00 12   /t/a take/0.tape"), Some((0x1000, 0x2000)));
        assert_eq!(line("1000-2000 rw-p 00000000 fe:00 12   /t/a take/0.tape"), None);
        assert_eq!(line("1000-2000 rw-s 00000000 fe:00 12   /t/a takes/0.tape"), None);
        assert_eq!(line("1000-2000 rw-s 00000000 fe:00 12   /t/a take/meeting/x"), None);
        assert_eq!(line("1000-2000 rw-p 00000000 00:00 0"), None);
    }
}
