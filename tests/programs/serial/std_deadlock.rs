//! A Rust program whose threads take two mutexes of `std::sync` the other way round. tests/serial.rs looks that its deadlock is told.

use std::sync::{Barrier, Mutex};
use std::thread;

static ONE: Mutex<u32> = Mutex::new(1);
static OTHER: Mutex<u32> = Mutex::new(2);

fn take(all: &Barrier, first: &Mutex<u32>, second: &Mutex<u32>) -> u32 {
    let first = first.lock().unwrap();
    all.wait();
    *first + *second.lock().unwrap()
}

fn main() {
    let all = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| take(&all, &ONE, &OTHER));
        scope.spawn(|| take(&all, &OTHER, &ONE));
    });
}
