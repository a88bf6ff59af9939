//! Which receives of a message-passing program must be noted, so that a replay cannot go wrong.
//!
//! Processes send messages over channels. A channel belongs to one receiver, has one sender, and is first in, first
//! out. A receive takes the first message of one of the channels that it listens on. A receive is *traced* if the trace
//! says which message it took; all the others are left to themselves.
//!
//! ```text
//! record   message + stamp --> clock (what its sender knew) --> policy --> recorder --> trace
//! replay   trace --> follower (may this receive take the first message of that channel?)
//! offline  events --> execution (every clock at once) --> races, optimum
//! ```
//!
//! Everything is decided by one number per message: how many receives of the receiver its sender knew of when it was
//! sent ([`Arrival::known`]). The clocks exist to find it; policies, races and optimum need nothing else.
//!
//! A program is the same again if its processes do the same as long as they receive the same; what else may differ (a
//! clock, an outcome of a poll) is on the tape and is not the matter of this crate.
//!
//! Law: pure. No I/O, no clock, no dependency, no unsafe code; bytes from outside never make it panic.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod clock;
pub mod cover;
pub mod execution;
pub mod follow;
pub mod graph;
pub mod optimum;
pub mod policy;
pub mod race;
pub mod recorder;
pub mod varint;
pub mod window;
pub mod wire;

mod algorithm_a;
mod algorithm_b;
mod front;
mod listeners;
mod netzer_miller;

use alloc::vec::Vec;

/// A channel into one process, as that process numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u32);

/// A message: the `number`-th of its channel, counted from 1. (Where only policies and [`follow::Holding`] are concerned,
/// numbers need only rise.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    pub channel: Channel,
    pub number: u64,
}

/// The channels that a receive would have taken a message from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A wildcard: any channel, also one that nobody has used yet.
    Any,
    Only(Vec<Channel>),
}

impl Listen {
    pub fn hears(&self, channel: Channel) -> bool {
        match self {
            Listen::Any => true,
            Listen::Only(channels) => channels.contains(&channel),
        }
    }
}

/// A receive that took a message, with all that a decision about it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub message: Message,
    pub listen: Listen,
    /// How many receives of this process had happened before the message was sent, as its sender knew: receive `i`
    /// (counted from 0) happened before the send if `i < known`. Too small a number is safe: it costs trace.
    pub known: u64,
}
