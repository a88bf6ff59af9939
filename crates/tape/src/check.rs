//! The checksum of everything on disk: CRC-32C, by the processor's own instruction, or from tables made at compile time; long
//! runs by [`fold`], where the processor can.

use crate::fold;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// Shorter ones are not worth the look.
const LONG: usize = 64;

/// The checksum of `bytes`, going on from `before` (0 at the start).
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    if bytes.len() < LONG {
        return by_tables(before, bytes);
    }
    match way() {
        TABLES_ONLY => by_tables(before, bytes),
        // SAFETY: the processor has the instructions.
        FOLDING if bytes.len() >= fold::STEP => unsafe {
            let (before, rest) = fold::whole_steps(before, bytes);
            by_instruction(before, rest)
        },
        // SAFETY: the processor has it.
        _ => unsafe { by_instruction(before, bytes) },
    }
}

const TABLES_ONLY: u8 = 1;
/// The processor has the instruction (SSE 4.2).
const INSTRUCTION: u8 = 2;
/// It can also fold.
const FOLDING: u8 = 3;

/// The best way on this processor. Asked once: a virtual machine answers slowly.
fn way() -> u8 {
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Relaxed) {
        0 => {
            let way = match core::arch::x86_64::__cpuid(1).ecx & 1 << 20 != 0 {
                true if fold::can() => FOLDING,
                true => INSTRUCTION,
                false => TABLES_ONLY,
            };
            KNOWN.store(way, Relaxed);
            way
        }
        known => known,
    }
}

/// The instruction takes three cycles, but can begin anew in each: long runs go in three lanes of so many bytes.
const LANE: usize = 2048;

/// What becomes of a checksum's four bytes when a lane of zeros goes by.
const PAST_LANE: [[u32; 256]; 4] = past_lane();

const fn past_lane() -> [[u32; 256]; 4] {
    // What becomes of each bit: for one byte of zeros, then for two, four, eight …
    let mut bits = [0u32; 32];
    let mut bit = 0;
    while bit < 32 {
        let crc = 1u32 << bit;
        bits[bit] = crc >> 8 ^ TABLES[0][(crc & 0xFF) as usize];
        bit += 1;
    }
    let mut zeros = 1;
    while zeros < LANE {
        let mut twice = [0u32; 32];
        let mut bit = 0;
        while bit < 32 {
            twice[bit] = of_bits(&bits, bits[bit]);
            bit += 1;
        }
        bits = twice;
        zeros *= 2;
    }
    let mut tables = [[0u32; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut place = 0;
        while place < 4 {
            tables[place][byte] = of_bits(&bits, (byte as u32) << (8 * place));
            place += 1;
        }
        byte += 1;
    }
    tables
}

const fn of_bits(bits: &[u32; 32], crc: u32) -> u32 {
    let (mut sum, mut bit) = (0, 0);
    while bit < 32 {
        if crc >> bit & 1 == 1 {
            sum ^= bits[bit];
        }
        bit += 1;
    }
    sum
}

fn past_a_lane(crc: u64) -> u64 {
    let byte = |place: usize| PAST_LANE[place][(crc >> (8 * place) & 0xFF) as usize];
    u64::from(byte(0) ^ byte(1) ^ byte(2) ^ byte(3))
}

#[target_feature(enable = "sse4.2")]
fn by_instruction(before: u32, bytes: &[u8]) -> u32 {
    use core::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let eight = |bytes: &[u8], at: usize| {
        let bytes = &bytes[8 * at..8 * at + 8];
        u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
    };
    let mut crc = u64::from(!before);
    let mut triples = bytes.chunks_exact(3 * LANE);
    for triple in &mut triples {
        let (first, rest) = triple.split_at(LANE);
        let (second, third) = rest.split_at(LANE);
        let (mut crc2, mut crc3) = (0, 0);
        for at in 0..LANE / 8 {
            crc = _mm_crc32_u64(crc, eight(first, at));
            crc2 = _mm_crc32_u64(crc2, eight(second, at));
            crc3 = _mm_crc32_u64(crc3, eight(third, at));
        }
        crc = past_a_lane(past_a_lane(crc) ^ crc2) ^ crc3;
    }
    let mut eights = triples.remainder().chunks_exact(8);
    for bytes in &mut eights {
        crc = _mm_crc32_u64(crc, eight(bytes, 0));
    }
    let mut crc = crc as u32;
    for &byte in eights.remainder() {
        crc = _mm_crc32_u8(crc, byte);
    }
    !crc
}

/// Eight bytes at a time.
fn by_tables(before: u32, bytes: &[u8]) -> u32 {
    let mut crc = !before;
    let mut eights = bytes.chunks_exact(8);
    for eight in &mut eights {
        let low = crc ^ u32::from_le_bytes([eight[0], eight[1], eight[2], eight[3]]);
        crc = TABLES[7][(low & 0xFF) as usize]
            ^ TABLES[6][(low >> 8 & 0xFF) as usize]
            ^ TABLES[5][(low >> 16 & 0xFF) as usize]
            ^ TABLES[4][(low >> 24) as usize]
            ^ TABLES[3][eight[4] as usize]
            ^ TABLES[2][eight[5] as usize]
            ^ TABLES[1][eight[6] as usize]
            ^ TABLES[0][eight[7] as usize];
    }
    for &byte in eights.remainder() {
        crc = crc >> 8 ^ TABLES[0][((crc ^ u32::from(byte)) & 0xFF) as usize];
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::{INSTRUCTION, by_instruction, by_tables, crc32c, way};

    #[test]
    fn the_published_check_value() {
        assert_eq!(crc32c(0, b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(crc32c(0, b"12345"), b"6789"), 0xE306_9283);
    }

    #[test]
    fn all_ways_agree() {
        let bytes: [u8; 20_000] = core::array::from_fn(|at| (at * 7 + at / 3) as u8);
        let lanes = [6143, 6144, 6145, 12_287, 12_288, 12_295, 18_431, 18_433, 19_990];
        for length in (0..1300).chain(lanes) {
            let (before, from) = ((length as u32).wrapping_mul(0x9E37_79B9), length % 7);
            let bytes = &bytes[from..from + length];
            let expected = by_tables(before, bytes);
            assert_eq!(crc32c(before, bytes), expected, "{length}");
            if way() >= INSTRUCTION {
                // SAFETY: the processor has it.
                assert_eq!(unsafe { by_instruction(before, bytes) }, expected, "{length}");
            }
        }
    }
}
