//! What a log tells: the operations that were done, what is left to do, how far it is from the default.
//!
//! A log may end in a record in which nobody goes on: where the last thread has arrived when all are stuck.

use crate::{Act, Choice, NOBODY, Threads, flag, of_thread, steady};
use retake_tape::op::Op;
use std::collections::BTreeMap;

/// The choices that were made, without a last record in which there was none.
pub fn made(log: &[Choice]) -> &[Choice] {
    let end = log.iter().position(|choice| choice.chosen.thread == NOBODY).unwrap_or(log.len());
    &log[..end]
}

/// What was done, in order.
pub fn acts(log: &[Choice]) -> impl Iterator<Item = Act> + '_ {
    made(log).iter().map(|choice| choice.chosen)
}

/// The choices as a prefix: a run that follows it does the same.
pub fn choices(log: &[Choice]) -> Vec<u16> {
    acts(log).map(|act| act.thread as u16).collect()
}

/// The part of a log that did not repeat another run.
pub fn fresh(log: &[Choice]) -> &[Choice] {
    let end = log.iter().position(|choice| choice.chosen.has(flag::REPEATS)).unwrap_or(log.len());
    &log[..end]
}

/// What each thread was about to do when the log ended: blocked, or able and not chosen any more.
pub fn left(log: &[Choice]) -> BTreeMap<u32, Act> {
    let mut left = BTreeMap::new();
    for choice in log {
        for thread in choice.able.iter() {
            let start = Act { object: of_thread(thread), op: Op::ThreadStart as u16, ..Act { thread, ..Act::NONE } };
            left.entry(thread).or_insert(Some(start));
        }
        if choice.arrived.thread != NOBODY {
            left.insert(choice.arrived.thread, Some(choice.arrived));
        }
        if choice.chosen.thread != NOBODY {
            // Until it arrives again.
            left.insert(choice.chosen.thread, None);
        }
    }
    left.into_iter().filter_map(|(thread, act)| Some((thread, act?))).collect()
}

/// How far a run is from the default: what shrinking makes small, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// Threads that were put aside though they could go on.
    pub preemptions: usize,
    /// Choices that the default would not have made.
    pub deviations: usize,
    pub steps: usize,
}

pub fn cost(log: &[Choice]) -> Cost {
    let log = made(log);
    let preemptions = log.iter().filter(|choice| choice.preempts()).count();
    Cost { preemptions, deviations: deviations(log).len(), steps: log.len() }
}

/// The steps at which the default would have chosen another.
pub fn deviations(log: &[Choice]) -> Vec<usize> {
    let (mut last, mut run, mut found) = (NOBODY, 0, Vec::new());
    for (step, choice) in made(log).iter().enumerate() {
        if steady::default_of(choice, run) != choice.chosen.thread {
            found.push(step);
        }
        run = if choice.chosen.thread == last { run + 1 } else { 0 };
        last = choice.chosen.thread;
    }
    found
}

/// Threads that could have been chosen, with those that stand behind only if nobody else can go on.
pub fn front(choice: &Choice) -> Threads {
    let mut front = Threads::NONE;
    choice.able.iter().filter(|thread| !choice.behind.has(*thread)).for_each(|thread| front.put(thread));
    if front.is_empty() { choice.able } else { front }
}
