//! Why a run fails: the two or three operations whose order decides.
//!
//! They are found by trying (`retake_explore::decide`, `between`). A run in which they come the other way round is recorded, too: it
//! has the names and lines of what the failing run never came to.
//!
//! Law: what is told has been tried, on the program itself; where nothing could be shown, nothing is told.

use super::outcome::Judge;
use super::shrinking;
use super::slot::Slot;
use crate::develop;
use crate::lines;
use crate::names::ObjectNames;
use crate::record::Recorded;
use crate::status::{Failure, Result};
use crate::store::Store;
use crate::symbols::{Place, Symbols};
use crate::take::TempDir;
use retake_analysis::{History, Note};
use retake_explore::between::{Between, Switch, between, switch};
use retake_explore::decide::{Decision, Step, Tried, begins_to_wait, decide};
use retake_explore::depends::op;
use retake_explore::{Choice, flag};
use retake_tape::op::Op;
use retake_tape::reader::Tape;
use retake_tape::rich::WAITS;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// Looking for what decides takes no longer than that, and no more runs.
const TIME_MAX: Duration = Duration::from_secs(10);
const RUNS_MAX: usize = 100;
/// Frames of a stack that are shown.
const FRAMES: usize = 3;
const A_CONDITION: &str = "a condition";

/// What decides, as it was found.
pub enum Decided {
    Pair(Decision),
    /// The pair, and the third one.
    Three(Decision, Between),
    Switch(Switch),
}

/// How operations decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Of two, the second one should have come first.
    Order,
    /// Of three, the second one came between the others.
    Between,
    /// Behind the first, its thread should have gone on, instead of the second one's.
    Switch,
}

/// What decides: operations in the order in which the failing run did them, or was about to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explanation {
    pub how: How,
    pub operations: Vec<Operation>,
    /// The first one is a signal that the second one would have waited for.
    pub is_unheard: bool,
}

/// One of the operations that decide.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Operation {
    pub thread: String,
    /// What the thread was created to run.
    pub function: Option<String>,
    /// `lock mutex a`.
    pub what: String,
    pub stack: Vec<Place>,
}

impl Operation {
    /// `0.1 (worker)`.
    fn who(&self) -> String {
        match &self.function {
            Some(function) => format!("{} ({function})", self.thread),
            None => self.thread.clone(),
        }
    }

    fn places(&self) -> String {
        self.stack.iter().map(Place::to_string).collect::<Vec<_>>().join(" < ")
    }
}

impl Explanation {
    pub fn words(&self) -> String {
        let mut lines = vec!["what decides:".to_owned()];
        for (place, operation) in self.operations.iter().enumerate() {
            let when = match (self.how, place) {
                (How::Switch, 0) => "after",
                (How::Switch, _) => "went on:",
                (_, 0) => "first",
                _ => "then ",
            };
            lines.push(format!("  {when} {}: {}", operation.who(), operation.what));
            if !operation.stack.is_empty() {
                lines.push(format!("        at {}", operation.places()));
            }
        }
        if self.is_unheard {
            lines.push("  so nobody heard the signal".into());
        }
        let who = |place: usize| self.operations.get(place).map_or("", |operation| &operation.thread);
        lines.push(match self.how {
            How::Order => "  the other way round it passes (tried)".into(),
            How::Between => {
                format!("  {} came between the two of {}; before both or after both it passes (tried)", who(1), who(0))
            }
            How::Switch => format!(
                "  if {} goes on there, it passes (tried): look for memory that both use without a lock",
                who(0)
            ),
        });
        lines.join("\nretake: ")
    }

    /// The operations and their lines: the same for whichever threads do them, and whoever calls these functions.
    pub fn group(&self) -> String {
        let place = |operation: &Operation| operation.stack.first().map(Place::to_string);
        self.operations.iter().map(|it| format!("{} at {:?}", it.what, place(it))).collect::<Vec<_>>().join(", then ")
    }
}

/// What decides, with names and lines. `kept` is the failing run; `record` makes a take of a run with these choices, there.
pub fn explained(
    decided: &Decided,
    kept: &Path,
    record: impl FnOnce(Vec<u16>, OsString) -> Result<Recorded>,
) -> Result<Explanation> {
    let (decision, third) = match decided {
        Decided::Pair(decision) => (decision, None),
        Decided::Three(decision, between) => (decision, Some(between)),
        Decided::Switch(Switch { stopped, goes }) => {
            let operations = vec![look_up(kept, stopped)?, look_up(kept, goes)?];
            return Ok(Explanation { how: How::Switch, operations, is_unheard: false });
        }
    };
    let Decision { first, then, passing } = decision;
    let dir = TempDir::in_memory()?;
    let passing = record(passing.clone(), dir.path().join("take").into())?;
    let (mut earlier, later) = (look_up(kept, first)?, look_up(&passing.dir, then)?);
    // A wait that never ended has no name in its take; whoever signals knows it.
    if let (true, Some((_, name))) = (earlier.what.ends_with(A_CONDITION), later.what.split_once("condition ")) {
        earlier.what = earlier.what.replace(A_CONDITION, &format!("condition {name}"));
    }
    let is_unheard = matches!(op(&first.act), Some(Op::CondSignal | Op::CondBroadcast)) && begins_to_wait(&then.act);
    let mut operations = vec![earlier, later];
    match third {
        Some(third) if third.middle == *first => operations.insert(0, look_up(kept, &third.before)?),
        Some(third) => operations.push(look_up(kept, &third.after)?),
        None => {}
    }
    let how = if third.is_some() { How::Between } else { How::Order };
    Ok(Explanation { how, operations, is_unheard })
}

/// Looks for what decides that the run of `log` fails.
pub fn decided(slot: &mut Slot, judge: &Judge, log: &[Choice]) -> Result<Option<Decided>> {
    let until = Instant::now() + TIME_MAX;
    let mut error: Option<Failure> = None;
    let mut attempt = |choices: &[u16]| -> Result<Option<Tried>> {
        let Some(run) = shrinking::follow(slot, choices)? else { return Ok(None) };
        Ok(Some(Tried { passed: judge.judge(run.outcome, &slot.output)?.is_none(), log: run.log }))
    };
    let mut run = |choices: &[u16]| match attempt(choices) {
        Ok(tried) => tried.filter(|_| Instant::now() < until),
        Err(failure) => {
            error = Some(failure);
            None
        }
    };
    let decided = match decide(&mut run, log, RUNS_MAX) {
        Some(decision) => Some(match between(&mut run, log, &decision) {
            Some(third) => Decided::Three(decision, third),
            None => Decided::Pair(decision),
        }),
        None => switch(&mut run, log).map(Decided::Switch),
    };
    error.map_or(Ok(decided), Err)
}

/// The operation in the take that lies there.
fn look_up(dir: &Path, step: &Step) -> Result<Operation> {
    let store = Store::open()?;
    let take = store.take(&dir.to_string_lossy())?;
    let tapes = take.tapes()?;
    let (take, rich) = develop::rich_tapes(&store, take, true, "explore")?;
    Ok(told(step, &rich, &mut lines::symbols(&take.dir, &tapes)))
}

/// The operation with its names and lines, as the take's notes have them.
fn told(step: &Step, rich: &[Tape], symbols: &mut Symbols) -> Operation {
    let history = History::new(rich);
    let all: Vec<_> = history.threads().to_vec();
    let mut names = ObjectNames::new(rich);
    // Threads are numbered as they are created; the first process alone is explored.
    let main = all.iter().filter(|(tape, _)| tape.name() == "0").map(|(_, thread)| thread.header.number).min();
    let mut numbers: Vec<u64> = main.into_iter().map(u64::from).collect();
    let (mut seen, mut found, mut object, mut runs) = (0, None, String::new(), None);
    for note in history {
        let (tape, thread) = all[note.thread];
        if tape.name() != "0" {
            continue;
        }
        let name = names.name("0", &thread.name, &note.rich, symbols);
        if note.rich.op == Op::ThreadCreate {
            numbers.push(note.rich.version);
        }
        let is_its = numbers.get(step.act.thread as usize) == Some(&thread.header.number.into());
        if is_its && runs.is_none() {
            runs = symbols.runs("0", thread.header.start, &note.rich.pcs);
        }
        if !is_its || u16::from(note.rich.op as u8) != step.act.op {
            continue;
        }
        let waits = note.rich.result == WAITS && note.rich.op != Op::Barrier;
        if !waits && seen == step.nth {
            (found, object) = (Some(note), name);
        }
        seen += usize::from(!waits);
    }
    let number = numbers.get(step.act.thread as usize).copied();
    let thread = all.iter().find(|(tape, thread)| tape.name() == "0" && Some(thread.header.number.into()) == number);
    let thread = thread.map_or_else(String::new, |(_, thread)| thread.name.clone());
    let mut stack = found.map_or_else(Vec::new, |note| symbols.stack("0", &note.rich.pcs));
    stack.truncate(FRAMES);
    Operation { thread, function: runs, what: what(step, &object, found.as_ref(), symbols), stack }
}

/// `lock mutex a`.
fn what(step: &Step, object: &str, note: Option<&Note>, symbols: &mut Symbols) -> String {
    if begins_to_wait(&step.act) {
        let condition = note.and_then(|note| note.next).and_then(|(_, object)| symbols.variable("0", object));
        return format!(
            "begin to wait for {}",
            condition.map_or(A_CONDITION.into(), |name| format!("condition {name}"))
        );
    }
    let op = op(&step.act);
    if op == Some(Op::CondTimed) && step.act.has(flag::TIMES_OUT) {
        return format!("time-out of the wait for condition {object}");
    }
    let word = op.map_or("go on", Op::word);
    match object.split_once('#') {
        // A name that was made up says what it is.
        Some((kind, _)) => format!("{} {object}", word.strip_suffix(kind).unwrap_or(word).trim_end()),
        None if object.is_empty() => word.to_owned(),
        None => format!("{word} {object}"),
    }
}
