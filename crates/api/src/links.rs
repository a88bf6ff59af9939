//! Connections of one participant, whatever kind of stream they are: those on which it sends, and those on which it is
//! sent to. What Unix sockets and TCP have in common.

use crate::error::Result;
use crate::frame::Hello;
use crate::porter::Porter;
use crate::transport::{Arrival, Source, Until, Way};
use crate::waiting::now;
use crate::watch::Watch;
use crate::ways::Ways;
use crate::wire::{self, Fd, Incoming, PATIENCE_MS, State};
use libc::{POLLIN, POLLOUT, pollfd};

/// Where those who want to send to us come in.
#[derive(Debug)]
pub enum Door {
    /// Whoever can reach this socket may: its directory is private.
    Socket(Fd),
    /// Whoever has proved itself to the porter.
    Porter(Porter),
}

impl Door {
    fn fd(&self) -> &Fd {
        match self {
            Door::Socket(listener) => listener,
            Door::Porter(porter) => porter.fd(),
        }
    }

    fn arrived(&self) -> Vec<Fd> {
        match self {
            Door::Socket(listener) => std::iter::from_fn(|| wire::accept(listener)).collect(),
            Door::Porter(porter) => porter.arrived(),
        }
    }
}

/// Whoever waits takes about so much from each link at a time, and looks whether it has what it waits for: a sender that is
/// never overtaken must not keep its messages from their receiver.
const TURN: usize = 256 << 10;

#[derive(Debug)]
struct Link {
    source: Source,
    incoming: Incoming,
    met: bool,
}

/// What is ready is told by marks: the door, links by their sources, ways by their numbers.
const DOOR: u64 = 0;
const LINK: u64 = 1 << 32;
/// Its other end may be gone.
const WAY: u64 = 2 << 32;
/// It takes what waits.
const OUT: u64 = 3 << 32;

/// Whoever waits for one link only looks at everything every so many turns.
const LOOK: u32 = 8;

#[derive(Debug)]
pub struct Links {
    door: Door,
    hello: Vec<u8>,
    ways: Ways,
    /// In the order of their sources.
    links: Vec<Link>,
    next_source: Source,
    /// What is waited for: the door, the links, the ways that are open. Without it, and while something waits to be sent, they
    /// are polled.
    watch: Option<Watch>,
    polled: Vec<pollfd>,
    /// What is ready.
    marks: Vec<u64>,
    /// Turns in which one link was waited for.
    turns: u32,
    /// Something came when a link was read last.
    talking: bool,
}

impl Links {
    pub fn new(door: Door, hello: &Hello) -> Links {
        let (hello, ways) = (hello.bytes(), Ways::default());
        let watch = Watch::new().filter(|watch| watch.add(door.fd(), DOOR));
        let (links, polled, marks) = (vec![], vec![], vec![]);
        Links { door, hello, ways, links, next_source: 0, watch, polled, marks, turns: 0, talking: false }
    }

    /// A fresh connection becomes a way; `None` if it broke at once.
    pub fn add(&mut self, fd: Fd) -> Option<Way> {
        let way = self.ways.add(fd, &self.hello)?;
        if let Some(outgoing) = &self.ways.list().ways[way] {
            watched(&mut self.watch, &outgoing.fd, WAY | way as u64);
        }
        Some(way)
    }

    pub fn send(&mut self, way: Way, head: &[u8], contents: &[u8]) -> Result<()> {
        self.ways.send(way, head, contents)
    }

    pub fn backlog(&self) -> usize {
        self.ways.backlog()
    }

    /// First those who send to us, then those we send to: whoever sees that we are gone can no longer send to us.
    pub fn close(&mut self) {
        if let Door::Porter(porter) = &self.door {
            porter.close();
        }
        self.watch = None;
        self.links.clear();
        self.ways.list().ways.clear();
    }

    /// Waits for whatever comes. If somebody is talking, and nobody else is connected, it is most likely more of that.
    pub fn pump(&mut self, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()> {
        if self.talking && self.links.len() == 1 && self.read_patiently(0, until, sink) {
            return Ok(());
        }
        self.pump_all(until, sink)
    }

    /// As [`Links::pump`], for whoever needs something of this source.
    pub fn pump_from(&mut self, source: Source, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()> {
        if self.link_of(source).is_some_and(|at| self.read_patiently(at, until, sink)) {
            return Ok(());
        }
        self.pump_all(until, sink)
    }

    /// Waits a moment for this link alone, inside of its read: the kernel does that cheaper than to wait for several. False if
    /// nothing came, or everything is to be looked at: what waits to be sent, others now and then, and the time.
    fn read_patiently(&mut self, at: usize, until: Until, sink: &mut dyn FnMut(Arrival)) -> bool {
        let may = match until {
            Until::Now => false,
            Until::Moment(moment) => moment - now() > 2 * PATIENCE_MS * 1_000_000,
            Until::Forever => true,
        };
        self.turns = self.turns.wrapping_add(1);
        may && !self.turns.is_multiple_of(LOOK)
            && self.backlog() == 0
            && self.read(at, TURN, true, sink) != State::Silent
    }

    fn pump_all(&mut self, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()> {
        let more = self.wait(timeout_ms(until))?;
        let marks = std::mem::take(&mut self.marks);
        let lost = self.look_at_ways(&marks);
        if !lost.is_empty() || more && until == Until::Now {
            // What somebody sent before it went is already here: it comes first.
            self.accept();
            self.read_all(0, usize::MAX, sink);
        } else {
            let most = if until == Until::Now { usize::MAX } else { TURN };
            for mark in marks.iter().filter(|mark| *mark & !(LINK - 1) == LINK) {
                if let Some(at) = self.link_of((mark - LINK) as Source) {
                    self.read(at, most, false, sink);
                }
            }
            if marks.contains(&DOOR) {
                // Whoever comes in has something to say.
                let first = self.links.len();
                self.accept();
                self.read_all(first, most, sink);
            }
        }
        for way in lost {
            if let Some(outgoing) = self.ways.list().ways[way].take() {
                unwatched(&self.watch, &outgoing.fd);
            }
            sink(Arrival::Lost(way));
        }
        self.marks = marks;
        Ok(())
    }

    fn link_of(&self, source: Source) -> Option<usize> {
        self.links.binary_search_by_key(&source, |link| link.source).ok()
    }

    /// Waits, and marks what is ready; true if there may be more.
    fn wait(&mut self, timeout_ms: i32) -> Result<bool> {
        if let Some(watch) = self.watch.as_mut().filter(|_| self.ways.backlog() == 0) {
            let more = watch.wait(timeout_ms)?;
            std::mem::swap(&mut self.marks, &mut watch.ready);
            return Ok(more);
        }
        self.poll(timeout_ms)?;
        Ok(false)
    }

    fn poll(&mut self, timeout_ms: i32) -> Result<()> {
        let entry = |fd: &Fd, events| pollfd { fd: fd.0, events, revents: 0 };
        let (polled, marks) = (&mut self.polled, &mut self.marks);
        polled.clear();
        marks.clear();
        let mut all = vec![DOOR];
        polled.push(entry(self.door.fd(), POLLIN));
        for link in &self.links {
            polled.push(entry(&link.incoming.fd, POLLIN));
            all.push(LINK | link.source as u64);
        }
        for (at, way) in self.ways.list().ways.iter().enumerate() {
            if let Some(way) = way {
                polled.push(entry(&way.fd, if way.backlog() > 0 { POLLIN | POLLOUT } else { POLLIN }));
                all.push(WAY | at as u64);
            }
        }
        if wire::poll(polled, timeout_ms)? {
            for (polled, mark) in polled.iter().zip(all) {
                if polled.revents & POLLOUT != 0 {
                    marks.push(OUT | mark & (LINK - 1));
                }
                if polled.revents & !POLLOUT != 0 {
                    marks.push(mark);
                }
            }
        }
        Ok(())
    }

    /// Sends what waits, and tells which ways have lost their other end.
    fn look_at_ways(&mut self, marks: &[u64]) -> Vec<Way> {
        let mut lost = Vec::new();
        for mark in marks.iter().filter(|mark| **mark >= WAY) {
            let (at, mut list) = ((mark & (LINK - 1)) as Way, self.ways.list());
            let Some(way) = list.ways.get_mut(at).and_then(Option::as_mut) else { continue };
            let gone = if *mark >= OUT { way.flush().is_err() } else { way.is_closed() };
            if gone && !lost.contains(&at) {
                lost.push(at);
            }
        }
        lost
    }

    fn accept(&mut self) {
        for fd in self.door.arrived() {
            watched(&mut self.watch, &fd, LINK | self.next_source as u64);
            self.links.push(Link { source: self.next_source, incoming: Incoming::new(fd), met: false });
            self.next_source += 1;
        }
    }

    /// Reads from all links from that one on.
    fn read_all(&mut self, mut at: usize, most: usize, sink: &mut dyn FnMut(Arrival)) {
        while at < self.links.len() {
            let gone = self.read(at, most, false, sink) == State::Closed;
            at += usize::from(!gone);
        }
    }

    /// Reads from one link; it is gone when its other end is.
    fn read(&mut self, at: usize, most: usize, patient: bool, sink: &mut dyn FnMut(Arrival)) -> State {
        let link = &mut self.links[at];
        let (source, met) = (link.source, &mut link.met);
        let state = link.incoming.read(most, patient, &mut |piece| {
            *met = true;
            sink(Arrival::of(source, piece));
        });
        self.talking = state == State::Open;
        if state == State::Closed {
            unwatched(&self.watch, &link.incoming.fd);
            if link.met {
                sink(Arrival::Ended(source));
            }
            self.links.remove(at);
        }
        state
    }
}

/// From now on `fd` is waited for; if that cannot be, everything is polled.
fn watched(watch: &mut Option<Watch>, fd: &Fd, mark: u64) {
    if watch.as_ref().is_some_and(|watch| !watch.add(fd, mark)) {
        *watch = None;
    }
}

fn unwatched(watch: &Option<Watch>, fd: &Fd) {
    if let Some(watch) = watch {
        watch.remove(fd);
    }
}

fn timeout_ms(until: Until) -> i32 {
    match until {
        Until::Now => 0,
        Until::Forever => -1,
        Until::Moment(ns) => wire::left_ms(ns),
    }
}
