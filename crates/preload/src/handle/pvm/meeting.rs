//! What the library asks, inside a call in which members of a group meet: who has which place, who is in the group, who
//! collects on a host; and from whom the messages of the exchange came, on which sums of floating-point numbers depend.
//!
//! The answers are on the tape, as numbers in their order, and a replay gives them again instead of the group server. A member
//! that has given its share may leave before the others have asked, so that the server would tell of another group; and tasks
//! may run on other hosts than they ran, so that others would collect, and wait for those who do not send to them.

use crate::handle::pvm::{ids, take_int};
use crate::table::pvm::{Ints, real};
use core::cell::UnsafeCell;
use core::ptr::null_mut;
use libc::{c_char, c_int};
use retake_engine::{thread, turn};

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Nobody meets.
    Off,
    /// Recording.
    Noted,
    /// Replay.
    Known,
    /// Replay of a take that has only the sources of messages.
    Sources,
}

struct Answers {
    state: State,
    at: usize,
    length: usize,
    numbers: [c_int; ANSWERS],
    /// How many members were told last.
    members: usize,
}
/// Numbers of one meeting that are kept. What is asked beyond them is asked again.
const ANSWERS: usize = 4096;
/// The first number. Earlier takes have a task's id there.
const MARK: c_int = c_int::MIN;
/// No memory, as PVM says it.
const NO_MEMORY: c_int = -10;

struct Global(UnsafeCell<Answers>);
// SAFETY: the library knows no threads: its calls are made one at a time.
unsafe impl Sync for Global {}
static GLOBAL: Global =
    Global(UnsafeCell::new(Answers { state: State::Off, at: 0, length: 0, numbers: [0; ANSWERS], members: 0 }));

fn answers() -> &'static mut Answers {
    // SAFETY: see `Global`.
    unsafe { &mut *GLOBAL.0.get() }
}

/// Recording: members meet from here on.
pub fn note() {
    let answers = answers();
    (answers.state, answers.length, answers.members) = (State::Noted, 0, 0);
    answers.put(&[MARK]);
}

/// Replay: members meet from here on, and this was noted.
pub fn know(mut bytes: &[u8]) {
    let answers = answers();
    (answers.at, answers.length, answers.members) = (0, (bytes.len() / 4).min(ANSWERS), 0);
    answers.numbers[..answers.length].fill_with(|| take_int(&mut bytes));
    answers.state = if answers.take(1) == Some(&[MARK]) { State::Known } else { State::Sources };
    if answers.state == State::Sources {
        answers.at = 0;
    }
}

/// They have met; returns what was noted.
pub fn end() -> &'static [u8] {
    let answers = answers();
    answers.state = State::Off;
    // Nothing was asked.
    let length = if answers.length == 1 { 0 } else { answers.length };
    // SAFETY: numbers of ours, as bytes.
    unsafe { core::slice::from_raw_parts(answers.numbers.as_ptr().cast(), length * 4) }
}

/// How many members this task was told of when they last met.
pub fn members() -> usize {
    answers().members
}

/// Whether the library asks something that is to be answered here.
pub fn is_on() -> bool {
    matches!(answers().state, State::Noted | State::Known) && turn::is_in_library()
}

impl Answers {
    /// All of them, or none from here on.
    fn put(&mut self, numbers: &[c_int]) {
        match self.numbers.get_mut(self.length..self.length + numbers.len()) {
            Some(room) if self.state == State::Noted => {
                room.copy_from_slice(numbers);
                self.length += numbers.len();
            }
            _ => self.state = State::Off,
        }
    }

    fn take(&mut self, count: usize) -> Option<&[c_int]> {
        let taken = self.numbers[..self.length].get(self.at..self.at + count);
        match taken {
            Some(_) => self.at += count,
            None => self.state = State::Off,
        }
        taken
    }
}

/// What was answered then, in a replay; else what `ask` brings, and it is noted. Whether it was then.
fn answered<const N: usize>(ask: impl FnOnce() -> [c_int; N]) -> ([c_int; N], bool) {
    let answers = answers();
    if answers.state == State::Known
        && let Some(numbers) = answers.take(N).and_then(|numbers| <[c_int; N]>::try_from(numbers).ok())
    {
        return (numbers, true);
    }
    let numbers = ask();
    if answers.state == State::Noted {
        answers.put(&numbers);
    }
    (numbers, false)
}

/// The present id of a task, if `tid` is what it had then.
fn now(tid: c_int, then: bool) -> c_int {
    match thread::current() {
        Some(thread) if then => ids::wait_for(thread, tid),
        _ => tid,
    }
}

pub fn place(ask: impl FnOnce() -> c_int) -> c_int {
    answered(|| [ask()]).0[0]
}

pub fn task(ask: impl FnOnce() -> c_int) -> c_int {
    let ([tid], then) = answered(|| [ask()]);
    now(tid, then)
}

/// A receive from anybody: `call` is given the task to receive from, by its present id.
pub fn receive(call: impl Fn(c_int) -> c_int) -> c_int {
    let answers = answers();
    match answers.state {
        State::Noted => {
            let (buffer, mut source) = (call(-1), 0);
            // SAFETY: a variable of ours.
            unsafe { real::pvm_bufinfo(buffer, null_mut(), null_mut(), &raw mut source) };
            answers.put(&[source]);
            buffer
        }
        State::Known | State::Sources => {
            let source = answers.take(1).map(|source| source[0]);
            call(source.map_or(-1, |source| now(source, true)))
        }
        State::Off => call(-1),
    }
}

/// Who collects on a host, how many members are there, and on how many hosts there are members.
pub unsafe fn on_host(group: *mut c_char, host: c_int, first: Ints, members: Ints, hosts: Ints) -> c_int {
    // SAFETY: the library's arguments; so for the other.
    unsafe {
        let call = || real::pvm_grphostinfo(group, host, first, members, hosts);
        if !is_on() {
            return call();
        }
        let (told, then) = answered(|| [call(), *first, *members, *hosts]);
        (*first, *members, *hosts) = (now(told[1], then), told[2], told[3]);
        told[0]
    }
}

/// All members, in memory that the library frees.
pub unsafe fn all(group: *mut c_char, tag: c_int, n: Ints, list: *mut Ints, whole: c_int) -> c_int {
    // SAFETY: as above; the list is as long as it says.
    unsafe {
        let call = || real::gs_get_tidlist(group, tag, n, list, whole);
        if !is_on() {
            return call();
        }
        let ([result, count], then) = answered(|| [call(), *n]);
        let answers = answers();
        answers.members = if result >= 0 { count.max(0) as usize } else { 0 };
        if !then {
            answers.put(core::slice::from_raw_parts(*list, answers.members));
            return result;
        }
        *n = count;
        if result < 0 {
            return result;
        }
        *list = libc::malloc(answers.members.max(1) * size_of::<c_int>()).cast();
        if list.read().is_null() {
            return NO_MEMORY;
        }
        for index in 0..answers.members {
            let tid = answers.take(1).map_or(0, |tid| tid[0]);
            list.read().add(index).write(now(tid, true));
        }
        result
    }
}
