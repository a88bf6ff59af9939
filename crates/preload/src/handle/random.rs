//! Random numbers: the same ones in a replay.

use crate::errno;
use crate::table::time::real;
use libc::{c_int, c_uint, c_void, size_t, ssize_t};
use retake_engine::report;
use retake_engine::turn;
use retake_tape::op::Op;

/// Fills `length` bytes at `to` by `call`, which returns how many, or a negative reason.
unsafe fn fill(to: *mut c_void, length: size_t, call: impl FnOnce() -> i64) -> i64 {
    let Some(thread) = turn::enter() else { return call() };
    if turn::recording() {
        let got = call();
        thread.begin();
        if got > 0 {
            // SAFETY: the call has filled that many.
            thread.bytes(unsafe { core::slice::from_raw_parts(to.cast::<u8>(), got as usize) });
        } else {
            thread.result(Op::Random, got);
        }
        thread.happen();
        thread.finish();
        turn::tell(thread, Op::Random, thread.count(), 0, 0, got);
        return got;
    }
    let Some(step) = thread.step(Op::Random) else { return call() };
    let got = step.bytes.len();
    if got > length || got == 0 && !step.has_result {
        report::other(thread, Op::Random, "another number of random bytes");
    }
    // SAFETY: the program's buffer is at least that long.
    unsafe { core::ptr::copy_nonoverlapping(step.bytes.as_ptr(), to.cast::<u8>(), got) };
    thread.happened();
    let result = if got > 0 { got as i64 } else { step.result };
    turn::tell(thread, Op::Random, thread.count(), 0, 0, result);
    result
}

fn counted(got: i64) -> i64 {
    if got < 0 {
        errno::set(-got as c_int);
        return -1;
    }
    got
}

fn or_reason(result: i64) -> i64 {
    if result < 0 { -i64::from(errno::get()) } else { result }
}

pub unsafe fn getrandom(to: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    // SAFETY: the program's buffer; so for the others.
    counted(unsafe { fill(to, length, || or_reason(real::getrandom(to, length, flags) as i64)) }) as ssize_t
}

pub unsafe fn getentropy(to: *mut c_void, length: size_t) -> c_int {
    // SAFETY: as above.
    let call = || unsafe { if real::getentropy(to, length) == 0 { length as i64 } else { -i64::from(errno::get()) } };
    // SAFETY: as above.
    if counted(unsafe { fill(to, length, call) }) < 0 { -1 } else { 0 }
}

pub unsafe fn arc4random_buf(to: *mut c_void, length: size_t) {
    // SAFETY: as above.
    let call = || unsafe {
        real::arc4random_buf(to, length);
        length as i64
    };
    // SAFETY: as above.
    unsafe { fill(to, length, call) };
}

fn number(read: impl FnOnce() -> u32) -> u32 {
    let mut number = 0u32;
    let at = &raw mut number;
    // SAFETY: a variable of ours.
    unsafe {
        fill(at.cast(), 4, || {
            *at = read();
            4
        });
    }
    number
}

pub unsafe fn arc4random() -> u32 {
    // SAFETY: asks for nothing.
    number(|| unsafe { real::arc4random() })
}

pub unsafe fn arc4random_uniform(bound: u32) -> u32 {
    // SAFETY: asks for nothing.
    number(|| unsafe { real::arc4random_uniform(bound) })
}
