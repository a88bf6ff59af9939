//! Frames: what a message looks like on its way, whatever carries it.
//!
//! ```text
//! frame   kind (1)  seq (8)  id (8)  [stamp]  contents
//! hello   "RETAKE1\n"  life (4)  number (4)  name length (1)  name  host
//! ```
//!
//! The highest bit of `kind` says that there is a stamp: what the sender knew of everyone's receives. `seq` counts the frames from this sender to this receiver; `id` is the message's, or the one that is replied to. Hello
//! is what a connection starts with. Everything here may come from a stranger: bad bytes give `None`.

/// The longest contents of a message.
pub const MESSAGE_MAX: usize = 64 << 20;
/// Bytes before the contents.
pub const HEAD: usize = 17;
/// No stamp is longer.
pub const STAMP_MAX: usize = 64;
const STAMPED: u8 = 0x80;
const GREETING: &[u8; 8] = b"RETAKE1\n";
/// The longest name of a participant.
pub const NAME_MAX: usize = 64;
/// The longest name of a host.
const HOST_MAX: usize = 255;
/// The longest hello.
pub const HELLO_MAX: usize = 17 + NAME_MAX + HOST_MAX;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Send = 1,
    Call = 2,
    Reply = 3,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    pub seq: u64,
    pub id: u64,
    /// A stamp follows.
    pub stamped: bool,
}

impl Head {
    pub fn bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[0] = self.kind as u8 | if self.stamped { STAMPED } else { 0 };
        bytes[1..9].copy_from_slice(&self.seq.to_le_bytes());
        bytes[9..].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    /// Reads the head at the start of a frame.
    pub fn of(frame: &[u8]) -> Option<Head> {
        let (&kind, rest) = frame.split_first()?;
        let stamped = kind & STAMPED != 0;
        let kind = match kind & !STAMPED {
            1 => Kind::Send,
            2 => Kind::Call,
            3 => Kind::Reply,
            _ => return None,
        };
        let (seq, rest) = rest.split_first_chunk::<8>()?;
        let (id, _) = rest.split_first_chunk::<8>()?;
        Some(Head { kind, seq: u64::from_le_bytes(*seq), id: u64::from_le_bytes(*id), stamped })
    }
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    pub name: String,
    pub host: String,
    /// Which of those who had this name one after the other.
    pub life: u32,
    /// Its number among all who meet, counted from 1; 0 if nobody has counted.
    pub number: u32,
}

impl Hello {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = GREETING.to_vec();
        bytes.extend(self.life.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.push(self.name.len() as u8);
        bytes.extend(self.name.as_bytes());
        bytes.extend(&self.host.as_bytes()[..self.host.len().min(HOST_MAX)]);
        bytes
    }

    pub fn of(bytes: &[u8]) -> Option<Hello> {
        let rest = bytes.strip_prefix(GREETING)?;
        let (life, rest) = rest.split_first_chunk::<4>()?;
        let (number, rest) = rest.split_first_chunk::<4>()?;
        let (&length, rest) = rest.split_first()?;
        let (name, host) = rest.split_at_checked(length.into())?;
        let (name, host) = (str::from_utf8(name).ok()?, str::from_utf8(host).ok()?);
        let good = is_name(name) && host.len() <= HOST_MAX && !host.chars().any(char::is_control);
        let (life, number) = (u32::from_le_bytes(*life), u32::from_le_bytes(*number));
        good.then(|| Hello { name: name.into(), host: host.into(), life, number })
    }
}

/// Whether a participant may have this name: it is a file's name as well, and a part of a subject.
pub fn is_name(name: &str) -> bool {
    let good = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
    (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let head = Head { kind: Kind::Call, seq: 1 << 60, id: 77, stamped: true };
        assert_eq!(Head::of(&head.bytes()), Some(head));
        assert_eq!(Head::of(&head.bytes()[..16]), None);
        assert_eq!(Head::of(&[9; HEAD]), None);
        let hello = Hello { name: "client1".into(), host: "here".into(), life: 2, number: 3 };
        assert_eq!(Hello::of(&hello.bytes()), Some(hello.clone()));
        for cut in 0..hello.bytes().len() - 4 {
            assert_eq!(Hello::of(&hello.bytes()[..cut]), None);
        }
    }

    #[test]
    fn names_are_files() {
        for good in ["a", "client-1", "x.y", &"n".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", ".x", "a/b", "a b", "ä", "a*", &"n".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
