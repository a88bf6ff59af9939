//! The board: where every thread of a replay stands, and before which event one of them is to stop.
//!
//! A file beside the session, there only if somebody looks at the replay (a debugger, `--stop-at`). The processes write
//! how far they are, each thread its own [`Row`]; the command line and gdb's module write what they ask for. A replay
//! compares positions itself, because a debugger that looks at each event would be a thousand times slower.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Name of the file, in the session's directory.
pub const FILE: &str = "board";
pub const MAGIC: u64 = u64::from_le_bytes(*b"RTKBOAR1");
/// As the event asked for: where all that the first process did is played, if it was killed or hung there.
pub const AT_END: u64 = u64::MAX;
/// Frames of a stack that are kept.
pub const DEPTH: usize = 48;
/// The signal that asks a thread for its stack. It is libc's own (for `setuid`), which no program can block; libc's
/// handler gets what is libc's.
pub const ASK_SIGNAL: i32 = 33;

/// Why a thread stands still.
pub mod stop {
    pub const NOT: u32 = 0;
    /// It is before the event that was asked for.
    pub const EVENT: u32 = 1;
    /// Its process has just begun.
    pub const BEGIN: u32 = 2;
    /// All that was recorded is played, and the program was killed or hung there.
    pub const END: u32 = 3;
    /// The replay has diverged here.
    pub const REPORT: u32 = 4;
}

/// What a thread waits for.
pub mod waiting {
    pub const NOT: u32 = 0;
    /// A version of an object.
    pub const VERSION: u32 = 1;
    /// An event of another thread.
    pub const EDGE: u32 = 2;
    /// It is behind its last event.
    pub const END: u32 = 3;
    /// Something that Retake does not order.
    pub const OUTSIDE: u32 = 4;
    /// A message from the task `waits_at`, with the tag `waits_for`.
    pub const MESSAGE: u32 = 5;
    /// The task `waits_at`, which has not come yet.
    pub const TASK: u32 = 6;
    /// What all tasks share has not been changed `waits_for` times yet.
    pub const SHARED: u32 = 7;
    /// A message from a rank: `waits_for` is its source times 2^32 plus its tag.
    pub const RANK: u32 = 8;
    /// Something inside a message-passing library.
    pub const LIBRARY: u32 = 9;
}

/// What is asked for. The rows stand behind it in the file, in the order of the threads' numbers.
#[repr(C)]
pub struct Board {
    pub magic: AtomicU64,
    pub rows: AtomicU32,
    /// The thread that is to stop; 0: none.
    pub ask_thread: AtomicU32,
    /// Before which of its events.
    pub ask_event: AtomicU64,
    /// The id of the process whose threads are all to stop before their next event; 0: none.
    pub ask_any: AtomicU32,
    /// The process that waits when it begins, by the number of its main thread; 0: none.
    pub ask_begin: AtomicU32,
    /// Not 0: whoever stops stays there until this is 0. With a debugger it is the debugger that holds it.
    pub stand: AtomicU32,
    /// The thread that stopped last.
    pub stopped: AtomicU32,
}

/// One thread.
#[repr(C)]
pub struct Row {
    /// Events that have happened.
    pub count: AtomicU64,
    /// The event that it asked for last: it is in it, or past it.
    pub begun: AtomicU64,
    /// See [`waiting`].
    pub waits: AtomicU32,
    /// The operation of that event.
    pub op: AtomicU32,
    pub waits_for: AtomicU64,
    pub waits_at: AtomicU64,
    /// Present ids; 0 if it has not begun.
    pub pid: AtomicU32,
    pub tid: AtomicU32,
    /// See [`stop`].
    pub stops: AtomicU32,
    /// Frames in `pcs`, and one: 0 if it was not asked yet.
    pub depth: AtomicU32,
    /// Return addresses, innermost first.
    pub pcs: [AtomicU64; DEPTH],
}

/// Bytes of a board with `rows` rows.
pub const fn size(rows: u32) -> usize {
    size_of::<Board>() + rows as usize * size_of::<Row>()
}

/// The row of the thread `number` on the board at `board`, if it has one.
///
/// # Safety
/// `board` must be mapped for as long as the row is used, with as many rows as it says.
pub unsafe fn row<'a>(board: *const Board, number: u32) -> Option<&'a Row> {
    // SAFETY: the caller's promise.
    unsafe {
        let rows = (*board).rows.load(core::sync::atomic::Ordering::Relaxed);
        (number < rows).then(|| &*board.add(1).cast::<Row>().add(number as usize))
    }
}
