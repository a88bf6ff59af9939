//! What `retake explore` can be asked for.

use retake_explore::portfolio::Strategy;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Stop after so many runs
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub runs: u64,
    /// Who chooses the thread that goes on: portfolio, random, pct, pos, surw, delay, preempt, all
    #[arg(long, default_value = "portfolio", value_parser = strategy)]
    pub strategy: Strategy,
    /// How many orderings the bug needs (pct), or most delays or preemptions
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub depth: Option<u32>,
    /// Where the random numbers begin: the same seed finds the same
    #[arg(long, value_name = "S", default_value = "1", value_parser = number)]
    pub seed: u64,
    /// Runs made at once; as many as there are processors if not given
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,
    /// What fails although it ends well: /PATTERN/ in its output, or a command that reads its output and succeeds
    #[arg(long, value_name = "CMD|/PATTERN/")]
    pub fail_if: Option<String>,
    /// Exit statuses that are no failure, beside 0
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub ok_exit: Vec<i32>,
    /// A run in which nothing moves for so long hangs
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Do not stop at the first failure: keep one take of each kind
    #[arg(long)]
    pub keep_going: bool,
    /// Keep the first run that fails as it is: it is not made smaller, and what decides is not looked for
    #[arg(long)]
    pub no_shrink: bool,
    /// Make only part K of N of the runs, so that N machines share them; --json writes what --merge joins
    #[arg(long, value_name = "K/N", value_parser = shard)]
    pub shard: Option<(u64, u64)>,
    /// Join what the parts of an exploration printed with --json; nothing is run
    #[arg(long, value_name = "RESULT", num_args = 1.., conflicts_with_all = ["shard", "keep_going", "replay_first", "output", "command"])]
    pub merge: Vec<PathBuf>,
    /// Try the order of this take first: it was found by exploring an earlier build of the program
    #[arg(long, value_name = "TAKE")]
    pub replay_first: Option<String>,
    /// Start the program anew for each run, instead of copying one that is about to begin
    #[arg(long)]
    pub fresh: bool,
    /// Put the take here instead of into the store
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<OsString>,
    /// Print what it came to as one JSON document; words still go to standard error
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "merge", value_name = "CMD")]
    pub command: Vec<OsString>,
}

impl Args {
    /// Which part of the runs, from 1, and of how many.
    pub fn part(&self) -> (u64, u64) {
        self.shard.unwrap_or((1, 1))
    }
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
