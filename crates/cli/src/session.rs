//! The session file, mapped: what the command line and the processes of a run tell each other.

use crate::status::{Context, Result};
use retake_tape::session::{MAGIC, Session};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// A session file that this process made. Holding it keeps the file locked, which tells others that it is in use.
pub struct Mapped {
    at: *mut Session,
    _file: File,
}

impl Mapped {
    /// Makes the file at `path`.
    pub fn create(path: &Path, flags: u32) -> Result<Mapped> {
        let words = || format!("cannot make {}", path.display());
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path).because(words)?;
        let size = size_of::<Session>();
        // Real blocks, not a hole: a full disk must show here, not as a signal in the program.
        // SAFETY: plain calls on a descriptor that we own.
        let full = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size as libc::off_t) };
        if full != 0 {
            return Err(std::io::Error::from_raw_os_error(full)).because(words);
        }
        // SAFETY: as above; failing to lock is harmless.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        // SAFETY: a fresh map of a file that is `size` bytes long.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error()).because(words);
        }
        let mapped = Mapped { at: at.cast(), _file: file };
        mapped.next_number.store(1, Relaxed);
        mapped.flags.store(flags, Relaxed);
        mapped.magic.store(MAGIC, Relaxed);
        Ok(mapped)
    }

    /// Whether the recorder that made the session at `path` is still there.
    pub fn in_use(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        // SAFETY: a plain call on a descriptor that we own; closing it gives the lock back.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) != 0 }
    }

    /// The report of a divergence, if one was written.
    pub fn report(&self) -> Option<String> {
        if self.report_state.load(Acquire) != 2 {
            return None;
        }
        let length = (self.report_len.load(Acquire) as usize).min(self.report.len());
        Some(String::from_utf8_lossy(&self.report[..length]).into_owned())
    }

    /// Ids of the processes that took part, as they are now.
    pub fn present_pids(&self) -> Vec<i32> {
        let length = (self.pids_len.load(Acquire) as usize).min(self.pids.len());
        self.pids[..length].iter().filter_map(|pair| i32::try_from(pair.load(Relaxed) as u32).ok()).collect()
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
