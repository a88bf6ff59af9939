//! The schedule file: which threads are to run, step by step, and which did.
//!
//! One small file, mapped by the program that follows it and by the command line. A header, then three lists of the same
//! length: the threads that were given, the threads that ran, and what each step's operation is to return.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Name of the file in a take.
pub const FILE: &str = "schedule";
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTKSCHD3");
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
    /// The thread is cancelled in it.
    pub const CANCELLED: u32 = u32::MAX - 2;
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

/// Threads that are told to be outside, at most.
pub const OUTSIDE_MAX: usize = 32;
/// Frames told of each.
pub const DEPTH: usize = 12;

/// What a thread does that never came to a point.
pub mod outside {
    /// It computes. Any other number is that of the system call that it waits in.
    pub const COMPUTES: u32 = u32::MAX;
    /// It waits in the kernel, and it cannot be told in which call.
    pub const UNKNOWN: u32 = u32::MAX - 1;
}

/// A thread that has the step and waits or computes outside of what a schedule orders.
#[repr(C)]
pub struct Outside {
    pub thread: AtomicU32,
    /// The step, from 1.
    pub step: AtomicU32,
    /// See [`outside`].
    pub call: AtomicU32,
    /// 1 if those who are named behind it have their steps meanwhile.
    pub lends: AtomicU32,
    /// Where it is, innermost first; 0 behind the last.
    pub pcs: [AtomicU64; DEPTH],
}

impl Outside {
    const fn nobody() -> Outside {
        Outside {
            thread: AtomicU32::new(0),
            step: AtomicU32::new(0),
            call: AtomicU32::new(0),
            lends: AtomicU32::new(0),
            pcs: [const { AtomicU64::new(0) }; DEPTH],
        }
    }
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
    /// The thread that runs: its number, and its id in the kernel; 0 if none does.
    pub running: AtomicU32,
    pub running_tid: AtomicU32,
    /// Those that are told to be outside; one is there when its step is not 0.
    pub outside: [Outside; OUTSIDE_MAX],
}

impl Header {
    pub const fn new(length: u32, points: u32, then: u32, verbose: bool) -> Header {
        Header {
            magic: MAGIC,
            length,
            points,
            then,
            verbose: verbose as u32,
            step: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            running: AtomicU32::new(0),
            running_tid: AtomicU32::new(0),
            outside: [const { Outside::nobody() }; OUTSIDE_MAX],
        }
    }
}

/// Bytes of a file for `length` steps.
pub const fn size(length: usize) -> usize {
    size_of::<Header>() + 3 * 4 * length
}
