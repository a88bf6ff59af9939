//! Everything that a participant does with messages, noted by a replay that tells more than the recording kept.
//!
//! It is what a recording leaves out to be light: every send, every receive, and what each receive would have taken. The
//! file is like a part, in the session's directory; the command line keeps it beside the parts.

use crate::capture::Capture;
use crate::error::Result;
use crate::mode::Settings;
use retake_tape::part::Line;
use retake_tape::session::{TALK_ENDING, flag};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The writing end.
pub struct Talk {
    capture: Capture,
    /// As this file numbers them.
    partners: Vec<(Arc<str>, u32)>,
}

impl Talk {
    /// `None` if nobody has asked for it.
    pub fn new(settings: &Settings, name: &str, life: u32) -> Result<Option<Talk>> {
        let asked = settings.session().is_some_and(|session| session.flags.load(Relaxed) & flag::RICH != 0);
        let Some(directory) = settings.session.as_ref().and_then(|session| session.parent()).filter(|_| asked) else {
            return Ok(None);
        };
        let capture = Capture::create(directory, TALK_ENDING, name, life, false)?;
        Ok(Some(Talk { capture, partners: Vec::new() }))
    }

    pub fn sent(&mut self, event: u64, to: &str, how: u8, id: u64, length: u64) {
        let to = self.partner(event, to, 0);
        self.write(event, &Line::Sent { to, how, id, length, crc: 0 });
    }

    /// `only` is whom the receive would have taken a message from, if not from everyone.
    pub fn received(&mut self, event: u64, from: (&str, u32), seq: u64, id: u64, only: Option<&str>) {
        if let Some(only) = only {
            let only = self.partner(event, only, 0);
            self.write(event, &Line::Only(only));
        }
        let from = self.partner(event, from.0, from.1);
        self.write(event, &Line::Received { from, seq, id, call: false });
    }

    pub fn replied(&mut self, event: u64, from: &str, id: u64) {
        let from = self.partner(event, from, 0);
        self.write(event, &Line::Reply { from, id });
    }

    fn write(&mut self, event: u64, line: &Line<'_>) {
        self.capture.line(event, line);
        self.capture.commit(event);
    }

    fn partner(&mut self, event: u64, name: &str, life: u32) -> u32 {
        let known = self.partners.iter().position(|(its, lives)| **its == *name && *lives == life);
        let index = known.unwrap_or(self.partners.len()) as u32;
        if known.is_none() {
            self.partners.push((name.into(), life));
            self.write(event, &Line::Partner { index, life, name: name.as_bytes(), host: b"" });
        }
        index
    }
}
