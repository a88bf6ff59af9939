//! Requests that bring something: receives, and collectives that do not block. Kept only with `--full`, and alone.
//!
//! Recording: what came is kept when the request is done. Alone: it is sent to ourselves then, and not before.

use crate::handle::mpi::full::collective::Call;
use crate::handle::mpi::full::feed;
use crate::handle::mpi::full::kept;
use crate::handle::mpi::full::pack::{Region, packed, unpack};
use crate::handle::mpi::handles::{Handles, Known};
use crate::handle::mpi::requests::{self, Wanted};
use crate::handle::mpi::{abi, full};
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::thread::Thread;
use retake_engine::turn::in_library;

/// What a request brings.
#[derive(Clone, Copy)]
#[repr(u8)] // all zero is an empty slot
pub enum Brings {
    Message(Region),
    Collective(Call),
    /// A persistent send: what each start sends.
    Nothing(Wanted),
}

#[derive(Clone, Copy)]
pub struct Underway {
    pub handle: usize,
    pub name: Option<&'static str>,
    pub brings: Brings,
    /// Alone: where it waits for its bytes.
    pub tag: c_int,
    pub persistent: bool,
    pub active: bool,
    /// What it brings is kept, or has been sent to ourselves, already.
    pub is_there: bool,
    /// Alone, then: from whom, with which tag.
    pub sender: (c_int, c_int),
}

impl Known for Underway {
    fn handle(&self) -> usize {
        self.handle
    }

    fn clear(&mut self) {
        self.handle = 0;
    }
}

static ALL: Handles<Underway> = Handles::new();

/// In a forked child, which has none of them.
pub fn reset() {
    ALL.reset();
}

/// Whether there are any.
#[inline]
pub fn any() -> bool {
    ALL.any()
}

pub fn get(handle: usize) -> Option<Underway> {
    ALL.get(handle)
}

/// The request at `at` brings this; alone, it waits under `tag`.
///
/// # Safety
/// The library has written the request.
pub unsafe fn begin(name: &'static str, brings: Brings, tag: c_int, at: *const u8) {
    // SAFETY: as the caller promises.
    let handle = unsafe { abi::get().handle(at) };
    if handle != abi::get().request_null {
        let (persistent, active, is_there, sender) = (false, true, false, (0, 0));
        ALL.put(Underway { handle, name: Some(name), brings, tag, persistent, active, is_there, sender });
    }
}

/// The same of a request that is to be started again and again.
///
/// # Safety
/// The library has written the request.
pub unsafe fn make(name: &'static str, brings: Brings, at: *const u8) {
    // SAFETY: as the caller promises.
    let handle = unsafe { abi::get().handle(at) };
    let (persistent, active, is_there, sender, tag) = (true, false, false, (0, 0), 0);
    ALL.put(Underway { handle, name: Some(name), brings, tag, persistent, active, is_there, sender });
}

/// A persistent one is started.
pub fn start(handle: usize, tag: c_int) {
    if let Some(known) = ALL.get(handle) {
        ALL.put(Underway { tag, active: true, is_there: false, ..known });
    }
}

/// It is done; a persistent one can be started again.
fn done(handle: usize) {
    ALL.finish(handle, |known| {
        known.active = false;
        known.persistent
    });
}

/// Its request is no more. Nobody learns what it would have brought.
pub fn forget(handle: usize) {
    if ALL.get(handle).is_some_and(|known| known.active && !matches!(known.brings, Brings::Nothing(_))) {
        full::refuse("MPI_Request_free for a receive that was under way");
    }
    ALL.finish(handle, |_| false);
}

/// Recording: the request is done, or (`looked_at`) seen to be, with a status that the library has filled.
///
/// # Safety
/// The status is filled.
pub unsafe fn arrived(thread: &mut Thread, handle: usize, status: *mut u8, looked_at: bool) {
    let Some(known) = ALL.get(handle).filter(|known| known.active) else { return };
    let mut gone: c_int = 0;
    if requests::get(handle).is_some_and(|receive| receive.cancelled) {
        // SAFETY: as the caller promises.
        in_library(|| unsafe { real::MPI_Test_cancelled(status, &raw mut gone) });
    }
    if gone == 0 && !known.is_there && kept() {
        let name = known.name.unwrap_or("");
        match known.brings {
            // SAFETY: as the caller promises.
            Brings::Message(region) => unsafe { feed::keep(thread, name, region, status) },
            Brings::Collective(call) => packed(call.gets(), |bytes| thread.keep(name, [bytes, &[]])),
            Brings::Nothing(_) => {}
        }
    }
    match looked_at {
        true => ALL.put(Underway { is_there: true, ..known }),
        false => done(handle),
    }
}

/// Alone: the request is to be found done, so what it brings is sent there.
pub fn bring(thread: &mut Thread, handle: usize) {
    let Some(mut known) = ALL.get(handle).filter(|known| known.active && !known.is_there) else { return };
    let name = known.name.unwrap_or("");
    match known.brings {
        Brings::Message(_) => {
            let (sender, bytes) = feed::read(thread.given(name));
            known.sender = sender;
            feed::message(bytes, known.tag);
        }
        Brings::Collective(call) => {
            unpack(thread.given(name), call.gets());
            feed::message(&[], known.tag);
        }
        Brings::Nothing(_) => {}
    }
    ALL.put(Underway { is_there: true, ..known });
}

/// Alone: the library has found it done, with `status`.
pub fn found(handle: usize, status: *mut u8, looked_at: bool) {
    let Some(known) = ALL.get(handle).filter(|known| known.active) else { return };
    if matches!(known.brings, Brings::Message(_)) {
        feed::name_sender(status, known.sender);
    }
    if !looked_at {
        done(handle);
    }
}
