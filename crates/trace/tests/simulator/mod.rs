//! Random executions of processes that send and receive, and re-executions of them under a trace.
//!
//! An execution is made by letting random processes do random things. A re-execution lets the same processes do the same
//! things in another order: messages are taken as the trace allows, the wrong one whenever it allows one.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod patterns;

use retake_trace::execution::{Event, Execution, History};
use retake_trace::follow::{Follower, Step};
use retake_trace::recorder::Trace;
use retake_trace::{Channel, Listen};

/// Numbers that look random and are the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// How the processes of an execution behave.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub processes: usize,
    pub events: usize,
    /// One receive in so many names its senders; none if 0.
    pub selective: usize,
    /// One receive in so many is followed by an answer to its sender.
    pub answers: usize,
    /// One event in so many is a send; the others receive if they can.
    pub sends: usize,
}

impl Style {
    /// Small and varied.
    pub fn any(random: &mut Random) -> Style {
        Style {
            processes: 2 + random.below(5),
            events: 10 + random.below(90),
            selective: *random.pick(&[0, 0, 1, 2, 4]),
            answers: 1 + random.below(6),
            sends: 2 + random.below(2),
        }
    }

    pub fn wildcards(random: &mut Random) -> Style {
        Style { selective: 0, ..Style::any(random) }
    }
}

/// In the channel `k` of a process comes what process `k` sent.
pub fn execution(style: Style, random: &mut Random) -> Execution {
    let size = style.processes;
    let mut waiting = vec![vec![0; size]; size];
    let mut processes = vec![Vec::new(); size];
    for _ in 0..style.events {
        let process = random.below(size);
        let heard: Vec<usize> = (0..size).filter(|from| waiting[process][*from] > 0).collect();
        if heard.is_empty() || random.one_in(style.sends) {
            let to = random.below(size);
            waiting[to][process] += 1;
            processes[process].push(Event::Send { to, channel: Channel(process as u32) });
        } else if random.one_in(12) {
            processes[process].push(Event::Nothing);
        } else {
            let from = *random.pick(&heard);
            waiting[process][from] -= 1;
            let listen = listen(style, from, random);
            processes[process].push(Event::Receive { channel: Channel(from as u32), listen });
            if random.one_in(style.answers) {
                waiting[from][process] += 1;
                processes[process].push(Event::Send { to: from, channel: Channel(process as u32) });
            }
        }
    }
    Execution { processes }
}

fn listen(style: Style, from: usize, random: &mut Random) -> Listen {
    if style.selective == 0 || !random.one_in(style.selective) {
        return Listen::Any;
    }
    let others = 1 + random.below(style.processes);
    let listens = (0..style.processes).filter(|other| *other == from || random.below(style.processes) < others);
    Listen::Only(listens.map(|other| Channel(other as u32)).collect())
}

/// How a re-execution went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    AsRecorded,
    /// A process took another message than when recorded.
    Wrong {
        process: usize,
    },
    /// Nobody could go on.
    Stuck,
}

/// Runs the execution again, in a random order, each process under its trace.
pub fn again(execution: &Execution, histories: &[History], traces: &[Trace], random: &mut Random) -> Outcome {
    let size = execution.processes.len();
    let mut followers: Vec<Follower> = traces.iter().map(|trace| Follower::new(trace.clone())).collect();
    let mut arrived = vec![vec![0u64; size]; size];
    let (mut next, mut received) = (vec![0; size], vec![0; size]);
    // The slow one moves only now and then, so that whatever can be sent to it is there before it looks.
    let slow = random.below(size);
    let mut ready: Vec<usize> = (0..size).collect();
    while !ready.is_empty() {
        let at = random.below(ready.len());
        let process = ready[at];
        if process == slow && ready.len() > 1 && !random.one_in(16) {
            continue;
        }
        let moved = match execution.processes[process].get(next[process]) {
            None => false,
            Some(Event::Send { to, .. }) => {
                arrived[*to][process] += 1;
                if !ready.contains(to) {
                    ready.push(*to);
                }
                true
            }
            Some(Event::Tell { .. } | Event::Learn { .. }) => unreachable!("no execution here has any"),
            Some(Event::Nothing) => {
                assert_eq!(followers[process].step(), Step::Nothing);
                followers[process].nothing();
                true
            }
            Some(Event::Receive { listen, channel: right }) => {
                let follower = &mut followers[process];
                assert_eq!(follower.can_listen(listen), Ok(()));
                let allowed = |from: &u32| {
                    let channel = Channel(*from);
                    arrived[process][*from as usize] > follower.taken(channel)
                        && listen.hears(channel)
                        && follower.may_take(channel)
                };
                let allowed: Vec<u32> = (0..size as u32).filter(allowed).collect();
                let wrong: Vec<u32> = allowed.iter().copied().filter(|from| Channel(*from) != *right).collect();
                let from = if wrong.is_empty() { allowed.first() } else { Some(random.pick(&wrong)) };
                if let Some(&from) = from {
                    follower.took(Channel(from));
                    let message = histories[process].receives[received[process]].arrival.message;
                    if message.channel != Channel(from) || message.number != follower.taken(Channel(from)) {
                        return Outcome::Wrong { process };
                    }
                    received[process] += 1;
                }
                from.is_some()
            }
        };
        if moved {
            next[process] += 1;
        } else {
            ready.swap_remove(at);
        }
    }
    let ended = (0..size).all(|process| next[process] == execution.processes[process].len());
    if ended { Outcome::AsRecorded } else { Outcome::Stuck }
}

/// Whether one event happened before another, found by walking; for executions whose channels are named by senders.
pub struct HappenedBefore {
    /// For each process and event, how many events of each process are before it or it itself.
    past: Vec<Vec<Vec<usize>>>,
}

impl HappenedBefore {
    /// Dense vectors over all events: another way than the crate's clocks, to compare them with.
    pub fn new(execution: &Execution, histories: &[History]) -> HappenedBefore {
        let size = execution.processes.len();
        let mut past: Vec<Vec<Vec<usize>>> = vec![Vec::new(); size];
        let mut received = vec![0; size];
        let total: usize = execution.processes.iter().map(Vec::len).sum();
        while past.iter().map(Vec::len).sum::<usize>() < total {
            for process in 0..size {
                while let Some(event) = execution.processes[process].get(past[process].len()) {
                    let mut now = past[process].last().cloned().unwrap_or(vec![0; size]);
                    if let Event::Receive { .. } = event {
                        let sent = histories[process].receives[received[process]].sent;
                        let Some(then) = past[sent.process].get(sent.event) else { break };
                        now.iter_mut().zip(then).for_each(|(now, then)| *now = (*now).max(*then));
                        received[process] += 1;
                    }
                    now[process] += 1;
                    past[process].push(now);
                }
            }
        }
        HappenedBefore { past }
    }

    pub fn is(&self, before: retake_trace::execution::Place, after: retake_trace::execution::Place) -> bool {
        before != after && self.past[after.process][after.event][before.process] > before.event
    }
}
