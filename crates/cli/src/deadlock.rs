//! A deadlock in words: who waits for what, where, and who is in the way.

use crate::facts::Ended;
use crate::launch::Verdict;
use crate::session::Mapped;
use crate::status::{Status, say};
use crate::symbols::Symbols;
use std::fmt::Write;

/// What becomes of a program that has deadlocked.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OnDeadlock {
    /// It hangs, as it would without Retake
    Hang,
    /// It is ended, with exit status 122
    Stop,
}

/// Tells of a deadlock as soon as one is found.
pub struct Watch<'a> {
    session: &'a Mapped,
    on_deadlock: OnDeadlock,
    told: bool,
    /// Nothing is said; the words are kept.
    is_silent: bool,
    words: Option<String>,
}

impl Watch<'_> {
    pub fn new(session: &Mapped, on_deadlock: OnDeadlock) -> Watch<'_> {
        Watch { session, on_deadlock, told: false, is_silent: false, words: None }
    }

    /// One that says nothing.
    pub fn silent(session: &Mapped, on_deadlock: OnDeadlock) -> Watch<'_> {
        Watch { is_silent: true, ..Watch::new(session, on_deadlock) }
    }

    /// The deadlock that was found, in words.
    pub fn into_words(self) -> Option<String> {
        self.words
    }

    fn tell(&mut self, words: String) {
        if !self.is_silent {
            say(&words);
        }
        self.words = Some(words);
    }

    /// Tells of one that was found just before the program ended.
    pub fn look_back(&mut self, symbols: &mut Symbols) {
        if let Some(text) = self.session.deadlock().filter(|_| !self.told) {
            self.told = true;
            self.tell(Deadlock::parse(&text).words(symbols));
        }
    }

    pub fn look(&mut self) -> Verdict {
        let Some(text) = self.session.deadlock().filter(|_| !self.told) else { return Verdict::GoOn };
        self.told = true;
        let found = Deadlock::parse(&text);
        self.tell(found.words(&mut Symbols::of_process(&found.process, found.pid)));
        match self.on_deadlock {
            OnDeadlock::Hang => Verdict::GoOn,
            OnDeadlock::Stop => Verdict::Stop { pid: found.pid, ended: Ended::Exit(Status::Deadlock as i32) },
        }
    }
}

/// A thread that waits for ever.
#[derive(Debug, Default, PartialEq, Eq)]
struct Waiter {
    thread: String,
    start: u64,
    event: String,
    waits: String,
    object: u64,
    holders: Vec<String>,
    /// The lower half of the address behind the call by which the object was obtained.
    since: u32,
    pcs: Vec<u64>,
}

/// What a process told of its deadlock: lines `key=value`, one `thread` line for each waiter.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Deadlock {
    process: String,
    pub pid: i32,
    waiters: Vec<Waiter>,
}

impl Deadlock {
    pub fn parse(text: &str) -> Deadlock {
        let mut deadlock = Deadlock::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let value: String = value.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
            match key {
                "process" => deadlock.process = value,
                "pid" => deadlock.pid = value.parse().unwrap_or(0),
                "thread" => deadlock.waiters.push(Waiter { thread: value, ..Waiter::default() }),
                _ => {
                    if let Some(waiter) = deadlock.waiters.last_mut() {
                        waiter.set(key, value);
                    }
                }
            }
        }
        deadlock
    }

    /// All of it, one line a waiter, each followed by its stack.
    pub fn words(&self, symbols: &mut Symbols) -> String {
        let mut text = match &self.waiters[..] {
            [only] if only.holders.contains(&only.thread) => {
                format!("deadlock: thread {} waits for itself", only.thread)
            }
            [only] => format!("deadlock: thread {} waits for ever", only.thread),
            all => format!("deadlock: {} threads wait for ever", all.len()),
        };
        for waiter in &self.waiters {
            let _ = write!(text, "\nretake:   {}", self.sentence(waiter, symbols));
            for place in self.stack(waiter, symbols) {
                let _ = write!(text, "\nretake:     {place}");
            }
        }
        text
    }

    /// `thread 0.1 (diner) waits for mutex fork_mutex+40, held by 0.2 since philosophers.c:39`.
    fn sentence(&self, waiter: &Waiter, symbols: &mut Symbols) -> String {
        let mut text = format!("thread {}", waiter.thread);
        if let Some(function) = symbols.place(&self.process, waiter.start).and_then(|place| place.function) {
            let _ = write!(text, " ({function})");
        }
        let _ = write!(text, " waits for ");
        let holders = waiter.holders.join(", ");
        if waiter.waits == "end of thread" {
            let _ = write!(text, "the end of thread {holders}");
            return text;
        }
        let _ = write!(text, "{}", waiter.waits);
        match symbols.variable(&self.process, waiter.object) {
            Some(name) => {
                let _ = write!(text, " {name}");
            }
            None => {
                let _ = write!(text, " at {:#x}", waiter.object);
            }
        }
        let since = symbols.widened(&self.process, waiter.since).filter(|_| waiter.since != 0);
        match (since.and_then(|pc| symbols.call(&self.process, pc)), holders.is_empty()) {
            (_, true) => {
                let _ = write!(text, ", which nobody is left to {}", verb(&waiter.waits));
            }
            (Some(place), false) => {
                let _ = write!(text, ", held by {holders} since {place}");
            }
            (None, false) => {
                let _ = write!(text, ", held by {holders}");
            }
        }
        text
    }

    /// The frames of the program, without those of libc that it is blocked in.
    fn stack(&self, waiter: &Waiter, symbols: &mut Symbols) -> Vec<String> {
        let places = waiter.pcs.iter().filter_map(|pc| symbols.call(&self.process, *pc));
        let ours = places.filter(|place| !place.module.starts_with(crate::shim::START));
        let rest = ours.skip_while(|place| place.file.is_none() && place.module.starts_with("libc"));
        rest.take_while(|place| !place.module.starts_with("libc.so")).map(|place| format!("at {place}")).collect()
    }
}

fn verb(waits: &str) -> &'static str {
    match waits {
        "condition" => "signal",
        "semaphore" => "post",
        "barrier" => "come to",
        _ => "give",
    }
}

impl Waiter {
    fn set(&mut self, key: &str, value: String) {
        let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or(0);
        match key {
            "start" => self.start = hex(&value),
            "event" => self.event = value,
            "waits" => self.waits = value,
            "object" => self.object = hex(&value),
            "holder" => self.holders.push(value),
            "since" => self.since = hex(&value) as u32,
            "pcs" => self.pcs = value.split(',').map(hex).filter(|pc| *pc != 0).collect(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read() {
        let text = "process=0\npid=7\nthread=0.1\nstart=55\nevent=3\nwaits=mutex\nobject=10\nholder=0.2\nsince=f\npcs=1,2,\n\
                    thread=0.2\nwaits=end of thread\nholder=0.1\nodd\n";
        let deadlock = Deadlock::parse(text);
        assert_eq!((deadlock.pid, deadlock.waiters.len()), (7, 2));
        assert_eq!(deadlock.waiters[0].pcs, [1, 2]);
        let words = deadlock.words(&mut Symbols::default());
        assert_eq!(
            words,
            "deadlock: 2 threads wait for ever\nretake:   thread 0.1 waits for mutex at 0x10, held by 0.2\n\
             retake:   thread 0.2 waits for the end of thread 0.1"
        );
    }
}
