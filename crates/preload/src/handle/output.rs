//! Standard output and standard error that several processes write to: in the recorded order.
//!
//! A process that has no children and is the first writes alone. What is written through a stream is in its order where it
//! reaches the kernel: when the stream is flushed or closed, when the process ends, and at once if it is not buffered.

use crate::handle::process::has_relatives;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use libc::{FILE, c_int};
use retake_engine::places;
use retake_engine::process;
use retake_engine::sys;
use retake_tape::session::ROOT_NAME;

unsafe extern "C" {
    static mut stdout: *mut FILE;
    static mut stderr: *mut FILE;
    fn __fpending(f: *mut FILE) -> usize;
}

/// What tells a file from others in this run, and whether it is one on a disk. Nothing for what no order can be seen at.
fn file_of(fd: c_int) -> Option<(u64, bool)> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: a variable of ours, as the kernel fills it; all zero is a value of it.
    let status = unsafe {
        sys::fstat(fd as usize, status.as_mut_ptr() as usize);
        status.assume_init()
    };
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

/// Makes `call`, which writes to `fd`, in its turn among processes.
pub fn in_turn<R>(fd: c_int, call: impl FnOnce() -> R) -> R {
    if !(1..=2).contains(&fd) || !has_relatives() {
        return call();
    }
    let first = |key: u64| {
        let session = process::get().session();
        session.is_some_and(|session| session.outputs.iter().any(|output| output.load(Relaxed) == key))
    };
    match file_of(fd) {
        Some((key, is_on_disk)) if !is_on_disk || first(key) => places::in_turn(key ^ fd as u64, call),
        _ => call(),
    }
}

/// Which of the two descriptors a stream writes to.
fn descriptor(f: *mut FILE) -> c_int {
    // SAFETY: libc's own variables.
    unsafe {
        if f == stdout {
            1
        } else if f == stderr {
            2
        } else {
            -1
        }
    }
}

/// Makes `call` on the stream: in its turn if it will reach the kernel.
pub fn with_stream<R>(f: *mut FILE, call: impl FnOnce() -> R) -> R {
    /// In the first word of a stream: it is not buffered, or only up to the end of a line.
    const AT_ONCE: u32 = 0x202;
    let fd = descriptor(f);
    // SAFETY: libc's own structure.
    if fd > 0 && unsafe { f.cast::<u32>().read() } & AT_ONCE != 0 { in_turn(fd, call) } else { call() }
}

/// Makes `call`, which empties the stream's buffer.
pub fn emptying<R>(f: *mut FILE, call: impl FnOnce() -> R) -> R {
    let fd = descriptor(f);
    // SAFETY: libc's own structure.
    if fd > 0 && unsafe { __fpending(f) } > 0 { in_turn(fd, call) } else { call() }
}

/// The process is about to end, and its streams will be emptied.
pub fn end() {
    // SAFETY: libc's own variable; what is left would be written next.
    unsafe {
        let f = stdout;
        if !f.is_null() && has_relatives() {
            emptying(f, || if __fpending(f) > 0 { crate::table::stream::real::fflush(f) } else { 0 });
        }
    }
}
