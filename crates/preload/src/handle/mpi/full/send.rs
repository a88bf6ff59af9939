//! Sends: kept as where to, with which tag, how long, and a checksum. Alone they are compared and go nowhere.

use crate::handle::exchange::tell_other;
use crate::handle::mpi::full::Numbers;
use crate::handle::mpi::full::pack::{Region, packed};
use crate::handle::mpi::full::underway::{self, Brings};
use crate::handle::mpi::full::{given, kept};
use crate::handle::mpi::receive::Sent;
use crate::handle::mpi::requests::Wanted;
use crate::handle::mpi::{SUCCESS, abi, wait};
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::report;
use retake_engine::store::Path;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, in_library};
use retake_tape::check::crc32c;

/// Where to, tag, bytes, checksum.
type Told = Numbers<4>;

fn told(sent: &Sent) -> Told {
    let region = Region { buffer: sent.buffer, count: sent.count, kind: sent.kind };
    let [length, checksum] = sum([region].into_iter());
    Numbers([i64::from(sent.to), i64::from(sent.tag), length, checksum])
}

/// How many bytes these are, and their checksum.
pub fn sum(regions: impl Iterator<Item = Region> + Clone) -> [i64; 2] {
    packed(regions, |bytes| [bytes.len() as i64, i64::from(crc32c(0, bytes))])
}

/// Keeps what is about to be sent by `name`, or compares it with what was sent then.
pub fn pass(thread: &mut Thread, name: &str, sent: &Sent) {
    if kept() {
        thread.keep(name, [told(sent).bytes(), &[]]);
    } else if given() {
        let (then, _) = Numbers::read(thread.given(name));
        let now = told(sent);
        if then.0[..3] != now.0[..3] {
            report::another_exchange(thread, |words| describe(words, name, &then), |words| describe(words, name, &now));
        }
        if then != now {
            tell_other(thread, |words| describe(words, name, &now));
        }
    }
}

fn describe(words: &mut Path<'_>, name: &str, told: &Told) {
    let [to, tag, length, _] = told.0;
    words.push(name.as_bytes()).push(b" to rank ").push_number(to.unsigned_abs()).push(b", tag ");
    words.push_number(tag.unsigned_abs()).push(b", ").push_number(length.unsigned_abs()).push(b" bytes");
}

/// A send that blocks.
pub fn blocking(name: &'static str, sent: Sent, real: impl FnOnce() -> usize) -> usize {
    let Some(thread) = turn::enter() else { return real() };
    pass(thread, name, &sent);
    if given() { SUCCESS as usize } else { in_library(|| wait::held(real)) }
}

/// A send with a request. Alone it goes nowhere, and is done at once.
pub fn begun(name: &'static str, sent: Sent, comm: usize, request: usize, real: impl FnOnce() -> usize) -> usize {
    let Some(thread) = turn::enter() else { return real() };
    pass(thread, name, &sent);
    if !given() {
        return in_library(|| wait::held(real));
    }
    let nowhere = abi::get().proc_null;
    // SAFETY: the program's arguments.
    in_library(|| unsafe { real::MPI_Isend(sent.buffer, 0, sent.kind, nowhere, sent.tag, comm, request as *mut u8) })
        as usize
}

/// A send that is made once and started again and again.
pub fn made(name: &'static str, sent: Sent, comm: usize, request: usize, real: impl FnOnce() -> usize) -> usize {
    if turn::enter().is_none() {
        return real();
    }
    let at = request as *mut u8;
    let result = if given() {
        let nowhere = abi::get().proc_null;
        // SAFETY: the program's arguments.
        in_library(|| unsafe { real::MPI_Send_init(sent.buffer, 0, sent.kind, nowhere, sent.tag, comm, at) }) as usize
    } else {
        in_library(|| wait::held(real))
    };
    if result as c_int == SUCCESS && (kept() || given()) {
        let Sent { buffer, count, kind, to, tag } = sent;
        let wanted = Wanted { buffer, count, kind, source: to, tag, comm, large: false };
        // SAFETY: the library has written the request.
        unsafe { underway::make(name, Brings::Nothing(wanted), at) };
    }
    result
}

/// A request is started: if it is such a send, it is kept, or compared.
pub fn started(thread: &mut Thread, handle: usize) {
    let Some(known) = underway::get(handle) else { return };
    if let (Brings::Nothing(w), Some(name)) = (known.brings, known.name) {
        pass(thread, name, &Sent { buffer: w.buffer, count: w.count, kind: w.kind, to: w.source, tag: w.tag });
    }
}

/// What a word holds where the function takes an `int`.
pub fn int(word: usize) -> c_int {
    word as u32 as c_int
}

/// What a row of the table says is sent, by a count that is an `int`.
pub fn sent(buffer: usize, count: usize, kind: usize, to: usize, tag: usize) -> Sent {
    Sent { buffer, count: count as u32 as usize, kind, to: int(to), tag: int(tag) }
}

/// The same with a large count.
pub fn sent_large(buffer: usize, count: usize, kind: usize, to: usize, tag: usize) -> Sent {
    Sent { buffer, count, kind, to: int(to), tag: int(tag) }
}
