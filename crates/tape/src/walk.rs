//! Finding one's way in the bytes of a tape file: chunks and the chains they form, each step checked.
//!
//! Used by the reader and by replay alike. A file may come from a stranger: every position is checked against the
//! file's end, and no chain can run in a circle, because the index of its chunks must rise by one.

use crate::layout::{
    ALIGN, CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, HEADER_SIZE, MAGIC, MAJOR, ProcessHeader, THREAD_HEADER,
    ThreadHeader, payload_at,
};
use core::sync::atomic::Ordering::Acquire;

/// Why bytes are not a tape that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not a tape file at all, or its first page is damaged.
    NotATape,
    /// Written by an older Retake whose format is no longer read.
    TooOld(u16),
    /// Written by a newer Retake.
    TooNew(u16),
    /// The file ends before its content does.
    Truncated,
    /// A checksum does not fit its bytes; the position is the chunk's, 0 for the header.
    Checksum(u64),
    /// A position, size or number that cannot be; the position is the chunk's.
    Structure(u64),
    /// An entry that cannot be; the number is the thread's.
    Entry(u32),
}

/// Reads the header of the file that `bytes` hold.
pub fn process(bytes: &[u8]) -> Result<ProcessHeader, Fault> {
    if bytes.len() < MAGIC.len() || bytes[..MAGIC.len()] != MAGIC {
        return Err(Fault::NotATape);
    }
    if bytes.len() < HEADER_SIZE as usize {
        return Err(Fault::Truncated);
    }
    // SAFETY: a page is there, the structure is plain data and any bits are valid in it.
    let header = unsafe { bytes.as_ptr().cast::<ProcessHeader>().read_unaligned() };
    if header.major < MAJOR {
        return Err(Fault::TooOld(header.major));
    }
    if header.major > MAJOR {
        return Err(Fault::TooNew(header.major));
    }
    if header.name_len as usize > header.name.len() {
        return Err(Fault::Structure(0));
    }
    Ok(header)
}

/// One chunk in the bytes of a file.
pub struct Chunk<'a> {
    pub at: u64,
    pub header: ChunkHeader,
    /// The payload that was written.
    pub payload: &'a [u8],
}

/// The chunk at position `at`.
pub fn chunk(bytes: &[u8], at: u64) -> Result<Chunk<'_>, Fault> {
    if at < HEADER_SIZE || !at.is_multiple_of(ALIGN) {
        return Err(Fault::Structure(at));
    }
    let start = at as usize;
    if bytes.len() < start || bytes.len() - start < CHUNK_HEADER {
        return Err(Fault::Truncated);
    }
    // SAFETY: the header's bytes are there, the structure is plain data and any bits are valid in it.
    let header = unsafe { bytes.as_ptr().add(start).cast::<ChunkHeader>().read_unaligned() };
    let size = header.size as usize;
    let from = payload_at(header.index);
    let used = header.used.load(Acquire) as usize;
    if header.magic != CHUNK_MAGIC || size < from || used > size - from {
        return Err(Fault::Structure(at));
    }
    if bytes.len() - start < size {
        return Err(Fault::Truncated);
    }
    Ok(Chunk { at, header, payload: &bytes[start + from..start + from + used] })
}

/// The chunk behind `chunk` in its chain, if there is one.
pub fn next<'a>(bytes: &'a [u8], before: &Chunk<'_>) -> Result<Option<Chunk<'a>>, Fault> {
    let at = before.header.next.load(Acquire);
    if at == 0 {
        return Ok(None);
    }
    let after = chunk(bytes, at)?;
    if after.header.thread != before.header.thread || Some(after.header.index) != before.header.index.checked_add(1) {
        return Err(Fault::Structure(at));
    }
    Ok(Some(after))
}

/// The thread whose chain starts at `at`: its header and its first chunk.
pub fn thread(bytes: &[u8], at: u64) -> Result<(ThreadHeader, Chunk<'_>), Fault> {
    let first = chunk(bytes, at)?;
    if first.header.index != 0 {
        return Err(Fault::Structure(at));
    }
    let from = at as usize + CHUNK_HEADER;
    if bytes.len() - from < THREAD_HEADER {
        return Err(Fault::Truncated);
    }
    // SAFETY: the header's bytes are there, the structure is plain data and any bits are valid in it.
    let header = unsafe { bytes.as_ptr().add(from).cast::<ThreadHeader>().read_unaligned() };
    if header.number != first.header.thread {
        return Err(Fault::Structure(at));
    }
    Ok((header, first))
}
