//! The board of a replay that somebody looks at, mapped; and the threads that have rows on it.

use crate::session::create_map;
use crate::status::{Failure, Result};
use crate::take::Take;
use retake_tape::board::{self, Board, MAGIC, Row};
use retake_tape::reader::Tape;
use retake_tape::session::{RANK_NAME, ROOT_NAME};
use std::path::Path;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// A board that this process made.
pub struct Mapped {
    at: *mut Board,
    size: usize,
}

impl Mapped {
    /// Makes the board at `path`, with a row for each thread of `tapes`.
    pub fn create(path: &Path, tapes: &[Tape]) -> Result<Mapped> {
        let numbers = tapes.iter().flat_map(|tape| &tape.threads).map(|thread| thread.header.number);
        let rows = numbers.max().unwrap_or(0) + 1;
        let size = board::size(rows);
        let (at, _) = create_map(path, size)?;
        let mapped = Mapped { at: at.cast(), size };
        mapped.rows.store(rows, Relaxed);
        mapped.magic.store(MAGIC, Release);
        Ok(mapped)
    }

    /// The row of the thread `number`.
    pub fn row(&self, number: u32) -> Option<&Row> {
        // SAFETY: the map lives as long as self.
        unsafe { board::row(self.at, number) }
    }
}

impl std::ops::Deref for Mapped {
    type Target = Board;

    fn deref(&self) -> &Board {
        // SAFETY: the map lives as long as self; everything in it is atomic.
        unsafe { &*self.at }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: made by mmap with this size.
        unsafe { libc::munmap(self.at.cast(), self.size) };
    }
}

/// How far inside an object of operation `op` the version lies that is waited for (`preload/glibc.rs` puts it there).
pub fn word_offset(op: u32) -> u64 {
    match op {
        1..=19 => 24,
        20..=29 | 40..=49 => 16,
        _ => 0,
    }
}

/// A place on the tapes: a thread, and an event of it if one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Where {
    pub thread: String,
    pub event: Option<u64>,
}

impl Where {
    /// Reads `0.2`, or `0.2:812`; of a rank `rank:2`, or `rank:2:812`. A number alone is an event of the first thread, whose
    /// name is 0.
    pub fn parse(text: &str) -> Option<Where> {
        if let Ok(event) = text.parse()
            && text != ROOT_NAME
        {
            return Some(Where { thread: ROOT_NAME.into(), event: Some(event) });
        }
        // The colon in a rank's name is part of it.
        let start = text.rfind(RANK_NAME).map_or(0, |at| at + RANK_NAME.len());
        let (thread, event) = match text[start..].split_once(':') {
            Some((rest, event)) => (&text[..start + rest.len()], Some(event.parse().ok()?)),
            None => (text, None),
        };
        let is_place = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_digit() || c == 'h')
                && part.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, '~' | 'h'))
        };
        let is_rank = |part: &str| part.strip_prefix(RANK_NAME).is_some_and(is_place);
        let is_name = thread.split('.').all(|part| is_place(part) || is_rank(part));
        is_name.then(|| Where { thread: thread.to_owned(), event })
    }

    /// The number of the thread and of its process's main thread, and the process's name, if the take has such a place.
    pub fn find(&self, take: &Take, tapes: &[Tape]) -> Result<Found> {
        let next = format!("retake show --light {}", take.label());
        for tape in tapes {
            let Some(thread) = tape.threads.iter().find(|thread| thread.name == self.thread) else { continue };
            if let Some(event) = self.event
                && (event == 0 || event > thread.events())
            {
                let what = format!("thread {} has events 1 to {}, not {event}", self.thread, thread.events());
                return Err(Failure::own(what).next(next));
            }
            let main = tape.threads.iter().find(|thread| thread.header.index == 0).map_or(0, |main| main.header.number);
            return Ok(Found { number: thread.header.number, main, process: tape.name() });
        }
        let names: Vec<&str> =
            tapes.iter().flat_map(|tape| &tape.threads).map(|thread| thread.name.as_str()).take(12).collect();
        let what = format!("{} has no thread {}; it has {}", take.label(), self.thread, names.join(", "));
        Err(Failure::own(what).next(next))
    }
}

/// A thread that was found in a take.
pub struct Found {
    pub number: u32,
    /// The main thread of its process.
    pub main: u32,
    pub process: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let at = |thread: &str, event| Some(Where { thread: thread.into(), event });
        assert_eq!(Where::parse("0.2"), at("0.2", None));
        assert_eq!(Where::parse("0.2:812"), at("0.2", Some(812)));
        assert_eq!(Where::parse("0"), at("0", None));
        assert_eq!(Where::parse("812"), at("0", Some(812)));
        assert_eq!(Where::parse("0~1:3"), at("0~1", Some(3)));
        assert_eq!(Where::parse("rank:2"), at("rank:2", None));
        assert_eq!(Where::parse("rank:2.1:9"), at("rank:2.1", Some(9)));
        assert_eq!(Where::parse("0.2.rank:13:9"), at("0.2.rank:13", Some(9)));
        for text in
            ["", ":3", "0.2:", "0.2:x", "latest", "true-3", "dir/take", "h-1", "0.", "rank:", "rank:x", "rank:1:"]
        {
            assert_eq!(Where::parse(text), None, "{text}");
        }
    }
}
