//! Numbers of varying length, written and read without a branch on the length.
//!
//! The number of trailing zero bits of the first byte, plus one, is the length in bytes; the value follows above the
//! lowest set bit. Nine bytes (first byte zero) hold values of more than 56 bits. Small numbers take one byte.
//!
//! Law: a writer always stores eight or nine bytes and moves on by the length, so it needs [`SLACK`] bytes of room.

/// Room that a writer needs behind its position, whatever the value.
pub const SLACK: usize = 16;

/// Writes `value` at `to` and returns the position behind it.
///
/// # Safety
/// `to` must be valid for writes of [`SLACK`] bytes.
#[inline(always)]
pub unsafe fn put(to: *mut u8, value: u64) -> *mut u8 {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    let length = bits.div_ceil(7);
    // SAFETY: the caller gives SLACK bytes; at most nine are written.
    unsafe {
        if length <= 8 {
            let word = (value << 1 | 1) << (length - 1);
            to.cast::<u64>().write_unaligned(word.to_le());
            to.add(length)
        } else {
            to.write(0);
            to.add(1).cast::<u64>().write_unaligned(value.to_le());
            to.add(9)
        }
    }
}

/// The same, for numbers that are almost always small: then it is a comparison and a byte.
///
/// # Safety
/// As for [`put`].
#[inline(always)]
pub unsafe fn put_small(to: *mut u8, value: u64) -> *mut u8 {
    // SAFETY: the caller gives the room.
    unsafe {
        if value < 1 << 7 {
            to.write((value as u8) << 1 | 1);
            return to.add(1);
        }
        put(to, value)
    }
}

/// The same in two bytes, whether one would do or not; `value` must be less than `1 << 14`.
///
/// # Safety
/// As for [`put`].
#[inline(always)]
pub unsafe fn put_in_two(to: *mut u8, value: u16) -> *mut u8 {
    // SAFETY: the caller gives the room.
    unsafe {
        to.cast::<u16>().write_unaligned((value << 2 | 2).to_le());
        to.add(2)
    }
}

/// Reads the number at the start of `from`: its value and its length, or `None` if the bytes end too early.
#[inline(always)]
pub fn get(from: &[u8]) -> Option<(u64, usize)> {
    let first = *from.first()?;
    let length = first.trailing_zeros() as usize + 1;
    let mut word = [0u8; 8];
    if length > 8 {
        word.copy_from_slice(from.get(1..9)?);
        return Some((u64::from_le_bytes(word), 9));
    }
    if let Some(whole) = from.get(..8) {
        word.copy_from_slice(whole);
    } else {
        word.get_mut(..length)?.copy_from_slice(from.get(..length)?);
    }
    let value = u64::from_le_bytes(word) << (64 - 8 * length) >> (64 - 8 * length) >> length;
    Some((value, length))
}

/// Maps small numbers of either sign to small numbers without one.
#[inline(always)]
pub fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The inverse of [`zigzag`].
#[inline(always)]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_comes_back() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut room = [0xAAu8; SLACK];
                // SAFETY: the room is SLACK bytes long.
                let end = unsafe { put(room.as_mut_ptr(), value) };
                let length = end as usize - room.as_ptr() as usize;
                assert_eq!(get(&room), Some((value, length)));
                assert_eq!(get(&room[..length]), Some((value, length)));
                let mut small = [0xAAu8; SLACK];
                // SAFETY: as above.
                let end = unsafe { put_small(small.as_mut_ptr(), value) };
                assert_eq!(end as usize - small.as_ptr() as usize, length);
                assert_eq!(small[..length], room[..length]);
                assert_eq!(get(&room[..length - 1]), None);
            }
        }
    }

    #[test]
    fn two_bytes_hold_what_they_must() {
        for value in 0..1 << 14 {
            let mut room = [0xAAu8; SLACK];
            // SAFETY: the room is SLACK bytes long.
            let end = unsafe { put_in_two(room.as_mut_ptr(), value) };
            assert_eq!(end as usize - room.as_ptr() as usize, 2);
            assert_eq!(get(&room), Some((u64::from(value), 2)));
        }
    }

    #[test]
    fn signs_fold() {
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }
}
