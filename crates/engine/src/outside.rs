//! The thread that has the baton, and is outside: it blocks or spins where Retake does not see it.
//!
//! Whoever waits for its turn looks now and then at whoever has the baton. One that sleeps in a futex waits for another
//! thread of this process, and all those wait for the baton: its step goes on beside the next ones, as if it had lent the
//! baton ([`crate::lend`]), and when it comes to its next point, or to anything else that is scheduled, it waits until it is
//! named, before all others. One that sleeps in another call may wait for the world: it has a second. One that waits for a
//! child process keeps the baton. One that has computed very long without a point is taken to spin.
//!
//! Each thread is told once, with its place. If nobody can move any more, the schedule cannot be followed.
//!
//! Law: whoever has turned [`HOLDER`] to [`BUSY`] names the next one, alone. The baton is taken only from a thread that
//! has not run since it was seen asleep, or that is held outside of the shim: it is then in the middle of nothing here.

use crate::deadlock::{self, STACK};
use crate::lend;
use crate::process;
use crate::schedule::{self, header, is_on, refuse_at, threads, wait};
use crate::seen::Seen;
use crate::sys;
use crate::thread::{self, Thread};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use retake_tape::schedule::{Header, OUTSIDE_MAX, outside};

/// Somebody names the next one, or nobody is to be named any more.
const BUSY: usize = 1;
/// The thread that has the baton.
static HOLDER: AtomicUsize = AtomicUsize::new(BUSY);
/// Threads that are away.
static MANY: AtomicU32 = AtomicU32::new(0);
/// Threads that have been told.
static TOLD: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread has lost the baton outside.
#[repr(C)]
pub struct Away {
    /// It has, and has not got it back.
    is_away: AtomicBool,
    /// It computes, and is not waited for.
    computes: AtomicBool,
    /// It has come back, and waits for the baton.
    is_back: AtomicBool,
    told: AtomicBool,
}

impl Away {
    pub fn is_away(&self) -> bool {
        self.is_away.load(SeqCst)
    }
}

/// The thread is about to name another: nobody takes the baton from it.
pub(crate) fn hold(thread: &mut Thread) {
    come_back(thread);
    HOLDER.store(BUSY, SeqCst);
}

/// The baton is given to that thread.
pub(crate) fn give(next: &Thread) {
    if let Some(header) = header() {
        header.running.store(next.part.index, Relaxed);
        header.running_tid.store(next.tid, Release);
    }
    HOLDER.store(core::ptr::from_ref(next) as usize, SeqCst);
}

/// The calling thread does something that is scheduled: if it has lost the baton, it waits for it.
#[inline]
pub(crate) fn come_back(thread: &mut Thread) {
    if thread.part.away.is_away() {
        regain(thread);
    }
}

#[cold]
fn regain(thread: &mut Thread) {
    let me = &raw const *thread as usize;
    thread.part.away.is_back.store(true, SeqCst);
    let mut nap_ns = 20_000;
    while is_on() && thread.part.away.is_away() {
        match HOLDER.load(SeqCst) {
            // It may be ours again: it is taken only if we have not run.
            BUSY => {
                sys::sleep_ns(nap_ns);
                nap_ns = (nap_ns * 2).min(5_000_000);
            }
            // It was named while it was away.
            holder if holder == me => {
                thread.part.turn.store(0, Relaxed);
                left_no_more(thread);
            }
            _ => {
                wait(thread);
                left_no_more(thread);
            }
        }
    }
    thread.part.away.is_back.store(false, SeqCst);
}

fn left_no_more(thread: &Thread) {
    thread.part.away.is_away.store(false, SeqCst);
    MANY.fetch_sub(1, SeqCst);
}

/// Who has come back and has been waiting for the baton; it goes first. Those who have been woken are waited for, so that
/// what comes of a step does not depend on how quickly they come.
pub(crate) fn next_back() -> Option<&'static Thread> {
    if MANY.load(SeqCst) == 0 {
        return None;
    }
    let mut back: Option<*const Thread> = None;
    thread::each(|thread| {
        if thread.part.away.is_away() {
            settle(thread);
            if thread.part.away.is_back.load(SeqCst) && back.is_none() {
                back = Some(thread);
            }
        }
    });
    // SAFETY: threads are never freed.
    back.map(|thread| unsafe { &*thread })
}

/// Waits until the thread is back, or sleeps outside.
fn settle(thread: &Thread) {
    let away = &thread.part.away;
    let began = sys::cpu_ns_of(thread.tid);
    let runs = || !matches!(sys::state_of(thread.tid), Some(b'S' | b'Z' | b'X') | None);
    while !away.is_back.load(SeqCst) && !away.computes.load(Relaxed) && runs() {
        if sys::cpu_ns_of(thread.tid) - began > SPIN_NS {
            away.computes.store(true, Relaxed);
        }
        sys::sleep_ns(50_000);
    }
}

/// Seen asleep so often in a row, it waits for another thread, if it waits in a futex.
const RESTS: u32 = 3;
/// The same for whatever else it waits in, and before a schedule is refused.
const LONG: u32 = 50;
/// Computing so long without a point may be spinning.
const SPIN_NS: i64 = 1_000_000_000;

/// Looks whether the thread that has the baton is outside; `me` waits for it.
#[cold]
pub(crate) fn look(me: &Thread, seen: &mut Seen) {
    let Some(header) = header() else { return };
    let holder = HOLDER.load(SeqCst);
    if holder == BUSY {
        return;
    }
    // SAFETY: threads are never freed.
    let running = unsafe { &*(holder as *const Thread) };
    if running.part.waits.load(SeqCst) {
        return;
    }
    let Some(computed_ns) = seen.look(running, header.step.load(Acquire).into()) else { return };
    if seen.rests >= RESTS {
        look_asleep(me, running, header, seen);
    } else if computed_ns > SPIN_NS && !running.part.away.is_away() {
        look_awake(me, running, header);
    }
}

/// Whether there is a step behind the present one.
fn has_next(running: &Thread, header: &Header) -> bool {
    schedule::next_step(running, header) < threads(header).len()
}

fn look_asleep(me: &Thread, running: &Thread, header: &Header, seen: &mut Seen) {
    let call = sys::call_of(running.tid);
    let number = call.map_or(outside::UNKNOWN, |(number, _)| number);
    let is_long = seen.rests >= LONG;
    let is_futex = number == libc::SYS_futex as u32;
    if !is_futex && !is_long {
        return;
    }
    let waits_for_child = [libc::SYS_wait4, libc::SYS_waitid].contains(&i64::from(number));
    let lends = !waits_for_child && !running.part.away.is_away() && has_next(running, header);
    if lends {
        if take(running, || seen.is_unmoved(running)) {
            if !running.part.away.told.load(Relaxed) {
                tell(running, header, number, true, &stack_in(running, number));
            }
            go_on(me, running, header);
        }
    } else if is_long {
        seen.rests = 0;
        let is_stuck = is_futex && nobody_moves();
        if is_stuck || !running.part.away.told.load(Relaxed) {
            let pcs = stack_in(running, number);
            if is_stuck {
                refuse_at(me, running.part.index, None, "it waits outside of what a schedule orders", &pcs);
            }
            tell(running, header, number, false, &pcs);
        }
    }
}

fn look_awake(me: &Thread, running: &Thread, header: &Header) {
    let lends = has_next(running, header);
    let (mut pcs, mut taken) = ([0; STACK], false);
    let held = deadlock::while_held(running, &mut |stack| {
        pcs = *stack;
        taken = lends && take(running, || true);
    });
    if taken {
        running.part.away.computes.store(true, Relaxed);
    }
    if held && (taken || !lends) {
        tell(running, header, outside::COMPUTES, lends, &pcs);
    }
    if taken {
        go_on(me, running, header);
    }
}

/// Takes the baton from a thread, if it still has it, and `unmoved` still holds then.
fn take(running: &Thread, unmoved: impl Fn() -> bool) -> bool {
    let holder = core::ptr::from_ref(running) as usize;
    if HOLDER.compare_exchange(holder, BUSY, SeqCst, SeqCst).is_err() {
        return false;
    }
    MANY.fetch_add(1, SeqCst);
    running.part.away.computes.store(false, Relaxed);
    running.part.away.is_away.store(true, SeqCst);
    if !unmoved() {
        left_no_more(running);
        HOLDER.store(holder, SeqCst);
        return false;
    }
    true
}

fn go_on(me: &Thread, running: &Thread, header: &Header) {
    lend::lends(running, header);
    lend::give_on(me, header);
}

/// The stack of a thread that waits in that call, if asking for it does not end the call.
fn stack_in(running: &Thread, number: u32) -> [u64; STACK] {
    let restarts = [
        libc::SYS_futex,
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_wait4,
        libc::SYS_waitid,
        libc::SYS_accept,
        libc::SYS_accept4,
    ];
    if restarts.contains(&i64::from(number)) { deadlock::stack_of(running) } else { [0; STACK] }
}

/// Says, once for each thread, that it is outside, and where.
fn tell(running: &Thread, header: &Header, call: u32, lends: bool, pcs: &[u64; STACK]) {
    if running.part.away.told.swap(true, SeqCst) {
        return;
    }
    let at = TOLD.fetch_add(1, Relaxed);
    if at >= OUTSIDE_MAX {
        return;
    }
    let told = &header.outside[at];
    told.thread.store(running.part.index, Relaxed);
    told.call.store(call, Relaxed);
    told.lends.store(lends.into(), Relaxed);
    for (to, pc) in told.pcs.iter().zip(pcs) {
        to.store(*pc, Relaxed);
    }
    let lent = running.part.lent.load(Relaxed);
    let step = if lent != 0 { lent } else { header.step.load(Relaxed) + 1 };
    told.step.store(step, Release);
}

/// Whether every thread of the process waits for its turn or in a futex, and nothing else could wake it.
fn nobody_moves() -> bool {
    let is_alone = process::get().session().is_some_and(|session| session.processes.load(Relaxed) <= 1);
    let mut moves = deadlock::has_handlers();
    let unknown = sys::each_task(|tid| {
        let mut waits = false;
        thread::each(|thread| {
            waits |= thread.tid == tid && thread.part.is_on() && thread.part.waits.load(SeqCst);
        });
        moves |= !waits && !matches!(sys::state_of(tid), Some(b'Z')) && !is_in_futex(tid, is_alone);
    });
    !moves && !unknown
}

/// Whether the thread waits in a futex that no other process has, as all are where there is no other.
fn is_in_futex(tid: u32, is_alone: bool) -> bool {
    let is_own = |operation: u64| is_alone || operation & libc::FUTEX_PRIVATE_FLAG as u64 != 0;
    let call = sys::call_of(tid).filter(|_| sys::is_asleep(tid));
    call.is_some_and(|(number, operation)| number == libc::SYS_futex as u32 && is_own(operation))
}
