//! Messages in words: what the receives of MPI and PVM got, by the names of those who sent.

use crate::{take, words};
use retake_tape::entry::{CANCELLED, Entry};
use retake_tape::matches::{self, Match, Said, WITHDRAWN, calls};
use retake_tape::op::Op;
use retake_tape::reader::{Tape, Thread};
use retake_tape::rich::{Message, WAITS};
use retake_tape::session::{RANK_NAME, TAPE_ENDING};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The tasks of PVM, by their recorded ids.
#[derive(Default)]
pub struct Tasks(HashMap<i32, String>);

impl Tasks {
    pub fn of(tapes: &[Tape]) -> Tasks {
        let mut tasks = HashMap::new();
        for tape in tapes {
            for thread in &tape.threads {
                let mut payload = tape.payload(thread);
                while let Ok(Some((_, entry))) = payload.next_entry() {
                    if let Entry::Result(Op::PvmEnrol, id) = entry
                        && id > 0
                    {
                        tasks.insert(id as i32, tape.name());
                    }
                }
            }
        }
        Tasks(tasks)
    }

    /// Who sent a message: a task by its name, which is the same in every run.
    fn sender(&self, id: i32) -> String {
        match self.0.get(&id) {
            _ if id < 0 => format!("the daemon t{id:x}"),
            Some(name) => format!("task {name}"),
            None => format!("task t{id:x}"),
        }
    }

    /// What `op` returned.
    pub fn result(&self, op: Op, code: i64) -> String {
        match pvm_message(op, code) {
            Some((source, tag)) => format!("a message from {} with tag {tag}", self.sender(source)),
            None => words::result(op, code),
        }
    }

    /// What an entry of a tape says.
    pub fn entry(&self, entry: &Entry<'_>) -> String {
        match entry {
            Entry::Result(op, code) if pvm_message(*op, *code).is_some() => {
                format!("{} returned {}", op.word(), self.result(*op, *code))
            }
            other => words::entry(other),
        }
    }
}

/// Source and tag of the message that a call of PVM got, if it got one.
fn pvm_message(op: Op, code: i64) -> Option<(i32, i32)> {
    let receives = matches!(op, Op::PvmRecv | Op::PvmNrecv | Op::PvmTrecv | Op::PvmPrecv | Op::PvmProbe);
    let came = code != 0 && code != CANCELLED && code != WAITS && !(-64..0).contains(&code);
    (receives && came).then_some(((code >> 32) as i32, code as i32))
}

/// The job that a launcher of MPI started, in words: how many ranks, of which library.
pub fn job(tapes: &[Tape]) -> Option<String> {
    let mut ranks = tapes.iter().filter(|tape| tape.name().split('.').any(|part| part.starts_with(RANK_NAME)));
    ranks.find_map(|tape| {
        let mut payload = tape.threads.first().map(|thread| tape.payload(thread))?;
        while let Ok(Some((_, entry))) = payload.next_entry() {
            if let Entry::Bytes(words) = entry
                && let Ok(words) = std::str::from_utf8(words)
                && words.contains(" ranks of ")
            {
                return Some(words::clean(words));
            }
        }
        None
    })
}

/// The ranks of one job that have a tape, and the tapes of all that they are.
type Ranks = (BTreeSet<u64>, Vec<PathBuf>);

/// The jobs of which there are tapes in `dir`.
fn jobs(dir: &Path) -> Vec<Ranks> {
    let mut jobs: BTreeMap<String, Ranks> = BTreeMap::new();
    for path in take::files(dir, TAPE_ENDING).unwrap_or_default() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((job, rest)) = name.rsplit_once(RANK_NAME) else { continue };
        if let Some(Ok(rank)) = rest.split(['.', '~']).next().map(str::parse) {
            let (ranks, paths) = jobs.entry(job.to_owned()).or_default();
            ranks.insert(rank);
            paths.push(path);
        }
    }
    jobs.into_values().collect()
}

/// Tells of a job in `dir` none of whose ranks was seen to use MPI.
pub fn unseen_ranks(dir: &Path) -> Option<String> {
    let is_seen =
        |(_, paths): &Ranks| paths.iter().any(|path| take::load(path).is_ok_and(|tape| job(&[tape]).is_some()));
    let (ranks, _) = jobs(dir).into_iter().find(|job| !is_seen(job))?;
    Some(format!(
        "none of {} was seen to call MPI: they do not use it, or are linked statically with it, and then their messages are not recorded",
        words::count(ranks.len() as u64, "rank")
    ))
}

/// Ranks of which nothing is in `dir`, though others of the same job are there: what is told of each job.
pub fn missing_ranks(dir: &Path) -> Vec<String> {
    let told = |(ranks, paths): Ranks| {
        let words = paths.iter().find_map(|path| job(&[take::load(path).ok()?]))?;
        let all: u64 = words.split(' ').next()?.parse().ok()?;
        let missing: Vec<_> = (0..all).filter(|rank| !ranks.contains(rank)).map(|rank| rank.to_string()).collect();
        let list = missing[..missing.len().min(12)].join(", ");
        (!missing.is_empty()).then(|| {
            format!(
                "{} of {words} left no tape here ({list}{}): their host does not have {}, or it was lost; a replay needs them",
                missing.len(),
                if missing.len() > 12 { ", …" } else { "" },
                dir.display()
            )
        })
    };
    jobs(dir).into_iter().filter_map(told).collect()
}

/// What a receive of MPI got.
pub fn message(got: &Message) -> String {
    let count = got.count.map(|count| format!(", {}", words::count(count, "element"))).unwrap_or_default();
    format!("{} from {}, tag {}{count}", calls::word(got.call), rank(got.source), got.tag)
}

/// A source: MPI's negative ones are nobody.
fn rank(source: i32) -> String {
    if source < 0 { "nobody".into() } else { format!("rank {source}") }
}

/// What a receive from anyone got, as the tape has it.
pub fn matched(found: &Match) -> String {
    match found.source {
        WITHDRAWN => format!("{}: withdrawn, nothing came", calls::word(found.call)),
        source => format!("{} from {}, tag {}", calls::word(found.call), rank(source), found.tag),
    }
}

/// The receives from anyone of one thread, by their numbers.
pub type Received = BTreeMap<u64, Match>;

/// What the tape of a process says of them, by the number of the thread that asked.
pub fn received(tape: &Tape) -> HashMap<u32, Received> {
    let mut all: HashMap<u32, Received> = HashMap::new();
    for thread in &tape.threads {
        let (mut payload, mut context) = (tape.payload(thread), matches::Context::new());
        while let Ok(Some((_, entry))) = payload.next_entry() {
            if let Entry::Matches(block) = entry {
                matches::read(&mut context, block, |said| {
                    if let Said::Match(found) = said {
                        all.entry(owner(thread, &found)).or_default().insert(found.number, found);
                    }
                });
            }
        }
    }
    all
}

/// The thread that asked for it.
fn owner(thread: &Thread, found: &Match) -> u32 {
    if found.thread == 0 { thread.header.number } else { found.thread }
}

/// A block of a tape as lines; those that say the same of receives in a row are one.
pub fn lines(context: &mut matches::Context, block: &[u8]) -> Vec<String> {
    let mut runs: Vec<(u64, Match)> = Vec::new();
    let mut lines = Vec::new();
    let flush = |runs: &mut Vec<(u64, Match)>, lines: &mut Vec<String>| {
        for (first, last) in runs.drain(..) {
            let by = if last.thread == 0 { String::new() } else { format!(" of thread number {}", last.thread) };
            let which = match last.number - first {
                0 => format!("receive {}", first + 1),
                _ => format!("receives {} to {}", first + 1, last.number + 1),
            };
            lines.push(format!("{which}{by} from anyone: {}", matched(&last)));
        }
    };
    matches::read(context, block, |said| match said {
        Said::Match(found) => match runs.last_mut() {
            Some((_, last)) if (Match { number: last.number.wrapping_add(1), ..*last }) == found => *last = found,
            _ => runs.push((found.number, found)),
        },
        Said::Withdrawn(number) => {
            flush(&mut runs, &mut lines);
            lines.push(format!("receive {} from a given rank: withdrawn, nothing came", number.saturating_add(1)));
        }
    });
    flush(&mut runs, &mut lines);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_told_in_lines() {
        let one = |number, source, call| Match { thread: 0, number, call, source, tag: 5 };
        let all = [one(0, 2, calls::RECV), one(1, 2, calls::RECV), one(2, 1, calls::RECV), one(4, 1, calls::IRECV)];
        let mut block = vec![0u8; 512];
        let (mut context, mut to) = (matches::Context::new(), block.as_mut_ptr());
        for found in all {
            // SAFETY: there is room for all.
            to = unsafe { matches::add(&mut context, to, 100, found) };
        }
        assert_eq!(
            lines(&mut matches::Context::new(), &block),
            [
                "receives 1 to 2 from anyone: MPI_Recv from rank 2, tag 5",
                "receive 3 from anyone: MPI_Recv from rank 1, tag 5",
                "receive 5 from anyone: MPI_Irecv from rank 1, tag 5",
            ]
        );
    }

    #[test]
    fn tasks_are_told_by_name() {
        let tasks = Tasks(HashMap::from([(0x40003, "0.1.2".to_owned())]));
        assert_eq!(tasks.result(Op::PvmRecv, 0x40003 << 32 | 7), "a message from task 0.1.2 with tag 7");
        assert_eq!(tasks.result(Op::PvmRecv, 0x40004 << 32 | 7), "a message from task t40004 with tag 7");
        assert_eq!(tasks.result(Op::PvmNrecv, 0), "nothing");
        assert_eq!(tasks.result(Op::PvmNrecv, -14), "-14");
    }
}
