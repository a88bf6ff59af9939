//! Rich events: everything that a person wants to see of an operation, in the order in which it happened.
//!
//! Gathered by a replay (or by `record --rich`), never while recording lightly. The container is the tape's: chunks in
//! chains, one chain a thread; only the payload differs.

use crate::entry::Garbled;
use crate::op::Op;
use crate::varint::{get, put, unzigzag, zigzag};

/// Call addresses kept for each event.
pub const PCS: usize = 6;
/// The result of an operation that the thread was about to wait for. If it is the thread's last, it waited for ever.
pub const WAITS: i64 = i64::MIN + 1;
/// Room that any rich event needs.
pub const ROOM: usize = 16 * (11 + PCS);
/// Instead of the address of a communicator: MPI's own two.
pub const COMM_WORLD: u64 = 1;
pub const COMM_SELF: u64 = 2;
/// In the depth: a message follows.
const HAS_MESSAGE: u8 = 0x80;

/// What a receive got, or a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// See [`crate::matches::calls`].
    pub call: u8,
    /// Its number among its thread's receives from anyone, or none if its source was given.
    pub open: Option<u64>,
    pub source: i32,
    pub tag: i32,
    /// Elements, where that is known.
    pub count: Option<u64>,
}

/// One operation, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rich {
    /// Its place in one order of the whole process in which everything could have happened.
    pub sequence: u64,
    pub op: Op,
    /// The number of the event on its thread's tape, or 0 if the operation is not an event (an unlock).
    pub event: u64,
    /// Address of the object, or 0.
    pub object: u64,
    /// The object's version, where it has one.
    pub version: u64,
    pub result: i64,
    /// What was received, in MPI.
    pub message: Option<Message>,
    /// Call addresses, innermost first; 0 behind the last.
    pub pcs: [u64; PCS],
}

fn from_option(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value.saturating_add(1))
}

/// Writes `rich` at `to` and returns the position behind it.
///
/// # Safety
/// `to` must be valid for writes of [`ROOM`] bytes.
pub unsafe fn write(to: *mut u8, rich: &Rich) -> *mut u8 {
    let deep = rich.pcs.iter().take_while(|pc| **pc != 0).count();
    // SAFETY: the caller gives the room.
    unsafe {
        to.write(rich.op as u8);
        to.add(1).write(deep as u8 | if rich.message.is_some() { HAS_MESSAGE } else { 0 });
        let mut to = put(to.add(2), rich.sequence);
        to = put(to, rich.event);
        to = put(to, rich.object);
        to = put(to, rich.version);
        to = put(to, zigzag(rich.result));
        if let Some(message) = &rich.message {
            to = put(to, message.call.into());
            to = put(to, from_option(message.open));
            to = put(to, zigzag(message.source.into()));
            to = put(to, zigzag(message.tag.into()));
            to = put(to, from_option(message.count));
        }
        for &pc in &rich.pcs[..deep] {
            to = put(to, pc);
        }
        to
    }
}

/// Takes the first rich event off `from`.
pub fn read(from: &mut &[u8]) -> Result<Option<Rich>, Garbled> {
    if from.is_empty() {
        return Ok(None);
    }
    let [op, deep, rest @ ..] = *from else { return Err(Garbled) };
    let (has_message, deep) = (deep & HAS_MESSAGE != 0, usize::from(deep & !HAS_MESSAGE));
    let (op, mut rest) = (Op::from_number(*op).ok_or(Garbled)?, rest);
    let mut number = || -> Result<u64, Garbled> {
        let (value, length) = get(rest).ok_or(Garbled)?;
        rest = &rest[length..];
        Ok(value)
    };
    let (sequence, event, object, version) = (number()?, number()?, number()?, number()?);
    let result = unzigzag(number()?);
    let mut rich = Rich { sequence, op, event, object, version, result, message: None, pcs: [0; PCS] };
    if has_message {
        rich.message = Some(Message {
            call: number()? as u8,
            open: number()?.checked_sub(1),
            source: unzigzag(number()?) as i32,
            tag: unzigzag(number()?) as i32,
            count: number()?.checked_sub(1),
        });
    }
    for pc in rich.pcs.get_mut(..deep).ok_or(Garbled)? {
        *pc = number()?;
    }
    *from = rest;
    Ok(Some(rich))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let message = Message { call: 4, open: Some(0), source: -2, tag: 1 << 30, count: None };
        for message in [None, Some(message), Some(Message { open: None, count: Some(0), ..message })] {
            let rich = Rich {
                sequence: 7,
                op: Op::MutexLock,
                event: 3,
                object: 0x7fff_0000_1234,
                version: 12,
                result: -4,
                message,
                pcs: [0x55_5555_0001, 0x55_5555_0002, 0, 0, 0, 0],
            };
            let mut room = [0u8; ROOM];
            let start = room.as_mut_ptr();
            // SAFETY: the room is ROOM bytes long.
            let end = unsafe { write(start, &rich) };
            let mut from = &room[..end as usize - start as usize];
            assert_eq!(read(&mut from), Ok(Some(rich)));
            assert_eq!(read(&mut from), Ok(None));
        }
    }
}
