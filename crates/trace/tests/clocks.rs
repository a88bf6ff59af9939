//! Clocks as they travel, against clocks as they are: never more than the truth, exactly the truth if they may be as long as
//! they like, and short.

mod simulator;

use std::collections::VecDeque;

use retake_trace::execution::{Event, Execution, History};
use retake_trace::optimum;
use retake_trace::policy::Method;
use retake_trace::wire::{BUDGET, BadStamp, Clocks, EXACT, Stamp};
use simulator::patterns::PATTERNS;
use simulator::{Random, Style, execution};

/// An execution in which the clocks travelled with the messages.
struct Stamped {
    /// As the receivers believed it was.
    histories: Vec<History>,
    clocks: Vec<Clocks>,
    bytes: usize,
    messages: usize,
}

impl Stamped {
    fn new(execution: &Execution, histories: &[History], budget: usize) -> Stamped {
        let size = execution.processes.len();
        let mut clocks: Vec<Clocks> = (0..size as u32).map(|me| Clocks::new(me, budget)).collect();
        clocks.iter_mut().for_each(|clocks| (0..size).for_each(|other| clocks.met(other, other as u32)));
        let mut stamped = Stamped { histories: histories.to_vec(), clocks, bytes: 0, messages: 0 };
        let mut flying: Vec<Vec<VecDeque<Stamp>>> = vec![vec![VecDeque::new(); size]; size];
        let (mut next, mut received) = (vec![0; size], vec![0; size]);
        let mut moved = true;
        while moved {
            moved = false;
            for at in 0..size {
                while let Some(event) = execution.processes[at].get(next[at]) {
                    match event {
                        Event::Nothing | Event::Tell { .. } | Event::Learn { .. } => {}
                        Event::Send { to, .. } => flying[*to][at].push_back(stamped.send(at, *to)),
                        Event::Receive { channel, .. } => {
                            let Some(stamp) = flying[at][channel.0 as usize].pop_front() else { break };
                            let arrival = &mut stamped.histories[at].receives[received[at]].arrival;
                            arrival.known = stamped.clocks[at].took(&stamp);
                            received[at] += 1;
                        }
                    }
                    next[at] += 1;
                    moved = true;
                }
            }
        }
        stamped
    }

    fn send(&mut self, from: usize, to: usize) -> Stamp {
        let mut bytes = Vec::new();
        self.clocks[from].stamp(to, Some(to), &mut bytes);
        self.bytes += bytes.len();
        self.messages += 1;
        let mut rest = &bytes[..];
        let stamp = self.clocks[to].arrived(from, &mut rest).expect("a good stamp");
        assert!(rest.is_empty(), "the stamp says itself where it ends");
        stamp
    }

    fn known(histories: &[History]) -> Vec<u64> {
        histories.iter().flat_map(|history| &history.receives).map(|received| received.arrival.known).collect()
    }

    fn traced(histories: &[History], method: Method) -> usize {
        histories.iter().map(|history| optimum::decided(method, history).len()).sum()
    }
}

#[test]
fn clocks_without_a_budget_are_exact() {
    for seed in 1..=10_000 {
        let random = &mut Random::new(seed);
        let style = Style::any(random);
        let execution = execution(style, random);
        let histories = execution.histories().expect("an execution that happened");
        let stamped = Stamped::new(&execution, &histories, EXACT);
        assert_eq!(Stamped::known(&stamped.histories), Stamped::known(&histories));
    }
}

#[test]
fn clocks_with_a_budget_are_never_ahead() {
    for seed in 1..=2_000 {
        let random = &mut Random::new(seed);
        let style = Style { processes: 20, events: 400, ..Style::any(random) };
        let execution = execution(style, random);
        let histories = execution.histories().expect("an execution that happened");
        for budget in [0, 4, BUDGET] {
            let stamped = Stamped::new(&execution, &histories, budget);
            let (believed, truth) = (Stamped::known(&stamped.histories), Stamped::known(&histories));
            assert!(believed.iter().zip(&truth).all(|(believed, truth)| believed <= truth));
        }
    }
}

/// Those who never met cost nothing, however many there are.
#[test]
fn clocks_of_two_who_talk_do_not_grow_with_the_rest() {
    let mut clocks = [Clocks::new(7, EXACT), Clocks::new(40_000, EXACT)];
    clocks[0].met(0, 40_000);
    clocks[1].met(0, 7);
    let mut longest = 0;
    for round in 0..1_000 {
        let (from, to) = (round % 2, (round + 1) % 2);
        let mut bytes = Vec::new();
        clocks[from].stamp(0, Some(0), &mut bytes);
        longest = longest.max(bytes.len());
        let stamp = clocks[to].arrived(0, &mut &bytes[..]).expect("a good stamp");
        clocks[to].took(&stamp);
    }
    assert!(longest <= 8, "{longest} bytes");
    assert_eq!(clocks[0].now().entries().len(), 2);
}

/// The aim: less than 8 bytes a message on average, from 2 to 64 processes; and what the budget costs in trace.
#[test]
fn stamps_are_short_in_programs_as_they_are() {
    println!("pattern size | exact: bytes, front | budget: bytes, front | b | optimum of pairs | receives");
    for (name, pattern) in PATTERNS {
        for size in [2, 4, 8, 16, 32, 64] {
            let execution = pattern(size, 200 * size, &mut Random::new(size as u64));
            let histories = execution.histories().expect("an execution that happened");
            let receives = Stamped::known(&histories).len();
            let average = |stamped: &Stamped| stamped.bytes as f64 / stamped.messages as f64;
            let exact = Stamped::new(&execution, &histories, EXACT);
            let short = Stamped::new(&execution, &histories, BUDGET);
            let front = |stamped: &Stamped| Stamped::traced(&stamped.histories, Method::Front);
            let pairs: usize = histories.iter().map(|history| optimum::pairs(history).bound).sum();
            println!(
                "{name:7} {size:3} | {:5.1} {:6} | {:5.1} {:6} | {:6} | {:6} | {receives:6}",
                average(&exact),
                front(&exact),
                average(&short),
                front(&short),
                Stamped::traced(&short.histories, Method::B),
                pairs,
            );
            assert!(average(&short) < 8.0, "{name} of {size}: {} bytes a message", average(&short));
            let more = front(&short) as f64 / front(&exact).max(1) as f64;
            assert!(more < 1.06, "{name} of {size}: {more} times as much is traced as with exact clocks");
        }
    }
}

#[test]
fn bytes_that_are_no_stamp_are_refused() {
    let mut random = Random::new(3);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..200_000 {
        let length = random.below(24);
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        let mut clocks = Clocks::new(0, BUDGET);
        clocks.met(1, 1);
        match clocks.arrived(1, &mut &bytes[..]) {
            Ok(stamp) => {
                good += 1;
                assert_eq!(clocks.took(&stamp), 0, "nobody knows of receives that have not been");
            }
            Err(BadStamp) => bad += 1,
        }
    }
    assert!(good > 1_000 && bad > 1_000, "{good} good, {bad} bad");
}
