//! Reading a part: what a replay is to do next.
//!
//! Every operation of a participant is an event and asks for its step. An event without a line went plainly; a line for
//! an earlier event, or of another kind than the operation, means that the program does something else than it did. A
//! receive without a line takes any message that is free ([`Free`]).

use crate::capture::part_name;
use crate::error::{Error, Result};
use crate::mode::{Settings, end_of_part};
use crate::report::Reporter;
use retake_tape::layout::{kind, state};
use retake_tape::part::{Line, fact, failed};
use retake_tape::reader::{Payload, Tape};
use retake_tape::session::PART_ENDING;
use retake_trace::follow::Holding;
use retake_trace::{Channel, Message};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A partner as the part names it.
#[derive(Clone, Debug)]
pub struct Named {
    pub name: Arc<str>,
    pub host: Arc<str>,
    pub life: u32,
}

/// What receives without a line may take: messages that were received then, and that no line names.
#[derive(Debug, Default)]
pub struct Free {
    holding: Holding,
    /// By their numbers on the tape.
    partners: Vec<(Arc<str>, u32)>,
}

impl Free {
    /// Whether it may be taken, if it is the first of its sender.
    pub fn is_free(&self, name: &str, life: u32, seq: u64) -> bool {
        let known = self.partners.iter().position(|(its, lives)| **its == *name && *lives == life);
        known.is_some_and(|at| self.holding.is_free(Message { channel: Channel(at as u32), number: seq }))
    }

    fn learn(&mut self, line: &Line<'_>) {
        match *line {
            Line::Partner { life, name, .. } => {
                self.partners.push((Arc::from(String::from_utf8_lossy(name)), life));
            }
            Line::Received { from, seq, .. } | Line::Late { from, seq, .. } => {
                self.holding.hold(Message { channel: Channel(from), number: seq });
            }
            Line::Taken { from, seq } => self.holding.taken_until(Channel(from), seq),
            _ => {}
        }
    }
}

/// What an event was.
#[derive(Debug)]
pub enum Step {
    /// It went plainly.
    Plain,
    /// It went as this line says, with these contents.
    Line(Line<'static>, Option<&'static [u8]>),
}

/// The error that a line of failure stands for.
pub fn failure(code: u64, contents: Option<&[u8]>, partner: &str) -> Error {
    let words = || String::from_utf8_lossy(contents.unwrap_or_default()).into_owned();
    match code {
        failed::NOT_THERE => Error::NotThere(partner.into()),
        failed::GAP => Error::Gap(words()),
        failed::TRANSPORT => Error::Transport(words()),
        _ => Error::Gone(partner.into()),
    }
}

/// The reading end of a part.
pub struct Follow {
    payload: Payload<'static>,
    next: Option<(u64, Line<'static>)>,
    /// Events of the recorded participant.
    count: u64,
    /// It finished by itself.
    finished: bool,
    /// Receives of a run that are still to find nothing.
    nothing: u32,
    pub partners: Vec<Named>,
    pub objects: Vec<Arc<str>>,
    /// Contents are on the tape.
    pub full: bool,
    /// Some receives have no line: what they may take.
    pub free: Option<Arc<Free>>,
    /// Lines that were written later than their events.
    late: BTreeMap<u64, Line<'static>>,
    /// This process runs alone.
    pub alone: bool,
    pub reporter: Reporter,
}

impl Follow {
    pub fn new(settings: &Settings, name: &str, life: u32, alone: bool) -> Result<Follow> {
        let reporter = Reporter::new(settings, name);
        let take = settings.take.as_deref().unwrap_or(std::path::Path::new("."));
        let path = take.join(format!("{}{PART_ENDING}", part_name(name, life)));
        let refuse = |why: String| Error::Tape(format!("{} cannot be used: {why}", path.display()));
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && settings.session.is_some() => {
                reporter.diverged(0, "no such participant", &format!("a participant {name}"))
            }
            Err(error) => return Err(refuse(error.to_string())),
        };
        Follow::of(bytes, alone, reporter).map_err(refuse)
    }

    /// Follows the part in `bytes`.
    pub fn of(bytes: Vec<u8>, alone: bool, reporter: Reporter) -> std::result::Result<Follow, String> {
        // A replay keeps its tape until the process ends.
        let tape: &'static Tape = Box::leak(Box::new(Tape::new(bytes).map_err(|fault| format!("{fault:?}"))?));
        let Some(thread) = tape.threads.first().filter(|_| tape.header.kind == kind::PART) else {
            return Err("it is not the tape of a participant".into());
        };
        let mut follow = Follow {
            payload: tape.payload(thread),
            next: None,
            count: thread.events(),
            finished: tape.header.state.load(Relaxed) == state::EXITED,
            nothing: 0,
            partners: Vec::new(),
            objects: Vec::new(),
            full: false,
            free: None,
            late: BTreeMap::new(),
            alone,
            reporter,
        };
        follow.look_ahead(tape.payload(thread));
        follow.advance();
        if alone && !follow.full {
            return Err(
                "it holds the order, not the contents, so it cannot be replayed alone: retake record --full -- CMD"
                    .into(),
            );
        }
        Ok(follow)
    }

    /// Finds what receives without a line may take: that stands all over the part.
    fn look_ahead(&mut self, mut payload: Payload<'static>) {
        let (mut free, mut some_without) = (Free::default(), false);
        while let Ok(Some((event, line))) = payload.next_line() {
            free.learn(&line);
            match line {
                Line::Fact(fact::TRACE, _) => some_without = true,
                Line::Late { back, from, seq, id, call } => {
                    self.late.insert(event.saturating_sub(back), Line::Received { from, seq, id, call });
                }
                _ => {}
            }
        }
        self.free = some_without.then(|| Arc::new(free));
    }

    /// Goes on to the next line that is a step, learning names on the way.
    fn advance(&mut self) {
        self.next = loop {
            let Ok(Some((event, line))) = self.payload.next_line() else { break None };
            match line {
                Line::Fact(fact::FULL, bytes) => self.full = bytes == [1],
                Line::Fact(..) | Line::Unknown(_) | Line::Taken { .. } | Line::Late { .. } => {}
                Line::Partner { life, name, host, .. } => {
                    let text = |bytes| Arc::from(String::from_utf8_lossy(bytes));
                    self.partners.push(Named { name: text(name), host: text(host), life });
                }
                Line::Object { name, .. } => self.objects.push(Arc::from(String::from_utf8_lossy(name))),
                line => break Some((event, line)),
            }
        };
    }

    /// The step of `event`, which the program makes by `came`. Does not return at the end of a part that was not
    /// finished: there the recorded participant was blocked or killed.
    pub fn step(&mut self, event: u64, came: &dyn Fn() -> String) -> Step {
        if self.nothing > 0 {
            self.nothing -= 1;
            return Step::Line(Line::Nothing(1), None);
        }
        if event > self.count {
            if self.finished {
                self.reporter.diverged(event, "the end of its part", &came());
            }
            end_of_part();
        }
        if let Some(line) = self.late.remove(&event) {
            return Step::Line(line, None);
        }
        let Some((at, line)) = self.next else { return Step::Plain };
        if at < event {
            let recorded = format!("{} at event {at}", self.words(&line));
            self.reporter.diverged(event, &recorded, &came());
        }
        if at > event {
            return Step::Plain;
        }
        self.advance();
        let mut contents = None;
        if let Some((_, Line::Contents(bytes))) = self.next {
            contents = Some(bytes);
            self.advance();
        }
        if let Line::Nothing(times) = line {
            self.nothing = times.saturating_sub(1);
        }
        Step::Line(line, contents)
    }

    /// Whether `event` failed before anything was sent. A call that was sent and failed later says so first.
    pub fn expects_failure(&self, event: u64, is_call: bool) -> bool {
        let failed = self.nothing == 0 && matches!(self.next, Some((at, Line::Failed(_))) if at == event);
        // Without contents it is not on the tape whether a call was sent; sending it to nobody does no harm.
        failed && (self.full || !is_call)
    }

    /// The program leaves after `event` events.
    pub fn finish(&mut self, event: u64) {
        if event < self.count && self.finished {
            let recorded = match &self.next {
                Some((at, line)) => format!("{} at event {at}", self.words(line)),
                None => format!("{} events more", self.count - event),
            };
            self.reporter.diverged(event, &recorded, "its end");
        }
        if event < self.count || !self.finished {
            end_of_part();
        }
    }

    /// The step does not fit what the program does.
    pub fn diverged(&self, event: u64, step: &Step, came: &str) -> ! {
        let recorded = match step {
            Step::Plain => "an operation that went plainly".into(),
            Step::Line(line, _) => self.words(line),
        };
        self.reporter.diverged(event, &recorded, came)
    }

    /// The partner that the part calls `index`.
    pub fn partner(&self, event: u64, index: u32) -> Named {
        let known = self.partners.get(index as usize).cloned();
        known.unwrap_or_else(|| self.reporter.diverged(event, "a partner without a name", "a damaged part"))
    }

    fn words(&self, line: &Line<'_>) -> String {
        let partner = |index: u32| self.partners.get(index as usize).map_or("?".into(), |named| named.name.clone());
        let object = |index: u32| self.objects.get(index as usize).cloned().unwrap_or_else(|| "?".into());
        retake_tape::part::words(line, &|index| partner(index).to_string(), &|index| object(index).to_string())
    }
}
