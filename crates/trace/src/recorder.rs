//! The recorder: what a process does with messages goes in, what must be noted comes out.
//!
//! Every call that could receive is counted, whether it took a message or nothing. A note names the call, so that calls
//! without a note need no bytes. Calls that took nothing one after the other make one note.
//!
//! Law: notes come out in the order of their calls, each as soon as it can change no more. A traced receive is noted by
//! the message that it took; an untraced one not at all. At the end stands how many messages of each channel were taken:
//! without it a replay could take a message that the recorded run left lying ([`crate::follow`]).

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::policy::{Decision, Method, Policy};
use crate::{Arrival, Channel, Message};

/// What is to be known of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The call took this message.
    Took(Message),
    /// This call and those behind it, so many in all, took nothing: a time-out, or a poll.
    Nothing { times: u64 },
}

/// All that a replay of one process needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// How many calls there were.
    pub calls: u64,
    /// In the order of the calls, which are counted from 0.
    pub notes: Vec<(u64, Note)>,
    /// How many messages of each channel were taken.
    pub counts: BTreeMap<Channel, u64>,
}

impl Trace {
    /// How many receives are traced.
    pub fn traced(&self) -> usize {
        self.notes.iter().filter(|(_, note)| matches!(note, Note::Took(_))).count()
    }
}

pub struct Recorder {
    policy: Box<dyn Policy>,
    calls: u64,
    counts: BTreeMap<Channel, u64>,
    waiting: VecDeque<Waiting>,
    ended: bool,
}

struct Waiting {
    call: u64,
    what: What,
}

enum What {
    Undecided(Message),
    Traced(Message),
    Untraced,
    Nothing { times: u64 },
}

impl Recorder {
    pub fn new(method: Method) -> Recorder {
        Recorder { policy: method.policy(), calls: 0, counts: BTreeMap::new(), waiting: VecDeque::new(), ended: false }
    }

    /// A call took a message.
    pub fn took(&mut self, arrival: &Arrival) {
        *self.counts.entry(arrival.message.channel).or_default() += 1;
        self.waiting.push_back(Waiting { call: self.calls, what: What::Undecided(arrival.message) });
        self.calls += 1;
        if let Some(decision) = self.policy.took(arrival) {
            self.decided(decision);
        }
    }

    /// A call took nothing.
    pub fn nothing(&mut self) {
        match self.waiting.back_mut() {
            Some(Waiting { what: What::Nothing { times }, .. }) => *times += 1,
            _ => self.waiting.push_back(Waiting { call: self.calls, what: What::Nothing { times: 1 } }),
        }
        self.calls += 1;
    }

    /// No more calls will come: what is left is decided.
    pub fn end(&mut self) {
        while let Some(decision) = self.policy.end() {
            self.decided(decision);
        }
        self.ended = true;
    }

    /// The next note that can change no more, if there is one.
    pub fn note(&mut self) -> Option<(u64, Note)> {
        loop {
            let growing = self.waiting.len() == 1 && !self.ended;
            let note = match self.waiting.front()?.what {
                What::Undecided(_) => return None,
                What::Nothing { .. } if growing => return None,
                What::Nothing { times } => Some(Note::Nothing { times }),
                What::Traced(message) => Some(Note::Took(message)),
                What::Untraced => None,
            };
            let call = self.waiting.pop_front()?.call;
            if let Some(note) = note {
                return Some((call, note));
            }
        }
    }

    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// How many messages of each channel were taken so far.
    pub fn counts(&self) -> &BTreeMap<Channel, u64> {
        &self.counts
    }

    /// The end, and the rest of the notes behind those given out before.
    pub fn into_trace(mut self) -> Trace {
        self.end();
        let mut notes = Vec::new();
        while let Some(note) = self.note() {
            notes.push(note);
        }
        Trace { calls: self.calls, notes, counts: self.counts }
    }

    /// Decisions come in the order of the receives: it is about the first that is undecided.
    fn decided(&mut self, decision: Decision) {
        let undecided = self.waiting.iter_mut().find_map(|waiting| match waiting.what {
            What::Undecided(message) => Some((message, &mut waiting.what)),
            _ => None,
        });
        let (message, what) = undecided.expect("a decision about a receive that came");
        *what = if decision.traced { What::Traced(message) } else { What::Untraced };
    }
}
