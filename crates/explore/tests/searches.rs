//! Bounded searches against brute force; the portfolio, its shards and its coverage.

mod simulator;
use retake_explore::bounded::{Bounded, By, Shard};
use retake_explore::coverage::Coverage;
use retake_explore::log::cost;
use retake_explore::order::Order;
use retake_explore::portfolio::{Ended, Job, Next, Portfolio, Settings, Strategy};
use simulator::Do::*;
use simulator::{End, Outcome, Program, brute_force, choices, run};
use std::collections::BTreeSet;

/// Three threads that meet at locks, a variable and a semaphore.
fn meeting() -> Program {
    let first = vec![Lock(0), Load(1, 0), Unlock(0), Post(2)];
    let second = vec![Lock(0), Store(1, 0), Unlock(0)];
    let third = vec![Take(2), Load(1, 0)];
    Program { threads: vec![first, second, third], initial: vec![] }
}

fn deadlock_of(count: u32) -> Program {
    let around = |own: u32| [Lock(own + 10), Unlock(own + 10)];
    let thread = |own: u32| {
        let mut code = around(own).to_vec();
        code.extend([Lock(own), Lock((own + 1) % count), Unlock((own + 1) % count), Unlock(own)]);
        code.extend(around(own));
        code
    };
    Program { threads: (0..count).map(thread).collect(), initial: vec![] }
}

fn ended(outcome: &Outcome) -> Ended {
    match outcome.end {
        End::Passed => Ended::Passed,
        End::Deadlock => Ended::Stuck,
        _ => Ended::Failed,
    }
}

fn bounded(program: &Program, by: By, bound: u32, shard: Shard) -> (BTreeSet<u64>, usize) {
    let mut search = Bounded::new(by, bound, 7, shard);
    let (mut orders, mut runs) = (BTreeSet::new(), 0);
    while let Some(open) = search.next_run() {
        let outcome = run(program, &Bounded::plan(), &open.prefix);
        assert_eq!(outcome.strayed, None);
        if by == By::Preemptions {
            assert!(cost(&outcome.log).preemptions <= bound as usize);
        }
        orders.insert(Order::of(&outcome.log));
        search.ran(open, &outcome.log);
        runs += 1;
    }
    assert!(search.is_done());
    (orders, runs)
}

#[test]
fn the_search_by_preemptions_misses_nothing_within_its_bound() {
    let program = meeting();
    for bound in 0..4 {
        let mut orders = BTreeSet::new();
        brute_force(&program, |outcome| {
            if cost(&outcome.log).preemptions <= bound as usize {
                orders.insert(Order::of(&outcome.log));
            }
        });
        let (found, _) = bounded(&program, By::Preemptions, bound, Shard::ALL);
        assert_eq!(found, orders, "bound {bound}");
    }
}

#[test]
fn delays_without_bound_are_everything() {
    let program = meeting();
    let mut orders = BTreeSet::new();
    let count = brute_force(&program, |outcome| orders.extend([Order::of(&outcome.log)]));
    let (found, runs) = bounded(&program, By::Delays, 1000, Shard::ALL);
    assert_eq!(found, orders);
    assert!((runs as u64) < count, "{runs} runs, {count} interleavings");
    assert_eq!(bounded(&program, By::Delays, 0, Shard::ALL).1, 1);
}

#[test]
fn shards_together_do_what_one_does() {
    let program = deadlock_of(2);
    let (all, runs) = bounded(&program, By::Preemptions, 2, Shard::ALL);
    let parts = [0, 1, 2].map(|part| bounded(&program, By::Preemptions, 2, Shard { part, of: 3 }));
    assert_eq!(parts.iter().flat_map(|(orders, _)| orders).copied().collect::<BTreeSet<_>>(), all);
    assert!(parts.iter().all(|(_, part)| part * 3 < runs * 2), "each does its part: {parts:?} of {runs}");
}

/// Runs the portfolio; the number of the run that failed first.
fn explore(
    program: &Program,
    settings: Settings,
    runs: usize,
    mut each: impl FnMut(&Job, &Outcome),
) -> (Option<usize>, Portfolio) {
    let mut portfolio = Portfolio::new(settings);
    for count in 0..runs {
        let job = match portfolio.next_run() {
            Next::Run(job) => job,
            Next::Done => return (None, portfolio),
            Next::Wait => panic!("nothing is being run"),
        };
        let outcome = run(program, &job.plan, &job.prefix);
        each(&job, &outcome);
        let is_failure = outcome.end != End::Passed;
        portfolio.ran(job, &outcome.log, ended(&outcome));
        if is_failure {
            return (Some(count), portfolio);
        }
    }
    (None, portfolio)
}

#[test]
fn every_strategy_finds_the_deadlock_of_two() {
    for (name, strategy) in Strategy::ALL {
        for seed in 0..10 {
            let settings = Settings { strategy, seed, ..Settings::default() };
            let (found, _) = explore(&deadlock_of(2), settings, 500, |_, _| {});
            assert!(found.is_some(), "{name}, seed {seed}");
        }
    }
}

#[test]
fn the_portfolio_finds_the_deadlock_of_five() {
    for seed in 0..5 {
        let (found, _) = explore(&deadlock_of(5), Settings { seed, ..Settings::default() }, 1000, |_, _| {});
        assert!(found.is_some(), "seed {seed}");
    }
}

#[test]
fn the_portfolio_gives_every_strategy_its_share() {
    let padded = (0..3).map(|own| (0..6).flat_map(|_| [Lock(0), Unlock(0), Lock(own), Unlock(own)]).collect());
    let program = Program { threads: padded.collect(), initial: vec![] };
    let mut names = std::collections::BTreeMap::new();
    explore(&program, Settings::default(), 300, |job, _| *names.entry(job.strategy.name()).or_insert(0) += 1);
    for (name, strategy) in Strategy::ALL {
        let share = names.get(name).copied().unwrap_or(0);
        assert!(strategy == Strategy::Portfolio || share >= 15, "{name}: {share}, {names:?}");
    }
}

#[test]
fn the_portfolio_says_when_all_is_done() {
    let worker = vec![Lock(0), Load(1, 0), Add(0, 1), Store(1, 0), Unlock(0)];
    let program = Program { threads: vec![worker.clone(), worker], initial: vec![] };
    for (strategy, expected) in [(Strategy::Portfolio, 100), (Strategy::Exhaustive, 3)] {
        let mut runs = 0;
        let settings = Settings { strategy, ..Settings::default() };
        let (found, portfolio) = explore(&program, settings, 100, |_, _| runs += 1);
        assert_eq!((found, portfolio.all_orders()), (None, Some((2, false))));
        assert_eq!((runs, portfolio.coverage().orders.len()), (expected, 2), "the first run is the default's");
    }
}

#[test]
fn the_portfolio_is_the_same_for_the_same_seed_and_another_for_another() {
    let trace = |seed: u64, shard: Shard| {
        let mut jobs = Vec::new();
        let settings = Settings { seed, shard, ..Settings::default() };
        explore(&deadlock_of(3), settings, 60, |job, outcome| {
            jobs.push((job.number, job.words(), choices(&outcome.log)))
        });
        jobs
    };
    assert_eq!(trace(5, Shard::ALL), trace(5, Shard::ALL));
    assert_ne!(trace(5, Shard::ALL), trace(6, Shard::ALL));
    let [one, other] = [0, 1].map(|part| trace(5, Shard { part, of: 2 }));
    let numbers = |jobs: &[(u64, String, Vec<u16>)]| jobs.iter().skip(1).map(|job| job.0).collect::<BTreeSet<_>>();
    assert!(numbers(&one).is_disjoint(&numbers(&other)));
}

#[test]
fn what_is_replayed_first_is_followed_and_varied() {
    let failing = (0..).map(|seed| run(&deadlock_of(2), &retake_explore::Plan::new(1, seed), &[]));
    let failing = failing.into_iter().find(|outcome| outcome.end == End::Deadlock).expect("random walks find it");
    let settings = Settings { first: choices(&failing.log), ..Settings::default() };
    let (found, _) = explore(&deadlock_of(2), settings, 10, |_, _| {});
    assert_eq!(found, Some(0));
}

#[test]
fn coverage_counts_pairs_in_both_orders_and_joins() {
    let program = Program { threads: vec![vec![Store(0, 0)], vec![Store(0, 0)]], initial: vec![] };
    let runs = [vec![0, 0, 1, 1], vec![0, 1, 0, 1], vec![1, 1, 0, 0]];
    let logs = runs.map(|prefix| run(&program, &Bounded::plan(), &prefix).log);
    let mut coverage = Coverage::default();
    assert!(coverage.add(&logs[0]));
    assert_eq!(coverage.both(), (0, 1));
    assert!(!coverage.add(&logs[1]), "the same partial order");
    let mut other = Coverage::default();
    assert!(other.add(&logs[2]));
    coverage.join(&other);
    assert_eq!((coverage.both(), coverage.orders.len()), ((1, 1), 2));
}

#[test]
fn coverage_of_a_lock_is_who_takes_it_first() {
    let program = Program { threads: vec![vec![Lock(0), Unlock(0)]; 2], initial: vec![] };
    let mut coverage = Coverage::default();
    for prefix in [vec![0; 3], vec![1; 3]] {
        coverage.add(&run(&program, &Bounded::plan(), &prefix).log);
    }
    assert_eq!(coverage.both(), (1, 1));
}
