//! NATS: participants on any machine that reaches a nats-server. Feature `nats`.
//!
//! A participant has one connection, one subject and one subscription, `retake.live.GROUP.NAME.*` (in a replay
//! `retake.replay…`, so that it never meets the program itself). What is published has this form:
//!
//! ```text
//! kind (1)  instance (8)  number (8)  rest
//!   hello   the first on every way; the rest says who we are
//!   piece   of a frame, which may be longer than a server takes; flags (1): the first, the last
//!   probe   do you know me? `number` is the last one sent: tells that the last of us was lost on the way
//!   knock   is anybody there? asked before a way is opened, and of those who only send to us
//!   bye     we leave; the rest is our name
//!   who     an answer to a piece or a probe of somebody who has not said hello
//! ```
//!
//! Core NATS delivers at most once and tells nobody of an end. So pieces are numbered, for each pair, and a number that is
//! missing is told; every message asks for an answer at a subject of its way, where the server itself says at once that
//! nobody listens; and whoever waits probes its partners every second. A participant that comes again under its name is
//! another instance.
//!
//! Law: whatever is lost is told. Messages of one sender arrive in order, because each has one subscription.

mod keys;
mod pipe;
mod protocol;
mod server;
mod tls;

use crate::carrier;
use crate::error::{Error, Result};
use crate::forked;
use crate::frame::{HEAD, Head, Hello, MESSAGE_MAX, STAMP_MAX};
use crate::meeting::Meeting;
use crate::transport::{Arrival, Source, Transport, Until, Way};
use crate::waiting::{is_over, now};
use crate::wire::{self, Fd};
pub use keys::Key;
use protocol::Said;
use server::Server;
use std::sync::Arc;

/// How often partners are probed by whoever waits.
const PROBE_NS: i64 = 1_000_000_000;
/// Bytes before the rest.
const LABEL: usize = 17;
const FIRST: u8 = 1;
const LAST: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Hello = 1,
    Piece = 2,
    Probe = 3,
    Knock = 4,
    Bye = 5,
    Who = 6,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label {
    kind: Kind,
    instance: u64,
    number: u64,
}

impl Label {
    fn bytes(&self) -> [u8; LABEL] {
        let mut bytes = [0; LABEL];
        bytes[0] = self.kind as u8;
        bytes[1..9].copy_from_slice(&self.instance.to_le_bytes());
        bytes[9..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    fn of(payload: &[u8]) -> Option<(Label, &[u8])> {
        let (&kind, rest) = payload.split_first()?;
        let (instance, rest) = rest.split_first_chunk::<8>()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let kinds = [Kind::Hello, Kind::Piece, Kind::Probe, Kind::Knock, Kind::Bye, Kind::Who];
        let kind = kinds.into_iter().find(|known| *known as u8 == kind)?;
        let (instance, number) = (u64::from_le_bytes(*instance), u64::from_le_bytes(*number));
        Some((Label { kind, instance, number }, rest))
    }
}

/// Somebody who sends to us.
#[derive(Debug)]
struct Peer {
    source: Source,
    instance: u64,
    name: String,
    /// The number of the last piece.
    last: u64,
    /// A frame of which the end has not come; none while pieces of a broken one are passed over.
    frame: Option<Vec<u8>>,
    ended: bool,
}

/// Everybody who sends to us: pieces become frames.
#[derive(Debug, Default)]
struct Peers {
    list: Vec<Peer>,
}

/// Somebody sent a piece without having said hello.
struct Unknown;

impl Peers {
    /// Takes in a payload from whoever sent it.
    fn take(&mut self, label: Label, rest: &[u8], sink: &mut dyn FnMut(Arrival)) -> std::result::Result<(), Unknown> {
        if label.kind == Kind::Hello {
            let known = self.list.iter().any(|peer| peer.instance == label.instance && !peer.ended);
            if let Some(hello) = Hello::of(rest).filter(|_| !known) {
                self.end(&hello.name, sink);
                let source = self.list.len();
                let (instance, name) = (label.instance, hello.name.clone());
                self.list.push(Peer { source, instance, name, last: label.number, frame: None, ended: false });
                sink(Arrival::Met(source, hello));
            }
            return Ok(());
        }
        let peer = self.list.iter_mut().find(|peer| peer.instance == label.instance && !peer.ended).ok_or(Unknown)?;
        match label.kind {
            Kind::Piece => peer.piece(label.number, rest, sink),
            Kind::Probe => peer.reached(label.number, sink),
            _ => {}
        }
        Ok(())
    }

    /// Whoever has this name will send no more.
    fn end(&mut self, name: &str, sink: &mut dyn FnMut(Arrival)) {
        for peer in self.list.iter_mut().filter(|peer| !peer.ended && peer.name == name) {
            peer.ended = true;
            sink(Arrival::Ended(peer.source));
        }
    }
}

impl Peer {
    /// Everything up to that number should be here.
    fn reached(&mut self, number: u64, sink: &mut dyn FnMut(Arrival)) {
        if number > self.last {
            (self.last, self.frame) = (number, None);
            sink(Arrival::Missing(self.source));
        }
    }

    fn piece(&mut self, number: u64, rest: &[u8], sink: &mut dyn FnMut(Arrival)) {
        let Some((&flags, bytes)) = rest.split_first() else { return };
        if number <= self.last {
            return;
        }
        self.reached(number - 1, sink);
        self.last = number;
        if flags & FIRST != 0 {
            self.frame = Some(Vec::new());
        }
        let Some(frame) = &mut self.frame else { return };
        frame.extend_from_slice(bytes);
        if frame.len() > HEAD + STAMP_MAX + MESSAGE_MAX {
            self.refuse(sink);
        } else if flags & LAST != 0
            && let Some(mut frame) = self.frame.take()
        {
            if let Some(head) = Head::of(&frame) {
                frame.drain(..HEAD);
                sink(Arrival::Frame(self.source, head, frame));
            } else {
                self.refuse(sink);
            }
        }
    }

    /// It has sent something that is no frame.
    fn refuse(&mut self, sink: &mut dyn FnMut(Arrival)) {
        (self.ended, self.frame) = (true, None);
        sink(Arrival::Ended(self.source));
    }
}

#[derive(Debug)]
struct Open {
    name: String,
    subject: String,
    /// Where an answer to what was sent on it comes.
    reply: String,
    /// The number of the last piece.
    last: u64,
    lost: bool,
}

/// NATS.
#[derive(Debug)]
pub struct Nats {
    server: Arc<Server>,
    /// `retake.live.GROUP.`
    prefix: String,
    name: String,
    hello: Vec<u8>,
    instance: u64,
    ways: Vec<Open>,
    peers: Peers,
    /// Questions so far: each has a subject of its own for its answer.
    asked: u64,
    next_probe: i64,
    generation: i32,
    _lock: Fd,
}

/// A name as one word of a subject.
fn word(name: &str) -> String {
    name.replace('.', "=")
}

impl Nats {
    /// Takes the name, on this machine and at the server.
    pub fn new(
        meeting: &Meeting,
        url: &carrier::Nats,
        place: (&str, &str),
        name: &str,
        host: &str,
    ) -> Result<(Nats, Hello)> {
        let (lock, life) = meeting.take_name(name)?;
        let server = Server::connect(url, &format!("retake {name}")).map_err(Error::Transport)?;
        let prefix = format!("retake.{}.{}.", place.0, word(place.1));
        let hello = Hello { name: name.into(), host: host.into(), life, number: 0 };
        let mut bytes = [0; 8];
        wire::random(&mut bytes);
        let mut nats = Nats {
            server,
            prefix,
            name: name.into(),
            hello: hello.bytes(),
            instance: u64::from_le_bytes(bytes),
            ways: Vec::new(),
            peers: Peers::default(),
            asked: 0,
            next_probe: 0,
            generation: forked::generation(),
            _lock: lock,
        };
        nats.server.subscribe(&format!("{}*", nats.subject(name)));
        if nats.is_there(name)? {
            return Err(Error::NameTaken(name.into()));
        }
        Ok((nats, hello))
    }

    /// The subject of a participant, but for its last word.
    fn subject(&self, name: &str) -> String {
        format!("{}{}.", self.prefix, word(name))
    }

    fn say(&self, kind: Kind, number: u64, to: &str, reply: &str, rest: &[u8]) -> Result<()> {
        let label = Label { kind, instance: self.instance, number };
        self.server.publish(to, reply, &label.bytes(), rest).map_err(Error::Transport)
    }

    /// Whether anybody but us listens there.
    fn is_there(&mut self, name: &str) -> Result<bool> {
        self.asked += 1;
        let reply = format!("{}q{}", self.subject(&self.name), self.asked);
        self.say(Kind::Knock, 0, &format!("{}m", self.subject(name)), &reply, &[])?;
        self.server.settle(&reply).map(|nobody| !nobody).map_err(Error::Transport)
    }

    fn probe(&mut self) -> Result<()> {
        for way in self.ways.iter().filter(|way| !way.lost) {
            self.say(Kind::Probe, way.last, &way.subject, &way.reply, &[])?;
        }
        for peer in self.peers.list.iter().filter(|peer| !peer.ended) {
            let (to, reply) = (self.subject(&peer.name), self.subject(&self.name));
            self.say(Kind::Knock, 0, &format!("{to}m"), &format!("{reply}s{}", peer.source), &[])?;
        }
        Ok(())
    }

    fn take(&mut self, said: Said, sink: &mut dyn FnMut(Arrival)) {
        let (subject, message) = match said {
            Said::Nobody { subject } => (subject, None),
            Said::Message { subject, reply, payload } => (subject, Some((reply, payload))),
            _ => return,
        };
        // Of this subscription, so it begins so.
        let last = subject.rsplit('.').next().unwrap_or_default();
        let number = |start| last.strip_prefix(start).and_then(|digits: &str| digits.parse::<usize>().ok());
        let Some((reply, payload)) = message else {
            if let Some(name) = number('w').and_then(|way| self.ways.get(way)).map(|way| way.name.clone()) {
                self.gone(&name, sink);
            } else if let Some(name) = number('s').and_then(|at| self.peers.list.get(at)).map(|peer| peer.name.clone())
            {
                self.gone(&name, sink);
            }
            return;
        };
        let Some((label, rest)) = Label::of(&payload) else { return };
        match label.kind {
            Kind::Knock => {}
            Kind::Who => {
                if let Some(name) = number('w').and_then(|way| self.ways.get(way)).map(|way| way.name.clone()) {
                    self.gone(&name, sink);
                }
            }
            Kind::Bye => {
                if let Ok(name) = str::from_utf8(rest) {
                    self.gone(name, sink);
                }
            }
            _ => {
                let unknown = self.peers.take(label, rest, sink).is_err();
                if let Some(reply) = reply.filter(|reply| unknown && reply.starts_with(&self.prefix)) {
                    // If that fails, the connection is lost, and the next look tells.
                    let _ = self.say(Kind::Who, 0, &reply, &reply, &[]);
                }
            }
        }
    }

    /// The participant of this name is gone, or is another now.
    fn gone(&mut self, name: &str, sink: &mut dyn FnMut(Arrival)) {
        self.peers.end(name, sink);
        for (at, way) in self.ways.iter_mut().enumerate().filter(|(_, way)| !way.lost && way.name == name) {
            way.lost = true;
            sink(Arrival::Lost(at));
        }
    }
}

impl Transport for Nats {
    fn open(&mut self, name: &str) -> Result<Option<Way>> {
        if name != self.name && !self.is_there(name)? {
            return Ok(None);
        }
        let at = self.ways.len();
        let subject = format!("{}m", self.subject(name));
        let reply = format!("{}w{at}", self.subject(&self.name));
        self.ways.push(Open { name: name.into(), subject, reply, last: 1, lost: false });
        let (to, hello) = (&self.ways[at], &self.hello);
        let label = Label { kind: Kind::Hello, instance: self.instance, number: 1 };
        if name == self.name {
            let payload = [&label.bytes()[..], hello].concat();
            self.server.echo(to.subject.clone(), to.reply.clone(), payload);
        } else {
            self.say(Kind::Hello, 1, &to.subject, &to.reply, hello)?;
        }
        Ok(Some(at))
    }

    fn send(&mut self, way: Way, head: &[u8], contents: &[u8]) -> Result<()> {
        let way = self.ways.get_mut(way).filter(|way| !way.lost).ok_or_else(|| Error::Gone(String::new()))?;
        let most = self.server.payload_max.saturating_sub(LABEL + 1 + head.len()).max(1);
        let mut pieces = contents.chunks(most).enumerate().peekable();
        let mut next = pieces.next().unwrap_or((0, &[]));
        loop {
            let (at, piece) = next;
            let after = pieces.next();
            way.last += 1;
            let label = Label { kind: Kind::Piece, instance: self.instance, number: way.last };
            let flags = if at == 0 { FIRST } else { 0 } | if after.is_none() { LAST } else { 0 };
            let mut start = label.bytes().to_vec();
            start.push(flags);
            start.extend_from_slice(if at == 0 { head } else { &[] });
            if way.name == self.name {
                self.server.echo(way.subject.clone(), way.reply.clone(), [&start[..], piece].concat());
            } else {
                self.server.publish(&way.subject, &way.reply, &start, piece).map_err(Error::Transport)?;
            }
            match after {
                Some(piece) => next = piece,
                None => return Ok(()),
            }
        }
    }

    fn pump(&mut self, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()> {
        loop {
            let (arrived, lost) = self.server.arrived();
            if !arrived.is_empty() {
                arrived.into_iter().for_each(|said| self.take(said, sink));
                return Ok(());
            }
            if let Some(words) = lost {
                return Err(Error::Transport(words));
            }
            if is_over(until) {
                return Ok(());
            }
            if now() >= self.next_probe {
                self.next_probe = now() + PROBE_NS;
                self.probe()?;
            }
            let moment = match until {
                Until::Moment(moment) => moment.min(self.next_probe),
                _ => self.next_probe,
            };
            self.server.wait(wire::left_ms(moment));
        }
    }

    /// The server takes what is sent.
    fn backlog(&self) -> usize {
        0
    }

    fn close(&mut self) {
        let ways = self.ways.iter().filter(|way| !way.lost).map(|way| &way.name);
        let peers = self.peers.list.iter().filter(|peer| !peer.ended).map(|peer| &peer.name);
        let mut names: Vec<&String> = ways.chain(peers).filter(|name| **name != self.name).collect();
        names.sort();
        names.dedup();
        for name in names {
            let to = format!("{}m", self.subject(name));
            let _ = self.say(Kind::Bye, 0, &to, &format!("{}b", self.subject(&self.name)), self.name.as_bytes());
        }
        // What was said must have reached the server before we hang up.
        let _ = self.server.settle("");
        self.server.close();
    }
}

impl Drop for Nats {
    /// The thread keeps the connection until it sees the end of it.
    fn drop(&mut self) {
        if self.generation == forked::generation() {
            self.server.close();
        }
    }
}

/// What a server says, as bytes, and what becomes of it: for [`outside`](crate::outside).
pub fn hear(bytes: &[u8], step: usize, sink: &mut dyn FnMut(Arrival)) {
    let (mut reader, mut peers) = (protocol::Reader::default(), Peers::default());
    for piece in bytes.chunks(step) {
        let read = reader.take(piece, &mut |said| {
            if let Said::Message { payload, .. } = said
                && let Some((label, rest)) = Label::of(&payload)
            {
                let _ = peers.take(label, rest, sink);
            }
        });
        if read.is_err() {
            return;
        }
    }
}
