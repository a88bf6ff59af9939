//! What decides: two operations of a failing run whose order makes it fail.
//!
//! Candidates are operations of two threads that depend on each other, the later of which could have come first. Each is
//! tried: the later one's thread goes on up to it before the earlier one, or before what the earlier one's thread had to
//! do first (taking the lock under which it signals); everything else stays as it was as far as it can. Where that passes,
//! the order of the two decides.
//!
//! Guaranteed: whatever is told has been tried. That nothing is told does not mean that no order decides.
//!
//! The order of trials is one of taste: a signal and a wait say more than two locks; what a thread did that was put in
//! front of another says more than what came by itself; causes come before consequences.

use crate::depends::{depends, excludes, op};
use crate::log::{acts, left, made};
use crate::{Act, Choice};
use retake_tape::op::Op;

/// An operation of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub act: Act,
    /// How many operations of the same kind its thread did before it.
    pub nth: usize,
    /// Whether it was done. If not, its thread was about to do it when the run ended.
    pub is_done: bool,
}

/// In the failing run `first` came before `then`; the other way round it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub first: Step,
    pub then: Step,
}

/// A run that was tried.
pub struct Tried {
    pub passed: bool,
    pub log: Vec<Choice>,
}

/// Looks for what decides in a failing run, with at most `budget` tries. `run` follows choices as far as they fit, then the
/// default; nothing if no more runs can be made.
pub fn decide(run: &mut impl FnMut(&[u16]) -> Option<Tried>, failing: &[Choice], budget: usize) -> Option<Decision> {
    let steps = steps(failing);
    let mut pairs = pairs(failing, &steps);
    pairs.truncate(budget);
    for Pair { first, then, from } in pairs {
        let tried = run(&swapped(&steps, from, then))?;
        if tried.passed && is_swapped(&tried.log, &steps, first, then) {
            return Some(Decision { first: steps[first], then: steps[then] });
        }
    }
    None
}

/// What was done, in order, and behind it what was about to be done.
fn steps(log: &[Choice]) -> Vec<Step> {
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

/// Pairs that could have come the other way round, the most telling first.
fn pairs(log: &[Choice], steps: &[Step]) -> Vec<Pair> {
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
    pairs.sort_by_key(|&Pair { first, then, .. }| {
        let start = segment_start(log, first);
        let was_put_behind = log[start].preempts() && log[start].current == steps[then].act.thread;
        (!is_signal(&steps[first].act, &steps[then].act), !was_put_behind, first, then)
    });
    pairs
}

/// Where the thread of that step was chosen after another.
fn segment_start(log: &[Choice], step: usize) -> usize {
    let thread = log[step].chosen.thread;
    log[..step].iter().rposition(|choice| choice.chosen.thread != thread).map_or(0, |before| before + 1)
}

/// Giving something up tells less than taking it; that a thread begins and ends is not what a program is about.
fn tells(act: &Act) -> bool {
    let gives = matches!(op(act), Some(Op::MutexUnlock | Op::RwUnlock | Op::SpinUnlock));
    let lives = matches!(op(act), Some(Op::ThreadCreate | Op::ThreadStart | Op::ThreadJoin | Op::ThreadEnd));
    !gives && !lives && op(act).is_some()
}

fn is_signal(a: &Act, b: &Act) -> bool {
    let signals = |act: &Act| matches!(op(act), Some(Op::CondSignal | Op::CondBroadcast));
    let waits = |act: &Act| matches!(op(act), Some(Op::CondWait | Op::CondTimed));
    signals(a) && waits(b) || waits(a) && signals(b)
}

/// The choices in which the thread of `then` goes on from `from` up to it.
fn swapped(steps: &[Step], from: usize, then: usize) -> Vec<u16> {
    let mover = steps[then].act.thread;
    let is_moved = |at: usize| at >= from && at <= then && steps[at].act.thread == mover;
    let all = || (0..steps.len()).filter(|at| steps[*at].is_done || *at == then);
    let moved = all().filter(|at| is_moved(*at));
    let before = all().filter(|at| *at < from);
    let behind = all().filter(|at| *at >= from && !is_moved(*at));
    before.chain(moved).chain(behind).map(|at| steps[at].act.thread as u16).collect()
}

/// Whether the thread of `then` did it before the thread of `first` came to `first`, if it came there at all.
fn is_swapped(log: &[Choice], steps: &[Step], first: usize, then: usize) -> bool {
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
