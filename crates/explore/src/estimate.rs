//! What earlier runs tell the strategies: how long a run is, who does how much, which objects threads share.

use crate::plan::{Estimate, Plan, SELECTED_MAX, kind};
use crate::random::Random;
use crate::{Choice, NOBODY, THREADS, log};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub struct Estimates {
    /// Steps from the first choice on: no run that does the same has more choices. Too long costs PCT little, too short
    /// its promise.
    length: u64,
    /// By thread and object, from the run that was seen last.
    uses: BTreeMap<(u32, u32), u32>,
    parents: BTreeMap<u32, u32>,
    /// Objects that more than one thread uses.
    shared: Vec<u32>,
}

impl Estimates {
    pub fn learn(&mut self, run: &[Choice]) {
        let run = log::made(run);
        let alone = run.iter().take_while(|choice| !choice.is_free()).count();
        self.length = self.length.max((run.len() - alone) as u64);
        self.uses.clear();
        let mut users: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for choice in run {
            for thread in choice.able.iter() {
                self.parents.entry(thread).or_insert(if choice.current < thread { choice.current } else { NOBODY });
            }
            let act = &choice.chosen;
            if act.object != 0 {
                *self.uses.entry((act.thread, act.object)).or_default() += 1;
                users.entry(act.object).or_default().insert(act.thread);
            }
        }
        self.shared = users.into_iter().filter(|(_, users)| users.len() > 1).map(|(object, _)| object).collect();
    }

    /// Puts what is known into a plan. SURW selects all objects, or a few of the shared ones, as the seed says.
    pub fn fill(&self, plan: &mut Plan) {
        plan.length = self.length;
        if plan.kind != kind::SURW {
            return;
        }
        let mut random = Random::new(!plan.seed);
        plan.all_selected = u32::from(self.shared.len() < 2 || random.below(3) == 0);
        for place in 0..SELECTED_MAX.min(1 + random.below(2) as usize) {
            plan.selected[place] =
                self.shared.get(random.below(self.shared.len() as u64) as usize).copied().unwrap_or(0);
        }
        for (thread, estimate) in plan.threads.iter_mut().enumerate() {
            *estimate = Estimate { events: 0, parent: self.parents.get(&(thread as u32)).copied().unwrap_or(NOBODY) };
        }
        for ((thread, object), count) in &self.uses {
            let selected = plan.all_selected != 0 || plan.selected.contains(object);
            if selected && (*thread as usize) < THREADS {
                plan.threads[*thread as usize].events += count;
            }
        }
    }
}
