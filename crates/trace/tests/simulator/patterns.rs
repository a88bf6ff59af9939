//! How real programs talk: a task farm, a ring, a pool whose workers steal from each other, and gossip.
//!
//! Every receive is a wildcard. Who is faster is random.

use retake_trace::execution::{Event, Execution};
use retake_trace::{Channel, Listen};

use super::Random;

type Pattern = fn(usize, usize, &mut Random) -> Execution;

pub const PATTERNS: [(&str, Pattern); 4] = [("farm", farm), ("ring", ring), ("pool", pool), ("gossip", gossip)];

/// Messages on their way, each with a word for the pattern to tell them apart.
struct Talk {
    events: Vec<Vec<Event>>,
    waiting: Vec<Vec<Vec<u8>>>,
    received: usize,
}

impl Talk {
    fn new(size: usize) -> Talk {
        Talk { events: vec![Vec::new(); size], waiting: vec![vec![Vec::new(); size]; size], received: 0 }
    }

    fn send(&mut self, from: usize, to: usize, word: u8) {
        self.waiting[to][from].push(word);
        self.events[from].push(Event::Send { to, channel: Channel(from as u32) });
    }

    /// Takes one of the messages that wait for the process.
    fn take(&mut self, at: usize, random: &mut Random) -> Option<(usize, u8)> {
        let heard: Vec<usize> = (0..self.waiting.len()).filter(|from| !self.waiting[at][*from].is_empty()).collect();
        if heard.is_empty() {
            return None;
        }
        let from = *random.pick(&heard);
        self.events[at].push(Event::Receive { channel: Channel(from as u32), listen: Listen::Any });
        self.received += 1;
        Some((from, self.waiting[at][from].remove(0)))
    }

    fn end(self) -> Execution {
        Execution { processes: self.events }
    }
}

/// Process 0 gives each worker a task, and another one whenever a result comes.
fn farm(size: usize, receives: usize, random: &mut Random) -> Execution {
    let mut talk = Talk::new(size);
    (1..size).for_each(|worker| talk.send(0, worker, 0));
    while talk.received < receives {
        let process = random.below(size);
        if let Some((from, _)) = talk.take(process, random) {
            talk.send(process, from, 0);
        }
    }
    talk.end()
}

/// Two tokens go round.
fn ring(size: usize, receives: usize, random: &mut Random) -> Execution {
    let mut talk = Talk::new(size);
    talk.send(0, 1 % size, 0);
    talk.send(size / 2, (size / 2 + 1) % size, 0);
    while talk.received < receives {
        let process = random.below(size);
        if talk.take(process, random).is_some() {
            talk.send(process, (process + 1) % size, 0);
        }
    }
    talk.end()
}

/// Who has nothing to do asks another for work; who is asked gives half of what it has.
fn pool(size: usize, receives: usize, random: &mut Random) -> Execution {
    let mut talk = Talk::new(size);
    let mut work = vec![0; size];
    let mut asked = vec![false; size];
    while talk.received < receives {
        if work.iter().all(|work| *work == 0) {
            work[0] = 16 * size;
        }
        let process = random.below(size);
        if let Some((from, word)) = talk.take(process, random) {
            if word == u8::MAX {
                let gives = work[process] / 2;
                work[process] -= gives;
                talk.send(process, from, gives.min(200) as u8);
            } else {
                work[process] += usize::from(word);
                asked[process] = false;
            }
        } else if work[process] > 0 {
            work[process] -= 1;
        } else if !asked[process] && size > 1 {
            let victim = (process + 1 + random.below(size - 1)) % size;
            asked[process] = true;
            talk.send(process, victim, u8::MAX);
        }
    }
    talk.end()
}

/// Everybody tells somebody, again and again.
fn gossip(size: usize, receives: usize, random: &mut Random) -> Execution {
    let mut talk = Talk::new(size);
    while talk.received < receives {
        let process = random.below(size);
        if talk.take(process, random).is_none() || random.one_in(2) {
            let other = (process + 1 + random.below(size - 1)) % size;
            talk.send(process, other, 0);
        }
    }
    talk.end()
}
