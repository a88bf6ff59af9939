//! An execution, whole: what each process did with messages, and from it what each sender knew.
//!
//! This is the offline side. It needs every process, and gives for each the receives as a policy would have seen them,
//! with exact clocks, and the messages that were sent and never received.
//!
//! Law: sends and receives of a channel are matched in their order, as the channel is first in, first out. An execution
//! that cannot have happened (a receive without its send, two processes on one channel) is refused, never guessed at.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use crate::clock::Clock;
use crate::recorder::{Recorder, Trace};
use crate::{Arrival, Channel, Listen, Message};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message into a channel of another process, or of this one.
    Send { to: usize, channel: Channel },
    /// Took the first message of a channel.
    Receive { channel: Channel, listen: Listen },
    /// Would have taken one, and took nothing.
    Nothing,
    /// A message that only one receive can take, such as the reply to a call; it races with nothing.
    Tell { to: usize, channel: Channel },
    /// Took such a message.
    Learn { channel: Channel },
}

/// The events of each process, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    pub processes: Vec<Vec<Event>>,
}

/// Where something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub process: usize,
    /// Which event of the process, from 0.
    pub event: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub arrival: Arrival,
    pub sent: Place,
    pub at: Place,
}

/// A message that was sent and never received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreceived {
    pub message: Message,
    pub known: u64,
    pub sent: Place,
}

/// What came to one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub receives: Vec<Received>,
    /// In the order of their channels, and of their numbers.
    pub unreceived: Vec<Unreceived>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// There is no such process.
    Nobody { sent: Place },
    /// Two processes send into one channel.
    TwoSenders { sent: Place },
    /// The message was never sent, or could be sent only after this receive.
    NeverSent { received: Place },
}

struct InFlight {
    sent: Place,
    clock: Clock,
}

impl Execution {
    /// Runs through all events in an order in which they can have happened.
    pub fn histories(&self) -> Result<Vec<History>, Impossible> {
        let size = self.processes.len();
        let mut run = Run {
            clocks: vec![Clock::default(); size],
            taken: vec![0; size],
            flying: (0..size).map(|_| BTreeMap::new()).collect(),
            told: vec![BTreeMap::new(); size],
            histories: vec![History::default(); size],
        };
        let mut next = vec![0; size];
        let mut moved = true;
        while moved {
            moved = false;
            for (process, next) in next.iter_mut().enumerate() {
                while let Some(event) = self.processes[process].get(*next) {
                    if !run.step(Place { process, event: *next }, event)? {
                        break;
                    }
                    *next += 1;
                    moved = true;
                }
            }
        }
        let stuck = (0..size).find(|&process| next[process] < self.processes[process].len());
        match stuck {
            Some(process) => Err(Impossible::NeverSent { received: Place { process, event: next[process] } }),
            None => Ok(run.end()),
        }
    }

    /// What recording the process would have noted, given its history.
    pub fn trace(&self, process: usize, history: &History, mut recorder: Recorder) -> Trace {
        let mut receives = history.receives.iter();
        for event in &self.processes[process] {
            match event {
                Event::Send { .. } | Event::Tell { .. } | Event::Learn { .. } => {}
                Event::Nothing => recorder.nothing(),
                Event::Receive { .. } => recorder.took(&receives.next().expect("as many as there are events").arrival),
            }
        }
        recorder.into_trace()
    }
}

struct Queue {
    from: usize,
    taken: u64,
    flying: VecDeque<InFlight>,
}

struct Run {
    clocks: Vec<Clock>,
    taken: Vec<u64>,
    flying: Vec<BTreeMap<Channel, Queue>>,
    told: Vec<BTreeMap<Channel, VecDeque<Clock>>>,
    histories: Vec<History>,
}

impl Run {
    /// Whether the event can happen now; then it has.
    fn step(&mut self, at: Place, event: &Event) -> Result<bool, Impossible> {
        match event {
            Event::Nothing => {}
            Event::Tell { to, channel } => {
                let told = self.told.get_mut(*to).ok_or(Impossible::Nobody { sent: at })?;
                told.entry(*channel).or_default().push_back(self.clocks[at.process].clone());
            }
            Event::Learn { channel } => {
                let told = self.told[at.process].get_mut(channel);
                let Some(clock) = told.and_then(VecDeque::pop_front) else { return Ok(false) };
                self.clocks[at.process].merge(&clock);
            }
            Event::Send { to, channel } => {
                let queues = self.flying.get_mut(*to).ok_or(Impossible::Nobody { sent: at })?;
                let new = Queue { from: at.process, taken: 0, flying: VecDeque::new() };
                let queue = queues.entry(*channel).or_insert(new);
                if queue.from != at.process {
                    return Err(Impossible::TwoSenders { sent: at });
                }
                queue.flying.push_back(InFlight { sent: at, clock: self.clocks[at.process].clone() });
            }
            Event::Receive { channel, listen } => {
                let Some(queue) = self.flying[at.process].get_mut(channel) else { return Ok(false) };
                let Some(InFlight { sent, clock }) = queue.flying.pop_front() else { return Ok(false) };
                queue.taken += 1;
                let message = Message { channel: *channel, number: queue.taken };
                let known = clock.get(at.process as u32);
                let arrival = Arrival { message, listen: listen.clone(), known };
                self.histories[at.process].receives.push(Received { arrival, sent, at });
                self.taken[at.process] += 1;
                self.clocks[at.process].merge(&clock);
                self.clocks[at.process].raise(at.process as u32, self.taken[at.process]);
            }
        }
        Ok(true)
    }

    fn end(mut self) -> Vec<History> {
        for (process, queues) in self.flying.into_iter().enumerate() {
            for (channel, queue) in queues {
                let rest = queue.flying.into_iter().zip(queue.taken + 1..);
                self.histories[process].unreceived.extend(rest.map(|(flying, number)| Unreceived {
                    message: Message { channel, number },
                    known: flying.clock.get(process as u32),
                    sent: flying.sent,
                }));
            }
        }
        self.histories
    }
}
