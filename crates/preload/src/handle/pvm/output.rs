//! Output of tasks that the library writes for the program (`pvm_catchout`): it comes inside any call, whenever a task
//! has printed something, and names tasks by their ids. So it is on the tape, and a replay writes what is there.

use crate::handle::pvm::full;
use crate::handle::pvm::{self, library};
use crate::table::pvm::real;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};
use libc::{FILE, c_char, c_int, c_void, ssize_t};
use retake_engine::thread::{self, Thread};
use retake_engine::turn;
use retake_tape::op::Op;

/// libc's `cookie_io_functions_t`.
#[repr(C)]
struct Functions {
    read: usize,
    write: extern "C" fn(*mut c_void, *const c_char, usize) -> ssize_t,
    seek: usize,
    close: usize,
}

unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, how: *const c_char, functions: Functions) -> *mut FILE;
}

/// Where the program wants the output.
static TO: AtomicPtr<FILE> = AtomicPtr::new(null_mut());
/// What the library gets instead.
static OURS: AtomicPtr<FILE> = AtomicPtr::new(null_mut());

pub unsafe fn catchout(to: *mut FILE) -> c_int {
    // SAFETY: the program's stream; ours is made once and stays.
    unsafe {
        if pvm::enter().is_none() {
            return real::pvm_catchout(to);
        }
        TO.store(to, Release);
        if full::given() {
            return 0;
        }
        if !to.is_null() && OURS.load(Acquire).is_null() {
            let functions = Functions { read: 0, write: take, seek: 0, close: 0 };
            let ours = library(|| fopencookie(null_mut(), c"w".as_ptr(), functions));
            if ours.is_null() {
                return library(|| real::pvm_catchout(to));
            }
            // As it comes, so that it stands before the event of the call that it came in.
            library(|| libc::setvbuf(ours, null_mut(), libc::_IOLBF, 4096));
            OURS.store(ours, Release);
        }
        let stream = if to.is_null() { to } else { OURS.load(Acquire) };
        library(|| real::pvm_catchout(stream))
    }
}

/// The library writes: on to the program's stream and the tape while recording, nowhere in a replay.
extern "C" fn take(_: *mut c_void, from: *const c_char, length: usize) -> ssize_t {
    if turn::recording()
        && let Some(thread) = thread::current()
    {
        // SAFETY: libc gives that many bytes.
        let bytes = unsafe { core::slice::from_raw_parts(from.cast::<u8>(), length) };
        write(bytes);
        thread.begin();
        thread.result(Op::PvmOutput, length as i64);
        thread.bytes(bytes);
        thread.happen();
        thread.finish();
    }
    length as ssize_t
}

fn write(bytes: &[u8]) {
    let to = TO.load(Acquire);
    if !to.is_null() {
        // SAFETY: the program's stream, as it gave it to the library.
        library(|| unsafe {
            libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), to);
            libc::fflush(to);
        });
    }
}

/// Replay: writes what the library wrote inside the call that comes now.
pub fn play(thread: &mut Thread) {
    if turn::recording() || TO.load(Acquire).is_null() {
        return;
    }
    while thread.next_is(Op::PvmOutput) {
        let Some(step) = thread.step(Op::PvmOutput) else { return };
        write(step.bytes);
        thread.happened();
    }
}
