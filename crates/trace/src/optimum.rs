//! The fewest receives of a process that must be traced, computed when its whole execution is known.
//!
//! Tracing enough means covering every race, so the optimum is a least vertex cover of the graph of races. In general
//! that is NP-hard (Netzer and Miller, 1992).
//!
//! If every receive is a wildcard it is easy for both notions of [`crate::race`], because "does not race with" is then
//! transitive along the order of the receives: what may stay untraced is a chain, and the longest is found in one pass.
//!
//! - Fronts: [Front](crate::front) finds it while recording; the proof is there.
//! - Pairs: let `i < j < k`, and neither `i, j` nor `j, k` race: of one channel, or the earlier receive happened before the
//!   send of the later message. If `j` happened before the send of `k`, so did `i`, which is before `j`. Otherwise `j`
//!   and `k` are of one channel; if `i` is, too, it does not race with `k`; if not, it happened before the send of `j`,
//!   which was before that of `k`. The longest chain that ends at `k` goes on from the longest that ends at the last one of
//!   its channel, or among the first [`Arrival::known`](crate::Arrival::known) receives.
//!
//! With selective receives: [`crate::graph`], exact for parts of up to [`crate::cover::SIZE_MAX`] receives, otherwise
//! near, with a proven lower bound.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::execution::History;
use crate::graph::{Cover, Graph};
use crate::policy::{Decision, Method};
use crate::race::{self, Race};
use crate::{Channel, Listen};

/// The fewest receives that a replay needs: they cover the races at the front.
pub fn fronts(history: &History) -> Cover {
    if all_wildcards(history) {
        let chosen = decided(Method::Front, history);
        let bound = chosen.len();
        return Cover { chosen, bound };
    }
    let mut cover = covered(history, race::fronts(history));
    cover.bound = cover.bound.max(wildcards_alone(history));
    for method in [Method::Front, Method::Window(crate::window::WIDTH_MAX)] {
        if cover.bound < cover.chosen.len() {
            let chosen = decided(method, history);
            cover.chosen = if chosen.len() < cover.chosen.len() { chosen } else { cover.chosen };
        }
    }
    cover
}

/// The fewest receives that cover the races of any two, as the paper counts them.
pub fn pairs(history: &History) -> Cover {
    if all_wildcards(history) { longest_chain(history) } else { covered(history, race::pairs(history)) }
}

/// The same without the short way for wildcards.
pub fn pairs_by_search(history: &History) -> Cover {
    covered(history, race::pairs(history))
}

/// The same without the short way for wildcards.
pub fn fronts_by_search(history: &History) -> Cover {
    covered(history, race::fronts(history))
}

/// The receives that a method traces.
pub fn decided(method: Method, history: &History) -> Vec<usize> {
    let mut policy = method.policy();
    let mut traced = Vec::new();
    let mut note = |decision: Option<Decision>| {
        traced.extend(decision.filter(|decision| decision.traced).map(|decision| decision.receive as usize));
        decision.is_some()
    };
    for received in &history.receives {
        note(policy.took(&received.arrival));
    }
    while note(policy.end()) {}
    traced
}

fn all_wildcards(history: &History) -> bool {
    history.receives.iter().all(|received| received.arrival.listen == Listen::Any)
}

fn covered(history: &History, races: impl Iterator<Item = Race>) -> Cover {
    let edges = races.filter_map(|race| Some((race.receive, race.taken_by?)));
    Graph::new(history.receives.len(), edges).cover()
}

/// The races among the wildcards are a part of all races, and their least cover is easily found.
fn wildcards_alone(history: &History) -> usize {
    let mut low_of_next = BTreeMap::<Channel, usize>::new();
    let (mut last_untraced, mut traced) = (None, 0);
    for (j, received) in history.receives.iter().enumerate() {
        let arrival = &received.arrival;
        let behind = low_of_next.insert(arrival.message.channel, j + 1).unwrap_or(0);
        if arrival.listen == Listen::Any {
            if last_untraced >= Some(behind.max(arrival.known as usize)) {
                traced += 1;
            } else {
                last_untraced = Some(j);
            }
        }
    }
    traced
}

fn longest_chain(history: &History) -> Cover {
    let receives = &history.receives;
    // Of the longest chain that ends at each receive: its length, and the receive before.
    let mut chains: Vec<(usize, Option<usize>)> = Vec::with_capacity(receives.len());
    let mut best_until: Vec<usize> = Vec::with_capacity(receives.len());
    let mut last_of = BTreeMap::<Channel, usize>::new();
    for (k, received) in receives.iter().enumerate() {
        let arrival = &received.arrival;
        let before_the_send = (arrival.known as usize).checked_sub(1).map(|last| best_until[last]);
        let own = last_of.insert(arrival.message.channel, k);
        let before = [before_the_send, own].into_iter().flatten().max_by_key(|i| chains[*i].0);
        chains.push((before.map_or(1, |i| chains[i].0 + 1), before));
        let best = best_until.last().copied().filter(|best| chains[*best].0 >= chains[k].0);
        best_until.push(best.unwrap_or(k));
    }
    let mut traced = vec![true; receives.len()];
    let mut at = best_until.last().copied();
    while let Some(i) = at {
        traced[i] = false;
        at = chains[i].1;
    }
    let chosen: Vec<usize> = (0..receives.len()).filter(|i| traced[*i]).collect();
    let bound = chosen.len();
    Cover { chosen, bound }
}
