//! Calls that wait for the outside, in the words of libc: -1, and a reason, if one fails.

use crate::errno;
use crate::handle::process::{present, recorded};
use crate::table::outward::real;
use core::ptr::null;
use libc::{c_int, pid_t, sigset_t};
use retake_engine::outward::{self, Call, Unkept};

/// What a call of libc has returned: how many, or a negative reason.
pub fn answer<R: Copy + Into<i64>>(result: R) -> i64 {
    match result.into() {
        -1 => -i64::from(errno::get()),
        many => many,
    }
}

/// The same for those who return a word.
pub fn answer_long(result: libc::ssize_t) -> i64 {
    answer(result as i64)
}

/// What libc returns for such an answer; the reason goes where it belongs.
pub fn returned(answer: i64) -> i64 {
    if answer >= 0 {
        return answer;
    }
    errno::set(-answer as c_int);
    -1
}

/// Makes a call of which it is kept what comes of it.
pub fn kept(mut call: impl Call) -> i64 {
    returned(outward::call(None, &mut call))
}

/// The same, of a call in which `blocked` are the signals that do not come, if it is given.
pub unsafe fn kept_with(blocked: *const sigset_t, mut call: impl Call) -> i64 {
    // SAFETY: the program's set; the kernel's is as long as one word.
    let mask = unsafe { blocked.cast::<u64>().as_ref() }.copied();
    returned(outward::call(mask, &mut call))
}

/// Makes a call of which nothing is kept but that a handler ended it.
pub fn outward<R: Copy + Into<i64>>(mut call: impl FnMut() -> R) -> i64 {
    // SAFETY: no set is given.
    unsafe { kept_with(null(), Unkept(|| answer(call()))) }
}

/// Only who waits for a lock waits. Who is to be told of what comes is named by the id that the program knows.
pub unsafe fn fcntl(fd: c_int, what: c_int, how: usize) -> c_int {
    // SAFETY: the program's arguments; whatever the last one is, it is a word.
    let call = |how| unsafe { real::fcntl(fd, what, how) };
    match what {
        libc::F_SETLKW | libc::F_OFD_SETLKW => outward(|| call(how)) as c_int,
        libc::F_SETOWN => call(present(how as pid_t) as usize),
        libc::F_GETOWN => recorded(call(how)),
        _ => call(how),
    }
}
