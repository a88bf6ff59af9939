//! The writing end of one thread's tape.
//!
//! Entry, then `used`, then (by the caller) the thread's count. A chunk that is full is closed with its checksum and
//! followed by a larger one.

use crate::came::InVain;
use crate::process;
use crate::store::{Room, Store};
use crate::sys;
use core::mem::offset_of;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Relaxed, Release};
use retake_tape::check::crc32c;
use retake_tape::entry::Context;
use retake_tape::layout::{ChunkHeader, payload_at};

pub struct Writer {
    at: *mut u8,
    end: *mut u8,
    start: *mut u8,
    chunk: *mut ChunkHeader,
    chunk_at: u64,
    mapped: usize,
    /// What the last entry was, to write the next one short.
    pub context: Context,
    /// The counter of the run of polls that was written last, if nothing came after it.
    pub polls: *mut u8,
    pub polls_code: i64,
    pub polls_op: u8,
    pub polls_event: u64,
    /// Calls that found nothing, written last.
    pub in_vain: InVain,
    /// The rest of the block of matches that is being filled; null if there is none in this chunk.
    pub block: *mut u8,
    pub block_end: *mut u8,
}

impl Writer {
    pub const fn new() -> Writer {
        Writer {
            at: null_mut(),
            end: null_mut(),
            start: null_mut(),
            chunk: null_mut(),
            chunk_at: 0,
            mapped: 0,
            context: Context::new(),
            polls: null_mut(),
            polls_code: 0,
            polls_op: 0,
            polls_event: 0,
            in_vain: InVain::NONE,
            block: null_mut(),
            block_end: null_mut(),
        }
    }

    /// Whether it has a tape.
    pub fn is_open(&self) -> bool {
        !self.chunk.is_null()
    }

    /// Starts the chain of thread `number` in `store`: the position and address of its first chunk.
    pub fn open(&mut self, store: &mut Store, number: u32) -> Option<(u64, *mut ChunkHeader)> {
        // SAFETY: the store has a file.
        let room = unsafe { store.chunk(number, 0, 0) };
        let room = room.map_err(process::cut).ok()?;
        self.begin(&room, 0);
        Some((room.at, room.chunk))
    }

    fn begin(&mut self, room: &Room, index: u32) {
        // SAFETY: the chunk is ours and as long as it says.
        unsafe {
            let from = room.chunk.cast::<u8>();
            self.start = from.add(payload_at(index));
            self.at = self.start;
            self.end = from.add((*room.chunk).size as usize);
        }
        self.chunk = room.chunk;
        self.chunk_at = room.at;
        self.mapped = room.mapped;
        self.polls = null_mut();
        (self.block, self.block_end) = (null_mut(), null_mut());
    }

    /// Where the next entry goes; there are at least `need` bytes. `None` when the recording has ended.
    #[inline(always)]
    pub fn room(&mut self, store: *mut Store, need: usize) -> Option<*mut u8> {
        if self.end as usize - self.at as usize >= need { Some(self.at) } else { self.room_in_next(store, need) }
    }

    #[cold]
    #[inline(never)]
    fn room_in_next(&mut self, store: *mut Store, need: usize) -> Option<*mut u8> {
        if self.chunk.is_null() {
            return None;
        }
        // SAFETY: the chunk is ours; the store lives as long as the process.
        unsafe {
            let (full, full_map) = (self.chunk, self.mapped);
            let index = (*full).index + 1;
            let room = (*store).chunk((*full).thread, index, need).map_err(process::cut).ok()?;
            (*full).next.store(room.at, Release);
            close(full, self.start);
            self.begin(&room, index);
            if full_map > 0 {
                sys::munmap(full as usize, full_map);
            }
        }
        Some(self.at)
    }

    /// The entry up to `to` is written.
    #[inline(always)]
    pub fn advance(&mut self, to: *mut u8) {
        self.at = to;
        self.polls = null_mut();
        // SAFETY: the chunk is ours.
        unsafe { (*self.chunk).used.store(to as u32 - self.start as u32, Release) };
    }

    /// Where the next entry would go: differs if anything was written in between.
    pub fn position(&self) -> usize {
        self.at as usize
    }

    /// Where the chunk stands in the file that is being written: another one if what was written before is closed.
    pub fn chunk_position(&self) -> u64 {
        self.chunk_at
    }

    /// Where the next entry goes, for a reader that is to begin there: the chunk, and how far behind the start of its
    /// payload.
    pub fn standing(&self) -> (u64, usize) {
        (self.chunk_at, self.at as usize - self.start as usize)
    }

    /// The last four bytes that were written.
    pub fn last_four(&self) -> *mut u8 {
        if self.at as usize - self.start as usize >= 4 { self.at.wrapping_sub(4) } else { null_mut() }
    }

    /// Gives the memory of the last chunk back: its thread is gone.
    pub fn release(&mut self) {
        if self.mapped > 0 {
            // SAFETY: nobody else uses the chunk.
            unsafe { sys::munmap(self.chunk as usize, self.mapped) };
        }
        *self = Writer::new();
    }
}

impl Default for Writer {
    fn default() -> Self {
        Writer::new()
    }
}

/// Writes the checksum of a full chunk. Must agree with `retake_tape::seal::chunk_crc`.
unsafe fn close(chunk: *mut ChunkHeader, start: *mut u8) {
    // SAFETY: header and payload are mapped and no longer change.
    unsafe {
        let used = (*chunk).used.load(Relaxed) as usize;
        let next = (*chunk).next.load(Relaxed).to_le_bytes();
        let head = core::slice::from_raw_parts(chunk.cast::<u8>(), offset_of!(ChunkHeader, crc));
        let payload = core::slice::from_raw_parts(start, used);
        (*chunk).crc.store(crc32c(crc32c(crc32c(0, head), &next), payload), Relaxed);
        (*chunk).closed.store(1, Release);
    }
}
