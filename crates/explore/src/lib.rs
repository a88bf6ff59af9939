//! Which thread goes on: everything about exploring interleavings that needs no program to be decided.
//!
//! One thread runs at a time. At a *point* the thread that ran is about to do something; a strategy chooses who goes on
//! among those that can. Whoever is chosen does what it was about to do and runs until its next point.
//!
//! ```text
//! online    plan + prefix --> Chooser -- point --> who goes on --> one Choice to the log    (inside the program)
//! offline   logs --> estimates, searches, portfolio --> the next plan                       (the command line)
//!           a failing log --> shrink --> the fewest preemptions that still fail --> decide --> the order that decides
//!           all logs --> coverage
//! ```
//!
//! A run is the same again if its choices are: a list of thread numbers is all that has to be kept.
//!
//! Law: pure. No I/O, no clock, no unsafe code. The online part is `core` alone: it neither allocates nor panics, and
//! looks at a fixed number of threads. What is read from a log was written by another process: it never makes this panic.

#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub mod choice;
pub mod chooser;
pub mod depends;
pub mod plan;
pub mod random;
pub mod set;
pub mod steady;

#[cfg(feature = "std")]
pub mod between;
#[cfg(feature = "std")]
pub mod bounded;
#[cfg(feature = "std")]
pub mod coverage;
#[cfg(feature = "std")]
pub mod decide;
#[cfg(feature = "std")]
pub mod estimate;
#[cfg(feature = "std")]
pub mod exhaustive;
#[cfg(feature = "std")]
pub mod log;
#[cfg(feature = "std")]
pub mod order;
#[cfg(feature = "std")]
pub mod portfolio;
#[cfg(feature = "std")]
pub mod shrink;

mod pct;
mod pos;
mod surw;
mod walk;

pub use choice::Choice;
pub use chooser::Chooser;
pub use plan::{Plan, kind};
pub use set::Threads;

/// How many threads a strategy tells apart. Those beyond run, lowest first, when none of these can.
pub const THREADS: usize = 256;

/// Nobody: in the place of a thread.
pub const NOBODY: u32 = u32::MAX;

/// An object that every operation meets: for operations whose order with all others counts.
pub const EVERYTHING: u32 = u32::MAX;

/// A thread as an object: of its creation, its start, its end, and whoever joins it.
pub const fn of_thread(thread: u32) -> u32 {
    (EVERYTHING - 1).wrapping_sub(thread)
}

/// What [`Act::flags`] says.
pub mod flag {
    /// The thread yields or sleeps: if it does so again and again, it steps back behind the others.
    pub const YIELDS: u16 = 1;
    /// If the thread goes on now, its wait ends because of its time-out.
    pub const TIMES_OUT: u16 = 2;
    /// In a log: the prefix did not fit any more here.
    pub const STRAYED: u16 = 4;
    /// In a log: from here on the run repeats one that was done already.
    pub const REPEATS: u16 = 8;
}

/// What a thread is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(C)]
pub struct Act {
    /// Its number, in the order of creation; the main thread is 0.
    pub thread: u32,
    /// The object, by a name of one word: no two objects of a run share it, and other runs use it for the same object
    /// where they can (its address, folded; [`of_thread`] for a thread). 0 is none, [`EVERYTHING`] all.
    pub object: u32,
    /// A second object, 0 if there is none. Beginning to wait for a condition is giving up its mutex, with the condition
    /// as the other object; having waited is a wait for the condition, with the mutex as the other.
    pub other: u32,
    /// The tape's number of the operation; 0 is none.
    pub op: u16,
    /// See [`flag`].
    pub flags: u16,
}

impl Act {
    pub const NONE: Act = Act { thread: NOBODY, object: 0, other: 0, op: 0, flags: 0 };

    pub const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// What a strategy is told.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Choices made before this one.
    pub step: u64,
    /// Who ran, and what it is about to do now, whether or not it can; [`Act::NONE`] if it has ended, or at the start.
    pub arrived: Act,
    /// Who ran; [`NOBODY`] at the start.
    pub current: u32,
    /// Who can go on, by rising thread number, each at most once. Empty only if all are stuck: then nobody is chosen,
    /// and the log gets a last record of where the last thread arrived.
    pub able: &'a [Act],
}
