//! What decides, on examples where it is known.

mod simulator;
use retake_explore::between::{Between, between};
use retake_explore::decide::{Decision, Tried, decide};
use retake_explore::random::Random;
use retake_explore::shrink::{Run, Trial, shrink};
use retake_explore::{Choice, Plan, kind};
use retake_tape::op::Op;
use simulator::Do::*;
use simulator::{End, Program, run};

const STEADY: Plan = Plan::new(kind::STEADY, 0);

struct Runs<'a>(&'a Program, End);

impl Run for Runs<'_> {
    fn run(&mut self, choices: &[u16]) -> Option<Trial> {
        let outcome = run(self.0, &STEADY, choices);
        Some(Trial { failed: outcome.end == self.1, log: outcome.log })
    }
}

/// What decides in the smallest run that fails, from each of some seeds on.
fn decided(program: &Program) -> Vec<Decision> {
    failing_and_decided(program).into_iter().map(|(_, decision)| decision).collect()
}

/// The same, with the log of that run.
fn failing_and_decided(program: &Program) -> Vec<(Vec<Choice>, Decision)> {
    let of = |seed| {
        let mut seeds = Random::new(seed);
        let mut runs = (0..20_000).map(|_| run(program, &Plan::new(kind::WALK, seeds.next()), &[]));
        let failing = runs.find(|outcome| outcome.end != End::Passed).expect("a random walk finds it");
        let shrunk = shrink(&mut Runs(program, failing.end), &failing.log, 300);
        let mut again = |choices: &[u16]| {
            let outcome = run(program, &STEADY, choices);
            Some(Tried { passed: outcome.end == End::Passed, log: outcome.log })
        };
        let decision = decide(&mut again, &shrunk.log, 50).expect("something decides");
        (shrunk.log, decision)
    };
    (0..10).map(of).collect()
}

/// Thread, operation and object of both.
fn told(decision: &Decision) -> [(u32, u16, u32); 2] {
    [decision.first, decision.then].map(|step| (step.act.thread, step.act.op, step.act.object))
}

/// Each takes its first lock; then the other wants it.
#[test]
fn a_deadlock_is_decided_by_a_lock_that_came_too_early() {
    let one = vec![Lock(1), Lock(2), Unlock(2), Unlock(1)];
    let other = vec![Lock(2), Lock(1), Unlock(1), Unlock(2)];
    for decision in decided(&Program { threads: vec![one, other], initial: vec![] }) {
        let [(first, lock, a), (then, wants, b)] = told(&decision);
        assert!(first != then && a == b, "{decision:?}");
        assert_eq!([lock, wants], [Op::MutexLock as u16; 2]);
        assert!(decision.first.is_done && !decision.then.is_done && decision.then.nth == 1, "{decision:?}");
    }
}

/// The signal comes before the wait.
#[test]
fn a_lost_wake_up_is_decided_by_the_signal_and_the_wait() {
    let waits = vec![Lock(1), Wait(2, 1), Unlock(1)];
    let signals = vec![Lock(1), Signal(2), Unlock(1)];
    for decision in decided(&Program { threads: vec![waits, signals], initial: vec![] }) {
        let [(first, signal, condition), (then, gives, _)] = told(&decision);
        assert_eq!((first, then), (1, 0), "{decision:?}");
        // Whoever begins to wait gives its mutex up for the condition.
        assert_eq!([signal, gives], [Op::CondSignal as u16, Op::MutexUnlock as u16]);
        assert_eq!(decision.then.act.other, condition);
    }
}

/// The other thread's section lies between the two sections of one.
#[test]
fn a_lost_update_is_decided_by_the_section_in_between() {
    let adds = || vec![Lock(1), Load(3, 0), Unlock(1), Add(0, 1), Lock(1), Store(3, 0), Unlock(1)];
    let main = vec![Create(1), Create(2), Join(1), Join(2), Load(3, 1), Expect(1, 2)];
    for decision in decided(&Program { threads: vec![main, adds(), adds()], initial: vec![] }) {
        let [(first, ..), (then, ..)] = told(&decision);
        assert!(first != then && first > 0 && then > 0, "{decision:?}");
    }
}

/// If every order fails, none decides.
#[test]
fn nothing_decides_what_always_fails() {
    let program = Program { threads: vec![vec![Lock(1), Lock(1)], vec![Lock(2), Unlock(2)]], initial: vec![] };
    let failing = run(&program, &STEADY, &[]);
    assert_eq!(failing.end, End::Deadlock);
    let mut again = |choices: &[u16]| {
        let outcome = run(&program, &STEADY, choices);
        Some(Tried { passed: outcome.end == End::Passed, log: outcome.log })
    };
    assert_eq!(decide(&mut again, &failing.log, 50), None);
}

/// Before both sections, or behind both, the other one's does no harm.
#[test]
fn what_came_between_two_sections_is_told_with_both() {
    let adds = || vec![Lock(1), Load(3, 0), Unlock(1), Add(0, 1), Lock(1), Store(3, 0), Unlock(1)];
    let main = vec![Create(1), Create(2), Join(1), Join(2), Load(3, 1), Expect(1, 2)];
    let program = Program { threads: vec![main, adds(), adds()], initial: vec![] };
    for (log, decision) in failing_and_decided(&program) {
        let mut again = |choices: &[u16]| {
            let outcome = run(&program, &STEADY, choices);
            Some(Tried { passed: outcome.end == End::Passed, log: outcome.log })
        };
        let Between { before, middle, after } = between(&mut again, &log, &decision).expect("three decide");
        let [before, middle, after] = [before, middle, after].map(|step| (step.act.thread, step.act.op));
        assert_eq!(before.0, after.0, "{decision:?}");
        assert_ne!(before.0, middle.0, "{decision:?}");
    }
}
