//! A failing run, made smaller, made again, and told: what failed, what decides, and the line that runs it again.
//!
//! Law: what is told to come back has come back three times of three; what is told to decide has been tried.

use super::run::{End, Failure, Place};
use super::{Done, Exploration, order, words};
use retake_explore::decide::{Decision, Step, Tried, begins_to_wait, decide};
use retake_explore::depends::op;
use retake_explore::log::choices;
use retake_explore::shrink::{self, Shrunk, Trial};
use retake_explore::{Choice, flag};
use retake_tape::op::Op;
use std::time::{Duration, Instant};

/// What making it smaller may cost, and looking for what decides.
const SHRINK_RUNS: u64 = 2000;
const DECIDE_RUNS: usize = 100;
const TIME: Duration = Duration::from_secs(5);
const REPLAYS: usize = 3;
/// In longer runs it is not looked for what decides: every two of their operations would have to be looked at.
const STEPS_MAX: usize = 4096;

/// The message of the panic that ends an exploration.
pub fn tell(exploration: &mut Exploration, name: &str, head: String, done: &Done, failure: &Failure) -> String {
    let mut lines = vec![head];
    if *failure == Failure::Hang {
        lines.extend(done.story.iter().cloned());
        return format!("retake: {}", lines.join("\nretake: "));
    }
    let shrunk = shrink(exploration, done, failure);
    let order = if shrunk.fails_again { shrunk.choices.clone() } else { choices(&done.log) };
    let agains: Vec<Done> = (0..REPLAYS).map(|_| exploration.again(&order)).collect();
    let same = agains.iter().filter(|again| again.end == End::Failed(failure.clone())).count();
    let last = agains.into_iter().next_back();
    if let Some(last) = last.filter(|_| same == REPLAYS) {
        lines.extend(last.story.iter().cloned());
        lines.push(format!("the same order failed in {same} of {REPLAYS} more runs"));
        if shrunk.fails_again {
            lines.push(smaller(&shrunk));
            lines.extend(decided(exploration, &last));
        }
        lines.push(format!("to run it again: {}", order::command(name, &order)));
    } else {
        lines.extend(done.story.iter().cloned());
        lines.push(format!("the same order failed in {same} of {REPLAYS} more runs: it depends on something else"));
        lines.push(suspect(exploration, done));
    }
    format!("retake: {}", lines.join("\nretake: "))
}

struct Shrinking<'a> {
    exploration: &'a mut Exploration,
    failure: &'a Failure,
    until: Instant,
}

impl shrink::Run for Shrinking<'_> {
    fn run(&mut self, choices: &[u16]) -> Option<Trial> {
        if Instant::now() > self.until {
            return None;
        }
        let done = self.exploration.again(choices);
        Some(Trial { failed: done.end == End::Failed(self.failure.clone()), log: done.log })
    }
}

fn shrink(exploration: &mut Exploration, done: &Done, failure: &Failure) -> Shrunk {
    let mut shrinking = Shrinking { exploration, failure, until: Instant::now() + TIME };
    shrink::shrink(&mut shrinking, &done.log, SHRINK_RUNS)
}

fn smaller(shrunk: &Shrunk) -> String {
    let least = if shrunk.is_least { ", no fewer will do" } else { "" };
    format!(
        "{} shrunk to {}: {}{least}",
        words::count(shrunk.before.steps as u64, "choice"),
        shrunk.cost.deviations,
        words::count(shrunk.cost.preemptions as u64, "preemption")
    )
}

/// The two operations whose order decides, in words, if they can be told.
fn decided(exploration: &mut Exploration, failing: &Done) -> Vec<String> {
    if failing.log.len() > STEPS_MAX {
        return Vec::new();
    }
    let until = Instant::now() + TIME;
    let mut run = |choices: &[u16]| {
        let done = exploration.again(choices);
        let passed = matches!(done.end, End::Passed);
        (Instant::now() < until).then_some(Tried { passed, log: done.log })
    };
    let Some(Decision { first, then, passing }) = decide(&mut run, &failing.log, DECIDE_RUNS) else {
        return Vec::new();
    };
    let passing = exploration.again(&passing);
    let told = |step: &Step| place(failing, step).or_else(|| place(&passing, step));
    let (Some(earlier), Some(later)) = (told(&first), told(&then)) else { return Vec::new() };
    let line = |when: &str, step: &Step, place: &Place| {
        let thread = failing.threads.get(step.act.thread as usize).or(passing.threads.get(step.act.thread as usize));
        let late = if step.act.has(flag::TIMES_OUT) { " (its time is over)" } else { "" };
        format!("  {when} {}: {}{late}", thread.map_or("", String::as_str), words::place(place))
    };
    let mut lines = vec!["what decides:".to_owned(), line("first", &first, &earlier), line("then ", &then, &later)];
    if matches!(op(&first.act), Some(Op::CondSignal | Op::CondBroadcast)) && begins_to_wait(&then.act) {
        lines.push("  so nobody heard the signal".into());
    }
    lines.push("  the other way round it passes (tried)".into());
    lines
}

/// Where the step stands in the program, if that run came there.
fn place(done: &Done, step: &Step) -> Option<Place> {
    let is_it = |choice: &Choice| choice.chosen.thread == step.act.thread && choice.chosen.op == step.act.op;
    let mut its = done.log.iter().zip(&done.places).filter(|(choice, _)| is_it(choice));
    let before = its.clone().count();
    let made = its.nth(step.nth).map(|(_, place)| *place);
    made.or_else(|| done.left.get(step.act.thread as usize).copied().flatten().filter(|_| before == step.nth))
}

/// Why the same order did not give the same run, as far as it shows.
fn suspect(exploration: &mut Exploration, done: &Done) -> String {
    let again = exploration.again(&choices(&done.log));
    let differs = |(one, other): (&Choice, &Choice)| (one.chosen, one.able) != (other.chosen, other.able);
    let step = done.log.iter().zip(&again.log).position(differs);
    let likely = "likely state that outlives a run (a static), a clock, random numbers or the order of a HashMap, or a thread \
                  that is not retake's";
    let here = step.and_then(|step| Some((done.places.get(step)?, again.places.get(step)?)));
    match here {
        Some((one, other)) => {
            format!(
                "the runs part where one was about to {} and the other to {}: {likely}",
                words::place(one),
                words::place(other)
            )
        }
        None => likely.into(),
    }
}
