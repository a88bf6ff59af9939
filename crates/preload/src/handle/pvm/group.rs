//! Groups: who has which place in a group depends on who joined first. Joining, leaving and sending to all members are put
//! in order across tasks, and made again in that order; then barriers and exchanges find the same group. Alone there is no
//! group: what an exchange brought comes from the tape.

use crate::handle::pvm::full::{self, NOTHING, Sum, message};
use crate::handle::pvm::mailbox::{ordered, tell_if_apart};
use crate::handle::pvm::{self, answer, ids, library, meeting, task, told};
use crate::table::pvm::{Reduction, real};
use core::ptr::null_mut;
use libc::{c_char, c_int, c_void};
use retake_engine::store::Path;
use retake_engine::thread::Thread;
use retake_engine::{tasks, turn};
use retake_tape::op::Op;

fn equal(recorded: c_int, now: c_int) -> bool {
    recorded == now
}

fn named(words: &mut Path<'_>, group: *const c_char) {
    words.push(b"of group ");
    // SAFETY: the program's string.
    unsafe { full::push_text(words, group) };
}

pub unsafe fn join(group: *mut c_char) -> c_int {
    full::pass("pvm_joingroup", |words| named(words, group), |_| NOTHING);
    // SAFETY: the program's arguments; so for the others.
    ordered(Op::PvmMember, false, equal, || unsafe { real::pvm_joingroup(group) })
}

pub unsafe fn leave(group: *mut c_char) -> c_int {
    full::pass("pvm_lvgroup", |words| named(words, group), |_| NOTHING);
    // SAFETY: as above.
    ordered(Op::PvmMember, false, equal, || unsafe { real::pvm_lvgroup(group) })
}

pub unsafe fn bcast(group: *mut c_char, tag: c_int) -> c_int {
    let describe = |words: &mut Path<'_>| {
        words.push(b"to all ");
        named(words, group);
        full::push_tag(words, tag);
    };
    // SAFETY: the library's buffer.
    full::pass("pvm_bcast", describe, |_| unsafe { message::sum_of_active() });
    // SAFETY: as above.
    ordered(Op::PvmCollect, false, equal, || unsafe { real::pvm_bcast(group, tag) })
}

pub unsafe fn getinst(group: *mut c_char, tid: c_int) -> c_int {
    if meeting::is_on() {
        // SAFETY: the library's arguments; so for the others.
        return meeting::place(|| unsafe { real::pvm_getinst(group, tid) });
    }
    // SAFETY: as above. A replay does not ask.
    answer(Op::PvmGroup, || unsafe { real::pvm_getinst(group, ids::present(tid)) })
}

pub unsafe fn gettid(group: *mut c_char, instance: c_int) -> c_int {
    if meeting::is_on() {
        // SAFETY: as above.
        return meeting::task(|| unsafe { real::pvm_gettid(group, instance) });
    }
    // SAFETY: as above.
    answer(Op::PvmGroup, || ids::recorded(unsafe { real::pvm_gettid(group, instance) }))
}

pub unsafe fn gsize(group: *mut c_char) -> c_int {
    // SAFETY: as above.
    answer(Op::PvmGroup, || unsafe { real::pvm_gsize(group) })
}

/// A call in which members meet.
struct Meeting<'a> {
    op: Op,
    name: &'static str,
    group: *mut c_char,
    /// How many members, or elements.
    n: c_int,
    /// What this one gives; `None` asks for as many bytes as it is.
    gives: &'a dyn Fn(Option<usize>) -> Sum,
    /// Where what it gets is put, and how many bytes that is.
    gets: (*mut c_void, &'a dyn Fn() -> usize),
}

/// Nothing is given or got.
fn bare(op: Op, name: &'static str, group: *mut c_char, n: c_int) -> Meeting<'static> {
    Meeting { op, name, group, n, gives: &|_| NOTHING, gets: (null_mut(), &|| 0) }
}

/// Made again once the group has at least the members that it had when it was made, with the same answers to what the library
/// asks meanwhile ([`meeting`]); alone, what it brought is brought again.
unsafe fn meet(meeting: &Meeting<'_>, call: impl Fn() -> c_int) -> c_int {
    let Meeting { op, name, gets, .. } = *meeting;
    let Some(thread) = pvm::enter() else { return call() };
    let describe = |words: &mut Path<'_>| {
        named(words, meeting.group);
        words.push(b", ").push_number(u64::from(meeting.n.unsigned_abs()));
    };
    full::pass(name, describe, |length| (meeting.gives)(length));
    tell_if_apart();
    if turn::recording() {
        let before = tasks::changes();
        meeting::note();
        let result = turn::cancellable(op, || library(&call));
        let noted = meeting::end();
        // SAFETY: the library has done it.
        unsafe { keep(thread, meeting, result) };
        thread.begin();
        thread.hand_over(before);
        if result != 0 {
            thread.result(op, i64::from(result));
        }
        if !noted.is_empty() {
            thread.bytes(noted);
        }
        thread.happen();
        thread.finish();
        turn::tell(thread, op, thread.count(), 0, 0, i64::from(result));
        return result;
    }
    let Some(step) = thread.step(op) else { return call() };
    if full::given() {
        if !gets.0.is_null() {
            let bytes = thread.given(name);
            // SAFETY: the program asks for as many as it did: that has been compared.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), gets.0.cast(), bytes.len()) };
        }
    } else {
        tasks::wait_for_changes(thread, step.order);
        meeting::know(step.bytes);
        if step.result >= 0 {
            pvm::must_succeed(op, turn::undisturbed(|| library(&call)));
        }
        meeting::end();
        // SAFETY: the library has done it.
        unsafe { keep(thread, meeting, step.result as c_int) };
    }
    thread.happened();
    turn::tell(thread, op, thread.count(), 0, 0, step.result);
    told(step.result)
}

/// Keeps what the meeting brought, if that is to be kept.
unsafe fn keep(thread: &mut Thread, meeting: &Meeting<'_>, result: c_int) {
    let Meeting { name, gets, .. } = *meeting;
    if full::kept() && !gets.0.is_null() {
        let size = if result >= 0 { (gets.1)() } else { 0 };
        // SAFETY: the library has written as many.
        thread.keep(name, [unsafe { core::slice::from_raw_parts(gets.0.cast(), size) }, &[]]);
    }
}

pub unsafe fn barrier(group: *mut c_char, n: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { meet(&bare(Op::PvmBarrier, "pvm_barrier", group, n), || real::pvm_barrier(group, n)) }
}

pub unsafe fn freeze(group: *mut c_char, n: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { meet(&bare(Op::PvmCollect, "pvm_freezegroup", group, n), || real::pvm_freezegroup(group, n)) }
}

/// How many members' shares this task has in its hands: all of them at the root, none elsewhere.
unsafe fn shares(group: *mut c_char, root: c_int) -> usize {
    let me = ids::present(task::shown());
    // SAFETY: as above.
    library(|| unsafe {
        let mine = real::pvm_getinst(group, me);
        if mine == root { real::pvm_gsize(group).max(0) as usize } else { 0 }
    })
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
    let size = n.max(0) as usize * full::size(kind);
    // SAFETY: as above.
    unsafe {
        let gives = |_: Option<usize>| full::memory(from, size);
        // Only the root has asked who gives.
        let gets: (_, &dyn Fn() -> usize) = (to, &|| meeting::members() * size);
        let meeting = Meeting { op: Op::PvmCollect, name: "pvm_gather", group, n, gives: &gives, gets };
        meet(&meeting, || real::pvm_gather(to, from, n, kind, tag, group, root))
    }
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
    let size = n.max(0) as usize * full::size(kind);
    // SAFETY: as above.
    unsafe {
        let gives = |then: Option<usize>| full::memory(from, then.unwrap_or_else(|| shares(group, root) * size));
        let gets: (_, &dyn Fn() -> usize) = (to, &|| size);
        let meeting = Meeting { op: Op::PvmCollect, name: "pvm_scatter", group, n, gives: &gives, gets };
        meet(&meeting, || real::pvm_scatter(to, from, n, kind, tag, group, root))
    }
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
    let size = n.max(0) as usize * full::size(kind);
    // SAFETY: as above.
    unsafe {
        let gives = |_: Option<usize>| full::memory(data, size);
        let gets: (_, &dyn Fn() -> usize) = (data, &|| size);
        let meeting = Meeting { op: Op::PvmCollect, name: "pvm_reduce", group, n, gives: &gives, gets };
        meet(&meeting, || real::pvm_reduce(how, data, n, kind, tag, group, root))
    }
}
