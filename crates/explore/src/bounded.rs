//! Systematic search in the order of how far a run is from the default: few preemptions, or few delays, first.
//!
//! Papers: M. Musuvathi, S. Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded Programs", PLDI
//! 2007 (preemptions); M. Emmi, S. Qadeer, Z. Rakamarić, "Delay-Bounded Scheduling", POPL 2011 (delays).
//!
//! Guaranteed: when the search has no more, every interleaving that costs at most the bound has been run, up to the order
//! of independent operations. A preemption costs one: a thread is put aside that could go on. A delay costs one for each
//! thread of the default's round that is passed over, so that with bound b a run of k points has about k^b of them,
//! however many threads there are.
//!
//! Deviations from the papers:
//! 1. Among runs that cost the same a random one is next, by seed: a search that is not finished has looked everywhere.
//! 2. Two beginnings of the same partial order, with the same thread running, have the same futures; the second is left
//!    out, unless it is cheaper.
//! 3. A shard takes its part of the first run's children, and all that follows from them.
//! 4. Only so many beginnings are kept; if there were more, [`Bounded::is_done`] is never true.

use crate::order::Order;
use crate::plan::{Plan, kind};
use crate::random::{Random, mix};
use crate::{Act, Choice, NOBODY, flag, log, steady};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a run costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Preemptions,
    Delays,
}

/// Part `part` of `of`, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub part: u64,
    pub of: u64,
}

impl Shard {
    pub const ALL: Shard = Shard { part: 0, of: 1 };

    pub fn has(&self, number: u64) -> bool {
        number % self.of.max(1) == self.part
    }
}

/// A run to be made: the beginning of an earlier one, and another thread.
struct Branch {
    base: Arc<Vec<u16>>,
    at: usize,
    thread: u16,
    cost: u32,
}

/// A run that was handed out and not reported yet.
pub struct Open {
    pub prefix: Vec<u16>,
    cost: u32,
}

/// Most beginnings that are kept.
const BRANCHES_MAX: usize = 1 << 20;

pub struct Bounded {
    by: By,
    bound: u32,
    shard: Shard,
    random: Random,
    /// By cost.
    branches: BTreeMap<u32, Vec<Branch>>,
    kept: usize,
    /// The least cost of each beginning.
    seen: HashMap<u64, u32>,
    started: bool,
    open: usize,
    lost: bool,
}

impl Bounded {
    pub fn new(by: By, bound: u32, seed: u64, shard: Shard) -> Bounded {
        Bounded {
            by,
            bound,
            shard,
            random: Random::new(seed),
            branches: BTreeMap::new(),
            kept: 0,
            seen: HashMap::new(),
            started: false,
            open: 0,
            lost: false,
        }
    }

    /// The next run: follow the prefix, then the default. None if there is none now.
    pub fn next_run(&mut self) -> Option<Open> {
        let open = if self.started {
            let mut level = self.branches.first_entry()?;
            let branches = level.get_mut();
            let chosen = self.random.below(branches.len() as u64) as usize;
            let branch = branches.swap_remove(chosen);
            if branches.is_empty() {
                level.remove();
            }
            self.kept -= 1;
            let mut prefix = branch.base[..branch.at].to_vec();
            prefix.push(branch.thread);
            Open { prefix, cost: branch.cost }
        } else {
            Open { prefix: Vec::new(), cost: 0 }
        };
        self.started = true;
        self.open += 1;
        Some(open)
    }

    /// The plan of every run of this search.
    pub fn plan() -> Plan {
        Plan::new(kind::STEADY, 0)
    }

    /// The cost of the cheapest run that is left.
    pub fn level(&self) -> Option<u32> {
        self.branches.keys().next().copied()
    }

    /// Whether runs are being made that it waits for.
    pub fn is_waiting(&self) -> bool {
        self.open > 0
    }

    /// Whether everything within the bound has been run.
    pub fn is_done(&self) -> bool {
        self.started && self.open == 0 && self.branches.is_empty() && !self.lost
    }

    pub fn ran(&mut self, open: Open, log: &[Choice]) {
        self.open = self.open.saturating_sub(1);
        self.lost |= log.iter().any(|choice| choice.chosen.has(flag::STRAYED));
        let is_root = open.prefix.is_empty();
        let base = Arc::new(log::choices(log));
        let (mut order, mut children) = (Order::default(), 0);
        let (mut last, mut run) = (NOBODY, 0);
        for (at, choice) in log::made(log).iter().enumerate() {
            let chosen = choice.chosen.thread;
            if at >= open.prefix.len() {
                // The default costs nothing: this run stands for whatever begins like that.
                self.is_new(key(&order, last, chosen), open.cost);
                for thread in choice.able.iter().filter(|thread| *thread != chosen) {
                    let cost = open.cost + self.cost(choice, thread, run);
                    let in_shard = !is_root || self.shard.has(children);
                    children += 1;
                    if cost <= self.bound && in_shard && self.is_new(key(&order, last, thread), cost) {
                        self.keep(Branch { base: base.clone(), at, thread: thread as u16, cost });
                    }
                }
            }
            order.add(&choice.chosen);
            run = if chosen == last { run + 1 } else { 0 };
            last = chosen;
        }
    }

    fn cost(&self, choice: &Choice, thread: u32, run: u32) -> u32 {
        match self.by {
            By::Preemptions => {
                let other = Choice { chosen: Act { thread, ..choice.chosen }, ..*choice };
                u32::from(other.preempts())
            }
            By::Delays => {
                let rank = |thread: u32| steady::rank(thread, choice.behind.has(thread), choice.current, run);
                choice.able.iter().filter(|other| rank(*other) < rank(thread)).count() as u32
            }
        }
    }

    /// Whether nothing that begins like that was as cheap.
    fn is_new(&mut self, key: u64, cost: u32) -> bool {
        let least = self.seen.entry(key).or_insert(u32::MAX);
        let is_new = cost < *least;
        *least = cost.min(*least);
        is_new
    }

    fn keep(&mut self, branch: Branch) {
        if self.kept >= BRANCHES_MAX {
            self.lost = true;
            return;
        }
        self.kept += 1;
        self.branches.entry(branch.cost).or_default().push(branch);
    }
}

/// What was done, who ran, who goes on.
fn key(order: &Order, last: u32, next: u32) -> u64 {
    mix(order.hash() ^ mix(u64::from(last) << 32 | u64::from(next)))
}
