//! A thread's part in an exploration: what `retake::sync` and `retake::thread` ask, for each kind of operation.
//!
//! A thread belongs to one run from its beginning to its end; all others are strangers here. When the run has ended, its
//! threads are unwound. Law: whoever is unwinding already asks in vain: what it takes it takes from the standard library,
//! and where it would have to wait for others it stays for ever, since a second panic would end the process.

use super::names;
use super::run::{Ask, Run, Seat, State};
use super::world::{At, Holder, Number, Want};
use retake_explore::of_thread;
use retake_tape::op::Op;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

#[derive(Clone)]
pub struct Part {
    pub run: Arc<Run>,
    number: Number,
    seat: Arc<Seat>,
}

/// What a thread of an ended run is unwound with.
pub struct Over;

/// How an atomic is used.
#[derive(Clone, Copy)]
pub enum Touch {
    Load,
    Change,
    /// It may change nothing.
    Try,
}

/// An operation of the library that is one to its caller, whatever it is made of.
#[derive(Clone, Copy)]
struct Call {
    what: &'static str,
    polls: bool,
    /// Its caller does not know where it stands.
    in_drop: bool,
}

thread_local! {
    static PART: RefCell<Option<Part>> = const { RefCell::new(None) };
    static CALL: Cell<Option<Call>> = const { Cell::new(None) };
    /// How often this thread has been unwound.
    static UNWOUND: Cell<u32> = const { Cell::new(0) };
}

/// So often a thread that catches what unwinds it is unwound again.
const UNWINDS: u32 = 8;

/// The calling thread's part, if it has one.
pub fn part() -> Option<Part> {
    PART.try_with(|part| part.borrow().clone()).ok().flatten()
}

/// Until this is dropped, all that the thread does is one operation: between waits nobody else goes on, and the program's
/// own code is not called. Nothing for a thread that is not explored.
pub struct Called(Option<Call>);

pub fn called(what: &'static str, polls: bool, in_drop: bool) -> Called {
    Called(CALL.replace(Some(Call { what, polls, in_drop })))
}

impl Drop for Called {
    fn drop(&mut self) {
        CALL.set(self.0);
    }
}

/// Stays for ever.
pub fn stay() -> ! {
    loop {
        std::thread::park();
    }
}

fn address(mark: &AtomicU64) -> usize {
    std::ptr::from_ref(mark) as usize
}

fn ask<'a>(op: Op, object: Option<&'a AtomicU64>, what: &'static str, at: impl Into<Option<At>>) -> Ask<'a> {
    let call = CALL.get().unwrap_or(Call { what, polls: false, in_drop: false });
    Ask {
        op,
        object,
        other: None,
        named: 0,
        want: Want::Nothing,
        until_ns: None,
        naps: false,
        polls: call.polls,
        what: call.what,
        at: at.into().filter(|_| !call.in_drop),
    }
}

impl Part {
    pub fn new(run: Arc<Run>, (number, seat): (Number, Arc<Seat>)) -> Part {
        Part { run, number, seat }
    }

    /// In a thread that was made for it: waits for its turn, runs `f`, and tells how that ended.
    pub fn run<T>(self, f: impl FnOnce() -> T) -> T {
        if !self.run.begin(self.number, &self.seat) {
            self.run.ends(self.number, None);
            resume_unwind(Box::new(Over));
        }
        PART.with(|part| *part.borrow_mut() = Some(self.clone()));
        let result = catch_unwind(AssertUnwindSafe(f));
        // What destructors of thread-local values do later is no part of the run.
        PART.with(|part| *part.borrow_mut() = None);
        let panic = result.as_ref().err().filter(|payload| !payload.is::<Over>());
        self.run.ends(self.number, panic.map(|payload| super::panics::told(&**payload)));
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    pub fn is_over(&self) -> bool {
        self.run.lock().end.is_some()
    }

    fn holder(&self, at: At) -> Holder {
        Holder { thread: self.number, at }
    }

    fn step<R>(&self, ask: Ask, then: impl FnOnce(&mut State, bool) -> R) -> Option<R> {
        let done = self.run.step(self.number, &self.seat, ask, then);
        if done.is_none() && !std::thread::panicking() {
            let times = UNWOUND.replace(UNWOUND.get() + 1);
            if times >= UNWINDS {
                stay();
            }
            resume_unwind(Box::new(Over));
        }
        done
    }

    /// What needs no turn of its own: a part of the operation that is being done.
    fn along(&self, then: impl FnOnce(&mut State)) {
        then(&mut self.run.lock());
    }

    /// False if the run has ended.
    pub fn lock(&self, mutex: &AtomicU64, what: &'static str, at: At) -> bool {
        let address = address(mutex);
        let ask = Ask { want: Want::Mutex(address), ..ask(Op::MutexLock, Some(mutex), what, at) };
        self.step(ask, |state, _| state.world.lock(address, self.holder(at))).is_some()
    }

    pub fn try_lock(&self, mutex: &AtomicU64, at: At) -> Option<bool> {
        let address = address(mutex);
        let ask = Ask { polls: true, ..ask(Op::MutexTry, Some(mutex), "try to lock mutex", at) };
        self.step(ask, |state, _| {
            let free = state.world.is_free(address);
            if free {
                state.world.lock(address, self.holder(at));
            }
            free
        })
    }

    pub fn unlock(&self, mutex: &AtomicU64) {
        let address = address(mutex);
        let unlock = |state: &mut State| state.world.unlock(address, self.number);
        match CALL.get() {
            Some(_) => self.along(unlock),
            None => {
                self.step(ask(Op::MutexUnlock, Some(mutex), "unlock mutex", None), |state, _| unlock(state));
            }
        }
    }

    /// Gives the mutex up, waits, for so long at most, takes it again. Whether it was woken.
    pub fn wait(&self, condition: &AtomicU64, mutex: &AtomicU64, time: Option<Duration>, at: At) -> bool {
        let (condition_at, mutex_at) = (address(condition), address(mutex));
        let mut until_ns = None;
        let mut begin = |state: &mut State| {
            state.world.unlock(mutex_at, self.number);
            state.world.wait(condition_at, self.number);
            until_ns = time.and_then(|time| state.after(time));
        };
        if CALL.get().is_some() {
            self.along(&mut begin);
        } else {
            let what = "begin to wait for condition";
            let ask = Ask { other: Some(condition), ..ask(Op::MutexUnlock, Some(mutex), what, at) };
            if self.step(ask, |state, _| begin(state)).is_none() {
                stay();
            }
        }
        let op = if time.is_some() { Op::CondTimed } else { Op::CondWait };
        let ask = Ask {
            other: Some(mutex),
            want: Want::Woken(condition_at, mutex_at),
            until_ns,
            ..ask(op, Some(condition), "be notified at condition", at)
        };
        let woken = self.step(ask, |state, late| {
            state.world.waited(condition_at, self.number);
            state.world.lock(mutex_at, self.holder(at));
            !late
        });
        woken.unwrap_or_else(|| stay())
    }

    pub fn wake(&self, condition: &AtomicU64, all: bool, at: At) {
        let address = address(condition);
        let wake = |state: &mut State| state.world.wake(address, all);
        if CALL.get().is_some() {
            return self.along(wake);
        }
        let (op, what) = match all {
            true => (Op::CondBroadcast, "notify all at condition"),
            false => (Op::CondSignal, "notify one at condition"),
        };
        self.step(ask(op, Some(condition), what, at), |state, _| wake(state));
    }

    pub fn read(&self, lock: &AtomicU64, at: At) -> bool {
        let address = address(lock);
        let ask = Ask { want: Want::Read(address), ..ask(Op::RwRead, Some(lock), "read-lock rwlock", at) };
        self.step(ask, |state, _| state.world.read(address, self.holder(at))).is_some()
    }

    pub fn try_read(&self, lock: &AtomicU64, at: At) -> Option<bool> {
        let address = address(lock);
        let ask = Ask { polls: true, ..ask(Op::RwTryRead, Some(lock), "try to read-lock rwlock", at) };
        self.step(ask, |state, _| {
            let free = state.world.may_read(address);
            if free {
                state.world.read(address, self.holder(at));
            }
            free
        })
    }

    /// Tries at once: a writer that has to wait keeps new readers out.
    pub fn write(&self, lock: &AtomicU64, at: At) -> bool {
        let (address, what) = (address(lock), "write-lock rwlock");
        let first = self.step(ask(Op::RwTryWrite, Some(lock), what, at), |state, _| {
            let free = state.world.may_write(address);
            match free {
                true => state.world.write(address, self.holder(at)),
                false => state.world.queue(address, self.number),
            }
            free
        });
        first.is_some_and(|free| {
            let ask = Ask { want: Want::Write(address), ..ask(Op::RwWrite, Some(lock), what, at) };
            free || self.step(ask, |state, _| state.world.write(address, self.holder(at))).is_some()
        })
    }

    pub fn try_write(&self, lock: &AtomicU64, at: At) -> Option<bool> {
        let address = address(lock);
        let ask = Ask { polls: true, ..ask(Op::RwTryWrite, Some(lock), "try to write-lock rwlock", at) };
        self.step(ask, |state, _| {
            let free = state.world.may_write(address);
            if free {
                state.world.write(address, self.holder(at));
            }
            free
        })
    }

    pub fn release(&self, lock: &AtomicU64) {
        let address = address(lock);
        let ask = ask(Op::RwUnlock, Some(lock), "unlock rwlock", None);
        self.step(ask, |state, _| state.world.release(address, self.number));
    }

    pub fn touch(&self, atomic: &AtomicU64, how: Touch, at: At) {
        let (op, what, polls) = match how {
            Touch::Load => (Op::SemValue, "load atomic", true),
            Touch::Change => (Op::SemPost, "change atomic", false),
            Touch::Try => (Op::SemTry, "try to change atomic", true),
        };
        self.step(Ask { polls, ..ask(op, Some(atomic), what, at) }, |_, _| ());
    }

    /// Sleeps for so long, or yields.
    pub fn nap(&self, time: Option<Duration>, at: At) {
        let until = time.and_then(|time| self.run.lock().after(time));
        let (op, what) = if time.is_some() { (Op::Sleep, "sleep") } else { (Op::Misc, "yield") };
        self.step(Ask { naps: true, until_ns: until, ..ask(op, None, what, at) }, |_, _| ());
    }

    /// What a clock shows in the run.
    pub fn now(&self) -> Instant {
        const ASKING_NS: u64 = 1000;
        let mut state = self.run.lock();
        state.now_ns = state.now_ns.saturating_add(ASKING_NS);
        let began = self.run.began;
        began.checked_add(Duration::from_nanos(state.now_ns)).unwrap_or(began)
    }

    /// A thread is about to be made: its part; nothing if the run has ended.
    pub fn create(&self, scope: usize, at: At) -> Option<Part> {
        let ask = Ask { named: names::THREADS, ..ask(Op::ThreadCreate, None, "create thread", at) };
        let made = self.step(ask, |state, _| state.join(scope, at))?;
        Some(Part::new(self.run.clone(), made))
    }

    /// It could not be made.
    pub fn creates_not(&self) {
        self.run.lock().joins_not(self.number);
    }

    pub fn child(&self) -> Child {
        Child { run: self.run.serial, number: self.number }
    }

    /// Waits for the end of a thread of this run. Of other threads it knows nothing.
    pub fn wait_for_end(&self, child: Child, at: At) {
        if child.run != self.run.serial {
            return;
        }
        let named = of_thread(child.number);
        let ask = Ask { named, want: Want::End(child.number), ..ask(Op::ThreadJoin, None, "join thread", at) };
        if self.step(ask, |_, _| ()).is_none() {
            stay();
        }
    }

    pub fn has_ended(&self, child: Child, at: At) -> Option<bool> {
        if child.run != self.run.serial {
            return None;
        }
        let named = of_thread(child.number);
        let ask = Ask { named, polls: true, ..ask(Op::ThreadTryJoin, None, "look whether thread has ended", at) };
        self.step(ask, |state, _| state.world.has_ended(child.number))
    }

    /// Waits for the end of all threads that were made in that scope.
    pub fn wait_for_scope(&self, scope: usize, at: At) {
        loop {
            let state = self.run.lock();
            let members = state.members.iter().enumerate().map(|(number, member)| (number as Number, member.scope));
            let mut left = members.filter(|(number, own)| *own == scope && !state.world.has_ended(*number));
            let Some((number, _)) = left.next() else { return };
            drop(left);
            drop(state);
            self.wait_for_end(Child { run: self.run.serial, number }, at);
        }
    }
}

/// A thread that was made by one of a run.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    run: u32,
    number: Number,
}
