//! Tasks: how one enrols, which id it is shown, whom it spawns.
//!
//! Tasks stand in the tree of creations like threads and processes: the second spawn of `0` is `0.2`, and the third task
//! of it `0.2.3`. All tasks of one spawn get one environment, so that a recorded task learns its place only when the
//! take is sealed, from the ids that its parent was given. A replay spawns them one by one, each under its name.

use crate::handle::environment::{Child, Environment};
use crate::handle::pvm::full::{self, NOTHING, state};
use crate::handle::pvm::{self, Scratch, answer, ids, library, machine, take_int, told};
use crate::table::process::Strings;
use crate::table::pvm::{Ints, Words, real};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU32};
use libc::{c_char, c_int};
use retake_engine::process::{self, mode};
use retake_engine::store::Path;
use retake_engine::thread::{NAME_MAX, Thread, child_name};
use retake_engine::{report, sys, tasks, turn};
use retake_tape::op::Op;
use retake_tape::session::{TAPE_ENDING, flag};

unsafe extern "C" {
    static mut environ: Strings;
}

/// The id that the program is shown; 0 before this process has enrolled and after it has left.
static SHOWN: AtomicI32 = AtomicI32::new(0);
/// The process that enrolled: a child that it forks has its memory, but must not speak on its connection.
static ENROLLED: AtomicU32 = AtomicU32::new(0);

/// The id that the program is shown.
pub fn shown() -> c_int {
    SHOWN.load(Relaxed)
}

/// Replay: returns when the daemon has read all that this task has sent: it answers a question behind it.
pub fn settle() {
    let shown = SHOWN.load(Relaxed);
    if shown > 0 && !full::given() && ENROLLED.load(Relaxed) == sys::getpid_now() {
        let present = ids::present(shown);
        // SAFETY: asks the library.
        library(|| unsafe { real::pvm_pstat(present) });
    }
}

/// Enrols this process if it has not yet: an event of its own, wherever the library would do it.
pub fn enrol(thread: &mut Thread) {
    if SHOWN.load(Relaxed) > 0 {
        return;
    }
    // SAFETY: asks the library.
    let call = || library(|| unsafe { real::pvm_mytid() });
    if turn::recording() {
        let tid = call();
        if tid > 0 && full::kept() {
            thread.keep("pvm_mytid", [state::known().bytes(), &[]]);
        }
        thread.begin();
        thread.result(Op::PvmEnrol, i64::from(tid));
        thread.happen();
        thread.finish();
        turn::tell(thread, Op::PvmEnrol, thread.count(), 0, 0, i64::from(tid));
        SHOWN.store(tid, Relaxed);
        ENROLLED.store(sys::getpid_now(), Relaxed);
        if tid > 0 {
            machine::tell_hosts(tid);
        }
        return;
    }
    let Some(step) = thread.step(Op::PvmEnrol) else { return };
    if !step.has_result {
        report::other(thread, Op::PvmEnrol, "a call of a task that had enrolled before");
    }
    let recorded = step.result as c_int;
    if recorded > 0 && full::given() {
        state::enrol(recorded, state::Known::read(thread.given("pvm_mytid")).0);
    } else if recorded > 0 {
        let present = call();
        if present <= 0 {
            report::differs(
                thread,
                Op::PvmEnrol,
                |words| {
                    words.push(b"a daemon of PVM that could be reached");
                },
                |words| {
                    words.push(b"none: start pvmd (or the console, pvm) as for the recording, then replay again");
                },
            );
        }
        ids::pair(recorded, present, sys::getpid_now());
        if full::kept() {
            thread.keep("pvm_mytid", [state::known().bytes(), &[]]);
        }
    }
    SHOWN.store(recorded, Relaxed);
    ENROLLED.store(sys::getpid_now(), Relaxed);
    thread.happened();
    turn::tell(thread, Op::PvmEnrol, thread.count(), 0, 0, step.result);
}

pub unsafe fn mytid() -> c_int {
    match pvm::enter() {
        // It has just been enrolled, or has failed to.
        Some(_) => told(i64::from(SHOWN.load(Relaxed))),
        // SAFETY: asks the library.
        None => ids::recorded(unsafe { real::pvm_mytid() }),
    }
}

/// The library is about to enrol inside a function that is not caught: packing a first message, say.
pub unsafe fn beatask() -> c_int {
    match pvm::enter() {
        Some(_) => told(i64::from(SHOWN.load(Relaxed).min(0))),
        // SAFETY: asks the library.
        None => unsafe { real::pvmbeatask() },
    }
}

pub unsafe fn parent() -> c_int {
    // SAFETY: asks the library.
    answer(Op::PvmAsk, || ids::recorded(unsafe { real::pvm_parent() }))
}

/// Answers with a list that stays the library's, or in a replay ours.
pub unsafe fn siblings(to: *mut Ints) -> c_int {
    // SAFETY: the program's variable; the library's list is as long as it says.
    unsafe {
        let call = || real::pvm_siblings(to);
        let Some(thread) = pvm::enter() else { return call() };
        if turn::recording() {
            let count = library(call);
            thread.begin();
            thread.result(Op::PvmAsk, i64::from(count));
            if count > 0 {
                thread.bytes(core::slice::from_raw_parts((*to).cast::<u8>(), count as usize * 4));
            }
            thread.happen();
            thread.finish();
            return count;
        }
        let Some(step) = thread.step(Op::PvmAsk) else { return call() };
        let mut copy = Scratch::new(step.bytes.len());
        if let Some(room) = copy.bytes().get_mut(..step.bytes.len()) {
            room.copy_from_slice(step.bytes);
        }
        if let (Some(to), true) = (to.as_mut(), step.result > 0) {
            *to = copy.keep().cast();
        }
        thread.happened();
        told(step.result)
    }
}

/// Runs `call` with an environment by which the tasks that it spawns learn their part.
unsafe fn with_part<R>(child: Child, call: impl FnOnce() -> R) -> R {
    // SAFETY: the program's environment, put back before the program runs on.
    unsafe {
        let environment = Environment::new(environ, child);
        let before = environ;
        environ = environment.strings();
        let result = library(call);
        environ = before;
        result
    }
}

pub unsafe fn spawn(file: *mut c_char, argv: Words, flags: c_int, at: *mut c_char, n: c_int, tids: Ints) -> c_int {
    let op = Op::PvmSpawn;
    let count = n.max(0) as usize;
    let mut own = Scratch::new(count * 4);
    let to = if tids.is_null() { own.ints() } else { tids };
    // SAFETY: the program's arguments, or memory of ours of the same length.
    unsafe {
        let call = || real::pvm_spawn(file, argv, flags, at, n, to);
        full::pass("pvm_spawn", |words| spawned(words, file, argv, n), |_| NOTHING);
        let Some(thread) = pvm::enter() else { return call() };
        thread.creations += 1;
        if turn::recording() {
            // Not every failure fills the list.
            core::ptr::write_bytes(to, 0, count);
            tasks::announce(count as u32);
            let started = with_part(Child::Tasks(0), call);
            let mut room = Scratch::new(4 + count * 4);
            let bytes = room.bytes();
            bytes[..4].copy_from_slice(&thread.creations.to_le_bytes());
            bytes[4..4 + count * 4].copy_from_slice(core::slice::from_raw_parts(to.cast(), count * 4));
            thread.begin();
            thread.result(op, i64::from(started));
            thread.bytes(&bytes[..4 + count * 4]);
            thread.happen();
            thread.finish();
            turn::tell(thread, op, thread.count(), 0, 0, i64::from(started));
            return started;
        }
        let Some(step) = thread.step(op) else { return call() };
        let mut recorded = step.bytes;
        take_int(&mut recorded);
        if recorded.len() != count * 4 {
            let then = recorded.len() as u64 / 4;
            report::differs(
                thread,
                op,
                |words| {
                    words.push(b"a spawn of tasks, ").push_number(then).push(b" of them");
                },
                |words| {
                    words.push(b"a spawn of tasks, ").push_number(count as u64).push(b" of them");
                },
            );
        }
        let (flags, at) = if process::get().has(flag::HOME) { at_home(flags) } else { (flags, at) };
        for index in 0..count {
            let tid = take_int(&mut recorded);
            to.add(index).write(tid);
            if tid > 0 && !full::given() {
                let started = |tid: Ints| real::pvm_spawn(file, argv, flags, at, 1, tid);
                spawn_again(thread, tid, index as u32 + 1, started);
            }
        }
        thread.happened();
        turn::tell(thread, op, thread.count(), 0, 0, step.result);
        told(step.result)
    }
}

/// How a task is spawned on this host: PVM's flags without those that choose another, and the name of this one.
fn at_home(flags: c_int) -> (c_int, *mut c_char) {
    /// `PvmTaskHost`, `PvmTaskArch`, `PvmHostCompl`, `PvmNoSpawnParent`.
    const CHOOSE: c_int = 1 | 2 | 32 | 64;
    (flags & !CHOOSE | 1, c".".as_ptr().cast_mut())
}

/// What is spawned, in words.
unsafe fn spawned(words: &mut Path<'_>, file: *const c_char, argv: Words, n: c_int) {
    // SAFETY: the program's strings; the list ends in a null, if there is one.
    unsafe {
        words.push(b"of ").push_number(u64::from(n.unsigned_abs())).push(b" tasks: ");
        full::push_text(words, file);
        let mut word = argv;
        while !word.is_null() && !(*word).is_null() {
            words.push(b" ");
            full::push_text(words, *word);
            word = word.add(1);
        }
    }
}

/// Replay: starts the task that was `recorded`, at this place among those of the thread's newest spawn.
unsafe fn spawn_again(thread: &mut Thread, recorded: c_int, place: u32, call: impl FnOnce(Ints) -> c_int) {
    let mut present = 0;
    // SAFETY: a variable of ours.
    let started = unsafe {
        if has_tape(thread, place) {
            with_part(Child::Tasks(place), || call(&raw mut present))
        } else {
            library(|| call(&raw mut present))
        }
    };
    if started != 1 || present <= 0 {
        report::differs(
            thread,
            Op::PvmSpawn,
            |words| {
                words.push(b"task t").push_hex(u64::from(recorded as u32)).push(b", which started");
            },
            |words| pvm::error(words, if started < 0 { started } else { present }),
        );
    }
    ids::pair(recorded, present, 0);
}

/// Whether the task at this place was recorded; a static program, say, was not.
fn has_tape(thread: &Thread, place: u32) -> bool {
    let (mut spawn, mut task) = ([0u8; NAME_MAX], [0u8; NAME_MAX]);
    let length = child_name(&mut spawn, thread.name(), thread.creations);
    let length = child_name(&mut task, &spawn[..length], place);
    let mut room = [0u8; 1024];
    let mut path = Path { to: &mut room, length: 0 };
    path.push(process::get().take()).push(b"/").push(&task[..length]).push(TAPE_ENDING.as_bytes());
    // SAFETY: the path ends in a zero byte.
    path.finish() && sys::error(unsafe { sys::access(room.as_ptr() as usize, libc::R_OK as usize) }).is_none()
}

/// The next call of PVM enrols again, under another id.
pub unsafe fn exit() -> c_int {
    // SAFETY: asks the library.
    let call = || unsafe { real::pvm_exit() };
    let Some(thread) = turn::enter() else { return call() };
    pvm::output::play(thread);
    SHOWN.store(0, Relaxed);
    told(turn::outcome(
        Op::PvmExit,
        false,
        || i64::from(library(call)),
        |_| {
            if full::given() {
                // SAFETY: the library's buffers.
                unsafe { pvm::receive::drop_active() };
                state::leave();
            } else {
                library(call);
            }
        },
    ))
}

/// Starts the daemon and enrols. The daemon is no part of the take.
pub unsafe fn start_pvmd(argc: c_int, argv: Words, block: c_int) -> c_int {
    // SAFETY: the program's arguments.
    let call = || unsafe { real::pvm_start_pvmd(argc, argv, block) };
    let result = turn::outcome(
        Op::PvmHosts,
        false,
        || i64::from(library(call)),
        |_| {
            if !full::given() {
                library(call);
            }
        },
    );
    if result >= 0 {
        pvm::enter();
    }
    told(result)
}

/// Ends the daemon, and with it all tasks, perhaps this one first.
pub unsafe fn halt() -> c_int {
    pvm::enter();
    // SAFETY: asks the library.
    let call = || unsafe { real::pvm_halt() };
    // Before the call: it may not return.
    if let Some(thread) = turn::enter() {
        if turn::recording() {
            thread.begin();
            thread.happen();
            thread.finish();
        } else if thread.step(Op::PvmHosts).is_some() {
            thread.happened();
        }
    }
    if full::given() { 0 } else { library(call) }
}

/// Whether this program is PVM's own daemon or its group server: they serve several programs, and have no part.
pub fn is_daemon() -> bool {
    let mut path = [0u8; 512];
    // SAFETY: the buffer is as long as said.
    let length = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    let path = &path[..length.max(0) as usize];
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    matches!(name, b"pvmd" | b"pvmd3" | b"pvmgs")
}

/// A task is a child of the daemon, not of `retake`, so that address randomisation is still on: executes the program
/// again without.
///
/// # Safety
/// The vectors must be those that the kernel gave.
pub unsafe fn fix_addresses(argv: *mut *mut c_char, envp: *mut *mut c_char) {
    // SAFETY: the kernel's vectors; a failure leaves everything as it was.
    unsafe {
        if !crate::handle::environment::is_task(envp) || process::mode() != mode::OFF {
            return;
        }
        let now = sys::personality(0xffff_ffff);
        let off = libc::ADDR_NO_RANDOMIZE as usize;
        if sys::error(now).is_some() || now as usize & off != 0 {
            return;
        }
        sys::personality(now as usize | off);
        if sys::personality(0xffff_ffff) as usize & off != 0 {
            sys::execve(c"/proc/self/exe".as_ptr() as usize, argv as usize, envp as usize);
        }
    }
}
