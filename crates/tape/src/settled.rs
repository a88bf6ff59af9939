//! The order of a settled replay: which thread went on at each point, and how a run that looks for such an order is told
//! to go on behind what is given.
//!
//! One file beside the session, mapped by one process of the replay and by the command line: this header, then a word for
//! each choice. The first of them are given; the run writes those that it makes behind them.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Name of the file beside the session, and of the order that is kept in a take, which is text.
pub const FILE: &str = "settled";
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTKSETL1");
/// Longest name of a process.
pub const NAME_MAX: usize = 200;

#[repr(C)]
pub struct Header {
    pub magic: u64,
    /// The process whose threads run one at a time.
    pub name_len: u32,
    /// Behind what is given, whoever can go on does, but one time in so many.
    pub switch: u32,
    pub name: [u8; NAME_MAX],
    /// So many choices are given, and so many have room.
    pub given: u64,
    pub room: u64,
    /// What is drawn behind them is drawn from this.
    pub seed: u64,
    /// The thread that the first of them shall not be, if there is another; or 0.
    pub avoid: u32,
    /// How often a thread was left to itself, because it computed too long, or waited where it is not seen.
    pub left: AtomicU32,
    /// Choices made: those given, and the run's own.
    pub choices: AtomicU64,
    /// Events that threads came to.
    pub events: AtomicU64,
}

/// In a word of a choice: others could have gone on, too. The rest is the number of the thread.
pub const OTHERS: u32 = 1 << 31;

/// How long the file is.
pub const fn size(room: usize) -> usize {
    size_of::<Header>() + 4 * room
}
