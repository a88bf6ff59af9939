//! One walk through a history: who holds which lock, who waits, what comes before what.
//!
//! A lock is known by its process, kind and address, as long as it is the same one: initialising it, destroying it, or
//! a version that starts anew (memory that was used again without a call) makes another of it.

use crate::clocks::Clocks;
use crate::deed::{Deed, Kind, Mode, RAN, has_mutex, is_obtained};
use crate::finding::{Finding, Mark};
use crate::history::Note;
use crate::order::{Held, Order};
use retake_tape::op::Op;
use retake_tape::rich::{Rich, WAITS};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What must be known of a thread beside its notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// Which process of the take.
    pub process: usize,
    /// Its number in the take.
    pub number: u64,
    /// Its process ended by itself: it is not there at the end of the take.
    pub is_gone: bool,
}

/// A lock in a thread's hands.
#[derive(Clone, Copy, Debug)]
pub struct Holding {
    pub held: Held,
    depth: u32,
    /// The note at which it was obtained; that of `held` may be the call that led there.
    pub since: u64,
}

/// A wait that never ended.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    pub op: Op,
    pub object: u64,
    pub mark: Mark,
    /// The lock, if it is one, and how it is wanted.
    pub lock: Option<(usize, Mode)>,
    /// The mutex of a condition wait, and since when it was held.
    pub mutex: Option<(usize, u64)>,
}

/// How a thread stands.
#[derive(Default)]
pub struct State {
    pub held: Vec<Holding>,
    /// What it runs once, and since which note.
    pub runs: Vec<(u64, Mark)>,
    pub want: Option<Want>,
    pub ended: bool,
    joined: bool,
    /// Its next operation.
    next: Option<(Op, u64)>,
    /// The mutex that it gave up for a condition, the condition, and since when it was held.
    in_wait: Option<(Holding, u64)>,
}

pub struct Lock {
    pub address: u64,
    version: u64,
    /// Who took it last and has it still.
    owner: Option<usize>,
}

/// A condition: who waits for it now, who ever did, in which processes it was used.
#[derive(Default)]
pub struct Condition {
    waiters: Vec<usize>,
    pub waited: HashSet<usize>,
    pub processes: HashSet<usize>,
}

#[derive(Default)]
pub struct Walk {
    pub who: Vec<Who>,
    pub states: Vec<State>,
    pub order: Order,
    pub conditions: HashMap<u64, Condition>,
    /// Unlocks by others than the owner: the first, and how many, by the lines of both.
    foreign: HashMap<(u64, u64), (Mark, Mark, usize)>,
    names: HashMap<(usize, Kind, u64), usize>,
    pub locks: Vec<Lock>,
    clocks: Clocks,
    /// Threads by process and handle.
    handles: HashMap<(usize, u64), Vec<usize>>,
    /// The last meeting at each barrier: who is still to leave it, and what they know then.
    meetings: HashMap<(usize, u64), (Vec<usize>, Vec<u32>)>,
}

impl Walk {
    pub fn new(who: &[Who]) -> Walk {
        let states = who.iter().map(|_| State::default()).collect();
        Walk { who: who.to_vec(), states, ..Walk::default() }
    }

    pub fn pass(&mut self, note: &Note) {
        let (thread, rich) = (note.thread, &note.rich);
        let Who { process, number, .. } = self.who[thread];
        let mark = Mark { thread, sequence: rich.sequence };
        (self.states[thread].want, self.states[thread].next) = (None, note.next);
        if rich.result == WAITS {
            self.want(note);
            return;
        }
        match Deed::of(rich.op) {
            Some(Deed::Takes { kind, mode, waits }) if is_obtained(rich) => {
                let lock = self.lock(process, kind, rich.object, rich.version);
                self.take(Held { lock, mode, mark, lines: lines(rich) }, rich.sequence, waits);
            }
            Some(Deed::Takes { .. }) => {}
            Some(Deed::Frees { kind }) => self.free(note, kind),
            None => match rich.op {
                Op::MutexInit | Op::MutexDestroy => self.renew(process, rich.object),
                Op::CondWait | Op::CondTimed => self.waited(note),
                Op::CondSignal | Op::CondBroadcast => {
                    let condition = self.condition(process, rich.object);
                    if !condition.waiters.is_empty() {
                        self.clocks.posted(thread, number, (process, rich.object), true);
                    }
                }
                Op::SemPost => self.clocks.posted(thread, number, (process, rich.object), false),
                Op::SemWait | Op::SemTry | Op::SemTimed if rich.result == 0 => {
                    self.clocks.woken(thread, number, (process, rich.object));
                }
                Op::ThreadCreate => self.clocks.created(thread, number, rich.version),
                Op::ThreadStart => self.handles.entry((process, rich.version)).or_default().push(thread),
                Op::Once if rich.result == RAN => self.states[thread].runs.push((rich.object, mark)),
                Op::OnceEnd => self.states[thread].runs.retain(|(object, _)| *object != rich.object),
                Op::Barrier => self.meet(note),
                Op::ThreadEnd => self.states[thread].ended = true,
                Op::ThreadJoin | Op::ThreadTryJoin if rich.result == 0 => self.join(note),
                _ => {}
            },
        }
    }

    /// A thread has left a barrier. The first to leave finds all others at it: they have told all that they did before.
    fn meet(&mut self, note: &Note) {
        let Who { process, number, .. } = self.who[note.thread];
        let (members, known) = self.meetings.entry((process, note.rich.object)).or_default();
        if let Some(at) = members.iter().position(|member| *member == note.thread) {
            members.swap_remove(at);
            self.clocks.learn(note.thread, number, known);
            return;
        }
        let is_there = |at: &usize| {
            self.who[*at].process == process && self.states[*at].next == Some((Op::Barrier, note.rich.object))
        };
        // Its own next operation may be the same barrier's next round.
        *members = (0..self.states.len()).filter(is_there).filter(|at| *at != note.thread).collect();
        let all = members.iter().chain([&note.thread]).map(|at| (*at, self.who[*at].number)).collect::<Vec<_>>();
        *known = self.clocks.met(&all);
        self.clocks.learn(note.thread, number, known);
    }

    fn condition(&mut self, process: usize, object: u64) -> &mut Condition {
        let condition = self.conditions.entry(object).or_default();
        condition.processes.insert(process);
        condition
    }

    /// The lock at `object`, which has been obtained at `version`; a new one if its version has started anew.
    fn lock(&mut self, process: usize, kind: Kind, object: u64, version: u64) -> usize {
        let key = (process, kind, object);
        if let Some(&at) = self.names.get(&key) {
            let last = self.locks[at].version;
            // A mutex has a new version each time. What has none has always 0.
            let is_old = version < last || kind == Kind::Mutex && version == last && version != 0;
            if !is_old {
                self.locks[at].version = version;
                return at;
            }
        }
        self.locks.push(Lock { address: object, version, owner: None });
        self.names.insert(key, self.locks.len() - 1);
        self.locks.len() - 1
    }

    /// The mutex at `object` is another from now on.
    fn renew(&mut self, process: usize, object: u64) {
        if let Some(at) = self.names.remove(&(process, Kind::Mutex, object))
            && let Some(owner) = self.locks[at].owner
        {
            self.states[owner].held.retain(|holding| holding.held.lock != at);
        }
    }

    fn take(&mut self, held: Held, since: u64, waits: bool) {
        let thread = held.mark.thread;
        if let Some(again) = self.states[thread].held.iter_mut().find(|holding| holding.held.lock == held.lock) {
            again.depth += 1;
            return;
        }
        if waits {
            self.depend(held);
        }
        self.states[thread].held.push(Holding { held, depth: 1, since });
        self.locks[held.lock].owner = Some(thread);
    }

    /// The thread waits for `inner` with what it holds.
    fn depend(&mut self, inner: Held) {
        let (thread, number) = (inner.mark.thread, self.who[inner.mark.thread].number);
        let moment = self.clocks.now(thread, number).clone();
        let held: Vec<Held> = self.states[thread].held.iter().map(|holding| holding.held).collect();
        if !held.is_empty() {
            self.order.add(&held, inner, &moment);
        }
    }

    fn free(&mut self, note: &Note, kind: Kind) {
        let (thread, rich) = (note.thread, &note.rich);
        let process = self.who[thread].process;
        let Some(&lock) = self.names.get(&(process, kind, rich.object)) else { return };
        let held = &mut self.states[thread].held;
        if let Some(at) = held.iter().position(|holding| holding.held.lock == lock) {
            held[at].depth -= 1;
            if held[at].depth > 0 {
                return;
            }
            let given = held.remove(at);
            self.locks[lock].owner = None;
            if let Some((Op::CondWait | Op::CondTimed, condition)) = note.next {
                // It is the call of the wait that will lock it again.
                let mark = Mark { thread, sequence: rich.sequence };
                let held = Held { mark, lines: lines(rich), ..given.held };
                self.states[thread].in_wait = Some((Holding { held, ..given }, condition));
                let waiting = self.condition(process, condition);
                waiting.waiters.push(thread);
                waiting.waited.insert(thread);
            }
        } else if kind == Kind::Mutex
            && let Some(owner) = self.locks[lock].owner.take()
        {
            let held = &mut self.states[owner].held;
            if let Some(at) = held.iter().position(|holding| holding.held.lock == lock) {
                let taken = held.remove(at).held;
                let unlock = Mark { thread, sequence: rich.sequence };
                let first = self.foreign.entry((lines(rich), taken.lines)).or_insert((unlock, taken.mark, 0));
                first.2 += 1;
            }
        }
    }

    /// A condition wait has come back.
    fn waited(&mut self, note: &Note) {
        let (thread, rich) = (note.thread, &note.rich);
        let Who { process, number, .. } = self.who[thread];
        let condition = self.condition(process, rich.object);
        condition.waited.insert(thread);
        condition.waiters.retain(|waiter| *waiter != thread);
        let nobody = condition.waiters.is_empty();
        if rich.result == 0 {
            self.clocks.woken(thread, number, (process, rich.object));
        }
        if nobody {
            self.clocks.forget((process, rich.object));
        }
        if let Some((given, _)) = self.states[thread].in_wait.take()
            && has_mutex(rich.result)
        {
            let lock = &mut self.locks[given.held.lock];
            lock.version = lock.version.max(rich.version);
            self.take(given.held, rich.sequence, true);
        }
    }

    /// Mutexes that were unlocked by others than their owners.
    pub fn foreign_unlocks(&self) -> Vec<Finding> {
        let mut all: Vec<_> = self.foreign.values().collect();
        all.sort_by_key(|(unlock, ..)| unlock.sequence);
        all.iter().map(|&&(unlock, taken, many)| Finding::ForeignUnlock { unlock, taken, alike: many - 1 }).collect()
    }

    fn join(&mut self, note: &Note) {
        let Who { process, number, .. } = self.who[note.thread];
        let Some(all) = self.handles.get(&(process, note.rich.object)) else { return };
        // The handle may already be a younger thread's.
        let joined = all.iter().copied().find(|at| self.states[*at].ended && !self.states[*at].joined);
        if let Some(joined) = joined {
            self.states[joined].joined = true;
            self.clocks.joined(note.thread, number, joined);
        }
    }

    fn want(&mut self, note: &Note) {
        let (thread, rich) = (note.thread, &note.rich);
        let mark = Mark { thread, sequence: rich.sequence };
        let mut want = Want { op: rich.op, object: rich.object, mark, lock: None, mutex: None };
        match Deed::of(rich.op) {
            Some(Deed::Takes { kind, mode, waits: true }) => {
                let process = self.who[thread].process;
                let known = self.names.get(&(process, kind, rich.object)).copied();
                let lock = known.unwrap_or_else(|| self.lock(process, kind, rich.object, 0));
                want.lock = Some((lock, mode));
                if !self.states[thread].held.iter().any(|holding| holding.held.lock == lock) {
                    self.depend(Held { lock, mode, mark, lines: lines(rich) });
                }
            }
            _ if matches!(rich.op, Op::CondWait) => {
                want.mutex = self.states[thread].in_wait.map(|(given, _)| (given.held.lock, given.since));
            }
            _ => {}
        }
        self.states[thread].want = Some(want);
    }

    /// The thread of `process` that has this handle and was not joined.
    pub fn by_handle(&self, process: usize, handle: u64) -> Option<usize> {
        let all = self.handles.get(&(process, handle))?;
        all.iter().copied().rfind(|at| !self.states[*at].joined)
    }
}

/// A number for the call and its callers.
fn lines(rich: &Rich) -> u64 {
    let mut hasher = DefaultHasher::new();
    rich.pcs.hash(&mut hasher);
    hasher.finish()
}
