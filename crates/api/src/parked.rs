//! Where threads of the library's own stand while their process is copied.
//!
//! A copy has only the thread that made it. What another was in the middle of, such as an allocation, would be half done there
//! for ever. So these threads tell when they wait in the kernel ([`standing`]), where they are in the middle of nothing, and
//! whoever copies the process lets none of them come back meanwhile ([`Halt`]).
//!
//! Law: numbers and futexes, no locks, so that a copy can begin afresh whatever others did when it was made.

use crate::waiting::now;
use retake_engine::sys;
use std::cell::Cell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

/// Threads that were started and have not done their work.
static LIVE: AtomicU32 = AtomicU32::new(0);
/// Those of them that wait in the kernel.
static STANDING: AtomicU32 = AtomicU32::new(0);
/// 1 while nobody may come back from there.
static HALTED: AtomicU32 = AtomicU32::new(0);
/// Their ids; with [`DONE`] of those that have done their work and may not be gone yet. 0 is a free place.
static TASKS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];
/// No id is as large.
const DONE: u32 = 1 << 31;
/// Whoever halts the others waits so long at most, and they look so often.
const PATIENCE_NS: i64 = 1_000_000_000;
const LOOK_NS: u64 = 10_000_000;

thread_local! {
    /// This thread is the library's own.
    static OURS: Cell<bool> = const { Cell::new(false) };
}

/// A thread is about to be started; false if it could not be.
pub fn started(is: bool) {
    if is {
        LIVE.fetch_add(1, SeqCst)
    } else {
        LIVE.fetch_sub(1, SeqCst)
    };
}

/// Does the work of such a thread.
pub fn work(work: impl FnOnce()) {
    OURS.set(true);
    let tid = sys::gettid_now();
    let place = TASKS.iter().find(|place| place.compare_exchange(0, tid, SeqCst, SeqCst).is_ok());
    work();
    if let Some(place) = place {
        place.store(tid | DONE, SeqCst);
    }
    LIVE.fetch_sub(1, SeqCst);
    wake(&STANDING);
}

/// Waits in the kernel by `wait`, holding nothing. A thread of the library's own comes back when it may.
pub fn standing<T>(wait: impl FnOnce() -> T) -> T {
    if !OURS.get() {
        return wait();
    }
    let stand = || {
        STANDING.fetch_add(1, SeqCst);
        if HALTED.load(SeqCst) != 0 {
            wake(&STANDING);
        }
    };
    stand();
    let result = wait();
    loop {
        STANDING.fetch_sub(1, SeqCst);
        if HALTED.load(SeqCst) == 0 {
            return result;
        }
        stand();
        // SAFETY: the word lives for ever.
        unsafe { sys::futex_wait(HALTED.as_ptr(), 1, LOOK_NS) };
    }
}

fn wake(word: &AtomicU32) {
    // SAFETY: waking touches no memory.
    unsafe { sys::futex_wake(word.as_ptr(), i32::MAX as u32, false) };
}

/// As long as it is there, every thread of the library's own waits in the kernel.
pub struct Halt(());

impl Halt {
    /// `None` if one of them has not come to stand in time.
    pub fn new() -> Option<Halt> {
        HALTED.store(1, SeqCst);
        let (halt, until) = (Halt(()), now() + PATIENCE_NS);
        loop {
            let stand = STANDING.load(SeqCst);
            if stand == LIVE.load(SeqCst) {
                return Some(halt);
            }
            if now() > until {
                return None;
            }
            // SAFETY: the word lives for ever.
            unsafe { sys::futex_wait(STANDING.as_ptr(), stand, LOOK_NS) };
        }
    }

    /// How many threads are in this process besides those of the library's own; `None` if one of those is just leaving.
    pub fn others(&self) -> Option<usize> {
        let (mut others, mut leaving, mut left) = (0, false, [true; TASKS.len()]);
        sys::each_task(|tid| match TASKS.iter().position(|place| place.load(SeqCst) & !DONE == tid) {
            Some(at) => {
                leaving |= TASKS[at].load(SeqCst) & DONE != 0;
                left[at] = false;
            }
            None => others += 1,
        });
        for (place, _) in TASKS.iter().zip(left).filter(|(place, left)| *left && place.load(SeqCst) & DONE != 0) {
            place.store(0, SeqCst);
        }
        (!leaving).then_some(others)
    }
}

impl Drop for Halt {
    fn drop(&mut self) {
        HALTED.store(0, SeqCst);
        wake(&HALTED);
    }
}

/// In a copy of the process, and in a forked child: none of these threads is here.
pub fn begin_afresh() {
    [&LIVE, &STANDING, &HALTED].into_iter().chain(&TASKS).for_each(|number| number.store(0, SeqCst));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{unseen, wire};
    use libc::{POLLIN, pollfd};
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    /// Threads that allocate all the time stand still while they are halted, and are known as ours.
    #[test]
    fn nobody_moves_while_halted() {
        let moves = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicU32::new(0));
        for _ in 0..3 {
            let (moves, stop) = (moves.clone(), stop.clone());
            assert!(unseen::start(move || {
                let bell = wire::bell().unwrap();
                while stop.load(SeqCst) == 0 {
                    moves.fetch_add(vec![1u8; 100].len() as u64, SeqCst);
                    let _ = wire::poll(&mut [pollfd { fd: bell.0, events: POLLIN, revents: 0 }], 1);
                }
            }));
        }
        let mut before = 0;
        for _ in 0..50 {
            let halt = Halt::new().expect("they stand");
            let here = moves.load(SeqCst);
            assert!(here >= before);
            let all = || {
                let mut tasks = Vec::new();
                sys::each_task(|tid| tasks.push(tid));
                tasks
            };
            let (first, others, last) = (all(), halt.others().expect("nobody leaves"), all());
            // Other tests come and go.
            assert!(first != last || others + 3 == first.len(), "{} threads, {others} not ours", first.len());
            sys::sleep_ns(3_000_000);
            assert_eq!(moves.load(SeqCst), here, "somebody moved");
            drop(halt);
            sys::sleep_ns(2_000_000);
            before = here;
        }
        assert!(before > 300, "they go on in between");
        stop.store(1, SeqCst);
        while LIVE.load(SeqCst) > 0 {
            sys::sleep_ns(1_000_000);
        }
    }
}
