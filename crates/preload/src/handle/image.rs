//! Whether the shim can go along into a program file: its first line, or its ELF header, tells.
//!
//! musl's dynamic linker ends a program into which it cannot load all that it is told to; one for another machine
//! complains; a static program would hand our variables on as they are, and its children would take its name; Go's
//! threads meet where nothing is caught. All of them are started as if Retake were not there.
//!
//! Law: nothing here writes to memory that outlives the call: a child of `vfork` may be the one who asks.

use core::ffi::CStr;
use libc::{AT_FDCWD, O_CLOEXEC, O_RDONLY, X_OK, c_char, c_int};
use retake_engine::store::Path;
use retake_engine::sys;

/// Interpreters of interpreters, as the kernel counts them.
const DEPTH: u32 = 4;
/// Longest path that is looked at; what is behind a longer one is taken for usual.
const LONGEST: usize = 1024;
const X86_64: u16 = 62;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;

/// Whether the shim can be loaded into the program at `path`, seen from the directory `dir`.
///
/// # Safety
/// `path` must be a C string.
pub unsafe fn takes_shim(dir: c_int, path: *const c_char) -> bool {
    // SAFETY: the caller's string.
    unsafe { look(dir, path, 0) }
}

/// The same for a program that is searched for as a shell does.
///
/// # Safety
/// `file` must be a C string, `environment` a vector of such that ends in a null.
pub unsafe fn found_takes_shim(file: *const c_char, environment: *const *const c_char) -> bool {
    // SAFETY: the caller's strings.
    unsafe {
        let name = CStr::from_ptr(file).to_bytes();
        if name.contains(&b'/') {
            return takes_shim(AT_FDCWD, file);
        }
        for dir in search_path(environment).split(|byte| *byte == b':') {
            let mut room = [0u8; LONGEST];
            let mut path = Path { to: &mut room, length: 0 };
            path.push(if dir.is_empty() { b"." } else { dir }).push(b"/").push(name);
            if path.finish() {
                let executable = sys::faccessat(AT_FDCWD as usize, room.as_ptr() as usize, X_OK as usize);
                if sys::error(executable).is_none() {
                    return takes_shim(AT_FDCWD, room.as_ptr().cast());
                }
            }
        }
        true
    }
}

unsafe fn search_path<'a>(environment: *const *const c_char) -> &'a [u8] {
    let mut at = environment;
    // SAFETY: the vector ends in a null.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            if let Some(value) = CStr::from_ptr(*at).to_bytes().strip_prefix(b"PATH=") {
                return value;
            }
            at = at.add(1);
        }
    }
    b"/bin:/usr/bin"
}

unsafe fn look(dir: c_int, path: *const c_char, depth: u32) -> bool {
    let flags = (O_RDONLY | O_CLOEXEC) as usize;
    // SAFETY: the caller's string; the descriptor is ours.
    unsafe {
        let fd = sys::openat(dir as usize, path as usize, flags, 0);
        if sys::error(fd).is_some() {
            return true;
        }
        let fits = is_fit(fd as usize, depth);
        sys::close(fd as usize);
        fits
    }
}

/// The same for a file that is open.
pub fn open_takes_shim(fd: c_int) -> bool {
    is_fit(fd as usize, 0)
}

fn is_fit(fd: usize, depth: u32) -> bool {
    let mut head = [0u8; LONGEST];
    let head = read_at(fd, 0, &mut head);
    if let Some(line) = head.strip_prefix(b"#!") {
        return depth >= DEPTH || interpreter_is_fit(line, depth);
    }
    if !head.starts_with(b"\x7fELF") || head.len() < 64 {
        return true;
    }
    let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    if head[4..6] != [2, 1] || half(18) != X86_64 {
        return false;
    }
    let table = number(head, 32) as usize;
    let mut is_dynamic = false;
    for index in 0..half(56) as usize {
        // One that lies farther back than usual is not looked for.
        let Some(header) = head.get(table.saturating_add(index * 56)..).and_then(|rest| rest.get(..56)) else {
            return true;
        };
        match number(header, 0) as u32 {
            PT_INTERP if is_musl(fd, number(header, 8)) => return false,
            PT_INTERP => is_dynamic = true,
            PT_NOTE if is_go(fd, number(header, 8), number(header, 32) as usize) => return false,
            _ => {}
        }
    }
    is_dynamic
}

fn is_musl(fd: usize, at: u64) -> bool {
    let mut linker = [0u8; 256];
    let linker = read_at(fd, at, &mut linker);
    let linker = linker.split(|byte| *byte == 0).next().unwrap_or(linker);
    linker.rsplit(|byte| *byte == b'/').next().unwrap_or(linker).starts_with(b"ld-musl")
}

/// Whether one of the notes is Go's: length of the name, length of the rest, a kind; then both, in whole words.
fn is_go(fd: usize, at: u64, length: usize) -> bool {
    let mut notes = [0u8; 512];
    let mut rest = read_at(fd, at, &mut notes);
    rest = &rest[..rest.len().min(length)];
    while rest.len() >= 16 {
        let lengths = number(rest, 0);
        let whole = |length: u64| (length as u32 as usize).saturating_add(3) & !3;
        if rest[12..16] == *b"Go\0\0" {
            return true;
        }
        let end = 12usize.saturating_add(whole(lengths)).saturating_add(whole(lengths >> 32));
        rest = rest.get(end..).unwrap_or(&[]);
    }
    false
}

/// The program that a script's first line names.
fn interpreter_is_fit(line: &[u8], depth: u32) -> bool {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or(line);
    let first = line.split(is_blank).find(|word| !word.is_empty()).unwrap_or(b"");
    let mut room = [0u8; 256];
    let fits = Path { to: &mut room, length: 0 }.push(first).finish();
    // SAFETY: the path ends in a zero byte.
    first.is_empty() || !fits || unsafe { look(AT_FDCWD, room.as_ptr().cast(), depth + 1) }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn read_at(fd: usize, at: u64, to: &mut [u8]) -> &[u8] {
    // SAFETY: the buffer is as long as said.
    let got = unsafe { sys::pread(fd, to.as_mut_ptr() as usize, to.len(), at as usize) };
    &to[..got.clamp(0, to.len() as isize) as usize]
}
