//! Random numbers: the same ones in a replay, from functions and from the system's devices.

use crate::errno;
use crate::handle::input;
use crate::handle::reading;
use crate::table::input::real as real_input;
use crate::table::outward::real as real_outward;
use crate::table::time::real;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};
use libc::{FILE, c_int, c_uint, c_void, size_t, ssize_t};
use retake_engine::report;
use retake_engine::sys;
use retake_engine::turn;
use retake_tape::op::Op;

/// Fills `length` bytes at `to` by `call`, which returns how many, or a negative reason.
unsafe fn fill(to: *mut c_void, length: size_t, call: impl FnOnce() -> i64) -> i64 {
    let Some(thread) = turn::enter() else { return call() };
    if turn::recording() {
        let got = call();
        thread.begin();
        if got > 0 {
            // SAFETY: the call has filled that many.
            thread.bytes(unsafe { core::slice::from_raw_parts(to.cast::<u8>(), got as usize) });
        } else {
            thread.result(Op::Random, got);
        }
        thread.happen();
        thread.finish();
        turn::tell(thread, Op::Random, thread.count(), 0, 0, got);
        return got;
    }
    let Some(step) = thread.step(Op::Random) else { return call() };
    let got = step.bytes.len();
    if got > length || got == 0 && !step.has_result {
        report::other(thread, Op::Random, "another number of random bytes");
    }
    // SAFETY: the program's buffer is at least that long.
    unsafe { core::ptr::copy_nonoverlapping(step.bytes.as_ptr(), to.cast::<u8>(), got) };
    thread.happened();
    let result = if got > 0 { got as i64 } else { step.result };
    turn::tell(thread, Op::Random, thread.count(), 0, 0, result);
    result
}

fn counted(got: i64) -> i64 {
    if got < 0 {
        errno::set(-got as c_int);
        return -1;
    }
    got
}

fn or_reason(result: i64) -> i64 {
    if result < 0 { -i64::from(errno::get()) } else { result }
}

pub unsafe fn getrandom(to: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    // SAFETY: the program's buffer; so for the others.
    counted(unsafe { fill(to, length, || or_reason(real::getrandom(to, length, flags) as i64)) }) as ssize_t
}

pub unsafe fn getentropy(to: *mut c_void, length: size_t) -> c_int {
    // SAFETY: as above.
    let call = || unsafe { if real::getentropy(to, length) == 0 { length as i64 } else { -i64::from(errno::get()) } };
    // SAFETY: as above.
    if counted(unsafe { fill(to, length, call) }) < 0 { -1 } else { 0 }
}

pub unsafe fn arc4random_buf(to: *mut c_void, length: size_t) {
    // SAFETY: as above.
    let call = || unsafe {
        real::arc4random_buf(to, length);
        length as i64
    };
    // SAFETY: as above.
    unsafe { fill(to, length, call) };
}

fn number(read: impl FnOnce() -> u32) -> u32 {
    let mut number = 0u32;
    let at = &raw mut number;
    // SAFETY: a variable of ours.
    unsafe {
        fill(at.cast(), 4, || {
            *at = read();
            4
        });
    }
    number
}

pub unsafe fn arc4random() -> u32 {
    // SAFETY: asks for nothing.
    number(|| unsafe { real::arc4random() })
}

pub unsafe fn arc4random_uniform(bound: u32) -> u32 {
    // SAFETY: asks for nothing.
    number(|| unsafe { real::arc4random_uniform(bound) })
}

/// Descriptors that may be the system's random devices. Standard input may have been given as one; a descriptor that is
/// given out again is looked at before it is read from.
static DEVICES: [AtomicU64; 16] = {
    let mut cells = [const { AtomicU64::new(0) }; 16];
    cells[0] = AtomicU64::new(1);
    cells
};
/// Who reads more at a time makes a file of it: that is input.
const KEPT_MAX: size_t = 4096;

/// Whether `path` names a device that gives random bytes. Most names are longer, or shorter.
#[inline(always)]
pub fn is_device(path: &[u8]) -> bool {
    (URANDOM.len() - 1..=URANDOM.len()).contains(&path.len()) && is_one_of_them(path)
}

const URANDOM: &[u8] = b"/dev/urandom";

#[cold]
#[inline(never)]
fn is_one_of_them(path: &[u8]) -> bool {
    path == URANDOM || path == b"/dev/random"
}

/// `fd` was opened as such a device.
pub fn opened(fd: c_int) {
    if let Some((cell, bit)) = cell_of(fd) {
        cell.fetch_or(bit, Relaxed);
    }
}

fn cell_of(fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    DEVICES.get(usize::try_from(fd).ok()? / 64).map(|cell| (cell, 1 << (fd % 64)))
}

/// Streams that may be such devices: so far none, or the last one that was opened.
static STREAM: AtomicUsize = AtomicUsize::new(0);

/// `f` was opened as such a device.
pub fn opened_stream(f: *mut FILE) {
    STREAM.store(f.addr(), Relaxed);
    // SAFETY: the program's stream, which was just opened.
    opened(unsafe { libc::fileno(f) });
}

pub unsafe fn fread(to: *mut c_void, size: size_t, many: size_t, f: *mut FILE) -> size_t {
    // SAFETY: the program's arguments; so for the others.
    let read = || unsafe { real_input::fread(to, size, many, f) };
    let length = size.saturating_mul(many);
    // SAFETY: as above.
    if STREAM.load(Relaxed) != f.addr() || length == 0 || !is_random(unsafe { libc::fileno(f) }, length) {
        return read();
    }
    // SAFETY: as above.
    unsafe { fill(to, length, || (read() * size) as i64) as size_t / size }
}

/// Whether `fd` gives random bytes that are kept.
fn is_random(fd: c_int, length: size_t) -> bool {
    let Some((cell, bit)) = cell_of(fd) else { return false };
    if cell.load(Relaxed) & bit == 0 {
        return false;
    }
    let status = sys::status_of(fd);
    let is_device = status.st_mode & libc::S_IFMT == libc::S_IFCHR
        && (status.st_rdev == libc::makedev(1, 8) || status.st_rdev == libc::makedev(1, 9));
    if !is_device {
        cell.fetch_and(!bit, Relaxed);
    } else if length > KEPT_MAX {
        input::note_random();
    }
    is_device && length <= KEPT_MAX
}

/// Reading waits for the outside, unless it is for random bytes.
pub unsafe fn read(fd: c_int, to: *mut c_void, length: size_t) -> ssize_t {
    // SAFETY: the program's arguments.
    let read = |to, length| unsafe { real_outward::read(fd, to, length) };
    if !is_random(fd, length) {
        return reading::read_by(fd, to, length, read);
    }
    // SAFETY: the program's buffer.
    counted(unsafe { fill(to, length, || or_reason(read(to, length) as i64)) }) as ssize_t
}

pub unsafe fn read_chk(fd: c_int, to: *mut c_void, length: size_t, room: size_t) -> ssize_t {
    if length > room {
        // SAFETY: the program's arguments; it does not return.
        return unsafe { real_outward::__read_chk(fd, to, length, room) };
    }
    // SAFETY: as above.
    unsafe { read(fd, to, length) }
}
