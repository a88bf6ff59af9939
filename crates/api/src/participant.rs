//! Participants: named threads or processes that send each other messages.
//!
//! Each operation is an event. Captured, its outcome goes on the participant's own tape, where it could have been
//! otherwise: which message was received, what timed out, who was gone. Replayed, the outcome comes from the tape, and the
//! message that it names is waited for, whenever it arrives.
//!
//! Messages are taken in whenever the participant waits.

use crate::capture::Capture;
use crate::carrier::Carrier;
use crate::checkpoint::Checkpoints;
use crate::error::{Error, Result};
use crate::follow::{Follow, Named, Step, failure};
use crate::forked;
use crate::frame::{Hello, Kind, is_name};
use crate::inbox::Inbox;
use crate::meeting::Meeting;
use crate::message::{Message, Partner};
use crate::mode::{Mode, Settings};
use crate::noting::Noting;
use crate::proof::Terms;
use crate::report::tell;
use crate::seat::Seats;
use crate::talk::Talk;
use crate::tcp::Tcp;
use crate::transport::{Transport, Until, Way};
use crate::unix::Unix;
use crate::waiting::{SEARCH_NS, is_over, now, until};
use retake_engine::sys;
use retake_tape::part::{Line, failed};
use retake_trace::policy::Method;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How often whoever waits for its own sending looks whether it is done.
const SEND_NS: i64 = 5_000_000;

/// What is done with events.
pub(crate) enum Tape {
    Off,
    Capture(Box<Capture>),
    Follow(Box<Follow>),
}

pub(crate) struct Known {
    pub(crate) name: Arc<str>,
    pub(crate) host: Arc<str>,
    pub(crate) way: Option<Way>,
    /// Frames sent to it so far.
    pub(crate) sent: u64,
    /// Its calls that wait for a reply of ours.
    pub(crate) calls: Vec<u64>,
}

/// A named participant. It belongs to one thread at a time.
pub struct Participant {
    pub(crate) name: Arc<str>,
    /// Which process made it: see [`forked`].
    generation: i32,
    /// None when this process is replayed alone.
    pub(crate) transport: Option<Box<dyn Transport>>,
    pub(crate) inbox: Inbox,
    pub(crate) tape: Tape,
    /// A replay that keeps contents writes a part with them here.
    pub(crate) promoted: Option<Box<Capture>>,
    /// If it leaves sleeping copies of itself behind.
    pub(crate) checkpoints: Option<Box<Checkpoints>>,
    /// None if every receive is noted, or none.
    pub(crate) noting: Option<Noting>,
    /// What a replay that tells more notes.
    pub(crate) talk: Option<Talk>,
    /// The head of a frame, and its stamp, while it is made.
    pub(crate) head: Vec<u8>,
    pub(crate) event: u64,
    pub(crate) last_id: u64,
    pub(crate) partners: Vec<Known>,
    /// Partners as the tape that is written numbers them.
    pub(crate) on_tape: Vec<(Arc<str>, u32)>,
    /// Objects as the tape that is written numbers them.
    pub(crate) objects: Vec<Arc<str>>,
    /// What it knows of the shared objects that it has come to.
    pub(crate) seats: Seats,
    /// Guards of shared objects that are held, if they are counted.
    pub(crate) guards: Option<Arc<AtomicU32>>,
}

/// Makes the calling thread a participant of this name.
///
/// # Errors
/// [`Error::NameTaken`] if the group has one; see [`Error`] for the rest.
pub fn init(name: &str) -> Result<Participant> {
    if !is_name(name) {
        return Err(Error::BadName(name.into()));
    }
    let mut settings = Settings::now()?;
    let meeting = Meeting::enter(&settings)?;
    let (transport, hello) = carry(&settings, meeting, name)?;
    if hello.number == 0 {
        // Clocks need numbers.
        settings.trace = Method::All;
    }
    Participant::new(&settings, &hello, transport)
}

/// What carries this participant's messages.
fn carry(settings: &Settings, meeting: Meeting, name: &str) -> Result<(Box<dyn Transport>, Hello)> {
    // Alone, nobody can be met: no address and no server is needed. The name is held all the same, so that lives are counted.
    let carrier = if settings.mode == Mode::ReplayOne { &Carrier::Unix } else { &settings.carrier };
    match carrier {
        Carrier::Unix => Unix::new(meeting, name, &host()).map(|(unix, hello)| (Box::new(unix) as _, hello)),
        Carrier::Tcp(list) => {
            let (secret, group) = (settings.secret.clone(), settings.group.clone());
            let terms = Terms { secret, group, listener: name.into() };
            Tcp::new(&meeting, list.clone(), terms, &host()).map(|(tcp, hello)| (Box::new(tcp) as _, hello))
        }
        #[cfg(feature = "nats")]
        Carrier::Nats(url) => {
            let run = if settings.mode == Mode::Replay { "replay" } else { "live" };
            let place = (run, &*settings.group);
            let (nats, hello) = crate::nats::Nats::new(&meeting, url, place, name, &host())?;
            Ok((Box::new(nats), hello))
        }
    }
}

impl Participant {
    fn new(settings: &Settings, hello: &Hello, transport: Box<dyn Transport>) -> Result<Participant> {
        let (name, life) = (&*hello.name, hello.life);
        let tape = match settings.mode {
            Mode::Normal => Tape::Off,
            Mode::Capture => Tape::Capture(Box::new(Capture::new(settings, name, life, false)?)),
            Mode::FullCapture | Mode::Checkpoint(_) => {
                Tape::Capture(Box::new(Capture::new(settings, name, life, true)?))
            }
            Mode::Replay => Tape::Follow(Box::new(Follow::new(settings, name, life, false)?)),
            Mode::ReplayOne => Tape::Follow(Box::new(Follow::new(settings, name, life, true)?)),
        };
        forked::PRESENT.fetch_add(1, Relaxed);
        Ok(Participant {
            promoted: if settings.mode == Mode::Replay { Capture::promoted(settings, name, life)? } else { None },
            checkpoints: Checkpoints::new(settings, name, life),
            name: name.into(),
            generation: forked::generation(),
            transport: (settings.mode != Mode::ReplayOne).then_some(transport),
            inbox: Inbox::default(),
            tape,
            noting: match settings.mode {
                Mode::Capture => Noting::new(settings.trace, hello.number),
                _ => None,
            },
            talk: if settings.mode == Mode::Replay { Talk::new(settings, name, life)? } else { None },
            head: Vec::new(),
            event: 0,
            last_id: 0,
            partners: Vec::new(),
            on_tape: Vec::new(),
            objects: Vec::new(),
            seats: Seats::default(),
            guards: is_checked().then(Arc::default),
        })
    }

    /// This participant's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The partner's name.
    pub fn name_of(&self, partner: Partner) -> &str {
        self.partners.get(partner.0 as usize).map_or("", |known| &known.name)
    }

    /// Finds the participant of this name.
    ///
    /// # Errors
    /// [`Error::NotThere`] if there is none now; see [`Participant::wait_for_partner`].
    pub fn find_partner(&mut self, name: &str) -> Result<Partner> {
        self.wait_for_partner(name, Some(Duration::ZERO))
    }

    /// Finds the participant of this name, waiting for it to appear: so long, or for ever.
    ///
    /// # Errors
    /// [`Error::NotThere`] if there is none when the time is over.
    pub fn wait_for_partner(&mut self, name: &str, time: Option<Duration>) -> Result<Partner> {
        if !is_name(name) {
            return Err(Error::BadName(name.into()));
        }
        let event = self.begin()?;
        if let Tape::Follow(follow) = &mut self.tape {
            let step = follow.step(event, &|| format!("looking for {name}"));
            return match step {
                Step::Line(Line::Failed(code), words) if matches!(code, failed::NOT_THERE | failed::TRANSPORT) => {
                    self.note(event, &Line::Failed(code), words);
                    Err(failure(code, words, name))
                }
                Step::Line(Line::Found(index), _) if *follow.partner(event, index).name == *name => {
                    self.search_until_found(event, name)?;
                    let index = self.index_on_tape(event, name, "", 0);
                    self.note(event, &Line::Found(index), None);
                    Ok(self.partner(name))
                }
                step => follow.diverged(event, &step, &format!("looking for {name}")),
            };
        }
        let until = until(time);
        let found = loop {
            let way = self.open_way(name);
            if self.noted(event, way)?.is_some() {
                break true;
            }
            if is_over(until) {
                break false;
            }
            let pumped = self.pump(Until::Now);
            self.noted(event, pumped)?;
            sys::sleep_ns(SEARCH_NS);
        };
        if found {
            let index = self.index_on_tape(event, name, "", 0);
            self.note(event, &Line::Found(index), None);
            Ok(self.partner(name))
        } else {
            self.note(event, &Line::Failed(failed::NOT_THERE), None);
            Err(Error::NotThere(name.into()))
        }
    }

    /// Sends a message and does not wait. Its id is returned.
    ///
    /// # Errors
    /// [`Error::Gone`] if the partner is seen to be gone. A partner that goes before it receives is not noticed.
    pub fn send(&mut self, to: Partner, contents: &[u8]) -> Result<u64> {
        let id = self.last_id + 1;
        let event = self.begin()?;
        self.dispatch(event, to, Kind::Send, id, contents)?;
        self.finish_event(event);
        Ok(id)
    }

    /// Sends a message and waits for the reply: so long, or for ever. None if the time was over.
    ///
    /// # Errors
    /// [`Error::Gone`] if the partner goes without having replied.
    pub fn call(&mut self, to: Partner, contents: &[u8], time: Option<Duration>) -> Result<Option<Vec<u8>>> {
        let id = self.last_id + 1;
        let event = self.begin()?;
        self.inbox.calls(id);
        self.dispatch(event, to, Kind::Call, id, contents)?;
        let name = self.known(to)?.name.clone();
        if let Tape::Follow(follow) = &mut self.tape {
            let came = || format!("call {id} to {name}");
            let (step, alone) = (follow.step(event, &came), follow.alone);
            return match step {
                Step::Line(Line::Nothing(_), _) => {
                    self.note_nothing(event);
                    Ok(None)
                }
                Step::Line(Line::Failed(code), words) if matches!(code, failed::GONE | failed::TRANSPORT) => {
                    self.note(event, &Line::Failed(code), words);
                    Err(failure(code, words, &name))
                }
                // That a reply came needs no line where not every receive has one.
                Step::Plain if follow.free.is_some() => {
                    let from = Named { name: name.clone(), host: "".into(), life: 0 };
                    self.recorded_reply(event, &from, id).map(Some)
                }
                Step::Line(Line::Reply { from, id: recorded }, contents) if recorded == id => match contents {
                    Some(contents) if alone => Ok(Some(contents.to_vec())),
                    _ => {
                        let from = follow.partner(event, from);
                        self.recorded_reply(event, &from, id).map(Some)
                    }
                },
                step => follow.diverged(event, &step, &came()),
            };
        }
        let way = self.known(to)?.way;
        let reply = self.await_live(Some(&name), until(time), |inbox| match inbox.reply(&name, id) {
            Some(reply) => Some(Ok(reply)),
            None => inbox.is_gone(&name, way).then(|| Err(Error::Gone(name.to_string()))),
        });
        let Some(reply) = self.settled(event, reply)? else { return Ok(None) };
        let sender = &self.inbox.senders[reply.sender];
        let (host, life) = (sender.host.clone(), sender.life);
        if let Some(noting) = &mut self.noting {
            noting.replied(&reply.stamp);
            self.finish_event(event);
        } else {
            let from = self.index_on_tape(event, &name, &host, life);
            self.note(event, &Line::Reply { from, id }, Some(reply.contents()));
        }
        Ok(Some(message_of(reply.into_body())))
    }

    /// The reply that came then.
    fn recorded_reply(&mut self, event: u64, from: &Named, id: u64) -> Result<Vec<u8>> {
        let words = format!("the reply from {} to {id}", from.name);
        let reply = self.await_recorded(event, from, &words, |inbox| inbox.reply(&from.name, id))?;
        if let Some(talk) = &mut self.talk {
            talk.replied(event, &from.name, id);
        }
        if self.promoted.is_some() {
            let sender = &self.inbox.senders[reply.sender];
            let (host, life) = (sender.host.clone(), sender.life);
            let from = self.index_on_tape(event, &from.name, &host, life);
            self.note(event, &Line::Reply { from, id }, Some(reply.contents()));
        }
        Ok(message_of(reply.into_body()))
    }

    /// Replies to a message that expects it.
    ///
    /// # Errors
    /// [`Error::NotACall`] if it does not, or has been replied to; [`Error::Gone`] if its sender is gone.
    pub fn reply(&mut self, to: &Message, contents: &[u8]) -> Result<()> {
        self.reply_to(to.from, to.id, contents)
    }

    /// Replies to the message of that id from that partner.
    ///
    /// # Errors
    /// As [`Participant::reply`].
    pub fn reply_to(&mut self, partner: Partner, id: u64, contents: &[u8]) -> Result<()> {
        let known = self.partners.get_mut(partner.0 as usize).ok_or(Error::NotACall(id))?;
        let at = known.calls.iter().position(|call| *call == id).ok_or(Error::NotACall(id))?;
        known.calls.remove(at);
        let event = self.begin()?;
        self.dispatch(event, partner, Kind::Reply, id, contents)?;
        self.finish_event(event);
        Ok(())
    }

    /// Sends what is still to be sent, and leaves. A participant that is dropped does the same.
    pub fn finish(mut self) {
        if self.generation != forked::generation() {
            return;
        }
        if let Tape::Follow(follow) = &mut self.tape {
            follow.finish(self.event);
        }
        let open = self.guards.as_ref().map_or(0, |guards| guards.load(Relaxed));
        if open > 0 {
            tell(&format!("{} finishes with {open} guards of shared objects not released", self.name));
        }
    }

    /// Waits until everything that was sent is out of this process.
    ///
    /// # Errors
    /// Those of the system.
    pub fn flush(&mut self) -> Result<()> {
        self.send_on(0)
    }

    /// Waits until no more than so many bytes are to be sent, taking messages in meanwhile.
    pub(crate) fn send_on(&mut self, most: usize) -> Result<()> {
        while self.transport.as_ref().is_some_and(|transport| transport.backlog() > most) {
            // The thread that sends may be done before we wait: then nobody would wake us.
            self.pump(Until::Moment(now() + SEND_NS))?;
        }
        Ok(())
    }

    /// One event more.
    pub(crate) fn begin(&mut self) -> Result<u64> {
        if self.generation != forked::generation() {
            return Err(Error::Forked);
        }
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_due(self.event)) {
            self.checkpoint();
        }
        self.event += 1;
        Ok(self.event)
    }

    /// The event passes without a trace: nothing is written, replayed or checked. Then it has been counted.
    #[inline]
    pub(crate) fn passes(&mut self) -> bool {
        let passes = matches!(self.tape, Tape::Off)
            && self.guards.is_none()
            && self.promoted.is_none()
            && self.checkpoints.is_none()
            && self.generation == forked::generation();
        self.event += u64::from(passes);
        passes
    }

    /// Only the order of events is captured. Then the event has been counted.
    #[inline]
    pub(crate) fn is_light(&mut self) -> bool {
        let light = matches!(&self.tape, Tape::Capture(capture) if !capture.full)
            && self.checkpoints.is_none()
            && self.generation == forked::generation();
        self.event += u64::from(light);
        light
    }

    /// The part that is written, if one is.
    #[inline]
    pub(crate) fn written(&mut self) -> Option<&mut Capture> {
        match &mut self.tape {
            Tape::Capture(capture) => Some(capture),
            _ => self.promoted.as_deref_mut(),
        }
    }

    /// The event went plainly.
    #[inline]
    pub(crate) fn finish_event(&mut self, event: u64) {
        if let Some(capture) = self.written() {
            capture.commit(event);
        }
    }

    /// The event went as the line says; contents are kept in full capture.
    pub(crate) fn note(&mut self, event: u64, line: &Line<'_>, contents: Option<&[u8]>) {
        if let Some(capture) = self.written() {
            capture.line(event, line);
            if let Some(contents) = contents
                && (capture.full || matches!(line, Line::Failed(_)))
            {
                capture.contents(event, contents);
            }
            capture.commit(event);
        }
    }

    /// A failure of what carries messages could have been otherwise: it is noted.
    pub(crate) fn noted<T>(&mut self, event: u64, result: Result<T>) -> Result<T> {
        if let Err(Error::Transport(words)) = &result {
            self.note(event, &Line::Failed(failed::TRANSPORT), Some(words.as_bytes()));
        }
        result
    }

    /// What was waited for. That nothing came in time, or that its sender has gone, is noted here.
    pub(crate) fn settled<T>(&mut self, event: u64, came: Result<Option<Result<T>>>) -> Result<Option<T>> {
        match self.noted(event, came)? {
            Some(Ok(came)) => Ok(Some(came)),
            Some(Err(error)) => {
                self.note(event, &Line::Failed(failed::GONE), None);
                Err(error)
            }
            None => {
                self.note_nothing(event);
                Ok(None)
            }
        }
    }

    pub(crate) fn note_nothing(&mut self, event: u64) {
        if let Some(capture) = self.written() {
            capture.nothing(event);
            capture.commit(event);
        }
    }

    /// The number of a partner on the tape that is written; the first time it is introduced there.
    pub(crate) fn index_on_tape(&mut self, event: u64, name: &str, host: &str, life: u32) -> u32 {
        let known = self.on_tape.iter().position(|(known, its)| **known == *name && *its == life);
        let index = known.unwrap_or(self.on_tape.len()) as u32;
        let Some(capture) = self.written() else { return 0 };
        if known.is_none() {
            capture.line(event, &Line::Partner { index, life, name: name.as_bytes(), host: host.as_bytes() });
            self.on_tape.push((name.into(), life));
        }
        index
    }

    /// The number of a shared object on the tape that is written; the first time it is introduced there.
    pub(crate) fn object_on_tape(&mut self, event: u64, name: &Arc<str>) -> u32 {
        let known = self.objects.iter().position(|known| Arc::ptr_eq(known, name) || known == name);
        let index = known.unwrap_or(self.objects.len()) as u32;
        let Some(capture) = self.written() else { return 0 };
        if known.is_none() {
            capture.line(event, &Line::Object { index, name: name.as_bytes() });
            self.objects.push(name.clone());
        }
        index
    }

    pub(crate) fn known(&self, partner: Partner) -> Result<&Known> {
        self.partners.get(partner.0 as usize).ok_or_else(|| Error::NotThere(format!("partner {}", partner.0)))
    }

    /// The partner of this name; a new one if it was not met before.
    pub(crate) fn partner(&mut self, name: &str) -> Partner {
        let known = self.partners.iter().position(|known| *known.name == *name);
        let at = known.unwrap_or_else(|| {
            self.partners.push(Known { name: name.into(), host: "".into(), way: None, sent: 0, calls: Vec::new() });
            self.partners.len() - 1
        });
        Partner(at as u32)
    }

    pub(crate) fn message(&mut self, from: &Named, id: u64, call: bool, (body, start): (Vec<u8>, usize)) -> Message {
        let partner = self.partner(&from.name);
        let known = &mut self.partners[partner.0 as usize];
        known.host = from.host.clone();
        if call {
            known.calls.push(id);
        }
        let (name, host) = (known.name.clone(), known.host.clone());
        Message { from: partner, name, host, id, expects_reply: call, body, start }
    }

    /// Opens a way to that participant, or finds the one that is open.
    pub(crate) fn open_way(&mut self, name: &str) -> Result<Option<Way>> {
        let open = self.partners.iter().find(|known| *known.name == *name).and_then(|known| known.way);
        if let Some(way) = open.filter(|way| !self.inbox.is_lost(*way)) {
            self.pump(Until::Now)?;
            if !self.inbox.is_lost(way) {
                return Ok(Some(way));
            }
        }
        let Some(transport) = &mut self.transport else { return Ok(None) };
        let way = transport.open(name)?;
        if way.is_some() {
            self.inbox.look_ahead(name);
            let partner = self.partner(name);
            self.partners[partner.0 as usize].way = way;
        }
        Ok(way)
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        if self.generation == forked::generation() {
            forked::PRESENT.fetch_sub(1, Relaxed);
            self.note_rest();
            let _ = self.flush();
            if let Some(transport) = &mut self.transport {
                transport.close();
            }
        }
    }
}

fn message_of((mut body, start): (Vec<u8>, usize)) -> Vec<u8> {
    body.drain(..start.min(body.len()));
    body
}

/// Whether guards are counted: in debug builds, or if `RETAKE_CHECK` is set.
fn is_checked() -> bool {
    cfg!(debug_assertions) || std::env::var_os("RETAKE_CHECK").is_some()
}

fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as said.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..end]).into_owned()
}
