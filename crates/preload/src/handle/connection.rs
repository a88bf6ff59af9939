//! Making and taking connections: in a replay one that came is waited for, and one that did not come is not tried.

use crate::handle::input;
use crate::handle::outward::{answer, kept};
use crate::table::input::real;
use libc::{EAGAIN, ECONNREFUSED, EINPROGRESS, EINTR, EISCONN, ENOENT, POLLIN, c_int, sockaddr, socklen_t};
use retake_engine::came::Told;
use retake_engine::descriptors::{self, Patience, Pause, Waited};
use retake_engine::outward::{Call, Found};
use retake_tape::entry::sort;

const fn reason(errno: c_int) -> i64 {
    -(errno as i64)
}

const IN_VAIN: i64 = reason(EAGAIN);
const ENDED: i64 = reason(EINTR);

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

struct Connect<F: FnMut() -> c_int>(F);

impl<F: FnMut() -> c_int> Call for Connect<F> {
    const SORT: Option<u8> = Some(sort::CONNECT);

    fn make(&mut self) -> i64 {
        answer((self.0)())
    }

    fn tell(&self, answer: i64, _: &mut Found) -> bool {
        answer < 0
    }

    /// Whoever listens may not do so yet.
    fn again(&mut self, told: &Told) -> i64 {
        const REFUSED: i64 = reason(ECONNREFUSED);
        const NOT_THERE: i64 = reason(ENOENT);
        const CONNECTED: i64 = reason(EISCONN);
        match told {
            Told::Plain => {}
            Told::So(came) if came.answer != reason(EINPROGRESS) => return came.answer,
            _ => return self.make(),
        }
        let mut pause = Pause::new(Patience::Limited);
        let mut is_first = true;
        loop {
            match self.make() {
                REFUSED | NOT_THERE | IN_VAIN if pause.goes_on(true) => {}
                CONNECTED if !is_first => return 0,
                answer => return answer,
            }
            is_first = false;
        }
    }
}

pub unsafe fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: as above.
    let result = kept(Connect(|| unsafe { real::connect(fd, to, length) }));
    input::note_connection();
    result as c_int
}
