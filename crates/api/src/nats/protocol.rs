//! The lines of the NATS protocol, read from a server and written to it.
//!
//! ```text
//! INFO {json}      MSG subject sid [reply] bytes      HMSG subject sid [reply] header-bytes bytes      PING  PONG  +OK  -ERR 'words'
//! ```
//!
//! Law: no bytes make the reader panic, and a length that lies costs no memory: room is made for what has come.

use crate::frame::{HEAD, MESSAGE_MAX, STAMP_MAX};

/// The longest line: what a server of a large cluster tells of itself.
const LINE_MAX: usize = 256 << 10;
/// The longest payload that is taken.
const PAYLOAD_MAX: usize = HEAD + STAMP_MAX + MESSAGE_MAX + (64 << 10);

/// What the server says.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// What it is, as JSON.
    Info(Vec<u8>),
    Message {
        subject: String,
        reply: Option<String>,
        payload: Vec<u8>,
    },
    /// Nobody listens to what was published with this reply.
    Nobody {
        subject: String,
    },
    Ping,
    Pong,
    /// An error, in its words.
    Refused(String),
}

/// Bytes that no server says.
#[derive(Debug, PartialEq, Eq)]
pub struct Garbage;

/// Cuts what comes from a server into what it says.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: Vec<u8>,
    /// Up to here it has been read.
    start: usize,
    /// No end of a line lies before this.
    looked: usize,
}

impl Reader {
    /// Takes bytes, and gives all that is whole to `sink`.
    pub fn take(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Said)) -> Result<(), Garbage> {
        self.buffer.extend_from_slice(bytes);
        while let Some(said) = self.next()? {
            said.into_iter().for_each(&mut *sink);
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.looked = self.looked.saturating_sub(self.start);
            self.start = 0;
        }
        Ok(())
    }

    /// The next thing that is whole: `Some(None)` is a line that says nothing.
    fn next(&mut self) -> Result<Option<Option<Said>>, Garbage> {
        let from = self.looked.max(self.start);
        let rest = &self.buffer[from..];
        let Some(end) = rest.windows(2).position(|two| two == b"\r\n").map(|at| from + at) else {
            self.looked = self.buffer.len().saturating_sub(1).max(self.start);
            return if self.buffer.len() - self.start > LINE_MAX { Err(Garbage) } else { Ok(None) };
        };
        self.looked = end;
        let line = str::from_utf8(&self.buffer[self.start..end]).map_err(|_| Garbage)?;
        let (word, words) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let words = words.trim();
        let said = match word.to_ascii_uppercase().as_str() {
            "PING" => Said::Ping,
            "PONG" => Said::Pong,
            "INFO" => Said::Info(words.as_bytes().to_vec()),
            "-ERR" => Said::Refused(words.trim_matches('\'').into()),
            "+OK" | "" => {
                self.start = end + 2;
                return Ok(Some(None));
            }
            "MSG" | "HMSG" => {
                let headers = word.len() == 4;
                let Some((said, after)) = message(words, headers, &self.buffer[end + 2..])? else { return Ok(None) };
                self.start = end + 2 + after;
                return Ok(Some(Some(said)));
            }
            _ => return Err(Garbage),
        };
        self.start = end + 2;
        Ok(Some(Some(said)))
    }
}

/// A message whose line has these words, if all of it is there; and how many bytes it takes behind its line.
fn message(words: &str, headers: bool, rest: &[u8]) -> Result<Option<(Said, usize)>, Garbage> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let sizes = if headers { 2 } else { 1 };
    // The subject, the subscription, perhaps a reply, the sizes.
    let with_reply = match words.len().checked_sub(2 + sizes) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(Garbage),
    };
    let size = |at: usize| words[words.len() - at].parse::<usize>().map_err(|_| Garbage);
    let whole = size(1)?;
    let head = if headers { size(2)? } else { 0 };
    if whole > PAYLOAD_MAX || head > whole {
        return Err(Garbage);
    }
    let Some(body) = rest.get(..whole + 2) else { return Ok(None) };
    if &body[whole..] != b"\r\n" {
        return Err(Garbage);
    }
    let subject = words[0].to_owned();
    let status = body[..head].strip_prefix(b"NATS/1.0 ").and_then(|status| status.get(..3));
    let said = if status == Some(b"503") {
        Said::Nobody { subject }
    } else {
        let reply = with_reply.then(|| words[2].to_owned());
        Said::Message { subject, reply, payload: body[head..whole].to_vec() }
    };
    Ok(Some((said, whole + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALK: &[u8] = b"INFO {\"max_payload\":1048576}\r\n+OK\r\nMSG a.b 1 5\r\nhello\r\nPING\r\n\
        MSG a.b 1 x.y 0\r\n\r\nHMSG a.c 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\nHMSG a.d 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n\
        -ERR 'Authorization Violation'\r\nPONG\r\n";

    fn read(step: usize) -> Result<Vec<Said>, Garbage> {
        let (mut reader, mut all) = (Reader::default(), Vec::new());
        for bytes in TALK.chunks(step) {
            reader.take(bytes, &mut |said| all.push(said))?;
        }
        assert!(reader.buffer.is_empty());
        Ok(all)
    }

    #[test]
    fn any_cut_gives_the_same() {
        let all = read(usize::MAX).unwrap();
        let message = |subject: &str, reply: Option<&str>, payload: &[u8]| Said::Message {
            subject: subject.into(),
            reply: reply.map(Into::into),
            payload: payload.into(),
        };
        let expected = [
            Said::Info(b"{\"max_payload\":1048576}".to_vec()),
            message("a.b", None, b"hello"),
            Said::Ping,
            message("a.b", Some("x.y"), b""),
            Said::Nobody { subject: "a.c".into() },
            message("a.d", Some("r"), b"hi"),
            Said::Refused("Authorization Violation".into()),
            Said::Pong,
        ];
        assert_eq!(all, expected);
        for step in 1..40 {
            assert_eq!(read(step).unwrap(), all, "step {step}");
        }
    }

    #[test]
    fn what_no_server_says_is_refused() {
        let cases: [&[u8]; 9] = [
            b"HTTP/1.1 400 Bad Request\r\n",
            b"MSG a 1\r\n",
            b"MSG a 1 b c 5\r\n",
            b"MSG a 1 -5\r\n",
            b"MSG a 1 99999999999\r\n",
            b"MSG a 1 2\r\nhello\r\n",
            b"HMSG a 1 9 5\r\nhello\r\n",
            b"\xff\xfe\r\n",
            b"HMSG a 1 b c 5 9\r\n",
        ];
        for bytes in cases {
            assert_eq!(Reader::default().take(bytes, &mut |_| {}), Err(Garbage), "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(Reader::default().take(&vec![b'x'; LINE_MAX + 1], &mut |_| {}), Err(Garbage));
        let mut reader = Reader::default();
        reader.take(b"MSG a 1 60000000\r\n", &mut |_| {}).unwrap();
        assert!(reader.buffer.capacity() < 1000, "a length alone costs nothing");
    }
}
