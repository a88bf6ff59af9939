//! Receives that are under way: found by the handle of their request.
//!
//! A handle is used again when its request is done, so a receive is taken out as soon as it is known to be.

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use retake_engine::lock::Lock;
use retake_engine::sys;

/// What was asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub buffer: usize,
    pub count: usize,
    pub kind: usize,
    pub source: c_int,
    pub tag: c_int,
    pub comm: usize,
    /// By the variant of the function that takes large counts.
    pub large: bool,
}

/// A receive with a request.
#[derive(Clone, Copy)]
pub struct Receive {
    pub handle: usize,
    /// Its number among its thread's receives of its kind: from anyone, or from a given source.
    pub number: u64,
    pub thread: u32,
    pub call: u8,
    /// From anyone.
    pub open: bool,
    pub active: bool,
    pub persistent: bool,
    /// The program has asked to cancel it.
    pub cancelled: bool,
    /// Replay: it was never served, so nothing may come to it.
    pub withdrawn: bool,
    /// Replay: the request that serves a persistent one; 0 if it serves itself.
    pub inner: usize,
    pub wanted: Wanted,
    /// The communicator that the program named.
    pub asked_comm: usize,
}

struct Table {
    slots: *mut Receive,
    /// A power of two, or 0.
    room: usize,
}

struct Global(UnsafeCell<Table>);
// SAFETY: used under the lock.
unsafe impl Sync for Global {}

static TABLE: Global = Global(UnsafeCell::new(Table { slots: core::ptr::null_mut(), room: 0 }));
static LENGTH: AtomicUsize = AtomicUsize::new(0);
static LOCK: Lock = Lock::new();

fn place(handle: usize, room: usize) -> usize {
    (handle.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) & (room - 1)
}

impl Table {
    /// The slot of `handle`, or the empty one where it would go. There must be room.
    unsafe fn slot(&self, handle: usize) -> *mut Receive {
        let mut at = place(handle, self.room);
        // SAFETY: inside the table, which always has an empty slot.
        unsafe {
            while (*self.slots.add(at)).handle != 0 && (*self.slots.add(at)).handle != handle {
                at = (at + 1) & (self.room - 1);
            }
            self.slots.add(at)
        }
    }

    fn grow(&mut self) -> bool {
        let (old, old_room) = (self.slots, self.room);
        let room = (old_room * 2).max(64);
        let slots = sys::memory(room * size_of::<Receive>()).cast::<Receive>();
        if slots.is_null() {
            return false;
        }
        *self = Table { slots, room };
        for index in 0..old_room {
            // SAFETY: inside both tables; fresh memory is all empty slots.
            unsafe {
                let receive = old.add(index).read();
                if receive.handle != 0 {
                    self.slot(receive.handle).write(receive);
                }
            }
        }
        if !old.is_null() {
            // SAFETY: memory of ours that nobody uses any more.
            unsafe { sys::munmap(old as usize, old_room * size_of::<Receive>()) };
        }
        true
    }
}

fn with<R>(body: impl FnOnce(&mut Table) -> R) -> R {
    // SAFETY: the lock is held.
    LOCK.with(|| body(unsafe { &mut *TABLE.0.get() }))
}

/// In a forked child, which has none of them.
pub fn reset() {
    LOCK.reset();
}

/// Whether there are any.
#[inline]
pub fn any() -> bool {
    LENGTH.load(Relaxed) != 0
}

/// Notes `receive` under its handle, in place of what was there.
pub fn put(receive: Receive) {
    with(|table| {
        if LENGTH.load(Relaxed) * 2 >= table.room && !table.grow() {
            return;
        }
        // SAFETY: there is room.
        unsafe {
            let slot = table.slot(receive.handle);
            if (*slot).handle == 0 {
                LENGTH.fetch_add(1, Relaxed);
            }
            slot.write(receive);
        }
    });
}

/// The receive of this request.
pub fn get(handle: usize) -> Option<Receive> {
    if !any() || handle == 0 {
        return None;
    }
    // SAFETY: a table that holds something has room.
    with(|table| unsafe { Some(*table.slot(handle)).filter(|receive| receive.handle == handle) })
}

/// It is done: takes it out. A persistent one stays, and is not active any more.
pub fn done(handle: usize) {
    with(|table| {
        // SAFETY: a table that holds something has room; later ones of the same run are moved up.
        unsafe {
            if LENGTH.load(Relaxed) == 0 || (*table.slot(handle)).handle != handle {
                return;
            }
            let slot = table.slot(handle);
            if (*slot).persistent {
                ((*slot).active, (*slot).cancelled, (*slot).inner) = (false, false, 0);
                return;
            }
            take_out(table, slot);
        }
    });
}

/// Its request is no more.
pub fn forget(handle: usize) {
    with(|table| {
        // SAFETY: as above.
        unsafe {
            if LENGTH.load(Relaxed) != 0 && (*table.slot(handle)).handle == handle {
                take_out(table, table.slot(handle));
            }
        }
    });
}

unsafe fn take_out(table: &mut Table, slot: *mut Receive) {
    // SAFETY: inside the table; later ones of the same run are moved up.
    unsafe {
        LENGTH.fetch_sub(1, Relaxed);
        let mask = table.room - 1;
        let mut hole = slot.offset_from(table.slots) as usize;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let receive = table.slots.add(at).read();
            if receive.handle == 0 {
                break;
            }
            // Moved up only if its own place is not behind the hole.
            let home = place(receive.handle, table.room);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                table.slots.add(hole).write(receive);
                hole = at;
            }
        }
        (*table.slots.add(hole)).handle = 0;
    }
}
