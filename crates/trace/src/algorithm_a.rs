//! Algorithm A: trace a message if it races with any earlier receive that was not traced. The whole past is kept.
//!
//! Paper: A. Karmarkar, N. Vaidya, R. Netzer, "Optimal Run-Time Tracing of Message-Passing Programs", TR95-040, Texas
//! A&M, 1995, figure 6.
//!
//! Guaranteed: of two receives that race at least one is traced; and no method that decides at once, knows nothing of
//! the future, and covers all pairs of [`crate::race::pairs`] can leave a receive untraced that this one traces, unless
//! it has traced another before. It needs memory without bound: it is the oracle for
//! [Algorithm B](crate::algorithm_b), which decides the same.
//!
//! Deviations from the paper:
//! 1. Receives that took from the message's own channel are skipped. As printed they are compared, too; channels are
//!    first in, first out, and messages of one channel never race. Left in, it traces several times as much.
//! 2. There is one list of all receives, walked with a look at what each listened on, instead of a list per channel.

use alloc::vec::Vec;

use crate::policy::{Decision, Policy};
use crate::{Arrival, Channel, Listen};

#[derive(Default)]
pub struct AlgorithmA {
    past: Vec<Past>,
}

struct Past {
    took_from: Channel,
    listen: Listen,
    traced: bool,
}

impl Policy for AlgorithmA {
    fn took(&mut self, arrival: &Arrival) -> Option<Decision> {
        let (channel, receive) = (arrival.message.channel, self.past.len());
        let not_before_the_send = self.past.iter().enumerate().rev().take_while(|(i, _)| *i as u64 >= arrival.known);
        let traced = not_before_the_send
            .map(|(_, past)| past)
            .any(|past| !past.traced && past.took_from != channel && past.listen.hears(channel));
        self.past.push(Past { took_from: channel, listen: arrival.listen.clone(), traced });
        Some(Decision { receive: receive as u64, traced })
    }
}
