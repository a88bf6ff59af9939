//! TCP between machines: an address for each participant, and a secret that all of them know.
//!
//! A participant listens at its own address, and a [`Porter`] lets in whoever proves that it knows the secret; whoever
//! opens a way waits until both sides have proved it. From there on it is as with Unix sockets: frames, one direction.
//! What is sent is neither hidden nor sealed. That needs a net that is trusted, or a tunnel.
//!
//! Law: without a secret nobody listens where other machines could connect.

use crate::error::{Error, Result};
use crate::frame::Hello;
use crate::links::{Door, Links};
use crate::meeting::Meeting;
use crate::porter::Porter;
use crate::proof::{self, Opening, Terms};
use crate::transport::{Arrival, Source, Transport, Until, Way};
use crate::waiting::now;
use crate::wire::{self, Address, Fd, Reading};
use libc::{EADDRINUSE, EADDRNOTAVAIL, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT};
use libc::{POLLIN, pollfd};
use std::net::SocketAddr;

/// How long opening a way may take. Whoever does not answer in this time is not there.
const TIME_NS: i64 = 2_000_000_000;

/// TCP.
#[derive(Debug)]
pub struct Tcp {
    links: Links,
    list: Vec<(String, SocketAddr)>,
    terms: Terms,
    /// The name is held on this machine.
    _lock: Fd,
}

fn address_in(list: &[(String, SocketAddr)], name: &str) -> Result<SocketAddr> {
    let found = list.iter().find(|(known, _)| known == name).map(|(_, address)| *address);
    found.ok_or_else(|| Error::Transport(format!("RETAKE_TRANSPORT has no address for {name}")))
}

impl Tcp {
    /// Takes the name on this machine and listens at its address. `terms` name the one who listens: this participant.
    pub fn new(meeting: &Meeting, list: Vec<(String, SocketAddr)>, terms: Terms, host: &str) -> Result<(Tcp, Hello)> {
        let name = &terms.listener;
        let at = address_in(&list, name)?;
        if terms.secret.is_none() && !at.ip().is_loopback() {
            return Err(Error::Setting(format!(
                "{name} would listen at {at} without a secret, and anybody could send to it: \
                 (umask 077; head -c 32 /dev/urandom | base64 > FILE), the same FILE on all machines, and RETAKE_SECRET_FILE=FILE"
            )));
        }
        let (lock, life) = meeting.take_name(name)?;
        let refuse = |errno| match errno {
            EADDRINUSE => {
                Error::Transport(format!("{name} cannot listen at {at}: somebody does already, see ss -ltnp"))
            }
            EADDRNOTAVAIL => {
                Error::Transport(format!("{name} cannot listen at {at}: this machine has no such address"))
            }
            errno => Error::System { what: "listen for messages", errno },
        };
        let listener = wire::listener(&Address::of(at)).map_err(refuse)?;
        let porter = Porter::start(listener, terms.clone())
            .map_err(|errno| Error::System { what: "start the thread that answers partners", errno })?;
        // Nobody counts the participants of several machines: without a number, every receive is noted.
        let hello = Hello { name: name.clone(), host: host.into(), life, number: 0 };
        let links = Links::new(Door::Porter(porter), &hello);
        Ok((Tcp { links, list, terms, _lock: lock }, hello))
    }

    /// Both sides prove themselves. `None` if the other has gone, or does not answer in time.
    fn prove(&self, fd: &Fd, name: &str, at: SocketAddr, until: i64) -> Result<Option<()>> {
        let stranger = || Error::Transport(format!("what listens at {at} is no participant: {name} was looked for"));
        let terms = Terms { listener: name.into(), ..self.terms.clone() };
        let Some(first) = hear(fd, proof::FIRST, until) else { return Ok(None) };
        let (opening, second) = Opening::answer(&terms, &first).ok_or_else(stranger)?;
        if !wire::write(fd, &second) {
            return Ok(None);
        }
        let Some(third) = hear(fd, proof::THIRD, until) else { return Ok(None) };
        if opening.is_proved(&terms, &third) {
            return Ok(Some(()));
        }
        let mine = if terms.secret.is_none() { "this side has none" } else { "it must be the same everywhere" };
        Err(Error::Transport(if third.first() == Some(&proof::NO) {
            format!(
                "{name} at {at} refuses: another secret (RETAKE_SECRET_FILE; {mine}), another RETAKE_GROUP, or it is not \
                 {name} that listens there"
            )
        } else {
            format!("what listens at {at} does not know the secret: {name} was looked for")
        }))
    }
}

/// Reads so many bytes; `None` if they do not come in time.
fn hear(fd: &Fd, many: usize, until: i64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        match wire::read_up_to(fd, &mut bytes, many) {
            Reading::Whole => return Some(bytes),
            Reading::Closed => return None,
            Reading::More if now() >= until => return None,
            Reading::More => {
                let mut polled = [pollfd { fd: fd.0, events: POLLIN, revents: 0 }];
                wire::poll(&mut polled, wire::left_ms(until)).ok()?;
            }
        }
    }
}

impl Transport for Tcp {
    fn open(&mut self, name: &str) -> Result<Option<Way>> {
        let at = address_in(&self.list, name)?;
        let until = now() + TIME_NS;
        let fd = match wire::connect_until(&Address::of(at), until) {
            Ok(fd) => fd,
            Err(ECONNREFUSED | ECONNRESET | EHOSTUNREACH | ENETUNREACH | ETIMEDOUT) => return Ok(None),
            Err(errno) => return Err(Error::System { what: "connect to a participant", errno }),
        };
        wire::keep_alive(&fd);
        Ok(self.prove(&fd, name, at, until)?.and_then(|()| self.links.add(fd)))
    }

    fn send(&mut self, way: Way, head: &[u8], contents: &[u8]) -> Result<()> {
        self.links.send(way, head, contents)
    }

    fn pump(&mut self, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()> {
        self.links.pump(until, sink)
    }

    fn pump_from(&mut self, source: Source, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()> {
        self.links.pump_from(source, until, sink)
    }

    fn backlog(&self) -> usize {
        self.links.backlog()
    }

    fn close(&mut self) {
        self.links.close();
    }
}
