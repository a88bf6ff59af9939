//! Which plan comes next: one strategy, or the portfolio that shares the runs among them.

use retake_explore::{Choice, Plan, kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Strategy {
    /// All of them in turn
    Portfolio,
    /// Whoever can go on, with equal chance
    Random,
    /// Priorities that change at few places (Burckhardt and others, 2010)
    Pct,
    /// Priorities for operations (Yuan, Yang and Gu, 2018)
    Pos,
    /// Every order with nearly equal chance (Zhao and others, 2025)
    Surw,
}

/// A run that is to be made.
pub struct Planned {
    pub plan: Plan,
    pub prefix: Vec<u16>,
}

impl Planned {
    /// `pct depth 3`.
    pub fn words(&self) -> String {
        match self.plan.kind {
            kind::PCT => format!("pct depth {}", self.plan.depth),
            _ => self.plan.name().to_owned(),
        }
    }
}

pub struct Plans {
    strategy: Strategy,
    seed: u64,
    depth: Option<u32>,
    made: u64,
    length: u64,
}

impl Plans {
    pub fn new(strategy: Strategy, seed: u64, depth: Option<u32>) -> Plans {
        Plans { strategy, seed, depth, made: 0, length: 0 }
    }

    pub fn next(&mut self) -> Planned {
        self.made += 1;
        let seed = retake_explore::random::mix(self.seed.wrapping_mul(0x1_0000_0001).wrapping_add(self.made));
        let kind = match self.strategy {
            Strategy::Random => kind::WALK,
            Strategy::Pct => kind::PCT,
            Strategy::Pos => kind::POS,
            Strategy::Surw => kind::SURW,
            Strategy::Portfolio => [kind::WALK, kind::PCT, kind::POS, kind::PCT][self.made as usize % 4],
        };
        let mut plan = Plan::new(kind, seed);
        plan.length = self.length;
        plan.depth = self.depth.unwrap_or(1 + (self.made % 5) as u32);
        Planned { plan, prefix: Vec::new() }
    }

    /// What a run tells for those to come.
    pub fn learn(&mut self, log: &[Choice]) {
        let free = log.iter().filter(|choice| choice.is_free()).count() as u64;
        self.length = self.length.max(free);
    }
}
