//! Random numbers from a seed: the same on every machine, for ever.
//!
//! SplitMix64 (G. Steele, D. Lea, C. Flood, 2014). Law: what comes out for a seed never changes, since seeds are kept.

#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`; 0 if `end` is 0. Its bias is below `end` / 2^64.
    pub const fn below(&mut self, end: u64) -> u64 {
        ((self.next() as u128 * end as u128) >> 64) as u64
    }
}

/// A number whose bits all depend on all bits of `number`.
pub const fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
