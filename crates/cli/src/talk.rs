//! What the participants of a take said to each other: the whole execution, as a replay told it, and its races.
//!
//! The tapes hold only what must be known. The rest is gathered by one replay (`develop`) and kept beside them.

use crate::develop;
use crate::parts;
use crate::status::{Failure, Result};
use crate::store::Store;
use crate::take::{self, Take};
use retake_tape::part::{Line, sent};
use retake_tape::reader::Tape;
use retake_tape::session::TALK_ENDING;
use retake_trace::execution::{Event, Execution, History, Place};
use retake_trace::race::{self, Race};
use retake_trace::{Channel, Listen, Message};
use std::collections::BTreeMap;

/// The talk of a take.
pub struct Talk {
    /// Of the participants, in the order of the processes of the execution.
    pub names: Vec<String>,
    pub histories: Vec<History>,
    /// For each participant and each of its events in the execution: the event on its tape.
    events: Vec<Vec<u64>>,
    /// For each participant and each of its receives: number of the frame from its sender, and id of the message.
    pub received: Vec<Vec<(u64, u64)>>,
}

impl Talk {
    /// Replays the take once if need be; `trust` runs a stranger's command. `None` if it has no participants.
    pub fn load(store: &Store, take: Take, trust: bool) -> Result<(Take, Option<Talk>)> {
        if take.facts.parts.is_empty() {
            return Ok((take, None));
        }
        let (take, _) = develop::rich_tapes(store, take, trust, "optimize")?;
        let talk = Talk::of(&take)?;
        Ok((take, talk))
    }

    /// The talk of a take that is developed. `None` if it has no participants.
    pub fn of(take: &Take) -> Result<Option<Talk>> {
        if take.facts.parts.is_empty() {
            return Ok(None);
        }
        let files = take::files(&take.dir, TALK_ENDING)?;
        let words = |why: String| Failure::own(format!("cannot use what the replay noted: {why}"));
        let tapes = files.iter().map(|path| take::load(path).map_err(words)).collect::<Result<Vec<Tape>>>()?;
        Talk::new(take, &tapes).map(Some)
    }

    fn new(take: &Take, tapes: &[Tape]) -> Result<Talk> {
        let names: Vec<String> = take.facts.parts.iter().map(|part| part.process.clone()).collect();
        let label = take.label();
        if let Some(name) = names.iter().find(|name| name.contains('@')) {
            let name = name.split('@').next().unwrap_or_default();
            return Err(Failure::own(format!(
                "{label} cannot be looked at: several participants had the name {name}, one after the other"
            )));
        }
        let mut gather = Gather { names: &names, replies: BTreeMap::new() };
        let (mut processes, mut events, mut received) = (Vec::new(), Vec::new(), Vec::new());
        for name in &names {
            let Some(tape) = tapes.iter().find(|tape| tape.name() == *name) else {
                let what = format!("{label} cannot be looked at: the replay has told nothing of {name}");
                return Err(Failure::own(what).next(format!("retake replay {label}")));
            };
            let told = gather.participant(processes.len(), tape);
            processes.push(told.did);
            events.push(told.events);
            received.push(told.received);
        }
        let histories = Execution { processes }.histories().map_err(|impossible| {
            Failure::own(format!("what the replay of {label} told cannot have happened: {impossible:?}"))
        })?;
        Ok(Talk { names, histories, events, received })
    }

    /// The event on its participant's tape.
    pub fn event(&self, place: Place) -> u64 {
        self.events[place.process][place.event]
    }

    /// How many receives there were.
    pub fn receives(&self) -> usize {
        self.histories.iter().map(|history| history.receives.len()).sum()
    }

    /// Every race, with the participant whose receive it is.
    pub fn races(&self) -> impl Iterator<Item = (usize, Race)> {
        let of = |(at, history)| race::fronts(history).map(move |race| (at, race));
        self.histories.iter().enumerate().flat_map(of)
    }

    /// A race in a sentence.
    pub fn tell(&self, at: usize, race: &Race) -> String {
        let took = &self.histories[at].receives[race.receive];
        let sender = |message: Message| &self.names[message.channel.0 as usize];
        let fate = match race.taken_by {
            Some(receive) => {
                let later = self.histories[at].receives[receive].at;
                format!("which came at event {}", self.event(later))
            }
            None => "which was never received".into(),
        };
        format!(
            "{} received at event {} what {} had sent at its event {}; it could have received what {} had sent at its \
             event {}, {fate}",
            self.names[at],
            self.event(took.at),
            sender(took.arrival.message),
            self.event(took.sent),
            sender(race.other),
            self.event(race.sent),
        )
    }
}

/// What one participant did.
#[derive(Default)]
struct Told {
    did: Vec<Event>,
    events: Vec<u64>,
    received: Vec<(u64, u64)>,
}

struct Gather<'a> {
    names: &'a [String],
    /// Each reply has a channel of its own: sender, receiver, id.
    replies: BTreeMap<(usize, usize, u64), u32>,
}

impl Gather<'_> {
    fn participant(&mut self, at: usize, tape: &Tape) -> Told {
        let (mut told, mut partners, mut only) = (Told::default(), Vec::new(), None);
        parts::each(tape, |event, line| {
            let partner = |index: u32| partners.get(index as usize).copied().flatten();
            let did = match *line {
                Line::Partner { name, .. } => {
                    partners.push(self.names.iter().position(|its| its.as_bytes() == name));
                    None
                }
                Line::Only(index) => {
                    only = partner(index);
                    None
                }
                Line::Sent { to, how: sent::REPLY, id, .. } => partner(to).map(|to| {
                    let channel = self.reply(at, to, id);
                    Event::Tell { to, channel }
                }),
                Line::Sent { to, .. } => partner(to).map(|to| Event::Send { to, channel: Channel(at as u32) }),
                Line::Reply { from, id } => {
                    partner(from).map(|from| Event::Learn { channel: self.reply(from, at, id) })
                }
                Line::Received { from, seq, id, .. } => partner(from).map(|from| {
                    told.received.push((seq, id));
                    let listen = only.take().map_or(Listen::Any, |only| Listen::Only(vec![Channel(only as u32)]));
                    Event::Receive { channel: Channel(from as u32), listen }
                }),
                _ => None,
            };
            if let Some(did) = did {
                told.did.push(did);
                told.events.push(event);
            }
        });
        told
    }

    fn reply(&mut self, from: usize, to: usize, id: u64) -> Channel {
        let next = self.replies.len() as u32;
        Channel(*self.replies.entry((from, to, id)).or_insert(next))
    }
}
