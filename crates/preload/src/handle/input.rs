//! Inputs: each file that is opened for reading, and each connection, is noted once.

use crate::errno;
use crate::handle::ids::present_task;
use crate::handle::output;
use crate::handle::outward::outward;
use crate::handle::process::is_borrowed;
use crate::handle::random;
use crate::table::input::real;
use core::ffi::CStr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use libc::{FILE, O_ACCMODE, O_WRONLY, c_char, c_int, mode_t, pid_t};
use retake_engine::process::{self, mode};
use retake_engine::store::Path;
use retake_engine::{contents, thread, turn};
use retake_tape::entry::note;

/// Which names have been noted, roughly: a name that is taken for another is left out.
static SEEN: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];
const LONGEST: usize = 512;

/// Programs open the same files again and again: that is all that such a call costs.
fn note_once(what: u8, words: &[u8]) {
    let is_kept = what == note::NOT_ALONE && contents::are_kept();
    if !turn::recording() && !is_kept {
        return;
    }
    let hash = hash_of(what, words);
    let (cell, bit) = (&SEEN[(hash >> 20) as usize % SEEN.len()], 1 << (hash >> 58));
    if cell.load(Relaxed) & bit == 0 {
        note_first(what, words, is_kept, cell, bit);
    }
}

#[cold]
#[inline(never)]
fn note_first(what: u8, words: &[u8], is_kept: bool, cell: &AtomicU64, bit: u64) {
    let before = errno::get();
    note_unless_seen(what, words, is_kept, cell, bit);
    errno::set(before);
}

fn note_unless_seen(what: u8, words: &[u8], is_kept: bool, cell: &AtomicU64, bit: u64) {
    // Whether memory is borrowed asks the kernel, so that comes last.
    if words.starts_with(b"/proc/") || words.starts_with(b"/sys/") || is_borrowed() {
        return;
    }
    if cell.fetch_or(bit, Relaxed) & bit != 0 {
        return;
    }
    let words = &words[..words.len().min(LONGEST)];
    match turn::enter() {
        Some(thread) if !is_kept => {
            thread.begin();
            thread.note(what, words);
            thread.finish();
        }
        Some(thread) => thread.keep_note(what, &[words]),
        // A replay looks at what came while it is inside the library.
        None if is_kept => _ = thread::current().map(|thread| thread.keep_note(what, &[words])),
        None => {}
    }
}

/// Eight bytes at a time; of the last ones some may count twice.
fn hash_of(what: u8, words: &[u8]) -> u64 {
    let mix = |hash: u64, part: u64| (hash ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let (mut hash, mut rest) = (mix(words.len() as u64, what.into()), words);
    while let Some((eight, more)) = rest.split_first_chunk::<8>() {
        hash = mix(hash, u64::from_le_bytes(*eight));
        rest = more;
    }
    let last = match words.last_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => rest.iter().fold(0, |part, byte| part << 8 | u64::from(*byte)),
    };
    mix(hash, last).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Tells that the program uses something that is not replayed.
pub fn note_unsupported(words: &[u8]) {
    // SAFETY: the header is mapped while recording.
    if let Some(header) = unsafe { process::get().tape.header().as_ref() } {
        header.unsupported.store(1, Relaxed);
    }
    note_once(note::UNSUPPORTED, words);
}

/// Tells that the program uses something without which the process cannot be replayed alone.
pub fn note_not_alone(words: &[u8]) {
    note_once(note::NOT_ALONE, words);
}

fn reads(flags: c_int) -> bool {
    flags & O_ACCMODE != O_WRONLY && flags & libc::O_DIRECTORY == 0
}

/// The program has opened `path` as `fd`. Random bytes are no input: they are kept.
unsafe fn noted(path: *const c_char, flags: c_int, fd: c_int) -> c_int {
    if fd >= 0 && reads(flags) {
        // SAFETY: the program's string, which was just opened.
        let name = unsafe { CStr::from_ptr(path) }.to_bytes();
        if random::is_device(name) { random::opened(fd) } else { note_once(note::FILE, name) }
    }
    fd
}

/// The program reads more random bytes than are kept.
pub fn note_random() {
    note_once(note::FILE, b"/dev/urandom");
}

/// Calls `open` with the path that the program's one means. In a replay, a folder of `/proc` that is named by a recorded id
/// is the one of the process or thread that has the id now.
#[inline(always)]
unsafe fn by_path<R>(path: *const c_char, open: impl FnOnce(*const c_char) -> R) -> R {
    if process::mode() != mode::REPLAY || path.is_null() {
        return open(path);
    }
    // SAFETY: the program's string.
    unsafe { by_present_path(path, open) }
}

/// The same, in a replay: the room for the path is not even touched elsewhere.
#[cold]
#[inline(never)]
unsafe fn by_present_path<R>(path: *const c_char, open: impl FnOnce(*const c_char) -> R) -> R {
    let mut room = [0u8; LONGEST];
    // SAFETY: the program's string.
    let is_other = translate(unsafe { CStr::from_ptr(path) }.to_bytes(), &mut room).is_some();
    open(if is_other { room.as_ptr().cast() } else { path })
}

/// Writes `path`, with the present id, into `room`. Nothing if it has no other.
fn translate(path: &[u8], room: &mut [u8; LONGEST]) -> Option<()> {
    let rest = path.strip_prefix(b"/proc/")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (id, rest) = rest.split_at(digits);
    let shown: pid_t = core::str::from_utf8(id).ok()?.parse().ok()?;
    let now = present_task(shown);
    if now == shown || path.len() + 16 > LONGEST {
        return None;
    }
    Path { to: room, length: 0 }.push(b"/proc/").push_number(now as u64).push(rest).finish();
    Some(())
}

pub unsafe fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe { noted(path, flags, outward(|| by_path(path, |path| real::open(path, flags, mode))) as c_int) }
}

pub unsafe fn open_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { noted(path, flags, outward(|| by_path(path, |path| real::__open_2(path, flags))) as c_int) }
}

pub unsafe fn openat(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as above.
    unsafe { noted(path, flags, outward(|| by_path(path, |path| real::openat(dir, path, flags, mode))) as c_int) }
}

unsafe fn stream_reads(how: *const c_char) -> bool {
    // SAFETY: the program's string.
    unsafe { *how as u8 == b'r' }
}

/// The program has opened `path` as a stream.
unsafe fn noted_stream(path: *const c_char, how: *const c_char, f: *mut FILE) -> *mut FILE {
    // SAFETY: the program's strings, which were just used.
    if !f.is_null() && !path.is_null() && unsafe { stream_reads(how) } {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(path) }.to_bytes();
        if random::is_device(name) { random::opened_stream(f) } else { note_once(note::FILE, name) }
    }
    f
}

pub unsafe fn fopen(path: *const c_char, how: *const c_char) -> *mut FILE {
    // SAFETY: as above.
    unsafe { noted_stream(path, how, by_path(path, |path| real::fopen(path, how))) }
}

pub unsafe fn freopen(path: *const c_char, how: *const c_char, f: *mut FILE) -> *mut FILE {
    output::forget_all();
    // SAFETY: as above.
    unsafe { noted_stream(path, how, by_path(path, |path| real::freopen(path, how, f))) }
}

/// The program has tried to make a connection.
pub fn note_connection() {
    note_once(note::SOCKET, b"a connection that the program made");
}

/// The program has taken a connection, or failed to.
pub fn noted_accept(fd: c_int) -> c_int {
    if fd >= 0 {
        note_once(note::SOCKET, b"a connection that the program accepted");
    }
    fd
}
