//! How far an exploration is: on a terminal a line that changes, elsewhere a line in ten seconds; and what it came to.

use crate::status::say;
use crate::words::{count, thousands};
use retake_explore::portfolio::Portfolio;
use std::io::Write;
use std::time::{Duration, Instant};

pub struct Progress {
    runs: u64,
    started: Instant,
    told: Instant,
    is_terminal: bool,
    /// There is a line that changes.
    has_line: bool,
    spun: u64,
    outside: u64,
}

impl Progress {
    pub fn new(runs: u64) -> Progress {
        // SAFETY: only asks.
        let is_terminal = unsafe { libc::isatty(2) } == 1;
        let now = Instant::now();
        Progress { runs, started: now, told: now, is_terminal, has_line: false, spun: 0, outside: 0 }
    }

    pub fn seconds(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
    }

    /// Runs in which threads were left to themselves.
    pub fn left_alone(&mut self, (spun, outside): (u32, u32)) {
        self.spun += u64::from(spun > 0);
        self.outside += u64::from(outside > 0);
    }

    /// Tells how far it is, if it is time.
    pub fn tell(&mut self, done: u64, portfolio: &Portfolio) {
        let pause = Duration::from_millis(if self.is_terminal { 200 } else { 10_000 });
        if self.told.elapsed() < pause {
            return;
        }
        self.told = Instant::now();
        let line = format!("{} of {} runs, {}", thousands(done), thousands(self.runs), self.seen(done, portfolio));
        if self.is_terminal {
            self.has_line = true;
            let _ = write!(std::io::stderr(), "\r\x1b[Kretake: {line}");
        } else {
            say(line);
        }
    }

    fn seen(&self, done: u64, portfolio: &Portfolio) -> String {
        let rate = done as f64 / self.started.elapsed().as_secs_f64().max(0.001);
        let coverage = portfolio.coverage();
        let (both, pairs) = coverage.both();
        format!(
            "{} a second; {} seen, {} of {} in both orders",
            thousands(rate as u64),
            count(coverage.orders.len() as u64, "order"),
            thousands(both as u64),
            if pairs == 1 {
                "1 pair of operations".into()
            } else {
                format!("{} pairs of operations", thousands(pairs as u64))
            }
        )
    }

    /// Removes the line that changes.
    pub fn clear(&mut self) {
        if self.has_line {
            self.has_line = false;
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    /// What it came to.
    pub fn conclude(&mut self, done: u64, portfolio: &Portfolio, found: usize) {
        self.clear();
        let failed = if found == 0 { "none failed".into() } else { format!("{} failed", count(found as u64, "kind")) };
        say(format_args!("{}, {failed}, {}: {}", count(done, "run"), self.seconds(), self.seen(done, portfolio)));
        // Who was left to itself ran in orders that no search knows.
        let is_known = self.spun + self.outside == 0;
        let seen = portfolio.coverage().orders.len() as u64;
        let all = portfolio.all_orders().filter(|(orders, _)| is_known && *orders >= seen);
        if let (Some((orders, yields)), 0) = (all, found) {
            let but = if yields { ", but for how often a thread that yields looks again" } else { "" };
            let all = if orders == 1 { "the only order".into() } else { format!("all {}", count(orders, "order")) };
            say(format_args!("{all} of its operations passed{but}; memory that no lock protects may have more"));
        } else if let (Some(bound), 0) = (portfolio.all_within(), found) {
            say(format_args!("all orders with at most {bound} of them passed"));
        }
        if self.spun > 0 {
            say(format_args!(
                "in {} a thread computed for 100 ms without an operation that Retake sees (it may spin on memory), and was left to itself",
                count(self.spun, "run")
            ));
        }
        if self.outside > 0 {
            say(format_args!(
                "in {} a thread waited outside of Retake's sight (a socket, a pipe, a futex of its own), and was left to itself",
                count(self.outside, "run")
            ));
        }
    }
}
