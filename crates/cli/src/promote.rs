//! `retake replay --full`: a light take is replayed once, and what everyone sends, receives and reads is kept: a new take,
//! beside the light one, with which one participant, rank or task can be replayed alone.
//!
//! It is Instant Replay's idea for messages: collect more while replaying, never while recording. Participants of the library
//! write full parts, by the same rules as in a full capture. Ranks and tasks write notes, each process into a file of its own
//! (`NAME.kept`), which are put onto the tapes here, where a full recording would have written them.

use crate::facts::{Ended, Facts};
use crate::record::{make_dir, now_ms};
use crate::replay::Player;
use crate::status::{Context, Failure, Result, Status, say};
use crate::store::{Store, random};
use crate::take::{self, Origin};
use crate::{Ending, develop, parts, tasks, words};
use retake_tape::entry::note;
use retake_tape::merge;
use retake_tape::reader::Tape;
use retake_tape::session::{KEPT_ENDING, PART_ENDING, RANK_NAME, TAPE_ENDING, flag};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

pub fn main(store: &Store, mut player: Player, output: Option<&OsStr>) -> Result<Ending> {
    let label = player.take.label();
    let light = parts::load(&player.take)?;
    let exchanging = exchanging(&player.tapes);
    let Some(first) = light.first().map(Tape::name).or_else(|| exchanging.first().cloned()) else {
        let what = format!("{label} has nobody who could be alone: no participant of the retake library, rank or task");
        return Err(Failure::own(what).next(format!("retake replay {label}")));
    };
    let is_full = |tape: &Tape| !parts::notes(tape, note::COMMAND).is_empty();
    if light.iter().all(parts::is_full) && player.tapes.iter().filter(|tape| exchanges(tape)).all(is_full) {
        return Err(Failure::own(format!("{label} holds the contents already"))
            .next(format!("retake replay --only {first} {label}")));
    }
    player.flags |= flag::FULL;
    let mut made = None;
    let recorded = player.recorded_end();
    let ended = player.play(None, &mut |session, ended| {
        if recorded.is_some_and(|recorded| recorded != ended) {
            let what = format!("the replay ended with {}, the recording did not; no take was made", ended.words());
            return Err(Failure::new(Status::Diverged, what).next(format!("retake replay {label}")));
        }
        let exe = player.take.facts.exe.os();
        let (dir, origin) = make_dir(store, output, Path::new(&exe))?;
        let filled = fill(&player, session, &dir, origin, store);
        if filled.is_err() {
            let _ = fs::remove_dir_all(&dir);
        }
        made = Some((filled?, origin, dir));
        Ok(())
    })?;
    if let Some((facts, origin, dir)) = made {
        let name = if origin == Origin::Store { facts.name } else { words::shell(&dir.to_string_lossy()) };
        say(format_args!("{label} with its contents -> {name}"));
        parts::tell_who_is_bound(&dir);
        say(format_args!("next: retake replay --only {first} {name}"));
    }
    Ok(Ending::Like(ended))
}

/// Whether the process is a rank or a task.
fn exchanges(tape: &Tape) -> bool {
    is_rank(&tape.name()) || tasks::is_task(tape)
}

/// Whether this is the name of a rank itself, not of what it made.
fn is_rank(name: &str) -> bool {
    name.rsplit_once(RANK_NAME).is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// What a person calls the ranks and tasks.
fn exchanging(tapes: &[Tape]) -> Vec<String> {
    let called = |tape: &Tape| match tape.name() {
        name if is_rank(&name) => Some(name),
        name if tasks::is_task(tape) => Some(format!("{}{name}", tasks::TASK_NAME)),
        _ => None,
    };
    tapes.iter().filter_map(called).collect()
}

/// The tape of `process`, with what was kept of its exchanges, if there are any.
fn with_notes(player: &Player, process: &str, kept: &[Tape]) -> Result<Vec<u8>> {
    let path = player.take.dir.join(format!("{process}{TAPE_ENDING}"));
    let bytes = fs::read(&path).because(|| format!("cannot read {}", path.display()))?;
    let Some(kept) = kept.iter().find(|kept| kept.name() == process) else { return Ok(bytes) };
    merge::with_notes(&bytes, kept)
        .map_err(|fault| Failure::own(format!("cannot use what the replay kept of {process}: {fault:?}")))
}

/// How long tasks may begin behind the end of the first process. They are children of PVM's daemon: nobody else waits.
const LATE: Duration = Duration::from_secs(20);

/// What was kept of the exchanges of the processes, once all who exchange have begun.
fn kept(player: &Player, session: &Path) -> Result<Vec<Tape>> {
    let exchanging: Vec<_> = player.tapes.iter().filter(|tape| exchanges(tape)).map(Tape::name).collect();
    let started = Instant::now();
    let is_missing = |name: &String| !session.join(format!("{name}{KEPT_ENDING}")).exists();
    while exchanging.iter().any(is_missing) && started.elapsed() < LATE {
        std::thread::sleep(Duration::from_millis(10));
    }
    // A process that only uses the library leaves no notes that anyone needs.
    let kept = if exchanging.is_empty() { Vec::new() } else { develop::sealed(session, KEPT_ENDING)? };
    let Some(name) = exchanging.iter().find(|name| !kept.iter().any(|kept| kept.name() == **name)) else {
        return Ok(kept);
    };
    let what = format!("the replay has not told what {name} exchanged; no take was made");
    Err(Failure::new(Status::Diverged, what).next(format!("retake replay {}", player.take.label())))
}

/// Makes a take in `dir` of the tapes that were replayed and what the replay has left in `session`.
fn fill(player: &Player, session: &Path, dir: &Path, origin: Origin, store: &Store) -> Result<Facts> {
    let light = &player.take;
    let kept = kept(player, session)?;
    for tape in &light.facts.tapes {
        let file = dir.join(format!("{}{TAPE_ENDING}", tape.process));
        let bytes = with_notes(player, &tape.process, &kept)?;
        let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
        written
            .and_then(|mut file| file.write_all(&bytes))
            .because(|| format!("cannot write into {}", dir.display()))?;
    }
    let full = develop::collect(session, dir, PART_ENDING)?;
    for part in &light.facts.parts {
        let same = full.iter().any(|full| full.name() == part.process && full.events() == part.events);
        if !same {
            let what = format!("the replay has not told all that {} did; no take was made", part.process);
            return Err(Failure::new(Status::Diverged, what).next(format!("retake replay {}", light.label())));
        }
    }
    let mut facts = light.facts.clone();
    facts.id = format!("{:016x}{:016x}", random(), random());
    facts.name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    facts.started_ms = now_ms();
    (facts.complete, facts.rich) = (false, false);
    let ended: Option<Ended> = facts.ended;
    take::finish(dir, &mut facts, ended)?;
    if origin == Origin::Elsewhere {
        store.remember(&facts.id, dir).because(|| "cannot note the take as yours".into())?;
    }
    Ok(facts)
}
