//! A program whose output depends on the order of locks, channels and atomics of `retake::sync`: recorded, every replay
//! prints the same. With `std::sync` in their place it would run the same, but nothing of it would be recorded.

use retake::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use retake::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use retake::thread;
use std::time::Duration;

const THREADS: u64 = 4;
const ROUNDS: u64 = 40;
/// How many have come before its value was made.
static CAME: AtomicU64 = AtomicU64::new(0);
static LAZY: LazyLock<u64> = LazyLock::new(|| CAME.load(Ordering::SeqCst));

struct Place {
    order: Mutex<Vec<u64>>,
    hash: AtomicU64,
    words: RwLock<String>,
    start: Barrier,
    first: Once,
    cell: OnceLock<u64>,
    chosen: AtomicU64,
    turn: Condvar,
    stop: AtomicBool,
}

fn work(place: &Place, me: u64, results: &mpsc::Sender<(u64, u64)>) {
    let leader = place.start.wait().is_leader();
    place.hash.fetch_add(u64::from(place.first.is_completed()) * 1000, Ordering::SeqCst);
    // Whoever is inside may look, too: it is not done yet.
    place.first.call_once(|| place.chosen.store(me + 100 * u64::from(place.first.is_completed()), Ordering::SeqCst));
    CAME.fetch_add(1, Ordering::SeqCst);
    let found = place.cell.get().is_some();
    place.hash.fetch_add(u64::from(found) + place.cell.get_or_init(|| me) * 10 + *LAZY * 100, Ordering::SeqCst);
    for round in 0..ROUNDS {
        let mixed = place.hash.load(Ordering::SeqCst).wrapping_mul(31).wrapping_add(me);
        let _ = place.hash.compare_exchange(mixed ^ 1, mixed, Ordering::SeqCst, Ordering::SeqCst);
        place.hash.store(mixed, Ordering::SeqCst);
        if let Ok(mut order) = place.order.try_lock() {
            order.push(me);
            place.turn.notify_one();
        }
        if round % 10 == me {
            place.words.write().unwrap().push_str(&format!("{me}"));
        } else {
            let length = place.words.read().unwrap().len() as u64;
            place.hash.fetch_add(length, Ordering::SeqCst);
        }
        if round.is_multiple_of(16) {
            let guard = place.order.lock().unwrap();
            let (guard, result) = place.turn.wait_timeout(guard, Duration::from_micros(200)).unwrap();
            place.hash.fetch_xor(guard.len() as u64 + u64::from(result.timed_out()), Ordering::SeqCst);
        }
        results.send((me, place.hash.load(Ordering::SeqCst))).unwrap();
    }
    if leader {
        place.stop.store(true, Ordering::SeqCst);
    }
}

fn main() {
    let place = Arc::new(Place {
        order: Mutex::new(Vec::new()),
        hash: AtomicU64::new(1),
        words: RwLock::new(String::new()),
        start: Barrier::new(THREADS as usize),
        first: Once::new(),
        cell: OnceLock::new(),
        chosen: AtomicU64::new(0),
        turn: Condvar::new(),
        stop: AtomicBool::new(false),
    });
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..THREADS)
        .map(|me| {
            let (place, sender) = (place.clone(), sender.clone());
            thread::spawn(move || work(&place, me, &sender))
        })
        .collect();
    drop(sender);
    // Who unparks whom first: the one who is parked looks how far the others are then.
    let parked = thread::spawn({
        let place = place.clone();
        move || {
            thread::park();
            place.hash.load(Ordering::SeqCst)
        }
    });
    // Or waits for what is done once.
    let waited = thread::spawn({
        let place = place.clone();
        move || {
            place.first.wait();
            place.hash.load(Ordering::SeqCst)
        }
    });
    let (mut polls, mut looks) = (0u64, 0u64);
    while !place.stop.load(Ordering::SeqCst) {
        polls += 1;
        looks += u64::from(!waited.is_finished());
        if polls == 3 {
            parked.thread().unpark();
        }
        thread::yield_now();
    }
    let received = receiver.iter().fold(0u64, |sum, (me, hash)| sum.wrapping_mul(1_000_003).wrapping_add(hash ^ me));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    parked.thread().unpark();
    println!("parked until {:x}", parked.join().unwrap());
    println!("waited until {:x}", waited.join().unwrap());
    println!("chosen {}, {polls} polls, {looks} before the waiter ended", place.chosen.load(Ordering::SeqCst));
    println!("received {received:x}, hash {:x}", place.hash.load(Ordering::SeqCst));
    println!("words {}", place.words.read().unwrap());
    println!("order {:?}", place.order.lock().unwrap());
}
