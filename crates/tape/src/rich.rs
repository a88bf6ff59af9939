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
pub const ROOM: usize = 16 * (6 + PCS);

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
    /// Call addresses, innermost first; 0 behind the last.
    pub pcs: [u64; PCS],
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
        to.add(1).write(deep as u8);
        let mut to = put(to.add(2), rich.sequence);
        to = put(to, rich.event);
        to = put(to, rich.object);
        to = put(to, rich.version);
        to = put(to, zigzag(rich.result));
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
    let (op, deep, mut rest) = (Op::from_number(*op).ok_or(Garbled)?, usize::from(*deep), rest);
    let mut number = || -> Result<u64, Garbled> {
        let (value, length) = get(rest).ok_or(Garbled)?;
        rest = &rest[length..];
        Ok(value)
    };
    let (sequence, event, object, version) = (number()?, number()?, number()?, number()?);
    let mut rich = Rich { sequence, op, event, object, version, result: unzigzag(number()?), pcs: [0; PCS] };
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
        let rich = Rich {
            sequence: 7,
            op: Op::MutexLock,
            event: 3,
            object: 0x7fff_0000_1234,
            version: 12,
            result: -4,
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
