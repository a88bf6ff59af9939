//! A failure that was found: what is told of it, in words and in `--json`.
//!
//! Law: two failures are of one kind if the same operations at the same lines are told, whichever threads did them and
//! whoever called the functions that these lines are in.

use super::explain::Explanation;
use super::keep::REPLAYS;
use super::outcome::Outcome;
use crate::deadlock;
use crate::facts::{Ended, Text};
use crate::record::Recorded;
use crate::status::say;
use crate::symbols::Place;
use crate::words::count;
use retake_explore::portfolio::{Job, Strategy};
use retake_explore::shrink::Shrunk;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Which run failed first, from 1.
    pub run: u64,
    /// `exit`, `signal`, `deadlock`, `hang` or `fail-if`.
    pub kind: String,
    /// `exit 3`, `SIGABRT`.
    pub failure: String,
    /// Who chose its threads.
    pub strategy: String,
    /// Of PCT.
    pub depth: Option<u32>,
    /// Of a strategy that is random, in hexadecimal.
    pub seed: Option<String>,
    pub shrunk: Option<Smaller>,
    pub deadlock: Option<deadlock::Told>,
    pub decides: Option<Explanation>,
    pub take: String,
    pub directory: Text,
    /// How many runs failed so.
    pub times: u64,
}

/// The smallest run that fails so.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Smaller {
    /// Choices of the run that failed first.
    pub from_choices: usize,
    /// Choices that the default would not make.
    pub choices: usize,
    pub preemptions: usize,
    /// No run with fewer preemptions fails.
    pub is_least: bool,
    /// Threads to go on, by the order of their creation; then the default does the rest.
    pub order: Vec<u16>,
}

impl Smaller {
    pub fn new(shrunk: &Shrunk) -> Smaller {
        Smaller {
            from_choices: shrunk.before.steps,
            choices: shrunk.cost.deviations,
            preemptions: shrunk.cost.preemptions,
            is_least: shrunk.is_least,
            order: shrunk.choices.clone(),
        }
    }

    /// `1 884 choices shrunk to 2: 1 preemption`.
    fn words(&self) -> String {
        let least = if self.is_least { ", no fewer will do" } else { "" };
        let from = count(self.from_choices as u64, "choice");
        format!("{from} shrunk to {}: {}{least}", self.choices, count(self.preemptions as u64, "preemption"))
    }
}

impl Finding {
    pub fn new(run: u64, job: &Job, failure: Outcome, shrunk: Option<&Shrunk>, recorded: Recorded) -> Finding {
        let is_random = matches!(job.strategy, Strategy::Random | Strategy::Pct | Strategy::Pos | Strategy::Surw);
        Finding {
            run,
            kind: kind(failure).into(),
            failure: failure.words(),
            strategy: job.strategy.name().into(),
            depth: (job.strategy == Strategy::Pct).then_some(job.plan.depth),
            seed: is_random.then(|| format!("{:#x}", job.plan.seed)),
            shrunk: shrunk.map(Smaller::new),
            deadlock: recorded.deadlock,
            decides: None,
            take: recorded.label,
            directory: Text::new(recorded.dir.as_os_str()),
            times: 0,
        }
    }

    /// What makes it one of its kind.
    pub fn group(&self) -> String {
        if let Some(deadlock) = &self.deadlock {
            let mut waits: Vec<String> = (deadlock.threads.iter())
                .map(|waits| {
                    format!("{} {:?} {:?}", waits.what, waits.object, waits.stack.first().map(Place::to_string))
                })
                .collect();
            waits.sort();
            return format!("deadlock {}", waits.join(", "));
        }
        match &self.decides {
            Some(decides) => decides.group(),
            None => self.failure.clone(),
        }
    }

    /// Everything but how it was found and where it is kept.
    pub fn say(&self) {
        if let Some(shrunk) = &self.shrunk {
            say(shrunk.words());
        }
        if let Some(deadlock) = &self.deadlock {
            say(deadlock.words());
        }
        if let Some(decides) = &self.decides {
            say(decides.words());
        }
    }

    /// All of it.
    pub fn say_found(&self, head: &str) {
        say(head);
        say(format_args!("replayed {REPLAYS} of {REPLAYS}: same failure"));
        self.say();
        let take = &self.take;
        say(format_args!("kept as {take}; next: retake replay {take} --gdb · retake show {take}"));
    }
}

fn kind(failure: Outcome) -> &'static str {
    match failure {
        Outcome::Ended(Ended::Exit(_)) => "exit",
        Outcome::Ended(Ended::Signal(_)) => "signal",
        Outcome::Deadlock => "deadlock",
        Outcome::Hang => "hang",
        Outcome::Refused(_) => "fail-if",
    }
}

/// A run that failed, of which nothing can be shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Doubtful {
    pub run: u64,
    pub failure: String,
    pub why: String,
}
