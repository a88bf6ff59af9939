//! Messages from the tape: they are sent to ourselves, where the program's receives wait for them.
//!
//! Each receive is asked for under a tag of its own, on a communicator that only we know. Bytes on the tape stay where
//! they are, so that nobody has to wait until they are sent.

use crate::handle::mpi::abi;
use crate::handle::mpi::full::Numbers;
use crate::handle::mpi::full::pack::{self, Region, packed};
use crate::handle::mpi::requests::Wanted;
use crate::handle::mpi::{SUCCESS, receive, wait};
use crate::table::mpi::real;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};
use libc::c_int;
use retake_engine::sys;
use retake_engine::thread::Thread;
use retake_engine::turn::in_library;

static FEED: AtomicUsize = AtomicUsize::new(0);
static TAGS: AtomicU32 = AtomicU32::new(0);

/// The communicator on which we send to ourselves.
pub fn comm() -> usize {
    receive::own_comm(&FEED)
}

/// A tag that no receive under way has. Every MPI has tags up to here.
pub fn tag() -> c_int {
    (TAGS.fetch_add(1, Relaxed) & 0x7fff) as c_int
}

/// Sends bytes that stay where they are.
fn send(bytes: *const u8, length: usize, tag: c_int) {
    let mut request = 0usize;
    let at = (&raw mut request).cast::<u8>();
    // SAFETY: bytes for ever, and a request of ours.
    in_library(|| unsafe {
        if real::MPI_Isend(bytes as usize, length, abi::get().packed, 0, tag, comm(), at) == SUCCESS {
            real::MPI_Request_free(at);
        }
    });
}

/// Sends what the record holds.
pub fn message(bytes: &'static [u8], tag: c_int) {
    send(bytes.as_ptr(), bytes.len(), tag);
}

/// Recording: what came, with a status that the library has filled.
///
/// # Safety
/// The status is filled, and the region is the program's.
pub unsafe fn keep(thread: &mut Thread, name: &str, region: Region, status: *mut u8) {
    // SAFETY: as the caller promises.
    let (length, source, tag) = unsafe { (pack::length(status), abi::get().source(status), abi::get().tag(status)) };
    let size = pack::size(region.kind);
    let count = if size == 0 { 0 } else { length.div_ceil(size).min(region.count) };
    let from = Numbers([i64::from(source), i64::from(tag)]);
    packed([Region { count, ..region }].into_iter(), |bytes| {
        thread.keep(name, [from.bytes(), &bytes[..length.min(bytes.len())]]);
    });
}

/// What a record says of a message: from whom, its tag, and its bytes.
pub fn read(record: &'static [u8]) -> ((c_int, c_int), &'static [u8]) {
    let (Numbers([source, tag]), bytes) = Numbers::read(record);
    ((source as c_int, tag as c_int), bytes)
}

/// Puts the sender and the tag into a status, if it is wanted.
pub fn name_sender(status: *mut u8, (source, tag): (c_int, c_int)) {
    if !abi::get().is_ignored(status) {
        // SAFETY: a status of the program's.
        unsafe { abi::get().set_sender(status, source, tag) };
    }
}

/// Alone: a receive that blocks gets what the record of `name` holds.
///
/// # Safety
/// The program's arguments.
pub unsafe fn receive(thread: &mut Thread, name: &str, wanted: &Wanted, status: *mut u8) -> c_int {
    let (sender, bytes) = read(thread.given(name));
    let own = Wanted { source: 0, tag: tag(), comm: comm(), ..*wanted };
    message(bytes, own.tag);
    // SAFETY: as the caller promises.
    let result = in_library(|| unsafe { receive::receive_now(&own, status) });
    name_sender(status, sender);
    result
}

/// Memory of ours, all zero or of no interest, that never goes away.
struct Area {
    at: AtomicUsize,
    length: AtomicUsize,
}

static ZEROS: Area = Area { at: AtomicUsize::new(0), length: AtomicUsize::new(0) };
static SINK: Area = Area { at: AtomicUsize::new(0), length: AtomicUsize::new(0) };

impl Area {
    /// At least so many bytes. MPI's own rules let one thread at a time come here; what was too short is left.
    fn of(&self, length: usize) -> *mut u8 {
        if self.length.load(Acquire) < length || self.at.load(Acquire) == 0 {
            let room = length.next_power_of_two().max(4096);
            self.at.store(sys::memory(room) as usize, Release);
            self.length.store(room, Release);
        }
        self.at.load(Acquire) as *mut u8
    }
}

/// Recording: what a probe found.
///
/// # Safety
/// The status is filled.
pub unsafe fn keep_probe(thread: &mut Thread, name: &str, status: *mut u8) {
    // SAFETY: as the caller promises.
    let (length, source, tag) = unsafe { (pack::length(status), abi::get().source(status), abi::get().tag(status)) };
    thread.keep(name, [Numbers([i64::from(source), i64::from(tag), length as i64]).bytes(), &[]]);
}

/// Alone: finds what was found, as a message of that length from ourselves, which is taken away again. What `to` gets
/// stands for it; the receive that follows is fed like any other.
///
/// # Safety
/// The program's arguments; `to` is null for a probe that gives no message.
pub unsafe fn probe(thread: &mut Thread, name: &str, to: *mut u8, status: *mut u8) -> c_int {
    let (Numbers([source, its_tag, length]), _) = Numbers::read(thread.given(name));
    let (length, tag, comm) = (length.max(0) as usize, tag(), comm());
    send(ZEROS.of(length), length, tag);
    let abi = abi::get();
    let away = Wanted {
        buffer: SINK.of(length) as usize,
        count: length,
        kind: abi.packed,
        source: 0,
        tag,
        comm,
        large: false,
    };
    // SAFETY: as the caller promises.
    let result = in_library(|| unsafe {
        let found = wait::until(|| {
            let mut there: c_int = 0;
            let result = real::MPI_Iprobe(0, tag, comm, &raw mut there, status);
            (result != 0 || there != 0).then_some(result)
        });
        if !to.is_null() {
            abi.set_handle(to, abi.message_null.wrapping_add(1));
        }
        if found == SUCCESS { receive::receive_now(&away, abi.ignore as *mut u8) } else { found }
    });
    name_sender(status, (source as c_int, its_tag as c_int));
    result
}

/// Alone: the message at `message` is received.
///
/// # Safety
/// The program's argument.
pub unsafe fn taken(message: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe { abi::get().set_handle(message, abi::get().message_null) };
}
