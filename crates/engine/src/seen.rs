//! What a thread that waits for the baton has seen of the one that has it: whether it sleeps, or computes, and does not
//! come to its next point.

use crate::sys;
use crate::thread::Thread;

pub(crate) struct Seen {
    holder: usize,
    step: u64,
    began_ns: i64,
    cpu_ns: i64,
    /// Since when it has been seen there.
    pub since_ns: i64,
    /// How often in a row it was asleep.
    pub rests: u32,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen::NOTHING
    }
}

impl Seen {
    pub const NOTHING: Seen = Seen { holder: 0, step: 0, began_ns: 0, cpu_ns: 0, since_ns: 0, rests: 0 };

    /// Looks at the thread, which is in that step. For how long it has computed there, unless this is the first look at it.
    pub fn look(&mut self, running: &Thread, step: u64) -> Option<i64> {
        let (holder, cpu_ns) = (core::ptr::from_ref(running) as usize, sys::cpu_ns_of(running.tid));
        if (self.holder, self.step) != (holder, step) {
            let since_ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
            *self = Seen { holder, step, began_ns: cpu_ns, cpu_ns, since_ns, rests: 0 };
            return None;
        }
        let rests = cpu_ns == self.cpu_ns && sys::is_asleep(running.tid);
        self.rests = if rests { self.rests + 1 } else { 0 };
        self.cpu_ns = cpu_ns;
        Some(cpu_ns - self.began_ns)
    }

    /// Whether it is asleep, and has not run since the last look.
    pub fn is_unmoved(&self, running: &Thread) -> bool {
        sys::cpu_ns_of(running.tid) == self.cpu_ns && sys::is_asleep(running.tid)
    }
}
