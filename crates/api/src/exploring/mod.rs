//! Exploring inside a test: a closure that uses `retake::sync` and `retake::thread` runs again and again, one thread at a
//! time, in other orders each time, until one fails.
//!
//! ```text
//! portfolio --> run: threads of its own, one at a time --> log, end --> portfolio
//!                                                    | failed
//!                                                    v
//!                     found: shrunk, made three times more, what decides --> a panic that tells how to run it again
//! ```
//!
//! Strategies, searches and shrinking are those of `retake explore`. Law: an exploration's state belongs to its runs, and a
//! thread knows its run; so several go on in one process and do not meet.

mod found;
mod names;
mod order;
mod panics;
pub(crate) mod part;
mod run;
mod words;
mod world;

use crate::sync::native;
use names::{Known, Names};
use part::Part;
use retake_explore::plan::kind;
use retake_explore::portfolio::{self, Ended, Next, Portfolio, Settings};
use retake_explore::{Choice, Plan};
use run::{End, Failure, Place, Run, State};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use world::At;

/// Who chooses the thread that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// All of them in turn.
    Portfolio,
    /// Whoever can go on, with equal chance.
    Random,
    /// Priorities that change at few places (Burckhardt and others, 2010).
    Pct,
    /// Priorities for operations (Yuan, Yang and Gu, 2018).
    Pos,
    /// Every order with nearly equal chance (Zhao and others, 2025).
    Surw,
    /// All runs with few delays (Emmi, Qadeer and Rakamarić, 2011).
    Delays,
    /// All runs with few preemptions (Musuvathi and Qadeer, 2007).
    Preemptions,
    /// All orders of operations that depend on each other: for small closures.
    All,
}

impl Strategy {
    fn inner(self) -> portfolio::Strategy {
        match self {
            Strategy::Portfolio => portfolio::Strategy::Portfolio,
            Strategy::Random => portfolio::Strategy::Random,
            Strategy::Pct => portfolio::Strategy::Pct,
            Strategy::Pos => portfolio::Strategy::Pos,
            Strategy::Surw => portfolio::Strategy::Surw,
            Strategy::Delays => portfolio::Strategy::Delays,
            Strategy::Preemptions => portfolio::Strategy::Preemptions,
            Strategy::All => portfolio::Strategy::Exhaustive,
        }
    }
}

/// How to explore; [`explore`] does it as [`Explore::new`] says.
///
/// ```
/// use retake::sync::{Arc, Mutex};
/// use retake::{Explore, Strategy, thread};
///
/// let explored = Explore::new().strategy(Strategy::All).runs(10_000).run(|| {
///     let count = Arc::new(Mutex::new(0));
///     let other = count.clone();
///     let adds = thread::spawn(move || *other.lock().unwrap() += 1);
///     *count.lock().unwrap() += 1;
///     adds.join().unwrap();
///     assert_eq!(*count.lock().unwrap(), 2);
/// });
/// assert_eq!(explored.all_orders(), Some(2));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Explore {
    runs: u64,
    seed: u64,
    strategy: Strategy,
    depth: Option<u32>,
    timeout: Duration,
    first: Vec<u16>,
}

impl Default for Explore {
    fn default() -> Explore {
        Explore::new()
    }
}

impl Explore {
    /// At most 1,000 runs, by all strategies in turn, from seed 1. `RETAKE_EXPLORE_RUNS` and `RETAKE_EXPLORE_SEED` have
    /// the last word.
    pub fn new() -> Explore {
        let (strategy, timeout) = (Strategy::Portfolio, Duration::from_secs(10));
        Explore { runs: 1000, seed: 1, strategy, depth: None, timeout, first: Vec::new() }
    }

    /// Stop after so many runs.
    pub fn runs(self, runs: u64) -> Explore {
        Explore { runs, ..self }
    }

    /// Where the random numbers begin: the same seed finds the same.
    pub fn seed(self, seed: u64) -> Explore {
        Explore { seed, ..self }
    }

    /// Who chooses the thread that goes on.
    pub fn strategy(self, strategy: Strategy) -> Explore {
        Explore { strategy, ..self }
    }

    /// How many orderings the bug needs ([`Strategy::Pct`]), or most delays or preemptions.
    pub fn depth(self, depth: u32) -> Explore {
        Explore { depth: Some(depth), ..self }
    }

    /// A run in which nothing moves for so long hangs; 10 seconds if nothing is said.
    pub fn timeout(self, timeout: Duration) -> Explore {
        Explore { timeout, ..self }
    }

    /// Try this order first: one that an earlier failure has told, as in `0x3,1,0x12`.
    ///
    /// # Panics
    /// If it is no order.
    pub fn first(self, order: &str) -> Explore {
        let first = order::parse(order).unwrap_or_else(|problem| panic!("retake: {problem}"));
        Explore { first, ..self }
    }

    /// Runs the closure again and again, in other orders each time.
    ///
    /// # Panics
    /// If a run fails: a thread panics, threads wait for each other for ever, or nothing moves any more.
    #[track_caller]
    pub fn run<F: Fn() + Send + Sync + 'static>(self, f: F) -> Explored {
        assert!(part::part().is_none(), "retake: an exploration inside of an exploration");
        let name = order::name_of::<F>();
        if !native::explore() {
            eprintln!("retake: this process is recorded: {name} runs once, and is not explored");
            f();
            return Explored { runs: 1, orders: 1, all_orders: None, yields: false, within: None, leaked: 0 };
        }
        let asked = order::asked(&name).unwrap_or_else(|problem| panic!("retake: {}: {problem}", order::VARIABLE));
        let mut exploration =
            Exploration { body: Arc::new(f), at: Location::caller(), known: None, timeout: self.timeout, leaked: 0 };
        panics::keep();
        if let Some(order) = asked {
            return exploration.follow(&name, order);
        }
        let runs = number("RETAKE_EXPLORE_RUNS").unwrap_or(self.runs);
        let seed = number("RETAKE_EXPLORE_SEED").unwrap_or(self.seed);
        let mut portfolio = Portfolio::new(Settings {
            strategy: self.strategy.inner(),
            seed,
            depth: self.depth,
            bound: self.depth,
            first: self.first,
            ..Settings::default()
        });
        let mut made = 0;
        while made < runs {
            let Next::Run(job) = portfolio.next_run() else { break };
            // The last word of a search that has looked at everything: what else there is would be seen again.
            if portfolio.all_orders().is_some() {
                break;
            }
            let done = exploration.make(job.plan.clone(), job.prefix.clone(), false);
            made += 1;
            if let End::Failed(failure) = &done.end {
                let by = job.strategy.name();
                let head = format!("run {made} of {runs} failed: {} ({by}, seed {seed})", words::failure(failure));
                panic!("{}", found::tell(&mut exploration, &name, head, &done, failure));
            }
            portfolio.ran(job, &done.log, Ended::Passed);
        }
        let orders = portfolio.coverage().orders.len() as u64;
        let (all, within) = (portfolio.all_orders(), portfolio.all_within());
        let (all_orders, yields) = (all.map(|(orders, _)| orders), all.is_some_and(|(_, yields)| yields));
        let explored = Explored { runs: made, orders, all_orders, yields, within, leaked: exploration.leaked };
        eprintln!("retake: {name}: {explored}");
        explored
    }
}

/// A number that a variable gives.
fn number(variable: &str) -> Option<u64> {
    let words = std::env::var(variable).ok()?;
    let number = match words.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => words.parse(),
    };
    Some(number.unwrap_or_else(|_| panic!("retake: {variable}={words} is not a number")))
}

/// Runs a closure that uses [`retake::sync`](crate::sync) and [`retake::thread`](crate::thread) again and again, one thread
/// at a time, in other orders each time. Made for tests:
///
/// ```should_panic
/// use retake::sync::Arc;
/// use retake::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use retake::thread;
///
/// retake::explore(|| {
///     let count = Arc::new(AtomicU32::new(0));
///     let adds = |count: Arc<AtomicU32>| move || count.store(count.load(SeqCst) + 1, SeqCst);
///     let other = thread::spawn(adds(count.clone()));
///     adds(count.clone())();
///     other.join().unwrap();
///     assert_eq!(count.load(SeqCst), 2); // fails if both have loaded before one stores
/// });
/// ```
///
/// # Panics
/// If a run fails: a thread panics, threads wait for each other for ever, or nothing moves any more. The message says what
/// happened, what decides it, and how to make that run again.
#[track_caller]
pub fn explore<F: Fn() + Send + Sync + 'static>(f: F) -> Explored {
    Explore::new().run(f)
}

/// What an exploration that found nothing has seen.
#[derive(Clone, Debug)]
pub struct Explored {
    runs: u64,
    orders: u64,
    all_orders: Option<u64>,
    /// All of them, but for how often a thread that yields looks again.
    yields: bool,
    within: Option<u32>,
    leaked: usize,
}

impl Explored {
    /// How many runs were made.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// How many different orders of operations were seen.
    pub fn orders(&self) -> u64 {
        self.orders
    }

    /// How many orders there are, if all of them have passed.
    pub fn all_orders(&self) -> Option<u64> {
        self.all_orders
    }
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.all_orders, self.within) {
            (Some(1), _) => write!(f, "the only order passed"),
            (Some(orders), _) if self.yields => {
                write!(f, "all {orders} orders passed, but for how often a thread that yields looks again")
            }
            (Some(orders), _) => write!(f, "all {orders} orders passed"),
            (None, Some(most)) => write!(f, "all orders with at most {most} of them passed"),
            (None, None) => write!(f, "{} passed", words::count(self.orders, "order")),
        }?;
        write!(f, ", {}", words::count(self.runs, "run"))?;
        match self.leaked {
            0 => Ok(()),
            leaked => write!(f, "; {} could not be ended", words::count(leaked as u64, "thread")),
        }
    }
}

/// A run that has been made.
pub struct Done {
    end: End,
    log: Vec<Choice>,
    places: Vec<Place>,
    /// What each thread was about to do in the end.
    left: Vec<Option<Place>>,
    threads: Vec<String>,
    story: Vec<String>,
    strayed: Option<u64>,
}

pub struct Exploration {
    body: Arc<dyn Fn() + Send + Sync>,
    at: At,
    known: Option<Arc<Known>>,
    timeout: Duration,
    /// Threads of ended runs that could not be ended.
    leaked: usize,
}

/// How long the threads of an ended run may take to unwind.
const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked whether a run moves.
const LOOK: Duration = Duration::from_millis(500);

impl Exploration {
    /// Follows the choices, as far as they fit, then the default.
    pub fn again(&mut self, choices: &[u16]) -> Done {
        self.make(Plan::new(kind::STEADY, 0), choices.to_vec(), false)
    }

    /// Makes a run. One that is loud is looked at by somebody: it may stand still, and tells its panics at once.
    pub fn make(&mut self, plan: Plan, prefix: Vec<u16>, is_loud: bool) -> Done {
        let run = Arc::new(Run::new(plan, prefix, Names::new(self.known.clone()), self.at, is_loud));
        let seat = run.lock().first_seat();
        let (part, body) = (Part::new(run.clone(), (0, seat)), self.body.clone());
        let name = std::thread::current().name().unwrap_or("explored").to_owned();
        let made = std::thread::Builder::new().name(name).spawn(move || part.run(|| body()));
        if let Err(error) = made {
            panic!("retake: cannot make a thread for a run: {error}");
        }
        let state = run.lock();
        let state = self.wait_for_end(&run, state, is_loud);
        let mut state = self.wait_for_threads(&run, state);
        if self.known.is_none() {
            self.known = Some(Arc::new(state.names.learned()));
        }
        let threads = (0..state.members.len()).map(|number| words::thread(&state, number as u32)).collect();
        let left = state.members.iter().map(|member| member.about.as_ref().map(|about| about.place)).collect();
        Done {
            end: state.end.clone().unwrap_or(End::Passed),
            log: std::mem::take(&mut state.log),
            places: std::mem::take(&mut state.places),
            left,
            threads,
            story: std::mem::take(&mut state.story),
            strayed: state.chooser.strayed(),
        }
    }

    fn wait_for_end<'a>(&self, run: &'a Run, mut state: MutexGuard<'a, State>, is_loud: bool) -> MutexGuard<'a, State> {
        let (mut seen, mut since) = (0, Instant::now());
        while state.end.is_none() {
            let look = LOOK.min(self.timeout);
            state = run.changed.wait_timeout(state, look).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            if state.log.len() != seen || is_loud {
                (seen, since) = (state.log.len(), Instant::now());
            } else if since.elapsed() >= self.timeout && state.end.is_none() {
                state.story = words::hanging(&state, self.timeout);
                state.finish(End::Failed(Failure::Hang));
            }
        }
        state
    }

    fn wait_for_threads<'a>(&mut self, run: &'a Run, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let since = Instant::now();
        while state.live > 0 && since.elapsed() < GRACE {
            state = run.changed.wait_timeout(state, GRACE).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        self.leaked += state.live;
        state
    }

    /// Makes the run that somebody asks for, once.
    #[track_caller]
    fn follow(&mut self, name: &str, order: Vec<u16>) -> Explored {
        let length = order.len();
        let done = self.make(Plan::new(kind::STEADY, 0), order, true);
        let fitted = order::fitted(done.strayed, length);
        if let End::Failed(failure) = &done.end {
            let lines = [vec![format!("{name} failed: {}; {fitted}", words::failure(failure))], done.story].concat();
            panic!("retake: {}", lines.join("\nretake: "));
        }
        eprintln!("retake: {name}: passed; {fitted}");
        Explored { runs: 1, orders: 1, all_orders: None, yields: false, within: None, leaked: self.leaked }
    }
}
