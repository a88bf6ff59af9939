//! Everything that comes from outside, as functions of bytes: for the fuzzer, and for the tests below. Not for programs.
//!
//! Law: no bytes make any of these panic, wait, or hold more memory than a few times what came.

use crate::cutter::Cutter;
use crate::frame::{Head, Hello};
use crate::inbox::Inbox;
use crate::noting::Noting;
use crate::proof::{Listening, Opening, Secret, Terms};
use crate::transport::Arrival;
use retake_trace::policy::Method;

/// What a participant has of what came: everything is asked for.
fn drain(inbox: &mut Inbox) {
    inbox.reply("bad", 1);
    inbox.named("bad", 1, 1);
    inbox.listen(Some("bad"));
    while inbox.first(Some("bad")).is_some() {}
    while inbox.first(None).is_some() {}
}

/// What a peer sends on a connection, in pieces of that length.
pub fn stream(bytes: &[u8], step: usize) {
    let (mut cutter, mut inbox) = (Cutter::default(), Inbox::default());
    let mut noting = Noting::new(Method::DEFAULT, 1);
    inbox.calls(1);
    let mut rest = bytes;
    while !rest.is_empty() {
        let some = &rest[..rest.len().min(step.max(1))];
        let Ok(taken) = cutter.take(some, &mut |piece| inbox.take(Arrival::of(0, piece), noting.as_mut())) else {
            break;
        };
        rest = &rest[taken..];
    }
    drain(&mut inbox);
    let _ = (Head::of(bytes), Hello::of(bytes));
}

/// What somebody says before it has proved itself, as a listener and as an opener hears it.
pub fn proof(bytes: &[u8]) {
    let terms = Terms { secret: Secret::default(), group: "default".into(), listener: "me".into() };
    assert!(!Listening::begin().0.judge(&terms, bytes).0, "nobody guesses a proof");
    if let Some((opening, _)) = Opening::answer(&terms, bytes) {
        assert!(!opening.is_proved(&terms, bytes), "nobody guesses a proof");
    }
}

/// What a nats-server says, in pieces of that length.
#[cfg(feature = "nats")]
pub fn nats(bytes: &[u8], step: usize) {
    let mut inbox = Inbox::default();
    crate::nats::hear(bytes, step.max(1), &mut |arrival| inbox.take(arrival, None));
    drain(&mut inbox);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Kind;

    /// Small random numbers, the same in every run of the tests.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, below: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 20) as usize % below
        }

        /// A few bytes are changed, lost, or put in.
        fn spoil(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
            for _ in 0..self.roll(4) {
                let at = self.roll(bytes.len());
                match self.roll(4) {
                    0 => bytes[at] = self.roll(256) as u8,
                    1 => bytes[at] ^= 1 << self.roll(8),
                    2 => bytes.truncate(at + 1),
                    _ => bytes.insert(at, self.roll(256) as u8),
                }
            }
            bytes
        }
    }

    fn framed(frame: &[u8]) -> Vec<u8> {
        [&(frame.len() as u32).to_le_bytes(), frame].concat()
    }

    #[test]
    fn no_peer_brings_a_participant_down() {
        let hello = Hello { name: "bad".into(), host: "host".into(), life: 1, number: 2 }.bytes();
        let frame =
            |kind, seq, stamped| [&Head { kind, seq, id: seq, stamped }.bytes()[..], &[1, 2, 0, 3, 1, 1, 9]].concat();
        let frames = [frame(Kind::Send, 1, true), frame(Kind::Reply, 2, false), frame(Kind::Call, 3, true)];
        let whole: Vec<u8> = [framed(&hello), frames.iter().flat_map(|frame| framed(frame)).collect()].concat();
        let mut dice = Dice(1);
        for _ in 0..2_000 {
            let bytes = dice.spoil(whole.clone());
            stream(&bytes, 1 + dice.roll(40));
            proof(&bytes);
        }
    }

    #[cfg(feature = "nats")]
    #[test]
    fn no_server_brings_a_participant_down() {
        let label = |kind: u8, number: u64| [&[kind][..], &7u64.to_le_bytes(), &number.to_le_bytes()].concat();
        let hello = Hello { name: "bad".into(), host: "host".into(), life: 1, number: 0 }.bytes();
        let head = Head { kind: Kind::Send, seq: 1, id: 1, stamped: false }.bytes();
        let says = |payload: &[u8]| {
            [format!("MSG retake.a.b 1 r {}\r\n", payload.len()).as_bytes(), payload, b"\r\n"].concat()
        };
        let whole = [
            b"INFO {\"max_payload\":100}\r\nPING\r\n".to_vec(),
            says(&[&label(1, 1)[..], &hello].concat()),
            says(&[&label(2, 2)[..], &[1], &head, b"one"].concat()),
            says(&[&label(2, 3)[..], &[2], b"two"].concat()),
            says(&label(3, 4)),
            b"HMSG retake.a.c 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n-ERR 'x'\r\n".to_vec(),
        ]
        .concat();
        let mut dice = Dice(2);
        for _ in 0..2_000 {
            let bytes = dice.spoil(whole.clone());
            nats(&bytes, 1 + dice.roll(100));
        }
    }
}
