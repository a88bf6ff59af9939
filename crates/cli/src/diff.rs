//! `retake diff`: where two takes part.
//!
//! Compared thread by thread on the light tapes: the same hand-overs and the same outcomes mean the same order. What is
//! input (clocks, random bytes, ids of processes and tasks) differs from run to run and is passed over. What receives
//! from anyone got is compared by their numbers.

use crate::Ending;
use crate::develop;
use crate::lines;
use crate::messages::{self, Received};
use crate::names::ObjectNames;
use crate::status::{Result, Status};
use crate::store::Store;
use crate::take::{Take, place};
use crate::words;
use retake_tape::entry::Entry;
use retake_tape::matches::Match;
use retake_tape::op::Op;
use retake_tape::reader::{Tape, Thread};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};

#[derive(clap::Args)]
pub struct Args {
    /// One take
    one: String,
    /// The other
    #[arg(default_value = "latest")]
    two: String,
    /// JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Where in a thread two takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Event(u64),
    /// The receive from anyone of this number, which got another message.
    Receive(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Event(event) => write!(f, "event {event}"),
            Place::Receive(number) => write!(f, "receive {} from anyone", number.saturating_add(1)),
        }
    }
}

/// The first difference of one thread in its events, or in its receives.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    thread: String,
    place: Place,
    one: String,
    two: String,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let (one, two) = (Side::open(&store, &args.one)?, Side::open(&store, &args.two)?);
    let mut differences = differences(&one.tapes, &two.tapes);
    let (left, right) = (one.take.label(), two.take.label());
    if differences.is_empty() {
        if !args.json {
            println!("{left} and {right} hold the same order");
        }
    } else {
        let (one, two) = (Developed::of(&store, &one), Developed::of(&store, &two));
        // The earliest, where that is known.
        differences.sort_by_key(|found| one.moment(found).min(two.moment(found)));
        if args.json {
            for found in &differences {
                let mut line = json!({"thread": found.thread, "one": found.one, "two": found.two});
                match found.place {
                    Place::Event(event) => line["event"] = event.into(),
                    Place::Receive(number) => line["receive"] = number.saturating_add(1).into(),
                }
                println!("{line}");
            }
        } else {
            let first = &differences[0];
            println!("{left} and {right} part in thread {} at {}", first.thread, first.place);
            println!("  {left:<16} {}{}", first.one, one.words(first));
            println!("  {right:<16} {}{}", first.two, two.words(first));
            let others = differences[1..].iter().map(|found| format!("{} at {}", found.thread, found.place));
            let others: Vec<_> = others.take(8).collect();
            if !others.is_empty() {
                let dots = if differences.len() > 9 { ", …" } else { "" };
                println!("  and part elsewhere: {}{dots}", others.join(", "));
            }
        }
    }
    if let (Some(left), Some(right)) = (one.take.facts.ended, two.take.facts.ended)
        && left != right
        && !args.json
    {
        println!("  they ended with {} and {}", left.words(), right.words());
    }
    Ok(Ending::Status(if differences.is_empty() { Status::Fine } else { Status::Found }))
}

struct Side {
    take: Take,
    tapes: Vec<Tape>,
}

impl Side {
    fn open(store: &Store, word: &str) -> Result<Side> {
        let take = store.take(word)?;
        let tapes = take.tapes()?;
        Ok(Side { take, tapes })
    }
}

/// What the events of a take were, when and where, if it is developed or can be.
#[derive(Default)]
struct Developed {
    events: HashMap<(String, Place), (u64, String)>,
}

impl Developed {
    fn of(store: &Store, side: &Side) -> Developed {
        let rich = develop::developed(&side.take).or_else(|| {
            let again = Take::open(&side.take.dir, side.take.origin).ok()?;
            develop::rich_tapes(store, again, false, "show").ok().map(|(_, tapes)| tapes)
        });
        let Some(rich) = rich else { return Developed::default() };
        let (mut symbols, mut names) = (lines::symbols(&side.take.dir, &side.tapes), ObjectNames::new(&rich));
        let mut events = HashMap::new();
        for tape in &rich {
            for thread in &tape.threads {
                let mut payload = tape.payload(thread);
                while let Ok(Some(rich)) = payload.next_rich() {
                    let object = names.name(&tape.name(), &thread.name, &rich, &mut symbols);
                    if rich.event > 0 {
                        let (name, open) = (&thread.name, rich.message.and_then(|message| message.open));
                        let place = symbols.first_known(&tape.name(), &rich.pcs).map(|place| format!(" at {place}"));
                        let object = if object.is_empty() { object } else { format!(" {object}") };
                        let words = format!(": {}{object}{}", rich.op.word(), place.unwrap_or_default());
                        if let Some(number) = open {
                            let event = format!(": event {}{}", rich.event, &words);
                            events.insert((name.clone(), Place::Receive(number)), (rich.sequence, event));
                        }
                        events.insert((name.clone(), Place::Event(rich.event)), (rich.sequence, words));
                    }
                }
            }
        }
        Developed { events }
    }

    /// When the event was, in the order of all.
    fn moment(&self, found: &Difference) -> u64 {
        self.events.get(&(found.thread.clone(), found.place)).map_or(u64::MAX, |(sequence, _)| *sequence)
    }

    fn words(&self, found: &Difference) -> &str {
        self.events.get(&(found.thread.clone(), found.place)).map_or("", |(_, words)| words)
    }
}

/// The first difference of each thread, in the order of the tree of creations.
fn differences(one: &[Tape], two: &[Tape]) -> Vec<Difference> {
    let (one, two) = (Threads::of(one), Threads::of(two));
    let names: BTreeSet<_> = one.all.keys().chain(two.all.keys()).map(|name| (place(name), *name)).collect();
    let mut found = Vec::new();
    for (_, name) in names {
        let mut add = |place, (one, two)| found.push(Difference { thread: name.to_owned(), place, one, two });
        match (one.all.get(name), two.all.get(name)) {
            (Some(left), Some(right)) => {
                if let Some((event, one, two)) = compare(&one, *left, &two, *right) {
                    add(Place::Event(event), (one, two));
                }
                let number = |(_, thread): (&Tape, &Thread)| thread.header.number;
                if let Some((receive, one, two)) =
                    compare_received(one.received(number(*left)), two.received(number(*right)))
                {
                    add(Place::Receive(receive), (one, two));
                }
            }
            (left, _) => {
                let (there, missing) = ("it is there".to_owned(), "there is no such thread".to_owned());
                add(Place::Event(1), if left.is_some() { (there, missing) } else { (missing, there) });
            }
        }
    }
    found
}

/// The first receive from anyone that got another message, or that only one of them made.
fn compare_received(one: &Received, two: &Received) -> Option<(u64, String, String)> {
    let numbers: BTreeSet<_> = one.keys().chain(two.keys()).collect();
    let words = |found: Option<&Match>| found.map_or("no such receive".to_owned(), messages::matched);
    let got = |found: Option<&Match>| found.map(|found| (found.call, found.source, found.tag));
    let parts = |number: &&u64| got(one.get(number)) != got(two.get(number));
    numbers.into_iter().find(parts).map(|number| (*number, words(one.get(number)), words(two.get(number))))
}

static NOTHING: Received = Received::new();

struct Threads<'a> {
    all: HashMap<&'a str, (&'a Tape, &'a Thread)>,
    by_number: HashMap<u32, &'a str>,
    received: HashMap<u32, Received>,
    tasks: messages::Tasks,
}

impl<'a> Threads<'a> {
    fn of(tapes: &'a [Tape]) -> Threads<'a> {
        let received = tapes.iter().flat_map(messages::received).collect();
        let tasks = messages::Tasks::of(tapes);
        let mut threads = Threads { all: HashMap::new(), by_number: HashMap::new(), received, tasks };
        for tape in tapes {
            for thread in &tape.threads {
                threads.all.insert(&thread.name, (tape, thread));
                threads.by_number.insert(thread.header.number, &thread.name);
            }
        }
        threads
    }

    fn received(&self, number: u32) -> &Received {
        self.received.get(&number).unwrap_or(&NOTHING)
    }

    /// An entry in words in which nothing is left that differs between runs of the same order; `None` for input.
    fn plain(&self, entry: &Entry<'_>) -> Option<String> {
        let input = |op: &Op| {
            let ids = matches!(op, Op::Pid | Op::PvmEnrol | Op::PvmAsk | Op::PvmContext | Op::PvmHosts);
            ids || matches!(op, Op::Clock | Op::Random | Op::Sleep)
        };
        match entry {
            entry if entry.is_soft() => None,
            Entry::Bytes(_) => None,
            Entry::Result(op, _) | Entry::Polls(op, ..) if input(op) => None,
            Entry::Created(_) => Some("created a thread or process".into()),
            Entry::Edge { thread, count } => {
                let name = self.by_number.get(thread).copied().unwrap_or("?");
                Some(format!("after event {count} of thread {name}"))
            }
            other => Some(self.tasks.entry(other)),
        }
    }
}

fn compare(
    one: &Threads<'_>,
    (left_tape, left): (&Tape, &Thread),
    two: &Threads<'_>,
    (right_tape, right): (&Tape, &Thread),
) -> Option<(u64, String, String)> {
    let (mut from_left, mut from_right) = (left_tape.payload(left), right_tape.payload(right));
    let next = |threads: &Threads<'_>, payload: &mut retake_tape::reader::Payload<'_>| {
        while let Ok(Some((event, entry))) = payload.next_entry() {
            if let Some(words) = threads.plain(&entry) {
                return Some((event, words));
            }
        }
        None
    };
    let own = |events: u64, event: u64| {
        if event > events { "no event any more".to_owned() } else { "no hand-over".to_owned() }
    };
    loop {
        let (l, r) = (next(one, &mut from_left), next(two, &mut from_right));
        let (event, said) = match (l, r) {
            (Some(l), Some(r)) if l == r => continue,
            (Some((event, l)), Some((other, r))) if event == other => (event, (l, r)),
            (Some((event, l)), Some((other, r))) if event < other => {
                drop(r);
                (event, (l, own(right.events(), event)))
            }
            (Some((event, l)), None) => (event, (l, own(right.events(), event))),
            (_, Some((event, r))) => (event, (own(left.events(), event), r)),
            (None, None) => {
                let (l, r) = (left.events(), right.events());
                let ends = |events: u64| format!("{} in all", words::count(events, "event"));
                return (l != r).then(|| (l.min(r) + 1, ends(l), ends(r)));
            }
        };
        return Some((event, said.0, said.1));
    }
}
