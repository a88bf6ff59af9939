//! What Retake knows of glibc's own structures, and the test at the start that it is still so.
//!
//! | object | bytes that glibc leaves alone | used for |
//! |---|---|---|
//! | mutex (not robust) | 24..40; not adaptive: 20..24 | version, last owner, wanted; from where it was locked |
//! | robust mutex | 20..24 | version |
//! | rwlock | 16..24, 36..48 | version, readers, writer, noted |
//! | semaphore | 16..32, not zeroed by `sem_init` | version and owner, wanted |
//!
//! Sources: nptl's `struct __pthread_mutex_s`, `struct __pthread_rwlock_arch_t`, `struct new_sem` of 2.34 to 2.41.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use libc::c_int;
use retake_engine::objects::{Count, Crew, Kept, Meeting, Slot, Touch, Words};
use retake_engine::{process, sys};

/// `pthread_mutex_t`, also `mtx_t`.
#[repr(C)]
pub struct Mutex {
    lock: AtomicU32,
    count: AtomicU32,
    owner: AtomicU32,
    users: AtomicU32,
    kind: AtomicI32,
    /// How long to spin for an adaptive one; a robust one's version; else the lower half of the address behind the call that
    /// locked it.
    from: AtomicU32,
    words: Words,
}

const _: () = assert!(size_of::<Mutex>() == size_of::<libc::pthread_mutex_t>());

/// Bits of a mutex's kind.
mod kind {
    pub const TYPE: i32 = 3;
    pub const RECURSIVE: i32 = 1;
    pub const ERROR_CHECK: i32 = 2;
    pub const ADAPTIVE: i32 = 3;
    pub const ROBUST: i32 = 0x10;
    pub const SHARED: i32 = 0x80;
}

impl Mutex {
    /// Whether it is of the plain kind that every initialiser makes.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.kind.load(Relaxed) == 0
    }

    /// A plain mutex: whether it is free now.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.lock.load(Relaxed) == 0
    }

    /// A plain mutex: takes it if it is free, as glibc's own first attempt does. [`Self::is_held_by`] must follow.
    #[inline(always)]
    pub fn take_if_free(&self) -> bool {
        self.lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// A plain mutex that was taken here is the thread's: whoever sees that also sees what the thread wrote before.
    #[inline(always)]
    pub fn is_held_by(&self, tid: u32) {
        self.users.store(self.users.load(Relaxed).wrapping_add(1), Relaxed);
        self.owner.store(tid, Release);
    }

    /// A plain mutex: releases it, as glibc does. Always 0, so that a caller can end with it.
    #[inline(always)]
    pub fn release(&self) -> c_int {
        if self.release_quietly() { self.wake() } else { 0 }
    }

    /// The same, but wakes nobody. Whether somebody waits for it.
    #[inline(always)]
    pub fn release_quietly(&self) -> bool {
        self.owner.store(0, Relaxed);
        self.users.store(self.users.load(Relaxed).wrapping_sub(1), Relaxed);
        self.lock.swap(0, Release) > 1
    }

    /// The calling thread has it, and so many more use it, or fewer: one that is used cannot be destroyed.
    pub fn uses(&self, more: i32) {
        self.users.store(self.users.load(Relaxed).wrapping_add_signed(more), Relaxed);
    }

    /// A plain mutex that somebody has: waits for it as glibc does, until nothing has come of it for `ns`. Whether it was
    /// obtained; then [`Self::is_held_by`] must follow.
    pub fn take_soon(&self, ns: u64) -> bool {
        /// Locked, and somebody sleeps: whoever unlocks it wakes one.
        const WANTED: u32 = 2;
        while self.lock.swap(WANTED, Acquire) != 0 {
            // SAFETY: the program's mutex.
            if unsafe { sys::futex_wait(self.lock.as_ptr(), WANTED, ns) } {
                return false;
            }
        }
        true
    }

    /// Wakes one who waits for it.
    #[cold]
    #[inline(never)]
    pub fn wake(&self) -> c_int {
        // SAFETY: waking touches no memory; the mutex may be gone by now.
        unsafe { sys::futex_wake(self.lock.as_ptr(), 1, false) };
        0
    }

    #[inline(always)]
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// Version and owner, if it has room for them.
    pub fn slot(&self) -> Option<Slot> {
        let kind = self.kind.load(Relaxed);
        let room = !self.is_robust() && process::get().short_cut;
        room.then_some(Slot { words: &self.words, shared: kind & kind::SHARED != 0 })
    }

    /// What it has room for.
    pub fn kept(&self) -> Kept {
        match self.slot() {
            Some(slot) => Kept::Slot(slot),
            None if process::get().short_cut => Kept::Count(Count(&self.from)),
            None => Kept::Meeting(Meeting(core::ptr::from_ref(self) as usize)),
        }
    }

    /// Whether it is left to the next one if its holder dies: it has room for a version alone. glibc marks every robust mutex as shared.
    pub fn is_robust(&self) -> bool {
        self.kind.load(Relaxed) & kind::ROBUST != 0
    }

    /// Whether other processes may use it.
    pub fn is_shared(&self) -> bool {
        self.kind.load(Relaxed) & kind::SHARED != 0
    }

    /// Whether nobody but its holder can unlock it.
    pub fn is_only_its_holders(&self) -> bool {
        matches!(self.kind.load(Relaxed) & kind::TYPE, kind::RECURSIVE | kind::ERROR_CHECK)
    }

    /// Whether the calling thread has it already and is allowed, or told, to lock it again.
    pub fn is_mine_again(&self, tid: u32) -> bool {
        let kind = self.kind.load(Relaxed) & kind::TYPE;
        (kind == kind::RECURSIVE || kind == kind::ERROR_CHECK) && self.holder() == tid
    }

    /// Whether an unlock by the calling thread will make it free.
    pub fn will_be_free(&self, tid: u32) -> bool {
        let kind = self.kind.load(Relaxed);
        match kind & kind::TYPE {
            kind::RECURSIVE => self.holder() == tid && self.count.load(Relaxed) <= 1,
            kind::ERROR_CHECK => self.holder() == tid && self.lock.load(Relaxed) != 0,
            _ => true,
        }
    }

    /// The id of the thread that has it, or 0.
    #[inline(always)]
    pub fn holder(&self) -> u32 {
        self.owner.load(Acquire)
    }

    /// Whether the calling thread does not have it, and may unlock it all the same.
    pub fn is_anothers(&self, tid: u32) -> bool {
        matches!(self.kind.load(Relaxed) & !kind::SHARED, 0 | kind::ADAPTIVE) && self.holder() != tid
    }

    /// A plain mutex was locked by the call before that address.
    #[inline(always)]
    pub fn locked_from(&self, from: usize) {
        self.from.store(from as u32, Relaxed);
    }

    /// The same for any mutex; what has no room for it stays as it is.
    pub fn set_from(&self, from: u32) {
        if self.has_from() {
            self.from.store(from, Relaxed);
        }
    }

    fn has_from(&self) -> bool {
        self.slot().is_some() && self.kind.load(Relaxed) & kind::TYPE != kind::ADAPTIVE
    }

    /// The lower half of the address behind the call that locked it, or 0 if that is not known.
    pub fn from(&self) -> u32 {
        if self.has_from() { self.from.load(Relaxed) } else { 0 }
    }
}

/// `pthread_rwlock_t`.
#[repr(C)]
pub struct RwLock {
    state: [u32; 4],
    version: AtomicU32,
    readers: AtomicU32,
    writing: AtomicI32,
    shared: c_int,
    elision: [u8; 4],
    writer: AtomicU32,
    noted: AtomicU64,
    flags: [u32; 2],
}

const _: () = assert!(size_of::<RwLock>() == size_of::<libc::pthread_rwlock_t>());

impl RwLock {
    pub fn crew(&self) -> Crew {
        Crew {
            version: &self.version,
            readers: &self.readers,
            writer: &self.writer,
            noted: &self.noted,
            shared: self.shared != 0,
        }
    }

    /// The id of the thread that has it for writing, or 0.
    pub fn written_by(&self) -> u32 {
        self.writing.load(SeqCst) as u32
    }

    /// Whether other processes may use it.
    pub fn is_shared(&self) -> bool {
        self.shared != 0
    }

    /// Whether anybody has it for reading.
    pub fn is_read(&self) -> bool {
        /// Above these bits of the first word stands how many read.
        const FLAGS: u32 = 3;
        // SAFETY: the word is there; others change it.
        unsafe { (&raw const self.state[0]).read_volatile() >> FLAGS != 0 }
    }

    /// Whether the thread has it for writing.
    pub fn is_written_by(&self, tid: u32) -> bool {
        self.writing.load(Relaxed) as u32 == tid
    }
}

/// `sem_t`.
#[repr(C)]
pub struct Sem {
    value: AtomicU64,
    private: c_int,
    pad: u32,
    word: AtomicU64,
    wanted: AtomicU32,
    /// The value as far as it is known that it was taken: a waiter that is on its way has not lowered it yet.
    promised: AtomicU32,
}

const _: () = assert!(size_of::<Sem>() == size_of::<libc::sem_t>());

impl Sem {
    pub fn touch(&self) -> Touch {
        Touch { word: &self.word, wanted: &self.wanted, shared: self.private != 0 }
    }

    /// After `sem_init` to `value`, which leaves these bytes as they were.
    pub fn clear(&self, value: u32) {
        self.promised.store(value, Relaxed);
        self.word.store(0, Relaxed);
        self.wanted.store(0, Relaxed);
    }
}

impl Sem {
    /// A thread is about to post it.
    pub fn gives(&self) {
        self.promised.fetch_add(1, SeqCst);
    }

    /// A thread has got it.
    pub fn took(&self) {
        self.promised.fetch_sub(1, SeqCst);
    }

    /// Whether other processes may use it.
    pub fn is_shared(&self) -> bool {
        self.private != 0
    }

    /// Whether it can be had at once.
    pub fn is_there(&self) -> bool {
        self.value.load(SeqCst) as u32 != 0
    }

    /// Whether it can come to a waiter without any more posts of this process.
    pub fn can_come(&self) -> bool {
        self.private != 0 || self.promised.load(SeqCst) as i32 != 0
    }
}

/// `pthread_barrier_t`: how many have arrived, the last round that is complete, how many make one.
#[repr(C)]
pub struct Barrier {
    arrived: AtomicU32,
    round: AtomicU32,
    count: u32,
    shared: c_int,
    left: AtomicU32,
}

impl Barrier {
    /// Half of glibc's `pthread_barrier_wait`: arrives, and lets the others go on if it is the last. The number of the
    /// arrival, for [`Self::pass`]; nothing where glibc will soon begin to count anew.
    pub fn arrive(&self) -> Option<u32> {
        if self.arrived.load(SeqCst) > u32::MAX / 4 {
            return None;
        }
        let arrival = self.arrived.fetch_add(1, SeqCst) + 1;
        let complete = arrival - arrival % self.count;
        let further = |round: u32| (round < complete).then_some(complete);
        if self.round.fetch_update(SeqCst, SeqCst, further).is_ok() {
            // SAFETY: the barrier's word.
            unsafe { sys::futex_wake(self.round.as_ptr(), u32::MAX >> 1, self.is_shared()) };
        }
        Some(arrival)
    }

    /// The other half: waits until the round of this arrival is complete, and leaves.
    pub fn pass(&self, arrival: u32) {
        loop {
            let round = self.round.load(SeqCst);
            if round >= arrival {
                break;
            }
            // SAFETY: the barrier's word.
            unsafe { sys::futex_wait(self.round.as_ptr(), round, 1_000_000) };
        }
        self.left.fetch_add(1, SeqCst);
    }

    /// Changes when those who wait may go on.
    pub fn round(&self) -> u64 {
        u64::from(self.round.load(SeqCst))
    }

    /// How many make a round.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether other processes may arrive at it.
    pub fn is_shared(&self) -> bool {
        self.shared != 0
    }
}

/// Whether a `pthread_once_t` says that its routine has run.
///
/// # Safety
/// `control` must be one.
pub unsafe fn once_is_done(control: *const c_int) -> bool {
    // SAFETY: glibc keeps its state in that one word.
    unsafe { (*control.cast::<AtomicI32>()).load(Acquire) & 2 != 0 }
}

/// Whether a `pthread_once_t` says that its routine is running.
///
/// # Safety
/// `control` must be one.
pub unsafe fn once_is_under_way(control: *const c_int) -> bool {
    // SAFETY: as above.
    unsafe { (*control.cast::<AtomicI32>()).load(Acquire) & 3 == 1 }
}

/// Whether a guard of C++ says that its variable is being made.
///
/// # Safety
/// `guard` must be one.
pub unsafe fn guard_is_under_way(guard: *const u8) -> bool {
    // SAFETY: the first byte says whether the variable is made, the second whether it is being made.
    unsafe { guard.read_volatile() == 0 && guard.add(1).read_volatile() != 0 }
}

/// Whether a spinlock is free.
///
/// # Safety
/// `lock` must be one.
pub unsafe fn spin_is_free(lock: *const c_int) -> bool {
    // SAFETY: glibc keeps its state in that one word.
    unsafe { (*lock.cast::<AtomicI32>()).load(Acquire) > 0 }
}

/// The stack pointer that a `jmp_buf` brings back. glibc keeps it rotated, and mixed with a secret of the thread.
///
/// # Safety
/// `buffer` must have been filled by `setjmp` or one of its kind.
pub unsafe fn stack_of_jump(buffer: *const libc::c_void) -> usize {
    const PLACE: usize = 6;
    let secret: usize;
    // SAFETY: the caller's buffer; the secret lies in the thread's control block.
    unsafe {
        core::arch::asm!("mov {}, fs:[0x30]", out(reg) secret, options(nostack, readonly, preserves_flags));
        buffer.cast::<usize>().add(PLACE).read().rotate_right(17) ^ secret
    }
}

/// Locks and unlocks a mutex with glibc's own functions and looks whether its fields are what this file says.
///
/// # Safety
/// The functions must be glibc's.
pub unsafe fn mutex_is_as_expected(
    lock: unsafe extern "C-unwind" fn(*mut Mutex) -> c_int,
    unlock: unsafe extern "C-unwind" fn(*mut Mutex) -> c_int,
) -> bool {
    // SAFETY: all zero is a mutex that was initialised statically.
    let mut mutex: Mutex = unsafe { core::mem::zeroed() };
    mutex.words.version.store(0x1122_3344_5566_7788, Relaxed);
    mutex.words.owner.store(0x99AA_BBCC, Relaxed);
    mutex.from.store(0xDDEE_FF00, Relaxed);
    let tid = sys::gettid_now();
    let at = &raw mut mutex;
    // SAFETY: a mutex of our own.
    unsafe {
        let locked = lock(at) == 0
            && (*at).lock.load(Relaxed) == 1
            && (*at).owner.load(Relaxed) == tid
            && (*at).users.load(Relaxed) == 1
            && (*at).is_plain();
        let unlocked = unlock(at) == 0
            && (*at).lock.load(Relaxed) == 0
            && (*at).owner.load(Relaxed) == 0
            && (*at).users.load(Relaxed) == 0;
        let untouched = (*at).words.version.load(Relaxed) == 0x1122_3344_5566_7788
            && (*at).words.owner.load(Relaxed) == 0x99AA_BBCC
            && (*at).from.load(Relaxed) == 0xDDEE_FF00;
        locked && unlocked && untouched
    }
}
