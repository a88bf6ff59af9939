//! A rank alone: what it exchanged with the others is kept by `record --full`, and is all that a replay without them needs.
//!
//! ```text
//! record   real call ──> what was sent: where to, how long, its checksum     ──> record
//!                    ──> what came: from whom, and the bytes, packed         ──> record
//! alone    sends      ──> compared with the record, and dropped
//!          receives   ──> asked for from ourselves; the record's bytes are sent there when it is time
//!          collective ──> what was given is compared, what came is unpacked
//! ```
//!
//! Alone, MPI is started without a launcher and knows one rank only. Everything that needs no other rank (types, packing,
//! requests, statuses) is the library's own; whatever depends on a communicator is answered from the tape. So requests
//! and statuses are real ones, and receives obey the library's own rules of types and lengths.
//!
//! Law: a call either keeps a record and is answered from it, or is local, or says that it cannot be replayed alone.

pub mod answer;
pub mod collective;
pub mod feed;
pub mod matched;
pub mod pack;
pub mod send;
pub mod underway;

pub use crate::handle::exchange::{Numbers, refuse};

use crate::errno;
use crate::handle::input::note_not_alone;
use crate::handle::mpi::abi;
use crate::handle::mpi::world::Users;
use retake_engine::contents;
use retake_engine::turn;

/// Whether what is exchanged is kept, or may be given: as good as never, and the first that is asked.
#[inline(always)]
pub fn is_on() -> bool {
    contents::count()
}

/// Whether what is exchanged is kept (recording, or a replay of all). Of an MPI whose types are not known here it cannot be.
#[inline]
pub fn kept() -> bool {
    contents::are_kept() && abi::get().packed != 0 && {
        tell_second_thread();
        true
    }
}

static USERS: Users = Users::new();

/// Alone, messages are fed to one thread at a time: several that use MPI at once cannot be.
fn tell_second_thread() {
    if turn::enter().is_some_and(|thread| USERS.has_second(thread.number)) {
        note_not_alone(b"MPI in several threads at once (MPI_THREAD_MULTIPLE)");
    }
}

/// Whether this rank is alone: what others gave it comes from its tape (replay).
#[inline]
pub fn given() -> bool {
    contents::are_given()
}

/// When MPI begins: contents of an MPI whose types are not known here cannot be kept.
pub fn begins() {
    if contents::are_kept() && abi::get().packed == 0 {
        let before = errno::get();
        note_not_alone(abi::get().name.as_bytes());
        errno::set(before);
    }
}
