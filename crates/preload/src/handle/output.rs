//! Standard output and standard error that several processes write to: in the recorded order.
//!
//! A process that has no children and is the first writes alone. What is written through a stream is in its order where it
//! reaches the kernel: when the stream is flushed or closed, when the process ends, and at once if it is not buffered.

use crate::handle::process::has_relatives;
use crate::table::stream::real;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use libc::{FILE, c_int};
use retake_engine::places;
use retake_engine::process;
use retake_engine::sys;
use retake_engine::thread;
use retake_tape::session::ROOT_NAME;

unsafe extern "C" {
    static mut stdout: *mut FILE;
    fn __fpending(f: *mut FILE) -> usize;
}

/// What tells a file from others in this run, and whether it is one on a disk. Nothing for what no order can be seen at.
fn file_of(fd: c_int) -> Option<(u64, bool)> {
    let status = sys::status_of(fd);
    let key = (status.st_dev ^ status.st_ino.rotate_left(24)).wrapping_mul(0x9E37_79B9_7F4A_7C15).max(1);
    match status.st_mode & libc::S_IFMT {
        libc::S_IFIFO | libc::S_IFSOCK => Some((key, false)),
        libc::S_IFCHR if status.st_rdev != libc::makedev(1, 3) => Some((key, false)),
        libc::S_IFREG => Some((key, true)),
        _ => None,
    }
}

/// The first process says which files it began with: others on a disk may be gone, and their numbers used again.
pub fn begin() {
    if let Some(session) = process::get().session().filter(|_| process::get().name() == ROOT_NAME.as_bytes()) {
        for (fd, output) in (1..).zip(&session.outputs) {
            output.store(file_of(fd).map_or(0, |(key, _)| key), Relaxed);
        }
    }
}

/// What the two descriptors are: [`UNKNOWN`], 0 if no order can be seen there, or the place.
static PLACES: [AtomicU64; 2] = [const { AtomicU64::new(UNKNOWN) }; 2];
const UNKNOWN: u64 = u64::MAX;

/// `fd` leads somewhere else from now on.
#[inline(always)]
pub fn forget(fd: c_int) {
    if let Some(place) = PLACES.get((fd as usize).wrapping_sub(1)) {
        place.store(UNKNOWN, Relaxed);
    }
}

fn place_of(fd: c_int) -> u64 {
    let is_first = |key: u64| {
        let session = process::get().session();
        session.is_some_and(|session| session.outputs.iter().any(|output| output.load(Relaxed) == key))
    };
    match file_of(fd) {
        Some((key, is_on_disk)) if !is_on_disk || is_first(key) => key ^ fd as u64,
        _ => 0,
    }
}

/// Makes `call`, which writes to `fd`, in its turn among processes.
pub fn in_turn<R>(fd: c_int, call: impl FnOnce() -> R) -> R {
    // A child that borrows its parent's memory leaves no trace there.
    let is_own = || thread::current().is_some_and(|thread| !thread.lends);
    let known = PLACES.get((fd as usize).wrapping_sub(1)).filter(|_| has_relatives() && is_own());
    let Some(known) = known else { return call() };
    let mut place = known.load(Relaxed);
    if place == UNKNOWN {
        place = place_of(fd);
        known.store(place, Relaxed);
    }
    if place == 0 { call() } else { places::in_turn(place, call) }
}

pub unsafe fn dup2(from: c_int, to: c_int) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    let result = unsafe { real::dup2(from, to) };
    forget(to);
    result
}

pub unsafe fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: as above.
    let result = unsafe { real::dup3(from, to, flags) };
    forget(to);
    result
}

pub unsafe fn close(fd: c_int) -> c_int {
    forget(fd);
    // SAFETY: as above.
    unsafe { real::close(fd) }
}

/// A stream that writes to one of them was closed or opened anew.
pub fn forget_all() {
    (1..=2).for_each(forget);
}

/// Which descriptor a stream has, without a call.
#[inline(always)]
fn descriptor(f: *mut FILE) -> c_int {
    /// Where glibc keeps it.
    const AT: usize = 112;
    // SAFETY: libc's own structure.
    unsafe { f.byte_add(AT).cast::<c_int>().read() }
}

/// Whether the stream writes to one of the two.
#[inline(always)]
pub fn is_standard(f: *mut FILE) -> bool {
    (1..=2).contains(&descriptor(f))
}

/// Makes `call` on the stream: in its turn if it will reach the kernel.
#[inline(always)]
pub fn with_stream<R>(f: *mut FILE, call: impl FnOnce() -> R) -> R {
    if is_standard(f) { with_standard(f, call) } else { call() }
}

#[inline(never)]
fn with_standard<R>(f: *mut FILE, call: impl FnOnce() -> R) -> R {
    /// In the first word of a stream: it is not buffered, or only up to the end of a line.
    const AT_ONCE: u32 = 0x202;
    // SAFETY: libc's own structure.
    let is_now = unsafe { f.cast::<u32>().read() } & AT_ONCE != 0;
    if is_now { in_turn(descriptor(f), call) } else { call() }
}

/// Makes `call`, which empties the stream's buffer.
pub fn emptying<R>(f: *mut FILE, call: impl FnOnce() -> R) -> R {
    if f.is_null() {
        return call();
    }
    // SAFETY: libc's own structure.
    if is_standard(f) && unsafe { __fpending(f) } > 0 { in_turn(descriptor(f), call) } else { call() }
}

/// The process is about to end, and its streams will be emptied.
pub fn end() {
    // SAFETY: libc's own variable; what is left would be written next.
    unsafe {
        let f = stdout;
        if !f.is_null() && has_relatives() {
            emptying(f, || if __fpending(f) > 0 { real::fflush(f) } else { 0 });
        }
    }
}
