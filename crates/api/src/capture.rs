//! Writing a part: the lines of one participant, into a file of its own in the take.
//!
//! The container, the growing of the file and the shared map are the engine's: what is written survives the death of the
//! program. A full disk ends the recording, never the program.

use crate::descriptors;
use crate::error::{Error, Result};
use crate::forked;
use crate::mode::Settings;
use crate::noting::Receive;
use crate::wire::Fd;
use libc::c_int;
use retake_engine::store::{Beginning, Store};
use retake_engine::sys;
use retake_engine::writer::Writer;
use retake_tape::check::crc32c;
use retake_tape::layout::{ThreadHeader, kind, state};
use retake_tape::part::{Line, fact};
use retake_tape::session::{NEXT_PART_ENDING, PART_ENDING, flag};
use retake_trace::policy::Method;
use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Contents from this length on stand apart from the lines.
const LARGE: usize = 16 << 10;

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
    /// Where the last message taken without a line stands, for each partner; in the chunk that is being written.
    taken: BTreeMap<u32, *mut u64>,
    /// That chunk.
    taken_in: u64,
    /// The last event of the run of receives that found nothing, if it was the last line.
    nothing: u64,
    /// The file, open for contents that stand apart, and which one it is.
    apart: Option<(Fd, (u64, u64))>,
}

// SAFETY: the pointers lead into maps of the capture's own.
unsafe impl Send for Capture {}

/// The file's name without its ending, of the `life`-th participant of that name.
pub fn part_name(name: &str, life: u32) -> String {
    if life <= 1 { name.into() } else { format!("{name}@{life}") }
}

impl Capture {
    pub fn new(settings: &Settings, name: &str, life: u32, full: bool) -> Result<Capture> {
        let take = settings.take.as_deref().unwrap_or(Path::new("."));
        let mut capture = Capture::create(take, PART_ENDING, name, life, full)?;
        capture.facts(settings);
        Ok(capture)
    }

    /// A part with contents, in the session's directory, if this replay is to write one.
    pub fn promoted(settings: &Settings, name: &str, life: u32) -> Result<Option<Box<Capture>>> {
        let asked = settings.session().is_some_and(|session| session.flags.load(Relaxed) & flag::FULL != 0);
        let Some(directory) = settings.session.as_ref().and_then(|session| session.parent()).filter(|_| asked) else {
            return Ok(None);
        };
        let mut capture = Capture::create(directory, PART_ENDING, name, life, true)?;
        capture.facts(settings);
        Ok(Some(Box::new(capture)))
    }

    /// A part that begins behind `event`, with contents, and is to take the place of the one before: see [`Capture::replace`].
    pub fn next(settings: &Settings, name: &str, life: u32, event: u64) -> Result<Capture> {
        let take = settings.take.as_deref().unwrap_or(Path::new("."));
        let _ = std::fs::remove_file(take.join(format!("{}{NEXT_PART_ENDING}", part_name(name, life))));
        let mut capture = Capture::create(take, NEXT_PART_ENDING, name, life, true)?;
        capture.facts(settings);
        capture.line(0, &Line::Fact(fact::CHECKPOINT, &event.to_le_bytes()));
        capture.commit(event);
        Ok(capture)
    }

    /// `next` takes the place of this part, at one stroke. False if it cannot: then all is as before.
    pub fn replace(&mut self, mut next: Capture, take: &Path, name: &str, life: u32) -> bool {
        let (directory, part) = (take.as_os_str().as_bytes(), part_name(name, life));
        // SAFETY: nobody else knows either store.
        let renamed = unsafe { next.store.rename(directory, part.as_bytes(), PART_ENDING) }.is_ok();
        if renamed {
            std::mem::swap(self, &mut next);
        }
        next.discard();
        renamed
    }

    /// Nothing of this part is needed any more, neither memory nor an end.
    pub fn discard(mut self) {
        self.writer.release();
        // SAFETY: nobody else knows the store, and its only writer was just released.
        unsafe { self.store.give_back() };
    }

    /// Makes the file of a participant, in that directory, with nothing in it.
    pub fn create(directory: &Path, ending: &str, name: &str, life: u32, full: bool) -> Result<Capture> {
        let part = part_name(name, life);
        let path = directory.join(format!("{part}{ending}"));
        if path.exists() {
            let what = format!("{} is there already: give a new directory for the take", path.display());
            return Err(Error::Tape(what));
        }
        let mut store = Box::new(Store::new());
        let beginning = Beginning { kind: kind::PART, name: part.as_bytes(), born: 0, at_random: [0; 16] };
        // SAFETY: nobody else knows the store.
        unsafe { store.create(directory.as_os_str().as_bytes(), ending, &beginning) }.map_err(|errno| {
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
        Ok(Capture {
            store,
            writer,
            header,
            last: 0,
            full,
            cut: false,
            taken: BTreeMap::new(),
            taken_in: 0,
            nothing: 0,
            apart: None,
        })
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
        if settings.trace != Method::All && !self.full {
            self.line(0, &Line::Fact(fact::TRACE, settings.trace.to_string().as_bytes()));
        }
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

    /// Writes the contents of the line before.
    pub fn contents(&mut self, event: u64, contents: &[u8]) {
        if contents.len() < LARGE {
            return self.line(event, &Line::Contents(contents));
        }
        if self.cut {
            return;
        }
        // SAFETY: the store has a file, and this is it.
        match self.descriptor().and_then(|fd| unsafe { self.store.write_apart(fd, contents) }) {
            Ok(at) => {
                let (length, crc) = (contents.len() as u64, crc32c(0, contents));
                self.line(event, &Line::Apart { at, length, crc });
            }
            Err(_) => self.cut_short(),
        }
    }

    /// The file, open for writing. A program may close any descriptor, and open something else under its number: so it is looked
    /// at before each use, which is cheaper than to open it.
    fn descriptor(&mut self) -> std::result::Result<c_int, c_int> {
        let which = |fd: c_int| descriptors::told(fd).map(|told| (told.st_dev, told.st_ino));
        if let Some((fd, file)) = &self.apart
            && which(fd.0) == Some(*file)
        {
            return Ok(fd.0);
        }
        // Whatever has its number now is the program's.
        if let Some((fd, _)) = self.apart.take() {
            forked::closed(fd.0);
        }
        let fd = Fd::new(self.store.open_apart()? as isize)?;
        let file = which(fd.0).ok_or(libc::EBADF)?;
        Ok(self.apart.insert((fd, file)).0.0)
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

    /// The message was taken at `event`, without a line of its own. What is on the tape of it is raised in place.
    pub fn taken(&mut self, event: u64, from: u32, seq: u64) {
        if self.cut {
            return;
        }
        if self.taken_in != self.writer.chunk_position() {
            self.taken.clear();
        }
        if let Some(place) = self.taken.get(&from) {
            // SAFETY: it lies in the chunk that is being written, which is mapped.
            unsafe { place.write_unaligned(seq.to_le()) };
            return;
        }
        self.line(event, &Line::Taken { from, seq });
        if self.cut {
            return;
        }
        if self.taken_in != self.writer.chunk_position() {
            self.taken.clear();
            self.taken_in = self.writer.chunk_position();
        }
        // The line ends with the number.
        self.taken.insert(from, (self.writer.position() - size_of::<u64>()) as *mut u64);
    }

    /// Writes at `event` which message a receive took, then or earlier.
    pub fn received(&mut self, event: u64, receive: Receive) {
        let Receive { event: then, from, seq, id, call } = receive;
        let line = match event - then {
            0 => Line::Received { from, seq, id, call },
            back => Line::Late { back, from, seq, id, call },
        };
        self.line(event, &line);
    }

    /// `event` has happened: what is written of it counts.
    #[inline]
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
        if self.store.header().is_null() {
            return;
        }
        // SAFETY: headers are mapped until the process ends, or the part is discarded.
        unsafe {
            if (*self.store.header()).pid == sys::getpid_now() && !self.cut {
                (*self.header).ended.store(1, Release);
                (*self.store.header()).state.store(state::EXITED, Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retake_tape::reader::Tape;

    /// Whatever a program does with descriptors that it finds, contents come on the tape and nowhere else.
    #[test]
    fn a_descriptor_that_the_program_takes_is_left_to_it() {
        let scratch = std::env::temp_dir().join(format!("retake-taken-over-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let mut capture = Capture::create(&scratch, PART_ENDING, "me", 1, true).unwrap();
        let (contents, other) = (vec![7; LARGE], scratch.join("other"));
        let mut keep = |event: u64| {
            capture.line(event, &Line::Value(1, b"the line before"));
            capture.contents(event, &contents);
            capture.commit(event);
            capture.apart.as_ref().map(|(fd, _)| fd.0).unwrap()
        };
        let before = keep(1);
        assert_eq!(keep(2), before, "it stays open");
        let file = std::fs::File::create(&other).unwrap();
        // SAFETY: the program takes the number.
        assert_eq!(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&file), before) }, before);
        assert_ne!(keep(3), before);
        assert_eq!(std::fs::metadata(&other).unwrap().len(), 0);
        // SAFETY: the number is the program's, and open: the library has not closed it.
        assert_eq!(unsafe { libc::close(before) }, 0);
        let tape = Tape::new(std::fs::read(scratch.join(format!("me{PART_ENDING}"))).unwrap()).unwrap();
        let (mut payload, mut found) = (tape.payload(&tape.threads[0]), 0);
        while let Some((_, line)) = payload.next_line().unwrap() {
            found += usize::from(matches!(line, Line::Contents(kept) if kept == contents));
        }
        assert_eq!(found, 3);
        drop(capture);
        std::fs::remove_dir_all(&scratch).unwrap();
    }

    /// What is kept in place is on the tape at any moment, however the process ends, and whatever chunks there are.
    #[test]
    fn what_was_taken_survives() {
        let scratch = std::env::temp_dir().join(format!("retake-taken-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let mut capture = Capture::create(&scratch, PART_ENDING, "me", 1, false).unwrap();
        for event in 1..=5000 {
            let from = event as u32 % 3;
            capture.taken(event, from, event);
            if event % 7 == 0 {
                capture.received(event, Receive { event, from, seq: event, id: event, call: false });
            }
            capture.commit(event);
            if event % 1000 != 0 {
                continue;
            }
            let tape = Tape::new(std::fs::read(scratch.join(format!("me{PART_ENDING}"))).unwrap()).unwrap();
            let mut last = [0; 3];
            let mut payload = tape.payload(&tape.threads[0]);
            while let Some((_, line)) = payload.next_line().unwrap() {
                if let Line::Taken { from, seq } = line {
                    last[from as usize] = seq;
                }
            }
            let expected: [u64; 3] =
                std::array::from_fn(|from| (1..=event).rev().find(|e| *e as usize % 3 == from).unwrap());
            assert_eq!(last, expected);
        }
        drop(capture);
        std::fs::remove_dir_all(&scratch).unwrap();
    }

    /// Contents of any length are read as they were written, by whatever way they went.
    #[test]
    fn contents_of_any_length_survive() {
        let scratch = std::env::temp_dir().join(format!("retake-contents-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let mut capture = Capture::create(&scratch, PART_ENDING, "me", 1, true).unwrap();
        let lengths = [0, 1, 100, LARGE - 1, LARGE, 65_536, 65_537, 10, (1 << 20) - 300, 1 << 20, 3 << 20, 7, 65_536];
        let bytes: Vec<u8> = (0..3 << 20).map(|at: usize| (at * 31 + at / 255) as u8).collect();
        let all = || (0..60).map(|at| lengths[at % lengths.len()]);
        for (event, length) in (1..).zip(all()) {
            capture.line(event, &Line::Value(1, b"the line before"));
            capture.contents(event, &bytes[..length]);
            capture.commit(event);
        }
        let file = scratch.join(format!("me{PART_ENDING}"));
        let tape = Tape::new(std::fs::read(&file).unwrap()).unwrap();
        let mut payload = tape.payload(&tape.threads[0]);
        let mut found = Vec::new();
        while let Some((_, line)) = payload.next_line().unwrap() {
            if let Line::Contents(contents) = line {
                assert!(contents == &bytes[..contents.len()]);
                found.push(contents.len());
            }
        }
        assert!(found.into_iter().eq(all()));
        let size = std::fs::metadata(&file).unwrap().len() as usize;
        assert!(size < all().sum::<usize>() * 5 / 4, "{size}");
        assert!(tape.bytes_used() as usize >= all().sum());
        // A bit of what stands apart is seen as well as one of a line.
        let whole = std::fs::read(&file).unwrap();
        let at = whole.windows(LARGE).position(|window| window == &bytes[..LARGE]).unwrap();
        let mut flipped = whole.clone();
        flipped[at + LARGE / 2] ^= 4;
        assert!(Tape::new(flipped).is_err());
        assert!(Tape::new(whole[..at + LARGE / 2].to_vec()).is_err());
        drop(capture);
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
