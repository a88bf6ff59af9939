//! `Barrier`, as the standard library's: a mutex and a condition variable.

use super::native::call;
use super::{Condvar, Mutex};
use std::fmt;

/// As [`std::sync::Barrier`].
pub struct Barrier {
    state: Mutex<State>,
    condition: Condvar,
    threads: usize,
}

struct State {
    waiting: usize,
    round: usize,
}

/// As [`std::sync::BarrierWaitResult`], which only the standard library can make.
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// As the standard library's.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// As the standard library's.
    pub const fn new(threads: usize) -> Barrier {
        Barrier { state: Mutex::new(State { waiting: 0, round: 0 }), condition: Condvar::new(), threads }
    }

    /// As the standard library's.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let _call = call("wait at barrier", false);
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let round = state.round;
        state.waiting += 1;
        if state.waiting < self.threads {
            let waited = self.condition.wait_while(state, |state| state.round == round);
            drop(waited);
            return BarrierWaitResult(false);
        }
        state.waiting = 0;
        state.round = state.round.wrapping_add(1);
        self.condition.notify_all();
        BarrierWaitResult(true)
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.0).finish()
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
