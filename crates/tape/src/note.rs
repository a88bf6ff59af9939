//! Kinds of [`crate::entry::Entry::Note`].

/// A file that was opened for reading: its path.
pub const FILE: u8 = 1;
/// A socket that was connected or accepted: its address in words.
pub const SOCKET: u8 = 2;
/// A module in memory: `base size build-id path`.
pub const MODULE: u8 = 3;
/// A function that is known and not replayed: its name.
pub const UNSUPPORTED: u8 = 4;
/// How the process was started: the program, the directory and the arguments, separated by zero bytes.
pub const COMMAND: u8 = 5;
/// Something that a reader should be told.
pub const WORDS: u8 = 6;
/// What a call exchanged with other processes, for a replay without them: the name of the function, a zero byte, and
/// what that function needs.
pub const CONTENTS: u8 = 7;
/// A function without which the process cannot be replayed alone: its name.
pub const NOT_ALONE: u8 = 8;
