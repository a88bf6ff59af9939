//! Tasks of a message system across the processes of a run: numbers that differ from run to run, and the order in which
//! tasks change what they share.
//!
//! A replay shows the recorded numbers and hands the present ones to the library; the session pairs them. What all tasks
//! share (groups, mailboxes) is one object with one version: while recording its holder makes the real call, notes the
//! version, and raises it; a replay waits for that version.

use crate::park::{self, Place};
use crate::process;
use crate::replay::Order;
use crate::store::{PATH_MAX, Path};
use crate::sys;
use crate::thread::{Thread, waiting};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use retake_tape::session::{HOSTS, PAIRS, Session, flag, hosts};

/// Replay: what was recorded as `shown` is `present` now. `process` is the task's, if it is known.
pub fn pair(kind: u64, shown: u32, present: u32, process: u32) {
    let Some(session) = process::get().session() else { return };
    let index = session.pairs_len.fetch_add(1, AcqRel) as usize;
    if let (Some(pair), Some(kinds)) = (session.pairs.get(index), session.pair_kinds.get(index)) {
        pair.store(u64::from(shown) << 32 | u64::from(present), Release);
        kinds.store(u64::from(process) << 32 | kind, Release);
    }
}

/// The present number of what was recorded as `shown`.
pub fn present(kind: u64, shown: u32) -> Option<u32> {
    find(kind, |pair| (pair >> 32) as u32 == shown).map(|index| session_pair(index) as u32)
}

/// The recorded number of what is `present` now.
pub fn recorded(kind: u64, present: u32) -> Option<u32> {
    find(kind, |pair| pair as u32 == present).map(|index| (session_pair(index) >> 32) as u32)
}

/// The present process of the task that was recorded as `shown`, if it has told.
pub fn process_of(kind: u64, shown: u32) -> Option<u32> {
    let session = process::get().session()?;
    let told = |index: usize| session.pair_kinds[index].load(Acquire) >> 32;
    let length = (session.pairs_len.load(Acquire) as usize).min(PAIRS);
    let fits = |index: &usize| is(session, *index, kind) && session_pair(*index) >> 32 == u64::from(shown);
    (0..length).rev().filter(fits).map(told).find(|process| *process != 0).map(|process| process as u32)
}

fn find(kind: u64, fits: impl Fn(u64) -> bool) -> Option<usize> {
    let session = process::get().session()?;
    let length = (session.pairs_len.load(Acquire) as usize).min(PAIRS);
    (0..length).rev().find(|index| is(session, *index, kind) && fits(session_pair(*index)))
}

fn is(session: &Session, index: usize, kind: u64) -> bool {
    session.pair_kinds[index].load(Acquire) & u64::from(u32::MAX) == kind
}

fn session_pair(index: usize) -> u64 {
    process::get().session().map_or(0, |session| session.pairs[index].load(Acquire))
}

/// Replay: the present number of `shown`, as soon as there is one.
pub fn wait_for(thread: &mut Thread, kind: u64, shown: u32) -> u32 {
    let place = Place { key: shown as usize, wanted: core::ptr::null(), poll: true };
    park::wait(thread, waiting::TASK, &place, 0, || park::far_unless(present(kind, shown).is_some()));
    present(kind, shown).unwrap_or(shown)
}

/// Recording: makes `call` while no other task changes what all share; `note` is given the result and the version.
pub fn changing<R>(call: impl FnOnce() -> R, note: impl FnOnce(&R, u64)) -> R {
    let Some(session) = process::get().session() else { return call() };
    let mine = sys::getpid_now();
    let mut step = 5_000;
    while let Err(holder) = session.turn_holder.compare_exchange(0, mine, AcqRel, Acquire) {
        // SAFETY: signal 0 asks and does nothing.
        let gone = sys::error(unsafe { sys::kill(holder as usize, 0) }) == Some(libc::ESRCH);
        if gone && session.turn_holder.compare_exchange(holder, mine, AcqRel, Acquire).is_ok() {
            break;
        }
        sys::sleep_ns(step);
        step = (step * 2).min(1_000_000);
    }
    let result = call();
    // The tape first: whoever is killed in between has not had its turn.
    note(&result, session.turn.load(Acquire));
    session.turn.fetch_add(1, AcqRel);
    session.turn_holder.store(0, Release);
    result
}

/// Recording: so many tasks are about to be spawned.
pub fn announce(count: u32) {
    if let Some(session) = process::get().session() {
        session.tasks.fetch_add(count, AcqRel);
        session.announced.fetch_add(count, AcqRel);
    }
}

/// Recording: whether a task has been spawned.
pub fn has_any() -> bool {
    process::get().session().is_some_and(|session| session.tasks.load(Acquire) > 0)
}

/// How long whoever told of hosts waits for the command line: until it begins, and until it is done.
const HEARD_NS: i64 = 2_000_000_000;
const DONE_NS: i64 = 120_000_000_000;

/// Recording: tasks may be spawned on the hosts of these names, each ended by a line feed. Returns when the command line has
/// seen to it that they can be recorded there, or is not to be had.
pub fn tell_hosts(names: &[u8]) {
    let Some(session) = process::get().session() else { return };
    // On a host apart nobody listens.
    if names.is_empty() || process::get().has(flag::APART) {
        return;
    }
    if session.hosts_state.compare_exchange(hosts::NONE, hosts::WRITTEN, AcqRel, Acquire).is_err() {
        return;
    }
    let is_written = write_file(HOSTS, names);
    session.hosts_state.store(if is_written { hosts::TOLD } else { hosts::NONE }, Release);
    let started = sys::clock_ns(libc::CLOCK_MONOTONIC);
    loop {
        let waited = sys::clock_ns(libc::CLOCK_MONOTONIC) - started;
        match session.hosts_state.load(Acquire) {
            hosts::TOLD if waited < HEARD_NS => {}
            hosts::SEEN_TO if waited < DONE_NS => {}
            _ => return,
        }
        sys::sleep_ns(2_000_000);
    }
}

/// Writes a file of that name into the take.
fn write_file(name: &str, bytes: &[u8]) -> bool {
    let mut room = [0u8; PATH_MAX];
    let mut path = Path { to: &mut room, length: 0 };
    if !path.push(process::get().take()).push(b"/").push(name.as_bytes()).finish() {
        return false;
    }
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the path ends in a zero byte; the descriptor is ours.
    unsafe {
        let fd = sys::openat(libc::AT_FDCWD as usize, room.as_ptr() as usize, flags as usize, 0o600);
        if sys::error(fd).is_some() {
            return false;
        }
        let written = sys::pwrite(fd as usize, bytes.as_ptr() as usize, bytes.len(), 0);
        sys::close(fd as usize);
        written == bytes.len() as isize
    }
}

/// Recording: how often what all share has been changed.
pub fn changes() -> u64 {
    process::get().session().map_or(0, |session| session.turn.load(Acquire))
}

/// Replay: waits until what all share has been changed as often as the tape says.
pub fn wait_for_changes(thread: &mut Thread, order: Order) {
    let (Some(session), Order::Version(wanted)) = (process::get().session(), order) else { return };
    let place = Place { key: 0, wanted: core::ptr::null(), poll: true };
    park::wait(thread, waiting::SHARED, &place, wanted, || park::far_unless(session.turn.load(Acquire) >= wanted));
}

/// Replay: it is changed once more.
pub fn changed() {
    if let Some(session) = process::get().session() {
        session.turn.fetch_add(1, AcqRel);
    }
}
