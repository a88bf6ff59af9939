//! Messages as the library itself packs them into others: eight numbers about the message, then its fragments, each with
//! its length. What it has packed it can unpack into a message like the one that was there.

use crate::handle::exchange::Numbers;
use crate::handle::input::note_not_alone;
use crate::handle::pvm::full::{NOTHING, Sum, kept, state};
use crate::handle::pvm::{Scratch, ids, library, take_int};
use crate::table::pvm::{Info, Message, plain, real};
use core::ptr::null_mut;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use retake_engine::contents;
use retake_engine::thread::Thread;
use retake_tape::check::crc32c;

/// The encoding that leaves bytes as they are.
const RAW: c_int = 1;
/// What is said of a message, in a packed one.
const HEAD: usize = size_of::<Info>();

/// Alone: the message that was looked at and not received yet, by its stand-in.
static LOOKED_AT: AtomicI32 = AtomicI32::new(0);

/// The library adds a piece to a message. Bytes that only fill up to the next multiple of four are never written; they
/// are sent all the same, so that they are cleared where what is sent is compared.
pub unsafe fn extend(message: *mut Message) -> c_int {
    // SAFETY: the library's message; the new piece is the last in its ring, and nothing is in it yet.
    unsafe {
        let result = real::pmsg_extend(message);
        if result >= 0 && (kept() || contents::are_given()) {
            let piece = &*(*(*message).fragments).last;
            let (used, size) = (piece.data as usize - piece.room as usize, piece.size as usize);
            if size == state::FRAGMENT.get() as usize && used < size {
                core::ptr::write_bytes(piece.data, 0, size - used);
            }
        }
        result
    }
}

/// Packs the message in `buffer`, which is not touched by it.
unsafe fn packed<R>(buffer: c_int, to: impl FnOnce(&[u8]) -> R) -> R {
    let mut length = 0;
    // SAFETY: the library's buffers, put back as they were.
    let mut room = library(|| unsafe {
        let whole = plain::pvm_mkbuf(RAW);
        let sends = plain::pvm_setsbuf(whole);
        plain::pvm_pkmesg(buffer);
        real::pvm_bufinfo(whole, &raw mut length, null_mut(), null_mut());
        let receives = plain::pvm_setrbuf(whole);
        let mut room = Scratch::new(length as usize);
        if room.bytes().len() >= length as usize {
            plain::pvm_upkbyte(room.bytes().as_mut_ptr().cast(), length, 1);
        } else if kept() {
            note_not_alone(b"PVM with a message for which there was no memory twice");
        }
        plain::pvm_setrbuf(receives);
        plain::pvm_freebuf(whole);
        plain::pvm_setsbuf(sends);
        room
    });
    let bytes = room.bytes();
    to(&bytes[..bytes.len().min(length as usize)])
}

/// A message like the one that was packed.
unsafe fn unpacked(packed: &[u8]) -> c_int {
    // SAFETY: as above; the library only reads the bytes.
    library(|| unsafe {
        let whole = plain::pvm_mkbuf(RAW);
        let sends = plain::pvm_setsbuf(whole);
        plain::pvm_pkbyte(packed.as_ptr().cast_mut().cast(), packed.len() as c_int, 1);
        let receives = plain::pvm_setrbuf(whole);
        // Its number is the next that is given out: a message is received under the number under which it was looked at.
        let looked_at = LOOKED_AT.swap(0, Relaxed);
        if looked_at > 0 {
            plain::pvm_freebuf(looked_at);
        }
        let made = plain::pvm_upkmesg();
        plain::pvm_setrbuf(receives);
        plain::pvm_freebuf(whole);
        plain::pvm_setsbuf(sends);
        made
    })
}

/// The bytes and the checksum of the message in `buffer`, however it is fragmented.
///
/// # Safety
/// The library must be there.
pub unsafe fn sum(buffer: c_int) -> Sum {
    if buffer <= 0 {
        return NOTHING;
    }
    // SAFETY: as said.
    unsafe {
        packed(buffer, |packed| {
            let mut rest = packed.get(HEAD..).unwrap_or(&[]);
            let (mut length, mut checksum) = (0, 0);
            while !rest.is_empty() {
                let size = take_int(&mut rest).max(0) as usize;
                let (fragment, behind) = rest.split_at(size.min(rest.len()));
                (length, checksum, rest) = (length + fragment.len(), crc32c(checksum, fragment), behind);
            }
            Numbers([length as i64, i64::from(checksum)])
        })
    }
}

/// The same of the message that is about to be sent.
///
/// # Safety
/// The library must be there.
pub unsafe fn sum_of_active() -> Sum {
    // SAFETY: asks the library.
    unsafe { sum(library(|| plain::pvm_getsbuf())) }
}

/// Keeps the message that `name` has brought.
///
/// # Safety
/// The library must be there.
pub unsafe fn keep(thread: &mut Thread, name: &'static str, buffer: c_int) {
    // SAFETY: as said.
    unsafe {
        packed(buffer, |packed| {
            let info = known(head(packed));
            thread.keep(name, [bytes(&info), packed.get(HEAD..).unwrap_or(&[])]);
        });
    }
}

/// The same with the ids that the program knows.
fn known(info: Info) -> Info {
    Info {
        source: ids::recorded(info.source),
        target: ids::recorded(info.target),
        context: ids::recorded_context(info.context),
        ..info
    }
}

fn bytes(info: &Info) -> &[u8] {
    // SAFETY: plain numbers.
    unsafe { core::slice::from_raw_parts((&raw const *info).cast(), HEAD) }
}

/// Keeps what `name` has told of a message that stays where it is.
///
/// # Safety
/// The library must be there.
pub unsafe fn keep_head(thread: &mut Thread, name: &'static str, buffer: c_int) {
    let mut info = Info::default();
    // SAFETY: as said; plain numbers.
    unsafe {
        library(|| real::pvm_getminfo(buffer, &raw mut info));
        thread.keep(name, [bytes(&known(info)), &[]]);
    }
}

/// What a packed message says of itself.
pub fn head(mut packed: &[u8]) -> Info {
    let [length, context, tag, wait, encoding, check, source, target] = [(); 8].map(|()| take_int(&mut packed));
    Info { length, context, tag, wait, encoding, check, source, target }
}

/// Alone: the message that was kept as this record.
///
/// # Safety
/// The library must be there.
pub unsafe fn given(record: &[u8]) -> c_int {
    // SAFETY: as said.
    unsafe { unpacked(record) }
}

/// Alone: a message of which only the head was kept. It is as long as it was.
///
/// # Safety
/// The library must be there.
pub unsafe fn looked_at(record: &[u8]) -> c_int {
    let length = head(record).length;
    let mut room = Scratch::new(HEAD + 4 + length.max(0) as usize);
    let bytes = room.bytes();
    if let (Some(to), Some(from)) = (bytes.get_mut(..HEAD), record.get(..HEAD)) {
        to.copy_from_slice(from);
        bytes[HEAD..HEAD + 4].copy_from_slice(&length.to_le_bytes());
    }
    // SAFETY: as said.
    let made = unsafe { unpacked(bytes) };
    LOOKED_AT.store(made, Relaxed);
    made
}
