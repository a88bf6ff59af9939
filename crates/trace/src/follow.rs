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

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

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

/// The messages that only their own receives may take, and those that nobody may.
#[derive(Debug, Default)]
pub struct Holding {
    /// Those that traced receives will take.
    held: BTreeSet<Message>,
    /// The last message of each channel that was taken when recorded.
    last: BTreeMap<Channel, u64>,
}

impl Holding {
    /// A traced receive took the message.
    pub fn hold(&mut self, message: Message) {
        self.held.insert(message);
        self.taken_until(message.channel, message.number);
    }

    /// Messages of the channel up to this number were taken, at least.
    pub fn taken_until(&mut self, channel: Channel, number: u64) {
        let last = self.last.entry(channel).or_default();
        *last = number.max(*last);
    }

    /// Whether an untraced receive may take the message, if it is the first of its channel.
    pub fn is_free(&self, message: Message) -> bool {
        message.number <= self.last.get(&message.channel).copied().unwrap_or(0) && !self.held.contains(&message)
    }

    /// The receive that the message was held for has taken it.
    pub fn release(&mut self, message: Message) {
        self.held.remove(&message);
    }

    fn channels(&self) -> impl Iterator<Item = Channel> {
        self.last.keys().copied()
    }
}

/// Follows the trace of one process, call by call.
pub struct Follower {
    call: u64,
    calls: u64,
    notes: VecDeque<(u64, Note)>,
    holding: Holding,
    taken: BTreeMap<Channel, u64>,
}

impl Follower {
    pub fn new(trace: Trace) -> Follower {
        let mut holding = Holding::default();
        for (channel, count) in trace.counts {
            holding.taken_until(channel, count);
        }
        for (_, note) in &trace.notes {
            if let Note::Took(message) = note {
                holding.hold(*message);
            }
        }
        Follower { call: 0, calls: trace.calls, notes: trace.notes.into(), holding, taken: BTreeMap::new() }
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
        match self.step() {
            Step::Nothing | Step::End => false,
            Step::Take(message) => message == self.first(channel),
            Step::TakeAny => self.holding.is_free(self.first(channel)),
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
                let free = |channel: Channel| listen.hears(channel) && self.holding.is_free(self.first(channel));
                if self.holding.channels().any(free) { Ok(()) } else { Err(Divergence::NothingLeft { call }) }
            }
        }
    }

    /// The next call took the first message of the channel, which it may.
    pub fn took(&mut self, channel: Channel) {
        debug_assert!(self.may_take(channel), "call {} took from {channel:?}", self.call);
        self.holding.release(self.first(channel));
        *self.taken.entry(channel).or_default() += 1;
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
        self.taken.get(&channel).copied().unwrap_or(0)
    }

    /// The next call, counted from 0.
    pub fn call(&self) -> u64 {
        self.call
    }

    fn first(&self, channel: Channel) -> Message {
        Message { channel, number: self.taken(channel) + 1 }
    }
}
