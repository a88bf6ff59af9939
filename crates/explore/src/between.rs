//! More than a pair: what came between two operations of one thread, and a thread that went on at the wrong moment.
//!
//! Both ask for what [`crate::decide`] could not tell. A pair that decides may be two of three: a thread does two things that
//! belong together, and another one comes in between. It is tried with the other one in front of both; that it passes behind
//! both, or in front of both, the pair has shown already. Where no pair decides, what counts may be memory that no operation
//! shows: then it is told at which operation the wrong thread went on.
//!
//! Guaranteed: as there, whatever is told has been tried.

use crate::decide::{Decision, Step, Tried, is_swapped, steps, swapped, tells};
use crate::depends::{depends, excludes};
use crate::log::{choices, deviations, made};
use crate::{Act, Choice};

/// Two operations of one thread, and one of another that came between. Before both it passes, and behind both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    pub before: Step,
    pub middle: Step,
    pub after: Step,
}

/// At `goes` its thread went on; if the thread of `stopped` had gone on instead, behind `stopped`, it passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub stopped: Step,
    pub goes: Step,
}

/// Most places that are tried on each side.
const PLACES_MAX: usize = 5;
/// Most choices that are left out.
const SWITCHES_MAX: usize = 20;

/// Whether the pair that decides is part of three. `run` as in [`crate::decide::decide`].
pub fn between(
    run: &mut impl FnMut(&[u16]) -> Option<Tried>,
    failing: &[Choice],
    decision: &Decision,
) -> Option<Between> {
    let steps = steps(failing);
    let log = made(failing);
    let place = |step: &Step| {
        let same =
            |other: &Step| (other.act.thread, other.act.op, other.nth) == (step.act.thread, step.act.op, step.nth);
        steps.iter().position(same)
    };
    let first = place(&decision.first).filter(|first| *first < log.len())?;
    let (one, other) = (decision.first.act.thread, decision.then.act.thread);
    // Before: what the second thread did before the first one, which comes between that and what it does then.
    for before in (0..first).rev().filter(|at| steps[*at].act.thread == other).take(PLACES_MAX) {
        if meets(&steps[before].act, &steps[before + 1..=first], one) && passes(run, log, &steps, before, first)? {
            return Some(Between { before: steps[before], middle: decision.first, after: decision.then });
        }
    }
    // Behind: what the first thread did after the second one, which comes between that and what it did before.
    let then = place(&decision.then).filter(|then| *then < log.len())?;
    for after in (then + 1..log.len()).filter(|at| steps[*at].act.thread == one).take(PLACES_MAX) {
        if meets(&steps[after].act, &steps[first..after], other) && passes(run, log, &steps, then, after)? {
            return Some(Between { before: decision.first, middle: decision.then, after: steps[after] });
        }
    }
    None
}

/// Whether the operation tells something, and depends on one of these that the thread did.
fn meets(act: &Act, steps: &[Step], thread: u32) -> bool {
    let depends = |other: &Act| depends(act, other) && !excludes(act, other) && !excludes(other, act);
    tells(act) && steps.iter().any(|step| step.act.thread == thread && tells(&step.act) && depends(&step.act))
}

/// Whether it passes if the thread of `then` does that before `first`, and goes on until the other one did something again:
/// what it has begun must not be left half done there. Nothing if no more runs can be made.
fn passes(
    run: &mut impl FnMut(&[u16]) -> Option<Tried>,
    log: &[Choice],
    steps: &[Step],
    first: usize,
    then: usize,
) -> Option<bool> {
    let mover = steps[then].act.thread;
    let Some(from) = log[..=first].iter().rposition(|choice| choice.able.has(mover)) else { return Some(false) };
    let other = steps[first].act.thread;
    let last =
        (then..log.len()).take_while(|at| steps[*at].act.thread != other).filter(|at| steps[*at].act.thread == mover);
    let tried = run(&swapped(steps, from, last.last().unwrap_or(then)))?;
    Some(tried.passed && is_swapped(&tried.log, steps, first, then))
}

/// Where the wrong thread went on, if any other would have been right.
pub fn switch(run: &mut impl FnMut(&[u16]) -> Option<Tried>, failing: &[Choice]) -> Option<Switch> {
    let done = steps(failing);
    let all = choices(failing);
    for from in deviations(failing).into_iter().rev().take(SWITCHES_MAX) {
        let tried = run(&all[..from])?;
        let right = choices(&tried.log).get(from).copied().filter(|_| tried.passed);
        let stopped = right.and_then(|right| done[..from].iter().rfind(|step| step.act.thread == u32::from(right)));
        if let Some(stopped) = stopped {
            return Some(Switch { stopped: *stopped, goes: done[from] });
        }
    }
    None
}
