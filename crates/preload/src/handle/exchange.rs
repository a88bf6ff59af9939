//! What a process exchanges with others, as it stands on a tape that holds contents, whichever library it uses for it.

use crate::handle::input::note_not_alone;
use core::sync::atomic::Ordering::AcqRel;
use retake_engine::contents;
use retake_engine::process;
use retake_engine::report;
use retake_engine::store::Path;
use retake_engine::thread::Thread;
use retake_engine::turn;

/// Numbers of a record, as they stand on the tape.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Numbers<const N: usize>(pub [i64; N]);

impl<const N: usize> Numbers<N> {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: plain numbers; the tape is of this machine's kind only.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), N * 8) }
    }

    /// The numbers at the front of a record, and what is behind them.
    pub fn read(record: &[u8]) -> (Numbers<N>, &[u8]) {
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(record.chunks_exact(8)) {
            *number = bytes.try_into().map_or(0, i64::from_le_bytes);
        }
        (Numbers(numbers), record.get(N * 8..).unwrap_or(&[]))
    }
}

/// Alone, only the bytes that are sent differ. That is told and no divergence: a message may hold memory that was never
/// written.
pub fn tell_other(thread: &Thread, describe: impl FnOnce(&mut Path<'_>)) {
    let Some(session) = process::get().session() else { return };
    if session.sent_otherwise.fetch_add(1, AcqRel) > 0 {
        return;
    }
    let mut room = [0u8; 512];
    let mut words = Path { to: &mut room, length: 0 };
    words.push(b"retake: ").push(thread.name()).push(b" sends other bytes than it did before event ");
    words.push_number(thread.count() + 1).push(b": ");
    describe(&mut words);
    words.push(b"\n");
    let length = words.length.min(room.len());
    crate::say(&[&room[..length]]);
}

/// Called before a function that cannot be replayed alone.
pub fn refuse(name: &'static str) {
    let Some(thread) = turn::enter() else { return };
    if contents::are_kept() {
        note_not_alone(name.as_bytes());
    } else if contents::are_given() {
        let what = b"a call that cannot be replayed alone: ";
        report::another_exchange(
            thread,
            |words| _ = words.push(name.as_bytes()),
            |words| _ = words.push(what).push(name.as_bytes()),
        );
    }
}
