//! The choices file, mapped: what a run is told, and the log of what it chose.

use crate::status::{Context, Result};
use retake_explore::{Choice, Plan};
use retake_tape::choices::{Header, MAGIC};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{SystemTime, UNIX_EPOCH};

/// Most choices that are logged of one run. A run that makes more is taken to go on for ever.
pub const STEPS_MAX: usize = 1 << 18;

/// What the clocks show when a run begins: the same for all runs of one exploration.
#[derive(Clone, Copy)]
pub struct Clocks {
    realtime_ns: i64,
    monotonic_ns: i64,
}

impl Clocks {
    pub fn now() -> Clocks {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let up = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
        let seconds = up.split('.').next().and_then(|word| word.parse::<i64>().ok()).unwrap_or(1);
        Clocks { realtime_ns: since.as_nanos() as i64, monotonic_ns: seconds.saturating_mul(1_000_000_000) }
    }
}

pub struct Choices {
    at: *mut Header,
    size: usize,
    _file: File,
}

impl Choices {
    /// Makes the file, with room for so many choices.
    pub fn create(path: &Path, room: usize, clocks: Clocks) -> Result<Choices> {
        let words = || format!("cannot make {}", path.display());
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path).because(words)?;
        let plan_at = size_of::<Header>().next_multiple_of(16);
        let prefix_at = plan_at + size_of::<Plan>().next_multiple_of(16);
        let log_at = prefix_at + (2 * room).next_multiple_of(16);
        let size = log_at + room * size_of::<Choice>();
        file.set_len(size as u64).because(words)?;
        let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        // SAFETY: a fresh map of a file of that size.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, fd, 0) };
        if at == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error()).because(words);
        }
        let header = Header {
            magic: MAGIC,
            plan_at: plan_at as u64,
            prefix_at: prefix_at as u64,
            prefix_length: 0,
            log_at: log_at as u64,
            log_room: room as u64,
            realtime_ns: clocks.realtime_ns,
            monotonic_ns: clocks.monotonic_ns,
            is_brief: 0,
            is_stuck: AtomicU32::new(0),
            steps: AtomicU64::new(0),
            spun: AtomicU32::new(0),
            outside: AtomicU32::new(0),
        };
        let choices = Choices { at: at.cast(), size, _file: file };
        // SAFETY: there is room, and nobody else has it yet.
        unsafe { choices.at.write(header) };
        Ok(choices)
    }

    fn header(&self) -> &Header {
        // SAFETY: written by `create`; what others change of it are atomics.
        unsafe { &*self.at }
    }

    fn part<T>(&self, at: u64) -> *mut T {
        // SAFETY: inside the map.
        unsafe { self.at.cast::<u8>().add(at as usize).cast() }
    }

    /// Says what the next run is to do. No run is under way.
    pub fn give(&mut self, plan: &Plan, prefix: &[u16], is_brief: bool) {
        let prefix = &prefix[..prefix.len().min(self.header().log_room as usize)];
        // SAFETY: there is room for a plan and for that many choices, and no program uses them now.
        unsafe {
            self.part::<Plan>(self.header().plan_at).write(plan.clone());
            let to = self.part::<u16>(self.header().prefix_at);
            std::ptr::copy_nonoverlapping(prefix.as_ptr(), to, prefix.len());
            (*self.at).prefix_length = prefix.len() as u64;
            (*self.at).is_brief = is_brief.into();
        }
        let header = self.header();
        for told in [&header.is_stuck, &header.spun, &header.outside] {
            told.store(0, Relaxed);
        }
        header.steps.store(0, Relaxed);
    }

    /// Choices made so far.
    pub fn steps(&self) -> u64 {
        self.header().steps.load(Acquire)
    }

    /// Whether more choices were made than are logged.
    pub fn is_full(&self) -> bool {
        self.steps() >= self.header().log_room
    }

    pub fn is_stuck(&self) -> bool {
        self.header().is_stuck.load(Acquire) != 0
    }

    /// How often a thread was left to itself: because it computed too long, because it waited outside.
    pub fn left_alone(&self) -> (u32, u32) {
        (self.header().spun.load(Relaxed), self.header().outside.load(Relaxed))
    }

    /// The choices of a run that is over.
    pub fn log(&self) -> &[Choice] {
        let length = self.steps().min(self.header().log_room) as usize;
        // SAFETY: that many were written, and nobody writes any more.
        unsafe { std::slice::from_raw_parts(self.part::<Choice>(self.header().log_at), length) }
    }
}

impl Drop for Choices {
    fn drop(&mut self) {
        // SAFETY: made by mmap with this size.
        unsafe { libc::munmap(self.at.cast(), self.size) };
    }
}

/// The choices that were made in the run whose file that is.
pub fn read(path: &Path) -> Option<Vec<u16>> {
    let bytes = std::fs::read(path).ok()?;
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let log_at = usize::try_from(number(std::mem::offset_of!(Header, log_at))?).ok()?;
    let steps = number(std::mem::offset_of!(Header, steps))?;
    let room = number(std::mem::offset_of!(Header, log_room))?;
    if number(0)? != MAGIC {
        return None;
    }
    let log = bytes.get(log_at..)?.chunks_exact(size_of::<Choice>()).take(steps.min(room) as usize);
    // Who goes on is the first of a record; at the end there may be one of nobody.
    let threads = log.map(|record| u32::from_le_bytes([record[0], record[1], record[2], record[3]]));
    Some(threads.map_while(|thread| u16::try_from(thread).ok()).collect())
}
