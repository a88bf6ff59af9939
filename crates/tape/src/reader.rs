//! Reading a tape file: all of it checked first, then entries thread by thread.

use crate::check::crc32c;
use crate::entry::{self, Context, Entry, Garbled};
use crate::layout::{ProcessHeader, ThreadHeader, kind};
use crate::part::{self, Line};
use crate::rich::{self, Rich};
use crate::seal;
use crate::walk::{self, Chunk, Fault};
// Not a hash map: its keys are random numbers, which the program, if this runs inside one, did not ask for.
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// A tape file whose structure, and checksums where it is sealed, have been found right.
pub struct Tape {
    bytes: Vec<u8>,
    pub header: ProcessHeader,
    /// In the order of their numbers.
    pub threads: Vec<Thread>,
}

/// One thread of a [`Tape`].
pub struct Thread {
    pub header: ThreadHeader,
    /// Its place in the tree of creations, such as `0.2.1`.
    pub name: String,
    at: u64,
}

impl Thread {
    /// Events that were committed.
    pub fn events(&self) -> u64 {
        self.header.count.load(Relaxed)
    }
}

impl Tape {
    /// Checks `bytes` and makes a tape of them.
    pub fn new(bytes: Vec<u8>) -> Result<Tape, Fault> {
        let header = walk::process(&bytes)?;
        let sealed = header.sealed.load(Relaxed) != 0;
        if sealed && seal::process_crc(&bytes) != header.crc.load(Relaxed) {
            return Err(Fault::Checksum(0));
        }
        if sealed && header.next_free.load(Relaxed) > bytes.len() as u64 {
            return Err(Fault::Truncated);
        }
        let mut threads = Vec::new();
        for at in seal::chains(&bytes)? {
            let (header, mut chunk) = walk::thread(&bytes, at)?;
            if sealed && seal::thread_crc(&bytes, at) != header.crc.load(Relaxed) {
                return Err(Fault::Checksum(at));
            }
            loop {
                let closed = sealed || chunk.header.closed.load(Relaxed) != 0;
                if closed && seal::chunk_crc(&bytes, chunk.at)? != chunk.header.crc.load(Relaxed) {
                    return Err(Fault::Checksum(chunk.at));
                }
                match walk::next(&bytes, &chunk) {
                    Ok(Some(next)) => chunk = next,
                    Ok(None) => break,
                    Err(_) if !sealed => break,
                    Err(fault) => return Err(fault),
                }
            }
            threads.push(Thread { header, name: String::new(), at });
        }
        threads.sort_by_key(|thread| thread.header.number);
        let mut tape = Tape { bytes, header, threads };
        tape.name_threads();
        let mut apart = 0;
        for thread in &tape.threads {
            let mut entries = tape.payload(thread);
            let garbled = |_| Fault::Entry(thread.header.number);
            match tape.header.kind {
                kind::TAPE => while entries.next_entry().map_err(garbled)?.is_some() {},
                kind::PART => while entries.next_line_checked(&mut apart).map_err(garbled)?.is_some() {},
                _ => while entries.next_rich().map_err(garbled)?.is_some() {},
            }
        }
        Ok(tape)
    }

    /// The process's name: that of its main thread.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.header.name[..self.header.name_len as usize]).into_owned()
    }

    /// Size of what was recorded, without what is only reserved.
    pub fn bytes_used(&self) -> u64 {
        let chained: u64 = self.threads.iter().map(|thread| self.payload(thread).bytes_left()).sum();
        let parts = self.threads.iter().filter(|_| self.header.kind == kind::PART);
        chained + parts.map(|thread| self.payload(thread).bytes_apart()).sum::<u64>()
    }

    /// Events of all threads.
    pub fn events(&self) -> u64 {
        self.threads.iter().map(Thread::events).sum()
    }

    /// The payload of `thread`, from its start.
    pub fn payload(&self, thread: &Thread) -> Payload<'_> {
        let first = walk::chunk(&self.bytes, thread.at).ok();
        Payload {
            bytes: &self.bytes,
            rest: first.as_ref().map_or(&[], |chunk| chunk.payload),
            chunk: first,
            context: Context::new(),
            count: thread.events(),
        }
    }

    fn name_threads(&mut self) {
        let process = self.name();
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        for thread in &mut self.threads {
            let header = &thread.header;
            thread.name = match names.get(&header.parent) {
                Some(parent) if header.index > 0 => format!("{parent}.{}", header.index),
                None if header.index > 0 && header.born == crate::layout::born::FOREIGN => {
                    format!("{process}~{}", header.index)
                }
                _ => process.clone(),
            };
            names.insert(header.number, thread.name.clone());
        }
    }
}

/// What one thread wrote, to be read from front to back.
pub struct Payload<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    chunk: Option<Chunk<'a>>,
    context: Context,
    count: u64,
}

impl<'a> Payload<'a> {
    /// The next entry and the event that it belongs to. Entries of an event that was not committed are not given.
    pub fn next_entry(&mut self) -> Result<Option<(u64, Entry<'a>)>, Garbled> {
        while self.rest.is_empty() {
            if !self.next_chunk() {
                return Ok(None);
            }
        }
        let Some(entry) = entry::read(&mut self.context, &mut self.rest)? else { return Ok(None) };
        if self.context.event > self.count && !entry.is_soft() {
            return Ok(None);
        }
        Ok(Some((self.context.event, entry)))
    }

    /// The next rich event.
    pub fn next_rich(&mut self) -> Result<Option<Rich>, Garbled> {
        while self.rest.is_empty() {
            if !self.next_chunk() {
                return Ok(None);
            }
        }
        rich::read(&mut self.rest)
    }

    /// The next line of a part and the event that it belongs to. Lines of an event that was not committed are not given.
    pub fn next_line(&mut self) -> Result<Option<(u64, Line<'a>)>, Garbled> {
        let Some((event, line)) = self.next_line_as_written()? else { return Ok(None) };
        let line = match line {
            Line::Apart { at, length, .. } => Line::Contents(self.apart(at, length)?),
            line => line,
        };
        Ok(Some((event, line)))
    }

    /// The same; contents that stand apart are compared with their checksum. They stand one behind the other, the last one
    /// up to `end`: so a stranger's file cannot make us look at the same bytes again and again.
    fn next_line_checked(&mut self, end: &mut u64) -> Result<Option<()>, Garbled> {
        let Some((_, line)) = self.next_line_as_written()? else { return Ok(None) };
        if let Line::Apart { at, length, crc } = line {
            if at < *end || crc32c(0, self.apart(at, length)?) != crc {
                return Err(Garbled);
            }
            *end = at + length;
        }
        Ok(Some(()))
    }

    fn next_line_as_written(&mut self) -> Result<Option<(u64, Line<'a>)>, Garbled> {
        while self.rest.is_empty() {
            if !self.next_chunk() {
                return Ok(None);
            }
        }
        let Some(line) = part::read(&mut self.context.event, &mut self.rest)? else { return Ok(None) };
        Ok((self.context.event <= self.count).then_some((self.context.event, line)))
    }

    fn apart(&self, at: u64, length: u64) -> Result<&'a [u8], Garbled> {
        let (at, length) = (usize::try_from(at).map_err(|_| Garbled)?, usize::try_from(length).map_err(|_| Garbled)?);
        self.bytes.get(at..).and_then(|bytes| bytes.get(..length)).ok_or(Garbled)
    }

    /// Bytes of contents that do not stand in the chain.
    fn bytes_apart(mut self) -> u64 {
        let mut sum = 0u64;
        while let Ok(Some((_, line))) = self.next_line_as_written() {
            if let Line::Apart { length, .. } = line {
                sum = sum.saturating_add(length);
            }
        }
        sum
    }

    /// Bytes that are still to be read.
    pub fn bytes_left(mut self) -> u64 {
        let mut sum = self.rest.len() as u64;
        while self.next_chunk() {
            sum += self.rest.len() as u64;
        }
        sum
    }

    fn next_chunk(&mut self) -> bool {
        let next = self.chunk.as_ref().and_then(|chunk| walk::next(self.bytes, chunk).ok().flatten());
        self.rest = next.as_ref().map_or(&[], |chunk| chunk.payload);
        self.chunk = next;
        self.chunk.is_some()
    }
}
