//! Window: the decision about a receive is made N receives later, with what is then known.
//!
//! Paper: named as future work in A. Karmarkar, N. Vaidya, R. Netzer, "Optimal Run-Time Tracing of Message-Passing
//! Programs", TR95-040, Texas A&M, 1995, section 6. It decides about races at the front ([`crate::race::fronts`]).
//!
//! When a receive is decided, those decided before it are fixed, and those that came after it, at most N, are known.
//! Some of these must be traced whatever is decided now, because they race with one that is untraced for good; they are
//! set aside. Among the rest, the least number that covers all races is computed twice: freely, and with the oldest
//! untraced. If both are equal, the oldest is left untraced, otherwise it is traced.
//!
//! Guaranteed:
//! 1. Every race is covered. A receive is left untraced only if it races with no earlier untraced one.
//! 2. `window=0` decides as [Front](crate::front) does: the oldest alone has nothing to gain from being traced.
//! 3. *Nothing to regret within the window.* Let F be what is decided before receive `i` is. Of all ways to go on from F
//!    that cover the races among the receives seen by then, the decision about `i` begins one that traces the fewest. So
//!    over what was seen, it does no worse than going on from F as Front or Algorithm B would. Proof: the sum of those
//!    traced in F and of the least cover of the rest is the least possible from F; leaving `i` untraced is chosen only
//!    if it keeps that sum; otherwise every least cover contains `i`, and tracing it keeps the sum.
//! 4. If N is at least the number of receives of the process less one, as few are traced as any method can. Proof: the
//!    first decision is made with everything seen and F empty; by 3 the sum is the optimum, and no decision changes it.
//! 5. If every receive is a wildcard, any N traces as few as any method can, as Front does; a wider window gains nothing.
//!
//! Not guaranteed: that it traces fewer than Front over the whole run. What pays within the window may cost behind it;
//! `window_can_lose` in `tests/paper.rs` is such a case. On random executions it is seldom.
//!
//! Deviation from the paper: it leaves open what to do with the knowledge; this file solves the covering exactly, and
//! therefore bounds N.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::cover;
use crate::front::{Lows, Untraced};
use crate::policy::{Decision, Policy};
use crate::{Arrival, Channel, Listen};

/// The widest window: with the receive to be decided, what the exact cover can take.
pub const WIDTH_MAX: usize = cover::SIZE_MAX - 1;

pub struct Window {
    width: usize,
    next: u64,
    lows: Lows,
    untraced: Untraced,
    undecided: VecDeque<Undecided>,
}

struct Undecided {
    receive: u64,
    channel: Channel,
    listen: Listen,
    low: u64,
}

impl Undecided {
    fn races_with_later(&self, later: &Undecided) -> bool {
        self.receive >= later.low && self.listen.hears(later.channel)
    }
}

impl Window {
    pub fn new(width: usize) -> Window {
        assert!(width <= WIDTH_MAX, "a window of {width} receives");
        let undecided = VecDeque::with_capacity(width + 1);
        Window { width, next: 0, lows: Lows::default(), untraced: Untraced::default(), undecided }
    }

    fn must_be_traced(&self, receive: &Undecided) -> bool {
        self.untraced.races(receive.channel, receive.low)
    }

    fn decide_oldest(&mut self) -> Option<Decision> {
        let oldest = self.undecided.front()?;
        let traced = self.must_be_traced(oldest) || self.pays(oldest);
        let oldest = self.undecided.pop_front()?;
        if !traced {
            self.untraced.put(oldest.receive, &oldest.listen);
        }
        Some(Decision { receive: oldest.receive, traced })
    }

    /// Whether every least cover of the races that are still open contains the oldest.
    fn pays(&self, oldest: &Undecided) -> bool {
        let open: Vec<&Undecided> = self.undecided.iter().filter(|later| !self.must_be_traced(later)).collect();
        let rivals = open[1..].iter().filter(|later| oldest.races_with_later(later)).count();
        // With one rival, tracing that one is as good; of wildcards the first may always stay untraced.
        if rivals < 2 || open.iter().all(|receive| receive.listen == Listen::Any) {
            return false;
        }
        let mut races = Vec::new();
        for (i, earlier) in open.iter().enumerate() {
            let later = open[i + 1..].iter().enumerate().filter(|(_, later)| earlier.races_with_later(later));
            races.extend(later.map(|(distance, _)| (i, i + 1 + distance)));
        }
        let graph = cover::Small::new(open.len(), &races);
        let freely = graph.least_cover(graph.all()).count_ones();
        let without = graph.neighbours(0);
        let untraced = without.count_ones() + graph.least_cover(graph.all() & !without & !1).count_ones();
        untraced > freely
    }
}

impl Policy for Window {
    fn took(&mut self, arrival: &Arrival) -> Option<Decision> {
        let receive = self.next;
        self.next += 1;
        let low = self.lows.take(receive, arrival);
        let (channel, listen) = (arrival.message.channel, arrival.listen.clone());
        self.undecided.push_back(Undecided { receive, channel, listen, low });
        if self.undecided.len() > self.width { self.decide_oldest() } else { None }
    }

    fn end(&mut self) -> Option<Decision> {
        self.decide_oldest()
    }
}
