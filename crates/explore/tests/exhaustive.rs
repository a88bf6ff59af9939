//! The exhaustive search against brute force: every partial order exactly once, every failure found.

mod simulator;
use retake_explore::exhaustive::Exhaustive;
use retake_explore::flag;
use retake_explore::order::Order;
use retake_explore::random::Random;
use simulator::Do::{self, *};
use simulator::{End, Program, brute_force, run};
use std::collections::{BTreeMap, BTreeSet};

/// What the search finds: how often each partial order, how each run ended.
fn search(program: &Program) -> (BTreeMap<u64, u32>, BTreeSet<End>, Exhaustive) {
    let (mut search, mut orders, mut ends) = (Exhaustive::new(), BTreeMap::new(), BTreeSet::new());
    while let Some((plan, prefix)) = search.next_run() {
        let outcome = run(program, &plan, &prefix);
        if !outcome.log.iter().any(|choice| choice.chosen.has(flag::REPEATS)) {
            *orders.entry(Order::of(&outcome.log)).or_default() += 1;
            ends.insert(outcome.end);
        }
        search.ran(&outcome.log, matches!(outcome.end, End::Failed(_)));
    }
    assert!(search.is_done() && search.is_sure());
    (orders, ends, search)
}

fn all(program: &Program) -> (BTreeSet<u64>, BTreeSet<End>, u64) {
    let (mut orders, mut ends) = (BTreeSet::new(), BTreeSet::new());
    let count = brute_force(program, |outcome| {
        orders.insert(Order::of(&outcome.log));
        ends.insert(outcome.end);
    });
    (orders, ends, count)
}

fn agrees(program: &Program) {
    let (found, found_ends, _) = search(program);
    let (orders, ends, _) = all(program);
    assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), orders, "{program:?}");
    assert!(found.values().all(|times| *times == 1), "a partial order was run twice: {program:?}");
    assert_eq!(found_ends, ends, "{program:?}");
}

/// A thread of few steps on few objects; locks are given back in some order.
fn random_thread(random: &mut Random, steps: u64) -> Vec<Do> {
    let (mut code, mut held) = (Vec::new(), Vec::new());
    while (code.len() as u64) < steps {
        match random.below(11) {
            0 | 1 if held.len() < 2 => {
                let m = random.below(2) as u32;
                if !held.contains(&m) {
                    held.push(m);
                    code.push(Lock(m));
                }
            }
            2 if !held.is_empty() => code.push(Unlock(held.remove(random.below(held.len() as u64) as usize))),
            3 => code.push(Load(2, 0)),
            4 => code.push(Store(2, 0)),
            5 => code.push(Take(3)),
            6 => code.push(Post(3)),
            7 => code.push(Signal(4)),
            8 if held.len() == 1 => code.push(Wait(4, held[0])),
            9 => code.push(Broadcast(4)),
            10 if held.len() == 1 => code.push(TimedWait(4, held[0], 1)),
            _ => {}
        }
    }
    code.extend(held.into_iter().map(Unlock));
    code
}

#[test]
fn random_programs_of_two_threads() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let threads = (0..2).map(|_| random_thread(&mut random, 4)).collect();
        let initial = vec![(3, random.below(2) as i64)];
        agrees(&Program { threads, initial });
    }
}

#[test]
fn random_programs_of_three_threads() {
    for seed in 0..12 {
        let mut random = Random::new(1000 + seed);
        let threads = (0..3).map(|_| random_thread(&mut random, 2)).collect();
        let initial = vec![(3, random.below(2) as i64)];
        agrees(&Program { threads, initial });
    }
}

#[test]
fn threads_that_are_created_and_joined() {
    let worker = vec![Lock(0), Load(1, 0), Add(0, 1), Store(1, 0), Unlock(0)];
    let main = vec![Create(1), Create(2), Lock(0), Unlock(0), Join(1), Join(2), Load(1, 0), Expect(0, 2)];
    agrees(&Program { threads: vec![main, worker.clone(), worker], initial: vec![] });
}

#[test]
fn an_exit_comes_before_or_after_everything() {
    agrees(&Program {
        threads: vec![vec![Store(0, 0), Exit], vec![Store(1, 0), Store(1, 0)], vec![Load(0, 0)]],
        initial: vec![],
    });
}

#[test]
fn failures_that_cut_a_run_short_hide_nothing() {
    // Thread 0 fails if it comes first; only if it does not is there a deadlock of the others.
    let first = vec![Load(2, 0), Expect(0, 1)];
    let second = vec![Set(0, 1), Store(2, 0), Lock(0), Lock(1), Unlock(1), Unlock(0)];
    let third = vec![Lock(1), Lock(0), Unlock(0), Unlock(1)];
    let program = Program { threads: vec![first, second, third], initial: vec![] };
    let (_, found, _) = search(&program);
    let (_, ends, _) = all(&program);
    assert_eq!(found, ends);
    assert_eq!(ends.len(), 3);
}

#[test]
fn a_timed_wait_ends_both_ways() {
    let waits = vec![Lock(0), TimedWait(1, 0, 0), Unlock(0), Expect(0, 0)];
    let signals = vec![Lock(0), Signal(1), Unlock(0)];
    let program = Program { threads: vec![waits, signals], initial: vec![] };
    let (_, found, _) = search(&program);
    assert_eq!(found, BTreeSet::from([End::Passed, End::Failed(0)]));
}

#[test]
fn independent_threads_need_one_run() {
    let threads = (0..6).map(|own| vec![Lock(own), Unlock(own), Lock(own), Unlock(own)]).collect();
    let (orders, _, search) = search(&Program { threads, initial: vec![] });
    assert_eq!((orders.len(), search.repeated()), (1, 0));
}

#[test]
fn locks_cost_hardly_more_runs_than_there_are_orders() {
    let threads = (0..4).map(|_| vec![Lock(0), Unlock(0)]).collect();
    let (orders, _, search) = search(&Program { threads, initial: vec![] });
    assert_eq!(orders.len(), 24);
    assert!(search.repeated() <= 12, "{} runs were for nothing", search.repeated());
}

#[test]
fn a_loop_that_yields_ends_and_is_told() {
    let spins = vec![Load(0, 0), IfSet(0, 4), Yield, IfZero(1, 0)];
    let sets = vec![Lock(1), Unlock(1), Set(0, 1), Store(0, 0)];
    let program = Program { threads: vec![spins, sets], initial: vec![] };
    let (orders, ends, search) = search(&program);
    assert_eq!(ends, BTreeSet::from([End::Passed]));
    assert!(orders.len() >= 2 && search.yielded());
}

#[test]
fn a_nap_hides_nothing() {
    let one = vec![Lock(0), Lock(1), Unlock(1), Unlock(0)];
    let mut other = vec![Yield; 4];
    other.extend([Lock(1), Lock(0), Unlock(0), Unlock(1)]);
    let (_, ends, search) = search(&Program { threads: vec![one, other], initial: vec![] });
    assert_eq!(ends, BTreeSet::from([End::Passed, End::Deadlock]));
    assert!(!search.yielded());
}

#[test]
fn a_program_that_does_something_else_is_noticed() {
    let one = Program { threads: vec![vec![Store(0, 0)], vec![Store(0, 0)]], initial: vec![] };
    let other = Program { threads: vec![vec![Store(0, 0)]], initial: vec![] };
    let mut search = Exhaustive::new();
    let mut runs = 0;
    while let Some((plan, prefix)) = search.next_run() {
        let outcome = run(if runs == 0 { &one } else { &other }, &plan, &prefix);
        search.ran(&outcome.log, false);
        runs += 1;
    }
    assert!(runs == 2 && !search.is_sure());
}

#[test]
fn brute_force_counts_right() {
    // Starts are steps: 3 of 6.
    let threads = vec![vec![Store(0, 0); 2], vec![Store(0, 0); 2]];
    assert_eq!(brute_force(&Program { threads, initial: vec![] }, |_| {}), 20);
}
