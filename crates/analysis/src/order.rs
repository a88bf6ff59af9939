//! Lock-order inversions: threads that take the same locks in different orders and could wait for each other for ever.
//!
//! The relation is that of Goodlock (Havelund, 2000) as Joshi and others generalised it (DeadlockFuzzer, 2009): a
//! dependency is a thread, the locks that it held, and the one that it then waited for. A circle of dependencies is a
//! finding if
//!
//! 1. each waits for a lock that the next one holds, and not both only read it;
//! 2. all are of different threads;
//! 3. no two hold a lock in common, a gate that lets only one of them in (two who read it pass together);
//! 4. nothing but locks decides which of any two comes first: see `clocks.rs`.
//!
//! Deviations: read-write locks have modes; who only tries, or waits with a time-out, does not wait for ever and is no
//! dependency, but what it obtained is held; of one dependency eight moments are kept, the first four and the last four.
//!
//! Law: linear in the notes. Circles are looked for only among locks that lie on one, shortest first, within [`STEPS`]
//! steps; circles that the same lines close are one finding.

use crate::clocks::Moment;
use crate::deed::Mode;
use crate::finding::{Finding, Link, Mark};
use crate::groups::groups;
use std::collections::{BTreeSet, HashMap, HashSet};

/// How much is tried before the search is given up.
const STEPS: usize = 2_000_000;
/// Moments kept of a dependency, from each end.
const MOMENTS: usize = 4;

/// A lock that a thread holds: which, how, since when, and a number that stands for the lines.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub lock: usize,
    pub mode: Mode,
    pub mark: Mark,
    pub lines: u64,
}

/// One time at which a dependency came up.
struct Time {
    moment: Moment,
    outer: Box<[(Mark, u64)]>,
    inner: (Mark, u64),
}

struct Dependency {
    thread: usize,
    held: Box<[(usize, Mode)]>,
    inner: (usize, Mode),
    times: Vec<Time>,
    seen: usize,
}

impl Dependency {
    /// Which of the held locks is in the way of someone who wants `lock`.
    fn in_the_way(&self, lock: (usize, Mode)) -> Option<usize> {
        self.held.iter().position(|(held, mode)| *held == lock.0 && mode.excludes(lock.1))
    }

    fn has_gate_with(&self, other: &Dependency) -> bool {
        self.held.iter().any(|lock| other.in_the_way(*lock).is_some())
    }
}

type Key = (usize, Box<[(usize, Mode)]>, (usize, Mode));

/// All dependencies of a history.
#[derive(Default)]
pub struct Order {
    all: Vec<Dependency>,
    known: HashMap<Key, usize>,
}

/// What a search brought.
#[derive(Default)]
pub struct Found {
    pub findings: Vec<Finding>,
    /// The search was given up: there may be more.
    pub is_cut: bool,
}

impl Order {
    /// A thread that holds `held` waits for `inner`.
    pub fn add(&mut self, held: &[Held], inner: Held, moment: &Moment) {
        let mut sorted: Vec<&Held> = held.iter().collect();
        sorted.sort_by_key(|held| held.lock);
        let locks: Box<[(usize, Mode)]> = sorted.iter().map(|held| (held.lock, held.mode)).collect();
        let key = (inner.mark.thread, locks, (inner.lock, inner.mode));
        let at = match self.known.get(&key) {
            Some(at) => *at,
            None => {
                let (thread, held, inner) = key.clone();
                self.all.push(Dependency { thread, held, inner, times: Vec::new(), seen: 0 });
                self.known.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        let dependency = &mut self.all[at];
        if dependency.times.last().is_some_and(|last| last.moment.is_same(moment)) {
            return;
        }
        let time = Time {
            moment: moment.clone(),
            outer: sorted.iter().map(|held| (held.mark, held.lines)).collect(),
            inner: (inner.mark, inner.lines),
        };
        if dependency.times.len() == 2 * MOMENTS {
            dependency.times.remove(MOMENTS);
        }
        dependency.times.push(time);
        dependency.seen += 1;
    }

    /// All circles but those over the locks of `known`, which are told already.
    pub fn circles(&self, known: &HashSet<BTreeSet<usize>>) -> Found {
        let groups = groups(&self.edges());
        let mut by_held: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut starts = Vec::new();
        for (at, dependency) in self.all.iter().enumerate() {
            let group = groups.get(dependency.inner.0).copied().flatten();
            let together = |lock: &usize| group.is_some() && groups[*lock] == group;
            let inside: Vec<usize> = dependency.held.iter().map(|(lock, _)| *lock).filter(together).collect();
            if !inside.is_empty() {
                starts.push(at);
            }
            inside.into_iter().for_each(|lock| by_held.entry(lock).or_default().push(at));
        }
        let mut search = Search {
            all: &self.all,
            by_held,
            path: Vec::new(),
            steps: 0,
            deeper: false,
            seen: known.clone(),
            lines: HashMap::new(),
            found: Vec::new(),
        };
        let mut length = 2;
        loop {
            search.deeper = false;
            for start in &starts {
                search.from(*start, length);
            }
            if !search.deeper || search.steps > STEPS {
                break;
            }
            length += 1;
        }
        Found { is_cut: search.steps > STEPS, findings: search.found }
    }

    /// From each lock to those that were taken while it was held.
    fn edges(&self) -> Vec<Vec<usize>> {
        let mut edges: Vec<Vec<usize>> = Vec::new();
        for dependency in &self.all {
            for (outer, _) in &dependency.held {
                let most = (*outer).max(dependency.inner.0);
                if edges.len() <= most {
                    edges.resize_with(most + 1, Vec::new);
                }
                edges[*outer].push(dependency.inner.0);
            }
        }
        edges
    }
}

/// One dependency of the path, at one of its times.
type Step = (usize, usize);

struct Search<'a> {
    all: &'a [Dependency],
    by_held: HashMap<usize, Vec<usize>>,
    path: Vec<Step>,
    steps: usize,
    /// A path was longer than the length looked for.
    deeper: bool,
    /// Sets of locks that have been told.
    seen: HashSet<BTreeSet<usize>>,
    /// Which finding stands for which lines.
    lines: HashMap<BTreeSet<(u64, u64)>, usize>,
    found: Vec<Finding>,
}

impl Search<'_> {
    fn from(&mut self, start: usize, length: usize) {
        for time in 0..self.all[start].times.len() {
            self.path.push((start, time));
            self.go_on(length);
            self.path.pop();
        }
    }

    /// Paths are followed from their first dependency on, so that each circle is found once.
    fn go_on(&mut self, length: usize) {
        let (first, last) = (self.path[0].0, self.path[self.path.len() - 1].0);
        let wanted = self.all[last].inner;
        if self.path.len() == length {
            if self.all[first].in_the_way(wanted).is_some() {
                self.close();
            }
            self.deeper |= self.by_held.contains_key(&wanted.0);
            return;
        }
        for candidate in self.by_held.get(&wanted.0).cloned().unwrap_or_default() {
            self.steps += 1;
            if self.steps > STEPS {
                return;
            }
            if candidate > first
                && let Some(time) = self.fits(candidate, wanted)
            {
                self.path.push((candidate, time));
                self.go_on(length);
                self.path.pop();
            }
        }
    }

    /// A time at which `candidate` can stand in the way, beside all of the path.
    fn fits(&self, candidate: usize, wanted: (usize, Mode)) -> Option<usize> {
        let next = &self.all[candidate];
        next.in_the_way(wanted)?;
        let others = || self.path.iter().map(|(at, time)| (&self.all[*at], *time));
        if others().any(|(other, _)| other.thread == next.thread || other.has_gate_with(next)) {
            return None;
        }
        let beside = |time: &Time| others().all(|(other, at)| other.times[at].moment.is_beside(&time.moment));
        next.times.iter().position(beside)
    }

    fn close(&mut self) {
        let mut links = Vec::new();
        let (mut locks, mut lines) = (BTreeSet::new(), BTreeSet::new());
        for (at, (dependency, time)) in self.path.iter().enumerate() {
            let before = self.path[(at + self.path.len() - 1) % self.path.len()].0;
            let (dependency, wanted) = (&self.all[*dependency], self.all[before].inner);
            let Some(held) = dependency.in_the_way(wanted) else { return };
            let time = &dependency.times[*time];
            locks.insert(wanted.0);
            lines.insert((time.outer[held].1, time.inner.1));
            links.push(Link { outer: time.outer[held].0, inner: time.inner.0 });
        }
        if !self.seen.insert(locks) {
            return;
        }
        match self.lines.get(&lines) {
            Some(at) => {
                if let Finding::LockOrder { alike, .. } = &mut self.found[*at] {
                    *alike += 1;
                }
            }
            None => {
                self.lines.insert(lines, self.found.len());
                self.found.push(Finding::LockOrder { links, alike: 0 });
            }
        }
    }
}
