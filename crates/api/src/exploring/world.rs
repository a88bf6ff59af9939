//! The objects of one run as the exploration knows them: who holds, who waits, who could go on.
//!
//! An object is here only while somebody holds it or waits for it, by its address: then it cannot be moved, and memory
//! that is used again starts afresh. Law: nobody is let on who would block in the standard library; who waits for whom is
//! known exactly, so that a deadlock is a fact.

use std::collections::HashMap;
use std::panic::Location;

/// A thread's number in its run; the closure's own thread is 0.
pub type Number = u32;
pub type At = &'static Location<'static>;

/// What has to be so before a thread can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    Nothing,
    Mutex(usize),
    Read(usize),
    Write(usize),
    /// Woken at the condition, and the mutex free.
    Woken(usize, usize),
    End(Number),
}

/// Who has something, and since where.
#[derive(Clone, Copy)]
pub struct Holder {
    pub thread: Number,
    pub at: At,
}

#[derive(Default)]
struct RwLock {
    writer: Option<Holder>,
    readers: Vec<Holder>,
    /// Writers that wait: as long as there is one, no reader comes in. So the standard lock does it.
    queue: Vec<Number>,
}

struct Waiter {
    thread: Number,
    since: u64,
    woken: bool,
}

#[derive(Default)]
struct Condition {
    waiters: Vec<Waiter>,
    /// When each signal came that has woken nobody yet. Any of those who waited then may take it.
    signals: Vec<u64>,
}

impl Condition {
    fn signal_for(&self, waiter: &Waiter) -> Option<usize> {
        self.signals.iter().position(|at| *at > waiter.since)
    }
}

#[derive(Default)]
pub struct World {
    mutexes: HashMap<usize, Holder>,
    rwlocks: HashMap<usize, RwLock>,
    conditions: HashMap<usize, Condition>,
    ended: Vec<Number>,
    /// Counts signals and waits.
    clock: u64,
}

impl World {
    pub fn end(&mut self, thread: Number) {
        self.ended.push(thread);
    }

    pub fn has_ended(&self, thread: Number) -> bool {
        self.ended.contains(&thread)
    }

    pub fn lock(&mut self, mutex: usize, holder: Holder) {
        self.mutexes.insert(mutex, holder);
    }

    pub fn unlock(&mut self, mutex: usize, thread: Number) {
        if self.mutexes.get(&mutex).is_some_and(|holder| holder.thread == thread) {
            self.mutexes.remove(&mutex);
        }
    }

    /// A writer begins to wait.
    pub fn queue(&mut self, lock: usize, thread: Number) {
        self.rwlocks.entry(lock).or_default().queue.push(thread);
    }

    pub fn read(&mut self, lock: usize, holder: Holder) {
        self.rwlocks.entry(lock).or_default().readers.push(holder);
    }

    pub fn write(&mut self, lock: usize, holder: Holder) {
        let lock = self.rwlocks.entry(lock).or_default();
        lock.queue.retain(|thread| *thread != holder.thread);
        lock.writer = Some(holder);
    }

    /// The thread gives back what it has of the lock: it cannot have both.
    pub fn release(&mut self, at: usize, thread: Number) {
        let Some(lock) = self.rwlocks.get_mut(&at) else { return };
        if lock.writer.is_some_and(|holder| holder.thread == thread) {
            lock.writer = None;
        } else if let Some(own) = lock.readers.iter().position(|holder| holder.thread == thread) {
            lock.readers.remove(own);
        }
        if lock.writer.is_none() && lock.readers.is_empty() && lock.queue.is_empty() {
            self.rwlocks.remove(&at);
        }
    }

    /// The thread begins to wait at the condition.
    pub fn wait(&mut self, condition: usize, thread: Number) {
        self.clock += 1;
        let waiter = Waiter { thread, since: self.clock, woken: false };
        self.conditions.entry(condition).or_default().waiters.push(waiter);
    }

    /// The thread's wait is over: woken, or late.
    pub fn waited(&mut self, at: usize, thread: Number) {
        let Some(condition) = self.conditions.get_mut(&at) else { return };
        let Some(place) = condition.waiters.iter().position(|waiter| waiter.thread == thread) else { return };
        let waiter = condition.waiters.remove(place);
        if !waiter.woken
            && let Some(signal) = condition.signal_for(&waiter)
        {
            condition.signals.remove(signal);
        }
        if condition.waiters.is_empty() {
            self.conditions.remove(&at);
        }
    }

    pub fn wake(&mut self, condition: usize, all: bool) {
        self.clock += 1;
        let Some(condition) = self.conditions.get_mut(&condition) else { return };
        if all {
            condition.waiters.iter_mut().for_each(|waiter| waiter.woken = true);
            condition.signals.clear();
        } else if condition.waiters.iter().filter(|waiter| !waiter.woken).count() > condition.signals.len() {
            condition.signals.push(self.clock);
        }
    }

    fn is_woken(&self, condition: usize, thread: Number) -> bool {
        self.conditions.get(&condition).is_some_and(|condition| {
            let mut waiters = condition.waiters.iter();
            waiters.any(|waiter| waiter.thread == thread && (waiter.woken || condition.signal_for(waiter).is_some()))
        })
    }

    /// Whether the mutex that the thread needs after its wait is free.
    pub fn is_free(&self, mutex: usize) -> bool {
        !self.mutexes.contains_key(&mutex)
    }

    pub fn may_read(&self, lock: usize) -> bool {
        self.rwlocks.get(&lock).is_none_or(|lock| lock.writer.is_none() && lock.queue.is_empty())
    }

    pub fn may_write(&self, lock: usize) -> bool {
        self.rwlocks.get(&lock).is_none_or(|lock| lock.writer.is_none() && lock.readers.is_empty())
    }

    /// Whether the thread has what it wants.
    pub fn has(&self, thread: Number, want: Want) -> bool {
        match want {
            Want::Nothing => true,
            Want::Mutex(mutex) => self.is_free(mutex),
            Want::Read(lock) => self.may_read(lock),
            Want::Write(lock) => self.may_write(lock),
            Want::Woken(condition, mutex) => self.is_woken(condition, thread) && self.is_free(mutex),
            Want::End(other) => self.has_ended(other),
        }
    }

    /// Who has to do something before the thread can go on, each of them; nobody if anybody could do it.
    pub fn holders(&self, thread: Number, want: Want) -> Vec<Holder> {
        let of_mutex = |mutex| self.mutexes.get(mutex).copied().into_iter().collect();
        match want {
            Want::Mutex(mutex) => of_mutex(&mutex),
            Want::Woken(condition, mutex) if self.is_woken(condition, thread) => of_mutex(&mutex),
            Want::Read(lock) | Want::Write(lock) => self
                .rwlocks
                .get(&lock)
                .map(|lock| lock.writer.iter().chain(&lock.readers).copied().collect())
                .unwrap_or_default(),
            Want::Nothing | Want::Woken(..) | Want::End(_) => Vec::new(),
        }
    }
}
