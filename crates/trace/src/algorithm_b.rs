//! Algorithm B: the decisions of Algorithm A with one buffer per channel instead of the whole past.
//!
//! Paper: A. Karmarkar, N. Vaidya, R. Netzer, "Optimal Run-Time Tracing of Message-Passing Programs", TR95-040, Texas
//! A&M, 1995, figure 10 and theorem 1.
//!
//! Guaranteed: the decisions of [Algorithm A](crate::algorithm_a), always. Of the untraced receives that listened on a
//! channel only the latest has to be looked at: if it happened before the send of a message of that channel, so did all
//! that came before it. At most one receive per channel is kept.
//!
//! Deviations from the paper:
//! 1. The paper's figure compares without asking whether there is a receive to compare with; if there is none, nothing
//!    is traced.
//! 2. Wildcards are kept in two places instead of being written into the place of each channel
//!    ([`crate::listeners`]), so that a receive costs the same however many channels there are.

use crate::Arrival;
use crate::listeners::Listeners;
use crate::policy::{Decision, Policy};

#[derive(Default)]
pub struct AlgorithmB {
    next: u64,
    untraced: Listeners,
}

impl Policy for AlgorithmB {
    fn took(&mut self, arrival: &Arrival) -> Option<Decision> {
        let receive = self.next;
        self.next += 1;
        let traced = self.untraced.latest(arrival.message.channel).is_some_and(|latest| latest >= arrival.known);
        if !traced {
            self.untraced.put(receive, arrival.message.channel, &arrival.listen);
        }
        Some(Decision { receive, traced })
    }
}
