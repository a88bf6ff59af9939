//! The variables by which a process learns its part: hidden from the program, handed on to its children.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ptr::{null, null_mut};
use libc::{c_char, size_t};
use retake_engine::process;
use retake_engine::store::Path;
use retake_engine::sys;
use retake_engine::thread::{self, NAME_MAX, child_name};
use retake_tape::layout::born;
use retake_tape::session::variable;

/// Room for a copy of the variables' texts.
const TEXTS: usize = 32 << 10;

/// The texts that children get as they are, and the shim's own path.
struct Kept {
    /// `RETAKE_MODE`, `RETAKE_TAKE`, `RETAKE_SESSION`, `RETAKE_PAD`.
    same: [*const c_char; 4],
    /// The value of `LD_PRELOAD` up to the program's own part.
    shim: &'static [u8],
}

struct Global(UnsafeCell<Kept>);
// SAFETY: written once, at the start.
unsafe impl Sync for Global {}
static KEPT: Global = Global(UnsafeCell::new(Kept { same: [null(); 4], shim: &[] }));

/// What the environment says of this process.
pub struct Part<'a> {
    pub mode: &'static [u8],
    pub take: &'static [u8],
    pub session: &'static [u8],
    pub name: &'a [u8],
    pub born: u32,
    /// Where the take is, for others to read in `/proc`: until this goes, the process is known to begin.
    shown: Shown,
}

/// A text of the environment that is blanked in the end.
struct Shown(*mut c_char, usize);

impl Drop for Shown {
    fn drop(&mut self) {
        // SAFETY: a text that nobody uses any more, of that length.
        unsafe { blank(self.0, self.1) };
    }
}

fn value_of(text: &'static [u8], name: &str) -> Option<&'static [u8]> {
    text.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// Reads the variables and takes them out of `envp`. The program's own `LD_PRELOAD`, if it had one, is put back.
///
/// # Safety
/// `envp` must be the environment that the kernel gave, and one thread must run.
pub unsafe fn take(envp: *mut *mut c_char) -> Option<Part<'static>> {
    let mut part = Part { mode: b"", take: b"", session: b"", name: b"", born: 0, shown: Shown(null_mut(), 0) };
    // SAFETY: the vector ends in a null; the texts live as long as the process, and are copied all the same, because
    // programs write over their environment to change their title.
    unsafe {
        let texts = sys::memory(TEXTS);
        let kept = &mut *KEPT.0.get();
        let (mut from, mut to, mut used) = (envp, envp, 0);
        if texts.is_null() || value_in(envp.cast_const().cast(), variable::MODE).is_none() {
            return None;
        }
        while !(*from).is_null() {
            let entry = *from;
            from = from.add(1);
            let bytes = CStr::from_ptr(entry).to_bytes_with_nul();
            if let Some(left) = value_of(bytes, EXPORT).and_then(|list| without_ours(&list[..list.len() - 1])) {
                let kept = if left > 0 { EXPORT.len() + 1 + left } else { 0 };
                blank(entry.add(kept), bytes.len() - kept);
                if left > 0 {
                    *to = entry;
                    to = to.add(1);
                }
                continue;
            }
            let ours = variable::ALL.iter().any(|name| value_of(bytes, name).is_some());
            let preload = value_of(bytes, variable::PRELOAD).is_some();
            if !ours && !preload || used + bytes.len() > TEXTS {
                *to = entry;
                to = to.add(1);
                continue;
            }
            let copy = texts.add(used);
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), copy, bytes.len());
            let text = core::slice::from_raw_parts(copy, bytes.len() - 1);
            used += bytes.len();
            if preload {
                let value = value_of(text, variable::PRELOAD).unwrap_or(b"");
                let end = value.iter().position(|byte| *byte == b':').unwrap_or(value.len());
                kept.shim = &value[..end];
                if end < value.len() {
                    // What the program had set: `LD_PRELOAD=` and the part behind the shim, moved together.
                    let name = variable::PRELOAD.len() + 1;
                    let rest = bytes.len() - name - end - 1;
                    core::ptr::copy(entry.add(name + end + 1), entry.add(name), rest);
                    blank(entry.add(name + rest), end + 1);
                    *to = entry;
                    to = to.add(1);
                } else {
                    blank(entry, bytes.len());
                }
                continue;
            }
            if value_of(text, variable::TAKE).is_some() {
                part.shown = Shown(entry, bytes.len());
            } else {
                blank(entry, bytes.len());
            }
            for (index, name) in
                [variable::MODE, variable::TAKE, variable::SESSION, variable::PAD].into_iter().enumerate()
            {
                if let Some(value) = value_of(text, name) {
                    kept.same[index] = copy.cast();
                    match name {
                        variable::MODE => part.mode = value,
                        variable::TAKE => part.take = value,
                        variable::SESSION => part.session = value,
                        _ => {}
                    }
                }
            }
            if let Some(value) = value_of(text, variable::NAME) {
                part.name = value;
            }
            if let Some(value) = value_of(text, variable::BORN) {
                part.born = value.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit.wrapping_sub(b'0')));
            }
        }
        *to = null_mut();
        close_gap(to.add(1), from);
    }
    Some(part)
}

/// Behind the environment's null comes the auxiliary vector, and some walk on to it from there (Go's runtime does). So
/// what was taken out leaves entries behind that are to be ignored. They take two words each: see `variable::EVEN`.
unsafe fn close_gap(first: *mut *mut c_char, last: *mut *mut c_char) {
    const AT_IGNORE: usize = 1;
    // SAFETY: the caller's words.
    unsafe {
        let mut at = first.cast::<usize>();
        while at.add(1) <= last.cast() {
            at.write(AT_IGNORE);
            at.add(1).write(0);
            at = at.add(2);
        }
    }
}

/// Nor shall who reads `/proc/self/environ`, which is this very memory, find the text.
unsafe fn blank(text: *mut c_char, length: usize) {
    // SAFETY: the caller's text, of that length.
    unsafe { core::ptr::write_bytes(text, 0, length) };
}

/// The value of a variable in a vector of strings that ends in a null.
unsafe fn value_in(envp: *const *const c_char, name: &str) -> Option<&'static [u8]> {
    let mut at = envp;
    // SAFETY: the vector ends in a null.
    unsafe {
        while !(*at).is_null() {
            if let Some(value) = value_of(CStr::from_ptr(*at).to_bytes(), name) {
                return Some(value);
            }
            at = at.add(1);
        }
    }
    None
}

/// An environment for a child: the program's, and Retake's variables with it.
pub struct Environment {
    strings: *const *const c_char,
    memory: *mut u8,
    size: usize,
}

/// The child that an environment is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// The calling thread's newest creation, an executed program.
    Program,
    /// A program that is not fit for the shim.
    Unfit,
    /// The tasks that the calling thread is about to spawn (recording), or the one at this place among them (replay).
    Tasks(u32),
}

/// What PVM hands on to a task besides what the program wants.
const EXPORTED: &[u8] =
    b"LD_PRELOAD:RETAKE_MODE:RETAKE_TAKE:RETAKE_SESSION:RETAKE_NAME:RETAKE_BORN:RETAKE_EVEN:RETAKE_PAD";
const EXPORT: &str = "PVM_EXPORT";

/// A task's list of exported variables without ours: its new length, or nothing if there is no more.
fn without_ours(text: &[u8]) -> Option<usize> {
    let users = text.strip_suffix(EXPORTED)?;
    Some(users.strip_suffix(b":").map_or(0, <[u8]>::len))
}

impl Environment {
    /// For `child`. Without a part in a run, or inside a library that starts helpers, it is the program's own.
    ///
    /// # Safety
    /// `envp` must be a vector of strings that ends in a null.
    pub unsafe fn new(envp: *const *const c_char, child: Child) -> Environment {
        let same = Environment { strings: envp, memory: null_mut(), size: 0 };
        // The kernel takes no vector for an empty one.
        let nothing = [null::<c_char>()];
        let envp = if envp.is_null() { nothing.as_ptr() } else { envp };
        // SAFETY: written once, at the start.
        let kept = unsafe { &*KEPT.0.get() };
        let Some(thread) = thread::current() else { return same };
        // Valgrind's tools are static, but load the shim into the program that they run.
        // SAFETY: the caller's vector.
        let unfit = child == Child::Unfit && unsafe { value_in(envp, "VALGRIND_LAUNCHER") }.is_none();
        if kept.shim.is_empty() || thread.library > 0 || unfit {
            return same;
        }
        process::announce();
        // SAFETY: the caller's vector; memory of ours, long enough for it, four texts more, the five made here, and a null.
        unsafe {
            let (mut length, mut preload, mut export): (size_t, &[u8], &[u8]) = (0, b"", b"");
            while !(*envp.add(length)).is_null() {
                let bytes = CStr::from_ptr(*envp.add(length)).to_bytes();
                preload = value_of(bytes, variable::PRELOAD).unwrap_or(preload);
                export = value_of(bytes, EXPORT).unwrap_or(export);
                length += 1;
            }
            let vector = (length + 11) * size_of::<*const c_char>();
            let size = vector + kept.shim.len() + preload.len() + export.len() + EXPORTED.len() + 2 * NAME_MAX + 160;
            let memory = sys::memory(size);
            if memory.is_null() {
                return same;
            }
            let strings = memory.cast::<*const c_char>();
            let mut count = 0;
            let mut push = |text: *const c_char| {
                strings.add(count).write(text);
                count += 1;
            };
            let room = core::slice::from_raw_parts_mut(memory.add(vector), size - vector);
            let mut texts = Path { to: room, length: 0 };
            let start = memory.add(vector);
            let mut text = |parts: &[&[u8]]| -> *const c_char {
                let at = start.add(texts.length);
                for part in parts {
                    texts.push(part);
                }
                texts.push(b"\0");
                at.cast()
            };
            let preload_text = if preload.is_empty() {
                text(&[b"LD_PRELOAD=", kept.shim])
            } else {
                text(&[b"LD_PRELOAD=", kept.shim, b":", preload])
            };
            for index in 0..length {
                let entry = *envp.add(index);
                let bytes = CStr::from_ptr(entry).to_bytes();
                let bytes: &'static [u8] = core::slice::from_raw_parts(bytes.as_ptr(), bytes.len());
                let ours = variable::ALL.iter().any(|name| value_of(bytes, name).is_some());
                let made = matches!(child, Child::Tasks(_)) && value_of(bytes, EXPORT).is_some();
                if !ours && !made && value_of(bytes, variable::PRELOAD).is_none() {
                    push(entry);
                }
            }
            // Ours come last: what they leave behind in `/proc/self/environ` are empty texts at its end.
            push(preload_text);
            for same in kept.same.iter().filter(|text| !text.is_null()) {
                push(*same);
            }
            let mut name = [0u8; NAME_MAX];
            let mut name_len = child_name(&mut name, thread.name(), thread.creations);
            let mut how = born::EXEC;
            if let Child::Tasks(place) = child {
                let spawn = name;
                name_len = child_name(&mut name, &spawn[..name_len], place);
                how = born::TASK;
                push(text(&[b"PVM_EXPORT=", export, if export.is_empty() { b"" } else { b":" }, EXPORTED]));
            }
            push(text(&[b"RETAKE_NAME=", &name[..name_len]]));
            push(text(&[b"RETAKE_BORN=", &[b'0' + how as u8]]));
            let exports = matches!(child, Child::Tasks(_)) && export.is_empty();
            if preload.is_empty() != exports {
                push(text(&[b"RETAKE_EVEN="]));
            }
            push(null());
            Environment { strings, memory, size }
        }
    }

    pub fn strings(&self) -> *const *const c_char {
        self.strings
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        if !self.memory.is_null() {
            // SAFETY: memory of ours that nobody uses any more.
            unsafe { sys::munmap(self.memory as usize, self.size) };
        }
    }
}

/// Whether the environment is that of a task of PVM.
///
/// # Safety
/// `envp` must be a vector of strings that ends in a null.
pub unsafe fn is_task(envp: *mut *mut c_char) -> bool {
    // SAFETY: the caller's vector.
    unsafe { value_in(envp.cast_const().cast(), variable::BORN) == Some(&[b'0' + born::TASK as u8]) }
}

/// A copy that a server made of itself: the programs that it executes are told to record.
///
/// # Safety
/// One thread runs.
pub unsafe fn records_from_here() {
    const RECORD: &[u8] = b"record";
    const _: () = assert!(RECORD.len() == retake_tape::choices::serve::MODE.len());
    // SAFETY: the text is a copy of ours, as long as it was.
    unsafe {
        let text = (*KEPT.0.get()).same[0].cast_mut();
        if !text.is_null() {
            let value = text.add(variable::MODE.len() + 1);
            core::ptr::copy_nonoverlapping(RECORD.as_ptr().cast(), value, RECORD.len());
        }
    }
}
