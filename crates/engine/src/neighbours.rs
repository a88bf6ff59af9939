//! Who else is on the processor of a thread that waits for its turn in a replay: it lets them run, and looks how long it was gone.
//!
//! Another program takes its whole slice, milliseconds: from then on nothing is let go for a while. One of the program's own
//! threads takes microseconds. Whoever is woken often gets the processor of who wakes it, and the two then wait for each other
//! there while another processor idles: to the kernel, one of them always works. So one of them goes to another processor.

use crate::sys;
use crate::thread::Thread;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// Who ran when a thread let others run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    Nobody,
    Thread,
    Program,
}

/// So long a thread is gone then, in cycles: at least some 1.5 microseconds, and some 500.
const THREAD_CYCLES: u64 = 4_000;
const PROGRAM_CYCLES: u64 = 1_250_000;
/// So many waits are made without letting go before that is tried again; twice as many each time, up to the second.
const CROWDED_FIRST: u32 = 32;
const CROWDED_MOST: u32 = 4096;
/// So often in a row another thread is found before one of the two goes away; twice as often for each time that this was in vain.
const SHARED_MANY: u32 = 5;
const IN_VAIN_MOST: u32 = 10;
/// So often in a row no other program must have been found: it may be on the other processor.
const ALONE_MANY: u32 = 200;

/// How many of the next waits are made where other programs want the processors, and how many it were the last time.
static CROWDED: AtomicU32 = AtomicU32::new(0);
static CROWDED_LAST: AtomicU32 = AtomicU32::new(0);
/// How often in a row no other program was found. Threads that count at the same moment count less; it does not matter how much.
static ALONE: AtomicU32 = AtomicU32::new(0);

/// How a thread shares its processor with another one.
#[derive(Default)]
pub struct Sharing {
    /// So often in a row another one was found.
    many: u32,
    /// So often that was enough to go, and did not help.
    in_vain: u32,
}

/// Whether nothing is to be let go in the wait that begins.
pub fn is_crowded() -> bool {
    let waits = CROWDED.load(Relaxed);
    if waits > 0 {
        CROWDED.store(waits - 1, Relaxed);
    }
    waits > 0
}

/// Lets others run. If it was another thread of the program, and there are processors for all of them, this one may go to another.
pub fn let_run(thread: &mut Thread, is_room: bool) -> Neighbour {
    let found = let_others_run();
    note_program(found == Neighbour::Program);
    if is_room && ALONE.load(Relaxed) >= ALONE_MANY && thread.sharing.is_too_long(found) {
        thread.begin();
        sys::change_processor();
        thread.finish();
    }
    found
}

fn let_others_run() -> Neighbour {
    // SAFETY: every processor of this kind has the counter.
    let now = || unsafe { core::arch::x86_64::_rdtsc() };
    let gone = now();
    // SAFETY: lets others run.
    unsafe { sys::sched_yield() };
    match now().saturating_sub(gone) {
        PROGRAM_CYCLES.. => Neighbour::Program,
        THREAD_CYCLES.. => Neighbour::Thread,
        _ => Neighbour::Nobody,
    }
}

fn note_program(is_found: bool) {
    ALONE.store(if is_found { 0 } else { ALONE.load(Relaxed).saturating_add(1) }, Relaxed);
    let waits = if is_found { (2 * CROWDED_LAST.load(Relaxed)).clamp(CROWDED_FIRST, CROWDED_MOST) } else { 0 };
    if waits != CROWDED_LAST.load(Relaxed) {
        CROWDED_LAST.store(waits, Relaxed);
    }
    if is_found {
        CROWDED.store(waits, Relaxed);
    }
}

impl Sharing {
    /// Whether the thread should go away from the other one that it found.
    fn is_too_long(&mut self, found: Neighbour) -> bool {
        if found != Neighbour::Thread {
            *self = Self::default();
            return false;
        }
        self.many += 1;
        let is_too_long = self.many >= SHARED_MANY << self.in_vain;
        if is_too_long {
            *self = Self { many: 0, in_vain: (self.in_vain + 1).min(IN_VAIN_MOST) };
        }
        is_too_long
    }
}
