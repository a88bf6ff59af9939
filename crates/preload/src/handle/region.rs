//! OpenMP's parallel regions, where threads run in turn. Threads of a team stand aside until their part of the region begins, and
//! from its end on: what they do there, the library waits and wakes, is in no order and needs none.

use libc::c_void;
use retake_engine::serial;

/// What each thread of a region runs.
pub type Body = unsafe extern "C-unwind" fn(*mut c_void);

#[repr(C)]
struct Region {
    /// The first word of the data: the library looks for reductions there.
    first: usize,
    body: Body,
    data: *mut c_void,
}

/// Runs a region by `call`, which returns when all of its threads have come to the end.
///
/// # Safety
/// `body` and `data` must be as the program gave them.
pub unsafe fn parallel<R>(body: Body, data: *mut c_void, call: impl FnOnce(Body, *mut c_void) -> R) -> R {
    if !serial::is_on() {
        return call(body, data);
    }
    // SAFETY: what is given, if anything, are the program's variables.
    let first = if data.is_null() { 0 } else { unsafe { data.cast::<usize>().read_unaligned() } };
    let region = Region { first, body, data };
    let _team = serial::team();
    call(part, (&raw const region).cast_mut().cast())
}

/// A thread's part of the region.
unsafe extern "C-unwind" fn part(region: *mut c_void) {
    // SAFETY: it is there until all have come to the end.
    let region = unsafe { &*region.cast::<Region>() };
    let _member = serial::member();
    // SAFETY: as the program would have it run.
    unsafe { (region.body)(region.data) }
}

/// Makes a call that waits for others of the team.
pub fn waits<R>(call: impl FnOnce() -> R) -> R {
    let _away = serial::away(|| true);
    call()
}
