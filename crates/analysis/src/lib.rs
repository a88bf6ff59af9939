//! What a developed take tells beyond its order: pure functions over rich tapes, findings as values.
//!
//! ```text
//! NAME.rich -- History, merged --> Walk: locks held, clocks --> Order: circles of locks
//!                                    |--> Ends: who waits for ever -----'--> findings
//! ```
//!
//! Law: no files, no words, no symbols; whoever calls has those. A finding is certain from the notes alone.

pub mod finding;
pub mod history;

mod clocks;
mod deed;
mod ends;
mod groups;
mod order;
mod walk;

pub use finding::{Finding, Link, Mark, Obstacle, Waiter};
pub use history::{History, Note};

use ends::Ends;
use retake_tape::layout::state;
use retake_tape::reader::Tape;
use std::sync::atomic::Ordering::Relaxed;
use walk::{Walk, Who};

/// What a take was found to hold.
#[derive(Debug, Default)]
pub struct Checked {
    /// The most serious first.
    pub findings: Vec<Finding>,
    /// There were too many lock orders to look at all circles.
    pub is_cut: bool,
}

/// Checks the take of the rich tapes `rich`, whose light ones are `tapes`.
pub fn check(rich: &[Tape], tapes: &[Tape]) -> Checked {
    let history = History::new(rich);
    let mut names: Vec<String> = Vec::new();
    let mut who = Vec::new();
    for (tape, thread) in history.threads() {
        let name = tape.name();
        let process = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        });
        let ended = tapes.iter().find(|tape| tape.name() == name).map(|tape| tape.header.state.load(Relaxed));
        let is_gone = matches!(ended, Some(state::EXITED | state::EXECED));
        who.push(Who { process, number: thread.header.number.into(), is_gone });
    }
    check_notes(&who, || History::new(rich))
}

/// The same for notes from anywhere; `notes` gives them from the start, as often as it is called.
fn check_notes<I: Iterator<Item = Note>>(who: &[Who], notes: impl Fn() -> I) -> Checked {
    let mut walk = Walk::new(who);
    notes().for_each(|note| walk.pass(&note));
    let ends = Ends::new(&walk);
    let (mut findings, known, told) = ends.deadlocks();
    findings.extend(ends.others(&told, notes()));
    findings.extend(walk.foreign_unlocks());
    let circles = walk.order.circles(&known);
    findings.extend(circles.findings);
    findings.sort_by_key(Finding::rank);
    Checked { findings, is_cut: circles.is_cut }
}

#[cfg(test)]
mod tests;
