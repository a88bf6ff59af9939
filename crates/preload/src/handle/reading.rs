//! Reading from files, pipes and sockets: in a replay a call brings as many bytes as it brought, though others may have come
//! by then, or not yet all of them. Which bytes is not on the tape.

use crate::handle::outward::{answer_long, kept, outward};
use crate::table::outward::real;
use core::mem::MaybeUninit;
use core::slice::from_raw_parts;
use libc::{POLLIN, c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use retake_engine::came::Told;
use retake_engine::descriptors::{self, Patience, Pause, Waited, available, is_stream};
use retake_engine::outward::{Call, ENDED, Found, IN_VAIN};
use retake_engine::{sys, thread, turn};
use retake_tape::entry::sort;

/// Some call that fills memory from a descriptor.
trait Fill {
    fn fd(&self) -> c_int;

    /// How many bytes it asks for.
    fn length(&self) -> usize;

    /// Makes it.
    fn whole(&mut self) -> i64;

    /// Reads so many bytes at most, behind the first `from`, by one call.
    fn piece(&mut self, from: usize, length: usize) -> i64;

    /// Whether what was read stays there to be read again.
    fn only_looks(&self) -> bool {
        false
    }
}

/// Such a call, and how much it has got so far.
struct Reading<F>(F, usize);

impl<F: Fill> Call for Reading<F> {
    const SORT: Option<u8> = Some(sort::READ);

    fn make(&mut self) -> i64 {
        self.0.whole()
    }

    fn waits(&self) -> bool {
        !descriptors::is_ready(self.0.fd(), POLLIN)
    }

    /// Most calls bring what they ask for.
    fn tell(&self, answer: i64, _: &mut Found) -> bool {
        answer < 0 || answer != self.0.length() as i64
    }

    fn again(&mut self, told: &Told) -> i64 {
        let Reading(fill, got) = self;
        let wanted = match told {
            Told::Nothing => return fill.whole(),
            Told::Plain => fill.length() as i64,
            Told::So(came) => came.answer,
        };
        if wanted == IN_VAIN {
            return wanted;
        }
        let wanted = usize::try_from(wanted).unwrap_or(0).min(fill.length());
        loop {
            // The end, and what is wrong, come by themselves.
            match if wanted == 0 { fill.whole() } else { fill.piece(*got, wanted - *got) } {
                IN_VAIN => match descriptors::wait(fill.fd(), POLLIN, 0, Patience::Endless) {
                    Waited::Ended => return ENDED,
                    _ => continue,
                },
                ENDED => return ENDED,
                0 => return *got as i64,
                reason @ ..0 => return if *got > 0 { *got as i64 } else { reason },
                many => *got += many as usize,
            }
            if *got >= wanted || !is_stream(fill.fd()) {
                return *got as i64;
            }
            match more_comes(fill, got) {
                Waited::Ready => {}
                Waited::Ended => return ENDED,
                Waited::InVain => return *got as i64,
            }
        }
    }
}

/// Waits for the rest. It may be less than it was: what others send may differ.
fn more_comes(fill: &impl Fill, got: &mut usize) -> Waited {
    let waited = if fill.only_looks() {
        let before = core::mem::take(got);
        let goes_on = Pause::new(Patience::Limited).goes_on(true);
        if !goes_on {
            *got = before;
        }
        if goes_on { Waited::Ready } else { Waited::InVain }
    } else {
        descriptors::wait(fill.fd(), POLLIN, 0, Patience::Limited)
    };
    if waited == Waited::InVain
        && let Some(thread) = thread::current()
    {
        thread.is_lost();
    }
    waited
}

/// A call into one piece of memory.
struct Bytes<F: FnMut(*mut c_void, usize) -> ssize_t> {
    fd: c_int,
    to: *mut c_void,
    length: usize,
    only_looks: bool,
    read: F,
}

impl<F: FnMut(*mut c_void, usize) -> ssize_t> Fill for Bytes<F> {
    fn fd(&self) -> c_int {
        self.fd
    }

    fn length(&self) -> usize {
        self.length
    }

    fn whole(&mut self) -> i64 {
        answer_long((self.read)(self.to, self.length))
    }

    fn piece(&mut self, from: usize, length: usize) -> i64 {
        answer_long((self.read)(self.to.wrapping_byte_add(from), length))
    }

    fn only_looks(&self) -> bool {
        self.only_looks
    }
}

/// Reads by `read`, into memory at `to`.
pub fn read_by(fd: c_int, to: *mut c_void, length: usize, read: impl FnMut(*mut c_void, usize) -> ssize_t) -> ssize_t {
    receive_by(fd, to, length, 0, read)
}

/// The same from a socket. What tells of other things than the bytes is not kept.
fn receive_by(
    fd: c_int,
    to: *mut c_void,
    length: usize,
    flags: c_int,
    mut read: impl FnMut(*mut c_void, usize) -> ssize_t,
) -> ssize_t {
    if flags & (libc::MSG_TRUNC | libc::MSG_ERRQUEUE | libc::MSG_OOB) != 0 {
        return outward(|| read(to, length) as i64) as ssize_t;
    }
    let only_looks = flags & libc::MSG_PEEK != 0;
    kept(Reading(Bytes { fd, to, length, only_looks, read }, 0)) as ssize_t
}

pub unsafe fn recv(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the program's arguments; so for the others.
    receive_by(fd, to, length, flags, |to, length| unsafe { real::recv(fd, to, length, flags) })
}

pub unsafe fn recv_chk(fd: c_int, to: *mut c_void, length: size_t, room: size_t, flags: c_int) -> ssize_t {
    if length > room {
        // SAFETY: as above; it does not return.
        return unsafe { real::__recv_chk(fd, to, length, room, flags) };
    }
    // SAFETY: as above.
    unsafe { recv(fd, to, length, flags) }
}

pub unsafe fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    flags: c_int,
    from: *mut sockaddr,
    name: *mut socklen_t,
) -> ssize_t {
    // SAFETY: as above.
    let room = (!name.is_null() && !turn::recording()).then(|| unsafe { *name });
    // SAFETY: as above; each call is told how much room there is.
    receive_by(fd, to, length, flags, |to, length| unsafe {
        if let Some(room) = room {
            *name = room;
        }
        real::recvfrom(fd, to, length, flags, from, name)
    })
}

pub unsafe fn recvfrom_chk(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    room: size_t,
    flags: c_int,
    from: *mut sockaddr,
    name: *mut socklen_t,
) -> ssize_t {
    if length > room {
        // SAFETY: as above; it does not return.
        return unsafe { real::__recvfrom_chk(fd, to, length, room, flags, from, name) };
    }
    // SAFETY: as above.
    unsafe { recvfrom(fd, to, length, flags, from, name) }
}

/// So many pieces of memory are looked through; who has more reads them as he likes.
const PARTS: usize = 64;

/// The sum of their lengths; what is no number of bytes is left to the kernel.
unsafe fn length_of(parts: *const iovec, many: usize) -> usize {
    if parts.is_null() || many > PARTS {
        return 0;
    }
    // SAFETY: the program's list.
    unsafe { from_raw_parts(parts, many) }.iter().fold(0, |sum: usize, part| sum.saturating_add(part.iov_len))
}

struct Parts {
    fd: c_int,
    parts: *const iovec,
    many: c_int,
}

impl Fill for Parts {
    fn fd(&self) -> c_int {
        self.fd
    }

    fn length(&self) -> usize {
        // SAFETY: the program's list.
        unsafe { length_of(self.parts, usize::try_from(self.many).unwrap_or(usize::MAX)) }
    }

    fn whole(&mut self) -> i64 {
        // SAFETY: the program's arguments.
        answer_long(unsafe { real::readv(self.fd, self.parts, self.many) })
    }

    fn piece(&mut self, from: usize, length: usize) -> i64 {
        if !is_stream(self.fd) {
            return self.whole();
        }
        let mut from = from;
        // SAFETY: the program's list, which has a length.
        for part in unsafe { from_raw_parts(self.parts, self.many as usize) } {
            if from < part.iov_len {
                let (to, length) = (part.iov_base as usize + from, length.min(part.iov_len - from));
                // SAFETY: inside of the program's memory.
                return unsafe { sys::read(self.fd as usize, to, length) } as i64;
            }
            from -= part.iov_len;
        }
        0
    }
}

pub unsafe fn readv(fd: c_int, parts: *const iovec, many: c_int) -> ssize_t {
    kept(Reading(Parts { fd, parts, many }, 0)) as ssize_t
}

/// A message, which may bring more than bytes: it is read by one call, when all of it is there.
struct Message {
    fd: c_int,
    to: *mut msghdr,
    flags: c_int,
    /// How much room there is for what comes besides.
    room: Option<(socklen_t, usize)>,
}

impl Message {
    fn length(&self) -> usize {
        // SAFETY: the program's structure.
        unsafe { self.to.as_ref() }.map_or(0, |to| unsafe { length_of(to.msg_iov, to.msg_iovlen) })
    }

    /// Makes the call for `wanted` bytes at most.
    fn make_for(&mut self, wanted: usize) -> i64 {
        let mut parts = [const { MaybeUninit::<iovec>::uninit() }; PARTS];
        // SAFETY: the program's structure, which has so many parts, and gets back what it had.
        unsafe {
            let (before, mut left) = ((*self.to).msg_iov, wanted);
            for (part, own) in from_raw_parts(before, (*self.to).msg_iovlen).iter().zip(&mut parts) {
                let length = part.iov_len.min(left);
                left -= length;
                own.write(iovec { iov_base: part.iov_base, iov_len: length });
            }
            (*self.to).msg_iov = parts.as_mut_ptr().cast();
            let answer = self.make();
            (*self.to).msg_iov = before;
            answer
        }
    }
}

impl Call for Message {
    const SORT: Option<u8> = Some(sort::READ);

    fn make(&mut self) -> i64 {
        // SAFETY: the program's arguments.
        unsafe {
            if let Some(room) = self.room {
                ((*self.to).msg_namelen, (*self.to).msg_controllen) = room;
            }
            answer_long(real::recvmsg(self.fd, self.to, self.flags))
        }
    }

    fn tell(&self, answer: i64, _: &mut Found) -> bool {
        answer < 0 || answer != self.length() as i64
    }

    fn again(&mut self, told: &Told) -> i64 {
        let length = self.length();
        let wanted = match told {
            Told::Nothing => return self.make(),
            Told::Plain => length as i64,
            Told::So(came) if came.answer == IN_VAIN => return IN_VAIN,
            Told::So(came) => came.answer,
        };
        let wanted = usize::try_from(wanted).unwrap_or(0).min(length);
        let mut pause = Pause::new(Patience::Limited);
        while wanted > 0 && is_stream(self.fd) && available(self.fd) < wanted {
            // Behind the end nothing comes.
            let hung_up = libc::POLLHUP | libc::POLLRDHUP;
            let mut one = libc::pollfd { fd: self.fd, events: libc::POLLRDHUP, revents: 0 };
            // SAFETY: a structure of ours.
            unsafe { sys::poll(&raw mut one as usize, 1, 0) };
            if one.revents & hung_up != 0 || !pause.goes_on(true) {
                break;
            }
        }
        loop {
            match if wanted > 0 && wanted < length { self.make_for(wanted) } else { self.make() } {
                IN_VAIN if descriptors::wait(self.fd, POLLIN, 0, Patience::Endless) == Waited::Ended => return ENDED,
                IN_VAIN => {}
                answer => return answer,
            }
        }
    }
}

pub unsafe fn recvmsg(fd: c_int, to: *mut msghdr, flags: c_int) -> ssize_t {
    // While recording it is made once, and the kernel may find that it lies nowhere.
    let is_again = !to.is_null() && !turn::recording();
    // SAFETY: as above.
    let room = is_again.then(|| unsafe { ((*to).msg_namelen, (*to).msg_controllen) });
    if flags & (libc::MSG_TRUNC | libc::MSG_ERRQUEUE | libc::MSG_OOB | libc::MSG_PEEK) != 0 {
        // SAFETY: as above.
        return outward(|| unsafe { real::recvmsg(fd, to, flags) } as i64) as ssize_t;
    }
    kept(Message { fd, to, flags, room }) as ssize_t
}
