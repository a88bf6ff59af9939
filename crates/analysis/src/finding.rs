//! What was found, as values. Whoever words them walks the history once more for the notes that they mark.

/// A note: whose, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark {
    pub thread: usize,
    pub sequence: u64,
}

/// Something that is wrong, or could have gone wrong. The order is that of seriousness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Threads that wait for each other in a circle, and those who wait behind them.
    Deadlock { circle: Vec<Waiter>, behind: Vec<Waiter> },
    /// A thread that waits for ever for a condition which was signalled when nobody waited for it.
    LostWakeUp { waiter: Waiter, signal: Mark, behind: Vec<Waiter> },
    /// Threads that wait for ever for the same, for another reason.
    WaitsForEver { waiters: Vec<Waiter>, behind: Vec<Waiter> },
    /// A mutex was unlocked by a thread that had not locked it; `alike` more times at the same lines.
    ForeignUnlock { unlock: Mark, taken: Mark, alike: usize },
    /// Locks that several threads take in different orders: they can wait for each other for ever, and did not this time.
    /// `alike` more circles of other locks are closed by the same lines.
    LockOrder { links: Vec<Link>, alike: usize },
}

impl Finding {
    /// Small is serious.
    pub fn rank(&self) -> usize {
        match self {
            Finding::Deadlock { .. } => 0,
            Finding::LostWakeUp { .. } => 1,
            Finding::WaitsForEver { .. } => 2,
            Finding::ForeignUnlock { .. } => 3,
            Finding::LockOrder { .. } => 4,
        }
    }

    /// All notes that the finding is about.
    pub fn marks(&self) -> Vec<Mark> {
        let of = |waiter: &Waiter| -> Vec<Mark> {
            let held = waiter.behind.iter().filter_map(|obstacle| match obstacle {
                Obstacle::Holder { taken, .. } => Some(*taken),
                Obstacle::Joined { .. } => None,
            });
            held.chain([waiter.wants]).collect()
        };
        match self {
            Finding::Deadlock { circle, behind } => circle.iter().chain(behind).flat_map(of).collect(),
            Finding::LostWakeUp { waiter, signal, behind } => {
                [waiter].into_iter().chain(behind).flat_map(of).chain([*signal]).collect()
            }
            Finding::WaitsForEver { waiters, behind } => waiters.iter().chain(behind).flat_map(of).collect(),
            Finding::ForeignUnlock { unlock, taken, .. } => vec![*unlock, *taken],
            Finding::LockOrder { links, .. } => links.iter().flat_map(|link| [link.outer, link.inner]).collect(),
        }
    }
}

/// A thread that waits, and who is in its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Who, and the operation that it never got done.
    pub wants: Mark,
    /// Empty if anybody could have ended the wait: a condition, a semaphore, a barrier.
    pub behind: Vec<Obstacle>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A thread that holds the lock, or runs what is run once, since `taken`; `ended` if it cannot release it any more.
    Holder { taken: Mark, ended: bool },
    /// A thread that is to be joined and does not end.
    Joined { thread: usize },
}

impl Obstacle {
    pub fn thread(&self) -> usize {
        match self {
            Obstacle::Holder { taken, .. } => taken.thread,
            Obstacle::Joined { thread } => *thread,
        }
    }
}

/// One side of a lock-order inversion: a thread that took `inner` while it held `outer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub outer: Mark,
    pub inner: Mark,
}
