//! For each channel, the latest of the receives put in that listened on it and took from another channel.
//!
//! The paper keeps an array with one place per channel and writes into each place that a receive listened on. A
//! wildcard listens on all of them. Two places serve all wildcards at once: the latest one, and the latest one that took
//! from another channel than that; whichever channel is asked for, one of the two is the answer.

use alloc::collections::BTreeMap;

use crate::{Channel, Listen};

#[derive(Default)]
pub struct Listeners {
    any: Option<(u64, Channel)>,
    any_other: Option<(u64, Channel)>,
    only: BTreeMap<Channel, u64>,
}

impl Listeners {
    /// Receives are put in in their order.
    pub fn put(&mut self, receive: u64, took_from: Channel, listen: &Listen) {
        match listen {
            Listen::Any => {
                if let Some(latest) = self.any.replace((receive, took_from))
                    && latest.1 != took_from
                {
                    self.any_other = Some(latest);
                }
            }
            Listen::Only(channels) => {
                for channel in channels.iter().filter(|&&channel| channel != took_from) {
                    self.only.insert(*channel, receive);
                }
            }
        }
    }

    pub fn latest(&self, channel: Channel) -> Option<u64> {
        let any = self.any.filter(|(_, from)| *from != channel).or(self.any_other).map(|(receive, _)| receive);
        any.max(self.only.get(&channel).copied())
    }
}
