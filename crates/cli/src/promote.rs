//! `retake replay --full`: a light take is replayed once, and what everyone sends, receives and reads is kept: a new take,
//! beside the light one, with which one participant can be replayed alone.
//!
//! It is Instant Replay's idea for the library's messages: collect more while replaying, never while recording. The tapes of
//! the processes stay as they are; only the parts are written anew, by the same rules as in a full capture.

use crate::facts::{Ended, Facts};
use crate::record::{make_dir, now_ms};
use crate::replay::Player;
use crate::status::{Context, Failure, Result, Status, say};
use crate::store::{Store, random};
use crate::take::{self, Origin, Take};
use crate::{Ending, develop, parts, words};
use retake_tape::session::{PART_ENDING, RANK_NAME, TAPE_ENDING, flag};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

pub fn main(store: &Store, mut player: Player, output: Option<&OsStr>) -> Result<Ending> {
    let label = player.take.label();
    let light = parts::load(&player.take)?;
    let Some(first) = light.first() else {
        if player.take.facts.tapes.iter().any(|tape| tape.process.contains(RANK_NAME)) {
            let what = format!("{label} is a job of MPI: what its ranks receive can be kept only when it is recorded");
            return Err(Failure::own(what).next(format!("retake record --full -- {}", player.take.facts.command())));
        }
        let what = format!("{label} has no participants: its program does not use the retake library");
        return Err(Failure::own(what).next(format!("retake replay {label}")));
    };
    if light.iter().all(parts::is_full) {
        return Err(Failure::own(format!("{label} holds the contents already"))
            .next(format!("retake replay --only {} {label}", first.name())));
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
        let filled = fill(&player.take, session, &dir, origin, store);
        if filled.is_err() {
            let _ = fs::remove_dir_all(&dir);
        }
        made = Some((filled?, origin, dir));
        Ok(())
    })?;
    if let Some((facts, origin, dir)) = made {
        let name = if origin == Origin::Store { facts.name } else { words::shell(&dir.to_string_lossy()) };
        say(format_args!("{label} with its contents -> {name}"));
        say(format_args!("next: retake replay --only {} {name}", first.name()));
    }
    Ok(Ending::Like(ended))
}

/// Makes a take in `dir` of the tapes of `light` and the parts that the replay has left in `session`.
fn fill(light: &Take, session: &Path, dir: &Path, origin: Origin, store: &Store) -> Result<Facts> {
    for tape in &light.facts.tapes {
        let file = format!("{}{TAPE_ENDING}", tape.process);
        fs::copy(light.dir.join(&file), dir.join(&file)).because(|| format!("cannot write into {}", dir.display()))?;
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
