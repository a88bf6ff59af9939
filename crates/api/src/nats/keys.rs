//! NKeys and JWTs: who we are at a nats-server that keeps no passwords. It says a word of its own, and whoever can sign that is
//! let in.
//!
//! ```text
//! seed     base32 of: 144 | 160 >> 5, (160 & 31) << 3, 32 bytes, checksum (2)        SUA...
//! public   base32 of: 160, 32 bytes, checksum (2)                                     UDX...
//! ```
//!
//! 160 says that it is a user's. The checksum is CRC-16 (XMODEM), its lower byte first. The signature is Ed25519, by ring, which
//! rustls uses anyway.
//!
//! Law: a seed is in no message and in no error.

use ring::signature::{Ed25519KeyPair, KeyPair};
use std::path::Path;

/// What tells a user's key from others.
const USER: u8 = 20 << 3;
const SEED: u8 = 18 << 3;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A key of a user's, and what its account says of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    seed: [u8; 32],
    jwt: Option<String>,
}

impl Key {
    /// A file with a seed in it: `NATS_NKEY`.
    pub fn of_seed_file(path: &Path) -> Result<Key, String> {
        Key::of_file(path, "NATS_NKEY", false)
    }

    /// A file of credentials, as `nsc` makes them, a JWT and a seed: `NATS_CREDS`.
    pub fn of_credentials(path: &Path) -> Result<Key, String> {
        Key::of_file(path, "NATS_CREDS", true)
    }

    fn of_file(path: &Path, variable: &str, with_jwt: bool) -> Result<Key, String> {
        let refuse = |why: &str| format!("{variable}={}: {why}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| refuse(&error.to_string()))?;
        let lines = || text.lines().map(str::trim);
        let seed =
            lines().find(|line| line.starts_with("SU")).ok_or_else(|| refuse("no seed of a user, SU..., in it"))?;
        let seed = seed_of(seed).ok_or_else(|| refuse("its seed is damaged"))?;
        let behind = || lines().skip_while(|line| !line.contains("BEGIN NATS USER JWT")).nth(1);
        let jwt = match with_jwt {
            true => Some(behind().ok_or_else(|| refuse("no JWT of a user in it"))?.to_owned()),
            false => None,
        };
        Ok(Key { seed, jwt })
    }

    /// What CONNECT shows to a server that has said this.
    pub fn shown(&self, nonce: &str) -> Result<Vec<(&'static str, String)>, String> {
        let pair =
            Ed25519KeyPair::from_seed_unchecked(&self.seed).map_err(|_| "the seed of our key is none".to_owned())?;
        let who = match &self.jwt {
            Some(jwt) => ("jwt", jwt.clone()),
            None => ("nkey", public(pair.public_key().as_ref())),
        };
        Ok(vec![who, ("sig", base64(pair.sign(nonce.as_bytes()).as_ref()))])
    }
}

fn seed_of(text: &str) -> Option<[u8; 32]> {
    let bytes = of_base32(text)?;
    let (kept, sum) = bytes.split_last_chunk::<2>()?;
    let (kinds, seed) = kept.split_first_chunk::<2>()?;
    let right = *kinds == [SEED | USER >> 5, (USER & 31) << 3] && crc16(kept).to_le_bytes() == *sum;
    seed.try_into().ok().filter(|_| right)
}

fn public(key: &[u8]) -> String {
    let mut bytes = [&[USER], key].concat();
    let sum = crc16(&bytes).to_le_bytes();
    bytes.extend(sum);
    base32(&bytes)
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| if sum >> 15 == 1 { sum << 1 ^ 0x1021 } else { sum << 1 })
    })
}

/// So many bits of each byte become one of these digits.
fn digits(bytes: &[u8], bits: u32, digits: &[u8]) -> String {
    let (mut held, mut many, mut text) = (0u32, 0, String::new());
    for byte in bytes {
        (held, many) = (held << 8 | u32::from(*byte), many + 8);
        while many >= bits {
            many -= bits;
            text.push(char::from(digits[(held >> many) as usize % digits.len()]));
        }
    }
    if many > 0 {
        text.push(char::from(digits[(held << (bits - many)) as usize % digits.len()]));
    }
    text
}

fn base32(bytes: &[u8]) -> String {
    digits(bytes, 5, BASE32)
}

fn base64(bytes: &[u8]) -> String {
    digits(bytes, 6, BASE64)
}

fn of_base32(text: &str) -> Option<Vec<u8>> {
    let (mut held, mut many, mut bytes) = (0u32, 0, Vec::new());
    for digit in text.bytes() {
        let value = BASE32.iter().position(|known| *known == digit)? as u32;
        (held, many) = (held << 5 | value, many + 5);
        if many >= 8 {
            many -= 8;
            bytes.push((held >> many) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair from the documentation of NATS.
    #[test]
    fn a_known_pair() {
        let seed = seed_of("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY").unwrap();
        let shown = Key { seed, jwt: None }.shown("a word").unwrap();
        assert_eq!(shown[0], ("nkey", "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4".into()));
        assert_eq!((shown[1].0, shown[1].1.len()), ("sig", 86));
    }

    #[test]
    fn what_is_no_seed_is_found() {
        let good = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
        // One digit is another; one is missing; an account's; a public key.
        let damaged = good.replacen('K', "L", 1);
        let account = "SAACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
        let public = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
        for text in [&damaged, &good[..57], account, public, "SU", "", "SU!", "suacssl3"] {
            assert_eq!(seed_of(text), None, "{text}");
        }
    }

    #[test]
    fn digits_are_those_of_the_standard() {
        for (bytes, in32, in64) in
            [("", "", ""), ("f", "MY", "Zg"), ("fo", "MZXQ", "Zm8"), ("foobar", "MZXW6YTBOI", "Zm9vYmFy")]
        {
            assert_eq!((&*base32(bytes.as_bytes()), &*base64(bytes.as_bytes())), (in32, in64));
            assert_eq!(of_base32(in32).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(base64(&[0xfb, 0xff]), "-_8");
        assert_eq!(crc16(b"123456789"), 0x31c3);
    }
}
