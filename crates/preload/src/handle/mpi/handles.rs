//! What is known of requests that are under way: found by their handles.
//!
//! A handle is used again when its request is done, so what is known of one is taken out as soon as it is.

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use retake_engine::lock::Lock;
use retake_engine::sys;

/// Something about one request; all zero where there is none.
pub trait Known: Copy {
    fn handle(&self) -> usize;
    fn clear(&mut self);
}

struct Table<T> {
    slots: *mut T,
    /// A power of two, or 0.
    room: usize,
}

/// A table of them.
pub struct Handles<T> {
    table: UnsafeCell<Table<T>>,
    /// Changed under the lock; looked at without it.
    length: AtomicUsize,
    lock: Lock,
}

// SAFETY: the table is used under the lock.
unsafe impl<T> Sync for Handles<T> {}

fn place(handle: usize, room: usize) -> usize {
    (handle.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) & (room - 1)
}

impl<T: Known> Table<T> {
    /// The slot of `handle`, or the empty one where it would go. There must be room.
    unsafe fn slot(&self, handle: usize) -> *mut T {
        let mut at = place(handle, self.room);
        // SAFETY: inside the table, which always has an empty slot.
        unsafe {
            while (*self.slots.add(at)).handle() != 0 && (*self.slots.add(at)).handle() != handle {
                at = (at + 1) & (self.room - 1);
            }
            self.slots.add(at)
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> bool {
        let (old, old_room) = (self.slots, self.room);
        let room = (old_room * 2).max(64);
        let slots = sys::memory(room * size_of::<T>()).cast::<T>();
        if slots.is_null() {
            return false;
        }
        *self = Table { slots, room };
        for index in 0..old_room {
            // SAFETY: inside both tables; fresh memory is all empty slots.
            unsafe {
                let known = old.add(index).read();
                if known.handle() != 0 {
                    self.slot(known.handle()).write(known);
                }
            }
        }
        if !old.is_null() {
            // SAFETY: memory of ours that nobody uses any more.
            unsafe { sys::munmap(old as usize, old_room * size_of::<T>()) };
        }
        true
    }

    unsafe fn take_out(&mut self, slot: *mut T) {
        // SAFETY: inside the table; later ones of the same run are moved up.
        unsafe {
            let mask = self.room - 1;
            let mut hole = slot.offset_from(self.slots) as usize;
            let mut at = hole;
            loop {
                at = (at + 1) & mask;
                let handle = (*self.slots.add(at)).handle();
                if handle == 0 {
                    break;
                }
                // Moved up only if its own place is not behind the hole.
                let home = place(handle, self.room);
                if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                    self.slots.add(hole).write(self.slots.add(at).read());
                    hole = at;
                }
            }
            (*self.slots.add(hole)).clear();
        }
    }
}

impl<T: Known> Handles<T> {
    pub const fn new() -> Handles<T> {
        let table = UnsafeCell::new(Table { slots: core::ptr::null_mut(), room: 0 });
        Handles { table, length: AtomicUsize::new(0), lock: Lock::new() }
    }

    fn with<R>(&self, body: impl FnOnce(&mut Table<T>) -> R) -> R {
        // SAFETY: the lock is held.
        self.lock.with(|| body(unsafe { &mut *self.table.get() }))
    }

    /// In a forked child, which has none of them.
    pub fn reset(&self) {
        self.lock.reset();
    }

    /// Whether there are any.
    #[inline]
    pub fn any(&self) -> bool {
        self.length.load(Relaxed) != 0
    }

    /// Notes `known` under its handle, in place of what was there.
    #[inline(always)]
    pub fn put(&self, known: T) {
        self.with(|table| {
            if self.length.load(Relaxed) * 2 >= table.room && !table.grow() {
                return;
            }
            // SAFETY: there is room.
            unsafe {
                let slot = table.slot(known.handle());
                if (*slot).handle() == 0 {
                    self.length.store(self.length.load(Relaxed) + 1, Relaxed);
                }
                slot.write(known);
            }
        });
    }

    /// What is known of this request.
    pub fn get(&self, handle: usize) -> Option<T> {
        if !self.any() || handle == 0 {
            return None;
        }
        // SAFETY: a table that holds something has room.
        self.with(|table| unsafe { Some(*table.slot(handle)).filter(|known| known.handle() == handle) })
    }

    /// Takes it out, unless `stays` says that it stays; what it was.
    #[inline(always)]
    pub fn finish(&self, handle: usize, stays: impl FnOnce(&mut T) -> bool) -> Option<T> {
        if !self.any() || handle == 0 {
            return None;
        }
        self.with(|table| {
            // SAFETY: a table that holds something has room.
            unsafe {
                let slot = table.slot(handle);
                if self.length.load(Relaxed) == 0 || (*slot).handle() != handle {
                    return None;
                }
                let known = slot.read();
                if !stays(&mut *slot) {
                    self.length.store(self.length.load(Relaxed) - 1, Relaxed);
                    table.take_out(slot);
                }
                Some(known)
            }
        })
    }
}
