//! Writing a part: the lines of one participant, into a file of its own in the take.
//!
//! The container, the growing of the file and the shared map are the engine's: what is written survives the death of the
//! program. A full disk ends the recording, never the program.

use crate::error::{Error, Result};
use crate::mode::Settings;
use retake_engine::store::{Beginning, Store};
use retake_engine::sys;
use retake_engine::writer::Writer;
use retake_tape::layout::{ThreadHeader, kind, state};
use retake_tape::part::{Line, fact};
use retake_tape::session::PART_ENDING;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The writing end of a part.
pub struct Capture {
    store: Box<Store>,
    writer: Writer,
    header: *mut ThreadHeader,
    /// The event of the line written last.
    last: u64,
    /// Contents are kept, too.
    pub full: bool,
    cut: bool,
    /// The last event of the run of receives that found nothing, if it was the last line.
    nothing: u64,
}

// SAFETY: the pointers lead into maps of the capture's own.
unsafe impl Send for Capture {}

/// The file's name without its ending, of the `life`-th participant of that name.
pub fn part_name(name: &str, life: u32) -> String {
    if life <= 1 { name.into() } else { format!("{name}@{life}") }
}

impl Capture {
    pub fn new(settings: &Settings, name: &str, life: u32, full: bool) -> Result<Capture> {
        let take = settings.take.as_deref().unwrap_or(std::path::Path::new("."));
        let part = part_name(name, life);
        let path = take.join(format!("{part}{PART_ENDING}"));
        if path.exists() {
            let what = format!("{} is there already: give a new directory for the take", path.display());
            return Err(Error::Tape(what));
        }
        let mut store = Box::new(Store::new());
        let beginning = Beginning { kind: kind::PART, name: part.as_bytes(), born: 0, at_random: [0; 16] };
        // SAFETY: nobody else knows the store.
        unsafe { store.create(take.as_os_str().as_bytes(), PART_ENDING, &beginning) }.map_err(|errno| {
            let why = std::io::Error::from_raw_os_error(errno);
            Error::Tape(format!("cannot make {}: {why}", path.display()))
        })?;
        let mut writer = Writer::new();
        let failed = || Error::Tape(format!("cannot write {}", path.display()));
        let (at, chunk) = writer.open(&mut store, 1).ok_or_else(failed)?;
        // SAFETY: the chunk is fresh and ours, and the thread's header stands behind the chunk's; the file is mapped.
        let header = unsafe {
            let header = chunk.add(1).cast::<ThreadHeader>();
            (*header).number = 1;
            (*header).tid = sys::gettid_now();
            let file = &*store.header();
            file.threads.store(1, Relaxed);
            file.last_thread.store(at, Release);
            header
        };
        let mut capture = Capture { store, writer, header, last: 0, full, cut: false, nothing: 0 };
        capture.facts(settings);
        Ok(capture)
    }

    /// What `replay --only` must know to run this participant's process again.
    fn facts(&mut self, settings: &Settings) {
        let arguments: Vec<_> = std::env::args_os().map(OsStringExt::into_vec).collect();
        self.line(0, &Line::Fact(fact::COMMAND, &arguments.join(&0)));
        if let Ok(cwd) = std::env::current_dir() {
            self.line(0, &Line::Fact(fact::DIRECTORY, cwd.as_os_str().as_bytes()));
        }
        if let Ok(program) = std::fs::read_link("/proc/self/exe") {
            self.line(0, &Line::Fact(fact::PROGRAM, program.as_os_str().as_bytes()));
        }
        if let Some(process) = &settings.process {
            self.line(0, &Line::Fact(fact::PROCESS, process.as_bytes()));
        }
        self.line(0, &Line::Fact(fact::FULL, &[u8::from(self.full)]));
    }

    /// Writes a line that belongs to `event`.
    pub fn line(&mut self, event: u64, line: &Line<'_>) {
        if self.cut {
            return;
        }
        let Some(to) = self.writer.room(&raw mut *self.store, line.room()) else {
            self.cut_short();
            return;
        };
        // SAFETY: there is room for the line.
        let end = unsafe { line.write(to, event - self.last) };
        self.writer.advance(end);
        self.last = event;
        if matches!(line, Line::Nothing(_)) {
            self.writer.polls = self.writer.last_four();
        }
    }

    /// One more receive that found nothing: a run of them costs one line.
    pub fn nothing(&mut self, event: u64) {
        let counter = self.writer.polls.cast::<u32>();
        // SAFETY: not null only directly behind such a line, whose last four bytes are the number.
        unsafe {
            let goes_on = !counter.is_null() && self.nothing + 1 == event;
            if !goes_on || u32::from_le(counter.read_unaligned()) == u32::MAX {
                self.line(event, &Line::Nothing(1));
            } else {
                let times = u32::from_le(counter.read_unaligned());
                counter.write_unaligned((times + 1).to_le());
            }
        }
        self.nothing = event;
    }

    /// `event` has happened: what is written of it counts.
    pub fn commit(&mut self, event: u64) {
        if !self.cut {
            // SAFETY: the header is mapped.
            unsafe { (*self.header).count.store(event, Release) };
        }
    }

    #[cold]
    fn cut_short(&mut self) {
        self.cut = true;
        // SAFETY: the file's header is mapped.
        unsafe {
            (*self.store.header()).cut_errno.store(libc::ENOSPC as u32, Relaxed);
            (*self.store.header()).state.store(state::CUT, Release);
        }
    }
}

impl Drop for Capture {
    /// The participant has finished.
    fn drop(&mut self) {
        // SAFETY: headers are mapped until the process ends.
        unsafe {
            if (*self.store.header()).pid == sys::getpid_now() && !self.cut {
                (*self.header).ended.store(1, Release);
                (*self.store.header()).state.store(state::EXITED, Release);
            }
        }
    }
}
