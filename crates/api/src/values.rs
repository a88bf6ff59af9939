//! Values from outside that a participant reads through the library: they are on its tape, and a replay gets them again.

use crate::error::Result;
use crate::follow::Step;
use crate::participant::{Participant, Tape};
use crate::wire;
use retake_engine::sys;
use retake_tape::part::{Line, value};
use std::io::BufRead;
use std::time::{Duration, SystemTime};

impl Participant {
    fn value(&mut self, what: u8, word: &str, live: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>> {
        let event = self.begin()?;
        if let Tape::Follow(follow) = &mut self.tape {
            return match follow.step(event, &|| word.into()) {
                Step::Line(Line::Value(recorded, bytes), _) if recorded == what => {
                    self.note(event, &Line::Value(what, bytes), None);
                    Ok(bytes.to_vec())
                }
                step => follow.diverged(event, &step, word),
            };
        }
        let bytes = live();
        self.note(event, &Line::Value(what, &bytes), None);
        Ok(bytes)
    }

    /// The time of day.
    ///
    /// # Errors
    /// [`Error::Forked`](crate::Error::Forked).
    pub fn time(&mut self) -> Result<SystemTime> {
        let live = || sys::clock_ns(libc::CLOCK_REALTIME).to_le_bytes().to_vec();
        let bytes = self.value(value::CLOCK, "reading the clock", live)?;
        let ns = bytes.try_into().map_or(0, u64::from_le_bytes);
        Ok(SystemTime::UNIX_EPOCH + Duration::from_nanos(ns))
    }

    /// Fills `to` with random bytes.
    ///
    /// # Errors
    /// [`Error::Forked`](crate::Error::Forked).
    pub fn random(&mut self, to: &mut [u8]) -> Result<()> {
        let length = to.len();
        let bytes = self.value(value::RANDOM, "random bytes", || random(length))?;
        let many = bytes.len().min(length);
        to[..many].copy_from_slice(&bytes[..many]);
        Ok(())
    }

    /// The next line of standard input with its end; none at the end of the input.
    ///
    /// # Errors
    /// [`Error::Forked`](crate::Error::Forked).
    pub fn read_line(&mut self) -> Result<Option<String>> {
        let bytes = self.value(value::INPUT, "reading a line", || {
            let mut line = Vec::new();
            let _ = std::io::stdin().lock().read_until(b'\n', &mut line);
            line
        })?;
        Ok((!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

fn random(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    wire::random(&mut bytes);
    bytes
}
