//! Sealing: the checksums that a program could not write because it ran, or was killed.
//!
//! The writer closes each chunk that it fills. When the program has ended, whoever recorded it seals the file: the open
//! chunk of each thread, the thread headers and the first page get their checksums.

use crate::check::crc32c;
use crate::layout::{CHUNK_HEADER, ChunkHeader, HEADER_SIZE, ProcessHeader, ThreadHeader, payload_at};
use crate::walk::{self, Fault};
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

/// The checksum of the chunk that starts at `at`: over its fixed fields, its length, its successor and its payload.
pub fn chunk_crc(bytes: &[u8], at: u64) -> Result<u32, Fault> {
    let chunk = walk::chunk(bytes, at)?;
    let head = &bytes[at as usize..at as usize + offset_of!(ChunkHeader, crc)];
    let next = chunk.header.next.load(Relaxed).to_le_bytes();
    Ok(crc32c(crc32c(crc32c(0, head), &next), chunk.payload))
}

/// The checksum of a structure of `size` bytes with the four bytes at `hole` taken as zero.
fn crc_with_hole(bytes: &[u8], hole: usize) -> u32 {
    crc32c(crc32c(crc32c(0, &bytes[..hole]), &[0; 4]), &bytes[hole + 4..])
}

/// The checksum of the thread header in the chunk at `at`.
pub fn thread_crc(bytes: &[u8], at: u64) -> u32 {
    let from = at as usize + CHUNK_HEADER;
    crc_with_hole(&bytes[from..at as usize + payload_at(0)], offset_of!(ThreadHeader, crc))
}

/// The checksum of the first page.
pub fn process_crc(bytes: &[u8]) -> u32 {
    crc_with_hole(&bytes[..HEADER_SIZE as usize], offset_of!(ProcessHeader, crc))
}

/// Where the chains of all threads start, newest first.
pub fn chains(bytes: &[u8]) -> Result<Vec<u64>, Fault> {
    let header = walk::process(bytes)?;
    let mut at = header.last_thread.load(Relaxed);
    let mut starts = Vec::new();
    while at != 0 {
        if starts.len() as u32 >= header.threads.load(Relaxed) || starts.len() > bytes.len() / payload_at(0) {
            return Err(Fault::Structure(at));
        }
        starts.push(at);
        at = walk::thread(bytes, at)?.0.previous;
    }
    Ok(starts)
}

/// Seals the file that `bytes` hold; does nothing if it is sealed already. Returns the length that the file should have.
pub fn seal(bytes: &mut [u8]) -> Result<u64, Fault> {
    let header = walk::process(bytes)?;
    let end = header.next_free.load(Relaxed).min(bytes.len() as u64);
    if header.sealed.load(Relaxed) != 0 {
        return Ok(end);
    }
    for start in chains(bytes)? {
        let mut at = start;
        while at != 0 {
            let chunk = walk::chunk(bytes, at)?;
            let (next, closed) = (chunk.header.next.load(Relaxed), chunk.header.closed.load(Relaxed));
            // A successor that was announced but never written is cut off.
            let next = if next != 0 && walk::next(bytes, &chunk).is_err() { 0 } else { next };
            put(bytes, at as usize + offset_of!(ChunkHeader, next), &next.to_le_bytes());
            if closed == 0 || next == 0 {
                let crc = chunk_crc(bytes, at)?;
                put(bytes, at as usize + offset_of!(ChunkHeader, crc), &crc.to_le_bytes());
                put(bytes, at as usize + offset_of!(ChunkHeader, closed), &1u32.to_le_bytes());
            }
            at = next;
        }
        let crc = thread_crc(bytes, start);
        put(bytes, start as usize + CHUNK_HEADER + offset_of!(ThreadHeader, crc), &crc.to_le_bytes());
    }
    put(bytes, offset_of!(ProcessHeader, next_free), &end.to_le_bytes());
    put(bytes, offset_of!(ProcessHeader, sealed), &1u32.to_le_bytes());
    let crc = process_crc(bytes);
    put(bytes, offset_of!(ProcessHeader, crc), &crc.to_le_bytes());
    Ok(end)
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}
