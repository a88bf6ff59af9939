//! `retake explore`: run a program again and again, in other orders each time, until one fails.
//!
//! ```text
//! plan --> slot: a run, one thread at a time --> log, outcome --> the next plan
//!                                                   | failed
//!                                                   v
//!                                    keep: the same choices as a take, replayed three times
//! ```

mod choices;
mod keep;
mod outcome;
mod plans;
mod slot;

use crate::replay::Output;
use crate::status::{Failure, Result, Status, say};
use crate::{Ending, elf, launch, launcher, record, shim, words};
use choices::{Clocks, threads};
pub use keep::Given;
use keep::{Kept, REPLAYS, keep};
use outcome::{Judge, Outcome};
use plans::{Planned, Plans, Strategy};
use slot::{Program, Run, Slot};
use std::ffi::OsString;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    /// Stop after so many runs
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Who chooses the thread that goes on
    #[arg(long, value_enum, default_value = "portfolio")]
    strategy: Strategy,
    /// How many orderings the bug needs (pct); without it, 1 to 5 in turn
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u32).range(1..=16))]
    depth: Option<u32>,
    /// Where the random numbers begin: the same seed finds the same
    #[arg(long, value_name = "S", default_value = "1", value_parser = number)]
    seed: u64,
    /// What fails although it ends well: /PATTERN/ in its output, or a command that reads its output and succeeds
    #[arg(long, value_name = "CMD|/PATTERN/")]
    fail_if: Option<String>,
    /// Exit statuses that are no failure, beside 0
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    ok_exit: Vec<i32>,
    /// A run in which nothing moves for so long hangs
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
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
    };
    let exploring = Exploring { judge: Judge::new(&args.ok_exit, args.fail_if.clone()), program, args };
    exploring.run()
}

struct Exploring {
    args: Args,
    program: Program,
    judge: Judge,
}

impl Exploring {
    fn run(&self) -> Result<Ending> {
        let started = Instant::now();
        let mut plans = Plans::new(self.args.strategy, self.args.seed, self.args.depth);
        let mut slot = Slot::new(&self.program)?;
        let mut done = 0;
        while done < self.args.runs {
            let planned = plans.next();
            slot.start(&planned.plan, &planned.prefix)?;
            let run = loop {
                slot.wait();
                if let Some(run) = slot.look()? {
                    break run;
                }
            };
            done += 1;
            plans.learn(&run.log);
            if let Some(failure) = self.judge.judge(run.outcome, &slot.output)?
                && self.found(done, &planned, &run, failure, started)?
            {
                return Ok(Ending::Status(Status::Found));
            }
        }
        say(format_args!("{}, none failed, {}", words::count(done, "run"), seconds(started)));
        Ok(Ending::Status(Status::Fine))
    }

    /// Tells of a failure, and keeps it. False if it is none that can be shown.
    fn found(&self, number: u64, planned: &Planned, run: &Run, failure: Outcome, started: Instant) -> Result<bool> {
        let seed = planned.plan.seed;
        say(format_args!(
            "run {number} of {} failed: {} ({}, seed {seed:#x}), {}",
            self.args.runs,
            failure.words(),
            planned.words(),
            seconds(started)
        ));
        let given = Given {
            plan: Box::new(planned.plan.clone()),
            prefix: threads(&run.log),
            clocks: self.program.clocks,
            patience: self.program.patience,
            output: Output::new()?,
        };
        match keep(&self.args.command, self.args.output.clone(), given, failure)? {
            Kept::Same(recorded) => {
                say(format_args!("replayed {REPLAYS} of {REPLAYS}: same failure"));
                say(format_args!("{} made", words::count(run.log.len() as u64, "choice")));
                if let Some(deadlock) = &recorded.deadlock {
                    say(deadlock);
                }
                let label = &recorded.label;
                say(format_args!("kept as {label}; next: retake replay {label} --gdb · retake show {label}"));
                Ok(true)
            }
            Kept::Otherwise(outcome) => {
                say(format_args!(
                    "the same choices ended with {} when they were made once more: the program depends on something else ({}); not counted as found",
                    outcome.words(),
                    suspect(run)
                ));
                Ok(false)
            }
            Kept::NotReplayed(why) => {
                say(format_args!("its take does not replay: {why} ({}); not counted as found", suspect(run)));
                Ok(false)
            }
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

fn seconds(since: Instant) -> String {
    let seconds = since.elapsed().as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}
