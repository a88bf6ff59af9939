//! Which receives are noted while capturing, and what travels with messages so that it can be decided.
//!
//! A receive needs a line only if another message could have taken its place (`retake-trace`). Every message carries what
//! its sender knew of everyone's receives; from that it is decided, at once or some receives later.
//!
//! Law: what is noted is never too little. A partner that has come again under its name, or whose messages have no stamp,
//! costs lines, not truth.

use retake_trace::policy::{Method, Policy};
use retake_trace::wire::{BUDGET, BadStamp, Clocks, Stamp};
use retake_trace::{Arrival, Channel, Listen, Message};
use std::collections::VecDeque;

/// A receive as a line would tell it.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    pub event: u64,
    /// The sender, as the tape numbers partners.
    pub from: u32,
    pub seq: u64,
    pub id: u64,
    pub call: bool,
}

/// Decides for one participant.
pub struct Noting {
    clocks: Clocks,
    policy: Box<dyn Policy>,
    /// Oldest first; with it, whether it is to be noted whatever is decided.
    undecided: VecDeque<(Receive, bool)>,
    /// Stamps so far, and their bytes.
    stamps: [u64; 2],
}

impl Noting {
    /// `None` if every receive is to be noted. `number` is the participant's among all who meet.
    pub fn new(method: Method, number: u32) -> Option<Noting> {
        let needed = method.needs_clocks() && number != 0;
        needed.then(|| Noting {
            clocks: Clocks::new(number, BUDGET),
            policy: method.policy(),
            undecided: VecDeque::new(),
            stamps: [0; 2],
        })
    }

    /// Somebody begins to send to us. Who has no number knows nothing that could be told.
    pub fn met(&mut self, sender: usize, number: u32) {
        if number != 0 {
            self.clocks.met(sender, number);
        }
    }

    /// Writes the stamp of the next message on that way; `sender` is who sends to us from its other end.
    pub fn stamp(&mut self, way: usize, sender: Option<usize>, bytes: &mut Vec<u8>) {
        let before = bytes.len();
        self.clocks.stamp(way, sender, bytes);
        self.stamps[0] += 1;
        self.stamps[1] += (bytes.len() - before) as u64;
    }

    /// How many stamps were written, and how long they were together; as the tape tells it.
    pub fn stamps(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.stamps[0].to_le_bytes());
        bytes[8..].copy_from_slice(&self.stamps[1].to_le_bytes());
        bytes
    }

    /// Reads the stamp of a frame that has come.
    pub fn arrived(&mut self, sender: usize, bytes: &mut &[u8]) -> Result<Stamp, BadStamp> {
        self.clocks.arrived(sender, bytes)
    }

    /// A reply has come to the call that waits for it: nothing else could have.
    pub fn replied(&mut self, stamp: &Stamp) {
        self.clocks.learned(stamp);
    }

    /// A receive has taken a message. Says of this one, or of an earlier one, whether it is to be noted.
    pub fn took(
        &mut self,
        sender: usize,
        receive: Receive,
        stamp: &Stamp,
        listen: Listen,
        always: bool,
    ) -> Option<(Receive, bool)> {
        let message = Message { channel: Channel(sender as u32), number: receive.seq };
        let known = self.clocks.took(stamp);
        self.undecided.push_back((receive, always));
        let decision = self.policy.took(&Arrival { message, listen, known })?;
        let (receive, always) = self.undecided.pop_front()?;
        Some((receive, decision.traced || always))
    }

    /// No more receives will come: what is still to be noted, until there is nothing more.
    pub fn end(&mut self) -> Option<Receive> {
        loop {
            let decision = self.policy.end()?;
            let (receive, always) = self.undecided.pop_front()?;
            if decision.traced || always {
                return Some(receive);
            }
        }
    }
}
