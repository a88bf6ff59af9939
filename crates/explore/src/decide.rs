//! What decides: two operations of a failing run whose order makes it fail.
//!
//! Candidates are operations of two threads that depend on each other, the later of which could have come first. Each is
//! tried: the later one's thread goes on up to it before the earlier one, or before what the earlier one's thread had to
//! do first (taking the lock under which it signals); everything else stays as it was as far as it can. Where that passes,
//! the order of the two decides.
//!
//! Before the less telling ones, choices that the default would not have made are left out, the last one first: where that
//! passes, what the thread that then goes on does decides, against what was done instead of it.
//!
//! Guaranteed: whatever is told has been tried. That nothing is told does not mean that no order decides.
//!
//! The order of trials is one of taste: a signal and a wait say more than two locks; what a thread did that was put in
//! front of another says more than what came by itself; causes come before consequences.

use crate::depends::{depends, excludes, op};
use crate::log::{acts, choices, deviations, left, made};
use crate::{Act, Choice};
use retake_tape::op::Op;

/// An operation of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub act: Act,
    /// How many operations of the same kind its thread did before it.
    pub nth: usize,
    /// Whether it was done in the failing run. If not, its thread had not come there when the run ended.
    pub is_done: bool,
}

/// In the failing run `first` came before `then`; the other way round it passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub first: Step,
    pub then: Step,
    /// Choices of a run in which it is the other way round, and which passed.
    pub passing: Vec<u16>,
}

/// A run that was tried.
pub struct Tried {
    pub passed: bool,
    pub log: Vec<Choice>,
}

/// Most choices that are left out, one after the other.
const DEVIATIONS_MAX: usize = 20;

/// Looks for what decides in a failing run, with at most `budget` pairs. `run` follows choices as far as they fit, then the
/// default; nothing if no more runs can be made.
pub fn decide(run: &mut impl FnMut(&[u16]) -> Option<Tried>, failing: &[Choice], budget: usize) -> Option<Decision> {
    let steps = steps(failing);
    let (telling, others) = pairs(failing, &steps);
    let mut tries = 0..budget;
    let mut swap = |Pair { first, then, from }: Pair, run: &mut dyn FnMut(&[u16]) -> Option<Tried>| {
        tries.next()?;
        let tried = run(&swapped(&steps, from, then))?;
        let decides = tried.passed && is_swapped(&tried.log, &steps, first, then);
        Some(decides.then(|| Decision { first: steps[first], then: steps[then], passing: choices(&tried.log) }))
    };
    for pair in telling {
        if let Some(decision) = swap(pair, run)? {
            return Some(decision);
        }
    }
    for from in deviations(failing).into_iter().rev().take(DEVIATIONS_MAX) {
        let tried = run(&choices(failing)[..from])?;
        if tried.passed
            && let Some((first, then)) = instead(&steps, &self::steps(&tried.log), from)
        {
            return Some(Decision { first, then, passing: choices(&tried.log) });
        }
    }
    for pair in others {
        if let Some(decision) = swap(pair, run)? {
            return Some(decision);
        }
    }
    None
}

/// What was done from `from` on in the failing run, and what another thread did there in the passing one, if they meet.
fn instead(failing: &[Step], passing: &[Step], from: usize) -> Option<(Step, Step)> {
    let thread = passing.get(from)?.act.thread;
    let of_thread = || passing.iter().skip(from).filter(|step| step.act.thread == thread && step.is_done);
    let done =
        || failing.iter().skip(from).filter(|step| step.act.thread != thread && step.is_done && tells(&step.act));
    let meets = |first: &Step, then: &Step| depends(&first.act, &then.act) && !excludes(&first.act, &then.act);
    let pair = |may: fn(&Act) -> bool| {
        done().find_map(|first| Some((*first, *of_thread().find(|then| may(&then.act) && meets(first, then))?)))
    };
    // A lock that somebody only tries to take is as well not to be had because it has not been given back yet.
    let (first, then) = pair(tells).or_else(|| pair(releases))?;
    Some((first, Step { is_done: false, ..then }))
}

/// What was done, in order, and behind it what was about to be done.
pub(crate) fn steps(log: &[Choice]) -> Vec<Step> {
    let done = acts(log).map(|act| (act, true));
    let undone = left(log).into_values().map(|act| (act, false));
    let mut steps: Vec<Step> = Vec::new();
    for (act, is_done) in done.chain(undone) {
        let nth = steps.iter().filter(|step| step.act.thread == act.thread && step.act.op == act.op).count();
        steps.push(Step { act, nth, is_done });
    }
    steps
}

/// Two steps, and from where on the thread of the later one goes on instead.
#[derive(Clone, Copy)]
struct Pair {
    first: usize,
    then: usize,
    from: usize,
}

/// Pairs that could have come the other way round: the most telling ones, and the others.
fn pairs(log: &[Choice], steps: &[Step]) -> (Vec<Pair>, Vec<Pair>) {
    let log = made(log);
    let mut pairs = Vec::new();
    for first in 0..log.len() {
        let earlier = &steps[first].act;
        for (then, step) in steps.iter().enumerate().skip(first + 1) {
            let later = &step.act;
            let is_one = later.thread != earlier.thread && depends(earlier, later) && !excludes(earlier, later);
            if is_one && tells(earlier) && tells(later) {
                let latest = |end| log[..=end].iter().rposition(|choice| choice.able.has(later.thread));
                let (there, before) = (latest(first), latest(segment_start(log, first)));
                let before = before.filter(|_| before != there);
                pairs.extend(there.into_iter().chain(before).map(|from| Pair { first, then, from }));
            }
        }
    }
    let is_signal = |pair: &Pair| is_signal(&steps[pair.first].act, &steps[pair.then].act);
    let was_put_behind = |pair: &Pair| {
        let start = &log[segment_start(log, pair.first)];
        start.preempts() && start.current == steps[pair.then].act.thread
    };
    // Of several that wait, the last one tells most: it is the one that nobody woke.
    let age = |pair: &Pair| if is_signal(pair) { log.len() - pair.first } else { pair.first };
    pairs.sort_by_key(|pair| (!is_signal(pair), age(pair), pair.then));
    pairs.into_iter().partition(|pair| is_signal(pair) || was_put_behind(pair))
}

/// Where the thread of that step was chosen after another.
fn segment_start(log: &[Choice], step: usize) -> usize {
    let thread = log[step].chosen.thread;
    log[..step].iter().rposition(|choice| choice.chosen.thread != thread).map_or(0, |before| before + 1)
}

/// Whether a thread begins to wait for a condition: it gives its mutex up for it.
pub fn begins_to_wait(act: &Act) -> bool {
    op(act) == Some(Op::MutexUnlock) && act.other != 0
}

/// Giving something up tells less than taking it; that a thread begins, naps and ends is not what a program is about.
pub(crate) fn tells(act: &Act) -> bool {
    let lives = matches!(op(act), Some(Op::ThreadCreate | Op::ThreadStart | Op::ThreadJoin | Op::ThreadEnd));
    let rests = matches!(op(act), Some(Op::Sleep | Op::Exit));
    op(act).is_some() && (begins_to_wait(act) || !releases(act)) && !lives && !rests
}

/// Whether it gives something back.
fn releases(act: &Act) -> bool {
    matches!(op(act), Some(Op::MutexUnlock | Op::RwUnlock | Op::SpinUnlock))
}

fn is_signal(a: &Act, b: &Act) -> bool {
    let signals = |act: &Act| matches!(op(act), Some(Op::CondSignal | Op::CondBroadcast));
    let waits = |act: &Act| matches!(op(act), Some(Op::CondWait | Op::CondTimed)) || begins_to_wait(act);
    signals(a) && waits(b) || waits(a) && signals(b)
}

/// The choices in which the thread of `then` goes on from `from` up to it.
pub(crate) fn swapped(steps: &[Step], from: usize, then: usize) -> Vec<u16> {
    let mover = steps[then].act.thread;
    let is_moved = |at: usize| at >= from && at <= then && steps[at].act.thread == mover;
    let all = || (0..steps.len()).filter(|at| steps[*at].is_done || *at == then);
    let moved = all().filter(|at| is_moved(*at));
    let before = all().filter(|at| *at < from);
    let behind = all().filter(|at| *at >= from && !is_moved(*at));
    before.chain(moved).chain(behind).map(|at| steps[at].act.thread as u16).collect()
}

/// Whether the thread of `then` did it before the thread of `first` came to `first`, if it came there at all.
pub(crate) fn is_swapped(log: &[Choice], steps: &[Step], first: usize, then: usize) -> bool {
    let place = |at: usize| {
        let thread = steps[at].act.thread;
        let before = steps[..at].iter().filter(|step| step.act.thread == thread).count();
        acts(log).enumerate().filter(|(_, act)| act.thread == thread).nth(before).map(|(place, _)| place)
    };
    match (place(first), place(then)) {
        (Some(first), Some(then)) => then < first,
        (first, then) => first.is_none() && then.is_some(),
    }
}
