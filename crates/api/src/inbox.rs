//! The inbox: what has arrived and was not asked for yet.
//!
//! Messages stand in one queue in the order of their arrival; replies wait apart, for the call that asked for them. This
//! is all there is to matching: a live receive takes the first that fits, a replayed one takes the message that its tape
//! names. Nothing here waits or knows a mode.

use crate::frame::{Head, Hello, Kind};
use crate::noting::Noting;
use crate::transport::{Arrival, Source, Way};
use retake_trace::wire::{self, Stamp};
use retake_trace::{Channel, Listen};
use std::collections::VecDeque;
use std::sync::Arc;

/// Somebody who sends to us.
#[derive(Debug)]
pub struct Sender {
    pub source: Source,
    pub name: Arc<str>,
    pub host: Arc<str>,
    pub life: u32,
    /// Number of the last frame.
    last: u64,
    pub ended: bool,
    /// It has ended, and another of its name is looked for.
    past: bool,
    /// Something of it was lost, and nobody was told yet.
    missing: bool,
    /// That was told before the next frame came, whose number will show it again.
    told: bool,
    /// It has sent something that is no stamp: nothing more is taken from it.
    refused: bool,
}

/// A frame that has arrived.
#[derive(Debug)]
pub struct Arrived {
    /// Which of the senders.
    pub sender: usize,
    pub head: Head,
    /// The stamp, if there is one, and the contents.
    body: Vec<u8>,
    /// Where the contents begin.
    start: usize,
    /// What the sender knew; nothing if it has not said.
    pub stamp: Stamp,
    /// At least one frame was lost before this one, and nobody was told yet.
    pub gap: bool,
}

impl Arrived {
    pub fn contents(&self) -> &[u8] {
        self.body.get(self.start..).unwrap_or(&[])
    }

    /// The contents, behind so many bytes of something else.
    pub fn into_body(self) -> (Vec<u8>, usize) {
        (self.body, self.start)
    }
}

#[derive(Debug, Default)]
pub struct Inbox {
    pub senders: Vec<Sender>,
    queue: VecDeque<Arrived>,
    /// Replies to the call that was made last, one of each sender; others come too late, or to nobody, and are dropped.
    replies: VecDeque<Arrived>,
    /// The id of that call.
    calling: u64,
    /// Ways whose other end is gone.
    lost: Vec<Way>,
    /// Frames so far: tells whether anything moves.
    pub moves: u64,
}

impl Inbox {
    /// Takes in what the transport brought; `noting` learns of stamps, in their order.
    pub fn take(&mut self, arrival: Arrival, noting: Option<&mut Noting>) {
        self.moves += 1;
        match arrival {
            Arrival::Met(source, Hello { name, host, life, number }) => {
                if let Some(noting) = noting {
                    noting.met(self.senders.len(), number);
                }
                let (name, host) = (name.into(), host.into());
                let (last, ended, past, missing, told, refused) = (0, false, false, false, false, false);
                self.senders.push(Sender { source, name, host, life, last, ended, past, missing, told, refused });
            }
            Arrival::Frame(source, head, body) => {
                let Some(sender) = self.senders.iter().rposition(|sender| sender.source == source) else { return };
                if head.seq <= self.senders[sender].last || self.senders[sender].refused {
                    return;
                }
                let Some((start, stamp)) = stamp_of(head, &body, sender, noting) else {
                    (self.senders[sender].refused, self.senders[sender].ended) = (true, true);
                    return;
                };
                let known = &mut self.senders[sender];
                let told = std::mem::take(&mut known.told);
                let shows = known.last != 0 && head.seq != known.last + 1;
                let gap = std::mem::take(&mut known.missing) || shows && !told;
                known.last = head.seq;
                let arrived = Arrived { sender, head, body, start, stamp, gap };
                if head.kind != Kind::Reply {
                    self.queue.push_back(arrived);
                } else if head.id == self.calling && !self.replies.iter().any(|first| first.sender == sender) {
                    self.replies.push_back(arrived);
                }
            }
            Arrival::Missing(source) => {
                for sender in self.senders.iter_mut().filter(|sender| sender.source == source) {
                    sender.missing = true;
                }
            }
            Arrival::Ended(source) => {
                for sender in self.senders.iter_mut().filter(|sender| sender.source == source) {
                    sender.ended = true;
                }
            }
            Arrival::Lost(way) => self.lost.push(way),
        }
    }

    /// The first message, or the first from `only`.
    pub fn first(&mut self, only: Option<&str>) -> Option<Taken> {
        let senders = &self.senders;
        let fits = |arrived: &Arrived| only.is_none_or(|name| *senders[arrived.sender].name == *name);
        let Some(at) = self.queue.iter().position(fits) else {
            let lost = |sender: &&mut Sender| sender.missing && only.is_none_or(|name| *sender.name == *name);
            let sender = self.senders.iter_mut().find(lost)?;
            (sender.missing, sender.told) = (false, true);
            return Some(Taken::Gap(sender.name.clone()));
        };
        let arrived = self.queue.get_mut(at)?;
        if std::mem::take(&mut arrived.gap) {
            return Some(Taken::Gap(self.senders[arrived.sender].name.clone()));
        }
        self.queue.remove(at).map(Taken::Message)
    }

    /// The first of a sender's messages that is free, if others may not overtake it.
    pub fn free(&mut self, only: Option<&str>, is_free: impl Fn(&Sender, u64) -> bool) -> Option<Arrived> {
        let (senders, queue) = (&self.senders, &self.queue);
        let at = queue.iter().enumerate().position(|(at, arrived)| {
            let sender = &senders[arrived.sender];
            only.is_none_or(|name| *sender.name == *name)
                && is_free(sender, arrived.head.seq)
                && !queue.iter().take(at).any(|earlier| earlier.sender == arrived.sender)
        })?;
        self.queue.remove(at)
    }

    /// What a receive listens on: everyone, or those who have this name.
    pub fn listen(&self, only: Option<&str>) -> Listen {
        let Some(name) = only else { return Listen::Any };
        let named = self.senders.iter().enumerate().filter(|(_, sender)| *sender.name == *name);
        Listen::Only(named.map(|(at, _)| Channel(at as u32)).collect())
    }

    /// Which of the senders has this name now.
    pub fn sender_at(&self, name: &str) -> Option<usize> {
        self.senders.iter().rposition(|sender| *sender.name == *name)
    }

    /// The message that a tape names.
    pub fn named(&mut self, name: &str, life: u32, seq: u64) -> Option<Arrived> {
        let senders = &self.senders;
        let at = self.queue.iter().position(|arrived| {
            let sender = &senders[arrived.sender];
            arrived.head.seq == seq && sender.life == life && *sender.name == *name
        })?;
        self.queue.remove(at)
    }

    /// A call is about to be made: whatever comes to earlier ones comes too late.
    pub fn calls(&mut self, id: u64) {
        self.replies.clear();
        self.calling = id;
    }

    /// The reply to our message `id` from `name`. Replies that nobody waits for any more are dropped.
    pub fn reply(&mut self, name: &str, id: u64) -> Option<Arrived> {
        let senders = &self.senders;
        let wanted = |arrived: &Arrived| arrived.head.id == id && *senders[arrived.sender].name == *name;
        let found = self.replies.iter().position(wanted)?;
        let reply = self.replies.remove(found);
        self.replies.clear();
        reply
    }

    /// Whoever of this name sends to us now, if anybody does.
    fn sender(&self, name: &str) -> Option<&Sender> {
        self.senders.iter().rfind(|sender| *sender.name == *name && !sender.past)
    }

    /// Where whatever comes from the participant of this name will come in, if it has sent anything.
    pub fn source(&self, name: &str) -> Option<Source> {
        self.sender(name).filter(|sender| !sender.ended).map(|sender| sender.source)
    }

    /// A new way was opened to that name: those who ended before do not count any more.
    pub fn look_ahead(&mut self, name: &str) {
        for sender in self.senders.iter_mut().filter(|sender| sender.ended && *sender.name == *name) {
            sender.past = true;
        }
    }

    /// Whether the sender of that name and life has ended.
    pub fn has_ended(&self, name: &str, life: u32) -> bool {
        self.senders.iter().any(|sender| sender.ended && sender.life == life && *sender.name == *name)
    }

    /// Whether nothing can come any more from the partner of this name, to whom `way` leads.
    pub fn is_gone(&self, name: &str, way: Option<Way>) -> bool {
        let lost = way.is_some_and(|way| self.lost.contains(&way));
        match self.sender(name) {
            Some(sender) => sender.ended,
            None => lost,
        }
    }

    /// Whether the other end of `way` is gone.
    pub fn is_lost(&self, way: Way) -> bool {
        self.lost.contains(&way)
    }
}

/// Where the contents begin behind a head, and the stamp; `None` if what should be a stamp is none.
fn stamp_of(head: Head, body: &[u8], sender: usize, noting: Option<&mut Noting>) -> Option<(usize, Stamp)> {
    let mut rest = body;
    let stamp = match noting {
        _ if !head.stamped => Stamp::default(),
        Some(noting) => noting.arrived(sender, &mut rest).ok()?,
        None => wire::skip(&mut rest).map(|()| Stamp::default()).ok()?,
    };
    Some((body.len() - rest.len(), stamp))
}

/// What a receive gets.
#[derive(Debug)]
pub enum Taken {
    Message(Arrived),
    /// Something from this sender was lost before the next message.
    Gap(Arc<str>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(source: Source, kind: Kind, seq: u64, id: u64) -> Arrival {
        Arrival::Frame(source, Head { kind, seq, id, stamped: false }, Vec::new())
    }

    fn met(inbox: &mut Inbox, source: Source, name: &str) {
        inbox.take(Arrival::Met(source, Hello { name: name.into(), host: "h".into(), life: 1, number: 0 }), None);
    }

    fn ids(inbox: &mut Inbox, only: Option<&str>) -> Vec<u64> {
        std::iter::from_fn(|| match inbox.first(only)? {
            Taken::Message(arrived) => Some(arrived.head.id),
            Taken::Gap(_) => Some(0),
        })
        .collect()
    }

    #[test]
    fn messages_come_in_the_order_of_arrival_and_by_name() {
        let mut inbox = Inbox::default();
        met(&mut inbox, 0, "a");
        met(&mut inbox, 1, "b");
        for (source, seq, id) in [(0, 1, 10), (1, 1, 20), (0, 2, 11), (1, 2, 21)] {
            inbox.take(frame(source, Kind::Send, seq, id), None);
        }
        assert_eq!(inbox.named("b", 1, 2).map(|arrived| arrived.head.id), Some(21));
        assert!(inbox.named("b", 2, 1).is_none());
        assert_eq!(ids(&mut inbox, Some("b")), [20]);
        assert_eq!(ids(&mut inbox, None), [10, 11]);
    }

    #[test]
    fn replies_wait_for_their_call() {
        let mut inbox = Inbox::default();
        met(&mut inbox, 0, "a");
        inbox.calls(6);
        for (seq, id) in [(1, 4), (2, 6)] {
            inbox.take(frame(0, Kind::Reply, seq, id), None);
        }
        assert!(inbox.reply("a", 5).is_none());
        assert!(inbox.reply("b", 6).is_none());
        assert!(inbox.reply("a", 6).is_some());
        assert!(inbox.reply("a", 4).is_none(), "a late reply is dropped");
        assert!(ids(&mut inbox, None).is_empty());
    }

    /// Whoever calls again and again, and gets every reply too late, does not gather them; neither does one who never calls.
    #[test]
    fn replies_to_nobody_take_no_memory() {
        let mut inbox = Inbox::default();
        met(&mut inbox, 0, "a");
        for seq in 1..100 {
            inbox.take(frame(0, Kind::Reply, seq, 1000 + seq), None);
        }
        assert!(inbox.replies.is_empty());
        for call in 1..100 {
            inbox.calls(call);
            inbox.take(frame(0, Kind::Reply, 100 + 3 * call, call - 1), None);
            inbox.take(frame(0, Kind::Reply, 101 + 3 * call, call), None);
            inbox.take(frame(0, Kind::Reply, 102 + 3 * call, call), None);
            assert!(inbox.replies.len() == 1);
        }
    }

    #[test]
    fn a_gap_is_told_once_and_copies_are_dropped() {
        let mut inbox = Inbox::default();
        met(&mut inbox, 0, "a");
        for (seq, id) in [(1, 1), (1, 1), (4, 4), (5, 5)] {
            inbox.take(frame(0, Kind::Send, seq, id), None);
        }
        assert_eq!(ids(&mut inbox, None), [1, 0, 4, 5]);
        // The transport tells of it first: before the next frame, or with it.
        inbox.take(Arrival::Missing(0), None);
        assert_eq!(ids(&mut inbox, None), [0]);
        inbox.take(frame(0, Kind::Send, 7, 7), None);
        inbox.take(Arrival::Missing(0), None);
        inbox.take(frame(0, Kind::Send, 9, 9), None);
        inbox.take(frame(0, Kind::Send, 11, 11), None);
        assert_eq!(ids(&mut inbox, None), [7, 0, 9, 0, 11]);
    }

    /// One message of the model: everything that came and was not taken, in the order of its coming.
    #[derive(Clone, Debug, PartialEq)]
    struct Waiting {
        from: usize,
        seq: u64,
        id: u64,
        reply: bool,
    }

    /// Small random numbers, the same in every run of the tests.
    fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed * 0x9E37_79B9 + 1;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) % below
        }
    }

    /// Whatever comes in whatever order, every way to take a message gives what a plain list of them would give.
    #[test]
    fn matching_is_that_of_a_plain_list() {
        const NAMES: [&str; 3] = ["a", "b", "c"];
        for seed in 0..300 {
            let mut roll = dice(seed);
            let (mut inbox, mut model, mut seqs) = (Inbox::default(), Vec::<Waiting>::new(), [0u64; 3]);
            let mut calling = 0;
            (0..3).for_each(|source| met(&mut inbox, source, NAMES[source]));
            for step in 0..200 {
                let from = roll(3) as usize;
                let only = (roll(2) == 0).then_some(NAMES[from]);
                let fits = |one: &Waiting| !one.reply && only.is_none_or(|name| NAMES[one.from] == name);
                let (got, expected): (Option<u64>, Option<usize>) = match roll(8) {
                    0..=2 => {
                        seqs[from] += 1;
                        let (seq, id, reply) = (seqs[from], roll(9), roll(4) == 0);
                        let kind = if reply { Kind::Reply } else { [Kind::Send, Kind::Call][roll(2) as usize] };
                        inbox.take(frame(from, kind, seq, id), None);
                        let again = model.iter().any(|one| one.reply && one.from == from);
                        if !reply || id == calling && !again {
                            model.push(Waiting { from, seq, id, reply });
                        }
                        continue;
                    }
                    7 => {
                        calling = 1 + roll(8);
                        inbox.calls(calling);
                        model.retain(|one| !one.reply);
                        continue;
                    }
                    3 => {
                        let taken = inbox.first(only).map(|taken| match taken {
                            Taken::Message(arrived) => arrived.head.seq,
                            Taken::Gap(_) => panic!("nothing was lost"),
                        });
                        (taken, model.iter().position(fits))
                    }
                    4 => {
                        let seq = 1 + roll(seqs[from] + 1);
                        let named = inbox.named(NAMES[from], 1, seq).map(|arrived| arrived.head.seq);
                        (named, model.iter().position(|one| one.from == from && one.seq == seq && !one.reply))
                    }
                    5 => {
                        let even = |_: &Sender, seq: u64| seq.is_multiple_of(2);
                        let free = inbox.free(only, even).map(|arrived| arrived.head.seq);
                        // Nobody overtakes an earlier message of the same sender.
                        let first = |at: usize| !model[..at].iter().any(|one| one.from == model[at].from && !one.reply);
                        let fits = |at: &usize| fits(&model[*at]) && model[*at].seq.is_multiple_of(2) && first(*at);
                        (free, (0..model.len()).find(fits))
                    }
                    _ => {
                        let id = if roll(2) == 0 { calling } else { roll(9) };
                        let reply = inbox.reply(NAMES[from], id).map(|arrived| arrived.head.seq);
                        let at = model.iter().position(|one| one.reply && one.from == from && one.id == id);
                        let expected = at.map(|at| model[at].seq);
                        assert_eq!(reply, expected, "seed {seed}, step {step}");
                        if at.is_some() {
                            // The others come too late.
                            model.retain(|one| !one.reply);
                        }
                        continue;
                    }
                };
                assert_eq!(got, expected.map(|at| model[at].seq), "seed {seed}, step {step}");
                if let Some(at) = expected {
                    model.remove(at);
                }
            }
        }
    }
}
