//! Streams: who wrote to one when. The stream's own lock is held from before the call until its place is noted.

use crate::table::stream::{Arguments, real};
use libc::{FILE, c_char, c_int, c_void, size_t};
use retake_engine::objects::{Meeting, Object};
use retake_engine::process;
use retake_engine::turn::{self, Turn};
use retake_tape::op::Op;

unsafe extern "C" {
    static mut stdout: *mut FILE;
    fn funlockfile(f: *mut FILE);
}

fn out() -> *mut FILE {
    // SAFETY: libc's own variable.
    unsafe { stdout }
}

struct Unlock(*mut FILE);

impl Drop for Unlock {
    fn drop(&mut self) {
        // SAFETY: this thread locked it.
        unsafe { funlockfile(self.0) }
    }
}

/// Makes `call` on the stream in its turn.
fn with<R>(f: *mut FILE, call: impl FnOnce() -> R) -> R {
    if !process::get().threaded || f.is_null() {
        return call();
    }
    let Some(thread) = turn::enter() else { return call() };
    let object = Meeting(f as usize);
    if turn::recording() {
        // SAFETY: the program's stream.
        unsafe { real::flockfile(f) };
        let _unlock = Unlock(f);
        let result = call();
        Turn::new(Op::Stream, f as usize, &object).record(thread, 0);
        return result;
    }
    let Some(step) = thread.step(Op::Stream) else { return call() };
    object.wait(thread, step.order);
    let result = {
        // SAFETY: the program's stream.
        unsafe { real::flockfile(f) };
        let _unlock = Unlock(f);
        call()
    };
    thread.happened();
    turn::tell(thread, Op::Stream, thread.count(), f as usize, 0, 0);
    result
}

pub unsafe fn lock(f: *mut FILE) {
    if !process::get().threaded {
        // SAFETY: the program's stream; so for the others.
        return unsafe { real::flockfile(f) };
    }
    let object = Meeting(f as usize);
    let take = || {
        // SAFETY: as above.
        unsafe { real::flockfile(f) };
        0
    };
    Turn::new(Op::Stream, f as usize, &object).acquire(take, take);
}

pub unsafe fn trylock(f: *mut FILE) -> c_int {
    // SAFETY: as above.
    let call = || unsafe { real::ftrylockfile(f) };
    if !process::get().threaded {
        return call();
    }
    let object = Meeting(f as usize);
    let again = || {
        // SAFETY: as above.
        unsafe { real::flockfile(f) };
        0
    };
    Turn::polling(Op::Stream, f as usize, &object).acquire(call, again)
}

pub unsafe fn puts(text: *const c_char) -> c_int {
    // SAFETY: as above.
    with(out(), || unsafe { real::puts(text) })
}

pub unsafe fn fputs(text: *const c_char, f: *mut FILE) -> c_int {
    // SAFETY: as above.
    with(f, || unsafe { real::fputs(text, f) })
}

pub unsafe fn fputc(c: c_int, f: *mut FILE) -> c_int {
    // SAFETY: as above.
    with(f, || unsafe { real::fputc(c, f) })
}

pub unsafe fn putchar(c: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { fputc(c, out()) }
}

pub unsafe fn fwrite(from: *const c_void, size: size_t, many: size_t, f: *mut FILE) -> size_t {
    // SAFETY: as above.
    with(f, || unsafe { real::fwrite(from, size, many, f) })
}

pub unsafe fn fflush(f: *mut FILE) -> c_int {
    // SAFETY: as above.
    with(f, || unsafe { real::fflush(f) })
}

pub unsafe fn vprintf(format: *const c_char, a: Arguments) -> c_int {
    // SAFETY: as above.
    unsafe { vfprintf(out(), format, a) }
}

pub unsafe fn vfprintf(f: *mut FILE, format: *const c_char, a: Arguments) -> c_int {
    // SAFETY: as above.
    with(f, || unsafe { real::vfprintf(f, format, a) })
}

pub unsafe fn vfprintf_chk(f: *mut FILE, flag: c_int, format: *const c_char, a: Arguments) -> c_int {
    // SAFETY: as above.
    with(f, || unsafe { real::__vfprintf_chk(f, flag, format, a) })
}

pub unsafe fn vprintf_chk(flag: c_int, format: *const c_char, a: Arguments) -> c_int {
    // SAFETY: as above.
    unsafe { vfprintf_chk(out(), flag, format, a) }
}

/// For the variadic forms in `variadic.c`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn retake_vfprintf(f: *mut FILE, flag: c_int, format: *const c_char, a: Arguments) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { if flag < 0 { vfprintf(f, format, a) } else { vfprintf_chk(f, flag, format, a) } }
}
