//! Messages between named participants, and data that they share, whose every execution can be captured and run again.
//!
//! ```no_run
//! # fn main() -> retake::Result<()> {
//! let mut me = retake::init("client")?;
//! let server = me.wait_for_partner("server", None)?;
//! me.send(server, b"a message")?;
//! if let Some(reply) = me.call(server, b"a question", None)? {
//!     println!("{}", String::from_utf8_lossy(&reply));
//! }
//! me.finish();
//! # Ok(()) }
//! ```
//!
//! `retake record -- CMD` captures the order in which everyone received; `retake replay` runs everyone again, with every
//! message received as it was. `retake record --full` keeps the contents, too; then `retake replay --only NAME` runs that
//! participant's process alone. Nothing is rebuilt, and without Retake nothing is noted.
//!
//! ```text
//! program -> participant -> capture (part in the take)        live: the first message that fits
//!                        -> follow  (part of the take)        replay: the message that the tape names
//!                        -> inbox <- transport (Unix sockets, TCP) <- other participants
//! ```
//!
//! Law: the library does its work in the calls of its user, and makes its system calls itself, so that the shim, which
//! may be in the same process, sees only what the program does. Threads of its own (`unseen`) are not seen
//! either.

#![warn(missing_docs)]

mod asleep;
mod c;
mod capture;
mod carrier;
mod checkpoint;
mod crew;
mod cutter;
mod descriptors;
mod error;
mod exploring;
mod follow;
mod forked;
mod frame;
mod gate;
mod inbox;
mod links;
mod meeting;
mod message;
mod mode;
#[cfg(feature = "nats")]
mod nats;
mod noting;
#[doc(hidden)]
pub mod outside;
mod parked;
mod participant;
mod porter;
mod proof;
mod real;
mod receiving;
mod report;
mod seat;
mod sending;
mod shared;
pub mod sync;
mod talk;
mod tcp;
pub mod thread;
pub mod time;
mod transport;
mod unix;
mod unseen;
mod values;
mod waiting;
mod watch;
mod ways;
mod wire;
mod writer;

pub use carrier::set_transport;
pub use error::{Error, Result};
pub use exploring::{Explore, Explored, Strategy, explore};
pub use frame::{MESSAGE_MAX, NAME_MAX};
pub use message::{Message, Partner};
pub use mode::{Mode, set_mode};
pub use participant::{Participant, init};
pub use shared::{ReadGuard, Shared, WriteGuard};
pub use writer::Writer;
