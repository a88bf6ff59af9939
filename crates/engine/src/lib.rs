//! What runs inside a recorded program.
//!
//! ```text
//! surface (crates/preload) --> turn --> record: real call, then entry and count    --> writer --> store (tape file)
//!                                   \-> replay: next step, wait, then the real call <-- reader <-- tape file
//! ```
//!
//! Law: nothing here allocates, logs, reads the environment after the start, or calls a function that Retake catches.
//! System calls go through [`sys`], so that `errno` is the program's alone.

pub mod apart;
pub mod baton;
pub mod came;
pub mod clock;
pub mod contents;
pub mod copy;
pub mod deadlock;
pub mod descriptors;
pub mod end;
pub mod entries;
pub mod explore;
pub mod halt;
pub mod held;
pub mod holds;
pub mod jitter;
pub mod lend;
pub mod lock;
pub mod messages;
pub mod neighbours;
pub mod objects;
pub mod outside;
pub mod outward;
pub mod park;
pub mod pids;
pub mod places;
pub mod process;
pub mod ranks;
pub mod reader;
pub mod record;
pub mod replay;
pub mod report;
pub mod schedule;
mod seen;
pub mod serial;
pub mod settled;
pub mod signals;
pub mod stand_in;
pub mod stops;
pub mod store;
pub mod sys;
pub mod taken;
pub mod tasks;
pub mod thread;
pub mod tls;
pub mod turn;
pub mod watch;
pub mod writer;
