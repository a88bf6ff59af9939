//! The end of a history: who waits for ever, who waits for each other, and which signal came too early.
//!
//! Who waits is taken off the tape, never guessed from time: an operation that was wanted and never obtained. It is for
//! ever if nobody who could go on could end it:
//!
//! - a lock, if one who holds it (a mutex's holder, any reader in a writer's way) waits for ever or has ended;
//! - a join, if the thread waits for ever;
//! - what is run once, if whoever runs it waits for ever;
//! - a condition, a barrier, a semaphore, a futex, if everybody waits for ever who could signal, arrive, post or wake: all threads of the
//!   process; those of other processes too if they used a condition at that address, and always for semaphores.
//!
//! Whoever computes, sleeps, or waits outside (a read, a signal) can go on. So a thread that idles when another one of
//! its process calls `exit` is no finding.

use crate::deed::Mode;
use crate::finding::{Finding, Mark, Obstacle, Waiter};
use crate::history::Note;
use crate::order::Held;
use crate::walk::{Walk, Want};
use retake_tape::op::Op;
use retake_tape::rich::WAITS;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The waits that never end, and what they wait for.
pub struct Ends<'a> {
    walk: &'a Walk,
    /// Threads that wait for ever.
    pub stuck: BTreeSet<usize>,
    holders: HashMap<usize, Vec<Held>>,
}

impl<'a> Ends<'a> {
    /// Takes out, until nothing changes, whoever may go on after all.
    pub fn new(walk: &'a Walk) -> Ends<'a> {
        let stuck = (0..walk.states.len()).filter(|at| walk.states[*at].want.is_some()).collect();
        let mut holders: HashMap<usize, Vec<Held>> = HashMap::new();
        for holding in walk.states.iter().flat_map(|state| &state.held) {
            holders.entry(holding.held.lock).or_default().push(holding.held);
        }
        let mut ends = Ends { walk, stuck, holders };
        loop {
            let able = ends.able();
            let free: Vec<usize> = ends.stuck.iter().copied().filter(|at| ends.may_go_on(*at, &able)).collect();
            if free.is_empty() {
                return ends;
            }
            ends.stuck.retain(|at| free.binary_search(at).is_err());
        }
    }

    /// The processes in which somebody can go on, and whether they are still there at the end.
    fn able(&self) -> HashMap<usize, bool> {
        let mut able = HashMap::new();
        for (at, who) in self.walk.who.iter().enumerate() {
            if !self.stuck.contains(&at) && !self.walk.states[at].ended {
                able.insert(who.process, !who.is_gone);
            }
        }
        able
    }

    fn may_go_on(&self, thread: usize, able: &HashMap<usize, bool>) -> bool {
        let Some(want) = &self.walk.states[thread].want else { return true };
        match want.op {
            Op::CondWait | Op::Barrier | Op::SemWait | Op::Futex => self.somebody_can(thread, want, able),
            _ => self.obstacles(thread).is_empty(),
        }
    }

    /// Whether anybody is left who could end a wait that nobody in particular has to end.
    fn somebody_can(&self, thread: usize, want: &Want, able: &HashMap<usize, bool>) -> bool {
        let own = self.walk.who[thread].process;
        let users = self.walk.conditions.get(&want.object).map(|condition| &condition.processes);
        let reaches = |process: &usize| match want.op {
            Op::SemWait => true,
            Op::CondWait => users.is_some_and(|users| users.contains(process)),
            _ => false,
        };
        able.iter().any(|(process, is_there)| *process == own || *is_there && reaches(process))
    }

    /// Who is in the way of `thread` for ever.
    fn obstacles(&self, thread: usize) -> Vec<Obstacle> {
        let Some(want) = &self.walk.states[thread].want else { return Vec::new() };
        if let Some((lock, mode)) = want.lock {
            return self.holders(lock, mode);
        }
        if want.op == Op::Once {
            return self.runners(self.walk.who[thread].process, want.object);
        }
        if want.op == Op::ThreadJoin
            && let Some(joined) = self.walk.by_handle(self.walk.who[thread].process, want.object)
            && self.stuck.contains(&joined)
        {
            return vec![Obstacle::Joined { thread: joined }];
        }
        Vec::new()
    }

    fn holders(&self, lock: usize, mode: Mode) -> Vec<Obstacle> {
        let all = self.holders.get(&lock).into_iter().flatten();
        let in_the_way = all.filter(|held| held.mode.excludes(mode)).filter_map(|held| {
            let ended = self.walk.states[held.mark.thread].ended;
            let for_ever = ended || self.stuck.contains(&held.mark.thread);
            for_ever.then_some(Obstacle::Holder { taken: held.mark, ended })
        });
        in_the_way.collect()
    }

    fn runners(&self, process: usize, object: u64) -> Vec<Obstacle> {
        let stuck = self.stuck.iter().filter(|at| self.walk.who[**at].process == process);
        let runs = stuck.flat_map(|at| &self.walk.states[*at].runs).filter(|(running, _)| *running == object);
        runs.map(|(_, since)| Obstacle::Holder { taken: *since, ended: false }).collect()
    }

    fn waiter(&self, thread: usize) -> Option<Waiter> {
        let want = self.walk.states[thread].want?;
        Some(Waiter { wants: want.mark, behind: self.obstacles(thread) })
    }

    /// The deadlocks: each circle, and who waits behind it. The second is the sets of locks that they are about, the third
    /// who is told of.
    pub fn deadlocks(&self) -> (Vec<Finding>, HashSet<BTreeSet<usize>>, BTreeSet<usize>) {
        let mut circles: Vec<Vec<usize>> = Vec::new();
        let mut told = BTreeSet::new();
        for start in &self.stuck {
            let mut path = vec![*start];
            while let Some(next) = self.next_of(path[path.len() - 1], &path) {
                if let Some(from) = path.iter().position(|at| *at == next) {
                    let circle = path.split_off(from);
                    if !circle.iter().any(|at| told.contains(at)) {
                        told.extend(circle.iter().copied());
                        circles.push(circle);
                    }
                    break;
                }
                path.push(next);
            }
        }
        let locks = |circle: &Vec<usize>| {
            let wanted = circle.iter().filter_map(|at| self.walk.states[*at].want?.lock);
            wanted.map(|(lock, _)| lock).collect::<BTreeSet<usize>>()
        };
        let known = circles.iter().map(locks).collect();
        let in_circles = told.clone();
        let mut findings = Vec::new();
        for circle in circles {
            let behind: Vec<usize> = self
                .stuck
                .iter()
                .copied()
                .filter(|at| !in_circles.contains(at) && self.leads_to(*at, &circle))
                .collect();
            told.extend(behind.iter().copied());
            let waiters = |all: &[usize]| all.iter().filter_map(|at| self.waiter(*at)).collect();
            findings.push(Finding::Deadlock { circle: waiters(&circle), behind: waiters(&behind) });
        }
        (findings, known, told)
    }

    /// Who is in the way of `thread`: one who closes the path, if there is one.
    fn next_of(&self, thread: usize, path: &[usize]) -> Option<usize> {
        let all: Vec<usize> =
            self.obstacles(thread).iter().map(Obstacle::thread).filter(|at| self.stuck.contains(at)).collect();
        all.iter().find(|at| path.contains(at)).or(all.first()).copied()
    }

    fn leads_to(&self, thread: usize, circle: &[usize]) -> bool {
        let (mut seen, mut rest) = (BTreeSet::new(), vec![thread]);
        while let Some(at) = rest.pop() {
            if circle.contains(&at) {
                return true;
            }
            if seen.insert(at) {
                rest.extend(self.obstacles(at).iter().map(Obstacle::thread).filter(|at| self.stuck.contains(at)));
            }
        }
        false
    }

    /// Those who wait for ever without being part of a deadlock, each with those behind it; `notes` is the history once
    /// more.
    pub fn others(&self, told: &BTreeSet<usize>, notes: impl Iterator<Item = Note>) -> Vec<Finding> {
        let mut rest: BTreeSet<usize> = self.stuck.iter().copied().filter(|at| !told.contains(at)).collect();
        let is_first = |at: &usize| !self.obstacles(*at).iter().any(|obstacle| self.stuck.contains(&obstacle.thread()));
        let first: Vec<usize> = rest.iter().copied().filter(is_first).collect();
        rest.retain(|at| !first.contains(at));
        let mut early: Vec<Early> = first.iter().filter_map(|at| Early::new(self.walk, *at)).collect();
        if !early.is_empty() {
            notes.for_each(|note| early.iter_mut().for_each(|early| early.pass(self.walk, &note)));
        }
        let signal = |at: usize| early.iter().find(|early| early.want.mark.thread == at)?.signal;
        // Those who wait for the same are one finding, unless there was a signal for one of them.
        let mut groups: BTreeMap<(usize, u8, u64, Option<Mark>), Vec<usize>> = BTreeMap::new();
        for at in first {
            let Some(want) = self.walk.states[at].want else { continue };
            let key = (self.walk.who[at].process, want.op as u8, want.object, signal(at));
            groups.entry(key).or_default().push(at);
        }
        let mut findings = Vec::new();
        for ((.., signal), group) in groups {
            let behind: Vec<usize> = rest.iter().copied().filter(|at| self.leads_to(*at, &group)).collect();
            rest.retain(|at| !behind.contains(at));
            let waiters = |all: &[usize]| all.iter().filter_map(|at| self.waiter(*at)).collect::<Vec<Waiter>>();
            let (waiters, behind) = (waiters(&group), waiters(&behind));
            match (signal, &waiters[..]) {
                (Some(signal), [waiter, others @ ..]) => {
                    let behind = others.iter().chain(&behind).cloned().collect();
                    findings.push(Finding::LostWakeUp { waiter: waiter.clone(), signal, behind });
                }
                _ => findings.push(Finding::WaitsForEver { waiters, behind }),
            }
        }
        findings
    }
}

/// Looks for the signal that came too early for one waiter.
///
/// It is the last signal of the condition, by another thread, at which nobody else waited: had this one waited, it would
/// have been woken. It was lost unless somebody who waits for this condition, too, had the mutex after it and could see
/// what it was about; the waiter itself had it only to wait.
struct Early {
    want: Want,
    process: usize,
    mutex: Option<u64>,
    since: u64,
    waiting: HashSet<usize>,
    signal: Option<Mark>,
}

impl Early {
    fn new(walk: &Walk, thread: usize) -> Option<Early> {
        let want = walk.states[thread].want.filter(|want| want.op == Op::CondWait)?;
        let (mutex, since) = want.mutex.unzip();
        let mutex = mutex.map(|lock| walk.locks[lock].address);
        let process = walk.who[thread].process;
        Some(Early { want, process, mutex, since: since.unwrap_or(0), waiting: HashSet::new(), signal: None })
    }

    fn pass(&mut self, walk: &Walk, note: &Note) {
        let (thread, rich) = (note.thread, &note.rich);
        if walk.who[thread].process != self.process || rich.result == WAITS {
            return;
        }
        let waiter = self.want.mark.thread;
        match rich.op {
            Op::CondSignal | Op::CondBroadcast if rich.object == self.want.object => {
                let is_lost = thread != waiter && self.waiting.is_empty();
                self.signal = is_lost.then_some(Mark { thread, sequence: rich.sequence }).or(self.signal);
            }
            Op::MutexUnlock => {
                let waits = matches!(note.next, Some((Op::CondWait | Op::CondTimed, at)) if at == self.want.object);
                let is_this = thread == waiter && rich.sequence > self.since;
                if waits && !is_this {
                    self.waiting.insert(thread);
                }
            }
            Op::CondWait | Op::CondTimed if rich.object == self.want.object => {
                self.waiting.remove(&thread);
                self.heard(walk, thread, rich.sequence);
            }
            Op::MutexLock | Op::MutexTry | Op::MutexTimed if Some(rich.object) == self.mutex && rich.result == 0 => {
                self.heard(walk, thread, rich.sequence);
            }
            _ => {}
        }
    }

    /// `thread` has the mutex and sees what was signalled.
    fn heard(&mut self, walk: &Walk, thread: usize, sequence: u64) {
        let waits_too = walk.conditions.get(&self.want.object).is_some_and(|c| c.waited.contains(&thread));
        let to_wait = thread == self.want.mark.thread && sequence >= self.since;
        if waits_too && !to_wait {
            self.signal = None;
        }
    }
}
