//! The ways of one participant: connections on which it sends, and what the kernel has not taken of it yet.
//!
//! A send never waits for its receiver. What does not fit into the kernel is queued, and a thread of the library's own
//! sends it on, as long as there is something: the program may compute meanwhile, or wait for something else.
//!
//! Law: that thread is the library's, not the program's ([`unseen`]).

use crate::error::{Error, Result};
use crate::transport::Way;
use crate::unseen;
use crate::wire::{self, Fd, Outgoing};
use libc::{POLLOUT, pollfd};
use std::sync::{Arc, Mutex, MutexGuard};

/// The flushing thread looks again after so long, whatever happens.
const LOOK_MS: i32 = 100;

#[derive(Debug, Default)]
pub struct List {
    /// `None` when the other end is gone.
    pub ways: Vec<Option<Outgoing>>,
    /// The thread is there.
    flushing: bool,
}

/// Shared by the participant and the flushing thread.
#[derive(Clone, Debug, Default)]
pub struct Ways(Arc<Mutex<List>>);

impl Ways {
    pub fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A fresh connection becomes a way; `None` if it broke at once.
    pub fn add(&self, fd: Fd, hello: &[u8]) -> Option<Way> {
        let mut way = Outgoing::new(fd);
        way.send(hello, &[]).ok()?;
        let mut list = self.list();
        list.ways.push(Some(way));
        Some(list.ways.len() - 1)
    }

    pub fn send(&self, way: Way, head: &[u8], contents: &[u8]) -> Result<()> {
        let gone = || Error::Gone(String::new());
        let mut list = self.list();
        let way = list.ways.get_mut(way).and_then(Option::as_mut).ok_or_else(gone)?;
        way.send(head, contents).map_err(|_| gone())?;
        if way.backlog() > 0 && !list.flushing {
            // Without the thread, what is left goes with the participant's next calls.
            let ways = self.clone();
            list.flushing = unseen::start(move || ways.flush_all());
        }
        Ok(())
    }

    pub fn backlog(&self) -> usize {
        self.list().ways.iter().flatten().map(Outgoing::backlog).sum()
    }

    /// Sends until nothing is left; runs in the flushing thread.
    fn flush_all(&self) {
        loop {
            let mut waiting = Vec::new();
            let mut list = self.list();
            for way in list.ways.iter_mut().flatten() {
                // A broken way is found, and told, by the participant.
                if way.flush().is_ok() && way.backlog() > 0 {
                    waiting.push(pollfd { fd: way.fd.0, events: POLLOUT, revents: 0 });
                }
            }
            if waiting.is_empty() {
                list.flushing = false;
                return;
            }
            drop(list);
            let _ = wire::poll(&mut waiting, LOOK_MS);
        }
    }
}
