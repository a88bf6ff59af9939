//! Numbers of varying length: seven bits a byte, the lowest first; the highest bit says that more follow.
//!
//! Law: each number has one form; longer ones are refused when read.

use alloc::vec::Vec;

pub fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a number and moves behind it.
pub fn get(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&first, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(first & 0x7f);
        if part << shift >> shift != part || (first == 0 && shift > 0) {
            return None;
        }
        value |= part << shift;
        if first < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_got() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                put(&mut bytes, value);
                let mut rest = &bytes[..];
                assert_eq!((get(&mut rest), rest), (Some(value), &[][..]));
            }
        }
    }

    #[test]
    fn what_is_too_long_or_torn_is_refused() {
        for bytes in
            [&[][..], &[0x80], &[0x80, 0x00], &[0xff; 11], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]]
        {
            assert_eq!(get(&mut &*bytes), None, "{bytes:?}");
        }
    }
}
