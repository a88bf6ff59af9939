//! Writing to pipes and sockets: in a replay a call takes as many bytes as it took, though there may be more room by then, or not
//! yet enough. Only who does not wait for room is given less than everything.

use crate::handle::outward::{answer_long, returned};
use crate::table::stream::real;
use core::slice::from_raw_parts;
use libc::{POLLOUT, c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use retake_engine::came::Told;
use retake_engine::descriptors::{self, Patience};
use retake_engine::outward::{self, Call, Found, IN_VAIN};
use retake_engine::sys;
use retake_tape::entry::sort;

/// A call that gives bytes to a descriptor.
struct Writing<L: Fn() -> usize, W: FnMut() -> ssize_t, P: FnMut(usize, usize) -> i64> {
    fd: c_int,
    /// How many bytes it gives; asked for only when the kernel has seen that they lie somewhere.
    length: L,
    whole: W,
    /// Writes so many bytes at most, behind the first ones.
    piece: P,
    /// So many were taken.
    done: usize,
}

impl<L: Fn() -> usize, W: FnMut() -> ssize_t, P: FnMut(usize, usize) -> i64> Call for Writing<L, W, P> {
    const SORT: Option<u8> = Some(sort::WRITE);

    fn make(&mut self) -> i64 {
        answer_long((self.whole)())
    }

    fn waits(&self) -> bool {
        !descriptors::is_ready(self.fd, POLLOUT)
    }

    fn tell(&self, answer: i64, _: &mut Found) -> bool {
        answer == IN_VAIN || answer >= 0 && answer != (self.length)() as i64
    }

    fn again(&mut self, told: &Told) -> i64 {
        let wanted = match told {
            Told::Nothing => return self.make(),
            Told::So(came) if came.answer == IN_VAIN => return IN_VAIN,
            Told::So(came) => usize::try_from(came.answer).unwrap_or(0).min((self.length)()),
            Told::Plain => (self.length)(),
        };
        let length = (self.length)();
        loop {
            let answer = match self.done {
                0 if wanted == length => self.make(),
                done => (self.piece)(done, wanted - done),
            };
            match answer {
                // A handler that comes meanwhile is not the program's concern: it did not wait here.
                IN_VAIN => _ = descriptors::wait(self.fd, POLLOUT, 0, Patience::Endless),
                reason @ ..=0 => return if self.done > 0 { self.done as i64 } else { reason },
                many => self.done += many as usize,
            }
            if self.done >= wanted {
                return self.done as i64;
            }
        }
    }
}

fn by(
    fd: c_int,
    length: impl Fn() -> usize,
    whole: impl FnMut() -> ssize_t,
    piece: impl FnMut(usize, usize) -> i64,
) -> ssize_t {
    returned(outward::give(&mut Writing { fd, length, whole, piece, done: 0 })) as ssize_t
}

pub unsafe fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: the program's arguments; so for the others.
    by(
        fd,
        || length,
        || unsafe { real::write(fd, from, length) },
        |done, length| unsafe { sys::write(fd as usize, from as usize + done, length) as i64 },
    )
}

/// The first of the parts that has not been written, with how many bytes of it have.
unsafe fn part_at(parts: *const iovec, many: c_int, mut done: usize) -> Option<(usize, usize)> {
    // SAFETY: the program's list.
    for part in unsafe { from_raw_parts(parts, many as usize) } {
        if done < part.iov_len {
            return Some((part.iov_base as usize + done, part.iov_len - done));
        }
        done -= part.iov_len;
    }
    None
}

pub unsafe fn writev(fd: c_int, parts: *const iovec, many: c_int) -> ssize_t {
    // SAFETY: as above.
    let whole = || unsafe { real::writev(fd, parts, many) };
    if parts.is_null() || many <= 0 {
        return whole();
    }
    // SAFETY: as above.
    let length = || unsafe { from_raw_parts(parts, many as usize) }.iter().map(|part| part.iov_len).sum();
    // SAFETY: as above.
    by(fd, length, whole, |done, length| match unsafe { part_at(parts, many, done) } {
        // SAFETY: as above.
        Some((from, left)) => unsafe { sys::write(fd as usize, from, left.min(length)) as i64 },
        None => 0,
    })
}

pub unsafe fn send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t {
    // SAFETY: as above.
    by(
        fd,
        || length,
        || unsafe { real::send(fd, from, length, flags) },
        |done, length| unsafe { sys::sendto(fd as usize, from as usize + done, length, flags as usize, 0, 0) as i64 },
    )
}

pub unsafe fn sendto(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    flags: c_int,
    to: *const sockaddr,
    name: socklen_t,
) -> ssize_t {
    // SAFETY: as above.
    by(
        fd,
        || length,
        || unsafe { real::sendto(fd, from, length, flags, to, name) },
        |done, length| unsafe {
            sys::sendto(fd as usize, from as usize + done, length, flags as usize, to as usize, name as usize) as i64
        },
    )
}

/// What goes with the bytes goes with the first of them.
pub unsafe fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: as above.
    let whole = || unsafe { real::sendmsg(fd, message, flags) };
    // SAFETY: as above.
    let parts = || unsafe { from_raw_parts((*message).msg_iov, (*message).msg_iovlen) };
    let length = || parts().iter().map(|part| part.iov_len).sum();
    // SAFETY: as above.
    by(fd, length, whole, |done, length| match unsafe { part_at(parts().as_ptr(), parts().len() as c_int, done) } {
        Some((from, left)) => {
            let mut part = iovec { iov_base: from as *mut c_void, iov_len: left.min(length) };
            // SAFETY: as above; the copy has a part of ours.
            unsafe {
                let mut first = *message;
                (first.msg_iov, first.msg_iovlen) = (&raw mut part, 1);
                if done > 0 {
                    (first.msg_control, first.msg_controllen) = (core::ptr::null_mut(), 0);
                }
                sys::sendmsg(fd as usize, &raw const first as usize, flags as usize) as i64
            }
        }
        None => 0,
    })
}
