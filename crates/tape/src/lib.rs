//! The tape: how one execution is written down, and nothing else.
//!
//! A take is a directory with one tape file per process. A tape file is a header page and, for each thread, a chain of
//! chunks; the payload of a chunk is a run of entries.
//!
//! ```text
//! file    [ ProcessHeader | chunk | chunk | chunk … ]
//! chunk   [ ChunkHeader | ThreadHeader (first chunk of a thread only) | entry entry entry … | slack ]
//! ```
//!
//! Recording writes through a shared memory map: the entry first, then the chunk's `used`, then the thread's `count`.
//! The count commits. A program that is killed therefore loses nothing that it was told had happened.
//!
//! Law: this crate depends on nothing; what the recorded program uses of it neither allocates nor panics.

#![cfg_attr(not(feature = "std"), no_std)]

pub mod board;
pub mod came;
pub mod check;
pub mod choices;
pub mod copy;
pub mod entry;
mod fold;
pub mod layout;
pub mod matches;
pub mod note;
pub mod op;
pub mod part;
mod place;
pub mod rich;
pub mod schedule;
pub mod session;
pub mod settled;
pub mod varint;
pub mod walk;

#[cfg(feature = "std")]
pub mod merge;
#[cfg(feature = "std")]
pub mod press;
#[cfg(feature = "std")]
pub mod reader;
#[cfg(feature = "std")]
pub mod seal;
