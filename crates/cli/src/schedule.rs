//! Schedules as text: `retake schedule` prints one, `retake follow` reads one.
//!
//! ```text
//! # anything
//! points all          (or: points p-rep, which is meant where nothing is said)
//! 0,0,1 2
//! 1=EBUSY             (the operation of this step fails so)
//! ```
//! Numbers of threads, in the order of their creation, separated by commas, blanks or lines. Brackets around the whole
//! are passed over, because the tools that make schedules print them. Behind a number may stand what the operation
//! returns, if it could return something else: `=0`, an error by name, the value of a semaphore; or `=runs`, if the thread
//! runs what is run once.

use crate::Ending;
use crate::develop;
use crate::status::{Context, Failure, Result, Status};
use crate::store::Store;
use crate::take::Take;
use retake_analysis::History;
use retake_tape::entry;
use retake_tape::op::Op;
use retake_tape::rich::WAITS;
use retake_tape::schedule::{STEPS_MAX, outcome, points};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Write;
use std::path::Path;

#[derive(clap::Args)]
pub struct Args {
    /// Which take: a name, a unique prefix, a directory, a packed file
    #[arg(default_value = "latest")]
    take: String,
    /// Run the command of a take that was not recorded here
    #[arg(long)]
    trust: bool,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let take = store.take(&args.take)?;
    let label = take.label();
    let schedule = Schedule::of_take(&store, take, args.trust)?;
    let mut out = std::io::stdout().lock();
    write!(out, "# the order of {label}\n{schedule}").because(|| "cannot print".into())?;
    Ok(Ending::Status(Status::Fine))
}

/// Which thread runs, step by step.
#[derive(Debug, PartialEq, Eq)]
pub struct Schedule {
    /// See [`points`].
    pub points: u32,
    pub steps: Vec<Step>,
}

/// Which thread, and what its operation returns: see [`outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub thread: u32,
    pub outcome: u32,
}

/// The errors by which tries and timed waits fail.
const ERRORS: [(&str, i32); 3] = [("EBUSY", libc::EBUSY), ("EAGAIN", libc::EAGAIN), ("ETIMEDOUT", libc::ETIMEDOUT)];
const RUNS: &str = "runs";
const CANCELLED: &str = "cancelled";

impl Step {
    fn parse(word: &str) -> std::result::Result<Step, String> {
        let (thread, said) = word.split_once('=').map_or((word, None), |(thread, said)| (thread, Some(said)));
        let thread = thread.parse().ok().filter(|thread| *thread < 1 << 24);
        let thread = thread.ok_or_else(|| format!("`{word}` is not the number of a thread"))?;
        let Some(said) = said else { return Ok(Step { thread, outcome: outcome::UNSAID }) };
        let error = ERRORS.iter().find(|(name, _)| *name == said).map(|(_, error)| *error as u32);
        let runs = (said == RUNS).then_some(outcome::RUNS);
        let cancelled = (said == CANCELLED).then_some(outcome::CANCELLED);
        let value = || said.parse().ok().filter(|value| *value <= outcome::RESULT_MAX);
        let outcome = error.or(runs).or(cancelled).or_else(value);
        outcome.map(|outcome| Step { thread, outcome }).ok_or_else(|| {
            format!(
                "`{word}`: behind = comes what the operation returns: 0, EBUSY, EAGAIN, ETIMEDOUT, a value, {RUNS}, or {CANCELLED}"
            )
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.thread)?;
        match (self.outcome, ERRORS.iter().find(|(_, error)| *error as u32 == self.outcome)) {
            (outcome::UNSAID, _) => Ok(()),
            (outcome::RUNS, _) => write!(f, "={RUNS}"),
            (outcome::CANCELLED, _) => write!(f, "={CANCELLED}"),
            (_, Some((name, _))) => write!(f, "={name}"),
            (value, None) => write!(f, "={value}"),
        }
    }
}

impl Schedule {
    /// What the user means: a file, a list, or a take.
    pub fn find(word: &str, trust: bool) -> Result<Schedule> {
        let path = Path::new(word);
        let refused = |why: String| Failure::own(why).next("retake follow 0,0,1 -- CMD").next("retake schedule TAKE");
        if path.is_file() && !word.ends_with(".retake") {
            let text = std::fs::read_to_string(path).because(|| format!("cannot read {word}"))?;
            return Schedule::parse(&text).map_err(|why| refused(format!("{word}: {why}")));
        }
        if word.chars().all(|c| c.is_ascii_digit() || " ,\n()[]".contains(c)) {
            return Schedule::parse(word).map_err(refused);
        }
        let store = Store::open()?;
        let take = store.take(word).map_err(|failure| failure.next("retake follow FILE -- CMD"))?;
        Schedule::of_take(&store, take, trust)
    }

    pub fn parse(text: &str) -> std::result::Result<Schedule, String> {
        let mut schedule = Schedule { points: points::P_REP, steps: Vec::new() };
        for (number, line) in text.lines().enumerate() {
            let at = |why: &str| format!("line {}: {why}", number + 1);
            let line = line.split('#').next().unwrap_or("").trim();
            if let Some(kind) = line.strip_prefix("points") {
                if !schedule.steps.is_empty() {
                    return Err(at("`points` must come before the first step"));
                }
                schedule.points = match kind.trim_matches([' ', ':', '\t']) {
                    "all" => points::ALL,
                    "p-rep" => points::P_REP,
                    other => return Err(at(&format!("`points {other}` is neither `points all` nor `points p-rep`"))),
                };
                continue;
            }
            let words = line.split(|c: char| c.is_whitespace() || ",()[]".contains(c)).filter(|word| !word.is_empty());
            for word in words {
                schedule.steps.push(Step::parse(word).map_err(|why| at(&why))?);
            }
        }
        let says = schedule.steps.iter().any(|step| step.outcome != outcome::UNSAID);
        if says && schedule.points != points::ALL {
            return Err("only a schedule that begins with `points all` can say what operations return".into());
        }
        match schedule.steps.len() {
            0 => Err("there is no step in it".into()),
            length if length > STEPS_MAX => Err(format!("it has {length} steps; {STEPS_MAX} is the most")),
            _ => Ok(schedule),
        }
    }

    /// The order of a take's first process, as a schedule of all points. Any order that respects what the threads waited
    /// for would do; this is the one in which the operations were noted.
    pub fn of_take(store: &Store, take: Take, trust: bool) -> Result<Schedule> {
        let (_, rich) = develop::rich_tapes(store, take, trust, "schedule")?;
        let cancelled: HashSet<usize> =
            History::new(&rich).filter(|note| note.rich.result == entry::CANCELLED).map(|note| note.thread).collect();
        let root = History::new(&rich);
        let owners: Vec<(String, u64)> =
            root.threads().iter().map(|(tape, thread)| (tape.name(), thread.header.number.into())).collect();
        let main = owners.iter().filter(|(process, _)| process == "0").map(|(_, number)| *number).min();
        let mut indexes: HashMap<u64, u32> = main.into_iter().map(|number| (number, 0)).collect();
        // The main thread runs to its first point.
        let mut steps = vec![Step { thread: 0, outcome: outcome::UNSAID }];
        let mut ended = HashSet::new();
        let mut arrivals = Arrivals::default();
        for note in root {
            let (process, number) = &owners[note.thread];
            let rich = &note.rich;
            if process != "0" || !is_point(rich.op) || rich.result == WAITS && rich.op != Op::Barrier {
                continue;
            }
            if rich.op == Op::ThreadCreate {
                let next = indexes.len() as u32;
                indexes.insert(rich.version, next);
            }
            // What destructors do when a thread's function has ended is not scheduled.
            let Some(&index) = indexes.get(number).filter(|index| !ended.contains(*index)) else { continue };
            if rich.op == Op::ThreadEnd {
                ended.insert(index);
            }
            if rich.op == Op::Barrier {
                arrivals.pass(&mut steps, index, rich.object, rich.result);
            }
            let is_cancelled = cancelled.contains(&note.thread);
            steps.push(Step { thread: index, outcome: outcome_of(rich.op, rich.result, is_cancelled) });
        }
        Ok(Schedule { points: points::ALL, steps })
    }
}

/// What is said of an operation's result: nothing where following the order makes it so. A thread that is cancelled sooner
/// or later may be asked to end before an operation in which it did not.
fn outcome_of(op: Op, result: i64, is_cancelled: bool) -> u32 {
    use Op::*;
    let said = match op {
        CondWait | CondTimed | SemWait | SemTimed | ThreadJoin if result == entry::CANCELLED => {
            return outcome::CANCELLED;
        }
        CondWait | SemWait | ThreadJoin if result == 0 && is_cancelled => 0,
        Once if result != 0 => return outcome::RUNS,
        // Above a bit of its own.
        SemValue => result & 0xFFFF_FFFF,
        MutexTry | MutexTimed | CondTimed | RwTryRead | RwTimedRead | RwTryWrite | RwTimedWrite | SpinTry | SemTry
        | SemTimed | ThreadTryJoin | OmpTry => result,
        ThreadJoin if result != 0 => result,
        _ => return outcome::UNSAID,
    };
    u32::try_from(said).ok().filter(|said| *said <= outcome::RESULT_MAX).unwrap_or(outcome::UNSAID)
}

/// Arrivals at barriers, so that they can be put in the order that makes the recorded thread the serial one: whoever
/// arrives last. All arrivals of a round come before anybody leaves it.
#[derive(Default)]
struct Arrivals {
    /// Of the round that nobody has left yet: at which barrier, where in the schedule.
    open: Vec<(u64, usize)>,
    /// Rounds that somebody has left.
    rounds: Vec<(u64, Vec<usize>)>,
}

impl Arrivals {
    /// Thread `index` arrives at `barrier` or, with a `result`, leaves it; serial if that is not 0.
    fn pass(&mut self, steps: &mut [Step], index: u32, barrier: u64, result: i64) {
        if result == WAITS {
            self.open.push((barrier, steps.len()));
            return;
        }
        let is_own = |at: &usize| steps[*at].thread == index;
        if self.open.iter().any(|(at_barrier, at)| *at_barrier == barrier && is_own(at)) {
            let (round, rest) = self.open.iter().partition(|(at_barrier, _)| *at_barrier == barrier);
            self.open = rest;
            let round: Vec<(u64, usize)> = round;
            self.rounds.retain(|(at_barrier, _)| *at_barrier != barrier);
            self.rounds.push((barrier, round.into_iter().map(|(_, at)| at).collect()));
        }
        let round = self.rounds.iter().find(|(at_barrier, _)| *at_barrier == barrier);
        if let (Some((_, round)), true) = (round, result != 0)
            && let (Some(&own), Some(&last)) = (round.iter().find(|at| is_own(at)), round.last())
        {
            // It arrives later; whatever stood in between moves up.
            steps[own..=last].rotate_left(1);
            let moved = |at: &mut usize| match *at {
                here if here == own => *at = last,
                here if here > own && here <= last => *at -= 1,
                _ => {}
            };
            self.open.iter_mut().for_each(|(_, at)| moved(at));
            self.rounds.iter_mut().flat_map(|(_, round)| round).for_each(moved);
        }
    }
}

/// Whether the operation is a point when all are.
fn is_point(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        MutexLock
            | MutexTry
            | MutexTimed
            | MutexUnlock
            | CondWait
            | CondTimed
            | CondSignal
            | CondBroadcast
            | RwRead
            | RwTryRead
            | RwTimedRead
            | RwWrite
            | RwTryWrite
            | RwTimedWrite
            | RwUnlock
            | SpinLock
            | SpinTry
            | SpinUnlock
            | Barrier
            | SemWait
            | SemTry
            | SemTimed
            | SemPost
            | SemValue
            | ThreadCreate
            | ThreadJoin
            | ThreadTryJoin
            | ThreadStart
            | ThreadEnd
            | Once
            | OmpCritical
            | OmpCriticalEnd
            | OmpLock
            | OmpTry
            | OmpUnlock
            | Exit
    )
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.points == points::ALL {
            writeln!(f, "points all")?;
        }
        for line in self.steps.chunks(40) {
            let line: Vec<String> = line.iter().map(Step::to_string).collect();
            writeln!(f, "{}", line.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let plain = |threads: &[u32]| {
            let steps = threads.iter().map(|thread| Step { thread: *thread, outcome: outcome::UNSAID });
            Ok(Schedule { points: points::P_REP, steps: steps.collect() })
        };
        assert_eq!(Schedule::parse("0,0,0,1,1,2"), plain(&[0, 0, 0, 1, 1, 2]));
        assert_eq!(Schedule::parse("# by hand\n0 0,1 # then\n\n(2)\n"), plain(&[0, 0, 1, 2]));
        let all = Schedule::parse("points all\n0\n1\n").unwrap();
        assert_eq!((all.points, all.steps.len()), (points::ALL, 2));
        assert_eq!(Schedule::parse(&all.to_string()).unwrap(), all);
        let text = "points all\n0,1=0,2=EBUSY,1=ETIMEDOUT,1=EAGAIN,2=7,2=runs,1=cancelled\n";
        let said = Schedule::parse(text).unwrap();
        assert_eq!((said.steps[2].outcome, said.steps[5].outcome), (libc::EBUSY as u32, 7));
        assert_eq!(said.to_string(), text);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let refused = |text: &str| Schedule::parse(text).unwrap_err();
        assert_eq!(refused("0,x"), "line 1: `x` is not the number of a thread");
        assert_eq!(refused("0\npoints all"), "line 2: `points` must come before the first step");
        assert_eq!(refused("points some\n0"), "line 1: `points some` is neither `points all` nor `points p-rep`");
        assert_eq!(refused("# nothing"), "there is no step in it");
        assert_eq!(refused("0,-1"), "line 1: `-1` is not the number of a thread");
        assert!(refused("points all\n0=maybe").starts_with("line 2: `0=maybe`: behind = comes what"));
        assert!(refused("0,1=0").starts_with("only a schedule that begins with `points all`"));
    }

    #[test]
    fn the_serial_thread_arrives_last() {
        let step = |thread| Step { thread, outcome: outcome::UNSAID };
        let (mut steps, mut arrivals) = (vec![step(0)], Arrivals::default());
        // Two rounds of two: thread 1 is serial in the first, and is still inside when thread 2 arrives again.
        for (index, result) in [(1, WAITS), (2, WAITS), (2, 0), (2, WAITS), (1, -1), (1, WAITS), (1, -1), (2, 0)] {
            arrivals.pass(&mut steps, index, 7, result);
            steps.push(step(index));
        }
        assert_eq!(steps, [0, 2, 1, 2, 2, 1, 1, 1, 2].map(step));
    }
}
