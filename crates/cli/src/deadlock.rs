//! A deadlock in words: who waits for what, where, and who is in the way.

use crate::facts::Ended;
use crate::launch::Verdict;
use crate::session::Mapped;
use crate::status::{Status, say};
use crate::symbols::{Place, Symbols};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What becomes of a program that has deadlocked.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OnDeadlock {
    /// It hangs, as it would without Retake
    Hang,
    /// It is ended, with exit status 122
    Stop,
}

/// A process that is about to end has ended by then.
const ENDS: Duration = Duration::from_secs(1);

/// Tells of a deadlock as soon as one is found.
pub struct Watch<'a> {
    session: &'a Mapped,
    on_deadlock: OnDeadlock,
    told: bool,
    /// Since when there is something to tell, and no name for it.
    since: Option<Instant>,
    /// Nothing is said; what was found is kept.
    is_silent: bool,
    found: Option<Told>,
}

impl Watch<'_> {
    pub fn new(session: &Mapped, on_deadlock: OnDeadlock) -> Watch<'_> {
        Watch { session, on_deadlock, told: false, since: None, is_silent: false, found: None }
    }

    /// One that says nothing.
    pub fn silent(session: &Mapped, on_deadlock: OnDeadlock) -> Watch<'_> {
        Watch { is_silent: true, ..Watch::new(session, on_deadlock) }
    }

    /// The deadlock that was found.
    pub fn into_found(self) -> Option<Told> {
        self.found
    }

    fn tell(&mut self, found: Told) {
        if !self.is_silent {
            say(found.words());
        }
        self.found = Some(found);
    }

    /// Tells of one that was found just before the program ended.
    pub fn look_back(&mut self, symbols: &mut Symbols) {
        if let Some(text) = self.session.deadlock().filter(|_| !self.told) {
            self.told = true;
            self.tell(Deadlock::parse(&text).told(symbols));
        }
    }

    pub fn look(&mut self) -> Verdict {
        let Some(text) = self.session.deadlock().filter(|_| !self.told) else { return Verdict::GoOn };
        let found = Deadlock::parse(&text);
        let mut symbols = Symbols::of_process(&found.process, found.pid);
        // If it has just ended, its tape knows more. It may also be one that does not let itself be looked at.
        if !symbols.knows(&found.process) && self.since.get_or_insert_with(Instant::now).elapsed() < ENDS {
            return Verdict::GoOn;
        }
        self.told = true;
        self.tell(found.told(&mut symbols));
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
    holders: Vec<Holder>,
    pcs: Vec<u64>,
}

/// A thread that is in the way.
#[derive(Debug, Default, PartialEq, Eq)]
struct Holder {
    /// Nothing if it has ended, and is not known any more.
    thread: String,
    has_ended: bool,
    /// The lower half of the address behind the call by which it has the object; 0 if that is not known.
    since: u32,
    /// The whole address, and those of the calls around it, as far as there were frame pointers.
    calls: Vec<u64>,
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
        // As they were created, whatever the order in which the process knows them.
        deadlock.waiters.sort_by_cached_key(|waiter| place_in_tree(&waiter.thread));
        for waiter in &mut deadlock.waiters {
            waiter.holders.sort_by_cached_key(|holder| place_in_tree(&holder.thread));
        }
        deadlock
    }

    /// The same with names and lines.
    pub fn told(&self, symbols: &mut Symbols) -> Told {
        let waits = |waiter: &Waiter, symbols: &mut Symbols| Waits {
            thread: waiter.thread.clone(),
            function: symbols.runs(&self.process, waiter.start, &waiter.pcs),
            what: waiter.waits.clone(),
            object: (waiter.waits != OF_THREAD).then(|| {
                let name = symbols.variable(&self.process, waiter.object);
                name.unwrap_or_else(|| format!("at {:#x}", waiter.object))
            }),
            held_by: waiter.holders.iter().map(|holder| self.held(holder, symbols)).collect(),
            stack: self.lines(&waiter.pcs, symbols),
        };
        Told { threads: self.waiters.iter().map(|waiter| waits(waiter, symbols)).collect() }
    }

    fn held(&self, holder: &Holder, symbols: &mut Symbols) -> Held {
        let half = symbols.widened(&self.process, holder.since).filter(|_| holder.since != 0);
        let calls = if holder.calls.is_empty() { half.as_slice() } else { &holder.calls };
        let calls = symbols.certain(&self.process, calls);
        let mut places = self.lines(calls, symbols).into_iter();
        Held {
            thread: Some(holder.thread.clone()).filter(|name| !name.is_empty()),
            has_ended: holder.has_ended,
            since: places.next(),
            by_guard: !calls.is_empty() && calls.iter().all(|pc| symbols.is_in_library(&self.process, *pc)),
            callers: places.collect(),
        }
    }

    /// The program's own lines; without debug information its frames, but not those of libc that it is blocked in.
    fn lines(&self, pcs: &[u64], symbols: &mut Symbols) -> Vec<Place> {
        let lines = symbols.stack(&self.process, pcs);
        if lines.iter().any(|place| place.file.is_some()) {
            return lines;
        }
        let places = pcs.iter().filter_map(|pc| symbols.call(&self.process, *pc));
        let ours = places.filter(|place| !place.module.starts_with(crate::shim::START));
        let rest = ours.skip_while(|place| place.module.starts_with("libc"));
        rest.take_while(|place| !place.module.starts_with("libc.so")).collect()
    }
}

/// What threads are sorted by: `0.2` comes before `0.10`.
fn place_in_tree(name: &str) -> Vec<u64> {
    name.split(['.', '~']).map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

fn verb(waits: &str) -> &'static str {
    match waits {
        "condition" => "signal",
        "semaphore" => "post",
        "barrier" => "come to",
        "futex" => "wake",
        _ => "give",
    }
}

/// What a thread waits for that joins another.
const OF_THREAD: &str = "end of thread";
/// What it waits for while another runs what is run once.
const ONCE: &str = "once";

/// A deadlock for people, and for programs that read `--json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    pub threads: Vec<Waits>,
}

/// A thread that waits for ever.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waits {
    pub thread: String,
    /// What the thread was created to run.
    pub function: Option<String>,
    /// `mutex`, `condition`, `end of thread`.
    pub what: String,
    pub object: Option<String>,
    pub held_by: Vec<Held>,
    pub stack: Vec<Place>,
}

/// Who is in the way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    pub thread: Option<String>,
    /// It has ended, and left the object locked.
    #[serde(default)]
    pub has_ended: bool,
    /// The call by which the object was obtained.
    pub since: Option<Place>,
    /// The calls around that one, as far as they are known.
    #[serde(default)]
    pub callers: Vec<Place>,
    /// That call is one of the C++ library's own, for a guard that the program has made.
    #[serde(default)]
    pub by_guard: bool,
}

impl Told {
    /// All of it, one line a waiter, each followed by its stack.
    pub fn words(&self) -> String {
        let mut text = match &self.threads[..] {
            [only] if only.held_by.iter().any(|holder| holder.thread.as_ref() == Some(&only.thread)) => {
                format!("deadlock: thread {} waits for itself", only.thread)
            }
            [only] => format!("deadlock: thread {} waits for ever", only.thread),
            all => format!("deadlock: {} threads wait for ever", all.len()),
        };
        for waits in &self.threads {
            let _ = write!(text, "\nretake:   {}", waits.sentence());
            for place in &waits.stack {
                let _ = write!(text, "\nretake:     at {place}");
            }
            for holder in waits.held_by.iter().filter(|holder| !holder.callers.is_empty()) {
                let callers: Vec<String> = holder.callers.iter().map(Place::to_string).collect();
                let _ = write!(text, "\nretake:     {} took it, called from {}", holder.name(), callers.join(", "));
            }
        }
        if self.threads.iter().flat_map(|waits| &waits.held_by).any(|holder| self.is_wrapped(holder)) {
            text += "\nretake:   where a line only wraps the lock, retake check tells from where it was called, when the program has ended";
        }
        text
    }

    /// Whether the call that took the object is one of the C++ library's, or in a function that has returned since, and
    /// nothing is known of the calls around it.
    fn is_wrapped(&self, holder: &Held) -> bool {
        let stack = self.threads.iter().find(|waits| Some(&waits.thread) == holder.thread.as_ref());
        let Some((stack, since)) = stack.map(|waits| &waits.stack).zip(holder.since.as_ref()) else {
            return holder.by_guard;
        };
        // If it waits by the same line, that was called from elsewhere before.
        let is_there = stack.iter().any(|place| place.function == since.function && place != since);
        holder.by_guard || holder.callers.is_empty() && !is_there
    }
}

impl Held {
    fn name(&self) -> &str {
        self.thread.as_deref().unwrap_or("a thread")
    }
}

impl Waits {
    /// `thread 0.1 (diner) waits for mutex fork_mutex+40, held by 0.2 since philosophers.c:39`.
    fn sentence(&self) -> String {
        let mut text = format!("thread {}", self.thread);
        if let Some(function) = &self.function {
            let _ = write!(text, " ({function})");
        }
        let _ = write!(text, " waits for ");
        let Some(object) = &self.object else {
            let names: Vec<&str> = self.held_by.iter().map(Held::name).collect();
            let _ = write!(text, "the end of thread {}", names.join(", "));
            return text;
        };
        let (what, has) = match self.what.as_str() {
            ONCE => ("the end of what runs once,", "run"),
            what => (what, "held"),
        };
        let _ = write!(text, "{what} {object}");
        if self.held_by.is_empty() {
            let _ = write!(text, ", which nobody is left to {}", verb(&self.what));
        }
        for (index, holder) in self.held_by.iter().enumerate() {
            let by = if index == 0 { format!(", {has} by") } else { " and".into() };
            let _ = write!(text, "{by} {}", holder.name());
            if holder.has_ended {
                let _ = write!(text, " (ended)");
            }
            if let Some(place) = &holder.since {
                let _ = write!(text, " since {place}");
            }
        }
        text
    }
}

impl Waiter {
    fn set(&mut self, key: &str, value: String) {
        let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or(0);
        let all = |text: &str| text.split(',').map(hex).filter(|pc| *pc != 0).collect();
        match key {
            "start" => self.start = hex(&value),
            "event" => self.event = value,
            "waits" => self.waits = value,
            "object" => self.object = hex(&value),
            "holder" => self.holders.push(Holder { thread: value, ..Holder::default() }),
            "ended" | "since" | "calls" => {
                let Some(holder) = self.holders.last_mut() else { return };
                match key {
                    "ended" => holder.has_ended = true,
                    "since" => holder.since = hex(&value) as u32,
                    _ => holder.calls = all(&value),
                }
            }
            "pcs" => self.pcs = all(&value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_as_they_were_created() {
        let told = Deadlock::parse("thread=0.10\nthread=0.2\nholder=0.10\nholder=0\nthread=0.2.1\n");
        let names: Vec<&str> = told.waiters.iter().map(|waiter| waiter.thread.as_str()).collect();
        assert_eq!(names, ["0.2", "0.2.1", "0.10"]);
        assert_eq!(told.waiters[0].holders[0].thread, "0");
    }

    #[test]
    fn what_is_told_is_read() {
        let text = "process=0\npid=7\nthread=0.1\nstart=55\nevent=3\nwaits=mutex\nobject=10\nholder=0.2\nsince=f\npcs=1,2,\n\
                    thread=0.2\nwaits=end of thread\nholder=0.1\nodd\n";
        let deadlock = Deadlock::parse(text);
        assert_eq!((deadlock.pid, deadlock.waiters.len()), (7, 2));
        assert_eq!(deadlock.waiters[0].pcs, [1, 2]);
        let words = deadlock.told(&mut Symbols::default()).words();
        assert_eq!(
            words,
            "deadlock: 2 threads wait for ever\nretake:   thread 0.1 waits for mutex at 0x10, held by 0.2\n\
             retake:   thread 0.2 waits for the end of thread 0.1"
        );
    }
}
