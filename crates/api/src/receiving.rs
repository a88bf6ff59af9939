//! How a message is received: the first that comes, noted if it must be known, or the one that the tape allows.

use crate::error::{Error, Result};
use crate::follow::{Named, Step, failure};
use crate::frame::{Head, Kind};
use crate::inbox::{Arrived, Inbox, Taken};
use crate::message::{Message, Partner};
use crate::noting::Receive;
use crate::participant::{Participant, Tape};
use crate::waiting::until;
use retake_tape::part::{Line, fact, failed};
use std::time::Duration;

impl Participant {
    /// Receives the next message, from whomever: waits so long, or for ever. None if the time was over.
    ///
    /// # Errors
    /// [`Error::Gap`] if the transport lost a message; what came after it is not lost.
    pub fn receive(&mut self, time: Option<Duration>) -> Result<Option<Message>> {
        self.receive_any(None, time)
    }

    /// Receives the next message from this partner; others stay where they are.
    ///
    /// # Errors
    /// [`Error::Gone`] if it is gone and nothing of it is left.
    pub fn receive_from(&mut self, partner: Partner, time: Option<Duration>) -> Result<Option<Message>> {
        self.receive_any(Some(partner), time)
    }

    fn receive_any(&mut self, only: Option<Partner>, time: Option<Duration>) -> Result<Option<Message>> {
        let event = self.begin()?;
        let (only, way) = match only {
            Some(partner) => {
                let known = self.known(partner)?;
                (Some(known.name.clone()), known.way)
            }
            None => (None, None),
        };
        if matches!(self.tape, Tape::Follow(_)) {
            return self.receive_recorded(event, only.as_deref());
        }
        let taken =
            self.await_live(only.as_deref(), until(time), |inbox| match (inbox.first(only.as_deref()), &only) {
                (Some(taken), _) => Some(Ok(taken)),
                (None, Some(name)) => inbox.is_gone(name, way).then(|| Err(Error::Gone(name.to_string()))),
                (None, None) => None,
            });
        match self.settled(event, taken)? {
            None => Ok(None),
            Some(Taken::Gap(name)) => {
                self.note(event, &Line::Failed(failed::GAP), Some(name.as_bytes()));
                Err(Error::Gap(name.to_string()))
            }
            Some(Taken::Message(arrived)) => {
                let sender = &self.inbox.senders[arrived.sender];
                let (name, host, life) = (sender.name.clone(), sender.host.clone(), sender.life);
                let Head { kind, seq, id, .. } = arrived.head;
                let call = kind == Kind::Call;
                let from = self.index_on_tape(event, &name, &host, life);
                self.note_receive(&arrived, only.as_deref(), Receive { event, from, seq, id, call });
                let from = Named { name, host, life };
                Ok(Some(self.message(&from, id, call, arrived.into_body())))
            }
        }
    }

    fn receive_recorded(&mut self, event: u64, only: Option<&str>) -> Result<Option<Message>> {
        let Tape::Follow(follow) = &mut self.tape else { return Ok(None) };
        let came = || only.map_or_else(|| "a receive".into(), |name| format!("a receive from {name}"));
        let (step, alone) = (follow.step(event, &came), follow.alone);
        match step {
            Step::Line(Line::Nothing(_), _) => {
                self.note_nothing(event);
                Ok(None)
            }
            Step::Line(Line::Failed(code), words) if code != failed::NOT_THERE => {
                self.note(event, &Line::Failed(code), words);
                Err(failure(code, words, only.unwrap_or_default()))
            }
            Step::Line(Line::Received { from, seq, id, call }, contents) => {
                let from = follow.partner(event, from);
                if only.is_some_and(|name| *name != *from.name) {
                    let recorded = format!("message {id} from {}", from.name);
                    follow.reporter.diverged(event, &recorded, &came());
                }
                if let Some(contents) = contents.filter(|_| alone) {
                    return Ok(Some(self.message(&from, id, call, (contents.to_vec(), 0))));
                }
                let words = format!("message {id} from {}", from.name);
                let find = |inbox: &mut Inbox| inbox.named(&from.name, from.life, seq);
                let arrived = self.await_recorded(event, &from, &words, find)?;
                self.tell_received(event, &arrived, only);
                let call = arrived.head.kind == Kind::Call;
                Ok(Some(self.message(&from, arrived.head.id, call, arrived.into_body())))
            }
            Step::Plain if follow.free.is_some() => {
                let free = follow.free.clone().unwrap_or_default();
                let find =
                    |inbox: &mut Inbox| inbox.free(only, |sender, seq| free.is_free(&sender.name, sender.life, seq));
                let words = only.map_or("a message".into(), |name| format!("a message from {name}"));
                let nobody = Named { name: "".into(), host: "".into(), life: 0 };
                let arrived = self.await_recorded(event, &nobody, &words, find)?;
                self.tell_received(event, &arrived, only);
                let sender = &self.inbox.senders[arrived.sender];
                let from = Named { name: sender.name.clone(), host: sender.host.clone(), life: sender.life };
                let (id, call) = (arrived.head.id, arrived.head.kind == Kind::Call);
                Ok(Some(self.message(&from, id, call, arrived.into_body())))
            }
            step => follow.diverged(event, &step, &came()),
        }
    }

    /// Notes a receive, or an earlier one, if it must be known.
    fn note_receive(&mut self, arrived: &Arrived, only: Option<&str>, receive: Receive) {
        let Receive { event, from, seq, id, call } = receive;
        let Some(noting) = &mut self.noting else {
            return self.note(event, &Line::Received { from, seq, id, call }, Some(arrived.contents()));
        };
        let Tape::Capture(capture) = &mut self.tape else { return };
        let again = self.inbox.senders[arrived.sender].life > 1;
        let listen = self.inbox.listen(only);
        let decided = noting.took(arrived.sender, receive, &arrived.stamp, listen, again);
        if !matches!(decided, Some((decided, true)) if decided.event == event) {
            capture.taken(event, from, seq);
        }
        if let Some((decided, true)) = decided {
            capture.received(event, decided);
        }
        capture.commit(event);
    }

    /// Notes what was not yet decided, and what it has cost.
    pub(crate) fn note_rest(&mut self) {
        if let (Tape::Capture(capture), Some(noting)) = (&mut self.tape, &mut self.noting) {
            while let Some(receive) = noting.end() {
                capture.received(self.event, receive);
            }
            capture.line(self.event, &Line::Fact(fact::STAMPS, &noting.stamps()));
        }
    }

    fn tell_received(&mut self, event: u64, arrived: &Arrived, only: Option<&str>) {
        if let Some(talk) = &mut self.talk {
            let sender = &self.inbox.senders[arrived.sender];
            talk.received(event, (&sender.name, sender.life), arrived.head.seq, arrived.head.id, only);
        }
        if self.promoted.is_some() {
            let sender = &self.inbox.senders[arrived.sender];
            let (name, host, life) = (sender.name.clone(), sender.host.clone(), sender.life);
            let Head { kind, seq, id, .. } = arrived.head;
            let from = self.index_on_tape(event, &name, &host, life);
            let line = Line::Received { from, seq, id, call: kind == Kind::Call };
            self.note(event, &line, Some(arrived.contents()));
        }
    }
}
