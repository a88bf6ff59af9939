//! Shrinking on examples whose smallest failing run is known.

mod simulator;
use retake_explore::random::Random;
use retake_explore::shrink::{Run, Shrunk, Trial, shrink};
use retake_explore::{Choice, Plan, kind, log};
use simulator::Do::{self, *};
use simulator::{End, Outcome, Program, run};

struct Runs<'a> {
    program: &'a Program,
    end: End,
}

impl Run for Runs<'_> {
    fn run(&mut self, choices: &[u16]) -> Option<Trial> {
        let outcome = run(self.program, &Plan::new(kind::STEADY, 0), choices);
        Some(Trial { failed: outcome.end == self.end, log: outcome.log })
    }
}

/// The first run of a random walk that fails, from that seed on.
fn failing(program: &Program, seed: u64) -> Outcome {
    let mut seeds = Random::new(seed);
    let runs = (0..20_000).map(|_| run(program, &Plan::new(kind::WALK, seeds.next()), &[]));
    runs.into_iter().find(|outcome| outcome.end != End::Passed).expect("a random walk finds it")
}

fn shrunk(program: &Program, seed: u64, budget: u64) -> Shrunk {
    let outcome = failing(program, seed);
    let shrunk = shrink(&mut Runs { program, end: outcome.end }, &outcome.log, budget);
    assert!(shrunk.fails_again && shrunk.runs <= budget);
    assert!(shrunk.cost <= shrunk.before);
    let again = run(program, &Plan::new(kind::STEADY, 0), &shrunk.choices);
    assert_eq!((again.end, again.strayed), (outcome.end, None), "what comes out fails");
    assert_eq!(again.log, strip(&shrunk.log));
    shrunk
}

/// Flags say how a run was made, not what it did.
fn strip(log: &[Choice]) -> Vec<Choice> {
    let mut log = log.to_vec();
    log.iter_mut().for_each(|choice| choice.chosen.flags &= 3);
    log
}

fn padded(around: usize, own: u32, code: &[Do]) -> Vec<Do> {
    let padding = || (0..around).flat_map(|_| [Lock(own), Unlock(own)]);
    padding().chain(code.iter().copied()).chain(padding()).collect()
}

fn deadlock(around: usize) -> Program {
    let one = padded(around, 10, &[Lock(0), Lock(1), Unlock(1), Unlock(0)]);
    let other = padded(around, 11, &[Lock(1), Lock(0), Unlock(0), Unlock(1)]);
    Program { threads: vec![one, other, padded(around, 12, &[]), padded(around, 13, &[])], initial: vec![] }
}

#[test]
fn a_deadlock_of_two_needs_one_preemption() {
    let program = deadlock(4);
    for seed in 0..10 {
        let shrunk = shrunk(&program, seed, 400);
        assert_eq!((shrunk.cost.preemptions, shrunk.is_least), (1, true), "seed {seed}: {:?}", shrunk.before);
        assert!(shrunk.cost.deviations <= 2, "{:?}", shrunk.cost);
    }
}

#[test]
fn a_small_budget_still_makes_it_smaller() {
    let shrunk = shrunk(&deadlock(20), 3, 60);
    assert!(shrunk.cost.preemptions < shrunk.before.preemptions / 4, "{:?} {:?}", shrunk.before, shrunk.cost);
}

#[test]
fn an_order_violation_needs_no_preemption() {
    let reads = padded(5, 10, &[Load(0, 0), Expect(0, 1)]);
    let writes = padded(5, 11, &[Set(0, 1), Store(0, 0)]);
    let program = Program { threads: vec![writes, reads], initial: vec![] };
    for seed in 0..10 {
        let shrunk = shrunk(&program, seed, 300);
        assert_eq!((shrunk.cost.preemptions, shrunk.cost.deviations), (0, 1), "seed {seed}");
        assert!(shrunk.is_least);
    }
}

#[test]
fn a_lost_update_needs_one_preemption() {
    let adds = |own| {
        let code = [Lock(0), Load(1, 0), Unlock(0), Add(0, 1), Lock(0), Store(1, 0), Unlock(0)];
        padded(3, own, &code)
    };
    let mut main = vec![Create(1), Create(2)];
    main.extend([Join(1), Join(2), Load(1, 0), Expect(0, 2)]);
    let program = Program { threads: vec![main, adds(10), adds(11)], initial: vec![] };
    for seed in 0..5 {
        let shrunk = shrunk(&program, seed, 400);
        assert_eq!((shrunk.cost.preemptions, shrunk.is_least), (1, true), "seed {seed}");
    }
}

#[test]
fn two_preemptions_stay_two() {
    // The second thread sees 1, then 2: it has to come between the stores, and to stop in between.
    let first = padded(2, 10, &[Set(0, 1), Store(0, 0), Lock(10), Unlock(10), Set(0, 2), Store(0, 0)]);
    let mut second = padded(2, 11, &[]);
    let end = second.len() + 8;
    second.extend([Load(0, 0), Add(0, -1), IfSet(0, end), Load(0, 1), Add(1, -2), IfSet(1, end)]);
    second.extend([Set(3, 1), Expect(3, 0)]);
    let program = Program { threads: vec![first, second], initial: vec![] };
    let shrunk = shrunk(&program, 1, 2000);
    assert_eq!((shrunk.cost.preemptions, shrunk.is_least), (2, true), "{:?}", log::choices(&shrunk.log));
}

#[test]
fn a_failure_that_does_not_come_again_is_left_as_it_is() {
    let program = deadlock(2);
    let outcome = failing(&program, 1);
    let other = Program { threads: vec![vec![Lock(0), Unlock(0)]; 4], initial: vec![] };
    let shrunk = shrink(&mut Runs { program: &other, end: End::Deadlock }, &outcome.log, 100);
    assert_eq!((shrunk.fails_again, shrunk.cost), (false, shrunk.before));
}
