//! What the fuzz targets share: reading everything there is, and a first page that lets bytes in.

use retake_tape::layout::{HEADER_SIZE, MAGIC, MAJOR, ProcessHeader, kind};
use retake_tape::reader::Tape;
use retake_tape::walk::Fault;
use std::mem::offset_of;

/// Reads all that can be read of a tape.
pub fn read_all(bytes: &[u8]) -> Result<u64, Fault> {
    let tape = Tape::new(bytes.to_vec())?;
    let mut seen = tape.events().wrapping_add(tape.bytes_used()).wrapping_add(tape.name().len() as u64);
    for thread in &tape.threads {
        let mut payload = tape.payload(thread);
        if tape.header.kind == kind::TAPE {
            while let Some((event, _)) = payload.next_entry().expect("an accepted tape reads to its end") {
                seen = seen.wrapping_add(event);
            }
        } else {
            while let Some(rich) = payload.next_rich().expect("an accepted tape reads to its end") {
                seen = seen.wrapping_add(rich.sequence);
            }
        }
    }
    Ok(seen)
}

/// `data` as a file that is not sealed: its first bytes become fields of the first page, the rest the chunks. A fuzzer
/// would need long to guess a magic number and a checksum; what lies behind them is what needs the fuzzing.
pub fn dressed(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_SIZE as usize];
    let (fields, chunks) = data.split_at(data.len().min(16));
    let mut field = |at: usize, from: usize, length: usize| {
        if let Some(value) = fields.get(from..from + length) {
            bytes[at..at + length].copy_from_slice(value);
        }
    };
    field(offset_of!(ProcessHeader, kind), 0, 1);
    field(offset_of!(ProcessHeader, name_len), 1, 1);
    // So many threads that a circle of them shows, not so many that it takes for ever.
    field(offset_of!(ProcessHeader, threads), 2, 2);
    field(offset_of!(ProcessHeader, last_thread), 4, 3);
    field(offset_of!(ProcessHeader, next_free), 8, 8);
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    let major = offset_of!(ProcessHeader, major);
    bytes[major..major + 2].copy_from_slice(&MAJOR.to_le_bytes());
    bytes.extend_from_slice(chunks);
    bytes
}
