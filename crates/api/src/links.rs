//! Connections of one participant, whatever kind of stream they are: those on which it sends, and those on which it is
//! sent to. What Unix sockets and TCP have in common.

use crate::error::Result;
use crate::frame::Hello;
use crate::porter::Porter;
use crate::transport::{Arrival, Source, Until, Way};
use crate::ways::Ways;
use crate::wire::{self, Fd, Incoming, State};
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

#[derive(Debug)]
pub struct Links {
    door: Door,
    hello: Vec<u8>,
    ways: Ways,
    links: Vec<Link>,
    next_source: Source,
    /// What is waited for: the door, the links, the ways that are open.
    polled: Vec<pollfd>,
    /// Connections have come or gone since `polled` was made.
    changed: bool,
}

impl Links {
    pub fn new(door: Door, hello: &Hello) -> Links {
        let (hello, ways) = (hello.bytes(), Ways::default());
        Links { door, hello, ways, links: vec![], next_source: 0, polled: vec![], changed: true }
    }

    /// A fresh connection becomes a way; `None` if it broke at once.
    pub fn add(&mut self, fd: Fd) -> Option<Way> {
        self.changed = true;
        self.ways.add(fd, &self.hello)
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
        self.links.clear();
        self.ways.list().ways.clear();
        self.changed = true;
    }

    pub fn pump(&mut self, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()> {
        self.prepare();
        if !wire::poll(&mut self.polled, timeout_ms(until))? {
            return Ok(());
        }
        let (links, ways) = (1..1 + self.links.len(), 1 + self.links.len());
        let lost = self.look_at_ways(ways);
        if lost.is_empty() {
            let polled = std::mem::take(&mut self.polled);
            let most = if until == Until::Now { usize::MAX } else { TURN };
            self.read(most, |at| polled[links.start + at].revents != 0, sink);
            if polled[0].revents != 0 {
                self.accept();
            }
            self.polled = polled;
        } else {
            // What somebody sent before it went is already here: it comes first.
            self.accept();
            self.read(usize::MAX, |_| true, sink);
            for way in lost {
                self.ways.list().ways[way] = None;
                sink(Arrival::Lost(way));
            }
        }
        Ok(())
    }

    fn prepare(&mut self) {
        let entry = |fd: &Fd, events| pollfd { fd: fd.0, events, revents: 0 };
        if self.changed {
            self.polled.clear();
            self.polled.push(entry(self.door.fd(), POLLIN));
            self.polled.extend(self.links.iter().map(|link| entry(&link.incoming.fd, POLLIN)));
            self.polled.extend(self.ways.list().ways.iter().flatten().map(|way| entry(&way.fd, POLLIN)));
            self.changed = false;
        }
        let (first, list) = (1 + self.links.len(), self.ways.list());
        for (polled, way) in self.polled[first..].iter_mut().zip(list.ways.iter().flatten()) {
            polled.events = if way.backlog() > 0 { POLLIN | POLLOUT } else { POLLIN };
        }
    }

    /// Sends what waits, and tells which ways have lost their other end.
    fn look_at_ways(&mut self, first: usize) -> Vec<Way> {
        let mut lost = Vec::new();
        let mut list = self.ways.list();
        let open = list.ways.iter_mut().enumerate().filter_map(|(at, way)| Some((at, way.as_mut()?)));
        for ((at, way), polled) in open.zip(&self.polled[first..]) {
            let broken = polled.revents & POLLOUT != 0 && way.flush().is_err();
            if broken || polled.revents & !POLLOUT != 0 && way.is_closed() {
                lost.push(at);
            }
        }
        self.changed |= !lost.is_empty();
        lost
    }

    fn accept(&mut self) {
        for fd in self.door.arrived() {
            self.links.push(Link { source: self.next_source, incoming: Incoming::new(fd), met: false });
            self.next_source += 1;
            self.changed = true;
        }
    }

    fn read(&mut self, most: usize, ready: impl Fn(usize) -> bool, sink: &mut dyn FnMut(Arrival)) {
        let mut at = 0;
        self.links.retain_mut(|link| {
            let looked = ready(at);
            at += 1;
            if !looked {
                return true;
            }
            let (source, met) = (link.source, &mut link.met);
            let state = link.incoming.read(most, &mut |piece| {
                *met = true;
                sink(Arrival::of(source, piece));
            });
            if state == State::Closed {
                self.changed = true;
                if link.met {
                    sink(Arrival::Ended(source));
                }
            }
            state == State::Open
        });
    }
}

fn timeout_ms(until: Until) -> i32 {
    match until {
        Until::Now => 0,
        Until::Forever => -1,
        Until::Moment(ns) => wire::left_ms(ns),
    }
}
