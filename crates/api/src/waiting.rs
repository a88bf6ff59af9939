//! How a participant waits: for whatever comes first, or for what its tape names.

use crate::error::{Error, Result};
use crate::follow::Named;
use crate::inbox::{Arrived, Inbox};
use crate::participant::{Participant, Tape};
use crate::transport::Until;
use retake_engine::sys;
use std::time::Duration;

/// How often a replay that waits looks around.
const LOOK_NS: i64 = 500_000_000;
/// How often a partner that is not there yet is looked for.
pub(crate) const SEARCH_NS: u64 = 1_000_000;

impl Participant {
    pub(crate) fn pump(&mut self, until: Until) -> Result<()> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        let (inbox, noting) = (&mut self.inbox, &mut self.noting);
        transport.pump(until, &mut |arrival| inbox.take(arrival, noting.as_mut()))
    }

    /// The same, if only this partner can bring what is wanted.
    fn pump_from(&mut self, from: &str, until: Until) -> Result<()> {
        let Some(source) = self.inbox.source(from) else { return self.pump(until) };
        let Some(transport) = &mut self.transport else { return Ok(()) };
        let (inbox, noting) = (&mut self.inbox, &mut self.noting);
        transport.pump_from(source, until, &mut |arrival| inbox.take(arrival, noting.as_mut()))
    }

    /// Waits until the inbox has what is wanted, from anybody or from this partner, or the time is over.
    pub(crate) fn await_live<T>(
        &mut self,
        from: Option<&str>,
        until: Until,
        mut wanted: impl FnMut(&mut Inbox) -> Option<T>,
    ) -> Result<Option<T>> {
        if let Some(found) = wanted(&mut self.inbox) {
            return Ok(Some(found));
        }
        loop {
            match from {
                Some(name) => self.pump_from(name, until)?,
                None => self.pump(until)?,
            }
            if let Some(found) = wanted(&mut self.inbox) {
                return Ok(Some(found));
            }
            if is_over(until) {
                return Ok(None);
            }
        }
    }

    /// Waits for what the tape names; ends the replay if it cannot come.
    pub(crate) fn await_recorded(
        &mut self,
        event: u64,
        from: &Named,
        words: &str,
        mut wanted: impl FnMut(&mut Inbox) -> Option<Arrived>,
    ) -> Result<Arrived> {
        let mut still_since = now();
        let mut moves = self.inbox.moves;
        loop {
            if let Some(found) = wanted(&mut self.inbox) {
                return Ok(found);
            }
            let Tape::Follow(follow) = &self.tape else { return Err(Error::Gone(from.name.to_string())) };
            if self.inbox.has_ended(&from.name, from.life) {
                follow.reporter.diverged(event, words, &format!("the end of {}, who has not sent it", from.name));
            }
            if moves != self.inbox.moves {
                (moves, still_since) = (self.inbox.moves, now());
            }
            if now() - still_since > follow.reporter.patience_ns {
                if !follow.reporter.is_held() {
                    follow.reporter.stuck(event, words);
                }
                still_since = now();
            }
            self.pump(Until::Moment(now() + LOOK_NS))?;
        }
    }

    /// Replay: looks for a partner that was found then, until it is there.
    pub(crate) fn search_until_found(&mut self, event: u64, name: &str) -> Result<()> {
        let mut since = now();
        while self.transport.is_some() && self.open_way(name)?.is_none() {
            let Tape::Follow(follow) = &self.tape else { return Ok(()) };
            if now() - since > follow.reporter.patience_ns {
                if !follow.reporter.is_held() {
                    follow.reporter.stuck(event, &format!("a participant {name}"));
                }
                since = now();
            }
            self.pump(Until::Now)?;
            sys::sleep_ns(SEARCH_NS);
        }
        Ok(())
    }
}

pub(crate) fn now() -> i64 {
    sys::clock_ns(libc::CLOCK_MONOTONIC)
}

pub(crate) fn until(time: Option<Duration>) -> Until {
    match time {
        None => Until::Forever,
        Some(Duration::ZERO) => Until::Now,
        Some(time) => Until::Moment(now().saturating_add(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))),
    }
}

pub(crate) fn is_over(until: Until) -> bool {
    match until {
        Until::Now => true,
        Until::Moment(moment) => now() >= moment,
        Until::Forever => false,
    }
}
