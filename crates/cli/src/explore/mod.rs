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

mod choices;
mod explain;
mod keep;
mod outcome;
mod progress;
mod server;
mod shrinking;
mod slot;

use crate::facts::Ended as Died;
use crate::record::Recorded;
use crate::replay::Output;
use crate::status::{Failure, Result, Status, say};
use crate::{Ending, elf, launch, launcher, record, shim, words};
use choices::Clocks;
pub use keep::Given;
use keep::{Kept, REPLAYS, keep};
use outcome::{Judge, Outcome};
use progress::Progress;
use retake_explore::bounded::Shard;
use retake_explore::log::choices as chosen;
use retake_explore::plan::kind;
use retake_explore::portfolio::{Ended, Job, Next, Portfolio, Settings, Strategy};
use retake_explore::{Choice, Plan, flag};
use slot::{Program, Run, Slot};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// Stop after so many runs
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Who chooses the thread that goes on: portfolio, random, pct, pos, surw, delay, preempt, all
    #[arg(long, default_value = "portfolio", value_parser = strategy)]
    strategy: Strategy,
    /// How many orderings the bug needs (pct), or most delays or preemptions
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u32).range(1..=16))]
    depth: Option<u32>,
    /// Where the random numbers begin: the same seed finds the same
    #[arg(long, value_name = "S", default_value = "1", value_parser = number)]
    seed: u64,
    /// Runs made at once; as many as there are processors if not given
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: Option<u32>,
    /// What fails although it ends well: /PATTERN/ in its output, or a command that reads its output and succeeds
    #[arg(long, value_name = "CMD|/PATTERN/")]
    fail_if: Option<String>,
    /// Exit statuses that are no failure, beside 0
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    ok_exit: Vec<i32>,
    /// A run in which nothing moves for so long hangs
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Do not stop at the first failure: keep one take of each kind
    #[arg(long)]
    keep_going: bool,
    /// Make only part K of N of the runs, so that N machines share them
    #[arg(long, value_name = "K/N", value_parser = shard)]
    shard: Option<(u64, u64)>,
    /// Try the order of this take first: it was found by exploring an earlier build of the program
    #[arg(long, value_name = "TAKE")]
    replay_first: Option<String>,
    /// Start the program anew for each run, instead of copying one that is about to begin
    #[arg(long)]
    fresh: bool,
    /// Put the take here instead of into the store
    #[arg(short, long, value_name = "DIR")]
    output: Option<OsString>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// A number, decimal or hexadecimal.
fn number(text: &str) -> std::result::Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number"))
}

fn strategy(text: &str) -> std::result::Result<Strategy, String> {
    match text {
        "delay" => Ok(Strategy::Delays),
        "preempt" => Ok(Strategy::Preemptions),
        "all" => Ok(Strategy::Exhaustive),
        other => Strategy::from_name(other).ok_or_else(|| {
            format!("there is no strategy `{other}`: portfolio, random, pct, pos, surw, delay, preempt, all")
        }),
    }
}

fn shard(text: &str) -> std::result::Result<(u64, u64), String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    parts.filter(|(part, of)| (1..=*of).contains(part)).ok_or_else(|| format!("`{text}` is not like 2/5"))
}

pub fn main(args: Args) -> Result<Ending> {
    if shim::is_loaded_here() {
        return Err(Failure::own("this is already being recorded or replayed: exploring cannot run inside it")
            .next("retake explore, outside of it"));
    }
    let path = std::env::var_os("PATH");
    let exe = launch::find_program(&args.command[0], path.as_deref())?;
    record::refuse_unfit(&elf::examine(&exe), false)?;
    let program = Program {
        argv: launcher::arguments(&exe, args.command.clone()),
        exe,
        patience: Duration::from_secs(args.timeout),
        clocks: Clocks::now(),
        is_copied: !args.fresh,
    };
    let first = args.replay_first.as_deref().map(keep::kept_choices).transpose()?.unwrap_or_default();
    let (part, of) = args.shard.unwrap_or((1, 1));
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
        found: BTreeSet::new(),
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
    program: Program,
    judge: Judge,
    portfolio: Portfolio,
    slots: Vec<Slot>,
    progress: Progress,
    /// Failures that were told, by their words.
    found: BTreeSet<String>,
    runs: u64,
}

impl Exploring {
    fn run(mut self) -> Result<Ending> {
        let (mut handed, mut taken) = (0, 0);
        let mut under_way: Vec<Option<(u64, Job)>> = self.slots.iter().map(|_| None).collect();
        let mut back: BTreeMap<u64, Back> = BTreeMap::new();
        let mut has_more = true;
        launch::note_requests();
        loop {
            if let Some(signal) = launch::asked_to_end() {
                self.progress.conclude(taken, &self.portfolio, self.found.len());
                return Ok(Ending::Like(Died::Signal(signal)));
            }
            // Results are taken in order: nobody runs so far ahead that the order would depend on the machine.
            let ahead = self.runs.min(taken + self.slots.len() as u64);
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
                break;
            }
            if !back.contains_key(&taken) {
                slot::wait_for_any(&self.slots);
            }
            self.collect(&mut under_way, &mut back)?;
            // One at a time: what is handed out next must not depend on how many have come back.
            if let Some(next) = back.remove(&taken) {
                taken += 1;
                let (failure, job) = (next.failure, &next.job);
                self.tell_first(job, &next.run);
                if let Some(failure) = failure {
                    // The slots are needed to make it smaller.
                    self.finish(&mut under_way, &mut back)?;
                    if self.found(taken, &next.job, &next.run, failure)? && !self.args.keep_going {
                        return Ok(Ending::Status(Status::Found));
                    }
                    launch::note_requests();
                }
                let ended = match failure {
                    None => Ended::Passed,
                    Some(Outcome::Deadlock | Outcome::Hang) => Ended::Stuck,
                    Some(_) => Ended::Failed,
                };
                self.progress.left_alone(next.run.left_alone);
                self.portfolio.ran(next.job, &next.run.log, ended);
                self.progress.tell(taken, &self.portfolio);
            }
        }
        self.progress.conclude(taken, &self.portfolio, self.found.len());
        Ok(Ending::Status(if self.found.is_empty() { Status::Fine } else { Status::Found }))
    }

    /// Waits for the runs that are under way.
    fn finish(&mut self, under_way: &mut [Option<(u64, Job)>], back: &mut BTreeMap<u64, Back>) -> Result<()> {
        while under_way.iter().any(Option::is_some) {
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

    /// Makes a failure smaller, keeps it, and tells of it. False if it is none that can be shown.
    fn found(&mut self, number: u64, job: &Job, run: &Run, failure: Outcome) -> Result<bool> {
        let head = format!(
            "run {number} of {} failed: {} ({}), {}",
            self.runs,
            failure.words(),
            job.words(),
            self.progress.seconds()
        );
        let shrunk = shrinking::shrink(&mut self.slots[0], &self.judge, run, failure)?;
        let (plan, prefix) = match &shrunk {
            Some(shrunk) => (Plan::new(kind::STEADY, job.plan.seed), shrunk.choices.clone()),
            None => (job.plan.clone(), chosen(&run.log)),
        };
        let given = self.given(plan, prefix, run)?;
        self.progress.clear();
        let shown = given.output.try_clone()?;
        match keep(&self.args.command, self.args.output.clone(), given, failure)? {
            Kept::Same(recorded) => {
                let explanation = match &shrunk {
                    // The failure is there, explained or not.
                    Some(shrunk) => self.explain(&shrunk.log, run, &recorded).unwrap_or_else(|failure| {
                        say(format_args!("what decides could not be told: {}", failure.what));
                        None
                    }),
                    None => None,
                };
                let words = recorded.deadlock.clone().or_else(|| explanation.clone());
                if !self.found.insert(words.unwrap_or_else(|| failure.words())) {
                    let _ = std::fs::remove_dir_all(&recorded.dir);
                    return Ok(true);
                }
                show_output(&shown);
                say(head);
                say(format_args!("replayed {REPLAYS} of {REPLAYS}: same failure"));
                if let Some(shrunk) = &shrunk {
                    say(shrinking::words(shrunk));
                }
                if let Some(deadlock) = &recorded.deadlock {
                    say(deadlock);
                }
                if let Some(explanation) = &explanation {
                    say(explanation);
                }
                let label = &recorded.label;
                say(format_args!("kept as {label}; next: retake replay {label} --gdb · retake show {label}"));
                Ok(true)
            }
            Kept::Otherwise(outcome) => {
                say(head);
                say(format_args!(
                    "the same choices ended with {} when they were made once more: the program depends on something else ({}); not counted as found",
                    outcome.words(),
                    suspect(run)
                ));
                Ok(false)
            }
            Kept::NotReplayed(why) => {
                say(head);
                say(format_args!("its take does not replay: {why} ({}); not counted as found", suspect(run)));
                Ok(false)
            }
        }
    }
}

impl Exploring {
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

    /// Why the failing run of `log` fails, in words.
    fn explain(&mut self, log: &[Choice], run: &Run, kept: &Recorded) -> Result<Option<String>> {
        let Some(decision) = explain::decided(&mut self.slots[0], &self.judge, log)? else { return Ok(None) };
        let given = self.given(Plan::new(kind::STEADY, 0), decision.passing.clone(), run)?;
        explain::words(&decision, kept, |dir| record::explored(self.args.command.clone(), Some(dir), given)).map(Some)
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
