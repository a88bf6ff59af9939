//! The session file, mapped: what the command line and the processes of a run tell each other.

use crate::status::{Context, Result};
use retake_tape::session::{MAGIC, Session};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::SystemTime;

/// Makes the file at `path`, `size` zero bytes long, and maps it.
pub fn create_map(path: &Path, size: usize) -> Result<(*mut libc::c_void, File)> {
    let words = || format!("cannot make {}", path.display());
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path).because(words)?;
    // Real blocks, not a hole: a full disk must show here, not as a signal in the program.
    // SAFETY: plain calls on a descriptor that we own.
    let full = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size as libc::off_t) };
    if full != 0 {
        return Err(std::io::Error::from_raw_os_error(full)).because(words);
    }
    Ok((map(&file, size).because(words)?, file))
}

fn map(file: &File, size: usize) -> std::io::Result<*mut libc::c_void> {
    let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
    // SAFETY: a fresh map of a file that is at least `size` bytes long.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, fd, 0) };
    if at == libc::MAP_FAILED { Err(std::io::Error::last_os_error()) } else { Ok(at) }
}

/// A session file that this process made. Holding it keeps the file locked, which tells others that it is in use.
pub struct Mapped {
    at: *mut Session,
    file: File,
}

impl Mapped {
    /// Makes the file at `path`.
    pub fn create(path: &Path, flags: u32) -> Result<Mapped> {
        let (at, file) = create_map(path, size_of::<Session>())?;
        // SAFETY: a plain call on a descriptor that we own; failing to lock is harmless.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        let mapped = Mapped { at: at.cast(), file };
        mapped.next_number.store(1, Relaxed);
        mapped.flags.store(flags, Relaxed);
        mapped.magic.store(MAGIC, Relaxed);
        Ok(mapped)
    }

    /// Makes it what it was when it was made, for another run.
    pub fn restart(&self) {
        self.next_number.store(1, Relaxed);
        self.sequence.store(0, Relaxed);
        let told =
            [&self.processes, &self.cuts, &self.deadlock_state, &self.report_state, &self.announced, &self.tasks];
        for word in told.into_iter().chain([&self.pids_len, &self.pairs_len, &self.turn_holder]) {
            word.store(0, Relaxed);
        }
        self.turn.store(0, Relaxed);
        self.sends.iter().for_each(|word| word.store(0, Relaxed));
    }

    /// Opens a session that another process made.
    pub fn open(path: &Path) -> Result<Mapped> {
        let words = || format!("cannot open {}", path.display());
        let file = OpenOptions::new().read(true).write(true).open(path).because(words)?;
        if file.metadata().because(words)?.len() < size_of::<Session>() as u64 {
            return Err(std::io::Error::other("it is too short")).because(words);
        }
        Ok(Mapped { at: map(&file, size_of::<Session>()).because(words)?.cast(), file })
    }

    /// Whether the recorder that made the session at `path` is still there.
    pub fn in_use(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        // SAFETY: a plain call on a descriptor that we own; closing it gives the lock back.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) != 0 }
    }

    /// When the session was made, by the clock of files; now, if that is not known.
    pub fn made(&self) -> SystemTime {
        self.file.metadata().and_then(|data| data.created()).unwrap_or_else(|_| SystemTime::now())
    }

    /// The report of a divergence, if one was written.
    pub fn report(&self) -> Option<String> {
        if self.report_state.load(Acquire) != 2 {
            return None;
        }
        let length = (self.report_len.load(Acquire) as usize).min(self.report.len());
        Some(String::from_utf8_lossy(&self.report[..length]).into_owned())
    }

    /// Who waits for whom, if a deadlock was found.
    pub fn deadlock(&self) -> Option<String> {
        if self.deadlock_state.load(Acquire) != 2 {
            return None;
        }
        let length = (self.deadlock_len.load(Acquire) as usize).min(self.deadlock.len());
        Some(String::from_utf8_lossy(&self.deadlock[..length]).into_owned())
    }

    /// Ids of the processes that took part, as they are now.
    pub fn present_pids(&self) -> Vec<i32> {
        let length = (self.pids_len.load(Acquire) as usize).min(self.pids.len());
        self.pids[..length].iter().filter_map(|pair| i32::try_from(pair.load(Relaxed) as u32).ok()).collect()
    }
}

/// The processes of the run whose session lies at `path` that are still there: they have it in their memory.
pub fn living(path: &Path) -> Vec<i32> {
    let Ok(session) = Mapped::open(path) else { return Vec::new() };
    let path = path.to_string_lossy();
    let has_it = |pid: &i32| {
        *pid > 1 && std::fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains(&*path))
    };
    session.present_pids().into_iter().filter(has_it).collect()
}

/// Ends what is left of a replay.
pub fn end_all(path: &Path) {
    for pid in living(path) {
        // SAFETY: a process of this replay.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

impl std::ops::Deref for Mapped {
    type Target = Session;

    fn deref(&self) -> &Session {
        // SAFETY: the map lives as long as self; all that others write while we look are atomics, except the report,
        // which is read only once its state says that it is written.
        unsafe { &*self.at }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: made by mmap with this size.
        unsafe { libc::munmap(self.at.cast(), size_of::<Session>()) };
    }
}
