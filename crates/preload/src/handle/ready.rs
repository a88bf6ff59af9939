//! Looking which descriptors are ready: in a replay those that were are waited for, and no others are told. If none was, it is
//! not waited for the end of the time.

use crate::handle::figures;
use crate::handle::outward::{answer, kept, kept_with};
use crate::handle::time;
use crate::table::outward::real;
use core::cell::UnsafeCell;
use core::slice::from_raw_parts_mut;
use libc::{POLLIN, POLLOUT, POLLPRI, c_int, epoll_event, fd_set, nfds_t, pollfd, sigset_t, size_t, timespec, timeval};
use retake_engine::came::Told;
use retake_engine::descriptors::{self, Patience, Pause, Waited};
use retake_engine::lock::Lock;
use retake_engine::outward::{Call, ENDED, Found, numbers};
use retake_engine::process::{self, mode};
use retake_engine::{sys, thread};
use retake_tape::entry::{Came, sort};

const MS: i64 = 1_000_000;

/// How long the caller waits at most; a negative number is for ever.
fn of_timespec(time: *const timespec) -> i64 {
    // SAFETY: the program's variable, if there is one.
    unsafe { time.as_ref() }.map_or(-1, |time| time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec))
}

fn of_timeval(time: *const timeval) -> i64 {
    // SAFETY: as above.
    unsafe { time.as_ref() }
        .map_or(-1, |time| time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_usec * 1000))
}

/// `poll` and its relatives.
struct Poll<F: FnMut() -> c_int> {
    at: *mut pollfd,
    many: usize,
    ns: i64,
    make: F,
}

/// The program's list.
fn list<'a, T>(at: *mut T, many: usize) -> &'a mut [T] {
    // SAFETY: it has so many, and lives as long as the call.
    if at.is_null() || many == 0 { &mut [] } else { unsafe { from_raw_parts_mut(at, many) } }
}

impl<F: FnMut() -> c_int> Call for Poll<F> {
    const SORT: Option<u8> = Some(sort::READY);

    fn make(&mut self) -> i64 {
        answer((self.make)())
    }

    /// The place of each that is ready, and what it is ready for.
    fn tell(&self, answer: i64, found: &mut Found) -> bool {
        if answer > 0 {
            for (place, one) in list(self.at, self.many).iter().enumerate().filter(|(_, one)| one.revents != 0) {
                found.push(place as u64);
                found.push(one.revents as u16 as u64);
            }
        }
        answer >= 0
    }

    fn again(&mut self, told: &Told) -> i64 {
        let Some(came) = whole(told) else { return self.make() };
        let all = list(self.at, self.many);
        let ready = || pairs(came.found).filter(|(place, _)| *place < self.many as u64);
        for (place, found) in ready() {
            let one = &all[place as usize];
            if descriptors::wait(one.fd, one.events, found as i16, Patience::Endless) == Waited::Ended {
                return ENDED;
            }
        }
        all.iter_mut().for_each(|one| one.revents = 0);
        for (place, found) in ready() {
            all[place as usize].revents = found as i16;
        }
        in_vain(came.answer, self.ns);
        ready().count() as i64
    }
}

/// What is told, unless there were too many to be told.
fn whole(told: &Told) -> Option<&Came<'static>> {
    match told {
        Told::So(came) if came.answer == 0 || !came.found.is_empty() => Some(came),
        _ => None,
    }
}

/// The numbers two by two.
fn pairs(found: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let mut all = numbers(found);
    core::iter::from_fn(move || Some((all.next()?, all.next()?)))
}

/// Who looked in vain for so long lets others run.
fn in_vain(answer: i64, ns: i64) {
    if answer == 0
        && let Some(thread) = thread::current()
    {
        time::looked_in_vain(thread, ns);
    }
}

fn poll_by(at: *mut pollfd, many: nfds_t, ms: c_int, make: impl FnMut() -> c_int) -> c_int {
    kept(Poll { at, many: many as usize, ns: i64::from(ms) * MS, make }) as c_int
}

pub unsafe fn poll(at: *mut pollfd, many: nfds_t, ms: c_int) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    poll_by(at, many, ms, || unsafe { real::poll(at, many, ms) })
}

pub unsafe fn poll_chk(at: *mut pollfd, many: nfds_t, ms: c_int, room: size_t) -> c_int {
    // SAFETY: as above.
    poll_by(at, many, ms, || unsafe { real::__poll_chk(at, many, ms, room) })
}

pub unsafe fn ppoll(at: *mut pollfd, many: nfds_t, time: *const timespec, blocked: *const sigset_t) -> c_int {
    // SAFETY: as above.
    let make = || unsafe { real::ppoll(at, many, time, blocked) };
    // SAFETY: as above.
    unsafe { kept_with(blocked, Poll { at, many: many as usize, ns: of_timespec(time), make }) as c_int }
}

pub unsafe fn ppoll_chk(
    at: *mut pollfd,
    many: nfds_t,
    time: *const timespec,
    blocked: *const sigset_t,
    room: size_t,
) -> c_int {
    // SAFETY: as above.
    let make = || unsafe { real::__ppoll_chk(at, many, time, blocked, room) };
    // SAFETY: as above.
    unsafe { kept_with(blocked, Poll { at, many: many as usize, ns: of_timespec(time), make }) as c_int }
}

/// `select` and its relatives.
struct Select<F: FnMut() -> c_int> {
    many: usize,
    sets: [*mut fd_set; 3],
    ns: i64,
    make: F,
}

/// What each set asks for.
const ASKS: [i16; 3] = [POLLIN, POLLOUT, POLLPRI];

impl<F: FnMut() -> c_int> Select<F> {
    /// The words of a set that count.
    fn words<'a>(&self, set: usize) -> &'a mut [u64] {
        list(self.sets[set].cast(), self.many.div_ceil(64))
    }
}

impl<F: FnMut() -> c_int> Call for Select<F> {
    const SORT: Option<u8> = Some(sort::READY);

    fn make(&mut self) -> i64 {
        answer((self.make)())
    }

    /// Each descriptor that is ready, and in which set.
    fn tell(&self, answer: i64, found: &mut Found) -> bool {
        for set in (0..3).filter(|_| answer > 0) {
            for (at, word) in self.words(set).iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    found.push((at as u64 * 64 + u64::from(left.trailing_zeros())) << 2 | set as u64);
                    left &= left - 1;
                }
            }
        }
        answer >= 0
    }

    fn again(&mut self, told: &Told) -> i64 {
        let Some(came) = whole(told) else { return self.make() };
        let ready = || {
            let all = numbers(came.found).map(|number| ((number >> 2) as usize, number as usize & 3));
            all.filter(|(fd, set)| *set < 3 && fd / 64 < self.words(*set).len())
        };
        for (fd, set) in ready() {
            if descriptors::wait(fd as c_int, ASKS[set], 0, Patience::Endless) == Waited::Ended {
                return ENDED;
            }
        }
        (0..3).for_each(|set| self.words(set).fill(0));
        for (fd, set) in ready() {
            self.words(set)[fd / 64] |= 1 << (fd % 64);
        }
        in_vain(came.answer, self.ns);
        ready().count() as i64
    }
}

/// How much of the time is left is written there.
pub unsafe fn select(
    many: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    // SAFETY: as above.
    let make = || unsafe { real::select(many, read, write, except, time) };
    let (sets, ns) = ([read, write, except], of_timeval(time));
    let result = kept(Select { many: many.max(0) as usize, sets, ns, make });
    // SAFETY: as above.
    unsafe { figures::keep(time) };
    result as c_int
}

pub unsafe fn pselect(
    many: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    blocked: *const sigset_t,
) -> c_int {
    // SAFETY: as above.
    let make = || unsafe { real::pselect(many, read, write, except, time, blocked) };
    let (sets, ns) = ([read, write, except], of_timespec(time));
    // SAFETY: as above.
    unsafe { kept_with(blocked, Select { many: many.max(0) as usize, sets, ns, make }) as c_int }
}

/// `epoll_wait` and its relatives.
struct Epoll<F: FnMut() -> c_int> {
    set: c_int,
    to: *mut epoll_event,
    room: usize,
    ns: i64,
    make: F,
    /// So many were found again.
    done: usize,
}

impl<F: FnMut() -> c_int> Call for Epoll<F> {
    const SORT: Option<u8> = Some(sort::READY);

    fn make(&mut self) -> i64 {
        answer((self.make)())
    }

    /// What the program calls each that is ready, and what it is ready for.
    fn tell(&self, answer: i64, found: &mut Found) -> bool {
        for at in 0..usize::try_from(answer).unwrap_or(0) {
            // SAFETY: the kernel has filled so many.
            let event = unsafe { self.to.add(at).read_unaligned() };
            found.push(event.u64);
            found.push(event.events.into());
        }
        answer >= 0
    }

    /// The kernel is asked for the descriptors themselves: it tells of a change only once, and here several may be one.
    fn again(&mut self, told: &Told) -> i64 {
        let Some(came) = whole(told) else { return self.make() };
        for (name, events) in pairs(came.found).take(self.room).skip(self.done) {
            match MEMBERS.wait(self.set, name, events as u32) {
                Waited::Ready => {}
                Waited::Ended => return ENDED,
                Waited::InVain if self.done > 0 => return self.done as i64,
                Waited::InVain => return self.make(),
            }
            // SAFETY: the program's room.
            unsafe { self.to.add(self.done).write_unaligned(epoll_event { events: events as u32, u64: name }) };
            self.done += 1;
        }
        in_vain(came.answer, self.ns);
        self.done as i64
    }
}

/// What is in sets of descriptors (replay).
struct Members {
    lock: Lock,
    all: UnsafeCell<[Member; Members::MANY]>,
}

/// A descriptor in a set, and what the program calls it there.
#[derive(Clone, Copy, PartialEq)]
struct Member {
    set: c_int,
    fd: c_int,
    name: u64,
}

const NOBODY: Member = Member { set: -1, fd: -1, name: 0 };

// SAFETY: used under the lock.
unsafe impl Sync for Members {}

static MEMBERS: Members = Members { lock: Lock::new(), all: UnsafeCell::new([NOBODY; Members::MANY]) };

impl Members {
    const MANY: usize = 2048;

    /// No handler comes in between, who might look, too.
    fn with<R>(&self, body: impl FnOnce(&mut [Member; Members::MANY]) -> R) -> R {
        let mut thread = thread::current();
        if let Some(thread) = &mut thread {
            thread.begin();
        }
        // SAFETY: one at a time.
        let result = self.lock.with(|| body(unsafe { &mut *self.all.get() }));
        if let Some(thread) = thread {
            thread.finish();
        }
        result
    }

    /// The descriptor is called so in the set, or is no longer in it.
    fn put(&self, set: c_int, fd: c_int, name: Option<u64>) {
        self.with(|all| {
            let same = all.iter().position(|member| (member.set, member.fd) == (set, fd));
            let free = || all.iter().position(|member| *member == NOBODY);
            if let Some(at) = same.or_else(free) {
                all[at] = name.map_or(NOBODY, |name| Member { set, fd, name });
            }
        });
    }

    /// The first behind `from` that is called so in the set.
    fn next(&self, from: usize, set: c_int, name: u64) -> Option<(usize, c_int)> {
        self.with(|all| {
            let at = (from..all.len()).find(|at| (all[*at].set, all[*at].name) == (set, name))?;
            Some((at, all[at].fd))
        })
    }

    /// Waits until one that is called so is ready for `events`. In vain if nobody is.
    fn wait(&self, set: c_int, name: u64, events: u32) -> Waited {
        let wanted = (events & EVENTS) as i16;
        let mut pause = Pause::new(Patience::Endless);
        let Some(first) = self.next(0, set, name) else { return Waited::InVain };
        if self.next(first.0 + 1, set, name).is_none() {
            // What the program has closed may be open elsewhere, and so in the set, and cannot be asked.
            return match descriptors::wait(first.1, wanted, wanted, Patience::Endless) {
                Waited::Ended => Waited::Ended,
                _ => Waited::Ready,
            };
        }
        loop {
            let mut at = 0;
            while let Some((place, fd)) = self.next(at, set, name) {
                let mut one = pollfd { fd, events: wanted, revents: 0 };
                // SAFETY: a structure of ours.
                let answer = unsafe { sys::poll(&raw mut one as usize, 1, 0) };
                if answer > 0 && (one.revents & wanted == wanted || one.revents & libc::POLLNVAL != 0) {
                    return Waited::Ready;
                }
                at = place + 1;
            }
            pause.goes_on(true);
        }
    }
}

/// What `poll` calls the same.
const EVENTS: u32 = (POLLIN | POLLOUT | POLLPRI | libc::POLLERR | libc::POLLHUP | libc::POLLRDHUP) as u32;

pub unsafe fn epoll_ctl(set: c_int, how: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    // SAFETY: the program's arguments.
    let result = unsafe { real::epoll_ctl(set, how, fd, event) };
    if result == 0 && process::mode() == mode::REPLAY {
        // SAFETY: as above; the kernel has read it.
        let name = if how == libc::EPOLL_CTL_DEL { None } else { Some(unsafe { event.read_unaligned().u64 }) };
        MEMBERS.put(set, fd, name);
    }
    result
}

/// In a forked child nobody looks.
pub fn reset() {
    MEMBERS.lock.reset();
}

pub unsafe fn epoll_wait(set: c_int, to: *mut epoll_event, many: c_int, ms: c_int) -> c_int {
    // SAFETY: as above.
    let make = || unsafe { real::epoll_wait(set, to, many, ms) };
    kept(Epoll { set, to, room: many.max(0) as usize, ns: i64::from(ms) * MS, make, done: 0 }) as c_int
}

pub unsafe fn epoll_pwait(set: c_int, to: *mut epoll_event, many: c_int, ms: c_int, blocked: *const sigset_t) -> c_int {
    // SAFETY: as above.
    let make = || unsafe { real::epoll_pwait(set, to, many, ms, blocked) };
    let call = Epoll { set, to, room: many.max(0) as usize, ns: i64::from(ms) * MS, make, done: 0 };
    // SAFETY: as above.
    unsafe { kept_with(blocked, call) as c_int }
}

pub unsafe fn epoll_pwait2(
    set: c_int,
    to: *mut epoll_event,
    many: c_int,
    time: *const timespec,
    blocked: *const sigset_t,
) -> c_int {
    // SAFETY: as above.
    let make = || unsafe { real::epoll_pwait2(set, to, many, time, blocked) };
    let call = Epoll { set, to, room: many.max(0) as usize, ns: of_timespec(time), make, done: 0 };
    // SAFETY: as above.
    unsafe { kept_with(blocked, call) as c_int }
}
