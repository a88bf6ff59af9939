//! `retake explore`: run a program again and again, in other orders each time, until one fails.
//!
//! ```text
//! portfolio --> slots: runs, one thread at a time --> log, outcome --> portfolio
//!                                                        | failed
//!                                                        v
//!         shrink: fewer choices --> keep: a take, replayed three times --> explain: what decides
//! ```
//!
//! Law: results are taken in the order in which the runs were handed out, however many are made at once; so the same seed
//! finds the same.

mod args;
mod choices;
mod explain;
mod finding;
mod keep;
mod merge;
mod outcome;
mod progress;
mod result;
mod server;
mod shrinking;
mod slot;

use crate::facts::Ended as Died;
use crate::replay::Output;
use crate::status::{Failure, Result, Status, say};
use crate::take::TempDir;
use crate::{Ending, elf, launch, launcher, record, shim, words};
pub use args::Args;
use choices::Clocks;
use finding::{Doubtful, Finding};
pub use keep::Given;
use keep::{Kept, keep};
use outcome::{Judge, Outcome};
use progress::Progress;
use result::{All, Alone, Asked, Counts, Document, Part, Seen};
use retake_explore::bounded::Shard;
use retake_explore::log::choices as chosen;
use retake_explore::order::Order;
use retake_explore::plan::kind;
use retake_explore::portfolio::{Ended, Job, Next, Portfolio, Settings, Strategy};
use retake_explore::{Choice, Plan, flag};
use slot::{Program, Run, Slot};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

pub fn main(args: Args) -> Result<Ending> {
    if !args.merge.is_empty() {
        return merge::main(&args);
    }
    if shim::is_loaded_here() {
        return Err(Failure::own("this is already being recorded or replayed: exploring cannot run inside it")
            .next("retake explore, outside of it"));
    }
    let path = std::env::var_os("PATH");
    let exe = launch::find_program(&args.command[0], path.as_deref())?;
    record::refuse_unfit(&elf::examine(&exe), false)?;
    // From here on there is something to remove in the end.
    launch::note_requests();
    TempDir::remove_left_behind();
    let asked = Asked::new(&args, &exe);
    let program = Program {
        argv: launcher::arguments(&exe, args.command.clone()),
        exe,
        patience: Duration::from_secs(args.timeout),
        clocks: Clocks::now(),
        is_copied: !args.fresh,
    };
    let first = args.replay_first.as_deref().map(keep::kept_choices).transpose()?.unwrap_or_default();
    let (part, of) = args.part();
    let settings = Settings {
        strategy: args.strategy,
        seed: args.seed,
        depth: args.depth,
        bound: args.depth,
        shard: Shard { part: part - 1, of },
        first,
    };
    let jobs = args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |n| n as usize);
    let runs = args.runs.div_ceil(of);
    let exploring = Exploring {
        judge: Judge::new(&args.ok_exit, args.fail_if.clone()),
        portfolio: Portfolio::new(settings),
        slots: (0..jobs.min(runs as usize)).map(|_| Slot::new(&program)).collect::<Result<_>>()?,
        progress: Progress::new(runs),
        taken: 0,
        first_order: 0,
        found: Vec::new(),
        known: HashMap::new(),
        doubtful: Vec::new(),
        alone: Alone::default(),
        asked,
        program,
        runs,
        args,
    };
    exploring.run()
}

/// A run that was handed out, and what became of it.
struct Back {
    job: Job,
    run: Run,
    failure: Option<Outcome>,
}

struct Exploring {
    args: Args,
    asked: Asked,
    program: Program,
    judge: Judge,
    portfolio: Portfolio,
    slots: Vec<Slot>,
    progress: Progress,
    runs: u64,
    /// Runs whose results were taken.
    taken: u64,
    first_order: u64,
    /// Failures that were told, one of each kind.
    found: Vec<Finding>,
    /// Which of them a failing order is.
    known: HashMap<(u64, Outcome), usize>,
    doubtful: Vec<Doubtful>,
    alone: Alone,
}

impl Exploring {
    fn run(mut self) -> Result<Ending> {
        let is_told = self.search()?;
        self.progress.clear();
        // Also where a failure has just been told: whoever asks for the end wants no other.
        let signal = launch::asked_to_end();
        let document = self.document(signal);
        if let Some(signal) = signal {
            let runs = words::count(self.taken, "run");
            say(format_args!("{} after {runs} of {}: stopped", words::signal(signal), words::thousands(self.runs)));
        }
        if signal.is_some() || !is_told {
            document.say();
        }
        if self.args.json {
            document.print();
        }
        Ok(match signal {
            Some(signal) => Ending::Like(Died::Signal(signal)),
            None if self.found.is_empty() => Ending::Status(Status::Fine),
            None => Ending::Status(Status::Found),
        })
    }

    /// Makes the runs. Whether it stopped at a failure, which has been told.
    fn search(&mut self) -> Result<bool> {
        let mut handed = 0;
        let mut under_way: Vec<Option<(u64, Job)>> = self.slots.iter().map(|_| None).collect();
        let mut back: BTreeMap<u64, Back> = BTreeMap::new();
        let mut has_more = true;
        loop {
            if launch::asked_to_end().is_some() {
                return Ok(false);
            }
            // Results are taken in order: nobody runs so far ahead that the order would depend on the machine.
            let ahead = self.runs.min(self.taken + self.slots.len() as u64);
            for (slot, place) in self.slots.iter_mut().zip(&mut under_way).filter(|(_, place)| place.is_none()) {
                if !has_more || handed >= ahead {
                    break;
                }
                match self.portfolio.next_run() {
                    Next::Run(job) => {
                        slot.start(&job.plan, &job.prefix)?;
                        *place = Some((handed, job));
                        handed += 1;
                    }
                    Next::Wait => break,
                    Next::Done => has_more = false,
                }
            }
            if under_way.iter().all(Option::is_none) && back.is_empty() {
                return Ok(false);
            }
            if !back.contains_key(&self.taken) {
                slot::wait_for_any(&self.slots);
            }
            self.collect(&mut under_way, &mut back)?;
            // One at a time: what is handed out next must not depend on how many have come back.
            if let Some(next) = back.remove(&self.taken) {
                self.taken += 1;
                if self.taken == 1 {
                    self.first_order = Order::of(&next.run.log);
                }
                self.tell_first(&next.job, &next.run);
                let order = next.failure.map(|failure| (Order::of(&next.run.log), failure));
                if let Some(index) = order.and_then(|order| self.known.get(&order)).copied() {
                    self.count(index, Vec::new());
                } else if let Some(failure) = next.failure {
                    // The slots are needed to make it smaller.
                    self.finish(&mut under_way, &mut back)?;
                    let is_found = self.found(&next.job, &next.run, failure)?;
                    launch::note_requests();
                    if is_found && !self.args.keep_going {
                        return Ok(true);
                    }
                }
                let ended = match next.failure {
                    None => Ended::Passed,
                    Some(Outcome::Deadlock | Outcome::Hang) => Ended::Stuck,
                    Some(_) => Ended::Failed,
                };
                let (spun, outside) = next.run.left_alone;
                self.alone.computed += u64::from(spun > 0);
                self.alone.outside += u64::from(outside > 0);
                let strategy = next.job.strategy;
                self.portfolio.ran(next.job, &next.run.log, ended);
                self.progress.tell(self.taken, strategy, &self.portfolio);
            }
        }
    }

    /// Waits for the runs that are under way, unless it is asked to end.
    fn finish(&mut self, under_way: &mut [Option<(u64, Job)>], back: &mut BTreeMap<u64, Back>) -> Result<()> {
        while under_way.iter().any(Option::is_some) && launch::asked_to_end().is_none() {
            slot::wait_for_any(&self.slots);
            self.collect(under_way, back)?;
        }
        Ok(())
    }

    /// Judges the runs that have ended.
    fn collect(&mut self, under_way: &mut [Option<(u64, Job)>], back: &mut BTreeMap<u64, Back>) -> Result<()> {
        for (slot, under_way) in self.slots.iter_mut().zip(under_way) {
            if let Some(run) = slot.look()?
                && let Some((number, job)) = under_way.take()
            {
                let failure = self.judge.judge(run.outcome, &slot.output)?;
                back.insert(number, Back { job, run, failure });
            }
        }
        Ok(())
    }

    /// Says how far the choices of an earlier take fitted.
    fn tell_first(&self, job: &Job, run: &Run) {
        let (Some(take), Strategy::First) = (&self.args.replay_first, job.strategy) else { return };
        match run.log.iter().position(|choice| choice.chosen.has(flag::STRAYED)) {
            Some(step) => say(format_args!(
                "{take} fits for the first {} of {}; from there the runs go on by themselves",
                words::count(step as u64, "choice"),
                job.prefix.len()
            )),
            None => say(format_args!("{take} fits: all {} made", words::count(job.prefix.len() as u64, "choice"))),
        }
    }

    /// One more run failed as the one that was told; so do all with these orders.
    fn count(&mut self, index: usize, orders: Vec<(u64, Outcome)>) {
        self.found[index].times += 1;
        self.known.extend(orders.into_iter().map(|order| (order, index)));
    }

    /// Makes a failure smaller, keeps it, and tells of it. False if it is none that can be shown.
    fn found(&mut self, job: &Job, run: &Run, failure: Outcome) -> Result<bool> {
        let number = self.taken;
        let head = format!(
            "run {number} of {} failed: {} ({}), {}",
            self.runs,
            failure.words(),
            job.words(),
            self.progress.words()
        );
        if launch::asked_to_end().is_some() {
            return Ok(self.doubt(number, failure, head, "there was no time to look at it".into()));
        }
        let shrunk = match self.args.no_shrink {
            true => None,
            false => shrinking::shrink(&mut self.slots[0], &self.judge, run, failure)?,
        };
        let mut orders = vec![(Order::of(&run.log), failure)];
        orders.extend(shrunk.iter().map(|shrunk| (Order::of(&shrunk.log), failure)));
        if let Some(index) = orders.last().and_then(|order| self.known.get(order)).copied() {
            self.count(index, orders);
            return Ok(true);
        }
        let (plan, prefix) = match &shrunk {
            Some(shrunk) => (Plan::new(kind::STEADY, job.plan.seed), shrunk.choices.clone()),
            None => (job.plan.clone(), chosen(&run.log)),
        };
        let given = self.given(plan, prefix, run)?;
        self.progress.clear();
        let shown = given.output.try_clone()?;
        let why = match keep(&self.args.command, self.output(), given, failure)? {
            Kept::Same(recorded) => {
                let mut finding = Finding::new(number, job, failure, shrunk.as_ref(), recorded);
                if let Some(shrunk) = &shrunk {
                    // The failure is there, explained or not.
                    match self.explain(&shrunk.log, run, Path::new(&finding.directory.os())) {
                        Ok(decides) => finding.decides = decides,
                        Err(failure) => say(format_args!("what decides could not be told: {}", failure.what)),
                    }
                }
                let group = finding.group();
                let told = self.found.iter().position(|told| told.group() == group);
                if told.is_some() {
                    let _ = std::fs::remove_dir_all(finding.directory.os());
                } else {
                    show_output(&shown);
                    finding.say_found(&head);
                    self.found.push(finding);
                }
                self.count(told.unwrap_or(self.found.len() - 1), orders);
                return Ok(true);
            }
            _ if launch::asked_to_end().is_some() => "there was no time to keep it".into(),
            Kept::Otherwise(outcome) => format!(
                "the same choices ended with {} when they were made once more: the program depends on something else ({})",
                outcome.words(),
                suspect(run)
            ),
            Kept::NotReplayed(why) => format!("its take does not replay: {why} ({})", suspect(run)),
        };
        Ok(self.doubt(number, failure, head, why))
    }

    /// A failure of which nothing can be shown: false.
    fn doubt(&mut self, run: u64, failure: Outcome, head: String, why: String) -> bool {
        say(head);
        say(format_args!("{why}; not counted as found"));
        self.doubtful.push(Doubtful { run, failure: failure.words(), why });
        false
    }

    /// Where the next take goes: the first one where the user said, the others beside it.
    fn output(&self) -> Option<OsString> {
        let mut output = self.args.output.clone()?;
        if !self.found.is_empty() {
            output.push(format!("-{}", self.found.len() + 1));
        }
        Some(output)
    }

    /// A run that is to be made once more as a take.
    fn given(&self, plan: Plan, prefix: Vec<u16>, run: &Run) -> Result<Given> {
        Ok(Given {
            plan: Box::new(plan),
            prefix,
            length: run.log.len(),
            clocks: self.program.clocks,
            patience: self.program.patience,
            output: Output::new()?,
        })
    }

    /// Why the failing run of `log` fails.
    fn explain(&mut self, log: &[Choice], run: &Run, kept: &Path) -> Result<Option<explain::Explanation>> {
        let Some(decided) = explain::decided(&mut self.slots[0], &self.judge, log)? else { return Ok(None) };
        let record = |choices, dir| {
            let given = self.given(Plan::new(kind::STEADY, 0), choices, run)?;
            record::explored(self.args.command.clone(), Some(dir), given)
        };
        let explanation = explain::explained(&decided, kept, record)?;
        // Who asks for the end also ends the runs that tell names and lines.
        Ok(launch::asked_to_end().is_none().then_some(explanation))
    }

    /// What it came to.
    fn document(&self, signal: Option<i32>) -> Document {
        let coverage = self.portfolio.coverage();
        let counts = Counts::of(coverage);
        let passed = self.found.is_empty() && self.doubtful.is_empty();
        // Who was left to itself ran in orders that no search knows.
        let is_known = self.alone.computed + self.alone.outside == 0;
        let all = self.portfolio.all_orders().filter(|(orders, _)| passed && is_known && *orders >= counts.orders);
        let shard = self.args.shard.map(|(part, of)| Part { part, of });
        Document {
            schema: result::SCHEMA,
            asked: self.asked.clone(),
            shard,
            merged: None,
            runs: self.taken,
            seconds: self.progress.elapsed().as_secs_f64(),
            interrupted: signal.map(words::signal),
            failures: self.found.clone(),
            doubtful: self.doubtful.clone(),
            coverage: counts,
            all: all.map(|(orders, but_yields)| All { orders, but_yields }),
            all_within: self.portfolio.all_within().filter(|_| passed),
            left_alone: self.alone,
            seen: shard.map(|_| Seen::new(self.first_order, coverage)),
        }
    }
}

/// Shows the end of what a failing run wrote, as it was written.
fn show_output(output: &Output) {
    /// Lines of each stream, at most.
    const LINES: usize = 10;
    for text in output.texts() {
        let lines: Vec<&str> = text.lines().collect();
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            eprintln!("{}", words::clean(line));
        }
    }
}

/// What may have made a run go another way.
fn suspect(run: &Run) -> &'static str {
    match run.left_alone {
        (0, 0) => "its input, files that runs before it left, or memory that it did not set",
        (0, _) => "it waits outside of Retake's sight: sockets, pipes, futexes of its own",
        _ => "it spins on memory, or computes for long",
    }
}
