//! Stamps: how clocks travel with messages.
//!
//! Paper: M. Singhal, A. Kshemkalyani, "An efficient implementation of vector clocks", Information Processing Letters 43,
//! 1992: on a channel that is first in, first out it is enough to send what has changed since the last message.
//!
//! Guaranteed: a receiver never believes that its sender knew more than it did. With a budget that is never reached, and
//! messages taken in the order in which they arrived from their sender, it knows exactly what the sender knew.
//!
//! Deviations from the paper:
//! 1. Not told: what the receiver itself has told (but always what the sender knows of the receiver: that decides about
//!    races), and who has never received anything.
//! 2. Differences are sent, and neighbours with the same difference together, so that a round through all processes costs
//!    a few bytes.
//! 3. A budget. A stamp that would be longer tells the entry of the receiver, that of the sender, and of the others in
//!    turn as many as fit; the rest waits for the next message. The receiver then knows less than it could, and may trace
//!    a receive that it need not. That is the better bargain: a traced receive costs some bytes, an exact stamp among
//!    many processes that all talk to all costs two bytes for each of them, in every message.
//!
//! ```text
//! stamp   count group…            how many groups
//! group   head [gap] [run] [step] processes `gap` behind the last group, `run` of them, each raised by `step`
//! head    ggg rr sss              gap, run - 1, step - 1; all ones: the rest of it follows as a number
//! ```

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::clock::Clock;
use crate::varint;

/// Stamps of at most so many bytes unless asked otherwise; the entries of receiver and sender are told in any case. `docs/tracing.md` has the measurement.
pub const BUDGET: usize = 8;

/// A budget that is never reached.
pub const EXACT: usize = usize::MAX;

/// What came with a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    known: u64,
    news: Vec<(u32, u64)>,
}

/// The bytes are no stamp that this sender could have sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadStamp;

/// The clock of one process, and what it and its partners have told each other.
///
/// Processes have numbers that all agree on. The ways on which this process sends, and the sources from which it hears,
/// have numbers of its own.
pub struct Clocks {
    me: u32,
    budget: usize,
    now: Clock,
    ways: BTreeMap<usize, Way>,
    sources: BTreeMap<usize, Source>,
}

#[derive(Default)]
struct Way {
    told: Clock,
    /// Who is told first, if not all fit.
    turn: u32,
}

struct Source {
    process: u32,
    heard: Clock,
}

impl Clocks {
    pub fn new(me: u32, budget: usize) -> Clocks {
        Clocks { me, budget, now: Clock::default(), ways: BTreeMap::new(), sources: BTreeMap::new() }
    }

    /// A process begins to send here.
    pub fn met(&mut self, source: usize, process: u32) {
        self.sources.insert(source, Source { process, heard: Clock::default() });
    }

    /// Writes the stamp of the next message on a way. `partner` is the source that sends from its other end, if that has
    /// been met.
    pub fn stamp(&mut self, way: usize, partner: Option<usize>, bytes: &mut Vec<u8>) {
        let way = self.ways.entry(way).or_default();
        let partner = partner.and_then(|source| self.sources.get(&source));
        let news: Vec<(u32, u64)> = way.news(&self.now, partner).collect();
        let start = bytes.len();
        put_groups(bytes, &news);
        if bytes.len() - start <= self.budget {
            news.iter().for_each(|(process, step)| way.tell(*process, *step));
            return;
        }
        bytes.truncate(start);
        let told = way.within(self.budget, &news, [partner.map_or(self.me, |source| source.process), self.me]);
        put_groups(bytes, &told);
        told.iter().for_each(|(process, step)| way.tell(*process, *step));
    }

    /// Reads the stamp of a message that has arrived and moves behind it. In the order in which the source sent.
    pub fn arrived(&mut self, source: usize, bytes: &mut &[u8]) -> Result<Stamp, BadStamp> {
        let heard = &mut self.sources.get_mut(&source).ok_or(BadStamp)?.heard;
        let mut news = get_groups(bytes).ok_or(BadStamp)?;
        for (process, value) in &mut news {
            *value = heard.get(*process).checked_add(*value).ok_or(BadStamp)?;
            heard.raise(*process, *value);
        }
        let known = heard.get(self.me);
        // Nobody knows more of this process than itself.
        if known > self.now.get(self.me) { Err(BadStamp) } else { Ok(Stamp { known, news }) }
    }

    /// A receive takes the message with this stamp. Returns how many receives of this process its sender knew of.
    pub fn took(&mut self, stamp: &Stamp) -> u64 {
        self.learned(stamp);
        self.now.raise(self.me, self.now.get(self.me) + 1);
        stamp.known
    }

    /// What came with this stamp could have come to nobody else, as the reply to a call: it is no receive to race with.
    pub fn learned(&mut self, stamp: &Stamp) {
        for (process, value) in &stamp.news {
            if *process != self.me {
                self.now.raise(*process, *value);
            }
        }
    }

    pub fn now(&self) -> &Clock {
        &self.now
    }
}

/// Moves behind a stamp that nobody wants to know.
pub fn skip(bytes: &mut &[u8]) -> Result<(), BadStamp> {
    get_groups(bytes).map(drop).ok_or(BadStamp)
}

impl Way {
    /// What there is to tell: the process, and by how much its entry has grown since it was told last.
    fn news<'a>(&'a self, now: &'a Clock, partner: Option<&'a Source>) -> impl Iterator<Item = (u32, u64)> + 'a {
        let (mut told, mut heard) = (self.told.walk(), partner.map(|source| source.heard.walk()));
        now.entries().iter().filter_map(move |&(process, value)| {
            let told = told.until(process);
            let heard = heard.as_mut().map_or(0, |heard| heard.until(process));
            let news = value > told && (value > heard || partner.is_some_and(|source| source.process == process));
            news.then(|| (process, value - told))
        })
    }

    fn tell(&mut self, process: u32, step: u64) {
        self.told.raise(process, self.told.get(process) + step);
    }

    /// As many as fit: first those that matter most, then the others in turn.
    fn within(&mut self, budget: usize, news: &[(u32, u64)], first: [u32; 2]) -> Vec<(u32, u64)> {
        let mut chosen: Vec<(u32, u64)> = news.iter().copied().filter(|(process, _)| first.contains(process)).collect();
        let start = news.partition_point(|(process, _)| *process < self.turn);
        let others = news[start..].iter().chain(&news[..start]).filter(|(process, _)| !first.contains(process));
        let mut bytes = Vec::new();
        for &(process, step) in others {
            let at = chosen.partition_point(|(other, _)| *other < process);
            chosen.insert(at, (process, step));
            bytes.clear();
            put_groups(&mut bytes, &chosen);
            if bytes.len() > budget {
                chosen.remove(at);
                self.turn = process;
                break;
            }
        }
        chosen
    }
}

/// The largest values that fit into the head of a group.
const GAP: u64 = 7;
const RUN: u64 = 3;
const STEP: u64 = 7;

/// `news` is in rising order.
fn put_groups(bytes: &mut Vec<u8>, news: &[(u32, u64)]) {
    let together = |a: &(u32, u64), b: &(u32, u64)| a.0 + 1 == b.0 && a.1 == b.1;
    varint::put(bytes, news.chunk_by(together).count() as u64);
    let mut behind = 0;
    for group in news.chunk_by(together) {
        let (first, step) = group[0];
        let (gap, run, step) = (u64::from(first) - behind, group.len() as u64 - 1, step - 1);
        bytes.push((gap.min(GAP) << 5 | run.min(RUN) << 3 | step.min(STEP)) as u8);
        for (value, most) in [(gap, GAP), (run, RUN), (step, STEP)] {
            if value >= most {
                varint::put(bytes, value - most);
            }
        }
        behind = u64::from(first) + group.len() as u64;
    }
}

fn get_groups(bytes: &mut &[u8]) -> Option<Vec<(u32, u64)>> {
    let count = varint::get(bytes)?;
    let mut news = Vec::new();
    let mut behind = 0u64;
    for _ in 0..count {
        let (&head, rest) = bytes.split_first()?;
        *bytes = rest;
        let head = u64::from(head);
        let mut part = |value: u64, most: u64| match value {
            value if value < most => Some(value),
            _ => most.checked_add(varint::get(bytes)?),
        };
        let gap = part(head >> 5, GAP)?;
        let run = part(head >> 3 & RUN, RUN)?.checked_add(1)?;
        let step = part(head & STEP, STEP)?.checked_add(1)?;
        let first = behind.checked_add(gap)?;
        behind = first.checked_add(run)?;
        // A lying length must not cost memory: nobody has so many partners.
        if behind > 1 << 32 || news.len() as u64 + run > ENTRIES_MAX {
            return None;
        }
        news.extend((first..behind).map(|process| (process as u32, step)));
    }
    Some(news)
}

/// A stamp tells of fewer processes than this.
const ENTRIES_MAX: u64 = 1 << 16;
