//! A set of descriptors that is waited for again and again: the kernel keeps it, so that waiting costs no more for many than for
//! one.
//!
//! Law: whatever is closed leaves the set first. A forked child may hold a descriptor for a moment longer, and the kernel would go
//! on to tell of it.

use crate::error::{Error, Result};
use crate::wire::Fd;
use libc::{EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLLIN, c_int, epoll_event};
use retake_engine::sys;

/// So many are told of at once.
const MANY: usize = 64;

#[derive(Debug)]
pub struct Watch {
    set: Fd,
    /// The marks of those that are ready.
    pub ready: Vec<u64>,
}

impl Watch {
    /// `None` if the system has no room for one.
    pub fn new() -> Option<Watch> {
        // SAFETY: makes a descriptor.
        let set = Fd::new(unsafe { sys::epoll_create1(libc::EPOLL_CLOEXEC as usize) }).ok()?;
        Some(Watch { set, ready: Vec::with_capacity(MANY) })
    }

    /// From now on `fd` is waited for, under that mark. False if that cannot be.
    pub fn add(&self, fd: &Fd, mark: u64) -> bool {
        self.control(EPOLL_CTL_ADD, fd, mark)
    }

    /// Before `fd` is closed.
    pub fn remove(&self, fd: &Fd) {
        self.control(EPOLL_CTL_DEL, fd, 0);
    }

    fn control(&self, how: c_int, fd: &Fd, mark: u64) -> bool {
        let mut event = epoll_event { events: EPOLLIN as u32, u64: mark };
        let at = &raw mut event as usize;
        // SAFETY: the event lives as long as the call.
        let done = unsafe { sys::epoll_ctl(self.set.0 as usize, how as usize, fd.0 as usize, at) };
        sys::error(done).is_none()
    }

    /// Waits; true if some may be ready that are not told of.
    pub fn wait(&mut self, timeout_ms: i32) -> Result<bool> {
        let mut events = [epoll_event { events: 0, u64: 0 }; MANY];
        let (to, timeout) = (events.as_mut_ptr() as usize, timeout_ms as isize as usize);
        // SAFETY: room for as many as said.
        let got = unsafe { sys::epoll_wait(self.set.0 as usize, to, MANY, timeout) };
        self.ready.clear();
        match sys::error(got) {
            None => self.ready.extend(events[..got as usize].iter().map(|event| event.u64)),
            Some(libc::EINTR) => {}
            Some(errno) => return Err(Error::System { what: "wait for messages", errno }),
        }
        Ok(self.ready.len() == MANY)
    }
}
