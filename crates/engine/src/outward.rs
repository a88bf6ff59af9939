//! Calls that wait for the outside: for a file, a socket, another process.
//!
//! They are no events, since a program that was changed a little may make one more or less. What came of those that could have
//! come out otherwise is told beside the events ([`crate::came`]), and a replay makes them until they come out so again; the
//! bytes themselves are not on the tape. A signal may be handled inside of one, or end it, and so may a cancellation: then it
//! is told which one it was, by how many had returned since the last event, and whether it had already got what it waited for. In
//! a replay such a call runs the handler and is not made if it was ended; every other one is made, and goes on if a signal that
//! is not the tape's comes into it.

use crate::came::Told;
use crate::held;
use crate::pids;
use crate::process;
use crate::serial;
use crate::signals;
use crate::sys;
use crate::thread::{Outward, Thread};
use crate::turn::{self, CANCELLED};
use core::mem::MaybeUninit;
use retake_tape::entry::{Entry, INSIDE, Signal};
use retake_tape::op::Op;
use retake_tape::varint::{SLACK, get, put};

/// A call that waits for the outside, as whoever catches it knows it.
pub trait Call {
    /// Its sort, if it is kept what comes of it: see [`sort`](retake_tape::entry::sort).
    const SORT: Option<u8>;

    /// Makes it: what it returns, or a negative reason.
    fn make(&mut self) -> i64;

    /// Whether it will wait, as far as can be told.
    fn waits(&self) -> bool {
        true
    }

    /// Recording: whether a replay must know the answer; what it must know besides is put into `found`.
    fn tell(&self, _answer: i64, _found: &mut Found) -> bool {
        false
    }

    /// Replay: makes it so that it comes out as it did. What it has got before a signal came into it is not lost.
    fn again(&mut self, _told: &Told) -> i64 {
        self.make()
    }
}

/// Room for what a call found: numbers, one behind the other. Not filled with anything beforehand, which would take longer than
/// most calls' notes.
pub struct Found {
    room: [MaybeUninit<u8>; Found::ROOM + SLACK],
    length: usize,
    is_full: bool,
}

impl Found {
    const ROOM: usize = 768;

    fn new() -> Found {
        Found { room: [const { MaybeUninit::uninit() }; Found::ROOM + SLACK], length: 0, is_full: false }
    }

    /// Puts a number behind the others. If there is no room, nothing is told but the answer.
    pub fn push(&mut self, number: u64) {
        self.is_full |= self.length >= Found::ROOM;
        if !self.is_full {
            // SAFETY: there is room for any number.
            let end = unsafe { put(self.room.as_mut_ptr().add(self.length).cast(), number) };
            self.length = end as usize - self.room.as_ptr() as usize;
        }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: so many are written.
        let all = unsafe { core::slice::from_raw_parts(self.room.as_ptr().cast(), self.length) };
        if self.is_full { &[] } else { all }
    }
}

/// The numbers that were put there.
pub fn numbers(mut found: &[u8]) -> impl Iterator<Item = u64> {
    core::iter::from_fn(move || {
        let (number, length) = get(found)?;
        found = &found[length..];
        Some(number)
    })
}

/// A call of which it is not kept what comes of it.
pub struct Unkept<F: FnMut() -> i64>(pub F);

impl<F: FnMut() -> i64> Call for Unkept<F> {
    const SORT: Option<u8> = None;

    fn make(&mut self) -> i64 {
        (self.0)()
    }
}

/// The answer of a call that a handler has ended.
pub const ENDED: i64 = -(libc::EINTR as i64);
/// The answer of one that would have to wait.
pub const IN_VAIN: i64 = -(libc::EAGAIN as i64);

/// Makes the call. `mask` is what is blocked inside of it, if it says so.
pub fn call<C: Call>(mask: Option<u64>, call: &mut C) -> i64 {
    let Some(thread) = turn::enter().filter(|thread| !thread.lends) else { return call.make() };
    serial::point();
    let _away = serial::away(|| call.waits());
    if turn::recording() {
        let answer = turn::outward(|| with_places(thread, call), || turn::record_cancelled(Op::Outward));
        match turn::enter() {
            Some(thread) if answer != ENDED => thread.rests().outward += 1,
            // A child that borrows its parent's memory leaves no trace there.
            Some(thread) if sys::getpid_now() == process::get().pid => ended(thread),
            _ => {}
        }
        return answer;
    }
    // What was blocked inside of the call was handled at its end, or had come just before it.
    let was_ended = loop {
        let before = thread.count();
        let was_ended =
            signals::with_mask(mask, || thread.runs_inside(false)) || mask.is_some() && thread.runs_inside(false);
        if was_ended || mask.is_none() || thread.count() == before {
            break was_ended;
        }
    };
    if was_ended && let Some(step) = thread.step(Op::Outward) {
        if step.result == CANCELLED {
            turn::cancelled_here(thread, Op::Outward, 0);
        }
        thread.happened();
        return ENDED;
    }
    let told = C::SORT.map_or(Told::Nothing, |sort| thread.told_of(sort));
    loop {
        let (answer, is_early) = real(thread, || call.again(&told));
        if answer != ENDED {
            thread.runs_inside(true);
            thread.rests().outward += 1;
            return answer;
        }
        if is_early && thread.is_ended_next() {
            thread.step(Op::Outward);
            thread.happened();
            return ENDED;
        }
    }
}

/// Replay: makes the call. Output of a child that came in other pieces was read by other calls: if this one waits for more, and
/// the child has ended whose signal was handled in a later one, then that is handled in this one. Whether it was.
fn real<R>(thread: &mut Thread, call: impl FnOnce() -> R) -> (R, bool) {
    let has_come = thread.ended_child().is_some();
    let outer = core::mem::replace(&mut thread.outward, Outward { is_real: true, ..Outward::default() });
    let result = turn::undisturbed(|| if has_come { held::interrupted(thread, libc::SIGCHLD, call) } else { call() });
    (result, core::mem::replace(&mut thread.outward, outer).is_early)
}

/// Recording: handlers that wait for a place run before the call or behind it, so that it is known which.
fn with_places<C: Call>(thread: &mut Thread, call: &mut C) -> i64 {
    let now = Outward { handlers: thread.handlers, ..Outward::default() };
    let before = core::mem::replace(&mut thread.outward, now);
    held::let_in(thread);
    let answer = call.make();
    thread.outward.is_done = answer != ENDED;
    if let Some(sort) = C::SORT
        && answer != ENDED
    {
        keep(thread, sort, call, answer);
    }
    held::let_in(thread);
    thread.outward = before;
    answer
}

/// Recording: what came of the call, if that could have been something else.
fn keep<C: Call>(thread: &mut Thread, sort: u8, call: &C, answer: i64) {
    let mut found = Found::new();
    if call.tell(answer, &mut found) {
        thread.begin();
        thread.came(sort, answer, found.bytes());
        thread.finish();
    }
    thread.rests().calls[usize::from(sort)] += 1;
}

/// Makes a call that gives something to the outside: it is no place for handlers.
pub fn give<C: Call>(call: &mut C) -> i64 {
    let (Some(sort), Some(thread)) = (C::SORT, turn::enter().filter(|thread| !thread.lends)) else {
        return call.make();
    };
    let _away = serial::away(|| call.waits());
    if turn::recording() {
        let answer = call.make();
        keep(thread, sort, call, answer);
        return answer;
    }
    let told = thread.told_of(sort);
    call.again(&told)
}

/// Recording: a handler has ended the call.
fn ended(thread: &mut Thread) {
    thread.begin();
    thread.came_inside(false);
    thread.result(Op::Outward, i64::from(libc::EINTR));
    thread.happen();
    thread.finish();
}

impl Thread {
    /// Recording: what is noted next came inside of the call that is under way.
    pub fn came_inside(&mut self, is_behind: bool) {
        let many = self.rests().outward;
        self.note_outward(many, is_behind);
    }

    /// Recording: whether what runs is that call, and not a handler that came into it.
    pub fn is_just_outward(&self) -> bool {
        self.is_outward() && self.handlers == self.outward.handlers
    }

    /// Replay: the signal of a child that has ended, if it was handled in a call that waits for the outside, and that has not
    /// come yet.
    fn ended_child(&mut self) -> Option<Signal> {
        let outward = self.rests().outward;
        match (self.reader.next, self.reader.peek()) {
            (Some((at, Entry::Outward { many, is_behind })), Some(Entry::Signal(signal)))
                if at <= self.count() + 1 && !self.live && (many > outward || is_behind) =>
            {
                (i32::from(signal.number & !INSIDE) == libc::SIGCHLD
                    && pids::present(signal.pid).is_some_and(pids::has_ended))
                .then_some(signal)
            }
            _ => None,
        }
    }

    /// Replay: signal `number` has come into the real call, which waits for something. The one that is to be handled now, if it
    /// is that of a child.
    pub fn take_early(&mut self, number: u8) -> Option<Signal> {
        if !self.outward.is_real || i32::from(number) != libc::SIGCHLD {
            return None;
        }
        let signal = self.ended_child()?;
        self.reader.advance();
        self.reader.advance();
        self.set_stops();
        self.outward.is_early = true;
        Some(Signal { number, ..signal })
    }

    /// Replay: whether the next event is that a call was ended.
    fn is_ended_next(&self) -> bool {
        let is_outward = matches!(self.reader.next, Some((at, Entry::Outward { .. })) if at == self.count() + 1);
        is_outward && self.reader.peek_result().is_some_and(|(op, _)| op == Op::Outward as u8)
    }

    /// Replay: the handlers run that ran inside of the call that comes now, or behind what it waited for. Whether it was ended
    /// by one of them, or by a cancellation.
    fn runs_inside(&mut self, is_behind: bool) -> bool {
        self.begin();
        let mut is_here = false;
        while let Some((at, entry)) = self.reader.next {
            if at > self.count() + 1 || self.live {
                break;
            }
            match entry {
                Entry::Slept(many) if u64::from(self.rests().sleeps) >= many => self.reader.advance(),
                Entry::Outward { many, is_behind: it_was } if it_was == is_behind && self.rests().outward >= many => {
                    is_here = true;
                    self.reader.advance();
                }
                // One that did not come inside had come before.
                Entry::Signal(signal) if is_here || signal.number & INSIDE == 0 && self.releases >= signal.releases => {
                    is_here = false;
                    signals::wait_for(&signal);
                    self.reader.advance();
                    signals::deliver(self, signal);
                }
                _ => break,
            }
        }
        let is_ended = is_here && self.next_is(Op::Outward);
        self.set_stops();
        self.finish();
        is_ended
    }
}
