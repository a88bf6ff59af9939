//! The ids of processes: the program has those that were recorded, the kernel knows those of now.

use crate::process;
use crate::sys;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use retake_tape::session::{PIDS, fate};

/// Replay: the process that was recorded as `shown` is `present` now. Where that is noted. If there is no more room, it takes
/// the place of one that is no more, of those the one that came first.
pub fn pair(shown: u32, present: u32) -> usize {
    let Some(session) = process::get().session() else { return usize::MAX };
    let both = u64::from(shown) << 32 | u64::from(present);
    if let Some((index, _)) = find(|other| other == both) {
        return index;
    }
    for _ in 0..PIDS {
        let index = session.pids_len.fetch_add(1, AcqRel) as usize % PIDS;
        let before = session.pids[index].load(Acquire);
        // SAFETY: signal 0 asks and does nothing.
        let lives = || sys::error(unsafe { sys::kill(before as u32 as usize, 0) }) != Some(libc::ESRCH);
        if before != 0 && lives() {
            continue;
        }
        session.fates[index].store(0, Release);
        if session.pids[index].compare_exchange(before, both, AcqRel, Relaxed).is_ok() {
            return index;
        }
    }
    usize::MAX
}

/// The present id of the process that had the id `shown` when it was recorded.
pub fn present(shown: u32) -> Option<u32> {
    find(|pair| (pair >> 32) as u32 == shown).map(|(_, pair)| pair as u32)
}

/// The recorded id of the process that has the id `present` now.
pub fn recorded(present: u32) -> Option<u32> {
    find(|pair| pair as u32 == present).map(|(_, pair)| (pair >> 32) as u32)
}

/// The last pair that fits, and where it stands.
fn find(fits: impl Fn(u64) -> bool) -> Option<(usize, u64)> {
    let session = process::get().session()?;
    let length = session.pids_len.load(Acquire) as usize;
    let latest = (length.saturating_sub(PIDS)..length).rev().map(|at| at % PIDS);
    latest.map(|index| (index, session.pids[index].load(Acquire))).find(|(_, pair)| *pair != 0 && fits(*pair))
}

/// Replay: whether the process that is `present` now was killed then, but has not come so far yet.
pub fn is_killed_later(present: u32) -> bool {
    let Some(session) = process::get().session() else { return false };
    let length = (session.pids_len.load(Acquire) as usize).min(PIDS);
    (0..length).any(|index| {
        let fate = session.fates[index].load(Acquire);
        session.pids[index].load(Acquire) as u32 == present && fate & (fate::KILLED | fate::PLAYED) == fate::KILLED
    })
}

/// Whether `present` is a child of this process.
pub fn is_child(present: u32) -> bool {
    ask(present).is_some()
}

/// Whether `present` is a child of this process that has ended.
pub fn has_ended(present: u32) -> bool {
    ask(present) == Some(libc::SIGCHLD as u32)
}

/// What the kernel says of a child that has ended, or 0; nothing of anybody else.
fn ask(present: u32) -> Option<u32> {
    const BY_ID: usize = 1;
    let mut info = [0u32; 32];
    let how = (libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) as usize;
    // SAFETY: the kernel's structure is 128 bytes.
    let told = unsafe { sys::waitid(BY_ID, present as usize, info.as_mut_ptr().addr(), how, 0) };
    sys::error(told).is_none().then_some(info[0])
}
