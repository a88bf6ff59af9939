//! Looking for a message before it is received: whether there was one, and whose.

use crate::handle::mpi::abi::{self, Status};
use crate::handle::mpi::told::{self, Asked};
use crate::handle::mpi::{commit, commit_match, full, recorded_match, wait, world};
use crate::table::mpi::real;
use core::ptr::null_mut;
use libc::c_int;
use retake_engine::ranks;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, in_library};
use retake_tape::matches::calls;
use retake_tape::op::Op;

/// Nothing was there.
const NOT_YET: i64 = -2;

/// A call that waits for a message: `real` makes it, `look` looks once whether it is there, both for a source and a tag.
unsafe fn waiting(
    call: u8,
    (source, tag, comm): (c_int, c_int, usize),
    (message, status): (*mut u8, *mut u8),
    real: impl FnOnce(*mut u8) -> c_int,
    look: impl Fn(c_int, c_int, *mut c_int, *mut u8) -> c_int,
) -> c_int {
    let Some(thread) = turn::enter() else { return real(status) };
    let open = source == abi::get().any_source;
    world::used_by(thread.number);
    let asked = Asked { call, open: open.then_some(thread.messages.open), comm, kind: None };
    let tells = turn::tells(thread);
    let mut own = Status::new();
    let kept = full::kept() && source != abi::get().proc_null;
    if turn::recording() {
        let to = told::readable(status, open || tells || kept, &mut own);
        let result = in_library(|| real(to));
        if kept {
            // SAFETY: the library has filled the status.
            unsafe { full::feed::keep_probe(thread, calls::word(call), to) };
        }
        match open {
            // SAFETY: the library has filled the status.
            true => unsafe { commit_match(thread, abi::get(), call, to) },
            false => commit(thread),
        }
        // SAFETY: as above.
        unsafe { told::got(thread, Op::MpiProbe, thread.count(), &asked, to) };
        return result;
    }
    if thread.step(Op::MpiProbe).is_none() {
        return real(status);
    }
    let to = told::readable(status, tells || kept, &mut own);
    let (mut source, mut tag) = (source, tag);
    if open {
        let found = recorded_match(thread, Op::MpiProbe, call, false);
        (source, tag) = (found.source, found.tag);
    }
    let result = if full::given() && source != abi::get().proc_null {
        // SAFETY: the program's arguments.
        unsafe { full::feed::probe(thread, calls::word(call), message, to) }
    } else {
        in_library(|| until_there(source, tag, |source, tag, there| look(source, tag, there, to)))
    };
    if kept {
        // SAFETY: the library has filled the status.
        unsafe { full::feed::keep_probe(thread, calls::word(call), to) };
    }
    thread.happened();
    // SAFETY: the library has filled the status.
    unsafe { told::got(thread, Op::MpiProbe, thread.count(), &asked, to) };
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
    (source, tag, comm): (c_int, c_int, usize),
    flag: *mut c_int,
    (message, status): (*mut u8, *mut u8),
    look: impl Fn(c_int, c_int, *mut c_int, *mut u8) -> c_int,
) -> c_int {
    let Some(thread) = turn::enter() else { return look(source, tag, flag, status) };
    let open = source == abi::get().any_source;
    world::used_by(thread.number);
    let asked = Asked { call, open: open.then_some(thread.messages.open), comm, kind: None };
    let tells = turn::tells(thread);
    let mut own = Status::new();
    // SAFETY: the program's variables; the library has filled the status where there is a message.
    unsafe {
        let kept = full::kept() && source != abi::get().proc_null;
        if turn::recording() {
            let to = told::readable(status, open || tells || kept, &mut own);
            let result = in_library(|| look(source, tag, flag, to));
            if *flag != 0 && kept {
                full::feed::keep_probe(thread, calls::word(call), to);
            }
            if *flag == 0 {
                thread.begin();
                thread.poll(Op::MpiIprobe, NOT_YET);
                thread.happen();
                thread.finish();
            } else if open {
                commit_match(thread, abi::get(), call, to);
            } else {
                commit(thread);
            }
            tell(thread, &asked, *flag, to);
            return result;
        }
        let Some(step) = thread.step(Op::MpiIprobe) else { return look(source, tag, flag, status) };
        let to = told::readable(status, tells || kept, &mut own);
        *flag = c_int::from(step.result != NOT_YET);
        let mut result = 0;
        if *flag != 0 {
            let (mut source, mut tag) = (source, tag);
            if open {
                let found = recorded_match(thread, Op::MpiIprobe, call, false);
                (source, tag) = (found.source, found.tag);
            }
            let look = |source, tag, there| look(source, tag, there, to);
            result = if full::given() && source != abi::get().proc_null {
                full::feed::probe(thread, calls::word(call), message, to)
            } else {
                in_library(|| until_there(source, tag, look))
            };
            if kept {
                full::feed::keep_probe(thread, calls::word(call), to);
            }
            *flag = 1;
        }
        thread.happened();
        tell(thread, &asked, *flag, to);
        result
    }
}

/// Tells what was found, if anything.
unsafe fn tell(thread: &mut Thread, asked: &Asked, found: c_int, status: *mut u8) {
    match found {
        0 => turn::tell(thread, Op::MpiIprobe, thread.count(), 0, 0, NOT_YET),
        // SAFETY: the library has filled the status.
        _ => unsafe { told::got(thread, Op::MpiIprobe, thread.count(), asked, status) },
    }
}

pub unsafe fn probe(source: c_int, tag: c_int, comm: usize, status: *mut u8) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe {
        let real = |to| real::MPI_Probe(source, tag, comm, to);
        let look = |source, tag, there, to| real::MPI_Iprobe(source, tag, comm, there, to);
        waiting(calls::PROBE, (source, tag, comm), (null_mut(), status), real, look)
    }
}

pub unsafe fn mprobe(source: c_int, tag: c_int, comm: usize, message: *mut u8, status: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let real = |to| real::MPI_Mprobe(source, tag, comm, message, to);
        let look = |source, tag, there, to| real::MPI_Improbe(source, tag, comm, there, message, to);
        waiting(calls::MPROBE, (source, tag, comm), (message, status), real, look)
    }
}

pub unsafe fn iprobe(source: c_int, tag: c_int, comm: usize, flag: *mut c_int, status: *mut u8) -> c_int {
    // SAFETY: as above.
    let look = |source, tag, there, to| unsafe { real::MPI_Iprobe(source, tag, comm, there, to) };
    // SAFETY: as above.
    unsafe { looking(calls::IPROBE, (source, tag, comm), flag, (null_mut(), status), look) }
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
    unsafe { looking(calls::IMPROBE, (source, tag, comm), flag, (message, status), look) }
}
