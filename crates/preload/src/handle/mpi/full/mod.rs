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

use crate::errno;
use crate::handle::input::note_not_alone;
use crate::handle::mpi::abi;
use retake_engine::contents;
use retake_engine::report;
use retake_engine::turn;

/// Whether what is exchanged is kept (recording). Of an MPI whose types are not known here it cannot be.
#[inline]
pub fn kept() -> bool {
    contents::are_kept() && abi::get().packed != 0
}

/// Whether this rank is alone: what others gave it comes from its tape (replay).
#[inline]
pub fn given() -> bool {
    contents::are_given()
}

/// Called before a function that cannot be replayed alone.
pub fn refuse(name: &'static str) {
    let Some(thread) = turn::enter() else { return };
    if contents::are_kept() {
        note_not_alone(name.as_bytes());
    } else if given() {
        let what = b"a call that cannot be replayed alone: ";
        report::another_exchange(
            thread,
            |words| _ = words.push(name.as_bytes()),
            |words| _ = words.push(what).push(name.as_bytes()),
        );
    }
}

/// Recording, when MPI begins: contents of an MPI whose types are not known here cannot be kept.
pub fn begins() {
    if contents::are_kept() && abi::get().packed == 0 {
        let before = errno::get();
        note_not_alone(abi::get().name.as_bytes());
        errno::set(before);
    }
}

/// Numbers of a record, as they stand on the tape.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Numbers<const N: usize>(pub [i64; N]);

impl<const N: usize> Numbers<N> {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: plain numbers; the tape is of this machine's kind only.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), N * 8) }
    }

    /// The numbers at the front of a record, and what is behind them.
    pub fn read(record: &[u8]) -> (Numbers<N>, &[u8]) {
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(record.chunks_exact(8)) {
            *number = bytes.try_into().map_or(0, i64::from_le_bytes);
        }
        (Numbers(numbers), record.get(N * 8..).unwrap_or(&[]))
    }
}
