//! A task alone: what it exchanged with the others is kept by `record --full`, and is all that a replay without them needs.
//!
//! ```text
//! record   real call ──> what was sent: to whom, how long, its checksum  ──> record
//!                    ──> what came: the message, as the library packs it ──> record
//! alone    sends     ──> compared with the record, and dropped
//!          receives  ──> the library makes the recorded message, and the program unpacks it
//! ```
//!
//! Alone there is no daemon. Buffers, packing and unpacking need none and are the library's own work; it only has to
//! believe that it has enrolled ([`state`]). Questions are answered from the tape, as in every replay.
//!
//! Law: a call of PVM is local, or is answered from the tape, or says that it cannot be replayed alone.

pub mod message;
pub mod state;

use crate::handle::exchange::{Numbers, tell_other};
use crate::handle::pvm;
use core::ffi::CStr;
use libc::{c_char, c_int, c_void};
use retake_engine::report;
use retake_engine::store::Path;
use retake_engine::turn;
use retake_tape::check::crc32c;

pub use retake_engine::contents::{are_given as given, are_kept as kept};

/// How many bytes are given to others, and their checksum.
pub type Sum = Numbers<2>;

/// No message.
pub const NOTHING: Sum = Numbers([-1, 0]);

/// Those in memory.
///
/// # Safety
/// There must be as many.
pub unsafe fn memory(at: *const c_void, length: usize) -> Sum {
    // SAFETY: the caller's.
    let bytes = if at.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(at.cast(), length) } };
    Numbers([length as i64, i64::from(crc32c(0, bytes))])
}

/// The size of an element of this kind; 0 if there is no such kind, or it has none.
pub fn size(kind: c_int) -> usize {
    match kind {
        1 => 1,
        2 | 9 => 2,
        3 | 4 | 10 => 4,
        5 | 6 | 8 | 11 => 8,
        7 => 16,
        _ => 0,
    }
}

/// What a call gives to others: kept, or compared with what it gave then. `describe` says what and to whom; `sum` is told
/// how many bytes it was then, where that is known.
pub fn pass(name: &'static str, describe: impl Fn(&mut Path<'_>), sum: impl FnOnce(Option<usize>) -> Sum) {
    let (keeps, compares) = (kept(), given());
    if !keeps && !compares {
        return;
    }
    let Some(thread) = pvm::enter() else { return };
    let mut room = [0u8; 512];
    let mut words = Path { to: &mut room, length: 0 };
    describe(&mut words);
    let length = words.length.min(room.len());
    let text = &room[..length];
    if keeps {
        thread.keep(name, [sum(None).bytes(), text]);
        return;
    }
    let (then, recorded) = Sum::read(thread.given(name));
    let now = sum(usize::try_from(then.0[0]).ok());
    if recorded != text || then.0[0] != now.0[0] {
        let (recorded, came) = ((recorded, then), (text, now));
        report::another_exchange(thread, |words| tell(words, name, recorded), |words| tell(words, name, came));
    }
    if then != now {
        tell_other(thread, |words| tell(words, name, (text, now)));
    }
}

fn tell(words: &mut Path<'_>, name: &str, (text, sum): (&[u8], Sum)) {
    words.push(name.as_bytes()).push(b" ").push(text);
    if sum != NOTHING {
        words.push(b", ").push_number(sum.0[0].unsigned_abs()).push(b" bytes");
    }
}

/// An answer that is no event. `call` goes into the library itself.
pub fn answered(name: &'static str, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    if given() {
        return number(thread.given(name));
    }
    let answer = call();
    if kept() {
        thread.keep(name, [Numbers([i64::from(answer)]).bytes(), &[]]);
    }
    answer
}

/// A record that is one number.
pub fn number(record: &[u8]) -> c_int {
    Numbers::<1>::read(record).0.0[0] as c_int
}

/// Tasks, in words.
///
/// # Safety
/// The list must be as long as said.
pub unsafe fn push_tasks(words: &mut Path<'_>, tids: *const c_int, count: c_int) {
    // SAFETY: the caller's.
    let tids = if tids.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(tids, count.max(0) as usize) } };
    words.push(if tids.len() == 1 { b"task" } else { b"tasks" });
    for (index, tid) in tids.iter().enumerate() {
        words.push(if index > 0 { b", t" } else { b" t" }).push_hex(u64::from(*tid as u32));
    }
}

/// A tag, in words.
pub fn push_tag(words: &mut Path<'_>, tag: c_int) {
    words.push(b", tag ").push_number(u64::from(tag as u32));
}

/// A string of the program.
///
/// # Safety
/// It must end in a zero byte, or be null.
pub unsafe fn push_text(words: &mut Path<'_>, text: *const c_char) {
    // SAFETY: the caller's.
    words.push(if text.is_null() { b"" } else { unsafe { CStr::from_ptr(text) }.to_bytes() });
}
