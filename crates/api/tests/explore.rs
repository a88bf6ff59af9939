//! Explorations inside of tests: each of these small programs has a bug of another kind, most of which plain runs hardly ever
//! show, and a twin without it. Every bug is found within 1,000 runs, whatever the seed; no run of its twin fails.

use retake::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use retake::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use retake::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use retake::time::{Duration, Instant};
use retake::{Explore, Strategy, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SEEDS: u64 = 5;
const RUNS: u64 = 1000;
/// Runs in which nothing must fail.
const TWIN_RUNS: u64 = 300;

/// What an exploration panics with, if it does.
fn failure(explore: Explore, program: impl Fn() + Send + Sync + 'static) -> Option<String> {
    let failed = catch_unwind(AssertUnwindSafe(|| explore.run(program))).err()?;
    Some(failed.downcast_ref::<String>().expect("a message").clone())
}

/// The bug is found with every seed, as `words` say, and comes back; without it nothing is found.
fn found(program: fn(bool), words: &str) {
    for seed in 1..=SEEDS {
        let message = failure(Explore::new().seed(seed).runs(RUNS), move || program(true));
        let message = message.unwrap_or_else(|| panic!("seed {seed}: nothing found"));
        assert!(message.contains(words), "seed {seed}: {message}");
        assert!(message.contains("the same order failed in 3 of 3 more runs"), "seed {seed}: {message}");
        assert!(message.contains("to run it again: RETAKE_EXPLORE="), "seed {seed}: {message}");
    }
    Explore::new().runs(TWIN_RUNS).run(move || program(false));
}

fn both(one: impl FnOnce() + Send + 'static, other: impl FnOnce()) {
    let thread = thread::spawn(one);
    other();
    thread.join().unwrap();
}

/// The flag is set and the condition notified without the lock, between the look and the wait.
fn lost_wakeup(broken: bool) {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let setter = pair.clone();
    both(
        move || {
            *setter.0.lock().unwrap() = true;
            setter.1.notify_one();
        },
        move || {
            let ready = pair.0.lock().unwrap();
            if broken && !*ready {
                drop(ready);
                drop(pair.1.wait(pair.0.lock().unwrap()).unwrap());
            } else {
                drop(pair.1.wait_while(ready, |ready| !*ready).unwrap());
            }
        },
    );
}

/// Two wait, one is notified.
fn missing_broadcast(broken: bool) {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let pair = pair.clone();
            thread::spawn(move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap()))
        })
        .collect();
    *pair.0.lock().unwrap() = true;
    if broken {
        pair.1.notify_one()
    } else {
        pair.1.notify_all()
    }
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

/// The account is looked at under one lock, the till is emptied under another; in between it is not so any more.
fn atomicity_over_two_locks(broken: bool) {
    let bank = Arc::new((Mutex::new(100), Mutex::new(0)));
    let draw = |bank: Arc<(Mutex<i32>, Mutex<i32>)>| {
        move || {
            let account = bank.0.lock().unwrap();
            if *account < 100 {
                return;
            }
            let mut account = if broken {
                drop(account);
                *bank.1.lock().unwrap() += 100;
                bank.0.lock().unwrap()
            } else {
                *bank.1.lock().unwrap() += 100;
                account
            };
            *account -= 100;
        }
    };
    both(draw(bank.clone()), draw(bank.clone()));
    assert_eq!((*bank.0.lock().unwrap(), *bank.1.lock().unwrap()), (0, 100));
}

fn deadlock_of_two(broken: bool) {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let other = locks.clone();
    both(
        move || {
            let _first = if broken { other.1.lock().unwrap() } else { other.0.lock().unwrap() };
            let _second = if broken { other.0.lock().unwrap() } else { other.1.lock().unwrap() };
        },
        move || {
            let _first = locks.0.lock().unwrap();
            let _second = locks.1.lock().unwrap();
        },
    );
}

fn philosophers(broken: bool) {
    let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..3).map(|_| Mutex::new(())).collect());
    let eaters = (0..3).map(|place| {
        let forks = forks.clone();
        thread::spawn(move || {
            let (one, two) = (place, (place + 1) % 3);
            let (one, two) = if broken { (one, two) } else { (one.min(two), one.max(two)) };
            let _one = forks[one].lock().unwrap();
            let _two = forks[two].lock().unwrap();
        })
    });
    let eaters: Vec<_> = eaters.collect();
    eaters.into_iter().for_each(|eater| eater.join().unwrap());
}

/// Who sends first is taken for granted.
fn order_over_a_channel(broken: bool) {
    let (sender, receiver) = channel();
    let second = sender.clone();
    let settings = thread::spawn(move || second.send("settings").unwrap());
    if !broken {
        settings.join().unwrap();
        sender.send("work").unwrap();
        assert_eq!(receiver.recv(), Ok("settings"));
        return;
    }
    sender.send("work").unwrap();
    assert_eq!(receiver.recv(), Ok("work"));
    settings.join().unwrap();
}

/// Each waits until the other takes what it gives.
fn full_channels(broken: bool) {
    let ((to_a, at_a), (to_b, at_b)) = (sync_channel(1), sync_channel(1));
    let many = if broken { 2 } else { 1 };
    both(
        move || {
            (0..many).for_each(|number| to_b.send(number).unwrap());
            assert_eq!(at_a.iter().count(), many);
        },
        move || {
            (0..many).for_each(|number| to_a.send(number).unwrap());
            drop(to_a);
            assert_eq!(at_b.iter().take(many).count(), many);
        },
    );
}

fn check_then_act(broken: bool) {
    let count = Arc::new(AtomicU32::new(0));
    let add = |count: Arc<AtomicU32>| {
        move || match broken {
            true => count.store(count.load(SeqCst) + 1, SeqCst),
            false => assert!(count.fetch_add(1, SeqCst) < 2),
        }
    };
    both(add(count.clone()), add(count.clone()));
    assert_eq!(count.load(SeqCst), 2);
}

/// A reader gives its lock back to take it as a writer, and does not look again.
fn upgrade(broken: bool) {
    let cell = Arc::new(RwLock::new(Vec::new()));
    let fill = |cell: Arc<RwLock<Vec<u32>>>| {
        move || {
            if cell.read().unwrap().is_empty() {
                let mut cell = cell.write().unwrap();
                if broken || cell.is_empty() {
                    cell.push(1);
                }
            }
        }
    };
    both(fill(cell.clone()), fill(cell.clone()));
    assert_eq!(cell.read().unwrap().len(), 1);
}

/// A reader reads again while a writer waits.
fn reader_reads_again(broken: bool) {
    let cell = Arc::new(RwLock::new(0));
    let other = cell.clone();
    both(
        move || *other.write().unwrap() += 1,
        move || {
            let first = cell.read().unwrap();
            let value = *first;
            if !broken {
                drop(first);
            }
            assert!(*cell.read().unwrap() >= value);
        },
    );
}

/// The result is read before all have come, since the barrier is too small.
fn barrier_too_small(broken: bool) {
    let (barrier, sum) = (Arc::new(Barrier::new(if broken { 2 } else { 3 })), Arc::new(AtomicU32::new(0)));
    let adders: Vec<_> = (0..2)
        .map(|_| {
            let (barrier, sum) = (barrier.clone(), sum.clone());
            thread::spawn(move || {
                sum.fetch_add(1, SeqCst);
                barrier.wait();
            })
        })
        .collect();
    if broken {
        // Two have come: it is not said which.
        barrier.wait();
        assert_eq!(sum.load(SeqCst), 2);
        barrier.wait();
    } else {
        barrier.wait();
        assert_eq!(sum.load(SeqCst), 2);
    }
    adders.into_iter().for_each(|adder| adder.join().unwrap());
}

/// Two unparks before the first park are one.
fn unparked_twice(broken: bool) {
    let done = Arc::new(AtomicU32::new(0));
    let seen = done.clone();
    let waiter = thread::spawn(move || {
        if broken {
            thread::park();
            thread::park();
        } else {
            while seen.load(SeqCst) < 2 {
                thread::park();
            }
        }
    });
    for _ in 0..2 {
        done.fetch_add(1, SeqCst);
        waiter.thread().unpark();
    }
    waiter.join().unwrap();
}

/// That the time is over is taken for the answer.
fn timed_wait_misread(broken: bool) {
    let pair = Arc::new((Mutex::new(None), Condvar::new()));
    let answerer = pair.clone();
    both(
        move || {
            thread::sleep(Duration::from_millis(1));
            *answerer.0.lock().unwrap() = Some(42);
            answerer.1.notify_one();
        },
        move || {
            let mut answer = pair.0.lock().unwrap();
            while answer.is_none() {
                answer = pair.1.wait_timeout(answer, Duration::from_secs(3600)).unwrap().0;
                if broken {
                    break;
                }
            }
            assert_eq!(*answer, Some(42));
        },
    );
}

/// The same with a moment that the clock must reach.
fn deadline_misread(broken: bool) {
    let pair = Arc::new((Mutex::new(None), Condvar::new()));
    let answerer = pair.clone();
    both(
        move || {
            *answerer.0.lock().unwrap() = Some(42);
            answerer.1.notify_one();
        },
        move || {
            let end = Instant::now() + Duration::from_secs(3600);
            let mut answer = pair.0.lock().unwrap();
            while answer.is_none() && Instant::now() < end {
                answer = pair.1.wait_timeout(answer, end - Instant::now()).unwrap().0;
            }
            assert!(answer.is_some() || !broken && end.elapsed() < Duration::from_secs(1), "no answer");
        },
    );
}

/// The same with a channel: nothing came in an hour, so nothing will.
fn timed_receive_misread(broken: bool) {
    let (sender, receiver) = channel();
    both(
        move || sender.send(1).unwrap(),
        move || {
            let mut got = receiver.recv_timeout(Duration::from_secs(3600));
            while !broken && got == Err(RecvTimeoutError::Timeout) {
                got = receiver.recv_timeout(Duration::from_secs(3600));
            }
            assert_eq!(got, Ok(1));
        },
    );
}

/// A nap makes it pass, nearly always.
fn sleep_for_order(broken: bool) {
    let done = Arc::new(AtomicBool::new(false));
    let worker = done.clone();
    let thread = thread::spawn(move || worker.store(true, SeqCst));
    thread::sleep(Duration::from_millis(100));
    while !broken && !done.load(SeqCst) {
        thread::yield_now();
    }
    assert!(done.load(SeqCst));
    thread.join().unwrap();
}

/// Whether it is done is asked first, and the work is done outside of the call.
fn once_beside_the_work(broken: bool) {
    let shared = Arc::new((Once::new(), AtomicU32::new(0)));
    let begin = |shared: Arc<(Once, AtomicU32)>| {
        move || {
            if !broken {
                shared.0.call_once(|| shared.1.store(shared.1.load(SeqCst) + 1, SeqCst));
            } else if !shared.0.is_completed() {
                shared.1.fetch_add(1, SeqCst);
                shared.0.call_once(|| ());
            }
        }
    };
    both(begin(shared.clone()), begin(shared.clone()));
    assert_eq!(shared.1.load(SeqCst), 1);
}

/// The value is there sooner or later; whoever does not wait may come too soon.
fn once_lock_too_soon(broken: bool) {
    let cell = Arc::new(OnceLock::new());
    let maker = cell.clone();
    both(
        move || maker.set(7).unwrap(),
        move || {
            let value = if broken { cell.get().expect("a value") } else { cell.wait() };
            assert_eq!(*value, 7);
        },
    );
}

fn scoped_threads(broken: bool) {
    let sum = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| match broken {
                true => sum.store(sum.load(SeqCst) + 1, SeqCst),
                false => assert!(sum.fetch_add(1, SeqCst) < 2),
            });
        }
    });
    assert_eq!(sum.load(SeqCst), 2);
}

/// A lock of one's own that is tried, not taken.
fn spinning(broken: bool) {
    let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
    let add = |shared: Arc<(AtomicBool, AtomicU32)>| {
        move || {
            while shared.0.compare_exchange(false, true, SeqCst, SeqCst).is_err() {}
            if broken {
                shared.0.store(false, SeqCst);
            }
            shared.1.store(shared.1.load(SeqCst) + 1, SeqCst);
            shared.0.store(false, SeqCst);
        }
    };
    both(add(shared.clone()), add(shared.clone()));
    assert_eq!(shared.1.load(SeqCst), 2);
}

/// What cannot be had at once is not there.
fn tried_lock(broken: bool) {
    let count = Arc::new(Mutex::new(0));
    let other = count.clone();
    both(
        move || *other.lock().unwrap() += 1,
        move || match broken {
            true => *count.try_lock().expect("nobody has it") += 1,
            false => *count.lock().unwrap() += 1,
        },
    );
}

macro_rules! bugs {
    ($($name:ident: $words:literal;)*) => {
        /// One test each, so that many explorations go on at once in one process.
        mod bugs {
            $(
                #[test]
                fn $name() {
                    super::found(super::$name, $words);
                }
            )*
        }
    };
}

bugs! {
    lost_wakeup: "so nobody heard the signal";
    missing_broadcast: "and nobody will";
    atomicity_over_two_locks: "assertion `left == right` failed";
    deadlock_of_two: "held by thread 1 since";
    philosophers: "deadlock";
    order_over_a_channel: "assertion `left == right` failed";
    full_channels: "deadlock";
    check_then_act: "assertion `left == right` failed";
    upgrade: "assertion `left == right` failed";
    reader_reads_again: "held by itself since";
    barrier_too_small: "assertion `left == right` failed";
    unparked_twice: "deadlock";
    timed_wait_misread: "assertion `left == right` failed";
    deadline_misread: "no answer";
    timed_receive_misread: "Err(Timeout)";
    sleep_for_order: "assertion failed";
    once_beside_the_work: "assertion `left == right` failed";
    once_lock_too_soon: "a value";
    scoped_threads: "assertion `left == right` failed";
    spinning: "assertion `left == right` failed";
    tried_lock: "nobody has it";
}

/// Runs this test program again, for the one test, with these variables: what it says, and whether it passed.
fn alone(test: &str, variables: &[(&str, &str)]) -> (String, bool) {
    let mut command = std::process::Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", test, "--nocapture"]).envs(variables.iter().copied()).env("RUST_BACKTRACE", "0");
    let output = command.output().expect("a test program that can be run");
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.success())
}

/// For `alone`: only there it has its bug.
const BROKEN: &str = "RETAKE_TEST_BROKEN";

#[test]
fn a_program_of_its_own() {
    let broken = std::env::var_os(BROKEN).is_some();
    retake::explore(move || {
        if broken {
            eprintln!("a run");
        }
        atomicity_over_two_locks(broken);
        lost_wakeup(broken);
    });
}

/// As a user does it: the line that the failure tells is typed, and the same failure comes, at once, every time.
#[test]
fn a_failure_is_run_again_by_its_line() {
    let broken = (BROKEN, "1");
    let test = "a_program_of_its_own";
    let (told, passed) = alone(test, &[broken, ("RETAKE_EXPLORE_SEED", "7")]);
    assert!(!passed, "{told}");
    let line = told.lines().find_map(|line| line.strip_prefix("retake: to run it again: ")).expect("a line");
    let (order, command) = line.split_once("' ").expect("a variable and a command");
    assert_eq!(command, "cargo test a_program_of_its_own -- --exact --nocapture");
    let order = order.strip_prefix("RETAKE_EXPLORE='").expect("the variable");
    let what = |told: &str| told.lines().skip_while(|line| !line.contains("panicked at")).nth(1).map(str::to_owned);
    let first = alone(test, &[broken, ("RETAKE_EXPLORE", order)]).0;
    assert!(first.contains(" failed: ") && first.contains("the order fits"), "{first}");
    for _ in 0..20 {
        let (again, passed) = alone(test, &[broken, ("RETAKE_EXPLORE", order)]);
        assert!(!passed, "{again}");
        assert_eq!(again.lines().filter(|line| *line == "a run").count(), 1, "{again}");
        assert_eq!(what(&again), what(&first));
    }
    // Repaired, the order passes, or fits no more; another exploration is not touched by it.
    let (repaired, passed) = alone(test, &[("RETAKE_EXPLORE", order)]);
    assert!(passed && repaired.contains("passed; the order fits"), "{repaired}");
    let (other, passed) = alone(test, &[("RETAKE_EXPLORE", "another::test=0x3")]);
    assert!(passed && other.contains("orders passed"), "{other}");
    let (wrong, passed) = alone(test, &[("RETAKE_EXPLORE", "0y3")]);
    assert!(!passed && wrong.contains("`0y3` is no part of an order"), "{wrong}");
}

#[test]
fn an_order_can_be_tried_first() {
    let found = |explore: Explore| failure(explore, || check_then_act(true)).expect("a failure");
    let message = found(Explore::new().seed(3));
    let value = message.split("RETAKE_EXPLORE='").nth(1).and_then(|rest| rest.split('\'').next()).expect("a value");
    let order = value.rsplit('=').next().expect("an order");
    assert!(found(Explore::new().seed(3).first(order)).contains("run 1 of 1000"), "{message}");
}

#[test]
fn every_strategy_finds_it_and_the_same_seed_finds_the_same() {
    use Strategy::*;
    for strategy in [Portfolio, Random, Pct, Pos, Surw, Delays, Preemptions, All] {
        let explore = Explore::new().seed(9).strategy(strategy);
        let found = || failure(explore.clone(), || atomicity_over_two_locks(true)).expect("a failure");
        assert_eq!(found(), found(), "{strategy:?}");
    }
}

#[test]
fn small_programs_are_done_with() {
    let all = |program: fn(bool)| {
        let explored = Explore::new().strategy(Strategy::All).runs(10_000).run(move || program(false));
        explored.all_orders().expect("all orders")
    };
    // Two threads at one object: who comes first.
    assert_eq!([all(check_then_act), all(deadlock_of_two), all(tried_lock)], [2, 2, 2]);
    // Three forks, each between two: all ways to say who comes first, but for those in which all say "after me".
    assert_eq!(all(philosophers), 6);
    let explored = Explore::new().strategy(Strategy::Preemptions).depth(1).run(|| scoped_threads(false));
    assert!(explored.to_string().starts_with("all orders with at most 1 of them passed"), "{explored}");
}

/// Threads that wait for something to do are no deadlock when the closure has returned; threads that wait for a lock are.
#[test]
fn who_is_left_behind() {
    let left = |broken: bool| {
        let (sender, receiver) = channel::<u32>();
        let lock = Arc::new(Mutex::new(sender));
        let theirs = lock.clone();
        thread::spawn(move || receiver.iter().count());
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_secs(1));
                drop(theirs.lock().unwrap());
            }
        });
        if broken {
            std::mem::forget(lock.lock().unwrap());
            let theirs = lock.clone();
            thread::spawn(move || drop(theirs.lock().unwrap()));
        }
        std::mem::forget(lock);
    };
    assert!(failure(Explore::new().runs(50), move || left(true)).is_some_and(|message| message.contains("deadlock")));
    Explore::new().runs(50).run(move || left(false));
}

/// However a run ends, what its threads hold is dropped, and dropping may wait for others: nothing of it may end the
/// process, or keep the next run from being made.
#[test]
fn ended_runs_are_cleaned_up() {
    struct Pool(Arc<(Mutex<u32>, Condvar)>, Option<thread::JoinHandle<()>>);
    impl Drop for Pool {
        fn drop(&mut self) {
            *self.0.0.lock().unwrap() += 1;
            self.0.1.notify_all();
            self.1.take().unwrap().join().unwrap();
        }
    }
    let message = failure(Explore::new().runs(20), || {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let theirs = shared.clone();
        let worker = thread::spawn(move || drop(theirs.1.wait_while(theirs.0.lock().unwrap(), |n| *n == 0).unwrap()));
        let pool = Pool(shared, Some(worker));
        let (_first, lock) = (pool.0.0.lock().unwrap(), pool.0.clone());
        drop(lock.0.lock().unwrap());
    });
    assert!(message.is_some_and(|message| message.contains("held by itself since")));
}

#[test]
fn what_does_not_come_back_is_said() {
    static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let message = failure(Explore::new().runs(50), || {
        let count = Arc::new(Mutex::new(0));
        let other = count.clone();
        both(move || *other.lock().unwrap() += 1, || *count.lock().unwrap() += 1);
        assert!(RUNS.fetch_add(1, SeqCst) != 2, "the third run");
    });
    let message = message.expect("a failure");
    assert!(message.contains("the third run") && message.contains("0 of 3 more runs"), "{message}");
    assert!(message.contains("a static"), "{message}");
}

#[test]
fn waiting_outside_is_a_hang_and_is_told() {
    let (keep, receiver) = std::sync::mpsc::channel::<()>();
    let receiver = std::sync::Mutex::new(receiver);
    let message = failure(Explore::new().timeout(Duration::from_millis(600)), move || {
        let _ = receiver.lock().unwrap().recv();
    });
    let message = message.expect("a failure");
    assert!(message.contains("hang") && message.contains("not of retake::sync"), "{message}");
    drop(keep);
}
