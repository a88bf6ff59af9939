//! Recording: entries of the event that is under way.
//!
//! Each function writes one entry for the event after the last committed one; [`Thread::commit`] then makes the event
//! count. Between [`Thread::begin`] and [`Thread::finish`] signals are deferred.

use crate::jitter;
use crate::process;
use crate::signals;
use crate::thread::Thread;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::compiler_fence;
use retake_tape::entry::{Context, Place, ROOM, Signal, write};
use retake_tape::op::Op;

impl Thread {
    /// Enters the engine: signals wait. A handler reads `busy` behind the compiler's back, hence the fences.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.set_busy(self.busy + 1);
    }

    /// Leaves the engine: signals that waited are sent again, or looked for in a replay.
    #[inline(always)]
    pub fn finish(&mut self) {
        self.set_busy(self.busy - 1);
        if self.has_deferred() && self.busy == 0 {
            signals::flush(self);
        }
    }

    /// Whether signals wait until the engine is left.
    #[inline(always)]
    pub fn has_deferred(&self) -> bool {
        self.deferred_put.load(Relaxed) != self.deferred_taken
    }

    /// Says whether a handler that runs from now on may enter the engine.
    #[inline(always)]
    pub fn set_busy(&mut self, busy: u32) {
        jitter::here(jitter::OFTEN);
        compiler_fence(SeqCst);
        // SAFETY: this thread's own field; volatile, so that the store is made here and now.
        unsafe { core::ptr::write_volatile(&raw mut self.busy, busy) };
        compiler_fence(SeqCst);
        jitter::here(jitter::OFTEN);
    }

    /// Commits the event whose entries are written, unless the recording ended with them.
    #[inline(always)]
    pub fn happen(&mut self) {
        if process::mode() == process::mode::RECORD {
            self.commit();
        }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, need: usize, write: impl FnOnce(&mut Context, *mut u8, u64) -> *mut u8) {
        let event = self.count() + 1;
        if let Some(to) = self.writer.room(&raw mut process::get().tape, need) {
            let to = write(&mut self.writer.context, to, event);
            self.writer.advance(to);
        }
    }

    /// The object came from another thread at `version`.
    #[inline(always)]
    pub fn hand_over(&mut self, version: u64) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::hand_over(context, to, event, version) });
    }

    /// Whether the last hand-over was only just now.
    #[inline(always)]
    pub fn is_among_hand_overs(&self) -> bool {
        self.count().wrapping_sub(self.writer.context.event) < 4
    }

    /// The object came from another thread at `version` if `it_has`; whether that could be written, or not, in short.
    #[inline(always)]
    pub fn hand_over_if(&mut self, version: u64, it_has: bool) -> bool {
        let event = self.count() + 1;
        let Some(to) = self.writer.room(&raw mut process::get().tape, ROOM) else { return false };
        // SAFETY: there is room.
        let Some(to) = (unsafe { write::hand_over_if(&mut self.writer.context, to, event, version, it_has) }) else {
            return false;
        };
        self.writer.advance(to);
        true
    }

    /// The call returned `code`.
    pub fn result(&mut self, op: Op, code: i64) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::result(context, to, event, op, code) });
    }

    /// The call found nothing and said so by `code`; calls in a row cost no more tape than the first.
    #[inline(always)]
    pub fn poll(&mut self, op: Op, code: i64) {
        let event = self.count() + 1;
        let w = &mut self.writer;
        if !w.polls.is_null() && w.polls_event == event && w.polls_op == op as u8 && w.polls_code == code {
            // SAFETY: the counter of the last entry, in a chunk that is still mapped and this thread's alone.
            unsafe {
                let many = w.polls.cast::<u32>();
                let now = u32::from_le(many.read_unaligned());
                if now < u32::MAX {
                    many.write_unaligned((now + 1).to_le());
                    w.polls_event = event + 1;
                    return;
                }
            }
        }
        self.first_poll(op, code, event);
    }

    #[inline(never)]
    fn first_poll(&mut self, op: Op, code: i64, event: u64) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::polls(context, to, event, op, code) });
        let w = &mut self.writer;
        w.polls = w.last_four();
        (w.polls_op, w.polls_code, w.polls_event) = (op as u8, code, event + 1);
    }

    /// The event came after event `count` of `thread`.
    pub fn edge(&mut self, thread: u32, count: u64) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::edge(context, to, event, thread, count) });
    }

    /// A writer's turn after `readers` readers of `version`.
    pub fn write_turn(&mut self, version: u64, readers: u64) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::write_turn(context, to, event, version, readers) });
    }

    /// A thread or process was created.
    pub fn created(&mut self, number: u64) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::created(context, to, event, number) });
    }

    /// A clock was read.
    pub fn clock(&mut self, id: u8, ns: i64) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::clock(context, to, event, id, ns) });
    }

    /// A signal is about to be handled.
    pub fn signal(&mut self, signal: Signal) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::signal(context, to, event, signal) });
    }

    /// This thread's latest use of a stream comes after so many uses by `thread`. Most come after the thread's own.
    #[inline(never)]
    pub fn after(&mut self, thread: u32, uses: u64) {
        let own = self.uses;
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::after(context, to, event, own, thread, uses) });
    }

    /// So many sleeps have ended by themselves since the last event.
    pub fn slept(&mut self, many: u64) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::slept(context, to, event, many) });
    }

    /// So many calls that wait for the outside have returned since the last event; what comes next came inside of one.
    pub fn note_outward(&mut self, many: u64, is_behind: bool) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::outward(context, to, event, many, is_behind) });
    }

    /// The wait that comes next is over by time, and that thread was asked to halt for it.
    pub fn note_asks(&mut self, thread: u32) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::asks(context, to, event, thread) });
    }

    /// The thread halts, or was not seen to, for what comes of that event of another.
    pub fn note_halts(&mut self, thread: u32, count: u64, place: Place) {
        // SAFETY: `put` gives the room.
        self.put(ROOM, |context, to, event| unsafe { write::halts(context, to, event, thread, count, place) });
    }

    /// The call returned these bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        // SAFETY: `put` gives the room.
        self.put(ROOM + bytes.len(), |context, to, event| unsafe { write::bytes(context, to, event, bytes) });
    }

    /// Something that replay does not need.
    pub fn note(&mut self, what: u8, words: &[u8]) {
        self.note_of(what, &[words]);
    }

    /// The same, made of several parts.
    pub fn note_of(&mut self, what: u8, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        // SAFETY: `put` gives the room.
        self.put(ROOM + length, |context, to, event| unsafe { write::note(context, to, event, what, parts) });
    }
}
