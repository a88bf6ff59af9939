//! A Rust program whose output depends on who gets the locks of `std::sync` first, what comes through a channel first, who is woken,
//! and which updates of an atomic are lost. None of it passes through libc but by futexes. tests/serial.rs records it in turn.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Condvar, Mutex, RwLock, mpsc};
use std::thread;

const ROUNDS: u64 = 200;
const THREADS: u64 = 4;

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x100_0000_01b3)
}

fn main() {
    let (order, map, lost) = (Mutex::new(1), RwLock::new(HashMap::new()), AtomicU64::new(0));
    let (waits, ready, all) = (Mutex::new(0), Condvar::new(), Barrier::new(THREADS as usize));
    let (sender, receiver) = mpsc::channel();
    let body = |id: u64, sender: mpsc::Sender<u64>| {
        all.wait();
        for round in 0..ROUNDS {
            let before = lost.load(Relaxed);
            for n in 0..round * 37 % 500 {
                std::hint::black_box(n);
            }
            let mut order = order.lock().unwrap();
            *order = mix(*order, id);
            drop(order);
            if round % 10 == id {
                map.write().unwrap().insert(round, id);
            } else {
                lost.fetch_add(map.read().unwrap().len() as u64, Relaxed);
            }
            if round % 5 == 0 {
                thread::yield_now();
            }
            lost.store(before + 1, Relaxed);
            sender.send(id * 1000 + round).unwrap();
            *waits.lock().unwrap() += 1;
            ready.notify_one();
        }
    };
    thread::scope(|scope| {
        for id in 0..THREADS {
            let sender = sender.clone();
            scope.spawn(move || body(id, sender));
        }
        drop(sender);
        let received = receiver.iter().fold(1, mix);
        let mut waits = waits.lock().unwrap();
        while *waits < ROUNDS * THREADS {
            waits = ready.wait(waits).unwrap();
        }
        println!("{received:x}");
    });
    let lost = lost.into_inner();
    println!("{:x} {lost} {}", order.into_inner().unwrap(), map.into_inner().unwrap().values().sum::<u64>());
}
