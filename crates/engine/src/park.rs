//! Waiting for a turn in a replay: spin shortly, then sleep until woken.
//!
//! Sleepers stand in a table under the object that they wait at, each with the version that it wants. Whoever raises the
//! version wakes exactly those whose turn it is. The object itself holds the least wanted version, so that raising it
//! costs one comparison when nobody sleeps.
//!
//! Laws: an object is touched here only by threads that wait at it, and by a waker that has found one of those in the
//! table: the object cannot be gone. Whoever changes the table, or has taken threads out of it, is busy until it is done: a
//! handler may come to the table itself, or jump away.

use crate::lock::Lock;
use crate::neighbours::{self, Neighbour};
use crate::process::{self, Seat};
use crate::settled;
use crate::stops;
use crate::sys;
use crate::thread::{self, Thread, waiting};
use crate::watch;
use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, compiler_fence, fence};

/// Pauses of the processor before sleeping, some 25 microseconds. Fewer cost a sleep for nothing, and a virtual machine
/// takes long to wake a processor that idles.
const PAUSES: u64 = 1000;
/// Pauses before a thread first lets another run, and from then on: the one that it waits for may have been woken on its own
/// processor, and stand in line behind it.
const YIELD_FIRST: u64 = 5;
const YIELD_AGAIN: u64 = 10;
/// Pauses before sleeping where other programs want the processors, too: nothing is let go then, since it would come back
/// only after the slice of whoever got it.
const PAUSES_CROWDED: u64 = 100;
/// Acquires of others for one pause: a little less than they make in that time, so that the turn is not overslept.
const ACQUIRES_A_PAUSE: u64 = 4;
/// A turn so many acquires away is worth spinning for; one that is farther is better slept for, since the threads before
/// it need the processor.
const NEAR: u64 = 256;
const BUCKETS: usize = 256;
/// How long a sleeper sleeps before it looks again whether anything moves at all.
const LOOK_NS: u64 = 20_000_000;
/// The same for one who waits for another thread, whose plain events do not look for sleepers.
const EDGE_LOOK_NS: u64 = 500_000;

struct Bucket {
    lock: Lock,
    first: UnsafeCell<*mut Thread>,
}
// SAFETY: the list is touched under the lock only.
unsafe impl Sync for Bucket {}

static TABLE: [Bucket; BUCKETS] = [const { Bucket { lock: Lock::new(), first: UnsafeCell::new(null_mut()) } }; BUCKETS];
/// The threads that run or spin: those that neither sleep here nor wait for another thread's end. One who spins lets them run,
/// but when they are many more than the processors, its turn is far away, and to come by so often costs more than to sleep.
static RUNNING: AtomicU32 = AtomicU32::new(1);

/// A thread has begun.
pub fn begun() {
    RUNNING.fetch_add(1, Relaxed);
}

/// A thread has ended.
pub fn ended() {
    RUNNING.fetch_sub(1, Relaxed);
}

/// Runs a call that waits for another thread's end.
pub fn aside<R>(call: impl FnOnce() -> R) -> R {
    ended();
    let result = call();
    begun();
    result
}

/// In a forked child nobody waits.
pub fn reset() {
    for bucket in &TABLE {
        bucket.lock.reset();
        // SAFETY: one thread runs.
        unsafe { *bucket.first.get() = null_mut() };
    }
    RUNNING.store(1, Relaxed);
}

/// Whether [`fence_all`] reaches all threads, so that others need no fences of their own.
static REACHES_ALL: AtomicBool = AtomicBool::new(false);

/// A replay begins: asks the kernel for fences that reach all threads of this process.
pub fn begin() {
    /// Of `membarrier`.
    const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;
    // SAFETY: it takes no memory.
    let result = unsafe { sys::membarrier(REGISTER_PRIVATE_EXPEDITED, 0, 0) };
    REACHES_ALL.store(result == 0, Relaxed);
}

/// Between announcing what is wanted and looking whether it has come. Where sleeping is rare and giving on is not, the
/// kernel makes every thread pass a fence here, and nobody pays for one who gives on. Where many sleep, that is given up for
/// good; one who gave on at that very moment may miss a sleeper, who looks again by itself.
fn fence_all() {
    /// Of `membarrier`.
    const PRIVATE_EXPEDITED: usize = 1 << 3;
    /// So many sleeps in less than that time are many.
    const MANY: u32 = 256;
    const SOON_NS: i64 = 50_000_000;
    static SLEEPS: AtomicU32 = AtomicU32::new(0);
    static SINCE: AtomicI64 = AtomicI64::new(0);
    if REACHES_ALL.load(Relaxed) {
        // SAFETY: it takes no memory.
        unsafe { sys::membarrier(PRIVATE_EXPEDITED, 0, 0) };
        if SLEEPS.fetch_add(1, Relaxed) % MANY == MANY - 1 {
            let now = sys::clock_ns(libc::CLOCK_MONOTONIC);
            if now - SINCE.swap(now, Relaxed) < SOON_NS {
                REACHES_ALL.store(false, Relaxed);
            }
        }
    }
    fence(SeqCst);
}

/// Raises the version of an object that only its holder changes; whether somebody sleeps until it has come to that.
#[inline(always)]
pub fn give(version: &AtomicU64, wanted: &AtomicU32, value: u64) -> bool {
    if REACHES_ALL.load(Relaxed) {
        version.store(value, Release);
        compiler_fence(SeqCst);
    } else {
        version.swap(value, SeqCst);
    }
    wanted.load(Acquire) == value as u32
}

/// What is left before a turn of which nobody knows when it comes; it is not spun for.
pub fn far_unless(ready: bool) -> u64 {
    if ready { 0 } else { u64::MAX }
}

fn bucket(key: usize) -> &'static Bucket {
    &TABLE[(key >> 4 ^ key >> 12) % BUCKETS]
}

/// A place to wait at.
pub struct Place {
    /// What the sleepers are found by.
    pub key: usize,
    /// Where the least wanted value is kept, for the waker to see; null if the waker does not look.
    pub wanted: *const AtomicU32,
    /// The waker is in another process, or does not look: sleep in short steps.
    pub poll: bool,
}

/// Waits until nothing is `left` before this thread's turn. `value` is the version wanted at `place`.
pub fn wait(thread: &mut Thread, why: u32, place: &Place, value: u64, left: impl Fn() -> u64) {
    if spin(thread, &left) {
        return;
    }
    let ready = || left() == 0;
    thread.waits_for(why, value, place.key as u64);
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    if settled::is_on() {
        settled::wait(thread, ready);
    } else if place.poll {
        let mut step = 20_000;
        while !ready() {
            sys::sleep_ns(step);
            step = (step * 2).min(2_000_000);
            watch::look(thread, started);
        }
    } else {
        sleep(thread, place, value, LOOK_NS, started, ready);
    }
    thread.waits_for(waiting::NOT, 0, 0);
}

/// Sleeps at `place` until it is `ready`, and looks again by itself as often as that.
fn sleep(thread: &mut Thread, place: &Place, value: u64, look_ns: u64, started: i64, ready: impl Fn() -> bool) {
    thread.parked.store(0, Relaxed);
    enter(thread, place, value);
    fence_all();
    while !ready() {
        // SAFETY: the word is this thread's own.
        unsafe { sys::futex_wait(thread.parked.as_ptr(), 0, look_ns) };
        if thread.parked.load(Acquire) == 0 {
            watch::look(thread, started);
        } else if !ready() {
            thread.parked.store(0, Relaxed);
            enter(thread, place, value);
            fence_all();
        }
    }
    leave(thread, place);
}

/// Spins until nothing is left, and looks the less often the more is left: to look at an object takes its memory from
/// the thread that is at work with it.
fn spin(thread: &mut Thread, left: &impl Fn() -> u64) -> bool {
    let processors = process::get().processors;
    let (mut pauses_max, mut yield_at) = (PAUSES, YIELD_FIRST);
    if neighbours::is_crowded() {
        (pauses_max, yield_at) = (PAUSES_CROWDED, u64::MAX);
    }
    let mut pauses = 0;
    loop {
        let steps = left();
        if steps == 0 {
            return true;
        }
        if settled::is_on() || steps > NEAR || pauses > pauses_max || RUNNING.load(Relaxed) > 2 * processors {
            return false;
        }
        let more = steps.div_ceil(ACQUIRES_A_PAUSE);
        for _ in 0..more {
            core::hint::spin_loop();
        }
        pauses += more;
        if pauses >= yield_at {
            yield_at = pauses + YIELD_AGAIN;
            let is_room = RUNNING.load(Relaxed) <= processors;
            if neighbours::let_run(thread, is_room) == Neighbour::Program {
                pauses_max = 0;
            }
        }
    }
}

fn enter(thread: &mut Thread, place: &Place, value: u64) {
    let bucket = bucket(place.key);
    thread.begin();
    bucket.lock.with(|| {
        thread.park_key = place.key;
        thread.park_value = value;
        // SAFETY: under the lock.
        unsafe {
            thread.park_next = *bucket.first.get();
            *bucket.first.get() = thread;
            ended();
            announce(bucket, place);
        }
    });
    thread.finish();
}

/// Ends a wait. If another thread has taken this one from the list, it says so, and is then done with it.
fn leave(thread: &mut Thread, place: &Place) {
    if thread.parked.load(Acquire) != 0 {
        return;
    }
    let bucket = bucket(place.key);
    thread.begin();
    let left = bucket.lock.with(|| {
        // SAFETY: under the lock; this thread waits at the place, so the place is there.
        unsafe {
            let left = remove(bucket, |other| core::ptr::eq(other, thread)).is_some();
            if left {
                announce(bucket, place);
            }
            left
        }
    });
    while !left && thread.parked.load(Acquire) == 0 {
        core::hint::spin_loop();
    }
    thread.finish();
}

/// Tells the place the least value that is wanted there.
unsafe fn announce(bucket: &Bucket, place: &Place) {
    if place.wanted.is_null() {
        return;
    }
    // SAFETY: the caller holds the lock and knows that the place is there.
    unsafe {
        let mut least = u64::MAX;
        let mut at = *bucket.first.get();
        while !at.is_null() {
            if (*at).park_key == place.key {
                least = least.min((*at).park_value);
            }
            at = (*at).park_next;
        }
        (*place.wanted).store(if least == u64::MAX { 0 } else { least as u32 }, SeqCst);
    }
}

unsafe fn remove(bucket: &Bucket, fits: impl Fn(&Thread) -> bool) -> Option<*mut Thread> {
    // SAFETY: the caller holds the lock.
    unsafe {
        let mut link = bucket.first.get();
        while !(*link).is_null() {
            let at = *link;
            if fits(&*at) {
                *link = (*at).park_next;
                begun();
                return Some(at);
            }
            link = &raw mut (*at).park_next;
        }
        None
    }
}

/// Wakes those that wait at `key` for `value` or less.
#[cold]
#[inline(never)]
pub fn wake(key: usize, wanted: *const AtomicU32, value: u64) {
    match thread::current() {
        Some(thread) => {
            thread.begin();
            wake_all(key, wanted, value);
            thread.finish();
        }
        None => wake_all(key, wanted, value),
    }
}

fn wake_all(key: usize, wanted: *const AtomicU32, value: u64) {
    let bucket = bucket(key);
    let mut woken: *mut Thread = null_mut();
    bucket.lock.with(|| {
        // SAFETY: under the lock; a thread that was found waits at the place, so the place is there until it is woken.
        unsafe {
            while let Some(thread) = remove(bucket, |other| other.park_key == key && other.park_value <= value) {
                (*thread).park_next = woken;
                woken = thread;
            }
            if !woken.is_null() {
                announce(bucket, &Place { key, wanted, poll: false });
            }
        }
    });
    // Outside of the lock: whoever wakes up would find it taken, and sleep again.
    while !woken.is_null() {
        // SAFETY: a thread that has not been told yet is still in its wait; the memory of threads is never given back.
        unsafe {
            let next = (*woken).park_next;
            let word = (*woken).parked.as_ptr();
            (*woken).parked.store(1, Release);
            sys::futex_wake(word, 1, false);
            woken = next;
        }
    }
}

/// Waits until the thread of number `thread_number` has committed `count` events.
pub fn wait_for_thread(thread: &mut Thread, thread_number: u32, count: u64) {
    let Some(seat) = process::get().seat(thread_number) else { return };
    let left = || count.saturating_sub(seat.header.count.load(Acquire));
    if spin(thread, &left) {
        return;
    }
    let ready = || left() == 0;
    thread.waits_for(waiting::EDGE, count, u64::from(thread_number));
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    if settled::is_on() {
        settled::wait(thread, ready);
    } else {
        let place = Place { key: core::ptr::from_ref(seat) as usize, wanted: &raw const seat.wanted, poll: false };
        sleep(thread, &place, count, EDGE_LOOK_NS, started, ready);
    }
    thread.waits_for(waiting::NOT, 0, 0);
}

/// Waits until the object at `at` is as another thread is about to make it.
pub fn wait_until(thread: &mut Thread, at: usize, is_so: impl Fn() -> bool) {
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    thread.waits_for(waiting::VERSION, 0, at as u64);
    if settled::is_on() {
        settled::wait(thread, &is_so);
    }
    while !is_so() {
        sys::sleep_ns(50_000);
        watch::look(thread, started);
    }
    thread.waits_for(waiting::NOT, 0, 0);
}

/// The thread of `seat` has committed `count` events: wakes those that waited for it. One that begins to wait at this very
/// moment may be missed; it looks again by itself.
#[inline]
pub fn reached(seat: &Seat, count: u64) {
    let wanted = seat.wanted.load(Relaxed);
    if wanted != 0 && (count as u32).wrapping_sub(wanted) as i32 >= 0 {
        wake(core::ptr::from_ref(seat) as usize, &raw const seat.wanted, count);
    }
}

/// How often the order of streams may fail to come before it is given up.
const SOFT_FAILURES: u32 = 3;
const SOFT_NS: i64 = 2_000_000_000;
static SOFT_FAILED: AtomicU32 = AtomicU32::new(0);

/// Waits until the other thread has used streams so often; not for ever, because a program that was changed may print
/// more or less than it did.
pub fn wait_for_uses(thread: &mut Thread, number: u32, uses: u64) {
    let Some(seat) = process::get().seat(number) else { return };
    let left = || uses.saturating_sub(seat.uses.load(Acquire));
    if spin(thread, &left) || SOFT_FAILED.load(Relaxed) >= SOFT_FAILURES {
        return;
    }
    if settled::is_on() {
        settled::wait_softly(thread, || left() == 0);
        return;
    }
    stops::waiting_outside(|| {
        let mut step = 10_000;
        while left() != 0 {
            if watch::still_ns() > SOFT_NS && !stops::is_standing() {
                SOFT_FAILED.fetch_add(1, Relaxed);
                return;
            }
            sys::sleep_ns(step);
            // Looking too often would itself look like work, and nothing would ever stand still.
            step = (step * 2).min(4_000_000);
        }
    });
}
