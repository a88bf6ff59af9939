//! What a task sends to others: messages, signals, and the wish to be notified. Sent again in a replay, to the tasks that
//! have taken their places.

use crate::handle::pvm::{self, Scratch, action, effect, ids, task};
use crate::table::pvm::{Ints, real};
use libc::{c_int, c_void};
use retake_engine::end;
use retake_engine::process::{self, mode};
use retake_engine::tasks;
use retake_engine::turn;
use retake_tape::layout::state;
use retake_tape::op::Op;
use retake_tape::session::pair;

/// A message. A daemon that sees a task die forgets what that has sent and it has not read yet, and a replay comes to the
/// death sooner, without sleeps: so a task that was killed then makes sure of each message.
fn message(call: impl FnOnce() -> c_int) -> c_int {
    let result = effect(Op::PvmSend, call);
    if process::mode() == mode::REPLAY && process::get().recorded_state == state::OPEN && turn::enter().is_some() {
        task::settle();
    }
    result
}

pub unsafe fn send(tid: c_int, tag: c_int) -> c_int {
    let to = present(tid);
    // SAFETY: the program's arguments; so for the others.
    message(|| unsafe { real::pvm_send(to, tag) })
}

pub unsafe fn psend(tid: c_int, tag: c_int, from: *mut c_void, n: c_int, kind: c_int) -> c_int {
    let to = present(tid);
    // SAFETY: as above.
    message(|| unsafe { real::pvm_psend(to, tag, from, n, kind) })
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
        message(|| real::pvm_mcast(to, n, tag))
    }
}

pub unsafe fn notify(what: c_int, tag: c_int, n: c_int, tids: Ints) -> c_int {
    // SAFETY: as above.
    unsafe {
        let mut of = all_present(tids, n);
        let of = if tids.is_null() { tids } else { of.ints() };
        action(Op::PvmNotify, || real::pvm_notify(what, tag, n, of))
    }
}

/// A task that was killed then first does again what it did before.
fn let_it_come(tid: c_int) {
    if !turn::recording()
        && turn::enter().is_some()
        && let Some(process) = tasks::process_of(pair::TASK, tid as u32)
    {
        end::wait_for_victim(process);
    }
}

pub unsafe fn kill(tid: c_int) -> c_int {
    let to = present(tid);
    let_it_come(tid);
    // SAFETY: as above.
    effect(Op::PvmKill, || unsafe { real::pvm_kill(to) })
}

pub unsafe fn sendsig(tid: c_int, signal: c_int) -> c_int {
    let to = present(tid);
    let_it_come(tid);
    // SAFETY: as above.
    effect(Op::PvmKill, || unsafe { real::pvm_sendsig(to, signal) })
}
