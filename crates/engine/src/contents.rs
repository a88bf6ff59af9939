//! What a process exchanged with others: kept with `--full`, by a recording or by a replay of all, and all that a replay of it
//! alone needs.
//!
//! Each record is a note of the thread that made the call, in the order of its calls. Replay passes over notes; a replay
//! alone reads them beside the events, with a reader of its own: the program makes the same calls in the same order.

use crate::end;
use crate::process;
use crate::report;
use crate::thread::Thread;
use crate::turn;
use retake_tape::entry::{Entry, ROOM, note, write};
use retake_tape::layout::state;
use retake_tape::op::Op;
use retake_tape::session::flag;

/// Whether contents count at all: they are kept, or given.
#[inline(always)]
pub fn count() -> bool {
    process::get().has(flag::FULL | flag::ALONE)
}

/// Whether contents are kept: in a recording on the tape, in a replay of all beside it.
#[inline]
pub fn are_kept() -> bool {
    let process = process::get();
    process.has(flag::FULL) && process::mode() != process::mode::OFF && !process.has(flag::ALONE)
}

/// Whether this process runs alone: what others gave it comes from its tape (replay).
#[inline]
pub fn are_given() -> bool {
    !turn::recording() && process::get().has(flag::ALONE)
}

impl Thread {
    /// What the call of `function` exchanged.
    pub fn keep(&mut self, function: &str, parts: [&[u8]; 2]) {
        self.keep_note(note::CONTENTS, &[function.as_bytes(), &[0], parts[0], parts[1]]);
    }

    /// A note that a replay alone needs: on the tape, or, where that is being replayed, in a file beside it, from which the
    /// command line puts it there.
    pub fn keep_note(&mut self, what: u8, parts: &[&[u8]]) {
        self.begin();
        if turn::recording() {
            self.note_of(what, parts);
        } else {
            let (event, length) = (self.count() + 1, parts.iter().map(|part| part.len()).sum::<usize>());
            if let Some(to) = self.rich.room(&raw mut process::get().rich, ROOM + length) {
                // SAFETY: there is room.
                let to = unsafe { write::note(&mut self.rich.context, to, event, what, parts) };
                self.rich.advance(to);
            }
        }
        self.finish();
    }

    fn next_record(&mut self) -> Option<&'static [u8]> {
        let at = self.chain()?;
        loop {
            if let (_, Entry::Note(note::CONTENTS, record)) = self.records.next(at)? {
                return Some(record);
            }
        }
    }

    /// Replay alone: what the call of `function` exchanged, which must be the next that is on the tape. Does not return
    /// behind the last: the recorded process came no further, and alone it cannot.
    pub fn given(&mut self, function: &str) -> &'static [u8] {
        let Some(record) = self.next_record() else {
            if process::get().recorded_state != state::EXITED {
                end::reached(self, Op::Misc, 0);
            }
            report::another_exchange(
                self,
                |words| _ = words.push(b"nothing"),
                |words| _ = words.push(function.as_bytes()),
            );
        };
        let name = record.split(|byte| *byte == 0).next().unwrap_or(record);
        if name != function.as_bytes() {
            report::another_exchange(self, |words| _ = words.push(name), |words| _ = words.push(function.as_bytes()));
        }
        &record[(name.len() + 1).min(record.len())..]
    }
}
