//! The entries of one thread's tape, read beside its events: by whoever looks for entries that replay itself passes over.

use crate::process;
use crate::thread::Thread;
use retake_tape::entry::{self, Context, Entry};
use retake_tape::walk::{self, Chunk};

/// How far they have been read.
pub struct Entries {
    rest: &'static [u8],
    chunk: Option<Chunk<'static>>,
    context: Context,
    is_open: bool,
}

impl Entries {
    pub const fn new() -> Entries {
        Entries { rest: &[], chunk: None, context: Context::new(), is_open: false }
    }

    /// The next one, and its event, of the chain that begins at `at` of this process's tape.
    pub fn next(&mut self, at: u64) -> Option<(u64, Entry<'static>)> {
        let bytes = process::get().bytes;
        if !self.is_open {
            self.is_open = true;
            let (_, first) = walk::thread(bytes, at).ok()?;
            self.rest = first.payload;
            self.chunk = Some(first);
        }
        while self.rest.is_empty() {
            let next = walk::next(bytes, self.chunk.as_ref()?).ok().flatten()?;
            self.rest = next.payload;
            self.chunk = Some(next);
        }
        let entry = entry::read(&mut self.context, &mut self.rest).ok().flatten()?;
        Some((self.context.event, entry))
    }
}

impl Default for Entries {
    fn default() -> Self {
        Entries::new()
    }
}

impl Thread {
    /// Where its chain of chunks begins (replay).
    pub fn chain(&self) -> Option<u64> {
        // SAFETY: seats live as long as the process.
        unsafe { self.seat.as_ref() }.map(|seat| seat.at)
    }
}
