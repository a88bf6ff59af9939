//! How a message leaves: sent live, noted where contents are kept, or done as the tape says.

use crate::error::{Error, Result};
use crate::follow::{Step, failure};
use crate::frame::{Head, Kind, MESSAGE_MAX};
use crate::message::Partner;
use crate::participant::{Participant, Tape};
use retake_tape::check::crc32c;
use retake_tape::part::{Line, failed, sent};

/// So much may wait to be sent; a sender that is further ahead waits, taking messages in meanwhile.
const BACKLOG_MAX: usize = 256 << 20;

impl Participant {
    /// Sends, or does what the tape says instead. For a call the event goes on.
    pub(crate) fn dispatch(&mut self, event: u64, to: Partner, kind: Kind, id: u64, contents: &[u8]) -> Result<()> {
        if contents.len() > MESSAGE_MAX {
            self.event -= 1;
            return Err(Error::TooLong(contents.len()));
        }
        let name = match self.known(to) {
            Ok(known) => known.name.clone(),
            Err(error) => {
                self.event -= 1;
                return Err(error);
            }
        };
        if kind != Kind::Reply {
            self.last_id = id;
        }
        let how = [sent::SEND, sent::CALL, sent::REPLY][kind as usize - 1];
        let length = contents.len() as u64;
        match &mut self.tape {
            Tape::Off => self.transmit(to, &name, kind, id, contents),
            Tape::Capture(_) => {
                if let Err(error) = self.transmit(to, &name, kind, id, contents) {
                    if error == Error::Gone(name.to_string()) {
                        self.note(event, &Line::Failed(failed::GONE), None);
                    }
                    return self.noted(event, Err(error));
                }
                self.note_sent(event, &name, how, id, contents);
                Ok(())
            }
            Tape::Follow(follow) => {
                let came = || format!("message {id} to {name}, {length} bytes");
                if follow.expects_failure(event, kind == Kind::Call) {
                    return Err(match follow.step(event, &came) {
                        Step::Line(Line::Failed(code), words) => {
                            self.note(event, &Line::Failed(code), words);
                            failure(code, words, &name)
                        }
                        step => follow.diverged(event, &step, &came()),
                    });
                }
                if follow.full {
                    let step = follow.step(event, &came);
                    match step {
                        Step::Line(Line::Sent { to, how: its, id: recorded, length: long, crc }, _)
                            if its == how && recorded == id && *follow.partner(event, to).name == *name =>
                        {
                            if long != length || crc != crc32c(0, contents) {
                                let recorded = format!("message {id} to {name}, {long} bytes, with other contents");
                                follow.reporter.diverged(event, &recorded, &came());
                            }
                        }
                        step => follow.diverged(event, &step, &came()),
                    }
                } else if kind != Kind::Call {
                    // Plain, or the end of the part.
                    let step = follow.step(event, &came);
                    if !matches!(step, Step::Plain) {
                        follow.diverged(event, &step, &came());
                    }
                }
                if let Some(talk) = &mut self.talk {
                    talk.sent(event, &name, how, id, length);
                }
                self.note_sent(event, &name, how, id, contents);
                // It was sent then: whoever is gone by now did not need it.
                match self.transmit(to, &name, kind, id, contents) {
                    Err(Error::Gone(_)) => Ok(()),
                    other => other,
                }
            }
        }
    }

    /// Where contents are kept: notes what was sent, so that it can be compared. The event goes on.
    fn note_sent(&mut self, event: u64, name: &str, how: u8, id: u64, contents: &[u8]) {
        if self.written().is_some_and(|capture| capture.full) {
            let to = self.index_on_tape(event, name, "", 0);
            let line = Line::Sent { to, how, id, length: contents.len() as u64, crc: crc32c(0, contents) };
            if let Some(capture) = self.written() {
                capture.line(event, &line);
            }
        }
    }

    fn transmit(&mut self, to: Partner, name: &str, kind: Kind, id: u64, contents: &[u8]) -> Result<()> {
        if self.transport.is_none() {
            return Ok(());
        }
        let gone = || Error::Gone(name.into());
        let known = &self.partners[to.0 as usize];
        let way = match known.way {
            Some(way) if self.inbox.is_lost(way) => return Err(gone()),
            Some(way) => way,
            None => self.open_way(name)?.ok_or_else(gone)?,
        };
        let known = &mut self.partners[to.0 as usize];
        let head = Head { kind, seq: known.sent + 1, id, stamped: self.noting.is_some() };
        self.head.clear();
        self.head.extend(head.bytes());
        if let Some(noting) = &mut self.noting {
            noting.stamp(way, self.inbox.sender_at(name), &mut self.head);
        }
        let Some(transport) = &mut self.transport else { return Ok(()) };
        transport.send(way, &self.head, contents).map_err(|error| match error {
            Error::Gone(_) => gone(),
            other => other,
        })?;
        known.sent += 1;
        self.send_on(BACKLOG_MAX)
    }
}
