//! The ways of one participant: connections on which it sends, and what the kernel has not taken of it yet.
//!
//! A send never waits for its receiver. What does not fit into the kernel is queued, and a thread of the library's own
//! sends it on, as long as there is something: the program may compute meanwhile, or wait for something else.
//!
//! Law: that thread is the library's, not the program's. It is made by libc's own function, found past the shim, and
//! makes its system calls directly; so a recording does not see it.

use crate::error::{Error, Result};
use crate::transport::Way;
use crate::wire::{self, Fd, Outgoing};
use libc::{POLLOUT, c_void, pollfd, pthread_attr_t, pthread_t};
use std::sync::{Arc, Mutex, MutexGuard};

/// The flushing thread looks again after so long, whatever happens.
const LOOK_MS: i32 = 100;
const STACK: usize = 128 << 10;

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
            list.flushing = start(self.clone());
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

extern "C" fn run(ways: *mut c_void) -> *mut c_void {
    // SAFETY: `start` gave a box of this type away.
    unsafe { Box::from_raw(ways.cast::<Ways>()) }.flush_all();
    std::ptr::null_mut()
}

type Create = unsafe extern "C" fn(
    *mut pthread_t,
    *const pthread_attr_t,
    extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> i32;

/// libc's own function, past whoever stands before it.
fn real_create() -> Option<Create> {
    // SAFETY: C strings; the library is there already and is only looked up.
    unsafe {
        let libc = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        let found = if libc.is_null() { libc } else { libc::dlsym(libc, c"pthread_create".as_ptr()) };
        (!found.is_null()).then(|| std::mem::transmute::<*mut c_void, Create>(found))
    }
}

/// Starts the flushing thread, with all signals blocked; false if it cannot be had.
fn start(ways: Ways) -> bool {
    let Some(create) = real_create() else { return false };
    let given = Box::into_raw(Box::new(ways));
    // SAFETY: plain calls on variables of our own; the box is taken back if nobody takes it.
    unsafe {
        let mut attributes: pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&mut attributes, STACK);
        let (all, mut before) = (u64::MAX, 0u64);
        let (new, old) = (&raw const all as usize, &raw mut before as usize);
        retake_engine::sys::rt_sigprocmask(libc::SIG_SETMASK as usize, new, old, 8);
        let mut thread: pthread_t = 0;
        let failed = create(&mut thread, &attributes, run, given.cast());
        retake_engine::sys::rt_sigprocmask(libc::SIG_SETMASK as usize, old, 0, 8);
        libc::pthread_attr_destroy(&mut attributes);
        if failed != 0 {
            drop(Box::from_raw(given));
        }
        failed == 0
    }
}
