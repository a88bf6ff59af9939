//! Front: Algorithm B, looking only at races that can happen.
//!
//! Paper: none. It is Algorithm B of A. Karmarkar, N. Vaidya, R. Netzer, "Optimal Run-Time Tracing of Message-Passing
//! Programs", TR95-040, Texas A&M, 1995, with one observation more: a receive takes the *first* message of a channel. An
//! earlier receive can lose its message only to the first message of another channel that was not yet received by then,
//! not to those behind it. So a message is compared only with the receives since the last one from its own channel.
//!
//! Guaranteed:
//! 1. Of two receives that race at the front ([`crate::race::fronts`]) at least one is traced, and a replay needs no more
//!    ([`crate::follow`]).
//! 2. It never traces a receive that Algorithm B would not trace *in the same state*: what it compares with is a part of
//!    what B compares with.
//! 3. If every receive is a wildcard, it traces as few as any method can, also one that knows the future. Proof: let
//!    `low(j)` be the first receive that message `j` could have been taken by: behind the last one from its channel and
//!    behind all that happened before its send. Receives `i < j` race exactly if `low(j) <= i`. A set of receives may
//!    all be untraced exactly if each is below `low` of the next in the set: then the ones before are, too. This file
//!    leaves a receive untraced whenever the last untraced one is below its `low`, hence the first that is possible. Take
//!    any largest set: exchanging its first element for the first one chosen here keeps the next pair right, as the
//!    element chosen is not later; and so on through the set. So the set chosen here is as large.
//!
//!    With selective receives 3 does not hold, and no method that decides at once can be optimal: figure 5 of the
//!    paper. [`crate::window`] looks ahead.
//!
//! Deviations from Algorithm B:
//! 1. A receive from a channel, traced or not, takes all earlier receives out of that channel's place.
//! 2. One place serves all wildcards, as what took from the channel itself is never looked at.

use alloc::collections::BTreeMap;

use crate::policy::{Decision, Policy};
use crate::{Arrival, Channel, Listen};

#[derive(Default)]
pub struct Front {
    next: u64,
    lows: Lows,
    untraced: Untraced,
}

impl Policy for Front {
    fn took(&mut self, arrival: &Arrival) -> Option<Decision> {
        let receive = self.next;
        self.next += 1;
        let channel = arrival.message.channel;
        let low = self.lows.take(receive, arrival);
        let traced = self.untraced.races(channel, low);
        if !traced {
            self.untraced.put(receive, &arrival.listen);
        }
        Some(Decision { receive, traced })
    }
}

/// From which receive on each message could have been taken.
#[derive(Default)]
pub(crate) struct Lows {
    /// The receive behind the last one from each channel.
    behind: BTreeMap<Channel, u64>,
}

impl Lows {
    /// To be called once for each receive, in order.
    pub fn take(&mut self, receive: u64, arrival: &Arrival) -> u64 {
        let behind = self.behind.insert(arrival.message.channel, receive + 1).unwrap_or(0);
        behind.max(arrival.known)
    }
}

/// The latest untraced receive that listened on each channel.
#[derive(Default)]
pub(crate) struct Untraced {
    any: Option<u64>,
    only: BTreeMap<Channel, u64>,
}

impl Untraced {
    /// Receives are put in in their order.
    pub fn put(&mut self, receive: u64, listen: &Listen) {
        match listen {
            Listen::Any => self.any = Some(receive),
            Listen::Only(channels) => self.only.extend(channels.iter().map(|channel| (*channel, receive))),
        }
    }

    /// Whether a message of the channel races with one of them, if it could have been taken from `low` on.
    pub fn races(&self, channel: Channel, low: u64) -> bool {
        self.any.max(self.only.get(&channel).copied()).is_some_and(|latest| latest >= low)
    }
}
