//! The choices file: what a run that is explored is told, and what it tells.
//!
//! One file, mapped by the program and by the command line: this header, then the strategy's plan, the choices that are
//! given, and a log with one record for each choice made. What the plan and the records are is the strategies' concern;
//! here they are places and lengths.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Name of the file in a take.
pub const FILE: &str = "choices";
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTKCHCE1");

#[repr(C)]
pub struct Header {
    pub magic: u64,
    /// Where the plan begins, in bytes from the header.
    pub plan_at: u64,
    /// Where the given choices begin (thread numbers, 16 bits each), and how many there are.
    pub prefix_at: u64,
    pub prefix_length: u64,
    /// Where the log begins, and how many records have room.
    pub log_at: u64,
    pub log_room: u64,
    /// What the clocks show when the program begins, in nanoseconds.
    pub realtime_ns: i64,
    pub monotonic_ns: i64,
    /// Whether a run in which nothing can go on ends at once.
    pub is_brief: u32,
    /// Whether nothing could go on, though no deadlock could be told.
    pub is_stuck: AtomicU32,
    /// Choices made: only the first of them are in the log if there are more than it has room for.
    pub steps: AtomicU64,
    /// How often a thread was left to itself: because it computed too long, or because it waited outside.
    pub spun: AtomicU32,
    pub outside: AtomicU32,
}

/// How the command line and a server of copies talk: messages of two numbers, what and a value.
pub mod serve {
    /// The descriptor of the socket in the server.
    pub const SOCKET: usize = 250;
    /// It waits before the program begins.
    pub const READY: i32 = 1;
    /// It cannot be copied: libraries have started threads already.
    pub const CANNOT: i32 = 2;
    /// A copy has begun; the value is its id, negative if there is none.
    pub const BEGUN: i32 = 3;
    /// The copy has ended; the value is its status as `wait` tells it.
    pub const ENDED: i32 = 4;
    /// What [`variable::MODE`](crate::session::variable::MODE) says to a server, as long as what its copies are told.
    pub const MODE: &str = "server";
}
