//! How far an exploration is: on a terminal a line that changes, elsewhere a line in ten seconds.

use super::result::{Counts, seconds};
use crate::status::say;
use crate::words::thousands;
use retake_explore::portfolio::{Portfolio, Strategy};
use std::io::Write;
use std::time::{Duration, Instant};

pub struct Progress {
    runs: u64,
    started: Instant,
    told: Instant,
    is_terminal: bool,
    /// There is a line that changes.
    has_line: bool,
}

impl Progress {
    pub fn new(runs: u64) -> Progress {
        // SAFETY: only asks.
        let is_terminal = unsafe { libc::isatty(2) } == 1;
        let now = Instant::now();
        Progress { runs, started: now, told: now, is_terminal, has_line: false }
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn words(&self) -> String {
        seconds(self.elapsed().as_secs_f64())
    }

    /// Tells how far it is, if it is time. `strategy` chose in the last run.
    pub fn tell(&mut self, done: u64, strategy: Strategy, portfolio: &Portfolio) {
        let pause = Duration::from_millis(if self.is_terminal { 200 } else { 10_000 });
        if self.told.elapsed() < pause {
            return;
        }
        self.told = Instant::now();
        let (done_words, runs) = (thousands(done), thousands(self.runs));
        let rate = thousands((done as f64 / self.elapsed().as_secs_f64().max(0.001)) as u64);
        let seen = Counts::of(portfolio.coverage()).words();
        let line = format!("{done_words} of {runs} runs, {rate} a second ({}); {seen}", strategy.name());
        if self.is_terminal {
            self.has_line = true;
            let _ = write!(std::io::stderr(), "\r\x1b[Kretake: {line}");
        } else {
            say(line);
        }
    }

    /// Removes the line that changes.
    pub fn clear(&mut self) {
        if self.has_line {
            self.has_line = false;
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
