//! Which operations must come before which, whatever the locks do: vector clocks over creating, joining, posting,
//! signalling and meeting at barriers.
//!
//! Hand-overs of locks are left out on purpose: which thread has a lock first is what could have been otherwise, and what
//! a deadlock depends on. A semaphore that one thread both waits for and posts is a lock as well.
//!
//! Where the order of a semaphore or condition is not certain (several posts, one wait) all earlier ones count: an order
//! too many hides a finding, an order too few makes one up.
//!
//! Law: a clock has a place for as many threads as ran at once, not for all that ever were. A thread that begins after
//! another was joined takes over its place.

use std::collections::HashMap;
use std::rc::Rc;

/// When an operation of a thread was.
#[derive(Clone, Debug)]
pub struct Moment {
    place: usize,
    time: u32,
    known: Rc<Vec<u32>>,
}

impl Moment {
    pub fn is_before(&self, other: &Moment) -> bool {
        if self.place == other.place {
            return self.time <= other.time;
        }
        other.known.get(self.place).is_some_and(|time| *time >= self.time)
    }

    /// Whether nothing but the order of locks decides which comes first.
    pub fn is_beside(&self, other: &Moment) -> bool {
        !self.is_before(other) && !other.is_before(self)
    }

    /// Whether no order was made between the two, which are of one thread.
    pub fn is_same(&self, other: &Moment) -> bool {
        self.place == other.place && self.time == other.time && Rc::ptr_eq(&self.known, &other.known)
    }

    fn published(&self) -> Vec<u32> {
        let mut all = Vec::clone(&self.known);
        raise(&mut all, self.place, self.time);
        all
    }

    fn learn(&mut self, others: &[u32]) {
        let news = |(place, time): (usize, &u32)| self.known.get(place).copied().unwrap_or(0) < *time;
        if others.iter().enumerate().any(news) {
            let known = Rc::make_mut(&mut self.known);
            others.iter().enumerate().for_each(|(place, time)| raise(known, place, *time));
        }
    }
}

fn raise(clock: &mut Vec<u32>, place: usize, time: u32) {
    if clock.len() <= place {
        clock.resize(place + 1, 0);
    }
    clock[place] = clock[place].max(time);
}

/// A semaphore or condition, as far as it makes an order.
#[derive(Default)]
struct Channel {
    clock: Vec<u32>,
    /// Who has waited, and whether somebody did both.
    waited: Vec<usize>,
    is_lock: bool,
}

/// The clocks of all threads.
#[derive(Default)]
pub struct Clocks {
    threads: HashMap<usize, Moment>,
    /// What the creator knew, by the number of the new thread.
    born: HashMap<u64, Vec<u32>>,
    channels: HashMap<(usize, u64), Channel>,
    /// Places of threads that were joined, with the last time of each.
    free: Vec<(usize, u32)>,
    places: usize,
}

/// Of so many free places it is looked whether a new thread may have one.
const LOOKED_AT: usize = 32;

impl Clocks {
    /// The present moment of `thread`, whose number in the take is `number`.
    pub fn now(&mut self, thread: usize, number: u64) -> &mut Moment {
        if !self.threads.contains_key(&thread) {
            let known = self.born.remove(&number).unwrap_or_default();
            let over = |(place, time): &(usize, u32)| known.get(*place).is_some_and(|seen| seen >= time);
            let free = self.free.iter().rev().take(LOOKED_AT).position(over);
            let (place, time) = match free {
                Some(back) => self.free.remove(self.free.len() - 1 - back),
                None => {
                    self.places += 1;
                    (self.places - 1, 0)
                }
            };
            self.threads.insert(thread, Moment { place, time: time + 1, known: Rc::new(known) });
        }
        self.threads.get_mut(&thread).expect("it is there now")
    }

    /// `thread` has created the thread of this number.
    pub fn created(&mut self, thread: usize, number: u64, child: u64) {
        let now = self.now(thread, number);
        let known = now.published();
        now.time += 1;
        self.born.insert(child, known);
    }

    /// `thread` has joined `ended`.
    pub fn joined(&mut self, thread: usize, number: u64, ended: usize) {
        let Some(last) = self.threads.get(&ended) else { return };
        let (known, free) = (last.published(), (last.place, last.time));
        self.now(thread, number).learn(&known);
        self.free.push(free);
    }

    /// `thread` has posted the semaphore or signalled the condition `object`. A condition is never a lock.
    pub fn posted(&mut self, thread: usize, number: u64, object: (usize, u64), is_condition: bool) {
        let channel = self.channels.entry(object).or_default();
        channel.is_lock |= !is_condition && channel.waited.contains(&thread);
        if channel.is_lock {
            return;
        }
        let now = self.now(thread, number);
        let known = now.published();
        now.time += 1;
        let channel = self.channels.entry(object).or_default();
        known.iter().enumerate().for_each(|(place, time)| raise(&mut channel.clock, place, *time));
    }

    /// `thread` has waited for the semaphore or condition `object`, and was woken.
    pub fn woken(&mut self, thread: usize, number: u64, object: (usize, u64)) {
        let channel = self.channels.entry(object).or_default();
        if !channel.waited.contains(&thread) {
            channel.waited.push(thread);
        }
        if !channel.is_lock && !channel.clock.is_empty() {
            let clock = channel.clock.clone();
            self.now(thread, number).learn(&clock);
        }
    }

    /// `all` (threads, with their numbers) have met at a barrier: what each of them knows from here on.
    pub fn met(&mut self, all: &[(usize, u64)]) -> Vec<u32> {
        let mut together = Vec::new();
        for (thread, number) in all {
            let now = self.now(*thread, *number);
            now.published().iter().enumerate().for_each(|(place, time)| raise(&mut together, place, *time));
            now.time += 1;
        }
        together
    }

    /// `thread` learns what others knew.
    pub fn learn(&mut self, thread: usize, number: u64, known: &[u32]) {
        self.now(thread, number).learn(known);
    }

    /// Nobody waits for `object` any more: what was signalled so far is nobody's order.
    pub fn forget(&mut self, object: (usize, u64)) {
        if let Some(channel) = self.channels.get_mut(&object) {
            channel.clock.clear();
        }
    }
}
