//! Receives that are under way: found by the handle of their request.

use crate::handle::mpi::full::pack::Region;
use crate::handle::mpi::handles::{Handles, Known};
use libc::c_int;

/// What was asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub buffer: usize,
    pub count: usize,
    pub kind: usize,
    pub source: c_int,
    pub tag: c_int,
    pub comm: usize,
    /// By the variant of the function that takes large counts.
    pub large: bool,
}

impl Wanted {
    /// Where it goes.
    pub fn region(&self) -> Region {
        Region { buffer: self.buffer, count: self.count, kind: self.kind }
    }
}

/// A receive with a request.
#[derive(Clone, Copy)]
pub struct Receive {
    pub handle: usize,
    /// Its number among its thread's receives of its kind: from anyone, or from a given source.
    pub number: u64,
    pub thread: u32,
    pub call: u8,
    /// From anyone.
    pub open: bool,
    pub active: bool,
    pub persistent: bool,
    /// The program has asked to cancel it.
    pub cancelled: bool,
    /// Replay: it was never served, so nothing may come to it.
    pub withdrawn: bool,
    /// Replay: the request that serves a persistent one; 0 if it serves itself.
    pub inner: usize,
    pub wanted: Wanted,
    /// The communicator that the program named.
    pub asked_comm: usize,
}

impl Known for Receive {
    fn handle(&self) -> usize {
        self.handle
    }

    fn clear(&mut self) {
        self.handle = 0;
    }
}

static RECEIVES: Handles<Receive> = Handles::new();

/// In a forked child, which has none of them.
pub fn reset() {
    RECEIVES.reset();
}

/// Whether there are any.
#[inline]
pub fn any() -> bool {
    RECEIVES.any()
}

/// Notes `receive` under its handle, in place of what was there.
#[inline(always)]
pub fn put(receive: Receive) {
    RECEIVES.put(receive);
}

/// The receive of this request.
pub fn get(handle: usize) -> Option<Receive> {
    RECEIVES.get(handle)
}

/// It is done: takes it out, and gives what it was. A persistent one stays, and is not active any more.
#[inline(always)]
pub fn finish(handle: usize) -> Option<Receive> {
    RECEIVES.finish(handle, |receive| {
        if receive.persistent {
            (receive.active, receive.cancelled, receive.inner) = (false, false, 0);
        }
        receive.persistent
    })
}

/// Its request is no more.
pub fn forget(handle: usize) {
    RECEIVES.finish(handle, |_| false);
}
