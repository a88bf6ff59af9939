//! The strategies on known examples: what their papers promise, counted over many seeds.

mod simulator;
use retake_explore::{Plan, kind};
use simulator::Do::*;
use simulator::{End, Outcome, Program, choices, run};

fn plan(kind: u32, seed: u64, depth: u32, length: u64) -> Plan {
    Plan { depth, length, ..Plan::new(kind, seed) }
}

/// Points with a choice in the longest of some runs.
fn length(program: &Program) -> u64 {
    let free = |outcome: Outcome| outcome.log.iter().filter(|choice| choice.is_free()).count() as u64;
    (0..50).map(|seed| free(run(program, &Plan::new(kind::WALK, seed), &[]))).max().expect("some")
}

fn failures(program: &Program, kind: u32, depth: u32, runs: u64) -> u64 {
    let length = length(program);
    let failed = |seed: &u64| run(program, &plan(kind, *seed, depth, length), &[]).end != End::Passed;
    (0..runs).filter(failed).count() as u64
}

/// Depth 1: the reader must come before the one who writes, however much both do before.
fn order_violation(before: usize) -> Program {
    let (mut writer, mut reader) = (Vec::new(), Vec::new());
    for _ in 0..before {
        writer.extend([Lock(0), Unlock(0)]);
    }
    writer.extend([Set(0, 1), Store(1, 0)]);
    reader.extend([Load(1, 0), Expect(0, 1)]);
    Program { threads: vec![writer, reader], initial: vec![] }
}

/// Depth 2: two locks in two orders, somewhere in long threads.
fn deadlock_of_two(around: usize) -> Program {
    let thread = |first: u32, second: u32, own: u32| {
        let mut code = Vec::new();
        (0..around).for_each(|_| code.extend([Lock(own), Unlock(own)]));
        code.extend([Lock(first), Lock(second), Unlock(second), Unlock(first)]);
        (0..around).for_each(|_| code.extend([Lock(own), Unlock(own)]));
        code
    };
    Program { threads: vec![thread(0, 1, 2), thread(1, 0, 3)], initial: vec![] }
}

/// Depth 3: the second thread must look between the two stores of the first, and again after both.
fn seen_in_between(around: usize) -> Program {
    let padding = |own: u32| (0..around).flat_map(move |_| [Lock(own), Unlock(own)]);
    let mut first: Vec<_> = padding(5).collect();
    first.extend([Set(0, 1), Store(0, 0)]);
    first.extend(padding(5));
    first.extend([Set(0, 2), Store(0, 0)]);
    let mut second: Vec<_> = padding(6).collect();
    let end = second.len() + 8;
    second.extend([Load(0, 0), Add(0, -1), IfSet(0, end), Load(0, 1), Add(1, -2), IfSet(1, end)]);
    second.extend([Set(3, 1), Expect(3, 0)]);
    Program { threads: vec![first, second], initial: vec![] }
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let program = deadlock_of_two(5);
    for kind in [kind::STEADY, kind::WALK, kind::PCT, kind::POS, kind::SURW] {
        for seed in 0..20 {
            let once = run(&program, &plan(kind, seed, 3, 40), &[]);
            let again = run(&program, &plan(kind, seed, 3, 40), &[]);
            assert_eq!(once.log, again.log);
            let followed = run(&program, &Plan::new(kind::STEADY, 0), &choices(&once.log));
            assert_eq!((followed.end, followed.strayed), (once.end, None));
            assert_eq!(choices(&followed.log), choices(&once.log));
        }
    }
}

#[test]
fn a_prefix_that_does_not_quite_fit_is_followed_as_far_as_it_can_be() {
    // Thread 1 is due while thread 0 has the lock: it gets its turns as soon as it can, and the list goes on meanwhile.
    let program =
        Program { threads: vec![vec![Lock(0), Unlock(0), Store(1, 0)], vec![Lock(0), Unlock(0)]], initial: vec![] };
    let outcome = run(&program, &Plan::new(kind::STEADY, 0), &[0, 0, 1, 1, 1, 0, 0]);
    assert_eq!(choices(&outcome.log), [0, 0, 1, 0, 1, 1, 0]);
    assert_eq!(outcome.strayed, Some(3));
}

#[test]
fn steady_changes_threads_only_where_it_must() {
    let outcome = run(&deadlock_of_two(5), &Plan::new(kind::STEADY, 0), &[]);
    assert_eq!(outcome.end, End::Passed);
    assert!(outcome.log.iter().all(|choice| !choice.preempts()));
}

/// One run finds a bug of depth d with probability 1/(n k^(d-1)) at least. A fifth is left to chance.
fn keeps_its_promise(program: &Program, depth: u32, runs: u64) {
    let (threads, length) = (program.threads.len() as u64, length(program));
    let promised = runs / (threads * length.pow(depth - 1));
    assert!(promised >= 40, "too few runs to tell: {promised}, length {length}");
    let found = failures(program, kind::PCT, depth, runs);
    assert!(found >= promised * 4 / 5, "found {found}, promised {promised} of {runs}");
}

#[test]
fn pct_finds_bugs_of_depth_one() {
    keeps_its_promise(&order_violation(10), 1, 200);
}

#[test]
fn pct_finds_bugs_of_depth_two() {
    keeps_its_promise(&deadlock_of_two(5), 2, 4000);
}

#[test]
fn pct_finds_bugs_of_depth_three() {
    keeps_its_promise(&seen_in_between(2), 3, 40_000);
}

/// Counts how often each order of the stores of two threads comes, and how far that is from uniform (chi-square).
fn unevenness(threads: [usize; 2], kind: u32, runs: u64) -> (usize, f64) {
    let stores = |count: usize| (0..count).map(|_| Store(0, 0)).collect::<Vec<_>>();
    let program = Program { threads: threads.map(stores).to_vec(), initial: vec![] };
    let mut counts = std::collections::HashMap::new();
    for seed in 0..runs {
        let mut plan = Plan::new(kind, seed);
        threads.iter().enumerate().for_each(|(number, count)| plan.threads[number].events = *count as u32 + 1);
        *counts.entry(choices(&run(&program, &plan, &[]).log)).or_insert(0u64) += 1;
    }
    let expected = runs as f64 / counts.len() as f64;
    (counts.len(), counts.values().map(|count| (*count as f64 - expected).powi(2) / expected).sum())
}

#[test]
fn surw_is_uniform_where_a_random_walk_is_not() {
    // Starts are steps, too: 2 of 8 give 28 orders. Chi-square with 27 degrees of freedom is above 60 once in 4,000 times.
    let (orders, surw) = unevenness([1, 5], kind::SURW, 5600);
    assert!(orders == 28 && surw < 60.0, "{orders} orders, chi-square {surw}");
    let (orders, walk) = unevenness([1, 5], kind::WALK, 5600);
    assert!(orders == 28 && walk > 1000.0, "{orders} orders, chi-square {walk}");
}

/// Who slept at its start must be able to come between the sections of one who did not.
#[test]
fn pct_finds_bugs_behind_a_sleep() {
    let adds = [Lock(0), Load(1, 0), Unlock(0), Add(0, 1), Lock(0), Store(1, 0), Unlock(0)];
    let late = [Yield].into_iter().chain(adds).collect();
    let main = vec![Create(1), Create(2), Join(1), Join(2), Load(1, 1), Expect(1, 2)];
    let program = Program { threads: vec![main, adds.to_vec(), late], initial: vec![] };
    assert!(failures(&program, kind::PCT, 3, 1000) > 20);
}
