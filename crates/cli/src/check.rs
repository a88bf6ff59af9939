//! `retake check`: what went wrong in a take, or could have: deadlocks, lost wake-ups, locks in different orders.
//!
//! Findings are values of `retake-analysis`; here they become sentences. The take is developed first if need be.

use crate::Ending;
use crate::develop;
use crate::lines;
use crate::names::{self, ObjectNames};
use crate::status::{Context, Result, Status, say};
use crate::store::Store;
use crate::symbols::{Place, Symbols};
use crate::take::place;
use crate::talk::Talk;
use crate::words;
use retake_analysis::{Finding, History, Link, Mark, Obstacle, Waiter};
use retake_tape::op::Op;
use retake_tape::reader::Tape;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;

#[derive(clap::Args)]
pub struct Args {
    /// Which take: a name, a unique prefix, a directory, a packed file
    #[arg(default_value = "latest")]
    take: String,
    /// JSON, one object a line
    #[arg(long)]
    json: bool,
    /// Run the command of a take that was not recorded here
    #[arg(long)]
    trust: bool,
}

/// Message races that are shown.
const RACES: usize = 20;
/// Frames of a stack that are shown.
const FRAMES: usize = 4;

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let take = store.take(&args.take)?;
    let tapes = take.tapes()?;
    let (take, rich) = develop::rich_tapes(&store, take, args.trust, "check")?;
    let mut checked = retake_analysis::check(&rich, &tapes);
    let mut symbols = lines::symbols(&take.dir, &tapes);
    let notes = Notes::gather(&rich, &checked.findings, &mut symbols);
    let mut out = std::io::stdout().lock();
    for finding in &mut checked.findings {
        let told = notes.tell(finding);
        let printed = if args.json { writeln!(out, "{}", notes.json(&told)) } else { notes.print(&told, &mut out) };
        printed.because(|| "cannot print".into())?;
    }
    if checked.findings.is_empty() && !args.json {
        writeln!(out, "no findings").because(|| "cannot print".into())?;
    }
    if let Some(talk) = Talk::of(&take)? {
        print_races(&talk, args.json, &mut out).because(|| "cannot print".into())?;
    }
    if checked.is_cut {
        say("there are too many lock orders to look at all of them: there may be more findings");
    }
    Ok(Ending::Status(if checked.findings.is_empty() { Status::Fine } else { Status::Found }))
}

/// The receives that could have taken another message. That is how such programs are: it is no finding.
fn print_races(talk: &Talk, json: bool, out: &mut impl Write) -> std::io::Result<()> {
    if json {
        for (at, race) in talk.races() {
            writeln!(out, "{}", json!({"kind": "message race", "sentence": talk.tell(at, &race)}))?;
        }
        return Ok(());
    }
    let races = talk.races().count();
    if races > 0 {
        writeln!(
            out,
            "{}, of {}:",
            words::count(races as u64, "message race"),
            words::count(talk.receives() as u64, "receive")
        )?;
    }
    for (at, race) in talk.races().take(RACES) {
        writeln!(out, "  {}", talk.tell(at, &race))?;
    }
    if races > RACES {
        writeln!(out, "  and {} more: retake check --json", races - RACES)?;
    }
    Ok(())
}

/// A note that a finding is about, with all its names.
struct Detail {
    op: Op,
    event: u64,
    /// Kind and name, such as `mutex a` or `mutex#2`.
    object: String,
    stack: Vec<Place>,
}

/// A finding in words: a sentence, then paragraphs of a line and some notes, each with what was done there.
struct Told {
    kind: &'static str,
    sentence: String,
    paragraphs: Vec<(String, Vec<(String, Mark)>)>,
}

struct Notes {
    details: HashMap<Mark, Detail>,
    /// Name of each thread, and the function that it runs.
    threads: Vec<(String, Option<String>)>,
}

impl Notes {
    /// Walks the history once more for the notes that findings mark. Objects are named as `show` names them.
    fn gather(rich: &[Tape], findings: &[Finding], symbols: &mut Symbols) -> Notes {
        let history = History::new(rich);
        let all: Vec<_> = history.threads().to_vec();
        let threads = all.iter().map(|(tape, thread)| {
            let runs = symbols.place(&tape.name(), thread.header.start).and_then(|place| place.function);
            (thread.name.clone(), runs)
        });
        let mut notes = Notes { details: HashMap::new(), threads: threads.collect() };
        let wanted: HashSet<Mark> = findings.iter().flat_map(Finding::marks).collect();
        if wanted.is_empty() {
            return notes;
        }
        let mut names = ObjectNames::new(rich);
        for note in history {
            let (tape, thread) = all[note.thread];
            let process = tape.name();
            let name = names.name(&process, &thread.name, &note.rich, symbols);
            let mark = Mark { thread: note.thread, sequence: note.rich.sequence };
            if wanted.contains(&mark) {
                let object = described(names::kind(note.rich.op), name);
                let (op, event, stack) = (note.rich.op, note.rich.event, symbols.stack(&process, &note.rich.pcs));
                notes.details.insert(mark, Detail { op, event, object, stack });
            }
        }
        notes
    }

    fn name(&self, thread: usize) -> &str {
        &self.threads[thread].0
    }

    /// A thread with the function that it runs.
    fn thread(&self, thread: usize) -> String {
        let (name, runs) = &self.threads[thread];
        runs.as_ref().map_or_else(|| name.clone(), |runs| format!("{name} ({runs})"))
    }

    fn object(&self, mark: Mark) -> &str {
        self.details.get(&mark).map_or("", |detail| &detail.object)
    }

    fn tell(&self, finding: &mut Finding) -> Told {
        match finding {
            Finding::Deadlock { circle, behind } => self.deadlock(circle, behind),
            Finding::LostWakeUp { waiter, signal, behind } => {
                let (thread, object) = (waiter.wants.thread, self.object(waiter.wants));
                let sentence = format!(
                    "thread {} waits for ever for {object}, which was signalled before, when nobody waited for it",
                    self.name(thread)
                );
                let early = (format!("{} signals {object}", self.thread(signal.thread)), vec![at("at", *signal)]);
                let waits = (format!("{} waits", self.thread(thread)), vec![at("at", waiter.wants)]);
                let paragraphs = [early, waits].into_iter().chain(behind.iter().map(|waiter| self.waits(waiter)));
                Told { kind: "lost wake-up", sentence, paragraphs: paragraphs.collect() }
            }
            Finding::WaitsForEver { waiters, behind } => self.waits_for_ever(waiters, behind),
            Finding::ForeignUnlock { unlock, taken, alike } => {
                let (object, one, two) = (self.object(*taken), unlock.thread, taken.thread);
                let sentence =
                    format!("thread {} unlocks {object}, which {} has locked", self.name(one), self.name(two));
                let side =
                    |mark: &Mark, verb| (format!("{} {verb} it", self.thread(mark.thread)), vec![at("at", *mark)]);
                let mut paragraphs = vec![side(taken, "locks"), side(unlock, "unlocks")];
                if *alike > 0 {
                    paragraphs
                        .push((format!("the same lines do so {}", words::count(*alike as u64, "more time")), vec![]));
                }
                Told { kind: "foreign unlock", sentence, paragraphs }
            }
            Finding::LockOrder { links, alike } => self.lock_order(links, *alike),
        }
    }

    fn deadlock(&self, circle: &mut [Waiter], behind: &[Waiter]) -> Told {
        self.rotate(circle, |waiter| waiter.wants.thread);
        let sentence = match &*circle {
            [one] => format!("thread {} waits for itself", self.name(one.wants.thread)),
            all => format!("threads {} wait for each other", self.list(all.iter().map(|waiter| waiter.wants.thread))),
        };
        let paragraphs = circle.iter().chain(behind).map(|waiter| self.waits(waiter)).collect();
        Told { kind: "deadlock", sentence, paragraphs }
    }

    fn waits_for_ever(&self, waiters: &[Waiter], behind: &[Waiter]) -> Told {
        let sentence = match waiters {
            [one] => format!("thread {} waits {}", self.name(one.wants.thread), self.reason(one)),
            all => {
                let reason = all.first().map(|waiter| self.reason(waiter)).unwrap_or_default();
                format!("threads {} wait {reason}", self.list(all.iter().map(|waiter| waiter.wants.thread)))
            }
        };
        let first =
            waiters.iter().map(|waiter| (format!("{} waits", self.thread(waiter.wants.thread)), self.lines(waiter)));
        let paragraphs = first.chain(behind.iter().map(|waiter| self.waits(waiter))).collect();
        Told { kind: "waits for ever", sentence, paragraphs }
    }

    /// What a thread waits for, where, and since when that is taken.
    fn waits(&self, waiter: &Waiter) -> (String, Vec<(String, Mark)>) {
        (format!("{} waits {}", self.thread(waiter.wants.thread), self.reason(waiter)), self.lines(waiter))
    }

    fn reason(&self, waiter: &Waiter) -> String {
        let object = self.object(waiter.wants);
        let holders: Vec<usize> = waiter.behind.iter().map(Obstacle::thread).collect();
        match waiter.behind.first() {
            Some(Obstacle::Holder { ended: true, taken }) => {
                format!("for {object}, taken by {}, which has ended", self.name(taken.thread))
            }
            Some(Obstacle::Holder { taken, .. }) if self.is_once(*taken) => {
                format!("for the end of what runs once, {object}, run by {}", self.name(taken.thread))
            }
            Some(Obstacle::Holder { .. }) => {
                let verb = if holders.len() > 1 { "have" } else { "has" };
                format!("for {object}, which {} {verb}", self.list(holders.into_iter()))
            }
            Some(Obstacle::Joined { thread }) => format!("for thread {} to end", self.name(*thread)),
            None => match self.details.get(&waiter.wants).map(|detail| detail.op) {
                Some(Op::CondWait) => format!("for {object}, and nobody is left to signal it"),
                Some(Op::SemWait) => format!("for {object}, and nobody is left to post it"),
                Some(Op::Futex) => format!("for {object}, and nobody is left to wake it"),
                Some(Op::Barrier) => format!("at {object}, and nobody is left to come there"),
                _ => format!("for {object}"),
            },
        }
    }

    fn is_once(&self, mark: Mark) -> bool {
        self.details.get(&mark).is_some_and(|detail| detail.op == Op::Once)
    }

    /// Where it waits, and where what it waits for was taken.
    fn lines(&self, waiter: &Waiter) -> Vec<(String, Mark)> {
        let mut lines = vec![at("at", waiter.wants)];
        for obstacle in &waiter.behind {
            if let Obstacle::Holder { taken, .. } = obstacle {
                lines.push(at(if self.is_once(*taken) { "run" } else { "taken" }, *taken));
            }
        }
        lines
    }

    fn lock_order(&self, links: &mut [Link], alike: usize) -> Told {
        self.rotate(links, |link| link.outer.thread);
        let objects: BTreeSet<&str> = links.iter().map(|link| self.object(link.outer)).collect();
        let sentence = format!(
            "threads {} take {} in different orders; this time they did not wait for each other, but they can, for ever",
            self.list(links.iter().map(|link| link.outer.thread)),
            listed(objects.into_iter().map(str::to_owned).collect())
        );
        let side = |link: &Link| {
            let (outer, inner) = (self.object(link.outer), self.object(link.inner));
            let (has, takes) = (self.again(link.outer, "has"), self.again(link.inner, "takes"));
            let line = format!("{} {has} {outer} and {takes} {inner}", self.thread(link.outer.thread));
            (line, vec![at(outer, link.outer), at(inner, link.inner)])
        };
        let mut paragraphs: Vec<_> = links.iter().map(side).collect();
        if alike > 0 {
            let more = words::count(alike as u64, "other circle");
            paragraphs.push((format!("the same lines close {more} of locks"), Vec::new()));
        }
        Told { kind: "lock order", sentence, paragraphs }
    }

    /// The verb, and that the lock was taken again by a condition wait if it was. That is noted as giving it up.
    fn again(&self, mark: Mark, verb: &str) -> String {
        let is_wait = self.details.get(&mark).is_some_and(|detail| detail.op == Op::MutexUnlock);
        if is_wait { format!("{verb}, behind a wait,") } else { verb.to_owned() }
    }

    /// The names of threads: `0.1, 0.2 and 0.3`.
    fn list(&self, threads: impl Iterator<Item = usize>) -> String {
        listed(threads.map(|thread| self.name(thread).to_owned()).collect())
    }

    /// A circle begins with the thread that comes first in the tree of creations.
    fn rotate<T>(&self, circle: &mut [T], thread: impl Fn(&T) -> usize) {
        let first = (0..circle.len()).min_by_key(|at| place(self.name(thread(&circle[*at]))));
        circle.rotate_left(first.unwrap_or(0));
    }

    fn print(&self, told: &Told, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "{}: {}", told.kind, told.sentence)?;
        for (line, notes) in &told.paragraphs {
            writeln!(out, "  {line}")?;
            let width = notes.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
            for (what, mark) in notes {
                let stack = self.details.get(mark).map_or(&[][..], |detail| &detail.stack);
                let frames: Vec<String> = stack.iter().take(FRAMES).map(Place::to_string).collect();
                let frames = if frames.is_empty() { "a place that is not known".into() } else { frames.join(" < ") };
                writeln!(out, "    {what:<width$}  {frames}")?;
            }
        }
        Ok(())
    }

    fn json(&self, told: &Told) -> Value {
        let note = |(what, mark): &(String, Mark)| {
            let detail = self.details.get(mark);
            let stack = detail.map_or(&[][..], |detail| &detail.stack);
            let frame = |place: &Place| json!({"file": place.file, "line": place.line, "function": place.function, "module": place.module});
            json!({"what": what, "thread": self.name(mark.thread), "sequence": mark.sequence,
                "event": detail.map(|detail| detail.event), "op": detail.map(|detail| detail.op.word()),
                "object": detail.map(|detail| &detail.object), "stack": stack.iter().map(frame).collect::<Vec<_>>()})
        };
        let notes: Vec<Value> = told.paragraphs.iter().flat_map(|(_, notes)| notes).map(note).collect();
        json!({"finding": told.kind, "sentence": told.sentence, "notes": notes})
    }
}

fn at(what: &str, mark: Mark) -> (String, Mark) {
    (what.to_owned(), mark)
}

/// A name with its kind; one that was made up tells it already.
fn described(kind: &str, name: String) -> String {
    let noun = match kind {
        _ if name.starts_with(&format!("{kind}#")) => return name,
        "cond" => "condition",
        "sem" => "semaphore",
        "spin" => "spinlock",
        "omplock" => "OpenMP lock",
        "critical" => "critical section",
        "once" => return name,
        kind => kind,
    };
    format!("{noun} {name}")
}

/// `a`, `a and b`, `a, b and c`.
fn listed(mut all: Vec<String>) -> String {
    match all.pop() {
        Some(last) if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        last => last.unwrap_or_default(),
    }
}
