//! What an exploration came to: one document, told in words, printed with `--json`, and joined by `--merge`.
//!
//! Law: numbers that JSON readers round (64 bits) are hexadecimal strings. What a part has seen is in the document only if
//! there are other parts to join it with.

use super::args::Args;
use super::finding::{Doubtful, Finding};
use crate::elf;
use crate::facts::Text;
use crate::status::say;
use crate::words::{count, thousands};
use retake_explore::coverage::Coverage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    pub schema: u32,
    pub asked: Asked,
    /// Which part of the runs this is.
    pub shard: Option<Part>,
    /// Parts that were joined, and those that were not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
    pub runs: u64,
    pub seconds: f64,
    /// The signal that ended it early.
    pub interrupted: Option<String>,
    pub failures: Vec<Finding>,
    /// Runs that failed, of which nothing could be shown.
    pub doubtful: Vec<Doubtful>,
    pub coverage: Counts,
    /// Every order of its operations was run, and all passed.
    pub all: Option<All>,
    /// All orders with at most so many preemptions or delays were run, and passed.
    pub all_within: Option<u32>,
    pub left_alone: Alone,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

/// What was asked for: the same for all parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub command: Vec<Text>,
    /// The program's build id, or its checksum and size.
    pub program: String,
    pub strategy: String,
    pub depth: Option<u32>,
    pub seed: String,
    /// Runs of all parts together.
    pub runs: u64,
    pub fail_if: Option<String>,
    pub ok_exit: Vec<i32>,
    pub timeout_seconds: u64,
    pub keep_going: bool,
}

impl Asked {
    pub fn new(args: &Args, exe: &Path) -> Asked {
        Asked {
            command: args.command.iter().map(|word| Text::new(word)).collect(),
            program: elf::identity(exe),
            strategy: args.strategy.name().into(),
            depth: args.depth,
            seed: format!("{:#x}", args.seed),
            runs: args.runs,
            fail_if: args.fail_if.clone(),
            ok_exit: args.ok_exit.clone(),
            timeout_seconds: args.timeout,
            keep_going: args.keep_going,
        }
    }
}

/// Part `part` of `of`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub part: u64,
    pub of: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Merged {
    pub of: u64,
    pub missing: Vec<u64>,
    /// Whether what the parts have seen could be joined. If not, the coverage is that of the part that saw most.
    pub is_coverage_joined: bool,
}

/// How much was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Orders of operations that depend on each other.
    pub orders: u64,
    /// Pairs of operations that depend on each other.
    pub pairs: u64,
    pub pairs_in_both_orders: u64,
}

impl Counts {
    pub fn of(coverage: &Coverage) -> Counts {
        let (both, pairs) = coverage.both();
        Counts { orders: coverage.orders.len() as u64, pairs: pairs as u64, pairs_in_both_orders: both as u64 }
    }

    /// `12 orders seen, 7 of 9 pairs of operations in both orders`.
    pub fn words(&self) -> String {
        let pairs = match self.pairs {
            1 => "1 pair of operations".into(),
            pairs => format!("{} pairs of operations", thousands(pairs)),
        };
        let both = thousands(self.pairs_in_both_orders);
        format!("{} seen, {both} of {pairs} in both orders", count(self.orders, "order"))
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct All {
    pub orders: u64,
    /// Left out: how often a thread that yields looks again.
    pub but_yields: bool,
}

/// Runs in which a thread was left to itself.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Alone {
    /// It computed for long.
    pub computed: u64,
    /// It waited outside of Retake's sight.
    pub outside: u64,
}

/// What a part has seen, by hashes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The order of the first run, which is the same in all parts if objects have the same names there.
    pub first: String,
    pub orders: Vec<String>,
    /// Pairs, with a bit for each order in which they were seen.
    pub pairs: BTreeMap<String, u8>,
}

impl Seen {
    pub fn new(first: u64, coverage: &Coverage) -> Seen {
        Seen {
            first: format!("{first:x}"),
            orders: coverage.orders.iter().map(|order| format!("{order:x}")).collect(),
            pairs: coverage.pairs.iter().map(|(pair, seen)| (format!("{pair:x}"), *seen)).collect(),
        }
    }

    /// Nothing if it is garbled.
    pub fn coverage(&self) -> Option<Coverage> {
        let number = |text: &String| u64::from_str_radix(text, 16).ok();
        Some(Coverage {
            orders: self.orders.iter().map(number).collect::<Option<_>>()?,
            pairs: self.pairs.iter().map(|(pair, seen)| Some((number(pair)?, *seen))).collect::<Option<_>>()?,
        })
    }
}

/// `0.4 s`, `41 s`.
pub fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

impl Document {
    /// What it came to.
    pub fn say(&self) {
        let failed = match self.failures.len() {
            0 => "none failed".into(),
            found => format!("{} failed", count(found as u64, "kind")),
        };
        let rate = self.runs as f64 / self.seconds.max(0.001);
        let (runs, took, seen) = (count(self.runs, "run"), seconds(self.seconds), self.coverage.words());
        say(format_args!("{runs}, {failed}, {took}: {} a second; {seen}", thousands(rate as u64)));
        if let Some(All { orders, but_yields }) = self.all {
            let but = if but_yields { ", but for how often a thread that yields looks again" } else { "" };
            let all = if orders == 1 { "the only order".into() } else { format!("all {}", count(orders, "order")) };
            say(format_args!("{all} of its operations passed{but}; memory that no lock protects may have more"));
        } else if let Some(bound) = self.all_within {
            let whose = if self.shard.is_some() { "of this part " } else { "" };
            say(format_args!("all orders {whose}with at most {bound} of them passed"));
        }
        if self.left_alone.computed > 0 {
            say(format_args!(
                "in {} a thread computed for 100 ms without an operation that Retake sees (it may spin on memory), and was left to itself",
                count(self.left_alone.computed, "run")
            ));
        }
        if self.left_alone.outside > 0 {
            say(format_args!(
                "in {} a thread waited outside of Retake's sight (a socket, a pipe, a futex of its own), and was left to itself",
                count(self.left_alone.outside, "run")
            ));
        }
    }

    pub fn print(&self) {
        // Structures of strings and numbers: they can always be written so.
        println!("{}", serde_json::to_string_pretty(self).unwrap_or_default());
    }
}
