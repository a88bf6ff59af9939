//! Where a thread halted for another one.

/// Where a thread halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the event, or the look at a clock, that comes next.
    Before,
    /// Somewhere behind its release of this number, where it had computed for so long: it came to no place that could be told.
    Behind { releases: u64, worked_us: u32 },
}

impl Place {
    /// For whom and what it halted, and there, as bytes; and how many they are.
    pub(crate) fn words(self, thread: u32, count: u64) -> ([u8; 24], usize) {
        let mut words = [0; 24];
        words[..4].copy_from_slice(&thread.to_le_bytes());
        words[4..12].copy_from_slice(&count.to_le_bytes());
        match self {
            Place::Before => (words, 12),
            Place::Behind { releases, worked_us } => {
                words[12..20].copy_from_slice(&releases.to_le_bytes());
                words[20..].copy_from_slice(&worked_us.to_le_bytes());
                (words, 24)
            }
        }
    }
}
