//! Groups: who has which place in a group depends on who joined first. Joining, leaving and sending to all members are put
//! in order across tasks, and made again in that order; then barriers and exchanges find the same group.

use crate::handle::pvm::mailbox::ordered;
use crate::handle::pvm::{self, answer, ids, library, take_int, told};
use crate::table::pvm::{Reduction, real};
use core::cell::UnsafeCell;
use core::ptr::null_mut;
use libc::{c_char, c_int, c_void};
use retake_engine::{tasks, turn};
use retake_tape::op::Op;
use retake_tape::session::pair;

fn equal(recorded: c_int, now: c_int) -> bool {
    recorded == now
}

pub unsafe fn join(group: *mut c_char) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    ordered(Op::PvmMember, false, equal, || unsafe { real::pvm_joingroup(group) })
}

pub unsafe fn leave(group: *mut c_char) -> c_int {
    // SAFETY: as above.
    ordered(Op::PvmMember, false, equal, || unsafe { real::pvm_lvgroup(group) })
}

pub unsafe fn bcast(group: *mut c_char, tag: c_int) -> c_int {
    // SAFETY: as above.
    ordered(Op::PvmCollect, false, equal, || unsafe { real::pvm_bcast(group, tag) })
}

pub unsafe fn getinst(group: *mut c_char, tid: c_int) -> c_int {
    // SAFETY: as above. A replay does not ask.
    answer(Op::PvmGroup, || unsafe { real::pvm_getinst(group, ids::present(tid)) })
}

pub unsafe fn gettid(group: *mut c_char, instance: c_int) -> c_int {
    // SAFETY: as above.
    answer(Op::PvmGroup, || ids::recorded(unsafe { real::pvm_gettid(group, instance) }))
}

pub unsafe fn gsize(group: *mut c_char) -> c_int {
    // SAFETY: as above.
    answer(Op::PvmGroup, || unsafe { real::pvm_gsize(group) })
}

/// From whom the messages of an exchange came, in their order: sums of floating-point numbers depend on it.
struct Sources {
    state: u32,
    length: usize,
    at: usize,
    tids: [c_int; SOURCES],
}
const SOURCES: usize = 4096;
const NOTED: u32 = 1;
const KNOWN: u32 = 2;

struct Global(UnsafeCell<Sources>);
// SAFETY: the library knows no threads: its calls are made one at a time.
unsafe impl Sync for Global {}
static GLOBAL: Global = Global(UnsafeCell::new(Sources { state: 0, length: 0, at: 0, tids: [0; SOURCES] }));

fn sources() -> &'static mut Sources {
    // SAFETY: see `Global`.
    unsafe { &mut *GLOBAL.0.get() }
}

/// A receive from anybody that the library makes inside an exchange: `call` is given the task to receive from, by its
/// present id.
pub fn inner(call: impl Fn(c_int) -> c_int) -> c_int {
    let sources = sources();
    match sources.state {
        NOTED => {
            let (buffer, mut source) = (call(-1), 0);
            // SAFETY: a variable of ours.
            unsafe { real::pvm_bufinfo(buffer, null_mut(), null_mut(), &raw mut source) };
            if let Some(tid) = sources.tids.get_mut(sources.length) {
                *tid = source;
                sources.length += 1;
            }
            buffer
        }
        KNOWN if sources.at < sources.length => {
            let source = sources.tids[sources.at];
            sources.at += 1;
            call(tasks::present(pair::TASK, source as u32).map_or(source, |present| present as c_int))
        }
        _ => call(-1),
    }
}

/// A call in which members meet: made again once the group has at least the members that it had when it was made.
unsafe fn meet(op: Op, call: impl Fn() -> c_int) -> c_int {
    let Some(thread) = pvm::enter() else { return call() };
    if turn::recording() {
        let before = tasks::changes();
        (sources().state, sources().length) = (NOTED, 0);
        let result = turn::cancellable(op, || library(&call));
        let Sources { state, length, tids, .. } = sources();
        *state = 0;
        thread.begin();
        thread.hand_over(before);
        if result != 0 {
            thread.result(op, i64::from(result));
        }
        if *length > 0 {
            // SAFETY: numbers of ours, as bytes.
            thread.bytes(unsafe { core::slice::from_raw_parts(tids.as_ptr().cast(), *length * 4) });
        }
        thread.happen();
        thread.finish();
        turn::tell(thread, op, thread.count(), 0, 0, i64::from(result));
        return result;
    }
    let Some(step) = thread.step(op) else { return call() };
    tasks::wait_for_changes(thread, step.order);
    let known = sources();
    (known.state, known.at, known.length) = (KNOWN, 0, (step.bytes.len() / 4).min(SOURCES));
    let mut bytes = step.bytes;
    known.tids[..known.length].fill_with(|| take_int(&mut bytes));
    if step.result >= 0 {
        pvm::must_succeed(op, turn::undisturbed(|| library(&call)));
    }
    sources().state = 0;
    thread.happened();
    turn::tell(thread, op, thread.count(), 0, 0, step.result);
    told(step.result)
}

pub unsafe fn barrier(group: *mut c_char, n: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { meet(Op::PvmBarrier, || real::pvm_barrier(group, n)) }
}

pub unsafe fn freeze(group: *mut c_char, n: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { meet(Op::PvmCollect, || real::pvm_freezegroup(group, n)) }
}

pub unsafe fn gather(
    to: *mut c_void,
    from: *mut c_void,
    n: c_int,
    kind: c_int,
    tag: c_int,
    group: *mut c_char,
    root: c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe { meet(Op::PvmCollect, || real::pvm_gather(to, from, n, kind, tag, group, root)) }
}

pub unsafe fn scatter(
    to: *mut c_void,
    from: *mut c_void,
    n: c_int,
    kind: c_int,
    tag: c_int,
    group: *mut c_char,
    root: c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe { meet(Op::PvmCollect, || real::pvm_scatter(to, from, n, kind, tag, group, root)) }
}

pub unsafe fn reduce(
    how: Reduction,
    data: *mut c_void,
    n: c_int,
    kind: c_int,
    tag: c_int,
    group: *mut c_char,
    root: c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe { meet(Op::PvmCollect, || real::pvm_reduce(how, data, n, kind, tag, group, root)) }
}
