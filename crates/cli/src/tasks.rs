//! The places of PVM's tasks: all tasks of one spawn are recorded under one name and a number, because they get one
//! environment. The ids that their parent was given say which is which; here each gets its place for a name. By that it is
//! found again, where one of them is to be replayed alone.

use crate::running;
use crate::status::{Context, Failure, Result};
use crate::take::{Take, files, header, load};
use crate::words;
use retake_tape::entry::Entry;
use retake_tape::layout::{ProcessHeader, born};
use retake_tape::op::Op;
use retake_tape::reader::Tape;
use retake_tape::session::{PAIRS, RICH_ENDING, Session, TAPE_ENDING, UNPLACED};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

const MARK: char = UNPLACED as char;

/// Tasks that one call spawned: the name of the call, and the task's id at each place (not positive if none started).
struct Spawn {
    name: String,
    tids: Vec<i32>,
}

/// How long tasks may go on when the first process has ended. They are children of PVM's daemon: nobody else waits.
const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(5);

/// Waits a while for tasks that are still being recorded into `dir`.
pub fn wait_recorded(session: &Session, dir: &Path) {
    let is_task = |path: &PathBuf| header(path).is_some_and(|header| header.born == born::TASK);
    wait_while(|| {
        let spawned = session.tasks.load(Acquire) as usize;
        if spawned == 0 {
            return false;
        }
        let tapes: Vec<_> = files(dir, TAPE_ENDING).unwrap_or_default().into_iter().filter(is_task).collect();
        tapes.iter().any(|path| running::writes(path)) || tapes.len() < spawned && running::is_any_of(dir)
    });
}

/// Waits a while for tasks that are still being replayed, unless the replay has gone wrong.
pub fn wait_replayed(session: &Session) {
    let length = (session.pairs_len.load(Acquire) as usize).min(PAIRS);
    let tasks: Vec<i32> = session.pair_kinds[..length]
        .iter()
        .filter_map(|kind| i32::try_from(kind.load(Acquire) >> 32).ok().filter(|process| *process > 0))
        .collect();
    // SAFETY: signal 0 asks and does nothing.
    let lives = |process: &i32| unsafe { libc::kill(*process, 0) } == 0;
    wait_while(|| session.report_state.load(Acquire) == 0 && tasks.iter().any(lives));
}

fn wait_while(busy: impl Fn() -> bool) {
    let started = Instant::now();
    while busy() && started.elapsed() < PATIENCE {
        std::thread::sleep(STEP);
    }
}

/// Which tasks that were started have no tape in `dir`, in words.
pub fn missing(dir: &Path) -> Option<String> {
    let paths = files(dir, TAPE_ENDING).ok()?;
    let mut spawns = Vec::new();
    let names: BTreeSet<_> = paths
        .iter()
        .filter_map(|path| load(path).ok())
        .map(|tape| {
            look_through(&tape, &mut spawns);
            tape.name()
        })
        .collect();
    let started = |spawn: &Spawn| {
        let places = (1..).zip(spawn.tids.clone()).filter(|(_, tid)| *tid > 0);
        places.map(|(place, _)| format!("{}.{place}", spawn.name)).collect::<Vec<_>>()
    };
    let all: Vec<_> = spawns.iter().flat_map(started).collect();
    let left: Vec<_> = all.iter().filter(|name| !names.contains(*name)).map(String::as_str).collect();
    let list = left[..left.len().min(12)].join(", ");
    let more = if left.len() > 12 { ", …" } else { "" };
    (!left.is_empty()).then(|| {
        format!(
            "{} of {} left no tape here ({list}{more}): their host does not have {}, or it was lost, or they are static programs; a replay runs them unrecorded",
            left.len(),
            words::count(all.len() as u64, "task"),
            dir.display()
        )
    })
}

/// Gives every unplaced task in `dir` its place, and all that it created with it.
pub fn place(dir: &Path) -> Result<()> {
    let paths = files(dir, TAPE_ENDING)?;
    if !paths.iter().any(|path| path.to_string_lossy().contains(MARK)) {
        return Ok(());
    }
    let (mut spawns, mut unplaced) = (Vec::new(), BTreeMap::new());
    for path in &paths {
        // A tape that cannot be read is told of when it is sealed.
        let Ok(tape) = load(path) else { continue };
        let tid = look_through(&tape, &mut spawns);
        if is_unplaced(&tape.name()) {
            unplaced.insert(tape.name(), tid);
        }
    }
    let places = places(&spawns, &unplaced);
    for ending in [TAPE_ENDING, RICH_ENDING] {
        for path in files(dir, ending)? {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(name) = file.strip_suffix(ending) else { continue };
            let placed = renamed(name, &places);
            if placed != name {
                rename(&path, &dir.join(format!("{placed}{ending}")), &placed)?;
            }
        }
    }
    Ok(())
}

/// Whether the process is itself such a task, not something that one created.
fn is_unplaced(name: &str) -> bool {
    name.rsplit_once(MARK).is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// Adds the spawns of this process; its own first id, if it enrolled.
fn look_through(tape: &Tape, spawns: &mut Vec<Spawn>) -> Option<i32> {
    let mut own = None;
    for thread in &tape.threads {
        let mut payload = tape.payload(thread);
        let mut spawned_at = 0;
        while let Ok(Some((event, entry))) = payload.next_entry() {
            match entry {
                Entry::Result(Op::PvmEnrol, tid) if tid > 0 => own = own.or(i32::try_from(tid).ok()),
                Entry::Result(Op::PvmSpawn, _) => spawned_at = event,
                Entry::Bytes(bytes) if event == spawned_at => {
                    let mut numbers =
                        bytes.chunks_exact(4).map(|four| i32::from_le_bytes([four[0], four[1], four[2], four[3]]));
                    let name = format!("{}.{}", thread.name, numbers.next().unwrap_or(0));
                    spawns.push(Spawn { name, tids: numbers.collect() });
                }
                _ => {}
            }
        }
    }
    own
}

/// Which name each unplaced task gets. One that never enrolled takes a place that is left: no task can tell them apart.
fn places(spawns: &[Spawn], unplaced: &BTreeMap<String, Option<i32>>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for spawn in spawns {
        let mine = |name: &str| name.rsplit_once(MARK).is_some_and(|(call, _)| call == spawn.name);
        let place = |index: usize| format!("{}.{}", spawn.name, index + 1);
        let mut left: BTreeSet<usize> = (0..spawn.tids.len()).filter(|index| spawn.tids[*index] > 0).collect();
        for (name, tid) in unplaced.iter().filter(|(name, _)| mine(name)) {
            if let Some(index) = tid.and_then(|tid| spawn.tids.iter().position(|other| *other == tid)) {
                left.remove(&index);
                found.insert(name.clone(), place(index));
            }
        }
        for (name, _) in unplaced.iter().filter(|(name, tid)| mine(name) && tid.is_none()) {
            if let Some(index) = left.pop_first() {
                found.insert(name.clone(), place(index));
            }
        }
    }
    found
}

/// The name with every unplaced task in it replaced, the innermost first.
fn renamed(name: &str, places: &BTreeMap<String, String>) -> String {
    let mut name = name.to_owned();
    loop {
        let ends = name.match_indices(['.', '~']).map(|(at, _)| at).chain([name.len()]);
        let Some(end) = ends.rev().find(|end| places.contains_key(&name[..*end])) else { return name };
        name = format!("{}{}", places[&name[..end]], &name[end..]);
    }
}

/// What stands before the name of a task where a person names one.
pub const TASK_NAME: &str = "task:";

/// Whether the process was a task: it enrolled.
pub fn is_task(tape: &Tape) -> bool {
    look_through(tape, &mut Vec::new()).is_some()
}

/// The tape of that task, or a failure that names those there are.
pub fn find<'a>(take: &Take, tapes: &'a [Tape], name: &str) -> Result<&'a Tape> {
    let tasks: Vec<_> = tapes.iter().filter(|tape| is_task(tape)).collect();
    let label = take.label();
    let Some(tape) = tasks.iter().find(|tape| tape.name() == name) else {
        if tasks.is_empty() {
            let what = format!("{label} has no tasks: its program does not use PVM");
            return Err(Failure::own(what).next(format!("retake replay {label}")));
        }
        let names: Vec<_> = tasks.iter().map(|tape| tape.name()).collect();
        let what = format!("{label} has no task {}, but {}", words::clean(name), names.join(", "));
        return Err(Failure::own(what).next(format!("retake replay --only {TASK_NAME}{} {label}", names[0])));
    };
    if tape.header.born == born::FORK {
        let what = format!("{name} cannot be replayed alone: its process was forked, not executed");
        return Err(Failure::own(what).next(format!("retake replay {label}")));
    }
    Ok(tape)
}

/// Renames the file and the process in it.
fn rename(from: &Path, to: &Path, name: &str) -> Result<()> {
    let words = || format!("cannot rename {}", from.display());
    let file = OpenOptions::new().write(true).open(from).because(words)?;
    let length = u32::try_from(name.len()).map_err(|_| Failure::own(words()))?;
    file.write_all_at(name.as_bytes(), offset_of!(ProcessHeader, name) as u64).because(words)?;
    file.write_all_at(&length.to_le_bytes(), offset_of!(ProcessHeader, name_len) as u64).because(words)?;
    fs::rename(from, to).because(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_placed_by_their_ids() {
        let spawn = |name: &str, tids: &[i32]| Spawn { name: name.into(), tids: tids.into() };
        let spawns = [spawn("0.1", &[40, 41, 42, -7]), spawn("0.1+5.2", &[50])];
        let unplaced = [("0.1+4", None), ("0.1+5", Some(42)), ("0.1+9", Some(40)), ("0.1+5.2+11", Some(50))];
        let unplaced = unplaced.into_iter().map(|(name, tid)| (name.to_string(), tid)).collect();
        let places = places(&spawns, &unplaced);
        assert_eq!(renamed("0.1+9", &places), "0.1.1");
        assert_eq!(renamed("0.1+4", &places), "0.1.2");
        assert_eq!(renamed("0.1+5", &places), "0.1.3");
        assert_eq!(renamed("0.1+5.1", &places), "0.1.3.1");
        assert_eq!(renamed("0.1+5.2+11.3", &places), "0.1.3.2.1.3");
        assert_eq!(renamed("0.2+1", &places), "0.2+1");
        assert!(is_unplaced("0.1+5") && is_unplaced("0.1+5.2+11") && !is_unplaced("0.1+5.1") && !is_unplaced("0.1"));
    }
}
