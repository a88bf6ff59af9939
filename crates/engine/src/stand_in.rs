//! What stands in for conditions and barriers while a schedule is followed or chosen: nobody waits for the real ones.
//!
//! Who waits where, and who has been woken, is kept in the threads' [`Part`].
//!
//! Law: whoever runs has the baton, so that what is here needs no lock.

use crate::clock;
use crate::deadlock::{Wanted, want};
use crate::explore::{self, About};
use crate::schedule::{Part, explores, is_on, is_rich, obtain, point, point_having, said, scheduled};
use crate::thread::{self, Thread};
use crate::turn;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use retake_tape::op::Op;
use retake_tape::rich;

/// Orders arrivals at conditions and signals.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Waits for a condition: `release` gives the mutex up, `attempt` takes it again if it is free. Whether it was a time-out,
/// or nothing if the schedule is over (the mutex is then not the thread's).
pub fn wait_for_condition(
    c: usize,
    m: usize,
    until_ns: Option<u64>,
    release: impl FnOnce(),
    attempt: impl Fn() -> bool,
) -> Option<bool> {
    let thread = scheduled()?;
    let timed = until_ns.is_some();
    if explores() {
        let late = wait_to_be_chosen(thread, c, m, until_ns, release);
        obtain(Op::MutexLock, m, || attempt().then_some(()))?;
        return Some(late);
    }
    if !is_rich() {
        let late = wait_plainly(thread, c, m, timed, release, attempt);
        clock::reaches(until_ns.unwrap_or(0));
        return late;
    }
    point(thread, Op::MutexUnlock, m, 0);
    arrive(thread, c);
    release();
    point(thread, Op::CondWait, c, m as u64);
    let thread = scheduled()?;
    // Whoever is named goes on, even if nobody has signalled: a wait may end for nothing.
    let late = timed
        && match said() {
            Some(said) => said != 0,
            None => !is_woken(thread, c),
        };
    if late {
        clock::reaches(until_ns.unwrap_or(0));
    } else {
        take_signal(thread, c);
    }
    thread.part.condition.store(0, Relaxed);
    obtain(Op::MutexLock, m, || attempt().then_some(()))?;
    Some(late)
}

/// Gives the mutex up and waits for a signal. Whether it came too late.
fn wait_to_be_chosen(thread: &mut Thread, c: usize, m: usize, until_ns: Option<u64>, release: impl FnOnce()) -> bool {
    let nothing = Wanted { kind: want::NOTHING, object: 0, mark: 0 };
    explore::point(thread, &About { other: c, ..About::new(Op::MutexUnlock, m, nothing) });
    arrive(thread, c);
    release();
    let timed = until_ns.is_some();
    let wanted = Wanted { kind: want::CONDITION, object: c, mark: m as u64 };
    let op = if timed { Op::CondTimed } else { Op::CondWait };
    let about = About { other: m, timed, until_ns: until_ns.unwrap_or(0), ..About::new(op, c, wanted) };
    let mut late = explore::point(thread, &about);
    let mut woken = take_signal(thread, c);
    while !woken && !late && !thread.is_cancelled.load(Acquire) {
        // It only had a signal handler to run.
        late = explore::point(thread, &About { again: true, ..about });
        woken = take_signal(thread, c);
    }
    thread.part.condition.store(0, Relaxed);
    late && !woken
}

/// As the thesis has it: whoever is named is woken. A timed wait counts as unlock and lock, and times out.
fn wait_plainly(
    thread: &mut Thread,
    c: usize,
    m: usize,
    timed: bool,
    release: impl FnOnce(),
    attempt: impl Fn() -> bool,
) -> Option<bool> {
    if timed {
        point(thread, Op::MutexUnlock, m, 0);
    }
    release();
    let op = if timed { Op::MutexLock } else { Op::CondWait };
    point(thread, op, if timed { m } else { c }, m as u64);
    obtain(Op::MutexLock, m, || attempt().then_some(()))?;
    if let (Some(thread), false) = (scheduled(), timed) {
        point_having(thread, Op::MutexLock, m);
    }
    Some(timed)
}

fn arrive(thread: &mut Thread, c: usize) {
    thread.part.condition.store(c, Relaxed);
    thread.part.woken.store(0, Relaxed);
    thread.part.arrived.store(SERIAL.fetch_add(1, Relaxed) + 1, Relaxed);
}

fn each_waiter(c: usize, mut body: impl FnMut(&Part)) {
    thread::each(|thread| {
        if thread.part.condition.load(Relaxed) == c && thread.in_use.load(Acquire) == 1 {
            body(&thread.part);
        }
    });
}

/// The condition is signalled: the one that has waited longest is woken, or all are.
pub fn signals(c: usize, all: bool) {
    if !is_on() {
        return;
    }
    let serial = SERIAL.fetch_add(1, Relaxed) + 1;
    let mut first: Option<(u64, *const Part)> = None;
    each_waiter(c, |part| {
        let arrived = part.arrived.load(Relaxed);
        if part.woken.load(Relaxed) != 0 {
            return;
        }
        if all {
            part.woken.store(serial, Relaxed);
        } else if first.is_none_or(|(earliest, _)| arrived < earliest) {
            first = Some((arrived, part));
        }
    });
    if let Some((_, part)) = first {
        // SAFETY: threads are never freed.
        unsafe { (*part).woken.store(serial, Relaxed) };
    }
}

/// Whether the thread has been woken, or may take the place of another that was: one who waited already when the signal
/// came.
pub fn is_woken(thread: &Thread, c: usize) -> bool {
    let part = &thread.part;
    if !is_rich() || part.woken.load(Relaxed) != 0 {
        return true;
    }
    let mut could = false;
    each_waiter(c, |other| could |= other.woken.load(Relaxed) > part.arrived.load(Relaxed));
    could
}

fn take_signal(thread: &Thread, c: usize) -> bool {
    let part = &thread.part;
    if part.woken.swap(0, Relaxed) != 0 {
        return true;
    }
    let mut taken = false;
    each_waiter(c, |other| {
        if !taken && other.woken.load(Relaxed) > part.arrived.load(Relaxed) {
            other.woken.store(0, Relaxed);
            taken = true;
        }
    });
    taken
}

/// Whether the thread has arrived at the barrier and may not leave it yet.
pub fn is_held(thread: &Thread, b: usize) -> bool {
    thread.part.barrier.load(Relaxed) == b && !thread.part.leaves.load(Relaxed)
}

/// Arrives at a barrier for `count` threads. Whether this thread was the last, or nothing if the schedule is over.
pub fn barrier(b: usize, count: u32) -> Option<bool> {
    let thread = scheduled()?;
    if is_rich() {
        point(thread, Op::Barrier, b, 0);
    }
    turn::tell(thread, Op::Barrier, 0, b, 0, rich::WAITS);
    thread.part.leaves.store(false, Relaxed);
    thread.part.barrier.store(b, Relaxed);
    let part = &raw const thread.part;
    let mut here = 0;
    let each_here = |body: &mut dyn FnMut(&Part)| {
        thread::each(|other| {
            if other.part.barrier.load(Relaxed) == b && !other.part.leaves.load(Relaxed) {
                body(&other.part);
            }
        });
    };
    each_here(&mut |_| here += 1);
    let last = here >= count;
    if last {
        each_here(&mut |part| part.leaves.store(true, Relaxed));
    }
    if is_rich() {
        point(thread, Op::Barrier, b, 0);
    }
    // SAFETY: this thread's own.
    let part = unsafe { &*part };
    let left = obtain(Op::Barrier, b, || part.leaves.load(Relaxed).then_some(()));
    part.barrier.store(0, Relaxed);
    left.map(|()| last)
}
