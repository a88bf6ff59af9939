//! One choice as it is logged: who could have gone on, who did, and what was about to be done.

use crate::{Act, Point, Threads};

/// A record of the log, one for each point, in order. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Choice {
    /// Who goes on, and what it does. The flags of a log are here.
    pub chosen: Act,
    /// Who ran, and what it was about to do; [`Act::NONE`] if it has ended.
    pub arrived: Act,
    /// Who ran.
    pub current: u32,
    /// How many could go on, those that no strategy tells apart included.
    pub able_length: u32,
    /// Who could go on.
    pub able: Threads,
    /// Who of them stood behind: those that yield again and again, and waits that would time out.
    pub behind: Threads,
}

impl Choice {
    /// The choice of `able[index]`, with nobody behind; nobody is chosen if there is no such index.
    pub fn of(point: &Point, index: usize) -> Choice {
        let mut able = Threads::NONE;
        point.able.iter().for_each(|act| able.put(act.thread));
        Choice {
            chosen: point.able.get(index).copied().unwrap_or(Act::NONE),
            arrived: point.arrived,
            current: point.current,
            able_length: point.able.len() as u32,
            able,
            behind: Threads::NONE,
        }
    }

    /// Whether there was anything to choose.
    pub fn is_free(&self) -> bool {
        self.able_length > 1
    }

    /// Whether the thread that ran could have gone on, wanted to, and another was chosen.
    pub fn preempts(&self) -> bool {
        self.chosen.thread != self.current && self.able.has(self.current) && !self.behind.has(self.current)
    }
}
