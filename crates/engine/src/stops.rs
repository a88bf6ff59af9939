//! Stopping a replay before an event that somebody asked for, and telling where everyone stands.
//!
//! ```text
//! gdb's module, --stop-at --> board: thread and event <-- compared here, by the thread itself, before each event
//! show the rows           <-- board: a row a thread    <-- count, wait, stack
//! ```
//!
//! A thread that has come to the event calls [`retake_stopped`], where a debugger has its breakpoint; without a debugger
//! it waits there. The others go on until the order makes them wait: the state is one that the recorded run could
//! have been in.
//!
//! Law: without a board nothing here does anything. With one, every event takes the slow path, so that each is seen.

use crate::process;
use crate::settled;
use crate::sys;
use crate::thread::{self, Thread, waiting};
use crate::watch;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr};
use retake_tape::board::{self, Board, stop};
use retake_tape::op::Op;
use retake_tape::session::ROOT_NAME;

static BOARD: AtomicPtr<Board> = AtomicPtr::new(null_mut());
const STEP_NS: u64 = 5_000_000;

/// Maps the board that lies beside the session at `session`.
pub fn open(session: &[u8]) {
    let (at, length) = process::map_beside(session, board::FILE, size_of::<Board>());
    let board = at.cast::<Board>();
    // SAFETY: null, or mapped for good and at least that long.
    let whole = unsafe { board.as_ref() }.is_some_and(|board| {
        board.magic.load(Acquire) == board::MAGIC && board::size(board.rows.load(Relaxed)) <= length
    });
    BOARD.store(if whole { board } else { null_mut() }, Release);
}

fn board() -> Option<&'static Board> {
    // SAFETY: null, or mapped for good.
    unsafe { BOARD.load(Acquire).as_ref() }
}

/// Whether somebody looks at this replay: then nothing is ever too late.
pub fn is_on() -> bool {
    !BOARD.load(Relaxed).is_null()
}

/// Whether those that stop are to stay where they are.
pub fn is_standing() -> bool {
    board().is_some_and(|board| board.stand.load(Acquire) != 0)
}

/// Gives `thread` its row; it runs from here on.
pub fn adopt(thread: &mut Thread) {
    // SAFETY: the board is mapped for good.
    thread.row = board().and_then(|board| unsafe { board::row(board, thread.number) });
    if let Some(row) = thread.row {
        row.count.store(thread.count(), Relaxed);
        row.pid.store(process::get().pid, Relaxed);
        row.tid.store(thread.tid, Release);
    }
}

/// The process of `thread` has begun. If it is a program that another one executed, that one's threads are gone, though
/// their ids live on in this one. Then it waits for a debugger, if one was asked for.
pub fn begun(thread: &Thread) {
    let Some(board) = board() else { return };
    let rows = board.rows.load(Relaxed);
    // SAFETY: the board is mapped for good.
    let others = (0..rows).filter(|number| *number != thread.number).filter_map(|at| unsafe { board::row(board, at) });
    for row in others.filter(|row| row.pid.load(Relaxed) == process::get().pid) {
        row.tid.store(0, Release);
    }
    let Some(board) = Some(board).filter(|board| board.ask_begin.load(Acquire) == thread.number) else { return };
    // Where only parents may trace (Yama), anyone may trace this process from now on.
    // SAFETY: plain numbers.
    unsafe { sys::prctl(libc::PR_SET_PTRACER as usize, usize::MAX, 0, 0) };
    let row = thread.row;
    tell(board, thread, stop::BEGIN);
    while board.ask_begin.load(Acquire) == thread.number {
        sys::sleep_ns(STEP_NS);
    }
    row.inspect(|row| row.stops.store(stop::NOT, Release));
}

/// `thread` is about to have its event `event`, by the operation `op`.
pub fn before(thread: &Thread, op: Op, event: u64) {
    let (Some(board), Some(row)) = (board(), thread.row) else { return };
    row.op.store(op as u32, Relaxed);
    row.begun.store(event, Relaxed);
    let asked = board.ask_thread.load(Acquire) == thread.number && board.ask_event.load(Relaxed) == event;
    if asked || board.ask_any.load(Relaxed) == process::get().pid {
        stand(board, thread, stop::EVENT);
    }
}

/// Whether somebody wants to see this process where all is played and the recorded one was killed or hung.
pub fn looks_at_end() -> bool {
    let is_root = || process::get().name() == ROOT_NAME.as_bytes();
    let asked = |board: &Board| board.ask_event.load(Relaxed) == board::AT_END && is_root();
    board().is_some_and(|board| asked(board) || watch::is_traced())
}

/// All is played, and the recorded process was killed or hung. Whether this one may end now as that did.
pub fn at_end(thread: &Thread) -> bool {
    static TOLD: AtomicBool = AtomicBool::new(false);
    match board() {
        None => !watch::is_traced(),
        Some(_) if !looks_at_end() => true,
        // One thread speaks for all.
        Some(board) => {
            let first = !TOLD.swap(true, AcqRel);
            if first {
                stand(board, thread, stop::END);
            }
            first
        }
    }
}

/// The replay has diverged in `thread`: the last chance to look.
pub fn diverged(thread: &Thread) {
    if let Some(board) = board().filter(|_| watch::is_traced()) {
        stand(board, thread, stop::REPORT);
    }
}

fn tell(board: &Board, thread: &Thread, why: u32) {
    if let Some(row) = thread.row {
        row.stops.store(why, Release);
    }
    board.stopped.store(thread.number, Release);
}

fn stand(board: &Board, thread: &Thread, why: u32) {
    tell(board, thread, why);
    retake_stopped();
    while board.stand.load(Acquire) != 0 {
        sys::sleep_ns(STEP_NS);
    }
    if let Some(row) = thread.row {
        row.stops.store(stop::NOT, Release);
    }
}

/// Called by a thread that stops. A debugger's breakpoint lies here.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn retake_stopped() {
    // SAFETY: does nothing; it keeps the call from being optimised away.
    unsafe { core::arch::asm!("nop", options(nostack)) };
}

/// Waits by `body`, in this thread, for something that no tape orders.
pub fn waiting_outside<R>(body: impl FnOnce() -> R) -> R {
    let tell = |why| {
        if let Some(thread) = thread::current() {
            thread.waits_for(why, 0, 0);
        }
    };
    tell(waiting::OUTSIDE);
    if let Some(thread) = thread::current() {
        settled::leaves(thread);
    }
    let result = body();
    tell(waiting::NOT);
    result
}

impl Thread {
    /// It waits: for what, see [`crate::thread::waiting`].
    pub fn waits_for(&self, why: u32, value: u64, at: u64) {
        self.waits_for.store(value, Relaxed);
        self.waits_at.store(at, Relaxed);
        self.waits.store(why, Release);
        if let Some(row) = self.row {
            row.waits_for.store(value, Relaxed);
            row.waits_at.store(at, Relaxed);
            row.waits.store(why, Release);
        }
    }

    /// Tells the board how many events have happened.
    pub fn tell_count(&self) {
        if let Some(row) = self.row {
            row.count.store(self.count(), Release);
        }
    }
}
