//! Making a failing run smaller: the same failure with fewer choices that the default would not have made.

use super::outcome::{Judge, Outcome};
use super::slot::{Run, Slot, wait_for_any};
use crate::launch;
use crate::status::{Failure, Result};
use retake_explore::Plan;
use retake_explore::plan::kind;
use retake_explore::shrink::{self, Shrunk, Trial};
use std::time::{Duration, Instant};

/// What it may cost.
const RUNS: u64 = 2000;
const TIME: Duration = Duration::from_secs(10);

struct Shrinking<'a> {
    slot: &'a mut Slot,
    judge: &'a Judge,
    failure: Outcome,
    started: Instant,
    problem: Option<Failure>,
}

impl Shrinking<'_> {
    fn make(&mut self, choices: &[u16]) -> Result<Option<Trial>> {
        let Some(run) = follow(self.slot, choices)? else { return Ok(None) };
        let failed = self.judge.judge(run.outcome, &self.slot.output)? == Some(self.failure);
        Ok(Some(Trial { failed, log: run.log }))
    }
}

/// Makes a run that follows the choices, then the default; nothing if Retake is asked to end.
pub fn follow(slot: &mut Slot, choices: &[u16]) -> Result<Option<Run>> {
    if launch::asked_to_end().is_some() {
        return Ok(None);
    }
    slot.start(&Plan::new(kind::STEADY, 0), choices)?;
    while launch::asked_to_end().is_none() {
        wait_for_any(std::slice::from_ref(slot));
        if let Some(run) = slot.look()? {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

impl shrink::Run for Shrinking<'_> {
    fn run(&mut self, choices: &[u16]) -> Option<Trial> {
        if self.started.elapsed() > TIME || self.problem.is_some() {
            return None;
        }
        self.make(choices).map_err(|problem| self.problem = Some(problem)).ok().flatten()
    }
}

/// The failing run made smaller; nothing if it could not be made again.
pub fn shrink(slot: &mut Slot, judge: &Judge, run: &Run, failure: Outcome) -> Result<Option<Shrunk>> {
    // Each try of a run that hangs may take as long as nothing may move.
    if run.hangs_slowly {
        return Ok(None);
    }
    let mut shrinking = Shrinking { slot, judge, failure, started: Instant::now(), problem: None };
    let shrunk = shrink::shrink(&mut shrinking, &run.log, RUNS);
    match shrinking.problem {
        Some(problem) => Err(problem),
        None => Ok(shrunk.fails_again.then_some(shrunk)),
    }
}
