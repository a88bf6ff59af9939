//! The default transport: Unix stream sockets in the meeting place, nothing to install.
//!
//! Each participant listens at its name. Whoever sends to it connects there once; a connection carries frames in that one
//! direction, so that order between two participants is the kernel's, and its end tells that the sender is gone.
//! Connections are taken and frames read in the calls of the participant.

use crate::error::{Error, Result};
use crate::frame::Hello;
use crate::links::{Door, Links};
use crate::meeting::Meeting;
use crate::transport::{Arrival, Source, Transport, Until, Way};
use crate::wire::{self, Fd};

/// Unix sockets.
#[derive(Debug)]
pub struct Unix {
    meeting: Meeting,
    links: Links,
    name: String,
    _lock: Fd,
}

impl Unix {
    /// Takes the name in the meeting place and listens there.
    pub fn new(meeting: Meeting, name: &str, host: &str) -> Result<(Unix, Hello)> {
        let (lock, life) = meeting.take_name(name)?;
        let number = meeting.take_number()?;
        // Whoever had the name before is dead: the lock is ours.
        meeting.remove_socket(name);
        let listener = wire::listener(&meeting.address(name))
            .map_err(|errno| Error::System { what: "listen for messages", errno })?;
        let hello = Hello { name: name.into(), host: host.into(), life, number };
        let links = Links::new(Door::Socket(listener), &hello);
        Ok((Unix { meeting, links, name: name.into(), _lock: lock }, hello))
    }
}

impl Transport for Unix {
    fn open(&mut self, name: &str) -> Result<Option<Way>> {
        match wire::connect(&self.meeting.address(name)) {
            Ok(fd) => Ok(self.links.add(fd)),
            Err(libc::ENOENT | libc::ECONNREFUSED) => Ok(None),
            Err(errno) => Err(Error::System { what: "connect to a participant", errno }),
        }
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
        self.meeting.remove_socket(&self.name);
        self.links.close();
    }
}
