//! The session: one small file that the processes of a run share with each other and with the command line.
//!
//! While recording it gives out thread numbers. In a replay it also carries how to behave at the end of a tape, which
//! process has which id now, and the first divergence, if there is one.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Names of the environment variables by which a process is told its part. Record and replay give them values of equal
/// total length ([`PAD`] fills up), so that the program's stack starts at the same address.
pub mod variable {
    /// `record` or `replay`.
    pub const MODE: &str = "RETAKE_MODE";
    /// The take's directory.
    pub const TAKE: &str = "RETAKE_TAKE";
    /// The session file.
    pub const SESSION: &str = "RETAKE_SESSION";
    /// The name of the process to come: its place in the tree of creations.
    pub const NAME: &str = "RETAKE_NAME";
    /// How that process is born, and its parent's number.
    pub const BORN: &str = "RETAKE_BORN";
    /// Filling.
    pub const PAD: &str = "RETAKE_PAD";
    /// Nothing: there if the program has no [`PRELOAD`] of its own, so that the number of our variables is even.
    pub const EVEN: &str = "RETAKE_EVEN";
    /// The dynamic linker's own.
    pub const PRELOAD: &str = "LD_PRELOAD";
    /// All of them.
    pub const ALL: [&str; 7] = [MODE, TAKE, SESSION, NAME, BORN, EVEN, PAD];
}

/// Name of the first process.
pub const ROOT_NAME: &str = "0";
/// How the name of a rank of a parallel job begins; its number follows.
pub const RANK_NAME: &str = "rank:";
/// What a launcher makes of [`variable::BORN`] for those that it starts.
pub const UNDER: u8 = b'L';
/// What a rank makes of it for ranks that it starts itself, where its library does not hand on variables.
pub const STARTED: u8 = b'S';
/// Programs that start the ranks of parallel jobs, and their helpers, by the names of their files.
pub const LAUNCHERS: [&str; 16] = [
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "mpirun_rsh",
    "orterun",
    "orted",
    "orte-dvm",
    "prterun",
    "prte",
    "prted",
    "hydra_pmi_proxy",
    "hydra_bstrap_proxy",
    "hydra_nameserver",
    "hydra_persist",
    "srun",
    "aprun",
];
/// Ending of tape files.
pub const TAPE_ENDING: &str = ".tape";
/// Ending of files of rich events; they are written into the session's directory.
pub const RICH_ENDING: &str = ".rich";
/// Ending of what a replay keeps of the exchanges of a process.
pub const KEPT_ENDING: &str = ".kept";
/// Ending of the tapes of the library's participants.
pub const PART_ENDING: &str = ".part";
/// Ending of a part that is about to take the place of the one before it.
pub const NEXT_PART_ENDING: &str = ".next";
/// Ending of files that tell all that a participant did with messages; they are written into the session's directory.
pub const TALK_ENDING: &str = ".talk";
/// Beside the session file: where the library's participants find each other.
pub const MEETING: &str = "meeting";
/// Name of the session file in a take that is being recorded.
pub const FILE: &str = "session";

pub const MAGIC: u64 = u64::from_le_bytes(*b"RTKSESS1");
/// Processes whose ids can be translated.
pub const PIDS: usize = 8192;
/// Of so many of them it is known how they wait; what the others use counts as work.
pub const WATCHED: usize = 512;
/// Tasks and contexts whose numbers can be translated.
pub const PAIRS: usize = 8192;
/// Stands between the name of a spawn and a number, in the name of a task whose place among those spawned with it is not
/// known yet. Sealing puts the place there.
pub const UNPLACED: u8 = b'+';
/// Pairs of process and signal that can be told apart.
pub const SENDS: usize = 1024;
/// Longest report.
pub const REPORT_MAX: usize = 8192;
/// Room for what is told of a deadlock: some hundred threads.
pub const DEADLOCK_MAX: usize = 65536;

/// Bits of [`Session::flags`].
pub mod flag {
    /// Write rich events.
    pub const RICH: u32 = 1;
    /// Sleep as long as the program asked for, in a replay too.
    pub const REAL_TIME: u32 = 2;
    /// Somebody looks: there is a [`board`](crate::board).
    pub const BOARD: u32 = 4;
    /// Contents are kept, too: those of MPI and PVM on the tapes, those of the library in its parts; in a replay in files and
    /// parts of their own, in the session's directory.
    pub const FULL: u32 = 1 << 8;
    /// A replay of one process alone: everything that others gave it comes from its own tapes.
    pub const ALONE: u32 = 1 << 9;
    /// Participants leave sleeping copies of themselves behind: see [`Session::checkpoint_every`].
    pub const CHECKPOINT: u32 = 1 << 10;
    /// This session is one host's alone, since that does not have the take's directory (recording).
    pub const APART: u32 = 1 << 11;
    /// Tasks of PVM are spawned on this host, wherever they were: the tapes lie here (replay).
    pub const HOME: u32 = 1 << 12;
    /// The recording ended in a deadlock: so will the replay.
    pub const DEADLOCK: u32 = 8;
    /// The first process follows the schedule in the take.
    pub const FOLLOW: u32 = 16;
    /// A strategy chooses who goes on in the first process, as the choices file in the take says.
    pub const EXPLORE: u32 = 32;
    /// The recording was explored: a replay passes the baton on as it did.
    pub const BATON: u32 = 64;
    /// The threads of one process run one at a time: see [`settled`](crate::settled).
    pub const SETTLED: u32 = 128;
    /// The threads of each process run one at a time, while they are recorded and in the replay.
    pub const SERIAL: u32 = 1 << 13;
}

/// What a thread does when its tape has no more events and the recording did not end there by itself.
pub mod at_end {
    /// End the program as the recorded one ended, once every thread has got there.
    pub const STOP: u32 = 0;
    /// Wait for ever.
    pub const HANG: u32 = 1;
    /// Go on without a tape.
    pub const LIVE: u32 = 2;
}

/// The session file, mapped by everyone.
#[repr(C)]
pub struct Session {
    pub magic: AtomicU64,
    /// The next thread number to give out (recording); starts at 1.
    pub next_number: AtomicU32,
    /// Processes that have loaded the shim: the handshake.
    pub processes: AtomicU32,
    pub flags: AtomicU32,
    pub at_end: AtomicU32,
    /// How long a replay may stand still before it is called stuck.
    pub patience_ms: AtomicU32,
    /// The signal that ended the recorded root process, or 0.
    pub root_signal: AtomicU32,
    /// Order of rich events.
    pub sequence: AtomicU64,
    /// Recordings that were cut short.
    pub cuts: AtomicU32,
    /// 1 once somebody writes of a deadlock; 2 when it is written.
    pub deadlock_state: AtomicU32,
    pub deadlock_len: AtomicU32,
    /// 1 once somebody writes the report; 2 when it is written.
    pub report_state: AtomicU32,
    pub report_len: AtomicU32,
    pub pids_len: AtomicU32,
    /// Lines `key=value`, see `docs/replay.md`.
    pub report: [u8; REPORT_MAX],
    /// Who waits for whom: lines `key=value`, see `docs/replay.md`.
    pub deadlock: [u8; DEADLOCK_MAX],
    /// Recorded id in the upper half, present id in the lower.
    pub pids: [AtomicU64; PIDS],
    /// What is known of each of them: see [`fate`].
    pub fates: [AtomicU32; PIDS],
    /// Processes and images that are about to be: those that have not made their tape yet are among them (recording).
    pub announced: AtomicU32,
    /// Tasks of PVM that were spawned (recording).
    pub tasks: AtomicU32,
    /// Numbers that a message system gives out anew in each run: see [`pair`].
    pub pairs_len: AtomicU32,
    /// Whoever is about to change what all tasks share (groups, mailboxes): its process, or 0.
    pub turn_holder: AtomicU32,
    /// How often that was changed.
    pub turn: AtomicU64,
    /// Recorded number in the upper half, present number in the lower.
    pub pairs: [AtomicU64; PAIRS],
    /// What kind of number it is; for a task, the upper half is its present process.
    pub pair_kinds: [AtomicU64; PAIRS],
    /// Signals that processes have sent to each other and that were not handled yet (replay): the id of the process, eight
    /// bits of the signal, and how many. Those that wait are merged by the kernel, so arrivals cannot be counted.
    pub sends: [AtomicU64; SENDS],
    /// Which of the library's receives are noted, by the number of the method; 0: as the library likes best.
    pub trace: AtomicU32,
    /// How many events of a participant lie between two checkpoints of it.
    pub checkpoint_every: AtomicU32,
    /// A replay of one process alone: messages that it sent with other contents than recorded.
    pub sent_otherwise: AtomicU32,
    /// What becomes of the hosts whose names stand in the file [`HOSTS`] in the take: see [`hosts`] (recording).
    pub hosts_state: AtomicU32,
    /// The processor time that each of the first of `pids` has used to look whether it is its turn, which is no work (replay).
    pub looking_us: [AtomicU32; WATCHED],
    /// The thread by which each of them waits inside a message-passing library (replay).
    pub waiting_tids: [AtomicU32; WATCHED],
    /// The process that the command line asks where it waits; 0 once it has said so (replay).
    pub asked: AtomicU32,
    /// Which file standard output and standard error of the first process are, if they are one: device and number, mixed.
    pub outputs: [AtomicU64; 2],
    /// What processes meet at outside of memory.
    pub places: [Place; PLACES],
    /// How often a thread computed for so long without a call that others went on beside it (recording, threads in turn).
    pub spun: AtomicU32,
}

/// Places whose order is kept.
pub const PLACES: usize = 1024;

/// Somewhere outside of memory where processes meet: an address that is connected to, a pipe that several write to.
#[repr(C)]
pub struct Place {
    /// What it is, in this run; 0: nothing yet.
    pub key: AtomicU64,
    /// The thread that is there, or 0 (recording).
    pub holder: AtomicU32,
    /// The thread that was there last (recording).
    pub last: AtomicU32,
    /// How often somebody was there.
    pub version: AtomicU64,
    /// A turn has not come (replay): nobody waits here any more.
    pub is_lost: AtomicU32,
}

/// Names of hosts on which tasks may be spawned, one on each line.
pub const HOSTS: &str = "hosts";

/// Values of [`Session::hosts_state`].
pub mod hosts {
    /// No names, or all that can be done has been done for them.
    pub const NONE: u32 = 0;
    /// A task writes names.
    pub const WRITTEN: u32 = 1;
    /// They are written; it waits.
    pub const TOLD: u32 = 2;
    /// The command line sees to them.
    pub const SEEN_TO: u32 = 3;
}

/// Kinds of [`Session::pairs`].
pub mod pair {
    /// A task of PVM.
    pub const TASK: u64 = 1;
    /// A context of PVM.
    pub const CONTEXT: u64 = 2;
}

/// Bits of [`Session::fates`].
pub mod fate {
    /// It was killed when it was recorded.
    pub const KILLED: u32 = 1;
    /// It has played all its tapes.
    pub const PLAYED: u32 = 2;
    /// It waits for others inside a message-passing library.
    pub const WAITS: u32 = 4;
    /// It is a rank of a parallel job.
    pub const RANK: u32 = 8;
    /// It has had more threads than its first: one may work while another waits.
    pub const THREADS: u32 = 16;
    /// Above the bits: how often a rank has come out of such a wait.
    pub const STEP: u32 = 32;
}

/// What the shim tells the `retake` library of the process that both are in: see [`ROLE`].
#[repr(C)]
pub struct Role {
    /// 1; greater if fields have been added behind the last.
    pub version: u32,
    /// 1: the process is recorded. 2: it is replayed.
    pub mode: u32,
    pub take: *const u8,
    pub take_len: usize,
    pub session: *const u8,
    pub session_len: usize,
    pub name: *const u8,
    pub name_len: usize,
}

/// The shim's function by which the library finds its [`Role`]: `int (struct role *)`, 0 if the process has no part.
pub const ROLE: &str = "retake_role";
/// The shim's function for a thread whose part has no more lines: it does not return before the process ends.
pub const END_OF_PART: &str = "retake_end_of_part";
/// The shim's function for a process that is about to be copied: `void (void)`.
pub const BEFORE_COPY: &str = "retake_before_copy";
/// The shim's function for a copy of a recorded process, which is to play what that one went on to do: `int (const char
/// *session, size_t length)`, 0 if it cannot.
pub const PLAY_ON: &str = "retake_play_on";
/// The shim's function for a thread that the library has made for itself, unseen: `void (void (*work)(void *), void *)` does
/// that work, and nothing in it is an event.
pub const RUN_APART: &str = "retake_run_apart";
