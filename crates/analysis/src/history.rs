//! The operations of all threads of a developed take, merged into one order in which they could have happened.
//!
//! Law: read as it is walked, one note ahead for each thread; a history of any length needs the room of its threads.

use retake_tape::op::Op;
use retake_tape::reader::{Payload, Tape, Thread};
use retake_tape::rich::Rich;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One operation of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// Which of [`History::threads`].
    pub thread: usize,
    pub rich: Rich,
    /// The thread's next operation, where it is on a condition or at a barrier: this one is its first half.
    pub next: Option<(Op, u64)>,
}

/// Walks the notes of `tapes`, rich ones, in their sequence.
pub struct History<'a> {
    threads: Vec<(&'a Tape, &'a Thread)>,
    payloads: Vec<Payload<'a>>,
    next: Vec<Option<Rich>>,
    order: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'a> History<'a> {
    pub fn new(tapes: &'a [Tape]) -> History<'a> {
        let threads: Vec<(&Tape, &Thread)> =
            tapes.iter().flat_map(|tape| tape.threads.iter().map(move |thread| (tape, thread))).collect();
        let mut payloads: Vec<_> = threads.iter().map(|(tape, thread)| tape.payload(thread)).collect();
        // The tapes were read once when they were checked: what cannot be read is not there.
        let next: Vec<Option<Rich>> = payloads.iter_mut().map(|payload| payload.next_rich().ok().flatten()).collect();
        let first = next.iter().enumerate().filter_map(|(at, note)| Some(Reverse((note.as_ref()?.sequence, at))));
        let order = first.collect();
        History { threads, payloads, next, order }
    }

    /// The threads that [`Note::thread`] counts, each with the tape of its process.
    pub fn threads(&self) -> &[(&'a Tape, &'a Thread)] {
        &self.threads
    }
}

impl Iterator for History<'_> {
    type Item = Note;

    fn next(&mut self) -> Option<Note> {
        let Reverse((_, thread)) = self.order.pop()?;
        let rich = self.next[thread].take()?;
        self.next[thread] = self.payloads[thread].next_rich().ok().flatten();
        self.order.extend(self.next[thread].as_ref().map(|next| Reverse((next.sequence, thread))));
        Some(Note { thread, rich, next: self.next[thread].as_ref().map(|next| (next.op, next.object)) })
    }
}
