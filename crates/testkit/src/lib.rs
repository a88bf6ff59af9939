//! What the tests of Retake share: compile a small program, record it, replay it, compare.
//!
//! ```text
//! tests/programs/x.c -- Fixture::load --> header -- Kit::compile --> program -- Kit::record --> take
//!                                                                       same?  <-- Kit::replay --'
//! ```
//!
//! Law: a run never outlives its time limit by more than it takes to tell where it hangs, and a failure says what was run,
//! what came, and what Retake said. A failed check leaves its take behind and names it.

mod certificates;
mod compare;
mod compile;
mod fixture;
mod harness;
mod kit;
mod nats;
mod place;
mod run;
mod stacks;
mod table;

pub use certificates::Authority;
pub use compare::first_difference;
pub use fixture::Fixture;
pub use harness::{Test, run_all};
pub use kit::{Kit, MPI_VARIABLES};
pub use nats::Nats;
pub use place::Place;
pub use run::{Limits, Outcome, run};
pub use table::{Row, rows_in};
