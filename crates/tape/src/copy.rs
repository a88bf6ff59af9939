//! What is said between a sleeping copy of a participant's process and whoever wakes it.
//!
//! The copy listens in the take, at a socket whose name is the inode of its part, so that neither a part that has been
//! replaced nor a take that was copied leads to it. A question is one message; answers are eight bytes each.
//!
//! ```text
//! question   what (1)  bytes that belong to it; with WAKE: the path of a session, and three descriptors
//! answer     what (4)  number (4)
//! ```

/// Ending of the sockets.
pub const ENDING: &str = ".copy";
/// What the kernel calls a copy that sleeps: programs cannot be told apart from their copies otherwise.
pub const SLEEPER: &core::ffi::CStr = c"retake-asleep";

/// Questions.
pub mod ask {
    /// Play the tail once, with these streams. The path is empty if there is no session.
    pub const WAKE: u8 = b'w';
    /// End, and whoever plays with you.
    pub const END: u8 = b'e';
}

/// Answers.
pub mod answer {
    /// The process of that number plays the tail.
    pub const STARTED: u32 = 1;
    /// It has ended, with that status as `wait` gives it.
    pub const ENDED: u32 = 2;
    /// The process of that number plays already, for another.
    pub const BUSY: u32 = 3;
    /// It cannot be done: the error of the system.
    pub const FAILED: u32 = 4;
}

/// The longest question.
pub const QUESTION_MAX: usize = 4096;

/// An answer in bytes.
pub fn answer_bytes(what: u32, number: i32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&what.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// What an answer says.
pub fn answer_of(bytes: &[u8; 8]) -> (u32, i32) {
    let [a, b, c, d, e, f, g, h] = *bytes;
    (u32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h]))
}
