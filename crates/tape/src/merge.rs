//! Putting notes onto a tape that was recorded without them: the same entries, and each note before the first entry of its
//! event, as if it had been written then.
//!
//! Only the distances between events change; what an entry says stays as it was written, also if this build does not know it.
//! The result is sealed.

use crate::entry::{self, Context, Entry, ROOM};
use crate::layout::{
    ALIGN, CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, HEADER_SIZE, ProcessHeader, THREAD_HEADER, ThreadHeader, payload_at,
};
use crate::reader::Tape;
use crate::seal::{chains, seal};
use crate::varint::{SLACK, put};
use crate::walk::{self, Fault};
use std::mem::offset_of;

/// A chunk is closed when it has so many bytes. One note may be longer.
const FULL: usize = 1 << 20;

/// The tape in `old` with the notes that are on `kept`.
pub fn with_notes(old: &[u8], kept: &Tape) -> Result<Vec<u8>, Fault> {
    let mut new = old[..HEADER_SIZE as usize].to_vec();
    let mut previous = 0u64;
    for start in chains(old)?.into_iter().rev() {
        let at = new.len() as u64;
        let number = walk::thread(old, start)?.0.number;
        let payloads =
            payloads(old, start, notes(kept, number)).map_err(|fault| fault.unwrap_or(Fault::Entry(number)))?;
        let last = payloads.len() - 1;
        for (index, payload) in payloads.iter().enumerate() {
            let header = &old[start as usize..start as usize + CHUNK_HEADER + THREAD_HEADER];
            chunk(&mut new, header, index as u32, payload, index < last).ok_or(Fault::Structure(start))?;
        }
        fill(&mut new, at as usize + CHUNK_HEADER + offset_of!(ThreadHeader, previous), &previous.to_le_bytes());
        previous = at;
    }
    let end = new.len() as u64;
    fill(&mut new, offset_of!(ProcessHeader, sealed), &0u32.to_le_bytes());
    fill(&mut new, offset_of!(ProcessHeader, next_free), &end.to_le_bytes());
    fill(&mut new, offset_of!(ProcessHeader, last_thread), &previous.to_le_bytes());
    seal(&mut new)?;
    Ok(new)
}

fn fill(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

/// A note: its event, its kind, its bytes.
type Note<'a> = (u64, u8, &'a [u8]);

/// The notes of the thread of that number.
fn notes(kept: &Tape, number: u32) -> Vec<Note<'_>> {
    let mut notes = Vec::new();
    for thread in kept.threads.iter().filter(|thread| thread.header.number == number) {
        let mut payload = kept.payload(thread);
        while let Ok(Some((event, entry))) = payload.next_entry() {
            if let Entry::Note(what, bytes) = entry {
                notes.push((event, what, bytes));
            }
        }
    }
    notes
}

/// What the chunks of the chain at `start` hold, with the notes in it. A fault without a name is of an entry.
fn payloads(old: &[u8], start: u64, notes: Vec<Note<'_>>) -> Result<Vec<Vec<u8>>, Option<Fault>> {
    let (mut then, mut now) = (Context::new(), Context::new());
    let (mut full, mut payload) = (Vec::new(), Vec::new());
    let mut notes = notes.into_iter().peekable();
    let mut next = Some(walk::thread(old, start)?.1);
    while let Some(chunk) = next {
        let mut rest = chunk.payload;
        loop {
            let before = rest;
            let Some(_) = entry::read(&mut then, &mut rest).map_err(|_| None)? else { break };
            while let Some((event, what, bytes)) = notes.next_if(|note| note.0 <= then.event) {
                note(&mut payload, &mut now, event, what, bytes);
            }
            let bytes = &before[..before.len() - rest.len()];
            let (front, behind) = entry::at_distance(bytes, then.event - now.event).map_err(|_| None)?;
            front.into_iter().flatten().for_each(|value| number(&mut payload, value));
            payload.extend_from_slice(behind);
            now.event = then.event;
            if payload.len() >= FULL {
                full.push(std::mem::take(&mut payload));
            }
        }
        next = walk::next(old, &chunk)?;
    }
    for (event, what, bytes) in notes {
        note(&mut payload, &mut now, event, what, bytes);
    }
    full.push(payload);
    Ok(full)
}

fn note(to: &mut Vec<u8>, context: &mut Context, event: u64, what: u8, bytes: &[u8]) {
    let from = to.len();
    to.resize(from + ROOM + bytes.len(), 0);
    let start = to[from..].as_mut_ptr();
    // SAFETY: there is room for the note. Notes of one thread come in the order of their events.
    let end = unsafe { entry::write::note(context, start, event.max(context.event), what, &[bytes]) };
    to.truncate(from + (end as usize - start as usize));
}

fn number(to: &mut Vec<u8>, value: u64) {
    let from = to.len();
    to.resize(from + SLACK, 0);
    let start = to[from..].as_mut_ptr();
    // SAFETY: there is room for any number.
    let end = unsafe { put(start, value) };
    to.truncate(from + (end as usize - start as usize));
}

/// Appends a chunk whose thread is that of `header`.
fn chunk(to: &mut Vec<u8>, header: &[u8], index: u32, payload: &[u8], has_next: bool) -> Option<()> {
    let at = to.len();
    let front = payload_at(index);
    let size = (front + payload.len()).next_multiple_of(ALIGN as usize);
    let next = if has_next { (at + size) as u64 } else { 0 };
    to.extend_from_slice(&header[..front]);
    to.extend_from_slice(payload);
    to.resize(at + size, 0);
    let mut put = |offset: usize, bytes: &[u8]| fill(to, at + offset, bytes);
    put(offset_of!(ChunkHeader, magic), &CHUNK_MAGIC.to_le_bytes());
    put(offset_of!(ChunkHeader, size), &u32::try_from(size).ok()?.to_le_bytes());
    put(offset_of!(ChunkHeader, index), &index.to_le_bytes());
    put(offset_of!(ChunkHeader, used), &u32::try_from(payload.len()).ok()?.to_le_bytes());
    put(offset_of!(ChunkHeader, closed), &0u32.to_le_bytes());
    put(offset_of!(ChunkHeader, next), &next.to_le_bytes());
    Some(())
}
