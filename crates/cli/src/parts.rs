//! The parts of a take: tapes of the participants of programs that use the `retake` library.
//!
//! They are sealed and checked as tapes are. One of them can be replayed alone: its process is run again, by what the part
//! says of it, and everything that its participants received or read comes from their own parts.

use crate::facts::TapeFacts;
use crate::status::{Failure, Result, say};
use crate::take::{self, Take};
use crate::words;
use retake_tape::entry::{Entry, note};
use retake_tape::layout::{born, kind};
use retake_tape::part::{Line, fact};
use retake_tape::reader::Tape;
use retake_tape::session::{MEETING, NEXT_PART_ENDING, PART_ENDING, RANK_NAME, ROOT_NAME, TAPE_ENDING};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Whether a part can have this name: a participant's, perhaps with the number of its life.
pub fn is_part_name(stem: &str) -> bool {
    let good = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b'@');
    !stem.is_empty() && stem.len() < 128 && !stem.starts_with('.') && stem.bytes().all(good)
}

/// Seals the parts in `dir`.
pub fn seal(dir: &Path) -> Result<Vec<TapeFacts>> {
    let mut parts = Vec::new();
    for path in take::files(dir, PART_ENDING)? {
        parts.extend(take::seal_tape(&path)?);
    }
    // One that was not put in its place holds nothing.
    for path in take::files(dir, NEXT_PART_ENDING)? {
        let _ = std::fs::remove_file(path);
    }
    // Where they met: sockets and locks, of no use any more.
    let _ = std::fs::remove_dir_all(dir.join(MEETING));
    Ok(parts)
}

/// All parts of a take, each checked whole.
pub fn load(take: &Take) -> Result<Vec<Tape>> {
    let found = take::files(&take.dir, PART_ENDING)?;
    if found.len() != take.facts.parts.len() {
        return Err(take.refuse(format!("it has {} parts instead of {}", found.len(), take.facts.parts.len())));
    }
    take.facts.parts.iter().map(|facts| take.checked(facts, PART_ENDING, kind::PART)).collect()
}

/// The part of that participant, or a failure that names those there are.
pub fn find<'a>(take: &Take, parts: &'a [Tape], name: &str) -> Result<&'a Tape> {
    parts.iter().find(|part| part.name() == name).ok_or_else(|| {
        let label = take.label();
        if parts.is_empty() {
            let what = format!("{label} has no participants: its program does not use the retake library");
            return Failure::own(what).next(format!("retake replay {label}"));
        }
        let names: Vec<_> = parts.iter().map(Tape::name).collect();
        Failure::own(format!("{label} has no participant {name}, but {}", names.join(", ")))
            .next(format!("retake show {label}"))
    })
}

/// The event behind which a part begins, if not at the participant's beginning.
pub fn checkpoint(part: &Tape) -> Option<u64> {
    let mut found = None;
    each(part, |_, line| {
        if let Line::Fact(fact::CHECKPOINT, bytes) = line {
            found = bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        }
    });
    found
}

/// Whether a part holds contents, too.
pub fn is_full(part: &Tape) -> bool {
    let mut full = false;
    each(part, |_, line| full |= matches!(line, Line::Fact(fact::FULL, [1])));
    full
}

/// Refuses a take of which a part begins in the middle: nobody could play what came before.
pub fn require_whole(take: &Take, parts: &[Tape]) -> Result<()> {
    let Some((part, event)) = parts.iter().find_map(|part| Some((part.name(), checkpoint(part)?))) else {
        return Ok(());
    };
    let label = take.label();
    let what = format!("{label} holds only what {part} did behind its checkpoint at event {event}: it is no whole run");
    Err(Failure::own(what)
        .next(format!("retake checkpoints {label}, which lists whose last events can be played"))
        .next(format!("retake show --participant {part} {label}")))
}

/// How to run the process of one participant again.
pub struct Alone {
    pub exe: PathBuf,
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// Its name in the tree of creations.
    pub process: String,
    pub born: u32,
}

impl Alone {
    /// What the part says; `tapes` are those of the take's processes.
    pub fn new(take: &Take, part: &Tape, tapes: &[Tape]) -> Result<Alone> {
        let name = part.name();
        let mut alone = Alone {
            exe: take.facts.exe.os().into(),
            argv: Vec::new(),
            cwd: take.facts.cwd.os().into(),
            process: ROOT_NAME.into(),
            born: born::ROOT,
        };
        each(part, |_, line| match line {
            Line::Fact(fact::COMMAND, bytes) => {
                alone.argv = bytes.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).into()).collect();
            }
            Line::Fact(fact::DIRECTORY, bytes) => alone.cwd = OsStr::from_bytes(bytes).into(),
            Line::Fact(fact::PROGRAM, bytes) => alone.exe = OsStr::from_bytes(bytes).into(),
            Line::Fact(fact::PROCESS, bytes) => alone.process = String::from_utf8_lossy(bytes).into_owned(),
            _ => {}
        });
        if !is_full(part) {
            let what =
                format!("{name} cannot be replayed alone: the take holds the order of its messages, not the contents");
            return Err(Failure::own(what)
                .next(format!("retake replay --full {}, which makes a take with them", take.label()))
                .next(format!("retake record --full -- {}", take.facts.command())));
        }
        if let Some(event) = checkpoint(part) {
            let what = format!(
                "the sleeping copy of {name} is gone, and its tape begins only behind its checkpoint at event {event}"
            );
            return Err(Failure::own(what).next(format!("retake show --participant {name} {}", take.label())));
        }
        let tape = tapes.iter().find(|tape| tape.name() == alone.process);
        alone.born = tape.map_or(born::ROOT, |tape| tape.header.born);
        if alone.born == born::FORK {
            let what = format!("{name} cannot be replayed alone: its process was forked, not executed");
            return Err(Failure::own(what).next(format!("retake replay {}", take.label())));
        }
        Ok(alone)
    }
}

impl Alone {
    /// The same of a process without participants, which exchanged messages by a library that is caught: a rank, a task.
    pub fn of_tape(take: &Take, tape: &Tape, tapes: &[Tape]) -> Result<Alone> {
        let (name, label) = (tape.name(), take.label());
        let Some(started) = notes(tape, note::COMMAND).into_iter().next() else {
            let what =
                format!("{name} cannot be replayed alone: the take holds the order of its messages, not the contents");
            return Err(Failure::own(what)
                .next(format!("retake replay --full {label}, which makes a take with them"))
                .next(format!("retake record --full -- {}", take.facts.command())));
        };
        // What it executed is a part of it; ranks that it started and tasks that it spawned are not.
        let is_below = |tape: &Tape, top: &str| match tape.name().strip_prefix(top) {
            Some(rest) => rest.is_empty() || rest.starts_with('.') && !rest.contains(RANK_NAME),
            None => false,
        };
        let is_other = |top: &Tape| top.header.born == born::TASK && top.name() != name && is_below(top, &name);
        let others: Vec<_> = tapes.iter().filter(|tape| is_other(tape)).map(Tape::name).collect();
        let inside = |tape: &&Tape| is_below(tape, &name) && !others.iter().any(|other| is_below(tape, other));
        let calls: BTreeSet<_> = tapes.iter().filter(inside).flat_map(|tape| notes(tape, note::NOT_ALONE)).collect();
        if !calls.is_empty() {
            let calls: Vec<_> = calls.iter().map(|call| String::from_utf8_lossy(call)).collect();
            let what = format!("{name} cannot be replayed alone: it called {}", words::clean(&calls.join(", ")));
            return Err(Failure::own(what).next(format!("retake replay {label}")));
        }
        let mut texts = started.split(|byte| *byte == 0).map(|text| OsStr::from_bytes(text).to_owned());
        let (exe, cwd) = (texts.next().unwrap_or_default().into(), texts.next().unwrap_or_default().into());
        Ok(Alone { exe, argv: texts.collect(), cwd, process: name, born: tape.header.born })
    }
}

/// The notes of this kind on a tape.
pub fn notes(tape: &Tape, kind: u8) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for thread in &tape.threads {
        let mut payload = tape.payload(thread);
        while let Ok(Some((_, entry))) = payload.next_entry() {
            if let Entry::Note(this, bytes) = entry
                && this == kind
            {
                found.push(bytes.to_vec());
            }
        }
    }
    found
}

/// Tells which processes of the take at `dir` cannot be replayed alone, and why.
pub fn tell_who_is_bound(dir: &Path) {
    let mut callers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in take::files(dir, TAPE_ENDING).unwrap_or_default() {
        let Ok(tape) = take::load(&path) else { continue };
        for name in notes(&tape, note::NOT_ALONE) {
            callers.entry(String::from_utf8_lossy(&name).into_owned()).or_default().push(tape.name());
        }
    }
    for (name, callers) in callers {
        say(format_args!("{} called {name}, and cannot be replayed alone", callers.join(", ")));
    }
}

/// Gives every line of a part to `sink`, with its event.
pub fn each<'a>(part: &'a Tape, mut sink: impl FnMut(u64, &Line<'a>)) {
    for thread in &part.threads {
        let mut payload = part.payload(thread);
        while let Ok(Some((event, line))) = payload.next_line() {
            sink(event, &line);
        }
    }
}

/// The lines of a part as a person reads them, each with its event.
pub fn lines(part: &Tape) -> Vec<(u64, String)> {
    let (mut partners, mut objects, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    each(part, |event, line| {
        match line {
            Line::Partner { name, .. } => partners.push(text(name)),
            Line::Object { name, .. } => objects.push(text(name)),
            _ => {}
        }
        let name = |names: &[String], index: u32| names.get(index as usize).cloned().unwrap_or_else(|| "?".into());
        let shown = retake_tape::part::words(line, &|index| name(&partners, index), &|index| name(&objects, index));
        let indent = if matches!(line, Line::Contents(_)) { "    " } else { "" };
        lines.push((event, format!("{indent}{shown}")));
    });
    let end = words::process_end(part.header.state.load(Relaxed), &part.header);
    let end =
        if part.header.state.load(Relaxed) == retake_tape::layout::state::EXITED { "finished".into() } else { end };
    lines.push((part.events(), end));
    lines
}
