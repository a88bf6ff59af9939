//! Exhaustive search with partial-order reduction: one run for each partial order, and then it is known that all are done.
//!
//! Papers: C. Flanagan, P. Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", POPL 2005;
//! P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas, "Optimal Dynamic Partial Order Reduction", POPL 2014 (source sets);
//! P. Godefroid's sleep sets (1990).
//!
//! Guaranteed, for a program that does the same whenever the choices are the same, whose threads share nothing but the
//! objects of its operations, and that always ends: when [`Exhaustive::next_run`] has no more, every partial order of its
//! operations, every deadlock and every failure among them has been seen; no partial order was run to its end twice. Runs
//! that only repeat another one are cut short (they are what wake-up trees would avoid).
//!
//! Deviations from the papers:
//! 1. Runs are made from the start, by a prefix; after it a run takes the default, past whoever is asleep.
//! 2. A lock that was given back in between does not hide the race between two that take it: what only lets another
//!    go on is never turned round ([`depends::excludes`]), or does not hide what came before it ([`depends::enables`]).
//! 3. What a thread was about to do when the run ended is a race, too: blocked for ever, or cut off by a failure.
//! 4. Whoever yields again and again is not put before one that could go on instead: else no loop that polls would end.
//!    If that cut something off, [`Exhaustive::yielded`] says so.
//! 5. An unexpected log (the program did something else than before) makes the search [`Exhaustive::is_sure`] no more.

use crate::depends::{depends, enables, excludes};
use crate::plan::{Plan, kind};
use crate::{Act, Choice, THREADS, Threads, flag, log};
use std::collections::BTreeMap;

/// Longer runs are not searched: the number of their interleavings is past all hope, and looking for races is quadratic.
pub const STEPS_MAX: usize = 4096;

#[derive(Default)]
pub struct Exhaustive {
    /// The run that was done last, step by step.
    frames: Vec<Frame>,
    started: bool,
    waiting: bool,
    unsure: bool,
    yielded: bool,
    orders: u64,
    repeated: u64,
}

struct Frame {
    chosen: Act,
    /// What those that could go on were about to do.
    acts: Vec<Act>,
    /// Who is to be chosen here, and who has been.
    todo: Threads,
    done: Threads,
    /// Who would only repeat what has been done.
    asleep: Vec<Act>,
    /// Who stood behind.
    behind: Threads,
}

impl Frame {
    fn act(&self, thread: u32) -> Option<Act> {
        self.acts.iter().copied().find(|act| act.thread == thread)
    }

    /// Whoever stays asleep when `act` is done here.
    fn asleep_after(&self, act: &Act) -> Vec<Act> {
        let done = self.acts.iter().filter(|other| self.done.has(other.thread) && other.thread != act.thread);
        let mut asleep: Vec<Act> =
            self.asleep.iter().chain(done).filter(|other| !depends(other, act)).copied().collect();
        asleep.sort_by_key(|act| act.thread);
        asleep.dedup_by_key(|act| act.thread);
        asleep
    }

    fn is_asleep(&self, thread: u32) -> bool {
        self.asleep.iter().any(|act| act.thread == thread)
    }

    /// Who may be chosen: those that step back only if all do.
    fn may(&self, thread: u32) -> bool {
        let steps_back = |act: &Act| act.has(flag::YIELDS) && self.behind.has(act.thread);
        self.act(thread).is_some_and(|act| !steps_back(&act)) || self.acts.iter().all(steps_back)
    }
}

impl Exhaustive {
    pub fn new() -> Exhaustive {
        Exhaustive::default()
    }

    /// The next run, if there is one; none either while a run is not reported yet.
    pub fn next_run(&mut self) -> Option<(Plan, Vec<u16>)> {
        if self.waiting {
            return None;
        }
        let mut plan = Plan::new(kind::STEADY, 0);
        if self.started {
            let (act, frame) = loop {
                let frame = self.frames.last_mut()?;
                let open =
                    |thread: &u32| frame.todo.has(*thread) && !frame.done.has(*thread) && !frame.is_asleep(*thread);
                let next = frame.acts.iter().map(|act| act.thread).find(open);
                match next.and_then(|thread| frame.act(thread)) {
                    Some(act) => break (act, frame),
                    None => self.frames.pop(),
                };
            };
            let asleep = frame.asleep_after(&act);
            frame.chosen = act;
            frame.done.put(act.thread);
            plan.asleep_length = asleep.len() as u32;
            plan.asleep.iter_mut().zip(asleep).for_each(|(place, act)| *place = act);
        }
        (self.started, self.waiting) = (true, true);
        Some((plan, self.frames.iter().map(|frame| frame.chosen.thread as u16).collect()))
    }

    /// Whether everything has been searched.
    pub fn is_done(&self) -> bool {
        self.started && !self.waiting && self.frames.is_empty()
    }

    /// Whether a run is being made that it waits for.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// Whether what it says of all interleavings can be relied on.
    pub fn is_sure(&self) -> bool {
        !self.unsure
    }

    /// Whether interleavings were left out because a yielding thread steps back.
    pub fn yielded(&self) -> bool {
        self.yielded
    }

    /// How many partial orders were run to their end.
    pub fn orders(&self) -> u64 {
        self.orders
    }

    /// How many runs were cut short because they repeated another.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The run has been done. `cut` says that it ended though threads could go on (a failure that is no deadlock).
    pub fn ran(&mut self, log: &[Choice], cut: bool) {
        self.waiting = false;
        let made = log::made(log);
        let fits = made.len() >= self.frames.len()
            && self.frames.iter().zip(made).all(|(frame, choice)| frame.chosen.thread == choice.chosen.thread);
        let beyond =
            made.iter().any(|choice| choice.chosen.has(flag::STRAYED) || choice.able_length != choice.able.count());
        if !fits || beyond || made.len() > STEPS_MAX {
            self.unsure = true;
            self.frames.truncate(if made.len() > STEPS_MAX { 0 } else { self.frames.len() });
            return;
        }
        let fresh = log::fresh(made);
        let repeats = fresh.len() < made.len();
        *(if repeats { &mut self.repeated } else { &mut self.orders }) += 1;
        let begin = self.frames.len();
        let left = log::left(log);
        self.add_frames(made, fresh.len(), &left);
        let mut acts: Vec<Act> = log::acts(fresh).collect();
        if let (true, false, Some(last)) = (cut, repeats, acts.last_mut()) {
            last.object = crate::EVERYTHING;
        }
        let past = Past::of(&acts, fresh);
        for (at, act) in acts.iter().enumerate().skip(begin.saturating_sub(1)) {
            self.turn_round(&past, at, act, fresh);
        }
        if !repeats {
            left.values().for_each(|act| self.turn_round(&past, acts.len(), act, fresh));
        }
    }

    fn add_frames(&mut self, made: &[Choice], end: usize, left: &BTreeMap<u32, Act>) {
        // What each thread does next, seen from the end.
        let mut next = left.clone();
        let mut acts: Vec<Vec<Act>> = Vec::new();
        for (step, choice) in made.iter().enumerate().rev() {
            let flags = choice.chosen.flags & (flag::YIELDS | flag::TIMES_OUT);
            next.insert(choice.chosen.thread, Act { flags, ..choice.chosen });
            if step >= self.frames.len() && step < end {
                acts.push(choice.able.iter().filter_map(|thread| next.get(&thread).copied()).collect());
            }
        }
        for acts in acts.into_iter().rev() {
            let Choice { chosen, behind, .. } = made[self.frames.len()];
            let asleep = self.frames.last().map_or(Vec::new(), |frame| frame.asleep_after(&frame.chosen));
            let mut todo = Threads::NONE;
            todo.put(chosen.thread);
            self.frames.push(Frame { chosen, acts, todo, done: todo, asleep, behind });
        }
    }

    /// Finds what raced with `act`, the operation at `at` (or one that was never done), and has it tried first.
    fn turn_round(&mut self, past: &Past, at: usize, act: &Act, log: &[Choice]) {
        let previous = past.previous(act.thread, at);
        let known = previous.map_or_else(|| past.birth(act.thread), |previous| Some(&past.clocks[previous]));
        let is_known = |k: usize| known.is_some_and(|clock| past.is_in(k, clock));
        let clock = past.clock(act, at);
        let mut maskers: Vec<usize> = Vec::new();
        for k in (0..at).rev() {
            let earlier = &past.acts[k];
            if earlier.thread == act.thread || !depends(earlier, act) || is_known(k) || excludes(earlier, act) {
                continue;
            }
            let has_arrived = previous.is_none_or(|previous| previous < k);
            if has_arrived && !log[k].able.has(act.thread) && log[..k].iter().any(|choice| choice.current == act.thread)
            {
                continue;
            }
            if maskers.iter().any(|masker| past.is_in(k, &past.clocks[*masker])) {
                continue;
            }
            if !enables(earlier, act) {
                maskers.push(k);
            }
            let initials = past.initials(k, at, act, &clock);
            self.try_one_of(k, &initials, act.thread);
        }
    }

    fn try_one_of(&mut self, at: usize, initials: &[u32], wanted: u32) {
        let frame = &mut self.frames[at];
        if initials.iter().any(|thread| frame.todo.has(*thread)) {
            return;
        }
        let able: Vec<u32> = initials.iter().copied().filter(|thread| frame.act(*thread).is_some()).collect();
        let first =
            able.iter().copied().filter(|thread| frame.may(*thread)).min_by_key(|thread| (*thread != wanted, *thread));
        match first {
            Some(first) => frame.todo.put(first),
            None if able.is_empty() => {
                let all: Vec<u32> = frame.acts.iter().map(|act| act.thread).filter(|t| frame.may(*t)).collect();
                all.into_iter().for_each(|thread| frame.todo.put(thread));
            }
            None => self.yielded = true,
        }
    }
}

/// What happened before what in a run: vector clocks.
struct Past<'a> {
    acts: &'a [Act],
    /// By operation: how many operations of each thread come before it or are it.
    clocks: Vec<Vec<u32>>,
    /// Its number among those of its thread, from 1.
    numbers: Vec<u32>,
    /// The operation that made a thread, and those that let it go on: `(operation, thread)`.
    births: BTreeMap<u32, usize>,
    lets: Vec<Vec<u32>>,
    width: usize,
}

impl<'a> Past<'a> {
    fn of(acts: &'a [Act], log: &[Choice]) -> Past<'a> {
        let width = acts.iter().map(|act| act.thread as usize + 1).max().unwrap_or(0).min(THREADS);
        let (mut births, mut lets) = (BTreeMap::new(), vec![Vec::new(); acts.len()]);
        let mut known = Threads::NONE;
        for (step, choice) in log.iter().enumerate() {
            for thread in choice.able.iter() {
                if step > 0 && !log[step - 1].able.has(thread) {
                    lets[step - 1].push(thread);
                }
                if step > 0 && !known.has(thread) {
                    births.insert(thread, step - 1);
                }
                known.put(thread);
            }
        }
        let mut past = Past { acts, clocks: Vec::new(), numbers: Vec::new(), births, lets, width };
        for (at, act) in acts.iter().enumerate() {
            let mut clock = past.clock(act, at);
            let number = past.previous(act.thread, at).map_or(0, |previous| past.numbers[previous]) + 1;
            if let Some(own) = clock.get_mut(act.thread as usize) {
                *own = number;
            }
            past.clocks.push(clock);
            past.numbers.push(number);
        }
        past
    }

    /// Whether operation `at` is in what the clock counts.
    fn is_in(&self, at: usize, clock: &[u32]) -> bool {
        clock.get(self.acts[at].thread as usize).is_some_and(|count| *count >= self.numbers[at])
    }

    fn previous(&self, thread: u32, at: usize) -> Option<usize> {
        (0..at).rev().find(|earlier| self.acts[*earlier].thread == thread)
    }

    fn birth(&self, thread: u32) -> Option<&Vec<u32>> {
        self.clocks.get(*self.births.get(&thread)?)
    }

    /// What comes before `act` if it is done at `at`.
    fn clock(&self, act: &Act, at: usize) -> Vec<u32> {
        let mut clock = vec![0; self.width];
        let previous = self.previous(act.thread, at);
        for k in (0..at).rev() {
            let lets = previous.is_none_or(|previous| previous < k) && self.lets[k].contains(&act.thread);
            if (lets || depends(&self.acts[k], act)) && !self.is_in(k, &clock) {
                clock.iter_mut().zip(&self.clocks[k]).for_each(|(own, other)| *own = (*own).max(*other));
            }
        }
        clock
    }

    /// Who can come first in what does not need operation `k`: those after it that do not come after it, then `act`.
    fn initials(&self, k: usize, at: usize, act: &Act, clock: &[u32]) -> Vec<u32> {
        let free: Vec<usize> = (k + 1..at).filter(|m| !self.is_in(k, &self.clocks[*m])).collect();
        let is_first = |clock: &[u32], before: &[usize]| !before.iter().any(|m| self.is_in(*m, clock));
        let mut initials: Vec<u32> = (0..free.len())
            .filter(|place| is_first(&self.clocks[free[*place]], &free[..*place]))
            .map(|place| self.acts[free[place]].thread)
            .collect();
        if is_first(clock, &free) {
            initials.push(act.thread);
        }
        initials
    }
}
