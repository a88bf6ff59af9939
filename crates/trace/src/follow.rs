//! The follower: which message a call of a replay may take, by the trace.
//!
//! Paper: replay by sequence numbers, A. Karmarkar, N. Vaidya, R. Netzer, "Optimal Run-Time Tracing of Message-Passing
//! Programs", TR95-040, Texas A&M, 1995, section 5.
//!
//! - A call that took nothing takes nothing, and does not look.
//! - A traced receive takes its message, and waits for it.
//! - An untraced receive takes the first message of any channel that it listens on, if that message is not held for
//!   a traced receive and is not one of those that the recorded run left lying.
//!
//! Guaranteed: if the trace covers every race at the front ([`crate::race::fronts`]), every call takes what it took when
//! recorded, however long messages travel. Proof: look at the first call in the whole replay, in the order of time, that
//! takes another message; say receive `i`, untraced, takes `m`. All that happened before in any process happened as
//! recorded, `m` and the sends before it too. `m` was taken when recorded, because the rest is held back, and by a later
//! receive `j` of the same process, because what earlier ones took is gone. It is from another channel than the one
//! that `i` took from: the message of `i` is still there, and nobody overtakes it. It is the first of its channel, so
//! between `i` and `j` nothing was taken from there. `j` is untraced, as `m` is not held. So `i` and `j` do not race,
//! which can only mean that `i` happened before the send of `m`. But then it did in the replay, too: what the sender had
//! received by then was the same, and so were the senders of that; `i` was over before `m` was sent. It was not.
//!
//! And no more than covering is needed: if neither of two receives that race at the front is traced, a replay may do
//! everything that happened before the one, and before the send of the other's message, and then find that message
//! first.
//!
//! Deviations from the paper:
//! 1. Nothing is tagged by the sender in a replay: the receiver counts the messages of each channel.
//! 2. Messages that the recorded run left unreceived are held back. The paper does not speak of them; without it most
//!    replays of programs that end with messages in flight go wrong.

use alloc::collections::{BTreeMap, VecDeque};

use crate::recorder::{Note, Trace};
use crate::{Channel, Listen, Message};

/// What the next call has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Take nothing.
    Nothing,
    /// Wait for this message and take it.
    Take(Message),
    /// Take the first message of a channel for which [`Follower::may_take`] says so.
    TakeAny,
    /// There was no such call: the process had ended, or was blocked for ever.
    End,
}

/// The call cannot do what the recorded one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// It does not listen on the channel of the message that was taken.
    Deaf { call: u64, message: Message },
    /// Whatever it listens on has no message left that it may take.
    NothingLeft { call: u64 },
}

pub struct Follower {
    call: u64,
    calls: u64,
    notes: VecDeque<(u64, Note)>,
    channels: BTreeMap<Channel, Messages>,
}

#[derive(Default)]
struct Messages {
    count: u64,
    taken: u64,
    /// Those that traced receives will take.
    held: VecDeque<u64>,
}

impl Messages {
    fn free(&self) -> bool {
        self.taken < self.count && self.held.front() != Some(&(self.taken + 1))
    }
}

impl Follower {
    pub fn new(trace: Trace) -> Follower {
        let mut channels: BTreeMap<Channel, Messages> = BTreeMap::new();
        for (channel, count) in trace.counts {
            channels.entry(channel).or_default().count = count;
        }
        for (_, note) in &trace.notes {
            if let Note::Took(message) = note {
                channels.entry(message.channel).or_default().held.push_back(message.number);
            }
        }
        Follower { call: 0, calls: trace.calls, notes: trace.notes.into(), channels }
    }

    /// What the next call has to do.
    pub fn step(&self) -> Step {
        match self.notes.front() {
            _ if self.call >= self.calls => Step::End,
            Some((call, Note::Took(message))) if *call == self.call => Step::Take(*message),
            Some((call, Note::Nothing { .. })) if *call <= self.call => Step::Nothing,
            _ => Step::TakeAny,
        }
    }

    /// Whether the next call may take the first message of the channel that was not taken yet.
    pub fn may_take(&self, channel: Channel) -> bool {
        let Some(messages) = self.channels.get(&channel) else { return false };
        match self.step() {
            Step::Nothing | Step::End => false,
            Step::Take(message) => message == Message { channel, number: messages.taken + 1 },
            Step::TakeAny => messages.free(),
        }
    }

    /// Whether the next call, which listens like this, can be answered at all.
    pub fn can_listen(&self, listen: &Listen) -> Result<(), Divergence> {
        let call = self.call;
        match self.step() {
            Step::Nothing | Step::End => Ok(()),
            Step::Take(message) if listen.hears(message.channel) => Ok(()),
            Step::Take(message) => Err(Divergence::Deaf { call, message }),
            Step::TakeAny => {
                let left = self.channels.iter().any(|(channel, messages)| listen.hears(*channel) && messages.free());
                if left { Ok(()) } else { Err(Divergence::NothingLeft { call }) }
            }
        }
    }

    /// The next call took the first message of the channel, which it may.
    pub fn took(&mut self, channel: Channel) {
        debug_assert!(self.may_take(channel), "call {} took from {channel:?}", self.call);
        let messages = self.channels.entry(channel).or_default();
        messages.taken += 1;
        if messages.held.front() == Some(&messages.taken) {
            messages.held.pop_front();
        }
        if matches!(self.notes.front(), Some((call, Note::Took(_))) if *call == self.call) {
            self.notes.pop_front();
        }
        self.call += 1;
    }

    /// The next call took nothing, as it had to.
    pub fn nothing(&mut self) {
        debug_assert_eq!(self.step(), Step::Nothing, "call {}", self.call);
        self.call += 1;
        if matches!(self.notes.front(), Some((first, Note::Nothing { times })) if self.call - first >= *times) {
            self.notes.pop_front();
        }
    }

    /// How many messages of the channel were taken so far.
    pub fn taken(&self, channel: Channel) -> u64 {
        self.channels.get(&channel).map_or(0, |messages| messages.taken)
    }

    /// The next call, counted from 0.
    pub fn call(&self) -> u64 {
        self.call
    }
}
