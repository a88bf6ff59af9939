//! Making and taking connections: in a replay one that came is waited for, and one that did not come is not tried.

use crate::handle::input;
use crate::handle::outward::{answer, kept};
use crate::table::input::real;
use libc::{ECONNREFUSED, EINPROGRESS, EISCONN, ENOENT, POLLIN, POLLOUT, c_int, pollfd, sockaddr, socklen_t};
use retake_engine::came::Told;
use retake_engine::descriptors::{self, Patience, Pause, Waited};
use retake_engine::outward::{Call, ENDED, Found, IN_VAIN, numbers};
use retake_engine::{places, sys, turn};
use retake_tape::entry::sort;

const fn reason(errno: c_int) -> i64 {
    -(errno as i64)
}

struct Accept<F: FnMut() -> c_int>(c_int, F);

impl<F: FnMut() -> c_int> Call for Accept<F> {
    const SORT: Option<u8> = Some(sort::ACCEPT);

    fn make(&mut self) -> i64 {
        answer((self.1)())
    }

    fn tell(&self, answer: i64, _: &mut Found) -> bool {
        answer < 0
    }

    fn again(&mut self, told: &Told) -> i64 {
        match told {
            Told::So(came) if came.answer == IN_VAIN => return IN_VAIN,
            Told::Plain => {}
            _ => return self.make(),
        }
        loop {
            match self.make() {
                IN_VAIN if descriptors::wait(self.0, POLLIN, 0, Patience::Endless) == Waited::Ended => return ENDED,
                IN_VAIN => {}
                answer => return answer,
            }
        }
    }
}

pub unsafe fn accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    input::noted_accept(kept(Accept(fd, || unsafe { real::accept(fd, from, length) })) as c_int)
}

pub unsafe fn accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    // SAFETY: as above.
    input::noted_accept(kept(Accept(fd, || unsafe { real::accept4(fd, from, length, flags) })) as c_int)
}

struct Connect<F: FnMut() -> c_int> {
    fd: c_int,
    call: F,
    /// The address, if processes of this machine meet there.
    place: Option<u64>,
}

const IN_PROGRESS: i64 = reason(EINPROGRESS);
const REFUSED: i64 = reason(ECONNREFUSED);

/// How it stands with a connection that is not waited for. On one machine that is known at once.
#[derive(Clone, Copy, PartialEq)]
enum Stands {
    Open = 0,
    Made = 1,
    Failed = 2,
}

fn stands(fd: c_int) -> Stands {
    let mut one = pollfd { fd, events: POLLOUT, revents: 0 };
    // SAFETY: a structure of ours.
    unsafe { sys::poll(&raw mut one as usize, 1, 0) };
    match one.revents {
        0 => Stands::Open,
        POLLOUT => Stands::Made,
        _ => Stands::Failed,
    }
}

impl<F: FnMut() -> c_int> Call for Connect<F> {
    const SORT: Option<u8> = Some(sort::CONNECT);

    /// Who connects first is accepted first.
    fn make(&mut self) -> i64 {
        let fd = self.fd;
        let mut call = || answer((self.call)());
        match (turn::enter(), self.place) {
            (Some(thread), Some(key)) if turn::recording() => places::record(thread, key, call, |answer| {
                *answer == 0 || *answer == IN_PROGRESS && stands(fd) == Stands::Made
            }),
            _ => call(),
        }
    }

    fn tell(&self, answer: i64, found: &mut Found) -> bool {
        if answer == IN_PROGRESS && self.place.is_some() {
            found.push(stands(self.fd) as u64);
        }
        answer < 0
    }

    fn again(&mut self, told: &Told) -> i64 {
        let wanted = match told {
            Told::Nothing => return self.make(),
            Told::Plain => 0,
            Told::So(came) if came.answer != IN_PROGRESS => return came.answer,
            Told::So(came) if numbers(came.found).next() == Some(Stands::Failed as u64) => return REFUSED,
            Told::So(_) => IN_PROGRESS,
        };
        let answer = match (turn::enter(), self.place) {
            (Some(thread), Some(key)) => places::replay(thread, key, || self.until_made()),
            _ => self.until_made(),
        };
        if answer == 0 { wanted } else { answer }
    }
}

impl<F: FnMut() -> c_int> Connect<F> {
    /// Whoever listens may not do so yet.
    fn until_made(&mut self) -> i64 {
        const NOT_THERE: i64 = reason(ENOENT);
        const CONNECTED: i64 = reason(EISCONN);
        let mut pause = Pause::new(Patience::Limited);
        let mut is_first = true;
        loop {
            match answer((self.call)()) {
                IN_PROGRESS if self.has_failed() && pause.goes_on(true) => {}
                REFUSED | NOT_THERE | IN_VAIN if pause.goes_on(true) => {}
                CONNECTED if !is_first => return 0,
                answer => return answer,
            }
            is_first = false;
        }
    }

    /// Whether one that is not waited for has failed by now. The next call says so, and the one behind it tries again.
    fn has_failed(&self) -> bool {
        self.place.is_some() && stands(self.fd) == Stands::Failed
    }
}

/// What names the address among those at which processes of this machine meet.
unsafe fn place_of(to: *const sockaddr, length: socklen_t) -> Option<u64> {
    const LOOPBACK: u8 = 127;
    // SAFETY: the program's address, which is as long as it says.
    unsafe {
        // The kernel copies it, who may find that it lies nowhere.
        let mut room = [0u8; size_of::<libc::sockaddr_storage>()];
        let wanted = (length as usize).min(room.len());
        let here = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: wanted };
        let there = libc::iovec { iov_base: to.cast_mut().cast(), iov_len: wanted };
        let (pid, here, there) = (sys::getpid() as usize, &raw const here as usize, &raw const there as usize);
        if sys::process_vm_readv(pid, here, 1, there, 1, 0) != wanted as isize {
            return None;
        }
        let bytes = &room[..wanted];
        let hash = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
        };
        match c_int::from(u16::from_ne_bytes([room[0], room[1]])) {
            libc::AF_INET if bytes.get(4) == Some(&LOOPBACK) || bytes.get(4..8) == Some(&[0; 4]) => {
                Some(hash(&bytes[2..4]))
            }
            libc::AF_INET6 if bytes.get(8..23) == Some(&[0; 15]) => Some(hash(&bytes[2..4])),
            libc::AF_UNIX => Some(hash(bytes)),
            _ => None,
        }
    }
}

pub unsafe fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: as above.
    let place = if to.is_null() || length < 2 { None } else { unsafe { place_of(to, length) } };
    // SAFETY: as above.
    let call = || unsafe { real::connect(fd, to, length) };
    let result = kept(Connect { fd, call, place });
    input::note_connection();
    result as c_int
}
