//! One run: its threads go on one at a time, and at every point a strategy chooses who.
//!
//! ```text
//! thread -- about to do something --> arrive --> chooser: who goes on --> its seat --> it does what it was about to do
//! ```
//!
//! Everything is under one lock, which is never held while the program's own code runs. Time is virtual: it moves when a
//! sleep or a time-out is chosen, and a little whenever it is asked for.
//!
//! Law: the thread that runs is the only one that can end the run; all others wait in their seats, or have not begun.

use super::names::Names;
use super::words;
use super::world::{At, Holder, Number, Want, World};
use retake_engine::sys;
use retake_explore::{Act, Choice, Chooser, NOBODY, Plan, Point, flag, of_thread};
use retake_tape::op::Op;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Most choices of one run. A run that makes more is taken to go on for ever.
pub const STEPS_MAX: usize = 1 << 18;

/// Where a thread waits for its turn.
#[derive(Default)]
pub struct Seat(AtomicU32);

impl Seat {
    fn wait(&self) {
        while self.0.swap(0, Acquire) == 0 {
            // SAFETY: the word lives as long as this thread waits.
            unsafe { sys::futex_wait(self.0.as_ptr(), 0, u64::MAX >> 1) };
        }
    }

    pub fn wake(&self) {
        self.0.store(1, Release);
        // SAFETY: waking touches no memory.
        unsafe { sys::futex_wake(self.0.as_ptr(), 1, false) };
    }
}

/// An operation of the program, in its own words, and where it stands.
#[derive(Clone, Copy)]
pub struct Place {
    pub what: &'static str,
    pub at: At,
    /// It stands somewhere behind that place: what is dropped does not know by whom.
    pub is_behind: bool,
}

/// What a thread asks for.
pub struct Ask<'a> {
    pub op: Op,
    /// The object's own word, in which its name is kept.
    pub object: Option<&'a AtomicU64>,
    pub other: Option<&'a AtomicU64>,
    /// A thread, or what all threads meet at, in place of an object.
    pub named: u32,
    pub want: Want,
    pub until_ns: Option<u64>,
    /// It sleeps or yields.
    pub naps: bool,
    /// If it does so again and again, it waits for others to do something.
    pub polls: bool,
    pub what: &'static str,
    /// Where it stands, if that is known.
    pub at: Option<At>,
}

/// What a thread in its seat is about to do.
pub struct About {
    act: Act,
    pub want: Want,
    pub until_ns: Option<u64>,
    pub place: Place,
}

pub struct Member {
    /// Nothing while it runs, and when it has ended.
    pub about: Option<About>,
    seat: Arc<Seat>,
    late: bool,
    last: (u16, u32),
    last_at: At,
    pub name: Option<String>,
    /// The scope that it was made in, by its address.
    pub scope: usize,
}

/// What makes a run fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Deadlock,
    /// Where.
    Panic(String),
    /// It made too many choices.
    Long,
    /// Nothing moved for too long.
    Hang,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Passed,
    /// What is left of it would repeat another run.
    Repeats,
    Failed(Failure),
}

pub struct State {
    pub chooser: Chooser<Box<Plan>, Vec<u16>>,
    pub log: Vec<Choice>,
    /// What was done at each choice of the log.
    pub places: Vec<Place>,
    pub members: Vec<Member>,
    pub world: World,
    pub names: Names,
    pub running: Number,
    pub now_ns: u64,
    pub end: Option<End>,
    /// What there is to say of the end.
    pub story: Vec<String>,
    /// Threads of the run that are still there.
    pub live: usize,
    /// The closure has returned.
    pub returned: bool,
}

pub struct Run {
    state: Mutex<State>,
    /// It has ended, or the last of its threads is gone.
    pub changed: Condvar,
    pub serial: u32,
    /// Virtual time begins here.
    pub began: Instant,
    /// Panics are told as they would be without an exploration.
    pub is_loud: bool,
}

impl Run {
    /// A run of an exploration that was asked for there.
    pub fn new(plan: Plan, prefix: Vec<u16>, names: Names, at: At, is_loud: bool) -> Run {
        let serial = names.run;
        let mut state = State {
            chooser: Chooser::new(Box::new(plan), prefix),
            log: Vec::new(),
            places: Vec::new(),
            members: Vec::new(),
            world: World::default(),
            names,
            running: 0,
            now_ns: 0,
            end: None,
            story: Vec::new(),
            live: 0,
            returned: false,
        };
        state.join(0, at);
        state.members[0].about = None;
        Run { state: Mutex::new(state), changed: Condvar::new(), serial, began: Instant::now(), is_loud }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A point: the thread asks, waits for its turn, and does what it asked for; `then` is told whether it is late. Nothing
    /// if the run has ended.
    pub fn step<R>(
        &self,
        thread: Number,
        seat: &Seat,
        ask: Ask,
        then: impl FnOnce(&mut State, bool) -> R,
    ) -> Option<R> {
        let mut state = self.lock();
        if state.end.is_none() {
            let next = state.arrive(thread, ask);
            state = self.pass_on(state, thread, next);
        }
        state = self.wait(state, thread, seat);
        if state.end.is_some() {
            return None;
        }
        let late = state.members[thread as usize].late;
        Some(then(&mut state, late))
    }

    /// A new thread waits until it may begin. False if the run has ended.
    pub fn begin(&self, thread: Number, seat: &Seat) -> bool {
        let mut state = self.lock();
        state.members[thread as usize].name = std::thread::current().name().map(str::to_owned);
        self.wait(state, thread, seat).end.is_none()
    }

    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>, thread: Number, seat: &Seat) -> MutexGuard<'a, State> {
        while state.end.is_none() && state.running != thread {
            drop(state);
            seat.wait();
            state = self.lock();
        }
        state
    }

    /// Wakes whoever was chosen, without the lock, for which it comes at once.
    fn pass_on<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        thread: Number,
        next: Option<Arc<Seat>>,
    ) -> MutexGuard<'a, State> {
        if state.end.is_some() {
            self.changed.notify_all();
        }
        match next {
            Some(next) if state.running != thread => {
                drop(state);
                next.wake();
                self.lock()
            }
            _ => state,
        }
    }

    /// The thread has ended, with a panic that is told or without. It is the last thing that it does here.
    pub fn ends(&self, thread: Number, panic: Option<(String, String)>) {
        let mut state = self.lock();
        let mut next = None;
        if state.end.is_none() {
            state.members[thread as usize].about = None;
            state.world.end(thread);
            state.running = NOBODY;
            state.returned |= thread == 0;
            match panic {
                Some((at, message)) => {
                    let who = words::thread(&state, thread);
                    state.story = vec![format!("{who} panicked at {at}: {message}")];
                    state.finish(End::Failed(Failure::Panic(at)));
                }
                None => next = state.choose(NOBODY),
            }
        }
        let mut state = self.pass_on(state, thread, next);
        state.live -= 1;
        self.changed.notify_all();
    }
}

impl State {
    /// One more thread, which can begin.
    pub fn join(&mut self, scope: usize, at: At) -> (Number, Arc<Seat>) {
        let (number, seat) = (self.members.len() as Number, Arc::new(Seat::default()));
        let about = Some(About {
            act: Act { thread: number, object: of_thread(number), other: 0, op: Op::ThreadStart as u16, flags: 0 },
            want: Want::Nothing,
            until_ns: None,
            place: Place { what: "begin", at, is_behind: false },
        });
        let seat_of_it = seat.clone();
        let (late, last, last_at, name) = (false, (0, 0), at, None);
        self.members.push(Member { about, seat: seat_of_it, late, last, last_at, name, scope });
        self.live += 1;
        (number, seat)
    }

    /// When so much time has passed; nothing if that will never be.
    pub fn after(&self, time: Duration) -> Option<u64> {
        self.now_ns.checked_add(u64::try_from(time.as_nanos()).ok()?)
    }

    /// Where the closure's own thread waits.
    pub fn first_seat(&self) -> Arc<Seat> {
        self.members[0].seat.clone()
    }

    /// The thread that `join` made has not come.
    pub fn joins_not(&mut self, thread: Number) {
        self.members[thread as usize].about = None;
        self.world.end(thread);
        self.live -= 1;
    }

    fn arrive(&mut self, thread: Number, ask: Ask) -> Option<Arc<Seat>> {
        let mut name = |object: Option<&AtomicU64>| object.map(|mark| self.names.name(mark, thread));
        let (object, other) = (name(ask.object).unwrap_or(ask.named), name(ask.other).unwrap_or(0));
        let member = &mut self.members[thread as usize];
        let here = (ask.op as u16, object);
        let yields = ask.naps || ask.polls && member.last == here;
        member.last = here;
        let flags = if yields { flag::YIELDS } else { 0 };
        let act = Act { thread, object, other, op: ask.op as u16, flags };
        member.last_at = ask.at.unwrap_or(member.last_at);
        let place = Place { what: ask.what, at: member.last_at, is_behind: ask.at.is_none() };
        member.about = Some(About { act, want: ask.want, until_ns: ask.until_ns, place });
        if ask.until_ns.is_none() && !self.world.has(thread, ask.want) && self.is_in_circle(thread) {
            self.stick(thread);
            return None;
        }
        self.choose(thread)
    }

    /// What the thread is about to do, if it can: what it wants is there, or it would be late.
    fn able(&self, thread: Number, about: &About) -> Option<Act> {
        if self.world.has(thread, about.want) {
            return Some(about.act);
        }
        about.until_ns?;
        let can_return = match about.want {
            Want::Woken(_, mutex) => self.world.is_free(mutex),
            _ => true,
        };
        can_return.then_some(Act { flags: about.act.flags | flag::TIMES_OUT, ..about.act })
    }

    /// Chooses who goes on; `current` is who ran. Nobody if the run has ended.
    fn choose(&mut self, current: Number) -> Option<Arc<Seat>> {
        let seated = || self.members.iter().enumerate().filter_map(|(n, m)| Some((n as Number, m.about.as_ref()?)));
        let able: Vec<Act> = seated().filter_map(|(thread, about)| self.able(thread, about)).collect();
        if seated().next().is_none() {
            self.finish(End::Passed);
            return None;
        }
        // Those whom the closure left behind: they need not come to an end, if they only wait for something to do.
        if self.returned && able.iter().all(|act| act.has(flag::YIELDS) || act.has(flag::TIMES_OUT)) {
            let held_up = |(thread, about): (Number, &About)| self.needs(thread, about).is_some();
            match seated().any(held_up) {
                true => self.stick(current),
                false => self.finish(End::Passed),
            }
            return None;
        }
        if able.is_empty() {
            self.stick(current);
            return None;
        }
        if self.log.len() >= STEPS_MAX {
            self.story = words::standing(self);
            self.finish(End::Failed(Failure::Long));
            return None;
        }
        let point = Point { step: self.log.len() as u64, arrived: self.arrived(current), current, able: &able };
        let index = self.chooser.choose(&point);
        let chosen = able[index];
        self.log.push(self.chooser.log(&point, index));
        let member = &mut self.members[chosen.thread as usize];
        let about = member.about.take()?;
        self.places.push(about.place);
        member.late = chosen.has(flag::TIMES_OUT);
        if chosen.has(flag::TIMES_OUT) || chosen.has(flag::YIELDS) {
            self.now_ns = self.now_ns.max(about.until_ns.unwrap_or(0));
        }
        let seat = member.seat.clone();
        self.running = chosen.thread;
        if self.chooser.repeats() {
            self.finish(End::Repeats);
        }
        Some(seat)
    }

    fn arrived(&self, current: Number) -> Act {
        let about = self.members.get(current as usize).and_then(|member| member.about.as_ref());
        about.map_or(Act::NONE, |about| self.able(current, about).unwrap_or(about.act))
    }

    /// Nobody can go on any more, or some never will.
    fn stick(&mut self, current: Number) {
        let point = Point { step: self.log.len() as u64, arrived: self.arrived(current), current, able: &[] };
        self.log.push(Choice::of(&point, usize::MAX));
        self.story = words::stuck(self);
        self.finish(End::Failed(Failure::Deadlock));
    }

    /// Who has to do something before a thread that waits without a time-out can go on.
    pub fn needs(&self, thread: Number, about: &About) -> Option<Vec<Holder>> {
        if about.until_ns.is_some() || self.world.has(thread, about.want) {
            return None;
        }
        let mut holders = self.world.holders(thread, about.want);
        if let Want::End(other) = about.want {
            holders.push(Holder { thread: other, at: about.place.at });
        }
        (!holders.is_empty()).then_some(holders)
    }

    /// Whether the thread waits for one that waits for ... it.
    fn is_in_circle(&self, thread: Number) -> bool {
        let (mut seen, mut next) = (Vec::new(), vec![thread]);
        while let Some(one) = next.pop() {
            let Some(about) = self.members.get(one as usize).and_then(|member| member.about.as_ref()) else { continue };
            for holder in self.needs(one, about).unwrap_or_default() {
                if holder.thread == thread {
                    return true;
                }
                if !seen.contains(&holder.thread) {
                    seen.push(holder.thread);
                    next.push(holder.thread);
                }
            }
        }
        false
    }

    pub fn finish(&mut self, end: End) {
        self.end = Some(end);
        self.members.iter().for_each(|member| member.seat.wake());
    }
}
