//! The schedule file: which threads are to run, step by step, and which did.
//!
//! One small file, mapped by the program that follows it and by the command line. A header, then three lists of the same
//! length: the threads that were given, the threads that ran, and what each step's operation is to return.

use core::sync::atomic::AtomicU32;

/// Name of the file in a take.
pub const FILE: &str = "schedule";
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTKSCHD2");
/// Longest schedule.
pub const STEPS_MAX: usize = 1 << 26;
/// What stands in the second list for a step that was not followed.
pub const NOBODY: u32 = u32::MAX;

/// What a step's operation returns, where that could be otherwise: 0, an error, or the value of a semaphore.
pub mod outcome {
    /// Nothing is said: whatever comes of it.
    pub const UNSAID: u32 = u32::MAX;
    /// It runs what is to be run once.
    pub const RUNS: u32 = u32::MAX - 1;
    /// The largest that is a result.
    pub const RESULT_MAX: u32 = i32::MAX as u32;
}

/// Which operations are points, between which a thread runs undisturbed.
pub mod points {
    /// The thesis's: creation, start and end, join, lock, unlock, condition wait.
    pub const P_REP: u32 = 0;
    /// Every operation on an object that threads meet at, and the start and end of each.
    pub const ALL: u32 = 1;
}

/// What happens when the schedule is at its end.
pub mod then {
    /// Nothing: everyone waits, so that one can look with a debugger.
    pub const HANG: u32 = 0;
    /// The program is ended.
    pub const STOP: u32 = 1;
    /// Everyone goes on freely.
    pub const RESUME: u32 = 2;
}

#[repr(C)]
pub struct Header {
    pub magic: u64,
    pub length: u32,
    /// See [`points`].
    pub points: u32,
    /// See [`then`].
    pub then: u32,
    /// Whether each step is told.
    pub verbose: u32,
    /// Steps begun; the first begins with the program.
    pub step: AtomicU32,
    /// 1 once the end of the schedule is reached.
    pub ended: AtomicU32,
}

/// Bytes of a file for `length` steps.
pub const fn size(length: usize) -> usize {
    size_of::<Header>() + 3 * 4 * length
}
