//! A test that explores: `cargo test -p retake --example explore`. The closure runs again and again, in other orders each
//! time, until one fails or all have passed.
//!
//! `cargo run -p retake --example explore` does the same to the bank as it was before its bug was found.

use retake::sync::{Arc, Mutex};
use retake::thread;

struct Bank {
    accounts: [Mutex<u32>; 2],
    /// Whoever takes from one account and gives to the other holds both; in one order, if it is careful.
    careful: bool,
}

impl Bank {
    fn new(careful: bool) -> Arc<Bank> {
        Arc::new(Bank { accounts: [Mutex::new(100), Mutex::new(100)], careful })
    }

    fn transfer(&self, from: usize, to: usize, amount: u32) {
        let (first, second) = if self.careful { (0, 1) } else { (from, to) };
        let mut held = [self.accounts[first].lock().unwrap(), self.accounts[second].lock().unwrap()];
        let taken = amount.min(*held[usize::from(from != first)]);
        *held[usize::from(from != first)] -= taken;
        *held[usize::from(to != first)] += taken;
    }

    fn sum(&self) -> u32 {
        self.accounts.iter().map(|account| *account.lock().unwrap()).sum()
    }
}

fn transfers(careful: bool) {
    let bank = Bank::new(careful);
    let theirs = bank.clone();
    let other = thread::spawn(move || theirs.transfer(1, 0, 30));
    bank.transfer(0, 1, 50);
    other.join().unwrap();
    assert_eq!(bank.sum(), 200);
}

fn main() {
    retake::explore(|| transfers(false));
}

#[test]
fn transfers_keep_the_sum() {
    let explored = retake::explore(|| transfers(true));
    assert_eq!(explored.all_orders(), Some(2));
}
