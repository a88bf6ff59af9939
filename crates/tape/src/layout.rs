//! What stands where in a tape file, and which versions of it this build reads.
//!
//! All numbers are little-endian. The structures are written through a shared map by the recorded program while it
//! runs, hence the atomics; readers copy them out.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Opens every tape file.
pub const MAGIC: [u8; 8] = *b"RETAKE\r\n";
/// Opens every chunk.
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"TAPE");
/// Readers refuse another major version.
pub const MAJOR: u16 = 2;
/// Readers accept a newer minor version; it may hold entries that they pass over.
pub const MINOR: u16 = 5;
/// From this minor version on it is told what came of calls that wait for the outside.
pub const MINOR_CAME: u16 = 3;

/// The header's size; the first chunk may start behind it.
pub const HEADER_SIZE: u64 = 4096;
/// Chunks start at multiples of this.
pub const ALIGN: u64 = 64;
/// The longest process name that fits; a deeper tree of processes is not recorded.
pub const NAME_MAX: usize = 1024;
/// Call addresses kept for each creation.
pub const PCS: usize = 6;

/// What a file's chunks hold.
pub mod kind {
    /// Entries: what replay needs.
    pub const TAPE: u32 = 0;
    /// Rich events: what a person wants to see.
    pub const RICH: u32 = 1;
    /// Lines of one participant of the library.
    pub const PART: u32 = 2;
}

/// How a process's recording stands.
pub mod state {
    /// It runs, or it was killed.
    pub const OPEN: u32 = 0;
    /// It ended by `exit`, `_exit` or a return from `main`.
    pub const EXITED: u32 = 1;
    /// It replaced itself by another program.
    pub const EXECED: u32 = 2;
    /// The recording was cut short (see `cut_errno`); the program went on without it.
    pub const CUT: u32 = 3;
}

/// How a process or a thread came to be.
pub mod born {
    /// The first process of the take.
    pub const ROOT: u32 = 0;
    /// A thread, by `pthread_create` or `thrd_create`.
    pub const THREAD: u32 = 1;
    /// The main thread of a forked process.
    pub const FORK: u32 = 2;
    /// The main thread of a program that was executed.
    pub const EXEC: u32 = 3;
    /// A thread that Retake did not see being created.
    pub const FOREIGN: u32 = 4;
    /// The main thread of a PVM task that a recorded task spawned.
    pub const TASK: u32 = 5;
}

/// The first page of a tape file.
#[repr(C)]
pub struct ProcessHeader {
    pub magic: [u8; 8],
    pub major: u16,
    pub minor: u16,
    pub kind: u32,
    /// 1 when `crc` and the checksums of all chunks are final.
    pub sealed: AtomicU32,
    /// Over this structure with `crc` zero.
    pub crc: AtomicU32,
    pub pid: u32,
    pub parent_pid: u32,
    pub born: u32,
    pub state: AtomicU32,
    /// The exit status, when `state` is `EXITED`.
    pub status: AtomicU32,
    /// Why the recording was cut, when `state` is `CUT`.
    pub cut_errno: AtomicU32,
    /// The number of the thread that ended the process.
    pub ended_by: AtomicU32,
    pub threads: AtomicU32,
    /// The next free position in the file.
    pub next_free: AtomicU64,
    /// The chunk of the thread that was registered last; each names the one before.
    pub last_thread: AtomicU64,
    /// The 16 random bytes that the kernel gave the program.
    pub at_random: [u8; 16],
    pub started_ns: u64,
    pub name_len: u32,
    /// 1 if the program used something that is known and not replayed; the notes say what.
    pub unsupported: AtomicU32,
    pub name: [u8; NAME_MAX],
}

/// Opens a chunk.
#[repr(C)]
pub struct ChunkHeader {
    pub magic: u32,
    /// Of the whole chunk, this header included.
    pub size: u32,
    /// The number of the thread whose chain this is part of.
    pub thread: u32,
    /// 0 for the first chunk of a chain, then one more each.
    pub index: u32,
    /// Bytes of payload that are written.
    pub used: AtomicU32,
    /// Over this header up to here, `next` and the payload; valid when `closed`.
    pub crc: AtomicU32,
    pub closed: AtomicU32,
    pub spare: u32,
    /// Position of the next chunk of the chain, or 0.
    pub next: AtomicU64,
}

/// Stands behind the [`ChunkHeader`] of a thread's first chunk.
#[repr(C)]
pub struct ThreadHeader {
    /// Events committed.
    pub count: AtomicU64,
    pub number: u32,
    pub parent: u32,
    /// Which of its parent's creations this is, from 1.
    pub index: u32,
    pub born: u32,
    pub tid: u32,
    /// 1 once the thread's function has ended.
    pub ended: AtomicU32,
    /// Position of the chunk of the thread registered before, or 0.
    pub previous: u64,
    /// Address of the thread's function.
    pub start: u64,
    /// Call addresses of the creation, innermost first.
    pub pcs: [u64; PCS],
    /// Over this structure with `crc` zero; valid when the file is sealed.
    pub crc: AtomicU32,
    pub spare: u32,
}

/// Size of the chunk header.
pub const CHUNK_HEADER: usize = size_of::<ChunkHeader>();
/// Size of the thread header.
pub const THREAD_HEADER: usize = size_of::<ThreadHeader>();

const _: () = assert!(size_of::<ProcessHeader>() <= HEADER_SIZE as usize);
const _: () = assert!(CHUNK_HEADER == 40 && THREAD_HEADER == 104);

/// Where the payload of a chunk starts, from the chunk's start.
pub const fn payload_at(index: u32) -> usize {
    if index == 0 { CHUNK_HEADER + THREAD_HEADER } else { CHUNK_HEADER }
}

/// The size of the `index`-th chunk of a chain: small at first, so that a thread which does little costs little.
pub const fn chunk_size(index: u32) -> u32 {
    match index {
        0 => 512,
        1 => 2 << 10,
        2 => 8 << 10,
        3 => 32 << 10,
        _ => 128 << 10,
    }
}
