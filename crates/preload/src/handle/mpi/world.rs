//! The beginning and the end of MPI, and its clock.

use crate::handle::debugger;
use crate::handle::input::note_unsupported;
use crate::handle::mpi::{SUCCESS, abi, aside, find, full, happened, hooks, wait};
use crate::handle::process::ending;
use crate::handle::time;
use crate::table::mpi::real;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU32};
use libc::c_int;
use retake_engine::ranks;
use retake_engine::report;
use retake_engine::store::Path;
use retake_engine::turn::{self, in_library};
use retake_tape::layout::state;
use retake_tape::op::Op;

pub unsafe fn init(argc: usize, argv: usize) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe { started(|| real::MPI_Init(argc, argv)) }
}

pub unsafe fn init_thread(argc: usize, argv: usize, required: c_int, provided: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let result = started(|| real::MPI_Init_thread(argc, argv, required, provided));
        if *provided == abi::get().thread_multiple {
            MULTIPLE.store(true, Relaxed);
        }
        result
    }
}

/// Whether several threads may use MPI at once.
static MULTIPLE: AtomicBool = AtomicBool::new(false);

/// The threads that make calls of one kind under `MPI_THREAD_MULTIPLE`: none yet, the number of one, or several.
pub struct Users(AtomicU32);

const SEVERAL: u32 = u32::MAX;

impl Users {
    pub const fn new() -> Users {
        Users(AtomicU32::new(0))
    }

    /// Whether a call of this thread is nothing new.
    #[inline(always)]
    fn knows(&self, number: u32) -> bool {
        !MULTIPLE.load(Relaxed) || [number, SEVERAL].contains(&self.0.load(Relaxed))
    }

    /// Whether the call of this thread is the first one of a second thread.
    #[inline]
    pub fn has_second(&self, number: u32) -> bool {
        if !MULTIPLE.load(Relaxed) {
            return false;
        }
        match self.0.compare_exchange(0, number, Relaxed, Relaxed) {
            Ok(_) => false,
            Err(known) if known == number || known == SEVERAL => false,
            Err(_) => self.0.swap(SEVERAL, Relaxed) != SEVERAL,
        }
    }
}

static RECEIVERS: Users = Users::new();

/// Whether this thread receives as it did before: then there is nothing to tell.
#[inline(always)]
pub fn is_known(number: u32) -> bool {
    RECEIVERS.knows(number)
}

/// Tells if the order of several threads' receives is not recorded.
#[inline]
pub fn used_by(number: u32) {
    if RECEIVERS.has_second(number) {
        note_unsupported(b"MPI in several threads at once (MPI_THREAD_MULTIPLE), whose order among each other");
    }
}

/// Starts MPI by `call`. How many ranks there are, and whose library it is, is on the tape.
unsafe fn started(call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    let abi = abi::get();
    if !turn::recording() {
        ranks::begins();
        debugger::arm();
    }
    let result = in_library(|| {
        hooks::look();
        wait::held(call)
    });
    if result != SUCCESS {
        return result;
    }
    let mut ranks: c_int = 0;
    // SAFETY: MPI runs.
    in_library(|| unsafe { real::MPI_Comm_size(abi.comm_world, &raw mut ranks) });
    let mut text = [0u8; 64];
    let mut words = Path { to: &mut text, length: 0 };
    words.push_number(ranks as u64).push(b" ranks of ").push(abi.name.as_bytes());
    let length = words.length;
    let now = &text[..length];
    if turn::recording() {
        thread.begin();
        thread.bytes(now);
        thread.happen();
        thread.finish();
        full::begins();
        turn::tell(thread, Op::MpiStart, thread.count(), 0, 0, i64::from(ranks));
        return result;
    }
    // Its threads may be the first that this process has.
    debugger::arm();
    let Some(step) = thread.step(Op::MpiStart) else { return result };
    let number = |words: &[u8]| words.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let alone = full::given();
    if step.bytes.is_empty() || !alone && step.bytes[..number(step.bytes)] != now[..number(now)] {
        report::another_world(thread, Op::MpiStart, step.bytes, now);
    }
    if step.bytes[number(step.bytes)..] != now[number(now)..] && is_first(abi.comm_world) {
        let then = &step.bytes[number(step.bytes)..];
        crate::say(&[b"retake: recorded with", then.strip_prefix(b" ranks of").unwrap_or(then)]);
        crate::say(&[b", replayed with ", abi.name.as_bytes(), b": sums of floating-point numbers may differ\n"]);
    }
    full::begins();
    happened(thread, Op::MpiStart, i64::from(ranks));
    result
}

fn is_first(world: usize) -> bool {
    let mut rank: c_int = -1;
    // SAFETY: MPI runs.
    aside(|| unsafe { real::MPI_Comm_rank(world, &raw mut rank) });
    rank == 0
}

/// A program may ask this without any MPI about.
unsafe fn asked(name: &'static str, flag: *mut c_int) -> c_int {
    let at = find::look_for(name);
    // SAFETY: the program's variable, and the library's function.
    unsafe {
        if at == 0 {
            *flag = 0;
            return SUCCESS;
        }
        let ask: unsafe extern "C-unwind" fn(*mut c_int) -> c_int = core::mem::transmute(at);
        aside(|| ask(flag))
    }
}

pub unsafe fn initialized(flag: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { asked("PMPI_Initialized\0", flag) }
}

pub unsafe fn finalized(flag: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { asked("PMPI_Finalized\0", flag) }
}

/// The job ends by this rank's will: its tape is whole.
pub unsafe fn abort(comm: usize, code: c_int) -> c_int {
    if turn::enter().is_some() {
        ending(state::EXITED, code);
    }
    // SAFETY: as above.
    aside(|| unsafe { real::MPI_Abort(comm, code) })
}

/// Seconds; kept as nanoseconds, like every other clock.
pub unsafe fn wtime() -> f64 {
    // SAFETY: asks and does nothing.
    let read = || (aside(|| unsafe { real::MPI_Wtime() }) * 1e9) as i64;
    time::value(time::OTHER, 1000, read) as f64 / 1e9
}

pub unsafe fn wtick() -> f64 {
    // SAFETY: asks and does nothing.
    aside(|| unsafe { real::MPI_Wtick() })
}
