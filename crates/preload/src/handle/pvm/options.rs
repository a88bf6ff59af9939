//! Options, contexts and handlers. Options that hold ids are translated like ids elsewhere.

use crate::handle::exchange::refuse;
use crate::handle::input::note_unsupported;
use crate::handle::pvm::full;
use crate::handle::pvm::{self, action, ids, library, told};
use crate::table::pvm::{Handler, Host, Ints, Matcher, real};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{AcqRel, Acquire};
use libc::{c_char, c_int};
use retake_engine::process::{self, mode};
use retake_engine::turn;
use retake_tape::op::Op;

/// Whether the option's value is a task id: where output and traces go.
fn holds_tid(what: c_int) -> bool {
    matches!(what, 4 | 6 | 12 | 14)
}

/// Whether it is a context.
fn holds_context(what: c_int) -> bool {
    matches!(what, 21..=24)
}

/// Whether only the library in this process cares.
fn is_local(what: c_int) -> bool {
    matches!(what, 1 | 2 | 3 | 10 | 11 | 18)
}

fn shown(what: c_int, value: c_int) -> c_int {
    match what {
        _ if holds_tid(what) => ids::recorded(value),
        _ if holds_context(what) => ids::recorded_context(value),
        _ => value,
    }
}

pub unsafe fn getopt(what: c_int) -> c_int {
    // SAFETY: asks the library; so for the others.
    full::answered("pvm_getopt", || shown(what, library(|| unsafe { real::pvm_getopt(what) })))
}

pub unsafe fn setopt(what: c_int, value: c_int) -> c_int {
    let value = match what {
        _ if holds_tid(what) => ids::present(value),
        _ if holds_context(what) => ids::present_context(value),
        _ => value,
    };
    // SAFETY: as above.
    let call = || library(|| unsafe { real::pvm_setopt(what, value) });
    if is_local(what) && full::given() {
        call();
    }
    full::answered("pvm_setopt", || shown(what, call()))
}

/// A new context has another number in each run.
pub unsafe fn newcontext() -> c_int {
    pvm::enter();
    // SAFETY: as above.
    let call = || library(|| unsafe { real::pvm_newcontext() });
    told(turn::outcome(
        Op::PvmContext,
        false,
        || i64::from(call()),
        |recorded| {
            if recorded >= 0 && !full::given() {
                let present = call();
                pvm::must_succeed(Op::PvmContext, present);
                ids::pair_contexts(recorded as c_int, present);
            }
        },
    ))
}

pub unsafe fn freecontext(context: c_int) -> c_int {
    pvm::enter();
    let context = ids::present_context(context);
    // SAFETY: as above.
    action(Op::PvmContext, || unsafe { real::pvm_freecontext(context) })
}

pub unsafe fn setcontext(context: c_int) -> c_int {
    let context = ids::present_context(context);
    // SAFETY: as above.
    ids::recorded_context(unsafe { real::pvm_setcontext(context) })
}

pub unsafe fn getcontext() -> c_int {
    // SAFETY: as above.
    ids::recorded_context(unsafe { real::pvm_getcontext() })
}

/// The program's own way to compare messages, if it has one.
static MATCHER: AtomicUsize = AtomicUsize::new(0);

/// Whether the program decides itself which message it gets.
pub fn has_matcher() -> bool {
    MATCHER.load(Acquire) != 0
}

/// A replay asks for the very message, so that nothing is left to decide: there the program's function is only kept.
pub unsafe fn recvf(matcher: Matcher) -> Matcher {
    // SAFETY: a pointer to a function, or null; the library takes and gives such pointers.
    unsafe {
        if turn::is_in_library() || process::mode() == mode::OFF {
            return real::pvm_recvf(matcher);
        }
        let before = real::pvm_recvf(None);
        let default = real::pvm_recvf(None);
        let new = matcher.filter(|function| Some(*function as usize) != default.map(|default| default as usize));
        let old = MATCHER.swap(new.map_or(0, |function| function as usize), AcqRel);
        if turn::recording() {
            real::pvm_recvf(new);
            return before;
        }
        if old == 0 { default } else { core::mem::transmute::<usize, Matcher>(old) }
    }
}

/// Handlers run whenever the library happens to read its sockets.
pub unsafe fn addmhf(tid: c_int, tag: c_int, context: c_int, handler: Handler) -> c_int {
    if !turn::is_in_library() {
        note_unsupported(b"pvm_addmhf (its handlers)");
        refuse("pvm_addmhf");
    }
    // SAFETY: as above.
    unsafe { real::pvm_addmhf(ids::present(tid), tag, ids::present_context(context), handler) }
}

pub unsafe fn getfds(fds: *mut Ints) -> c_int {
    if !turn::is_in_library() {
        note_unsupported(b"pvm_getfds (which of its descriptors are ready)");
        refuse("pvm_getfds");
    }
    pvm::enter();
    // SAFETY: as above.
    library(|| unsafe { real::pvm_getfds(fds) })
}

pub unsafe fn reg_hoster() -> c_int {
    note_unsupported(b"pvm_reg_hoster");
    refuse("pvm_reg_hoster");
    // SAFETY: as above.
    library(|| unsafe { real::pvm_reg_hoster() })
}

pub unsafe fn reg_tasker() -> c_int {
    note_unsupported(b"pvm_reg_tasker");
    refuse("pvm_reg_tasker");
    // SAFETY: as above.
    library(|| unsafe { real::pvm_reg_tasker() })
}

pub unsafe fn reg_rm(host: *mut *mut Host) -> c_int {
    note_unsupported(b"pvm_reg_rm");
    refuse("pvm_reg_rm");
    // SAFETY: as above.
    library(|| unsafe { real::pvm_reg_rm(host) })
}

pub unsafe fn reg_tracer(
    trace: c_int,
    tag: c_int,
    output: c_int,
    code: c_int,
    mask: *mut c_char,
    buffer: c_int,
    how: c_int,
) -> c_int {
    note_unsupported(b"pvm_reg_tracer");
    refuse("pvm_reg_tracer");
    // SAFETY: as above.
    library(|| unsafe { real::pvm_reg_tracer(trace, tag, output, code, mask, buffer, how) })
}

/// What the daemon is asked by this is for those who look for its faults.
pub unsafe fn tickle(n: c_int, numbers: Ints, answers: Ints, to: Ints) -> c_int {
    note_unsupported(b"pvm_tickle");
    refuse("pvm_tickle");
    // SAFETY: as above.
    library(|| unsafe { real::pvm_tickle(n, numbers, answers, to) })
}
