//! Lines of a part: what one participant of the `retake` library sent, received, read and wrote, in its own order.
//!
//! The container is the tape's: one file for each participant, one chain of chunks; only the payload differs.
//!
//! ```text
//! line      kind  varint(event distance)  varint(payload length)  payload
//! ```
//!
//! A line belongs to an event of its participant. [`Line::Contents`] belongs to the line before it. Kinds that a reader
//! does not know are passed over by their length.
//!
//! Many bytes stand apart from the chain, at the start of a page, so that they can be written without a fault for each page
//! ([`Line::Apart`]); [`Payload`](crate::reader::Payload) gives them as if they stood in the line.

use crate::entry::Garbled;
use crate::varint::{SLACK, get, put, put_small};

/// Room that any line needs besides its byte strings.
pub const ROOM: usize = 8 * SLACK;

mod kind {
    pub const FACT: u8 = 1;
    pub const PARTNER: u8 = 2;
    pub const FOUND: u8 = 3;
    pub const RECEIVED: u8 = 4;
    pub const REPLY: u8 = 5;
    pub const SENT: u8 = 6;
    pub const NOTHING: u8 = 7;
    pub const FAILED: u8 = 8;
    pub const OBJECT: u8 = 9;
    pub const READ: u8 = 10;
    pub const WROTE: u8 = 11;
    pub const VALUE: u8 = 12;
    pub const CONTENTS: u8 = 13;
    pub const TAKEN: u8 = 14;
    pub const LATE: u8 = 15;
    pub const ONLY: u8 = 16;
    pub const APART: u8 = 0x40;
}

/// Kinds of [`Line::Fact`].
pub mod fact {
    /// The command line of the participant's process, arguments separated by zero bytes.
    pub const COMMAND: u8 = 1;
    /// The directory it was started in.
    pub const DIRECTORY: u8 = 2;
    /// The program's file.
    pub const PROGRAM: u8 = 3;
    /// The process's name in the tree of creations, if the shim was there.
    pub const PROCESS: u8 = 4;
    /// One byte: 1 if contents are kept.
    pub const FULL: u8 = 5;
    /// By which method it was decided which receives have a line; every receive has one if this is missing.
    pub const TRACE: u8 = 6;
    /// How many messages were sent with a stamp, and how long these were together: two numbers of eight bytes.
    pub const STAMPS: u8 = 7;
    /// The part begins behind this event, eight bytes: a sleeping copy of the process stands there.
    pub const CHECKPOINT: u8 = 8;
}

/// How a message was sent.
pub mod sent {
    pub const SEND: u8 = 0;
    pub const CALL: u8 = 1;
    pub const REPLY: u8 = 2;
}

/// Kinds of [`Line::Value`].
pub mod value {
    /// Nanoseconds of a clock, eight bytes.
    pub const CLOCK: u8 = 1;
    pub const RANDOM: u8 = 2;
    pub const INPUT: u8 = 3;
}

/// Numbers of [`Line::Failed`].
pub mod failed {
    /// Nobody of that name is there.
    pub const NOT_THERE: u64 = 1;
    /// The partner is gone.
    pub const GONE: u64 = 2;
    /// The way to the partner lost a message.
    pub const GAP: u64 = 3;
    /// What carries messages failed; the contents say how.
    pub const TRANSPORT: u64 = 4;
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Something worth knowing of the participant.
    Fact(u8, &'a [u8]),
    /// From here on, `index` means this partner; `life` tells apart those who had the name one after the other.
    Partner { index: u32, life: u32, name: &'a [u8], host: &'a [u8] },
    /// A partner was looked for and found.
    Found(u32),
    /// A message was received: the `seq`-th from that partner to this participant.
    Received { from: u32, seq: u64, id: u64, call: bool },
    /// The reply to this participant's message `id`.
    Reply { from: u32, id: u64 },
    /// A message was sent (full capture only): how, and what of its contents replay-one compares.
    Sent { to: u32, how: u8, id: u64, length: u64, crc: u32 },
    /// So many receives in a row found nothing in their time; each was an event.
    Nothing(u32),
    /// The operation failed.
    Failed(u64),
    /// From here on, `index` means the shared object of this name.
    Object { index: u32, name: &'a [u8] },
    /// A shared object was read at this version.
    Read { object: u32, version: u64 },
    /// A shared object was written: the version that was found, and how many had read it.
    Wrote { object: u32, version: u64, readers: u64 },
    /// A value from outside.
    Value(u8, &'a [u8]),
    /// Receives without a line have taken messages of that partner, the last of them this one.
    Taken { from: u32, seq: u64 },
    /// What [`Line::Received`] says, of an event so far back: it was decided late that it must be known.
    Late { back: u64, from: u32, seq: u64, id: u64, call: bool },
    /// The receive whose line follows would have taken a message from this partner only.
    Only(u32),
    /// The contents of the line before.
    Contents(&'a [u8]),
    /// The contents of the line before stand at this position of the file, with this checksum.
    Apart { at: u64, length: u64, crc: u32 },
    /// A kind that this build does not know.
    Unknown(u8),
}

impl Line<'_> {
    fn kind(&self) -> u8 {
        match self {
            Line::Fact(..) => kind::FACT,
            Line::Partner { .. } => kind::PARTNER,
            Line::Found(_) => kind::FOUND,
            Line::Received { .. } => kind::RECEIVED,
            Line::Reply { .. } => kind::REPLY,
            Line::Sent { .. } => kind::SENT,
            Line::Nothing(_) => kind::NOTHING,
            Line::Failed(_) => kind::FAILED,
            Line::Object { .. } => kind::OBJECT,
            Line::Read { .. } => kind::READ,
            Line::Wrote { .. } => kind::WROTE,
            Line::Value(..) => kind::VALUE,
            Line::Contents(_) => kind::CONTENTS,
            Line::Apart { .. } => kind::APART,
            Line::Taken { .. } => kind::TAKEN,
            Line::Late { .. } => kind::LATE,
            Line::Only(_) => kind::ONLY,
            Line::Unknown(kind) => *kind,
        }
    }

    /// Room that this line needs.
    pub fn room(&self) -> usize {
        ROOM + match self {
            Line::Fact(_, bytes) | Line::Value(_, bytes) | Line::Contents(bytes) => bytes.len(),
            Line::Partner { name, host, .. } => name.len() + host.len(),
            Line::Object { name, .. } => name.len(),
            _ => 0,
        }
    }

    /// Writes the line at `to`, `distance` events behind the line before, and returns the position behind it.
    ///
    /// # Safety
    /// `to` must be valid for writes of [`Line::room`] bytes.
    pub unsafe fn write(&self, to: *mut u8, distance: u64) -> *mut u8 {
        // SAFETY: the caller gives the room for the numbers and for the bytes.
        unsafe {
            let head = put_small(byte(to, self.kind()), distance);
            // Behind a length of one byte, which almost all have.
            let start = head.add(1);
            let (end, strings): (*mut u8, [&[u8]; 2]) = match *self {
                Line::Fact(what, bytes) | Line::Value(what, bytes) => (byte(start, what), [bytes, &[]]),
                Line::Partner { index, life, name, host } => {
                    let end = put(put(put(start, index.into()), life.into()), name.len() as u64);
                    (end, [name, host])
                }
                Line::Found(index) | Line::Only(index) => (put(start, index.into()), [&[], &[]]),
                Line::Received { from, seq, id, call } => {
                    (put(put(put(start, u64::from(from) << 1 | u64::from(call)), seq), id), [&[], &[]])
                }
                Line::Reply { from, id } => (put(put(start, from.into()), id), [&[], &[]]),
                Line::Sent { to, how, id, length, crc } => {
                    (put(put(put(put(byte(start, how), to.into()), id), length), crc.into()), [&[], &[]])
                }
                // Four whole bytes, so that the number can be raised in place.
                Line::Nothing(times) => {
                    start.cast::<u32>().write_unaligned(times.to_le());
                    (start.add(4), [&[], &[]])
                }
                Line::Failed(code) => (put(start, code), [&[], &[]]),
                Line::Object { index, name } => (put(start, index.into()), [name, &[]]),
                Line::Read { object, version } => (put(put_small(start, object.into()), version), [&[], &[]]),
                Line::Wrote { object, version, readers } => {
                    (put_small(put(put_small(start, object.into()), version), readers), [&[], &[]])
                }
                // Eight whole bytes, so that the number can be raised in place.
                Line::Taken { from, seq } => {
                    let end = put(start, from.into());
                    end.cast::<u64>().write_unaligned(seq.to_le());
                    (end.add(8), [&[], &[]])
                }
                Line::Late { back, from, seq, id, call } => {
                    (put(put(put(put(start, back), u64::from(from) << 1 | u64::from(call)), seq), id), [&[], &[]])
                }
                Line::Contents(bytes) => (start, [bytes, &[]]),
                Line::Apart { at, length, crc } => (put(put(put(start, at), length), crc.into()), [&[], &[]]),
                Line::Unknown(_) => (start, [&[], &[]]),
            };
            let length = end as usize - start as usize;
            let whole = length + strings[0].len() + strings[1].len();
            let mut to = end;
            if whole < 1 << 7 {
                head.write((whole as u8) << 1 | 1);
            } else {
                let mut numbers = [0u8; ROOM];
                core::ptr::copy_nonoverlapping(start, numbers.as_mut_ptr(), length);
                let start = put(head, whole as u64);
                core::ptr::copy_nonoverlapping(numbers.as_ptr(), start, length);
                to = start.add(length);
            }
            for string in strings.into_iter().filter(|string| !string.is_empty()) {
                core::ptr::copy_nonoverlapping(string.as_ptr(), to, string.len());
                to = to.add(string.len());
            }
            to
        }
    }
}

unsafe fn byte(to: *mut u8, value: u8) -> *mut u8 {
    // SAFETY: the caller gives the room.
    unsafe {
        to.write(value);
        to.add(1)
    }
}

/// Takes the first line off `from`; `event` is raised to the event that it belongs to.
pub fn read<'a>(event: &mut u64, from: &mut &'a [u8]) -> Result<Option<Line<'a>>, Garbled> {
    let Some((&kind, rest)) = from.split_first() else { return Ok(None) };
    let mut cursor = Cursor(rest);
    let now = event.checked_add(cursor.number()?).ok_or(Garbled)?;
    let length = usize::try_from(cursor.number()?).map_err(|_| Garbled)?;
    let (payload, rest) = cursor.0.split_at_checked(length).ok_or(Garbled)?;
    let line = payload_of(kind, Cursor(payload))?;
    *event = now;
    *from = rest;
    Ok(Some(line))
}

fn payload_of(kind: u8, mut from: Cursor<'_>) -> Result<Line<'_>, Garbled> {
    Ok(match kind {
        kind::FACT => Line::Fact(from.byte()?, from.0),
        kind::PARTNER => {
            let (index, life) = (from.small()?, from.small()?);
            let length = usize::try_from(from.number()?).map_err(|_| Garbled)?;
            let (name, host) = from.0.split_at_checked(length).ok_or(Garbled)?;
            Line::Partner { index, life, name, host }
        }
        kind::FOUND => Line::Found(from.small()?),
        kind::RECEIVED => {
            let first = from.number()?;
            let sender = u32::try_from(first >> 1).map_err(|_| Garbled)?;
            Line::Received { from: sender, seq: from.number()?, id: from.number()?, call: first & 1 == 1 }
        }
        kind::REPLY => Line::Reply { from: from.small()?, id: from.number()? },
        kind::SENT => {
            let (how, to) = (from.byte()?, from.small()?);
            Line::Sent { to, how, id: from.number()?, length: from.number()?, crc: from.small()? }
        }
        kind::NOTHING => Line::Nothing(u32::from_le_bytes(from.0.try_into().map_err(|_| Garbled)?)),
        kind::FAILED => Line::Failed(from.number()?),
        kind::OBJECT => Line::Object { index: from.small()?, name: from.0 },
        kind::READ => Line::Read { object: from.small()?, version: from.number()? },
        kind::WROTE => Line::Wrote { object: from.small()?, version: from.number()?, readers: from.number()? },
        kind::VALUE => Line::Value(from.byte()?, from.0),
        kind::TAKEN => {
            Line::Taken { from: from.small()?, seq: u64::from_le_bytes(from.0.try_into().map_err(|_| Garbled)?) }
        }
        kind::ONLY => Line::Only(from.small()?),
        kind::LATE => {
            let (back, first) = (from.number()?, from.number()?);
            let sender = u32::try_from(first >> 1).map_err(|_| Garbled)?;
            Line::Late { back, from: sender, seq: from.number()?, id: from.number()?, call: first & 1 == 1 }
        }
        kind::CONTENTS => Line::Contents(from.0),
        kind::APART => Line::Apart { at: from.number()?, length: from.number()?, crc: from.small()? },
        other => Line::Unknown(other),
    })
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn number(&mut self) -> Result<u64, Garbled> {
        let (value, length) = get(self.0).ok_or(Garbled)?;
        self.0 = &self.0[length..];
        Ok(value)
    }

    fn small(&mut self) -> Result<u32, Garbled> {
        u32::try_from(self.number()?).map_err(|_| Garbled)
    }

    fn byte(&mut self) -> Result<u8, Garbled> {
        let (first, rest) = self.0.split_first().ok_or(Garbled)?;
        self.0 = rest;
        Ok(*first)
    }
}

/// A line as a person reads it; the two functions name partners and objects by their numbers.
#[cfg(feature = "std")]
pub fn words(line: &Line<'_>, partner: &dyn Fn(u32) -> String, object: &dyn Fn(u32) -> String) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match line {
        Line::Fact(fact::COMMAND, bytes) => format!("command {}", text(bytes).replace('\0', " ")),
        Line::Fact(fact::DIRECTORY, bytes) => format!("started in {}", text(bytes)),
        Line::Fact(fact::PROGRAM, bytes) => format!("program {}", text(bytes)),
        Line::Fact(fact::PROCESS, bytes) => format!("process {}", text(bytes)),
        Line::Fact(fact::FULL, bytes) => format!("contents {}", if *bytes == [1] { "kept" } else { "not kept" }),
        Line::Fact(fact::TRACE, bytes) => format!("receives traced by {}", text(bytes)),
        Line::Fact(fact::STAMPS, bytes) => {
            let number = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            format!("{} messages were sent with {} bytes of stamps", number(0), number(8.min(bytes.len())))
        }
        Line::Fact(fact::CHECKPOINT, bytes) => {
            let event = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            format!("begins at the checkpoint behind event {event}")
        }
        Line::Fact(what, bytes) => format!("fact {what}, {} bytes", bytes.len()),
        Line::Partner { life, name, host, .. } => {
            let again = if *life > 1 { format!(" (its life {life})") } else { String::new() };
            let on = if host.is_empty() { "" } else { " on " };
            format!("partner {}{again}{on}{}", text(name), text(host))
        }
        Line::Found(index) => format!("found {}", partner(*index)),
        Line::Received { from, seq, id, call } => {
            let kind = if *call { "call" } else { "message" };
            format!("received {kind} {id} from {}, its {seq}. to here", partner(*from))
        }
        Line::Reply { from, id } => format!("reply from {} to message {id}", partner(*from)),
        Line::Sent { to, how, id, length, .. } => {
            let verbs = ["sent message", "called with message", "replied to message"];
            let how = verbs.get(usize::from(*how)).unwrap_or(&"sent");
            format!("{how} {id}, {length} bytes, to {}", partner(*to))
        }
        Line::Nothing(1) => "nothing came in time".into(),
        Line::Nothing(times) => format!("nothing came in time, {times} times"),
        Line::Failed(failed::NOT_THERE) => "failed: nobody of that name".into(),
        Line::Failed(failed::GONE) => "failed: the partner is gone".into(),
        Line::Failed(failed::GAP) => "failed: a message was lost".into(),
        Line::Failed(failed::TRANSPORT) => "failed: what carries messages failed".into(),
        Line::Failed(code) => format!("failed: {code}"),
        Line::Object { name, .. } => format!("object {}", text(name)),
        Line::Read { object: index, version } => format!("read object {} version {version}", object(*index)),
        Line::Wrote { object: index, version, readers } => {
            format!("wrote object {} version {version}, {readers} had read it", object(*index))
        }
        Line::Value(value::CLOCK, bytes) => {
            let ns = (*bytes).try_into().map_or(0, i64::from_le_bytes);
            format!("clock {}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
        }
        Line::Value(value::RANDOM, bytes) => format!("{} random bytes", bytes.len()),
        Line::Value(value::INPUT, bytes) => format!("{} bytes of input", bytes.len()),
        Line::Value(what, bytes) => format!("value {what}, {} bytes", bytes.len()),
        Line::Taken { from, seq } => format!("received until here up to the {seq}. from {}", partner(*from)),
        Line::Only(index) => format!("from {} only:", partner(*index)),
        Line::Late { back, from, seq, id, .. } => {
            format!("{back} events ago: received message {id} from {}, its {seq}. to here", partner(*from))
        }
        Line::Contents(bytes) => format!("{} bytes: {}", bytes.len(), excerpt(bytes)),
        Line::Apart { at, length, .. } => format!("{length} bytes at position {at}"),
        Line::Unknown(kind) => format!("line of a newer kind ({kind})"),
    }
}

/// The start of some bytes, as text where they are text.
#[cfg(feature = "std")]
fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 200;
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let dots = if bytes.len() > SHOWN { "…" } else { "" };
    let is_text = shown.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | 0x80..));
    match str::from_utf8(shown) {
        Ok(text) if is_text => format!("{}{dots}", text.escape_debug()),
        _ => {
            let hex: std::string::String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{dots}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let lines = [
            Line::Fact(fact::COMMAND, b"a\0b"),
            Line::Partner { index: 3, life: 1, name: b"server", host: b"here" },
            Line::Partner { index: 1 << 20, life: 300, name: &[b'n'; 120], host: b"here" },
            Line::Value(value::INPUT, &[1; 127]),
            Line::Found(3),
            Line::Received { from: 3, seq: 1 << 40, id: 7, call: true },
            Line::Contents(b"some bytes"),
            Line::Reply { from: 0, id: u64::MAX },
            Line::Sent { to: 1, how: sent::CALL, id: 2, length: 64 << 20, crc: u32::MAX },
            Line::Nothing(9),
            Line::Failed(failed::GONE),
            Line::Object { index: 0, name: b"Number" },
            Line::Read { object: 0, version: 11 },
            Line::Wrote { object: 0, version: 12, readers: 2 },
            Line::Value(value::CLOCK, &[1; 8]),
            Line::Taken { from: 2, seq: 1 << 50 },
            Line::Only(3),
            Line::Late { back: 63, from: 2, seq: 9, id: 8, call: true },
            Line::Apart { at: 1 << 33, length: 64 << 20, crc: u32::MAX },
        ];
        let mut room = vec![0u8; 4096];
        let start = room.as_mut_ptr();
        let mut to = start;
        for (at, line) in lines.iter().enumerate() {
            // SAFETY: the room is long enough for all of them.
            to = unsafe { line.write(to, at as u64) };
        }
        let used = to as usize - start as usize;
        let mut from = &room[..used];
        let (mut event, mut expected) = (0, 0);
        for (at, line) in lines.iter().enumerate() {
            expected += at as u64;
            assert_eq!(read(&mut event, &mut from), Ok(Some(*line)));
            assert_eq!(event, expected);
        }
        assert_eq!(read(&mut event, &mut from), Ok(None));
        for cut in 1..20 {
            let (mut event, mut from) = (0, &room[..cut]);
            while let Ok(Some(_)) = read(&mut event, &mut from) {}
        }
    }
}
