//! A vector clock that holds only those it has heard of.
//!
//! It counts receives, nothing else: the entry of a process is how many of its receives happened before. That is all
//! that a race is about, and who never receives costs nothing. An entry that is missing is zero.
//!
//! Law: entries only grow. Any clock with smaller entries is still true, it only knows less.

use alloc::vec::Vec;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// By process, in rising order; no zeros.
    entries: Vec<(u32, u64)>,
}

impl Clock {
    pub fn get(&self, process: u32) -> u64 {
        self.find(process).map_or(0, |at| self.entries[at].1)
    }

    /// Raises the entry of the process to at least the value.
    pub fn raise(&mut self, process: u32, value: u64) {
        match self.find(process) {
            Ok(at) => self.entries[at].1 = self.entries[at].1.max(value),
            Err(_) if value == 0 => {}
            Err(at) => self.entries.insert(at, (process, value)),
        }
    }

    /// Learns all that the other knows.
    pub fn merge(&mut self, other: &Clock) {
        for (process, value) in &other.entries {
            self.raise(*process, *value);
        }
    }

    /// What it knows, by process in rising order.
    pub fn entries(&self) -> &[(u32, u64)] {
        &self.entries
    }

    /// Values for processes that are asked for in rising order.
    pub fn walk(&self) -> Walk<'_> {
        Walk { rest: &self.entries }
    }

    fn find(&self, process: u32) -> Result<usize, usize> {
        // Most clocks hold the processes 0, 1, 2 …: look there first.
        match self.entries.get(process as usize) {
            Some((found, _)) if *found == process => Ok(process as usize),
            _ => self.entries.binary_search_by_key(&process, |entry| entry.0),
        }
    }
}

pub struct Walk<'a> {
    rest: &'a [(u32, u64)],
}

impl Walk<'_> {
    /// The entry of the process, which is not below the one asked for before.
    pub fn until(&mut self, process: u32) -> u64 {
        while let Some((&(found, value), rest)) = self.rest.split_first() {
            if found == process {
                return value;
            }
            if found > process {
                break;
            }
            self.rest = rest;
        }
        0
    }
}
