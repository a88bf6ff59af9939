//! How two participants prove to each other, before the first frame, that they know the same secret.
//!
//! ```text
//! listener   "RETAKE-PROOF-1\n\0"  challenge (32)
//! opener     "RETAKE-PROOF-1\n\0"  challenge (32)  proof (32)
//! listener   'Y'                   proof (32)            or 'N' and the end
//! ```
//!
//! A proof is HMAC-SHA256, keyed by the secret, of the side that gives it, both challenges, the group, and the name of the
//! listener. So a proof is good for one connection, cannot be sent back to whoever gave it, and leads to one participant.
//! The listener says nothing that depends on the secret before the opener has proved itself: a stranger who knocks
//! learns nothing that it could guess from at leisure.
//!
//! Law: the secret is never sent, never shown, and compared in a time that does not depend on where two proofs differ.

use crate::wire;
use hmac_sha256::HMAC;
use std::fmt;

const GREETING: &[u8; 16] = b"RETAKE-PROOF-1\n\0";
const CHALLENGE: usize = 32;
const PROOF: usize = 32;
/// How long each of the three words is.
pub const FIRST: usize = GREETING.len() + CHALLENGE;
pub const SECOND: usize = FIRST + PROOF;
pub const THIRD: usize = 1 + PROOF;
pub const NO: u8 = b'N';
const YES: u8 = b'Y';

/// What everyone of a group knows; empty if there is none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// A shorter secret can be guessed.
pub const SECRET_MIN: usize = 16;

impl Secret {
    /// `None` if it is too short.
    pub fn new(bytes: &[u8]) -> Option<Secret> {
        (bytes.len() >= SECRET_MIN).then(|| Secret(bytes.to_vec()))
    }

    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_none() { "no secret" } else { "a secret" })
    }
}

/// What both sides of a connection must agree on.
#[derive(Clone, Debug)]
pub struct Terms {
    pub secret: Secret,
    pub group: String,
    /// Who listens.
    pub listener: String,
}

#[derive(Clone, Copy)]
enum Side {
    Listener,
    Opener,
}

type Challenge = [u8; CHALLENGE];

impl Terms {
    fn of(&self, side: Side, listeners: &Challenge, openers: &Challenge) -> HMAC {
        let mut mac = HMAC::new(&self.secret.0);
        let side: &[u8] = match side {
            Side::Listener => b"retake listener\0",
            Side::Opener => b"retake opener\0",
        };
        // Both names end before a zero, which is in neither: no two terms give the same bytes.
        for piece in [side, listeners, openers, self.group.as_bytes(), b"\0", self.listener.as_bytes(), b"\0"] {
            mac.update(piece);
        }
        mac
    }
}

fn challenge() -> Challenge {
    let mut bytes = [0; CHALLENGE];
    wire::random(&mut bytes);
    bytes
}

fn after_greeting(word: &[u8]) -> Option<(&Challenge, &[u8])> {
    word.strip_prefix(GREETING)?.split_first_chunk::<CHALLENGE>()
}

/// The listener's side of one connection.
#[derive(Debug)]
pub struct Listening {
    mine: Challenge,
}

impl Listening {
    /// The first word, to be sent at once.
    pub fn begin() -> (Listening, Vec<u8>) {
        let mine = challenge();
        (Listening { mine }, [&GREETING[..], &mine].concat())
    }

    /// Judges the second word; the third is to be sent. Whether the connection may stay.
    pub fn judge(&self, terms: &Terms, second: &[u8]) -> (bool, Vec<u8>) {
        let good = after_greeting(second).and_then(|(theirs, proof)| {
            let proof: &[u8; PROOF] = proof.try_into().ok()?;
            terms.of(Side::Opener, &self.mine, theirs).finalize_verify(proof).then_some(theirs)
        });
        let Some(theirs) = good else { return (false, [&[NO][..], &[0; PROOF]].concat()) };
        let proof = terms.of(Side::Listener, &self.mine, theirs).finalize();
        (true, [&[YES][..], &proof].concat())
    }
}

/// The opener's side of one connection.
#[derive(Debug)]
pub struct Opening {
    mine: Challenge,
    theirs: Challenge,
}

impl Opening {
    /// Answers the first word; the second is to be sent. `None` if it was none.
    pub fn answer(terms: &Terms, first: &[u8]) -> Option<(Opening, Vec<u8>)> {
        let (theirs, rest) = after_greeting(first)?;
        if !rest.is_empty() {
            return None;
        }
        let (mine, theirs) = (challenge(), *theirs);
        let proof = terms.of(Side::Opener, &theirs, &mine).finalize();
        Some((Opening { mine, theirs }, [&GREETING[..], &mine, &proof].concat()))
    }

    /// Whether the third word proves that the listener knows the secret, too.
    pub fn is_proved(&self, terms: &Terms, third: &[u8]) -> bool {
        let proof = third.strip_prefix(&[YES]).and_then(|proof| <&[u8; PROOF]>::try_from(proof).ok());
        proof.is_some_and(|proof| terms.of(Side::Listener, &self.theirs, &self.mine).finalize_verify(proof))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(secret: &str) -> Terms {
        Terms { secret: Secret(secret.into()), group: "default".into(), listener: "server".into() }
    }

    /// Both sides; whether each is content with the other.
    fn meet(listener: &Terms, opener: &Terms) -> (bool, bool) {
        let (listening, first) = Listening::begin();
        let (opening, second) = Opening::answer(opener, &first).expect("a first word");
        assert_eq!((first.len(), second.len()), (FIRST, SECOND));
        let (good, third) = listening.judge(listener, &second);
        assert_eq!(third.len(), THIRD);
        (good, opening.is_proved(opener, &third))
    }

    #[test]
    fn only_the_same_terms_meet() {
        let good = terms("sixteen bytes or more");
        assert_eq!(meet(&good, &good.clone()), (true, true));
        assert_eq!(meet(&terms(""), &terms("")), (true, true));
        let others = [
            terms("sixteen bytes or morf"),
            terms(""),
            Terms { group: "other".into(), ..good.clone() },
            Terms { listener: "client".into(), ..good.clone() },
            Terms { group: "defaul".into(), listener: "tserver".into(), ..good.clone() },
        ];
        for other in others {
            assert_eq!(meet(&good, &other), (false, false), "{other:?}");
            assert_eq!(meet(&other, &good), (false, false), "{other:?}");
        }
    }

    #[test]
    fn proofs_are_good_once_and_one_way() {
        let terms = terms("sixteen bytes or more");
        let (listening, first) = Listening::begin();
        let (opening, second) = Opening::answer(&terms, &first).unwrap();
        // Sent again to another connection, changed, or cut.
        assert!(!Listening::begin().0.judge(&terms, &second).0);
        for at in 0..second.len() {
            let mut other = second.clone();
            other[at] ^= 1;
            assert!(!listening.judge(&terms, &other).0, "byte {at}");
            assert!(!listening.judge(&terms, &second[..at]).0, "{at} bytes");
        }
        // The opener's own proof sent back is not the listener's.
        let reflected = [&[YES][..], &second[FIRST..]].concat();
        assert!(!opening.is_proved(&terms, &reflected));
        assert!(!opening.is_proved(&terms, &[]));
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(format!("{:?}", Secret::new(b"0123456789abcdef").unwrap()), "a secret");
        assert_eq!(Secret::new(b"short"), None);
    }
}
