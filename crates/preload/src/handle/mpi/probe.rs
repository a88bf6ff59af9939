//! Looking for a message before it is received: whether there was one, and whose.

use crate::handle::mpi::abi::{self, Status};
use crate::handle::mpi::{happen, happened, note_match, recorded_match, wait, world};
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::ranks;
use retake_engine::turn::{self, in_library};
use retake_tape::matches::calls;
use retake_tape::op::Op;

/// Nothing was there.
const NOT_YET: i64 = -2;

/// A call that waits for a message: `real` makes it, `look` looks once whether it is there, both for a source and a tag.
unsafe fn waiting(
    call: u8,
    (source, tag): (c_int, c_int),
    status: *mut u8,
    real: impl FnOnce(*mut u8) -> c_int,
    look: impl Fn(c_int, c_int, *mut c_int) -> c_int,
) -> c_int {
    let Some(thread) = turn::enter() else { return real(status) };
    let open = source == abi::get().any_source;
    world::used_by(thread.number);
    if turn::recording() {
        let mut own = Status::new();
        let to = if open && abi::get().is_ignored(status) { own.at() } else { status };
        let result = in_library(|| real(to));
        if open {
            // SAFETY: the library has filled the status.
            unsafe { note_match(thread, call, to) };
        }
        happen(thread, Op::MpiProbe, 0);
        return result;
    }
    if thread.step(Op::MpiProbe).is_none() {
        return real(status);
    }
    let (mut source, mut tag) = (source, tag);
    if open {
        let found = recorded_match(thread, Op::MpiProbe, call, false);
        (source, tag) = (found.source, found.tag);
    }
    let result = in_library(|| until_there(source, tag, look));
    happened(thread, Op::MpiProbe, i64::from(source));
    result
}

fn until_there(source: c_int, tag: c_int, look: impl Fn(c_int, c_int, *mut c_int) -> c_int) -> c_int {
    ranks::waits_for(source, tag);
    wait::until(|| {
        let mut there: c_int = 0;
        let result = look(source, tag, &raw mut there);
        (result != 0 || there != 0).then_some(result)
    })
}

/// A call that only looks.
unsafe fn looking(
    call: u8,
    (source, tag): (c_int, c_int),
    flag: *mut c_int,
    status: *mut u8,
    look: impl Fn(c_int, c_int, *mut c_int, *mut u8) -> c_int,
) -> c_int {
    let Some(thread) = turn::enter() else { return look(source, tag, flag, status) };
    let open = source == abi::get().any_source;
    world::used_by(thread.number);
    // SAFETY: the program's variables.
    unsafe {
        if turn::recording() {
            let mut own = Status::new();
            let to = if open && abi::get().is_ignored(status) { own.at() } else { status };
            let result = in_library(|| look(source, tag, flag, to));
            if *flag == 0 {
                thread.begin();
                thread.poll(Op::MpiIprobe, NOT_YET);
                thread.finish();
            } else if open {
                note_match(thread, call, to);
            }
            happen(thread, Op::MpiIprobe, i64::from(*flag));
            return result;
        }
        let Some(step) = thread.step(Op::MpiIprobe) else { return look(source, tag, flag, status) };
        *flag = c_int::from(step.result != NOT_YET);
        let mut result = 0;
        if *flag != 0 {
            let (mut source, mut tag) = (source, tag);
            if open {
                let found = recorded_match(thread, Op::MpiIprobe, call, false);
                (source, tag) = (found.source, found.tag);
            }
            let look = |source, tag, there| look(source, tag, there, status);
            result = in_library(|| until_there(source, tag, look));
            *flag = 1;
        }
        happened(thread, Op::MpiIprobe, i64::from(*flag));
        result
    }
}

pub unsafe fn probe(source: c_int, tag: c_int, comm: usize, status: *mut u8) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe {
        let real = |to| real::MPI_Probe(source, tag, comm, to);
        let look = |source, tag, there| real::MPI_Iprobe(source, tag, comm, there, status);
        waiting(calls::PROBE, (source, tag), status, real, look)
    }
}

pub unsafe fn mprobe(source: c_int, tag: c_int, comm: usize, message: *mut u8, status: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let real = |to| real::MPI_Mprobe(source, tag, comm, message, to);
        let look = |source, tag, there| real::MPI_Improbe(source, tag, comm, there, message, status);
        waiting(calls::MPROBE, (source, tag), status, real, look)
    }
}

pub unsafe fn iprobe(source: c_int, tag: c_int, comm: usize, flag: *mut c_int, status: *mut u8) -> c_int {
    // SAFETY: as above.
    let look = |source, tag, there, to| unsafe { real::MPI_Iprobe(source, tag, comm, there, to) };
    // SAFETY: as above.
    unsafe { looking(calls::IPROBE, (source, tag), flag, status, look) }
}

pub unsafe fn improbe(
    source: c_int,
    tag: c_int,
    comm: usize,
    flag: *mut c_int,
    message: *mut u8,
    status: *mut u8,
) -> c_int {
    // SAFETY: as above.
    let look = |source, tag, there, to| unsafe { real::MPI_Improbe(source, tag, comm, there, message, to) };
    // SAFETY: as above.
    unsafe { looking(calls::IMPROBE, (source, tag), flag, status, look) }
}
