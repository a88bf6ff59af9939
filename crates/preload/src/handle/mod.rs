//! What each caught function means: when its event happens, and what about it could have been otherwise.

pub mod asked;
pub mod c11;
pub mod command;
pub mod cond;
pub mod connection;
pub mod debugger;
pub mod environment;
pub mod exchange;
pub mod exec;
pub mod figures;
pub mod futex;
pub mod ids;
pub mod image;
pub mod input;
pub mod launcher;
pub mod mask;
pub mod modules;
pub mod mpi;
pub mod mutex;
pub mod needs;
pub mod openmp;
pub mod output;
pub mod outward;
pub mod process;
pub mod pvm;
pub mod python;
pub mod random;
pub mod reading;
pub mod ready;
pub mod region;
pub mod rwlock;
pub mod sem;
pub mod send;
pub mod server;
pub mod signal;
pub mod stack;
pub mod startup;
pub mod stream;
pub mod sync;
pub mod thread;
pub mod time;
pub mod wait;
pub mod writing;

use libc::{c_int, c_void};

unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, to: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

struct Found<'a> {
    pcs: &'a mut [u64],
    length: usize,
    /// What lies below this on the stack is left out.
    above: usize,
}

extern "C" fn frame(context: *mut c_void, found: *mut c_void) -> c_int {
    // SAFETY: the unwinder's context; `callers` gave the other.
    unsafe {
        let pc = _Unwind_GetIP(context);
        let found = &mut *found.cast::<Found>();
        if pc == 0 || found.length == found.pcs.len() {
            return 5;
        }
        if _Unwind_GetCFA(context) > found.above && !modules::is_shim(pc) {
            found.pcs[found.length] = pc as u64;
            found.length += 1;
        }
        0
    }
}

/// The return addresses of the calling thread outside of the shim, innermost first; 0 behind the last.
pub fn callers() -> [u64; 6] {
    let mut pcs = [0; 6];
    stack(&mut pcs);
    pcs
}

/// The same of a thread that was interrupted inside a library that the shim has called, without those of the library.
pub fn callers_of_library() -> [u64; 6] {
    let mut pcs = [0; 6];
    look_back(&mut pcs, retake_engine::thread::current().map_or(0, |thread| thread.library_at));
    pcs
}

/// The same as [`callers`], as many as there is room for. How many there are.
pub fn stack(pcs: &mut [u64]) -> usize {
    look_back(pcs, 0)
}

fn look_back(pcs: &mut [u64], above: usize) -> usize {
    let mut found = Found { pcs, length: 0, above };
    // The unwinder locks; that is none of the program's events.
    let mut thread = retake_engine::thread::current();
    if let Some(thread) = &mut thread {
        thread.begin();
    }
    // SAFETY: the callback gets what it is given here.
    unsafe { _Unwind_Backtrace(frame, (&raw mut found).cast()) };
    if let Some(thread) = thread {
        thread.finish();
    }
    found.length
}
