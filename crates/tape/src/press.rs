//! Pressing a part anew: the same participant, with other lines.
//!
//! The first page and the thread's header are those of the old file; the lines go into one chunk behind them. The result is
//! sealed.

use crate::layout::{ALIGN, CHUNK_HEADER, ChunkHeader, HEADER_SIZE, ProcessHeader, THREAD_HEADER, payload_at};
use crate::part::Line;
use crate::seal::{chains, seal};
use crate::walk::Fault;
use std::mem::offset_of;

/// `lines` are in the order of their events.
pub fn press<'a>(old: &[u8], lines: impl Iterator<Item = (u64, Line<'a>)>) -> Result<Vec<u8>, Fault> {
    let first = *chains(old)?.first().ok_or(Fault::NotATape)?;
    let payload = payload(lines);
    let at = HEADER_SIZE as usize;
    let size = (payload_at(0) + payload.len()).next_multiple_of(ALIGN as usize);
    let mut new = old[..at].to_vec();
    new.extend(&old[first as usize..first as usize + CHUNK_HEADER + THREAD_HEADER]);
    new.extend(&payload);
    new.resize(at + size, 0);
    let short = |number: usize| u32::try_from(number).map_err(|_| Fault::Structure(HEADER_SIZE));
    let mut put = |at: usize, bytes: &[u8]| new[at..at + bytes.len()].copy_from_slice(bytes);
    put(offset_of!(ProcessHeader, sealed), &0u32.to_le_bytes());
    put(offset_of!(ProcessHeader, next_free), &((at + size) as u64).to_le_bytes());
    put(offset_of!(ProcessHeader, last_thread), &HEADER_SIZE.to_le_bytes());
    put(at + offset_of!(ChunkHeader, size), &short(size)?.to_le_bytes());
    put(at + offset_of!(ChunkHeader, used), &short(payload.len())?.to_le_bytes());
    put(at + offset_of!(ChunkHeader, next), &0u64.to_le_bytes());
    put(at + offset_of!(ChunkHeader, closed), &0u32.to_le_bytes());
    seal(&mut new)?;
    Ok(new)
}

fn payload<'a>(lines: impl Iterator<Item = (u64, Line<'a>)>) -> Vec<u8> {
    let (mut payload, mut last) = (Vec::new(), 0);
    for (event, line) in lines {
        let from = payload.len();
        payload.resize(from + line.room(), 0);
        let start = payload[from..].as_mut_ptr();
        // SAFETY: there is room for the line.
        let end = unsafe { line.write(start, event - last) };
        payload.truncate(from + (end as usize - start as usize));
        last = event;
    }
    payload
}
