//! What a task sends to others: messages, signals, and the wish to be notified. Sent again in a replay, to the tasks that
//! have taken their places; alone it is compared with what was sent then, and goes nowhere.

use crate::handle::pvm::full::{self, NOTHING, message as packed};
use crate::handle::pvm::{self, Scratch, action, effect, ids, task};
use crate::table::pvm::{Ints, real};
use libc::{c_int, c_void};
use retake_engine::end;
use retake_engine::process::{self, mode};
use retake_engine::store::Path;
use retake_engine::sys;
use retake_engine::tasks;
use retake_engine::turn;
use retake_tape::layout::state;
use retake_tape::op::Op;
use retake_tape::session::pair;

/// A message. A daemon that sees a task die forgets what that has sent and it has not read yet, and a replay comes to the
/// death sooner, without sleeps: so a task that was killed then makes sure of each message.
fn message(call: impl FnOnce() -> c_int) -> c_int {
    let result = effect(Op::PvmSend, call);
    let is_replay = process::mode() == mode::REPLAY && !full::given();
    if is_replay && process::get().recorded_state == state::OPEN && turn::enter().is_some() {
        task::settle();
    }
    result
}

pub unsafe fn send(tid: c_int, tag: c_int) -> c_int {
    let to = present(tid);
    // SAFETY: the library's buffer.
    full::pass("pvm_send", |words| to_task(words, tid, tag), |_| unsafe { packed::sum_of_active() });
    // SAFETY: the program's arguments; so for the others.
    message(|| unsafe { real::pvm_send(to, tag) })
}

pub unsafe fn psend(tid: c_int, tag: c_int, from: *mut c_void, n: c_int, kind: c_int) -> c_int {
    let to = present(tid);
    let length = n.max(0) as usize * full::size(kind);
    // SAFETY: as above.
    full::pass("pvm_psend", |words| to_task(words, tid, tag), |_| unsafe { full::memory(from, length) });
    // SAFETY: as above.
    message(|| unsafe { real::pvm_psend(to, tag, from, n, kind) })
}

fn to_task(words: &mut Path<'_>, tid: c_int, tag: c_int) {
    words.push(b"to task t").push_hex(u64::from(tid as u32));
    full::push_tag(words, tag);
}

/// Enrols first: a task that has not enrolled knows no ids of this run.
fn present(tid: c_int) -> c_int {
    pvm::enter();
    ids::present(tid)
}

/// A copy of the ids with those of the present run.
unsafe fn all_present(tids: Ints, n: c_int) -> Scratch {
    let count = if tids.is_null() { 0 } else { n.max(0) as usize };
    let mut copy = Scratch::new(count * 4);
    pvm::enter();
    // SAFETY: the program's array is that long, and so is the copy.
    unsafe {
        for index in 0..count {
            copy.ints().add(index).write(ids::present(*tids.add(index)));
        }
    }
    copy
}

pub unsafe fn mcast(tids: Ints, n: c_int, tag: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let mut to = all_present(tids, n);
        let to = to.ints();
        let describe = |words: &mut Path<'_>| {
            words.push(b"to ");
            full::push_tasks(words, tids, n);
            full::push_tag(words, tag);
        };
        full::pass("pvm_mcast", describe, |_| packed::sum_of_active());
        message(|| real::pvm_mcast(to, n, tag))
    }
}

pub unsafe fn notify(what: c_int, tag: c_int, n: c_int, tids: Ints) -> c_int {
    // SAFETY: as above.
    unsafe {
        let mut of = all_present(tids, n);
        let of = if tids.is_null() { tids } else { of.ints() };
        let describe = |words: &mut Path<'_>| {
            words.push(b"of event ").push_number(u64::from(what as u32)).push(b" of ");
            full::push_tasks(words, tids, n);
            full::push_tag(words, tag);
        };
        full::pass("pvm_notify", describe, |_| NOTHING);
        action(Op::PvmNotify, || real::pvm_notify(what, tag, n, of))
    }
}

/// A task that was killed then first does again what it did before.
fn let_it_come(tid: c_int) {
    if turn::recording() || turn::enter().is_none() {
        return;
    }
    if full::kept() {
        // One that has not even begun would leave nothing of what it exchanged. It may never have told who it is.
        let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
        let is_late = || sys::clock_ns(libc::CLOCK_MONOTONIC) - started > BEGINS_NS;
        while tasks::process_of(pair::TASK, tid as u32).is_none() && !is_late() {
            sys::sleep_ns(1_000_000);
        }
    }
    if let Some(process) = tasks::process_of(pair::TASK, tid as u32) {
        end::wait_for_victim(process);
    }
}

/// How long a task that is about to be killed may take to begin, where what it exchanges is kept.
const BEGINS_NS: i64 = 5_000_000_000;

fn signalled(words: &mut Path<'_>, tid: c_int, signal: c_int) {
    words.push(b"of task t").push_hex(u64::from(tid as u32)).push(b", signal ");
    words.push_number(u64::from(signal as u32));
}

pub unsafe fn kill(tid: c_int) -> c_int {
    let to = present(tid);
    let_it_come(tid);
    full::pass("pvm_kill", |words| signalled(words, tid, libc::SIGTERM), |_| NOTHING);
    // SAFETY: as above.
    effect(Op::PvmKill, || unsafe { real::pvm_kill(to) })
}

pub unsafe fn sendsig(tid: c_int, signal: c_int) -> c_int {
    let to = present(tid);
    let_it_come(tid);
    full::pass("pvm_sendsig", |words| signalled(words, tid, signal), |_| NOTHING);
    // SAFETY: as above.
    effect(Op::PvmKill, || unsafe { real::pvm_sendsig(to, signal) })
}
