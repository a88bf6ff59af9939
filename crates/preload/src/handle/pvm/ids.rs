//! Task ids and contexts: recorded ones for the program, present ones for the library.
//!
//! Ids of daemons and hosts are the same as long as the virtual machine is built in the same order.

use crate::handle::pvm::full;
use libc::c_int;
use retake_engine::process::{self, mode};
use retake_engine::tasks;
use retake_engine::thread::Thread;
use retake_engine::turn;
use retake_tape::session::pair;

/// Set in the id of a daemon.
const DAEMON: c_int = 1 << 31;
/// The part of an id that says which host.
const HOST: c_int = 0x3ffc_0000;

/// Whether ids are translated: in a replay, outside of the library.
fn translated() -> bool {
    process::mode() == mode::REPLAY && !turn::is_in_library()
}

/// Whether a daemon has this id: what it sends is a notification.
pub fn is_daemon(tid: c_int) -> bool {
    tid != -1 && tid & DAEMON != 0
}

fn is_task(tid: c_int) -> bool {
    tid > 0 && tid & !HOST != 0
}

/// The present id of the task that the program knows as `tid`; what is no task stays as it is.
pub fn present(tid: c_int) -> c_int {
    if !is_task(tid) || !translated() {
        return tid;
    }
    tasks::present(pair::TASK, tid as u32).map_or(tid, |present| present as c_int)
}

/// The id under which the program knows the task that is `tid` now.
pub fn recorded(tid: c_int) -> c_int {
    if !is_task(tid) || !translated() {
        return tid;
    }
    tasks::recorded(pair::TASK, tid as u32).map_or(tid, |recorded| recorded as c_int)
}

/// Replay: the present id of a task that may not have come yet. Alone, nobody comes.
pub fn wait_for(thread: &mut Thread, tid: c_int) -> c_int {
    if is_task(tid) && !full::given() { tasks::wait_for(thread, pair::TASK, tid as u32) as c_int } else { tid }
}

/// Replay: the task that was `recorded` is `present`; `pid` is its process, if it is this one.
pub fn pair(recorded: c_int, present: c_int, pid: u32) {
    tasks::pair(pair::TASK, recorded as u32, present as u32, pid);
}

/// The present number of the context that the program knows as `context`.
pub fn present_context(context: c_int) -> c_int {
    if context <= 0 || !translated() {
        return context;
    }
    tasks::present(pair::CONTEXT, context as u32).map_or(context, |present| present as c_int)
}

/// The number under which the program knows the context that is `context` now.
pub fn recorded_context(context: c_int) -> c_int {
    if context <= 0 || !translated() {
        return context;
    }
    tasks::recorded(pair::CONTEXT, context as u32).map_or(context, |recorded| recorded as c_int)
}

/// Replay: the context that was `recorded` is `present`.
pub fn pair_contexts(recorded: c_int, present: c_int) {
    tasks::pair(pair::CONTEXT, recorded as u32, present as u32, 0);
}
