//! The chooser: who goes on, at every point of one run.
//!
//! First the prefix is followed; then the plan's strategy chooses among the *front*: the threads that are not behind.
//!
//! A prefix is a list of threads. If the one that is due cannot go on, its turn is owed to it: it comes as soon as it can,
//! and the list goes on meanwhile. So a list that fits is followed exactly, and one that does not quite fit (another
//! build, a list that was made shorter) is followed as far as it can be; the first such place is noted.
//!
//! A run that has become many times as long as was expected goes on as a random walk in which nobody times out early: no
//! strategy is fair, and those that poll would keep the one that they wait for from ever going on.
//!
//! Law: the same plan, prefix and points give the same choices. Nothing here allocates or panics.

use crate::depends::depends;
use crate::pct::Pct;
use crate::plan::{Plan, kind};
use crate::pos::Pos;
use crate::random::Random;
use crate::surw::Surw;
use crate::walk::Walk;
use crate::{Act, Choice, NOBODY, Point, THREADS, Threads, flag, steady};
use core::ops::Deref;

enum Strategy {
    Steady,
    Walk(Walk),
    Pct(Pct),
    Pos(Pos),
    Surw(Surw),
}

/// The plan and the prefix may be its own, or somebody else's.
pub struct Chooser<P, C> {
    plan: P,
    prefix: C,
    /// The next entry of the prefix.
    at: usize,
    /// Turns owed, by thread, and their sum.
    owed: [u32; THREADS],
    owed_sum: u32,
    strayed: Option<u64>,
    repeats: bool,
    asleep: Threads,
    strategy: Strategy,
    random: Random,
    /// Whether waits may time out though others can go on.
    early: bool,
    /// So many steps are not too many.
    patience: u64,
    last: u32,
    run: u32,
    /// How often a thread has yielded.
    naps: [u8; THREADS],
    /// Who stands behind at this point.
    behind: Threads,
}

/// A run is too long if it is so many times as long as was expected, and has so many steps more.
const LONGER: u64 = 8;
const LONG: u64 = 4000;

/// So often a thread may yield or sleep as if that were nothing: it may be a nap that makes a test pass. Later yields
/// are a loop that waits for something, and step back.
pub const NAPS: u8 = 8;

impl<P: Deref<Target = Plan>, C: Deref<Target = [u16]>> Chooser<P, C> {
    pub fn new(plan: P, prefix: C) -> Chooser<P, C> {
        let mut random = Random::new(plan.seed);
        let early = random.next() & 1 == 1;
        let strategy = match plan.kind {
            kind::WALK => Strategy::Walk(Walk),
            kind::PCT => Strategy::Pct(Pct::new(&plan, &mut random)),
            kind::POS => Strategy::Pos(Pos::new()),
            kind::SURW => Strategy::Surw(Surw::new(&plan)),
            _ => Strategy::Steady,
        };
        let mut asleep = Threads::NONE;
        for act in plan.asleep() {
            asleep.put(act.thread);
        }
        let patience = plan.length.saturating_mul(LONGER).saturating_add(LONG);
        Chooser {
            plan,
            prefix,
            at: 0,
            owed: [0; THREADS],
            owed_sum: 0,
            strayed: None,
            repeats: false,
            asleep,
            strategy,
            random,
            early,
            patience,
            last: NOBODY,
            run: 0,
            naps: [0; THREADS],
            behind: Threads::NONE,
        }
    }

    /// The index in `able` of who goes on.
    pub fn choose(&mut self, point: &Point) -> usize {
        self.behind = Threads::NONE;
        for act in point.able {
            let naps = self.naps.get(act.thread as usize).copied().unwrap_or(NAPS);
            if act.has(flag::TIMES_OUT) || act.has(flag::YIELDS) && naps >= NAPS {
                self.behind.put(act.thread);
            }
        }
        let index = match self.follow(point) {
            Some(index) => index,
            None => self.decide(point),
        };
        let Some(chosen) = point.able.get(index) else { return 0 };
        self.run = if chosen.thread == self.last { self.run.saturating_add(1) } else { 0 };
        self.last = chosen.thread;
        if let Some(naps) = self.naps.get_mut(chosen.thread as usize) {
            *naps = naps.saturating_add(u8::from(chosen.has(flag::YIELDS)));
        }
        index
    }

    /// What is to be logged of the choice just made.
    pub fn log(&self, point: &Point, index: usize) -> Choice {
        let mut choice = Choice { behind: self.behind, ..Choice::of(point, index) };
        if self.strayed.is_some() {
            choice.chosen.flags |= flag::STRAYED;
        }
        if self.repeats {
            choice.chosen.flags |= flag::REPEATS;
        }
        choice
    }

    /// The first step at which the prefix did not fit.
    pub fn strayed(&self) -> Option<u64> {
        self.strayed
    }

    /// Whether the run now only repeats what another has done: it may be ended, as passed.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    fn follow(&mut self, point: &Point) -> Option<usize> {
        if self.owed_sum > 0
            && let Some((index, act)) = point
                .able
                .iter()
                .enumerate()
                .find(|(_, act)| self.owed.get(act.thread as usize).is_some_and(|n| *n > 0))
        {
            self.owed[act.thread as usize] -= 1;
            self.owed_sum -= 1;
            return Some(index);
        }
        while let Some(due) = self.prefix.get(self.at) {
            self.at += 1;
            let due = u32::from(*due);
            if let Ok(index) = point.able.binary_search_by_key(&due, |act| act.thread) {
                return Some(index);
            }
            self.strayed = self.strayed.or(Some(point.step));
            if let Some(owed) = self.owed.get_mut(due as usize) {
                *owed += 1;
                self.owed_sum += 1;
            }
        }
        None
    }

    fn decide(&mut self, point: &Point) -> usize {
        let is_long = point.step > self.patience;
        let (early, behind) = (self.early && !is_long, self.behind);
        let is_known = |act: &Act| (act.thread as usize) < THREADS;
        let is_in_front = |act: &Act| {
            is_known(act)
                && !(act.has(flag::YIELDS) && behind.has(act.thread) && act.thread == point.current)
                && (early || !act.has(flag::TIMES_OUT))
        };
        let some_in_front = point.able.iter().any(is_in_front);
        let fits = |act: &Act| if some_in_front { is_in_front(act) } else { is_known(act) };
        let (random, able) = (&mut self.random, point.able);
        let chosen = match &mut self.strategy {
            Strategy::Steady => return self.go_steady(point),
            _ if is_long => Walk.choose(random, able, fits),
            Strategy::Walk(walk) => walk.choose(random, able, fits),
            Strategy::Pct(pct) => pct.choose(random, able, &behind, fits),
            Strategy::Pos(pos) => pos.choose(random, able, fits),
            Strategy::Surw(surw) => surw.choose(random, able, fits, |act| self.plan.selects(act)),
        };
        chosen.unwrap_or(0)
    }

    fn go_steady(&mut self, point: &Point) -> usize {
        let asleep = self.asleep;
        self.repeats |= !asleep.is_empty() && point.able.iter().all(|act| asleep.has(act.thread));
        let index = steady::choose(point, self.run, &self.behind, |thread| !asleep.has(thread));
        if let Some(chosen) = point.able.get(index) {
            for act in self.plan.asleep().iter().filter(|act| depends(act, chosen)) {
                self.asleep.remove(act.thread);
            }
        }
        index
    }
}
