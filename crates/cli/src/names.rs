//! Names of objects for people: a variable's own name where it has one, else its kind and a number.

use crate::symbols::Symbols;
use retake_tape::op::Op;
use retake_tape::reader::Tape;
use retake_tape::rich::{COMM_SELF, COMM_WORLD, Rich};
use std::collections::HashMap;

/// Gives names in the order in which objects are first seen.
#[derive(Default)]
pub struct ObjectNames {
    names: HashMap<(String, &'static str, u64), String>,
    numbers: HashMap<(&'static str, String), u32>,
    /// Names of threads, by their numbers.
    threads: HashMap<u64, String>,
}

impl ObjectNames {
    /// Names for what the threads of these tapes do.
    pub fn new(tapes: &[Tape]) -> ObjectNames {
        let threads = tapes.iter().flat_map(|tape| &tape.threads);
        let threads = threads.map(|thread| (thread.header.number.into(), thread.name.clone())).collect();
        ObjectNames { threads, ..ObjectNames::default() }
    }

    /// The name of the object of `rich`, an operation of `thread` in `process`; empty if it has none.
    pub fn name(&mut self, process: &str, thread: &str, rich: &Rich, symbols: &mut Symbols) -> String {
        let kind = kind(rich.op);
        match rich.op {
            // Its object is the function that it runs, its version the new thread's number.
            Op::ThreadCreate => return self.threads.get(&rich.version).cloned().unwrap_or_default(),
            Op::ThreadStart => {
                // Whoever joins it names it by its handle.
                self.names.insert((process.to_owned(), kind, rich.version), thread.to_owned());
                return symbols.place(process, rich.object).and_then(|place| place.function).unwrap_or_default();
            }
            _ => {}
        }
        match rich.object {
            _ if kind.is_empty() => return String::new(),
            0 => return String::new(),
            COMM_WORLD if kind == "comm" => return "MPI_COMM_WORLD".into(),
            COMM_SELF if kind == "comm" => return "MPI_COMM_SELF".into(),
            _ => {}
        }
        let key = (process.to_owned(), kind, rich.object);
        // A new object may lie where an old one was.
        if matches!(rich.op, Op::MutexInit) {
            self.names.remove(&key);
        }
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let name = symbols.variable(process, rich.object).unwrap_or_else(|| {
            // The ranks of a job use their communicators in the same order: each rank counts its own.
            let counter = if kind == "comm" { process } else { "" };
            let number = self.numbers.entry((kind, counter.to_owned())).or_default();
            *number += 1;
            format!("{kind}#{number}")
        });
        self.names.insert(key, name.clone());
        name
    }
}

/// What an operation is done on.
pub fn kind(op: Op) -> &'static str {
    match op as u8 {
        1..=9 => "mutex",
        10..=19 => "cond",
        20..=29 => "rwlock",
        30..=34 => "spin",
        35 => "barrier",
        36..=37 => "once",
        45..=47 => "futex",
        40..=49 => "sem",
        50..=59 => "thread",
        60..=61 => "critical",
        62..=69 => "omplock",
        70 => "stream",
        71 => "file",
        110..=125 => "comm",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_numbered_as_they_come() {
        let (mut names, mut symbols) = (ObjectNames::default(), Symbols::default());
        let mut name = |op, object| {
            let rich = Rich { sequence: 0, op, event: 0, object, version: 0, result: 0, message: None, pcs: [0; 6] };
            names.name("0", "0", &rich, &mut symbols)
        };
        assert_eq!(name(Op::MutexLock, 64), "mutex#1");
        assert_eq!(name(Op::MutexLock, 32), "mutex#2");
        assert_eq!(name(Op::MutexUnlock, 64), "mutex#1");
        assert_eq!(name(Op::CondWait, 64), "cond#1");
        assert_eq!(name(Op::MutexInit, 64), "mutex#3");
        assert_eq!(name(Op::Clock, 64), "");
        assert_eq!(name(Op::MpiRecv, 1), "MPI_COMM_WORLD");
        assert_eq!(name(Op::MpiGot, 0x8400_0001), "comm#1");
    }
}
