//! The races of an execution: which receive could have taken which other message.
//!
//! Two notions. Both compare a receive `i` with a message `m` of another channel on which `i` listened, taken by a later
//! receive `j` of the same process, and ask that `i` did not happen before the send of `m`.
//!
//! - **Pairs**, of Netzer and Miller (1992): any such two. Either could have been accepted first, if everything between
//!   them is allowed to change, too.
//! - **Fronts**: besides, `m` is the first message of its channel that was taken after `i`. Only such a message can be
//!   there for `i` to take while everything before is as recorded: those behind it in the channel cannot. A replay goes
//!   wrong first at one of these, if at all, and so it is enough to cover them ([`crate::follow`]). They are few: for
//!   each receive at most one per channel.
//!
//! Fronts with messages that were never received are races too, and are listed, but need no trace: a replay holds such
//! messages back.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::execution::{History, Place};
use crate::front::Lows;
use crate::{Channel, Message};

/// A receive, and a message that could have come instead of the one it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Race {
    /// Which receive of the process, from 0.
    pub receive: usize,
    pub other: Message,
    pub sent: Place,
    /// Which receive took the other message; none if it was never received.
    pub taken_by: Option<usize>,
}

/// The races at the front, by the other message.
pub fn fronts(history: &History) -> impl Iterator<Item = Race> {
    let receives = &history.receives;
    let (mut lows, mut behind) = (Lows::default(), BTreeMap::<Channel, u64>::new());
    let mut others = Vec::new();
    for (j, received) in receives.iter().enumerate() {
        let low = lows.take(j as u64, &received.arrival);
        behind.insert(received.arrival.message.channel, j as u64 + 1);
        others.push((low as usize..j, received.arrival.message, received.sent, Some(j)));
    }
    for left in &history.unreceived {
        // Behind the first that was left lying no other can be at the front.
        if others
            .last()
            .is_none_or(|(_, other, _, taken_by)| taken_by.is_some() || other.channel != left.message.channel)
        {
            let low = behind.get(&left.message.channel).copied().unwrap_or(0).max(left.known);
            others.push((low as usize..receives.len(), left.message, left.sent, None));
        }
    }
    others.into_iter().flat_map(move |(could_take, other, sent, taken_by)| {
        could_take.filter(move |&i| receives[i].arrival.listen.hears(other.channel)).map(move |receive| Race {
            receive,
            other,
            sent,
            taken_by,
        })
    })
}

/// The races of any two receives, by the other message.
pub fn pairs(history: &History) -> impl Iterator<Item = Race> {
    let receives = &history.receives;
    receives.iter().enumerate().flat_map(move |(j, received)| {
        let (arrival, sent) = (&received.arrival, received.sent);
        let (known, other) = (arrival.known as usize, arrival.message);
        let could_take = move |i: &usize| {
            let earlier = &receives[*i].arrival;
            earlier.message.channel != other.channel && earlier.listen.hears(other.channel)
        };
        (known..j).filter(could_take).map(move |receive| Race { receive, other, sent, taken_by: Some(j) })
    })
}
