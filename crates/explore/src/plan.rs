//! The plan of one run: which strategy, with which numbers. Plain data, written by the command line, read by the program.
//!
//! The prefix (the first choices, as thread numbers) is kept beside it, because it has no fixed length.

use crate::{Act, NOBODY, THREADS};

/// Strategies, by number.
pub mod kind {
    /// Whoever runs goes on as long as it can.
    pub const STEADY: u32 = 0;
    pub const WALK: u32 = 1;
    pub const PCT: u32 = 2;
    pub const POS: u32 = 3;
    pub const SURW: u32 = 4;

    pub const NAMES: [&str; 5] = ["steady", "random", "pct", "pos", "surw"];
}

/// Deepest bug that PCT looks for.
pub const DEPTH_MAX: usize = 16;
/// Most objects that can be selected.
pub const SELECTED_MAX: usize = 64;

/// What an earlier run tells of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Estimate {
    /// Its selected operations.
    pub events: u32,
    /// Who created it; [`NOBODY`] if that is not known.
    pub parent: u32,
}

#[derive(Clone, Debug)]
#[repr(C)]
pub struct Plan {
    /// See [`kind`]: what chooses when the prefix has been followed.
    pub kind: u32,
    /// PCT: how many orderings the bug needs, from 1.
    pub depth: u32,
    pub seed: u64,
    /// Points at which there is a choice, as an earlier run had them; 0 if there was none.
    pub length: u64,
    /// SURW: whether all objects are selected, whatever `selected` says.
    pub all_selected: u32,
    /// How many of `asleep` count.
    pub asleep_length: u32,
    /// SURW: the selected objects; 0 is none.
    pub selected: [u32; SELECTED_MAX],
    /// SURW: by thread number.
    pub threads: [Estimate; THREADS],
    /// Exhaustive search: whoever would only repeat a run that was done already, until something depends on it.
    pub asleep: [Act; THREADS],
}

impl Plan {
    pub const fn new(kind: u32, seed: u64) -> Plan {
        Plan {
            kind,
            depth: 3,
            seed,
            length: 0,
            all_selected: 1,
            asleep_length: 0,
            selected: [0; SELECTED_MAX],
            threads: [Estimate { events: 0, parent: NOBODY }; THREADS],
            asleep: [Act::NONE; THREADS],
        }
    }

    /// The strategy in words.
    pub fn name(&self) -> &'static str {
        kind::NAMES.get(self.kind as usize).copied().unwrap_or("steady")
    }

    /// Whether SURW weighs the operation.
    pub fn selects(&self, act: &Act) -> bool {
        let is_selected = |object: u32| object != 0 && self.selected.contains(&object);
        act.object != 0 && (self.all_selected != 0 || is_selected(act.object) || is_selected(act.other))
    }

    pub(crate) fn asleep(&self) -> &[Act] {
        self.asleep.get(..self.asleep_length as usize).unwrap_or(&self.asleep)
    }
}
