//! `retake show`: a take as readable lines, in one order in which everything could have happened.

use crate::Ending;
use crate::develop;
use crate::lines;
use crate::messages;
use crate::names::ObjectNames;
use crate::parts;
use crate::report;
use crate::status::{Context, Failure, Result, Status, say};
use crate::store::Store;
use crate::symbols::Symbols;
use crate::take::{Take, place};
use crate::words;
use retake_analysis::History;
use retake_tape::entry::{Entry, note};
use retake_tape::layout::born;
use retake_tape::matches::{self, calls};
use retake_tape::reader::{Tape, Thread};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};

#[derive(clap::Args)]
pub struct Args {
    /// Which take: a name, a unique prefix, a directory, a packed file
    #[arg(default_value = "latest")]
    take: String,
    /// Only this thread (may be given several times), such as 0.1
    #[arg(long, value_name = "NAME")]
    thread: Vec<String>,
    /// Only this participant of the retake library (may be given several times), without a replay
    #[arg(long, value_name = "NAME")]
    participant: Vec<String>,
    /// What is on the tapes, without a replay
    #[arg(long)]
    light: bool,
    /// JSON, one object a line
    #[arg(long)]
    json: bool,
    /// Run the command of a take that was not recorded here
    #[arg(long)]
    trust: bool,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let take = store.take(&args.take)?;
    let tapes = take.tapes()?;
    let parts = parts::load(&take)?;
    for name in &args.participant {
        parts::find(&take, &parts, name)?;
    }
    let unknown = |name: &&String| !tapes.iter().any(|tape| tape.threads.iter().any(|thread| thread.name == **name));
    if let Some(name) = args.thread.iter().find(unknown) {
        let what = format!("{} has no thread {name}", take.label());
        return Err(Failure::own(what).next(format!("retake info {}", take.label())));
    }
    let mut symbols = lines::symbols(&take.dir, &tapes);
    let light = |take: Take, symbols: &mut Symbols| {
        let mut view = View::new(&args, &take, &tapes, symbols);
        view.head()?;
        view.parts(&parts)?;
        view.light()
    };
    let shown = if !args.participant.is_empty() {
        View::new(&args, &take, &tapes, &mut symbols).parts(&parts)
    } else if args.light {
        light(take, &mut symbols)
    } else {
        let (dir, origin) = (take.dir.clone(), take.origin);
        let trusted = args.trust || store.trusts(&take);
        match develop::rich_tapes(&store, take, args.trust, "show") {
            Ok((take, rich)) => {
                let mut view = View::new(&args, &take, &tapes, &mut symbols);
                view.head().and_then(|()| view.parts(&parts)).and_then(|()| view.rich(&rich))
            }
            Err(failure) if !trusted => return Err(failure),
            Err(failure) => {
                eprintln!("{failure}");
                say("the replay that would have told more went wrong; this is what the tapes themselves hold");
                light(Take::open(&dir, origin)?, &mut symbols)
            }
        }
    };
    shown.because(|| "cannot print".into())?;
    Ok(Ending::Status(Status::Fine))
}

struct View<'a> {
    args: &'a Args,
    take: &'a Take,
    tapes: &'a [Tape],
    symbols: &'a mut Symbols,
    tasks: messages::Tasks,
    out: BufWriter<std::io::Stdout>,
}

impl<'a> View<'a> {
    fn new(args: &'a Args, take: &'a Take, tapes: &'a [Tape], symbols: &'a mut Symbols) -> View<'a> {
        let tasks = messages::Tasks::of(tapes);
        View { args, take, tapes, symbols, tasks, out: BufWriter::new(std::io::stdout()) }
    }

    fn wanted(&self, thread: &str) -> bool {
        self.args.thread.is_empty() || self.args.thread.iter().any(|name| name == thread)
    }

    /// What was run, what of it is not recorded, and who its threads are.
    fn head(&mut self) -> std::io::Result<()> {
        let facts = &self.take.facts;
        let ended = facts.ended.map_or("end unknown".into(), crate::facts::Ended::words);
        let inputs = self.inputs();
        let calls = self.notes(note::UNSUPPORTED);
        let told = self.notes(note::WORDS);
        let mut threads: Vec<(&Tape, &Thread)> =
            self.tapes.iter().flat_map(|tape| tape.threads.iter().map(move |thread| (tape, thread))).collect();
        threads.sort_by_key(|(_, thread)| place(&thread.name));
        if self.args.json {
            let list: Vec<_> = threads.iter().map(|(tape, thread)| self.thread_json(tape, thread)).collect();
            let head = json!({"schema": 1, "take": facts.name, "command": facts.command(), "ended": facts.ended,
                "events": facts.events(), "inputs_not_recorded": inputs, "calls_not_replayed": calls, "threads": list});
            return writeln!(self.out, "{head}");
        }
        writeln!(self.out, "# {}: {}; {ended}", facts.name, facts.command())?;
        let shown = if inputs.is_empty() { "none seen".into() } else { shortened(&inputs, 12) };
        writeln!(self.out, "# inputs not recorded: {shown}")?;
        if !calls.is_empty() {
            writeln!(self.out, "# calls not replayed: {}", shortened(&calls, 12))?;
        }
        for line in told {
            writeln!(self.out, "# note: {line}")?;
        }
        for (tape, thread) in threads {
            let line = self.thread_words(tape, thread);
            writeln!(self.out, "# thread {:<8} {line}", thread.name)?;
        }
        Ok(())
    }

    fn thread_words(&mut self, tape: &Tape, thread: &Thread) -> String {
        let process = tape.name();
        let header = &thread.header;
        let mut line = words::count(thread.events(), "event");
        match header.born {
            born::ROOT => line += ", the first",
            born::FORK => line += &format!(", forked as process {}", tape.header.pid),
            born::EXEC => line += &format!(", executed as process {}", tape.header.pid),
            born::FOREIGN => line += ", created by code that retake does not see",
            _ => {}
        }
        if let Some(place) = self.symbols.place(&process, header.start)
            && let Some(function) = place.function
        {
            line += &format!(", runs {function}");
        }
        if let Some(place) = self.symbols.first_known(&process, &header.pcs) {
            line += &format!(", created at {place}");
        }
        line
    }

    fn thread_json(&mut self, tape: &Tape, thread: &Thread) -> serde_json::Value {
        let process = tape.name();
        let header = &thread.header;
        let start = self.symbols.place(&process, header.start).and_then(|place| place.function);
        let created = self.symbols.first_known(&process, &header.pcs);
        json!({"name": thread.name, "process": process, "number": header.number, "events": thread.events(),
            "function": start, "created_file": created.as_ref().and_then(|place| place.file.clone()),
            "created_line": created.as_ref().and_then(|place| place.line)})
    }

    /// Standard input, files and sockets whose content is not on the tape; those of the system come last.
    fn inputs(&self) -> Vec<String> {
        let stdin = &self.take.facts.stdin;
        let mut all = match stdin.kind.as_str() {
            "null" | "closed" => Vec::new(),
            "file" => vec![format!(
                "standard input ({})",
                stdin.path.as_ref().map_or_else(String::new, |path| path.os().to_string_lossy().into_owned())
            )],
            kind => vec![format!("standard input ({kind})")],
        };
        all.extend(self.notes(note::SOCKET).into_iter().map(|socket| format!("socket {socket}")));
        let system = |path: &String| {
            ["/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/"].iter().any(|start| path.starts_with(start))
        };
        let (theirs, ours): (Vec<_>, Vec<_>) = report::inputs(self.tapes).into_iter().partition(system);
        all.extend(ours);
        all.extend(theirs);
        all
    }

    fn notes(&self, kind: u8) -> Vec<String> {
        let mut found = BTreeSet::new();
        for tape in self.tapes {
            for thread in &tape.threads {
                let mut payload = tape.payload(thread);
                while let Ok(Some((_, entry))) = payload.next_entry() {
                    if let Entry::Note(this, text) = entry
                        && this == kind
                    {
                        found.insert(words::clean(&String::from_utf8_lossy(text)));
                    }
                }
            }
        }
        found.into_iter().collect()
    }

    /// The lines of each participant, as they stand on its tape.
    fn parts(&mut self, parts: &[Tape]) -> std::io::Result<()> {
        for part in parts {
            let name = part.name();
            if !self.args.participant.is_empty() && !self.args.participant.contains(&name) {
                continue;
            }
            for (event, line) in parts::lines(part) {
                let line = words::clean(&line);
                if self.args.json {
                    writeln!(self.out, "{}", json!({"participant": name, "event": event, "line": line}))?;
                } else {
                    writeln!(self.out, "{name:<8} {event:>7}  {line}")?;
                }
            }
        }
        self.out.flush()
    }

    /// The entries of each thread, as they stand on its tape.
    fn light(&mut self) -> std::io::Result<()> {
        for tape in self.tapes {
            for thread in &tape.threads {
                if !self.wanted(&thread.name) {
                    continue;
                }
                let (mut payload, mut received) = (tape.payload(thread), matches::Context::new());
                while let Ok(Some((event, entry))) = payload.next_entry() {
                    let lines = match &entry {
                        Entry::Matches(block) => messages::lines(&mut received, block),
                        other => vec![self.tasks.entry(other)],
                    };
                    let (soft, of_program) =
                        (entry.is_soft(), matches!(entry, Entry::Note(note::MODULE | note::COMMAND, _)));
                    for line in lines {
                        let line = words::clean(&line);
                        if self.args.json {
                            let json = json!({"thread": thread.name, "event": event, "soft": soft, "entry": line});
                            writeln!(self.out, "{json}")?;
                        } else if !of_program {
                            let mark = if soft { '-' } else { ' ' };
                            writeln!(self.out, "{:<8} {event:>7}{mark} {line}", thread.name)?;
                        }
                    }
                }
                if !self.args.json {
                    writeln!(self.out, "{:<8} {:>7}  last event", thread.name, thread.events())?;
                }
            }
        }
        self.out.flush()
    }

    /// The operations of all threads, merged.
    fn rich(&mut self, rich: &[Tape]) -> std::io::Result<()> {
        let history = History::new(rich);
        let threads = history.threads().to_vec();
        let mut names = ObjectNames::new(rich);
        for note in history {
            let ((tape, thread), event) = (threads[note.thread], note.rich);
            let process = tape.name();
            // Names are given in the order of all threads, whichever are shown.
            let object = names.name(&process, &thread.name, &event, self.symbols);
            if !self.wanted(&thread.name) {
                continue;
            }
            let place = self.symbols.first_known(&process, &event.pcs);
            if self.args.json {
                let mut line = json!({"sequence": event.sequence, "thread": thread.name, "process": process,
                    "event": event.event, "op": event.op.word(), "object": object,
                    "address": format!("{:#x}", event.object), "version": event.version, "result": event.result,
                    "file": place.as_ref().and_then(|place| place.file.clone()),
                    "line": place.as_ref().and_then(|place| place.line),
                    "function": place.as_ref().and_then(|place| place.function.clone())});
                if let Some(got) = &event.message {
                    line["message"] = json!({"call": calls::word(got.call), "source": got.source, "tag": got.tag,
                        "count": got.count, "from_anyone": got.open.is_some()});
                }
                writeln!(self.out, "{line}")?;
                continue;
            }
            let number = if event.event == 0 { "-".into() } else { event.event.to_string() };
            let result = match &event.message {
                Some(got) => format!("= {}", messages::message(got)),
                None if event.result == 0 => String::new(),
                None => format!("= {}", self.tasks.result(event.op, event.result)),
            };
            let place = place.map(|place| place.to_string()).unwrap_or_default();
            let line = format!(
                "{:>7} {:<8} {number:>6} {:<22} {object:<14} {result:<16} {place}",
                event.sequence,
                thread.name,
                event.op.word()
            );
            writeln!(self.out, "{}", line.trim_end())?;
        }
        self.out.flush()
    }
}

fn shortened(all: &[String], most: usize) -> String {
    let shown = all[..all.len().min(most)].join(", ");
    if all.len() > most { format!("{shown} and {} more", all.len() - most) } else { shown }
}
