//! A failing run becomes a take: the same choices once more, recorded in full, and replayed.
//!
//! Law: what does not fail again, or does not replay three times of three, is not reported as found.

use super::choices::{Choices, Clocks};
use super::outcome::Outcome;
use crate::facts::Ended;
use crate::launch::Verdict;
use crate::record::{self, Recorded};
use crate::replay::{Output, Player};
use crate::status::{Failure, Result};
use crate::store::Store;
use retake_explore::Plan;
use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a failure must replay.
pub const REPLAYS: u32 = 3;

/// The choices of a run that is to be made once more.
pub struct Given {
    pub plan: Box<Plan>,
    pub prefix: Vec<u16>,
    /// Choices that the run will make, about.
    pub length: usize,
    pub clocks: Clocks,
    pub patience: Duration,
    pub output: Output,
}

impl Given {
    /// The program's streams: nothing to read unless there is a file, and an output that is kept.
    pub fn streams(&self) -> [Option<i32>; 3] {
        [None, Some(self.output.stdout.as_raw_fd()), Some(self.output.stderr.as_raw_fd())]
    }

    /// Lays the choices down in the take.
    pub fn write(&self, take: &Path) -> Result<Choosing> {
        /// Room for more, should there be any.
        const MORE: usize = 4096;
        let path = take.join(retake_tape::choices::FILE);
        let mut choices = Choices::create(&path, self.prefix.len().max(self.length) + MORE, self.clocks)?;
        choices.give(&self.plan, &self.prefix, false);
        Ok(Choosing { choices, steps: 0, moved: Instant::now(), patience: self.patience, hangs: false })
    }
}

/// A run that makes the choices that were given.
pub struct Choosing {
    choices: Choices,
    steps: u64,
    moved: Instant,
    patience: Duration,
    pub hangs: bool,
}

impl Choosing {
    /// Called now and then while the program runs.
    pub fn look(&mut self, child: i32) -> Verdict {
        let steps = self.choices.steps();
        if steps != self.steps {
            (self.steps, self.moved) = (steps, Instant::now());
        }
        let is_over = self.choices.is_stuck() || self.choices.is_full();
        if !is_over && self.moved.elapsed() < self.patience {
            return Verdict::GoOn;
        }
        self.hangs = true;
        Verdict::Stop { pid: child, ended: Ended::Signal(libc::SIGKILL) }
    }
}

/// A failure that was made once more.
pub enum Kept {
    /// It failed in the same way, and replayed so.
    Same(Recorded),
    /// It came out otherwise.
    Otherwise(Outcome),
    /// It failed in the same way, but a replay did not.
    NotReplayed(String),
}

/// Makes the failure once more as a take, and replays it.
pub fn keep(command: &[OsString], output: Option<OsString>, given: Given, failure: Outcome) -> Result<Kept> {
    let recorded = record::explored(command.to_vec(), output, given)?;
    let outcome = match &recorded {
        Recorded { deadlock: Some(_), .. } => Outcome::Deadlock,
        Recorded { hangs: true, .. } => Outcome::Hang,
        Recorded { ended, .. } => Outcome::Ended(*ended),
    };
    let is_same = match failure {
        Outcome::Refused(ended) => outcome == Outcome::Ended(ended),
        failure => outcome == failure,
    };
    if !is_same {
        let _ = std::fs::remove_dir_all(&recorded.dir);
        return Ok(Kept::Otherwise(outcome));
    }
    match replays(&recorded) {
        Ok(()) => Ok(Kept::Same(recorded)),
        Err(why) => {
            let _ = std::fs::remove_dir_all(&recorded.dir);
            Ok(Kept::NotReplayed(why))
        }
    }
}

fn replays(recorded: &Recorded) -> std::result::Result<(), String> {
    let words = |failure: crate::status::Failure| failure.what;
    let store = Store::open().map_err(words)?;
    let take = store.take(&recorded.dir.to_string_lossy()).map_err(words)?;
    let mut player = Player::new(take).map_err(words)?;
    player.silent = true;
    for time in 1..=REPLAYS {
        let ended = player.play(Some(&Output::null().map_err(words)?), &mut |_, _| Ok(())).map_err(words)?;
        if ended != recorded.ended {
            return Err(format!("replay {time} ended with {}", ended.words()));
        }
    }
    Ok(())
}

/// The choices of a take that was explored.
pub fn kept_choices(word: &str) -> Result<Vec<u16>> {
    let take = Store::open()?.take(word)?;
    let path = take.dir.join(retake_tape::choices::FILE);
    super::choices::read(&path).ok_or_else(|| {
        Failure::own(format!("{word} holds no choices: it was not found by exploring")).next("retake explore -- CMD")
    })
}
