//! Developing a take: one replay in which everything is noted, kept beside the light tapes.
//!
//! It is Instant Replay's own idea: collect more while replaying, never while recording.

use crate::facts::TapeFacts;
use crate::lines;
use crate::replay::{Output, Player, require_trust};
use crate::running;
use crate::status::{Context, Failure, Result, Status};
use crate::store::Store;
use crate::take::{self, Take};
use retake_tape::layout::kind;
use retake_tape::reader::Tape;
use retake_tape::session::{RICH_ENDING, TALK_ENDING, flag};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long children of the program may outlive it.
const STRAGGLERS: Duration = Duration::from_secs(5);

/// The rich tapes of a take that is developed already.
pub fn developed(take: &Take) -> Option<Vec<Tape>> {
    let paths = take::files(&take.dir, RICH_ENDING).ok()?;
    let tapes: Vec<Tape> = paths.iter().map_while(|path| take::load(path).ok()).collect();
    let whole = tapes.len() == paths.len() && tapes.iter().all(|tape| tape.header.kind == kind::RICH);
    let all = take.facts.tapes.iter().all(|facts| tapes.iter().any(|tape| tape.name() == facts.process));
    let talks = |part: &TapeFacts| take.dir.join(format!("{}{TALK_ENDING}", part.process)).exists();
    let all = all && take.facts.parts.iter().all(talks);
    (whole && all && !tapes.is_empty()).then_some(tapes)
}

/// The rich tapes of `take`, which is developed first if need be; `trust` runs a stranger's command. `command` is the one
/// that wants them.
pub fn rich_tapes(store: &Store, take: Take, trust: bool, command: &str) -> Result<(Take, Vec<Tape>)> {
    if let Some(tapes) = developed(&take) {
        lines::keep(&take, &tapes);
        return Ok((take, tapes));
    }
    if !trust {
        let remedies =
            |label: &str| [format!("retake {command} --trust {label}"), format!("retake show --light {label}")];
        require_trust(store, &take, remedies)?;
    }
    let mut player = Player::new(take)?;
    player.flags = flag::RICH;
    player.silent = true;
    let home = player.take.dir.clone();
    let mut tapes = Vec::new();
    let recorded = player.take.facts.ended;
    player.play(Some(&Output::null()?), &mut |session, ended| {
        if recorded.is_some_and(|recorded| recorded != ended) {
            let what = format!("the replay that should tell more ended with {}, the recording did not", ended.words());
            return Err(Failure::new(Status::Diverged, what));
        }
        collect(session, &home, TALK_ENDING)?;
        tapes = collect(session, &home, RICH_ENDING)?;
        Ok(())
    })?;
    if tapes.is_empty() {
        return Err(Failure::own("the replay noted no events").next("retake show --light"));
    }
    lines::keep(&player.take, &tapes);
    Ok((player.take, tapes))
}

/// Seals what a replay noted in `session`, once nobody writes it any more.
pub fn sealed(session: &Path, ending: &str) -> Result<Vec<Tape>> {
    let paths = take::files(session, ending)?;
    wait_written(&paths)?;
    let words = |why: String| Failure::own(format!("cannot use what the replay noted: {why}"));
    let sealed = |path: &PathBuf| take::seal_file(path).and_then(|_| take::load(path)).map_err(words);
    paths.iter().map(sealed).collect()
}

fn wait_written(paths: &[PathBuf]) -> Result<()> {
    let started = Instant::now();
    while paths.iter().any(|path| running::writes(path)) {
        if started.elapsed() > STRAGGLERS {
            return Err(Failure::own("processes of the replay did not end with it").next("retake show --light"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The same, and keeps it in the take, unless that cannot be written.
pub fn collect(session: &Path, home: &Path, ending: &str) -> Result<Vec<Tape>> {
    let tapes = sealed(session, ending)?;
    for path in take::files(session, ending)? {
        let name = path.file_name().unwrap_or_default();
        let fresh = home.join(format!(".{}", name.to_string_lossy()));
        // A take on read-only media is developed each time anew.
        if fs::copy(&path, &fresh).and_then(|_| fs::rename(&fresh, home.join(name))).is_err() {
            let _ = fs::remove_file(&fresh);
        }
        fs::remove_file(&path).because(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(tapes)
}
