//! The portfolio: which run comes next, of which strategy; the one place that hands out runs.
//!
//! The first run is the default's, and tells how long runs are. Then the strategies take turns, by a fixed pattern: no
//! strategy finds every kind of bug, and one that is bad at a bug costs no more than its share. The exhaustive search gets
//! every second run at first, so that small programs are done with soon; the others go on, since they also find bugs in
//! which plain memory is touched between two operations, and no order of operations shows it.
//!
//! Law: a random run is a function of the seed, its number and the first run, whatever others have found meanwhile; so
//! shards share the numbers without talking: shard k of n makes the runs k, k + n, k + 2n, ... Only the searches depend
//! on what came back when, if several runs are made at once.

use crate::bounded::{Bounded, By, Open, Shard};
use crate::coverage::Coverage;
use crate::estimate::Estimates;
use crate::exhaustive::Exhaustive;
use crate::plan::{Plan, kind};
use crate::random::{Random, mix};
use crate::{Choice, flag};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    Portfolio,
    /// The first run, by the default or by what is to be replayed first.
    First,
    Random,
    Pct,
    Pos,
    Surw,
    Preemptions,
    Delays,
    Exhaustive,
}

impl Strategy {
    pub const ALL: [(&'static str, Strategy); 8] = [
        ("portfolio", Strategy::Portfolio),
        ("random", Strategy::Random),
        ("pct", Strategy::Pct),
        ("pos", Strategy::Pos),
        ("surw", Strategy::Surw),
        ("preemptions", Strategy::Preemptions),
        ("delays", Strategy::Delays),
        ("exhaustive", Strategy::Exhaustive),
    ];

    pub fn from_name(name: &str) -> Option<Strategy> {
        Self::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, strategy)| strategy)
    }

    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, strategy)| *strategy == self).map_or("default", |(name, _)| name)
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub strategy: Strategy,
    pub seed: u64,
    /// PCT's depth; swept if not given.
    pub depth: Option<u32>,
    /// Most preemptions or delays of the bounded searches.
    pub bound: Option<u32>,
    pub shard: Shard,
    /// Choices that the first run follows, and others the beginning of.
    pub first: Vec<u16>,
}

impl Default for Settings {
    fn default() -> Settings {
        let strategy = Strategy::Portfolio;
        Settings { strategy, seed: 0, depth: None, bound: None, shard: Shard::ALL, first: Vec::new() }
    }
}

/// One run to be made.
pub struct Job {
    pub number: u64,
    pub strategy: Strategy,
    pub plan: Plan,
    pub prefix: Vec<u16>,
    /// What a bounded search wants back.
    open: Option<Open>,
}

impl Job {
    /// The run in words, enough to name it.
    pub fn words(&self) -> String {
        match self.strategy {
            Strategy::Pct => format!("pct depth {}, seed {:#x}", self.plan.depth, self.plan.seed),
            Strategy::Random | Strategy::Pos | Strategy::Surw => {
                format!("{}, seed {:#x}", self.strategy.name(), self.plan.seed)
            }
            _ => format!("{}, {} choices given", self.strategy.name(), self.prefix.len()),
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Passed,
    /// Nobody could go on.
    Stuck,
    /// It failed while threads could go on.
    Failed,
}

#[allow(clippy::large_enum_variant)] // Made once for each run of a program.
pub enum Next {
    Run(Job),
    /// Nothing before a run that is being made is back.
    Wait,
    /// There is nothing more to run: see [`Portfolio::all_orders`].
    Done,
}

pub struct Portfolio {
    settings: Settings,
    estimates: Estimates,
    coverage: Coverage,
    exhaustive: Exhaustive,
    preemptions: Bounded,
    delays: Bounded,
    /// Runs handed out.
    count: u64,
    is_first_back: bool,
}

/// Who takes turns. Searches that have nothing to offer leave their turn to POS.
const PATTERN: [Strategy; 12] = [
    Strategy::Pct,
    Strategy::Exhaustive,
    Strategy::Pos,
    Strategy::Preemptions,
    Strategy::Surw,
    Strategy::Random,
    Strategy::Pct,
    Strategy::Delays,
    Strategy::Exhaustive,
    Strategy::Pos,
    Strategy::Surw,
    Strategy::Pct,
];
const DEPTHS: [u32; 8] = [2, 3, 2, 4, 1, 3, 2, 5];
/// So many runs at first, every second one is the exhaustive search's.
const EARLY: u64 = 64;
const BOUND: u32 = 4;

impl Portfolio {
    pub fn new(settings: Settings) -> Portfolio {
        let bounded = |by| Bounded::new(by, settings.bound.unwrap_or(BOUND), settings.seed, settings.shard);
        Portfolio {
            preemptions: bounded(By::Preemptions),
            delays: bounded(By::Delays),
            settings,
            estimates: Estimates::default(),
            coverage: Coverage::default(),
            exhaustive: Exhaustive::new(),
            count: 0,
            is_first_back: false,
        }
    }

    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// How many partial orders of operations there are, if all of them have been run; and whether that leaves out what a yielding
    /// thread might have done.
    pub fn all_orders(&self) -> Option<(u64, bool)> {
        let all = self.exhaustive.is_done() && self.exhaustive.is_sure();
        all.then(|| (self.exhaustive.orders(), self.exhaustive.yielded()))
    }

    /// The bound up to which all interleavings have been run by a search that was asked for.
    pub fn all_within(&self) -> Option<u32> {
        let search = match self.settings.strategy {
            Strategy::Preemptions => &self.preemptions,
            Strategy::Delays => &self.delays,
            _ => return None,
        };
        search.is_done().then(|| self.settings.bound.unwrap_or(BOUND))
    }

    pub fn next_run(&mut self) -> Next {
        if self.count == 0 {
            let (plan, prefix) = (Plan::new(kind::STEADY, self.settings.seed), self.settings.first.clone());
            self.count = 1;
            return Next::Run(Job { number: 0, strategy: Strategy::First, plan, prefix, open: None });
        }
        if !self.is_first_back {
            return Next::Wait;
        }
        let turn = self.count - 1;
        let strategy = match self.settings.strategy {
            Strategy::Portfolio if turn < EARLY && turn % 2 == 1 => Strategy::Exhaustive,
            Strategy::Portfolio => PATTERN[(turn % PATTERN.len() as u64) as usize],
            one => one,
        };
        let number = 1 + turn * self.settings.shard.of.max(1) + self.settings.shard.part;
        let is_random = matches!(strategy, Strategy::Random | Strategy::Pct | Strategy::Pos | Strategy::Surw);
        let job = if is_random { Some(self.random(strategy, number)) } else { self.search(strategy, number) };
        let job = match job {
            Some(job) => job,
            None if self.settings.strategy == Strategy::Portfolio => self.random(Strategy::Pos, number),
            None => return if self.is_searched() { Next::Done } else { Next::Wait },
        };
        self.count += 1;
        Next::Run(job)
    }

    fn is_searched(&self) -> bool {
        !match self.settings.strategy {
            Strategy::Exhaustive => self.exhaustive.is_waiting(),
            Strategy::Preemptions => self.preemptions.is_waiting(),
            _ => self.delays.is_waiting(),
        }
    }

    fn search(&mut self, strategy: Strategy, number: u64) -> Option<Job> {
        let bounded = match strategy {
            // Its runs follow from each other: one shard does it all.
            Strategy::Exhaustive if self.settings.shard.part == 0 => {
                let (plan, prefix) = self.exhaustive.next_run()?;
                return Some(Job { number, strategy, plan, prefix, open: None });
            }
            Strategy::Preemptions => &mut self.preemptions,
            Strategy::Delays => &mut self.delays,
            _ => return None,
        };
        let open = bounded.next_run()?;
        Some(Job { number, strategy, plan: Bounded::plan(), prefix: open.prefix.clone(), open: Some(open) })
    }

    fn random(&self, strategy: Strategy, number: u64) -> Job {
        let kind = match strategy {
            Strategy::Pct => kind::PCT,
            Strategy::Pos => kind::POS,
            Strategy::Surw => kind::SURW,
            _ => kind::WALK,
        };
        let mut plan = Plan::new(kind, mix(self.settings.seed ^ mix(number)));
        // Runs of one strategy are some numbers apart: the depth must not follow the same beat.
        let beat = Random::new(!plan.seed).below(DEPTHS.len() as u64) as usize;
        plan.depth = self.settings.depth.unwrap_or(DEPTHS[beat]);
        self.estimates.fill(&mut plan);
        let mut prefix = Vec::new();
        if number % 2 == 1 && !self.settings.first.is_empty() {
            let cut = Random::new(plan.seed ^ 1).below(self.settings.first.len() as u64 + 1) as usize;
            prefix.extend(&self.settings.first[..cut]);
        }
        Job { number, strategy, plan, prefix, open: None }
    }

    /// The run is back. Whether its partial order is new.
    pub fn ran(&mut self, job: Job, log: &[Choice], ended: Ended) -> bool {
        match (job.strategy, job.open) {
            (Strategy::First, _) => {
                self.estimates.learn(log);
                self.is_first_back = true;
            }
            (Strategy::Exhaustive, _) => self.exhaustive.ran(log, ended == Ended::Failed),
            (Strategy::Preemptions, Some(open)) => self.preemptions.ran(open, log),
            (Strategy::Delays, Some(open)) => self.delays.ran(open, log),
            _ => {}
        }
        let repeats = log.iter().any(|choice| choice.chosen.has(flag::REPEATS));
        !repeats && self.coverage.add(log)
    }
}
