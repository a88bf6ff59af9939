//! The ways of one participant: connections on which it sends, and what the kernel has not taken of it yet.
//!
//! A send does not wait until its receiver receives. What does not fit into the kernel is queued, and a thread of the
//! library's own sends it on, as long as there is something: the program may compute meanwhile, or wait for something else.
//! Only the first large one that does not fit waits a moment, since a receiver that is at work has made room by then: that is cheaper
//! than the queue, through which everything behind it must go, too.
//!
//! Law: that thread is the library's, not the program's ([`unseen`]).

use crate::error::{Error, Result};
use crate::transport::Way;
use crate::unseen;
use crate::wire::{self, Fd, Frame, Outgoing};
use libc::{POLLOUT, pollfd};
use std::sync::{Arc, Mutex, MutexGuard};

/// The flushing thread looks again after so long, whatever happens.
const LOOK_MS: i32 = 100;
/// So long a moment is.
const MOMENT_MS: i32 = 2;
/// Shorter frames are not worth it: many of them leave the queue at once.
const LARGE: usize = 16 << 10;

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
        let hello = Frame::new(hello, &[]);
        let sent = way.offer(&hello, 0).ok()?;
        way.queue(&hello, sent);
        let mut list = self.list();
        list.ways.push(Some(way));
        Some(list.ways.len() - 1)
    }

    pub fn send(&self, at: Way, head: &[u8], contents: &[u8]) -> Result<()> {
        let gone = || Error::Gone(String::new());
        let (frame, mut sent) = (Frame::new(head, contents), 0);
        loop {
            let mut list = self.list();
            let way = list.ways.get_mut(at).and_then(Option::as_mut).ok_or_else(gone)?;
            let waited = way.backlog() > 0;
            sent = way.offer(&frame, sent).map_err(|_| gone())?;
            if sent == frame.whole() {
                return Ok(());
            }
            let mut polled = [pollfd { fd: way.fd.0, events: POLLOUT, revents: 0 }];
            if !waited && frame.whole() > LARGE {
                drop(list);
                // Nobody but us sends here, so the frame stays whole.
                if wire::poll(&mut polled, MOMENT_MS)? {
                    continue;
                }
                list = self.list();
            }
            let way = list.ways.get_mut(at).and_then(Option::as_mut).ok_or_else(gone)?;
            way.queue(&frame, sent);
            if !list.flushing {
                // Without the thread, what is left goes with the participant's next calls.
                let ways = self.clone();
                list.flushing = unseen::start(move || ways.flush_all());
            }
            return Ok(());
        }
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
