//! From where a thread took what it holds: the call, and the calls around it.
//!
//! The call that takes a lock often lies in a function that only wraps it: a guard of C++ that was not inlined, a
//! `my_lock` of the program's own. Code that has frame pointers, as all has that was compiled without optimisation, links
//! its frames into a chain, and walking that chain costs a few instructions for each frame. So it is done whenever a lock is
//! taken and the register can be a frame pointer. Whether it was one at that call is looked up in the program's unwind
//! tables when a deadlock is told, by the command line, and not a moment earlier.
//!
//! Law: nothing is read but this thread's own stack. What lies between its lowest frame so far and its end is known to be
//! there; further down the kernel is asked once for each page.

use crate::sys;
use core::arch::asm;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

/// Calls that are kept of each acquisition, the innermost first.
pub const CALLS: usize = 7;
/// Acquisitions that are kept of each thread, by object; of two that fall together the later one is.
const KEPT: usize = 64;
/// No frame of a function is larger.
const FRAME_MAX: usize = 16 << 20;
/// So many times the stack may be another than the thread's own; then it is not asked for again.
const STRANGE_MAX: u32 = 8;
const PAGE: usize = 4096;
/// A frame begins with these: the caller's frame pointer, and the return address.
const FRAME: usize = 16;

/// Where a caught function was called: the address behind the call, and what was in rbp then.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Called {
    pub from: usize,
    pub frame: usize,
}

impl Called {
    /// Whether the function that called can have a frame pointer.
    #[inline(always)]
    pub fn may_have_frame(self) -> bool {
        self.frame.wrapping_sub(stack_pointer()) < FRAME_MAX
    }
}

#[repr(C)]
struct Taken {
    object: AtomicUsize,
    calls: [AtomicUsize; CALLS],
}

/// What a thread took, and from where. All zero in the beginning.
#[repr(C)]
pub struct TakenFrom {
    taken: [Taken; KEPT],
    /// What is known to be readable of the thread's stack, down to there; and where the last frame can lie. Nothing is known
    /// as long as the latter is 0.
    low: AtomicUsize,
    last: AtomicUsize,
    strange: AtomicU32,
}

/// Where the main thread's stack ends.
static MAIN_END: AtomicUsize = AtomicUsize::new(0);

/// Says where the main thread's stack ends, or an address that is not far before it.
pub fn set_main_end(at: usize) {
    MAIN_END.store(at, Relaxed);
}

/// The stack pointer.
#[inline(always)]
fn stack_pointer() -> usize {
    let at;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) at, options(nomem, nostack, preserves_flags)) };
    at
}

impl TakenFrom {
    /// Nothing is known of the stack yet.
    pub fn begin(&self) {
        self.low.store(usize::MAX, Relaxed);
    }

    #[inline(always)]
    fn slot(&self, object: usize) -> &Taken {
        let hash = object.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - KEPT.trailing_zeros());
        &self.taken[hash]
    }

    /// The thread takes the object by a call from there. A leaf, so that the fast path of a lock stays one, too.
    #[inline(always)]
    pub fn note(&self, object: usize, called: Called) {
        let slot = self.slot(object);
        slot.object.store(0, Release);
        slot.calls[0].store(called.from, Relaxed);
        let sp = stack_pointer();
        let (mut frame, mut below, mut last) = (called.frame, sp, 0);
        if called.may_have_frame() && (sp >= self.low.load(Relaxed) || self.reach(sp)) {
            last = self.last.load(Relaxed);
        }
        for to in &slot.calls[1..] {
            if frame <= below || frame > last {
                to.store(0, Relaxed);
                break;
            }
            // SAFETY: two words of this thread's stack, above its stack pointer.
            let (next, call) = unsafe { ((frame as *const usize).read(), (frame as *const usize).add(1).read()) };
            to.store(call, Relaxed);
            (below, frame) = (frame, next);
        }
        // A handler of this thread that came in between has taken something else, and written over it.
        let is_whole = slot.object.load(Relaxed) == 0;
        slot.object.store(if is_whole { object } else { 0 }, Release);
    }

    /// Whether the stack from `sp` on is the thread's own and can be read.
    #[cold]
    #[inline(never)]
    fn reach(&self, sp: usize) -> bool {
        if self.strange.load(Relaxed) >= STRANGE_MAX {
            return false;
        }
        let (end, known) = match self.last.load(Relaxed) {
            0 => {
                let end = end_of_stack();
                (end, end)
            }
            last => (last + FRAME, self.low.load(Relaxed)),
        };
        let first = sp & !(PAGE - 1);
        // What is further off than any frame is large is another stack.
        if sp >= end || known.saturating_sub(first) > FRAME_MAX || !are_readable(first, known) {
            self.strange.store(self.strange.load(Relaxed) + 1, Relaxed);
            return false;
        }
        self.low.store(first, Relaxed);
        self.last.store(end - FRAME, Relaxed);
        true
    }

    /// The addresses behind the calls by which the thread took the object, innermost first, 0 behind the last. Only the
    /// first is certain; each of the others is the caller if the function of the one before has a frame pointer there.
    pub fn of(&self, object: usize) -> Option<[u64; CALLS]> {
        let slot = self.slot(object);
        if slot.object.load(Acquire) != object {
            return None;
        }
        let mut calls = [0; CALLS];
        for (to, from) in calls.iter_mut().zip(&slot.calls) {
            *to = from.load(Relaxed) as u64;
            if *to == 0 {
                break;
            }
        }
        Some(calls)
    }
}

/// The end of the calling thread's stack: glibc puts a thread's own structure there, unless it is the main thread.
fn end_of_stack() -> usize {
    if sys::gettid_now() == sys::getpid_now() {
        return MAIN_END.load(Relaxed);
    }
    let own: usize;
    // SAFETY: the first word of that structure is its address.
    unsafe { asm!("mov {}, fs:[0]", out(reg) own, options(nostack, preserves_flags, readonly)) };
    own
}

/// Whether each page from `first` on to `end` can be read.
fn are_readable(first: usize, end: usize) -> bool {
    const AT_ONCE: usize = 64;
    /// As the kernel wants it: where, and how much.
    type Piece = [usize; 2];
    let mut byte = [0u8; AT_ONCE];
    let mut at = first;
    while at < end {
        let many = (end - at).div_ceil(PAGE).min(AT_ONCE);
        let mut pages: [Piece; AT_ONCE] = [[0; 2]; AT_ONCE];
        for (index, page) in pages[..many].iter_mut().enumerate() {
            *page = [at + index * PAGE, 1];
        }
        let to: Piece = [byte.as_mut_ptr() as usize, many];
        let (to, from) = (&raw const to as usize, pages.as_ptr() as usize);
        // SAFETY: the kernel copies a byte of each page, or says that it cannot.
        let copied = unsafe { sys::process_vm_readv(sys::getpid_now() as usize, to, 1, from, many, 0) };
        if copied != many as isize {
            return false;
        }
        at += many * PAGE;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As all threads begin.
    fn blank() -> Box<TakenFrom> {
        // SAFETY: all its fields may be zero.
        let taken: Box<TakenFrom> = unsafe { Box::new(core::mem::zeroed()) };
        taken.begin();
        taken
    }

    #[test]
    fn a_chain_is_walked_to_its_end() {
        std::thread::spawn(|| {
            let taken = blank();
            let mut frames = [[0usize; 2]; 3];
            let at = |frames: &[[usize; 2]; 3], index: usize| &raw const frames[index] as usize;
            frames[0] = [at(&frames, 1), 11];
            frames[1] = [at(&frames, 2), 12];
            frames[2] = [3, 13];
            taken.note(0x1000, Called { from: 10, frame: at(&frames, 0) });
            assert_eq!(taken.of(0x1000), Some([10, 11, 12, 13, 0, 0, 0]));
            // What is no frame pointer, or leads down again, ends it.
            taken.note(0x1000, Called { from: 10, frame: 77 });
            assert_eq!(taken.of(0x1000), Some([10, 0, 0, 0, 0, 0, 0]));
            frames[1][0] = at(&frames, 0) - 16;
            std::hint::black_box(&frames);
            taken.note(0x2000, Called { from: 10, frame: at(&frames, 0) });
            assert_eq!(taken.of(0x2000), Some([10, 11, 12, 0, 0, 0, 0]));
            assert_eq!(taken.of(0x3000), None);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_not() {
        let page = sys::memory(3 * PAGE) as usize;
        // SAFETY: a page of ours, given back.
        unsafe { sys::munmap(page + PAGE, PAGE) };
        assert!(are_readable(page, page + PAGE) && are_readable(page + 2 * PAGE, page + 3 * PAGE));
        assert!(!are_readable(page, page + 3 * PAGE));
    }
}
