//! Streams: who wrote to one when. The stream's own lock is held from before the call until its place is noted.
//!
//! A program of one thread has no such order, but a signal's handler ran before or after what it wrote: so that is
//! counted, as releases are.

use crate::errno;
use crate::handle::{output, writing};
use crate::table::stream::{Arguments, real};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use libc::{FILE, c_char, c_int, c_void, iovec, size_t, ssize_t};
use retake_engine::objects::Meeting;
use retake_engine::thread::Thread;
use retake_engine::{park, process, serial, sys, turn};
use retake_tape::op::Op;

unsafe extern "C" {
    static mut stdout: *mut FILE;
    fn funlockfile(f: *mut FILE);
}
unsafe extern "C-unwind" {
    fn fputc_unlocked(c: c_int, f: *mut FILE) -> c_int;
    fn fputs_unlocked(text: *const c_char, f: *mut FILE) -> c_int;
    fn fwrite_unlocked(from: *const c_void, size: size_t, many: size_t, f: *mut FILE) -> size_t;
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
fn with<R>(f: *mut FILE, call: impl Fn() -> R) -> R {
    with_kept(f, &call, &call)
}

/// The same; `kept` is the call where others are kept from the stream anyway.
fn with_kept<R>(f: *mut FILE, call: impl FnOnce() -> R, kept: impl FnOnce() -> R) -> R {
    if f.is_null() {
        return turn::showing(call);
    }
    if !process::get().threaded {
        return turn::showing(|| output::with_stream(f, call));
    }
    if let Some(thread) = turn::only_records() {
        return locked(f, || {
            let result = output::with_stream(f, kept);
            note_use(thread, f as usize);
            result
        });
    }
    let Some(thread) = turn::enter() else { return call() };
    wait_for_turn(thread);
    locked(f, || {
        let result = output::with_stream(f, kept);
        used(thread, f as usize);
        result
    })
}

/// Keeps others from the stream meanwhile.
#[inline(always)]
fn locked<R>(f: *mut FILE, body: impl FnOnce() -> R) -> R {
    // SAFETY: the program's stream.
    unsafe { real::flockfile(f) };
    let _unlock = Unlock(f);
    body()
}

/// Recording: this thread has used what lies at `address`.
#[inline(always)]
fn note_use(thread: &mut Thread, address: usize) {
    if serial::is_on() {
        // Whoever runs uses it.
        return;
    }
    thread.begin();
    Meeting(address).used(thread);
    thread.finish();
}

/// Replay: waits for the uses that came before. Using a stream is no event, so that a program to which a line of output
/// was added still replays.
fn wait_for_turn(thread: &mut Thread) {
    if !turn::recording()
        && !serial::is_on()
        && let Some((other, uses)) = thread.recorded_after()
    {
        park::wait_for_uses(thread, other, uses);
    }
}

/// This thread has used the stream, or descriptor, at `address`, and still keeps others from it.
fn used(thread: &mut Thread, address: usize) {
    if turn::recording() {
        note_use(thread, address);
    } else if let Some(seat) = process::get().seat(thread.number) {
        seat.uses.store(thread.uses, Release);
    }
    turn::tell(thread, Op::Stream, 0, address, 0, 0);
}

pub unsafe fn lock(f: *mut FILE) {
    // SAFETY: the program's stream; so for the others.
    let take = || unsafe { real::flockfile(f) };
    let (true, Some(thread)) = (process::get().threaded, turn::enter()) else { return take() };
    wait_for_turn(thread);
    take();
    used(thread, f as usize);
}

/// Whether a stream is free decides what the program does next, so this is an event.
pub unsafe fn trylock(f: *mut FILE) -> c_int {
    // SAFETY: as above.
    let take = || unsafe { real::ftrylockfile(f) };
    let (true, Some(thread)) = (process::get().threaded, turn::enter()) else { return take() };
    let busy = turn::outcome(Op::Stream, true, || i64::from(take() != 0), |_| {});
    if busy == 0 {
        if !turn::recording() {
            wait_for_turn(thread);
            // SAFETY: as above.
            unsafe { real::flockfile(f) };
        }
        used(thread, f as usize);
    }
    -(busy as c_int)
}

/// One at a time for standard output and standard error; the thread that has its turn, if any.
static WRITING: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];

/// Makes `call`, which writes to a descriptor, in its turn.
fn with_descriptor<R>(fd: c_int, call: impl FnOnce() -> R) -> R {
    if !(1..=2).contains(&fd) || !process::get().threaded {
        return turn::showing(call);
    }
    let Some(thread) = turn::enter() else { return call() };
    let writing = &WRITING[fd as usize];
    // A handler may write while its own thread is writing.
    if writing.load(Relaxed) == thread.tid {
        return call();
    }
    wait_for_turn(thread);
    let mut tries = 0;
    while writing.compare_exchange_weak(0, thread.tid, Acquire, Relaxed).is_err() {
        tries += 1;
        if tries < 100 { core::hint::spin_loop() } else { sys::sleep_ns(20_000) }
    }
    let _free = Free(writing, thread.tid);
    let result = call();
    let before = errno::get();
    used(thread, fd as usize);
    errno::set(before);
    result
}

pub unsafe fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: as above.
    with_descriptor(fd, || output::in_turn(fd, || unsafe { writing::write(fd, from, length) }))
}

pub unsafe fn writev(fd: c_int, parts: *const iovec, many: c_int) -> ssize_t {
    // SAFETY: as above.
    with_descriptor(fd, || output::in_turn(fd, || unsafe { writing::writev(fd, parts, many) }))
}

pub unsafe fn vdprintf(fd: c_int, format: *const c_char, a: Arguments) -> c_int {
    // SAFETY: as above.
    with_descriptor(fd, || output::in_turn(fd, || unsafe { real::vdprintf(fd, format, a) }))
}

pub unsafe fn vdprintf_chk(fd: c_int, flag: c_int, format: *const c_char, a: Arguments) -> c_int {
    // SAFETY: as above.
    with_descriptor(fd, || output::in_turn(fd, || unsafe { real::__vdprintf_chk(fd, flag, format, a) }))
}

/// The thread's turn at a descriptor, unless a handler has let it go.
struct Free(&'static AtomicU32, u32);

impl Drop for Free {
    fn drop(&mut self) {
        let _ = self.0.compare_exchange(self.1, 0, Release, Relaxed);
    }
}

/// A handler is about to run in thread `tid`: it may jump out of the write that it came into.
pub fn let_go(tid: u32) {
    for writing in &WRITING {
        let _ = writing.compare_exchange(tid, 0, Release, Relaxed);
    }
}

/// In a forked child nobody is writing.
pub fn reset() {
    for writing in &WRITING {
        writing.store(0, Release);
    }
}

pub unsafe fn puts(text: *const c_char) -> c_int {
    // SAFETY: as above.
    with(out(), || unsafe { real::puts(text) })
}

pub unsafe fn fputs(text: *const c_char, f: *mut FILE) -> c_int {
    // SAFETY: as above.
    with_kept(f, || unsafe { real::fputs(text, f) }, || unsafe { fputs_unlocked(text, f) })
}

pub unsafe fn fputc(c: c_int, f: *mut FILE) -> c_int {
    // SAFETY: as above.
    with_kept(f, || unsafe { real::fputc(c, f) }, || unsafe { fputc_unlocked(c, f) })
}

pub unsafe fn putchar(c: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { fputc(c, out()) }
}

pub unsafe fn fwrite(from: *const c_void, size: size_t, many: size_t, f: *mut FILE) -> size_t {
    // SAFETY: as above.
    with_kept(f, || unsafe { real::fwrite(from, size, many, f) }, || unsafe { fwrite_unlocked(from, size, many, f) })
}

pub unsafe fn fflush(f: *mut FILE) -> c_int {
    // SAFETY: as above.
    with(f, || output::emptying(f, || unsafe { real::fflush(f) }))
}

#[inline(always)]
pub unsafe fn fclose(f: *mut FILE) -> c_int {
    // SAFETY: as above.
    unsafe { if output::is_standard(f) { close_standard(f) } else { real::fclose(f) } }
}

#[cold]
#[inline(never)]
unsafe fn close_standard(f: *mut FILE) -> c_int {
    // SAFETY: as above.
    let result = output::emptying(f, || unsafe { real::fclose(f) });
    output::forget_all();
    result
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

/// For those that write to a descriptor.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn retake_vdprintf(fd: c_int, flag: c_int, format: *const c_char, a: Arguments) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { if flag < 0 { vdprintf(fd, format, a) } else { vdprintf_chk(fd, flag, format, a) } }
}
