//! What came of a call that waits for the outside.

/// Sorts of calls that wait for the outside and whose outcome is kept; those of each are counted by themselves.
pub mod sort {
    /// Bytes were taken from a file, a pipe or a socket.
    pub const READ: u8 = 0;
    /// Descriptors were looked at, or waited for.
    pub const READY: u8 = 1;
    /// A connection was taken.
    pub const ACCEPT: u8 = 2;
    /// A connection was made.
    pub const CONNECT: u8 = 3;
    /// Bytes were given.
    pub const WRITE: u8 = 4;
    /// Not a call, but its turn at a place where processes meet: the answer is how often somebody had been there.
    pub const TURN: u8 = 5;
    /// How many there are.
    pub const MANY: usize = 6;
}

/// What came of a call that waits for the outside, where that could have been something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came<'a> {
    /// One of [`sort`].
    pub sort: u8,
    /// How many calls of that sort had returned since the last event.
    pub call: u64,
    /// So many in a row came out so; more than one only if they found nothing.
    pub times: u32,
    /// How many, or a negative reason.
    pub answer: i64,
    /// What of it was found, in the words of its sort.
    pub found: &'a [u8],
}

impl Came<'_> {
    /// Whether it found nothing, which may happen again and again.
    pub fn is_nothing(&self) -> bool {
        self.answer <= 0 && self.found.is_empty()
    }

    /// The first call of its sort that is none of these.
    pub fn behind(&self) -> u64 {
        self.call.saturating_add(self.times.into())
    }
}
