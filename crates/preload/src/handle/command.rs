//! How this process was started: noted where contents are kept, so that it can be started without whoever did it then.

use core::ffi::CStr;
use libc::c_char;
use retake_engine::{contents, sys, thread};
use retake_tape::entry::note as kind;

/// Where contents are kept: notes how this image was started, so that it can be started without whoever did.
///
/// # Safety
/// `argv` must be what the kernel gave.
pub unsafe fn note(argv: *mut *mut c_char) {
    if !contents::are_kept() {
        return;
    }
    let Some(thread) = thread::current() else { return };
    let mut room = [[0u8; 1024]; 2];
    let (mut program, mut directory): (&[u8], &[u8]) = (b"", b"");
    // SAFETY: the buffers are as long as said; the vector ends in a null, and its strings are one behind the other.
    unsafe {
        let [one, two] = &mut room;
        let length = libc::readlink(c"/proc/self/exe".as_ptr(), one.as_mut_ptr().cast(), one.len());
        if length > 0 {
            program = &one[..length as usize];
        }
        let length = sys::getcwd(two.as_mut_ptr() as usize, two.len());
        if length > 1 {
            directory = &two[..length as usize - 1];
        }
        let mut last = argv;
        while !(*last).is_null() && !(*last.add(1)).is_null() {
            last = last.add(1);
        }
        let words = if (*last).is_null() { c"" } else { CStr::from_ptr(*last) };
        let end = if (*last).is_null() { 0 } else { *last as usize + words.to_bytes().len() - *argv as usize };
        let words = core::slice::from_raw_parts((*argv).cast::<u8>(), end);
        thread.keep_note(kind::COMMAND, &[program, &[0], directory, &[0], words]);
    }
}
