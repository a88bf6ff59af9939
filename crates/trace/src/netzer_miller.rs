//! Netzer and Miller's check: trace a message if it races with the previous receive that could have taken it.
//!
//! Paper: R. Netzer, B. Miller, "Optimal Tracing and Replay for Debugging Message-Passing Parallel Programs",
//! Supercomputing 1992; as reproduced in A. Karmarkar, N. Vaidya, R. Netzer, "Optimal Run-Time Tracing of
//! Message-Passing Programs", TR95-040, Texas A&M, 1995, figure 3.
//!
//! Guaranteed: of two receives that race, the later one is traced. (If the previous receive happened before the send,
//! so did every earlier one.) It does not look whether the earlier one is traced already, and so traces more than
//! [Algorithm B](crate::algorithm_b). It is here for comparison.
//!
//! Deviations from the paper:
//! 1. The previous receive is the previous one that took from *another* channel. As printed, a message is compared with
//!    its predecessor on its own channel, too; channels are first in, first out, and those two cannot race.

use crate::Arrival;
use crate::listeners::Listeners;
use crate::policy::{Decision, Policy};

#[derive(Default)]
pub struct NetzerMiller {
    next: u64,
    all: Listeners,
}

impl Policy for NetzerMiller {
    fn took(&mut self, arrival: &Arrival) -> Option<Decision> {
        let receive = self.next;
        self.next += 1;
        let traced = self.all.latest(arrival.message.channel).is_some_and(|previous| previous >= arrival.known);
        self.all.put(receive, arrival.message.channel, &arrival.listen);
        Some(Decision { receive, traced })
    }
}
