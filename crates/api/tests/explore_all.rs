//! All orders are all orders: small random programs, whose outcome is what their threads saw. Whatever a random walk sees, the
//! exhaustive search has seen, too; and what it says to be impossible never happens.

mod dice;

use dice::Dice;
use retake::sync::atomic::{AtomicU32, Ordering::SeqCst};
use retake::sync::mpsc::{Receiver, Sender, channel};
use retake::sync::{Arc, Condvar, Mutex, Once, OnceLock, RwLock};
use retake::{Explore, Strategy, thread};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a thread does, on one of two objects of its kind.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Load,
    Store,
    Add,
    Exchange,
    Lock,
    Try,
    Nested,
    Read,
    Write,
    TryWrite,
    Send,
    TryReceive,
    ReceiveForAWhile,
    NotifyAll,
    WaitForAWhile,
    Once,
    Set,
    Get,
    Unpark,
    ParkForAWhile,
}

const DEEDS: [Deed; 20] = [
    Deed::Load,
    Deed::Store,
    Deed::Add,
    Deed::Exchange,
    Deed::Lock,
    Deed::Try,
    Deed::Nested,
    Deed::Read,
    Deed::Write,
    Deed::TryWrite,
    Deed::Send,
    Deed::TryReceive,
    Deed::ReceiveForAWhile,
    Deed::NotifyAll,
    Deed::WaitForAWhile,
    Deed::Once,
    Deed::Set,
    Deed::Get,
    Deed::Unpark,
    Deed::ParkForAWhile,
];

type Program = Vec<Vec<(Deed, usize)>>;

struct Things {
    atomics: [AtomicU32; 2],
    mutexes: [Mutex<u32>; 2],
    rwlocks: [RwLock<u32>; 2],
    condition: Condvar,
    once: Once,
    cell: OnceLock<u32>,
    sender: Mutex<Sender<u32>>,
    receiver: Mutex<Receiver<u32>>,
    main: thread::Thread,
}

const A_WHILE: Duration = Duration::from_secs(5);

/// What the thread of that number sees.
fn act(things: &Things, number: u32, (deed, which): (Deed, usize)) -> u32 {
    let atomic = &things.atomics[which];
    let change = |value: &mut u32| {
        *value = *value * 3 + number;
        *value
    };
    match deed {
        Deed::Load => atomic.load(SeqCst),
        Deed::Store => {
            atomic.store(number, SeqCst);
            0
        }
        Deed::Add => atomic.fetch_add(number, SeqCst),
        Deed::Exchange => atomic.compare_exchange(0, number, SeqCst, SeqCst).unwrap_or_else(|seen| seen),
        Deed::Lock => change(&mut things.mutexes[which].lock().unwrap()),
        Deed::Try => things.mutexes[which].try_lock().map_or(9, |mut value| change(&mut value)),
        Deed::Nested => {
            let first = things.mutexes[which].lock().unwrap();
            let second = things.mutexes[1 - which].lock().unwrap();
            *first + *second
        }
        Deed::Read => *things.rwlocks[which].read().unwrap(),
        Deed::Write => change(&mut things.rwlocks[which].write().unwrap()),
        Deed::TryWrite => things.rwlocks[which].try_write().map_or(9, |mut value| change(&mut value)),
        Deed::Send => {
            things.sender.lock().unwrap().send(number).unwrap();
            0
        }
        Deed::TryReceive => things.receiver.lock().unwrap().try_recv().unwrap_or(9),
        Deed::ReceiveForAWhile => things.receiver.lock().unwrap().recv_timeout(A_WHILE).unwrap_or(9),
        Deed::NotifyAll => {
            things.condition.notify_all();
            0
        }
        Deed::WaitForAWhile => {
            let value = things.mutexes[which].lock().unwrap();
            let (value, late) = things.condition.wait_timeout(value, A_WHILE).unwrap();
            *value + 100 * u32::from(late.timed_out())
        }
        Deed::Once => {
            let mut mine = 0;
            things.once.call_once(|| mine = 1);
            mine
        }
        Deed::Set => u32::from(things.cell.set(number).is_ok()),
        Deed::Get => things.cell.get().copied().unwrap_or(9),
        Deed::Unpark => {
            things.main.unpark();
            0
        }
        Deed::ParkForAWhile => {
            thread::park_timeout(A_WHILE);
            0
        }
    }
}

/// What all threads saw; each deed of each.
fn outcome(program: &Program) -> Vec<Vec<u32>> {
    let (sender, receiver) = channel();
    let things = Things {
        atomics: [AtomicU32::new(0), AtomicU32::new(0)],
        mutexes: [Mutex::new(0), Mutex::new(0)],
        rwlocks: [RwLock::new(0), RwLock::new(0)],
        condition: Condvar::new(),
        once: Once::new(),
        cell: OnceLock::new(),
        sender: Mutex::new(sender),
        receiver: Mutex::new(receiver),
        main: thread::current(),
    };
    let run = |number: usize| -> Vec<u32> {
        program[number].iter().map(|deed| act(&things, number as u32 + 1, *deed)).collect()
    };
    let run = &run;
    let mut seen = thread::scope(|scope| {
        let others: Vec<_> = (1..program.len()).map(|number| scope.spawn(move || run(number))).collect();
        let mut seen = vec![run(0)];
        seen.extend(others.into_iter().map(|other| other.join().unwrap()));
        seen
    });
    seen.push(things.mutexes.iter().map(|mutex| *mutex.lock().unwrap()).collect());
    seen
}

/// The outcomes that an exploration sees, and whether it saw all orders; nothing if it found a deadlock.
fn outcomes(program: &Program, explore: Explore) -> Option<(BTreeSet<Vec<Vec<u32>>>, bool)> {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (theirs, program) = (seen.clone(), program.clone());
    let explored = catch_unwind(AssertUnwindSafe(|| {
        explore.run(move || {
            let outcome = outcome(&program);
            theirs.lock().unwrap().insert(outcome);
        })
    }));
    let explored = explored.map_err(|message| {
        let message = message.downcast_ref::<String>().expect("a message");
        assert!(message.contains(" failed: deadlock ") && message.contains("3 of 3 more runs"), "{message}");
    });
    let all = explored.ok()?.all_orders().is_some();
    Some((std::mem::take(&mut *seen.lock().unwrap()), all))
}

#[test]
fn a_search_for_all_orders_sees_what_a_walk_sees() {
    let (mut dice, mut compared) = (Dice(0x9e37_79b9_7f4a_7c15), 0);
    for _ in 0..30 {
        let threads = 2 + dice.roll(2);
        let program: Program = (0..threads)
            .map(|_| (0..1 + dice.roll(3)).map(|_| (DEEDS[dice.roll(20) as usize], dice.roll(2) as usize)).collect())
            .collect();
        let all = outcomes(&program, Explore::new().strategy(Strategy::All).runs(2000));
        let walk = outcomes(&program, Explore::new().strategy(Strategy::Random).runs(150));
        match (all, walk) {
            (Some((all, true)), Some((walk, _))) => {
                compared += 1;
                assert!(walk.is_subset(&all), "{program:?}: only the walk saw {:?}", walk.difference(&all));
            }
            (Some((_, true)), None) => panic!("{program:?}: only the walk found a deadlock"),
            // Too large, or a deadlock that a few walks need not find.
            _ => {}
        }
    }
    assert!(compared >= 20, "{compared} programs were small enough");
}
