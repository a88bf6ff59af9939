//! Lending the baton: a thread that waits for something that another does, without a point for it, lets those who are
//! named behind it have their steps meanwhile.
//!
//! Law: whoever runs has the baton, so that what is here needs no lock.

use crate::clock;
use crate::deadlock::{Wanted, want};
use crate::explore::{self, About};
use crate::outside;
use crate::schedule::{
    by_index, explores, header, is_on, name, name_next, next_step, refuse_busy, scheduled, threads, wait,
};
use crate::thread::Thread;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use retake_tape::op::Op;
use retake_tape::schedule::Header;

/// Threads that have lent the baton, the one that has waited longest first.
static LENDERS: [AtomicPtr<Thread>; 64] = [const { AtomicPtr::new(null_mut()) }; 64];
static LENDERS_LEN: AtomicUsize = AtomicUsize::new(0);
/// Whether a lender looked last, and not a thread that is named.
static LOOKED: AtomicBool = AtomicBool::new(false);
/// A thread that yields so often in one step waits for something that another does.
const PATIENCE: u32 = 20;

/// The lender that looks next.
pub(crate) fn pop() -> Option<&'static Thread> {
    remove(0)
}

/// The thread is named by its own entry: it need not be looked at any more.
pub(crate) fn forget(thread: &Thread) {
    let is_it = |lender: &AtomicPtr<Thread>| core::ptr::eq(lender.load(Relaxed), thread);
    if let Some(at) = LENDERS[..LENDERS_LEN.load(Relaxed)].iter().position(is_it) {
        remove(at);
    }
}

fn remove(at: usize) -> Option<&'static Thread> {
    let length = LENDERS_LEN.load(Relaxed).checked_sub(1)?;
    let removed = LENDERS[at].load(Relaxed);
    for at in at..length {
        LENDERS[at].store(LENDERS[at + 1].load(Relaxed), Relaxed);
    }
    LENDERS_LEN.store(length, Relaxed);
    // SAFETY: threads are never freed.
    unsafe { removed.as_ref() }
}

/// The running thread yields, or sleeps until `until_ns` of virtual time. If it does so again and again, whoever is named
/// next has its step meanwhile; the lenders look in between, one after the other.
#[inline(always)]
pub fn yields(until_ns: u64) {
    if is_on() {
        yields_in_turn(until_ns);
    }
}

#[inline(never)]
fn yields_in_turn(until_ns: u64) {
    if explores() {
        if let Some(thread) = scheduled() {
            let nothing = Wanted { kind: want::NOTHING, object: 0, mark: 0 };
            let about = About { yields: true, until_ns, ..About::new(Op::Sleep, 0, nothing) };
            explore::point(thread, &about);
        }
        return;
    }
    let (Some(thread), Some(header)) = (scheduled(), header()) else { return };
    clock::reaches(until_ns);
    let length = LENDERS_LEN.load(Relaxed);
    if thread.part.yields.fetch_add(1, Relaxed) + 1 >= PATIENCE && length < LENDERS.len() {
        lend(thread, header);
    }
}

/// Waits until `done`, without a point: the thread cannot go on before, and is not named for it.
pub fn until(op: Op, object: usize, done: impl Fn() -> bool) {
    while !done() {
        let (Some(thread), Some(header)) = (scheduled(), header()) else { return };
        let next = next_step(thread, header);
        let is_own = threads(header).get(next).is_some_and(|next| next.load(Relaxed) == thread.part.index);
        if is_own || LENDERS_LEN.load(Relaxed) == LENDERS.len() {
            header.step.store(next as u32, Relaxed);
            refuse_busy(thread, op, object, "it is blocked");
        }
        if next >= header.length as usize {
            name_next(thread, next);
            return wait(thread);
        }
        lend(thread, header);
    }
}

fn lend(thread: &mut Thread, header: &Header) {
    outside::hold(thread);
    let length = LENDERS_LEN.load(Relaxed);
    lends(thread, header);
    LENDERS[length].store(thread, Relaxed);
    LENDERS_LEN.store(length + 1, Relaxed);
    give_on(thread, header);
    wait(thread);
}

/// The thread's step goes on beside those behind it.
pub(crate) fn lends(thread: &Thread, header: &Header) {
    if thread.part.lent.load(Relaxed) == 0 {
        let step = header.step.fetch_add(1, AcqRel) + 1;
        thread.part.lent.store(step, Relaxed);
    }
}

/// Whoever is named next has its step, or one who waits looks whether it can go on.
pub(crate) fn give_on(thread: &Thread, header: &Header) {
    if let Some(back) = outside::next_back() {
        return name(back);
    }
    let next = header.step.load(Relaxed) as usize;
    let index = threads(header).get(next).map(|entry| entry.load(Relaxed));
    let is_lender = |index| by_index(index).is_some_and(|next| next.part.lent.load(Relaxed) != 0);
    if index.is_some_and(|index| !is_lender(index)) && LOOKED.swap(false, Relaxed) {
        name_next(thread, next);
    } else if let Some(lender) = pop() {
        LOOKED.store(true, Relaxed);
        name(lender);
    } else {
        name_next(thread, next);
    }
}
