//! One take: opening it, checking it, sealing what a killed recorder left open.

use crate::facts::{Ended, FILE, Facts, TapeFacts};
use crate::session::Mapped;
use crate::status::{Context, Failure, Result, plain, say};
use crate::{parts, running, tasks, words};
use retake_tape::layout::{HEADER_SIZE, ProcessHeader, kind};
use retake_tape::reader::Tape;
use retake_tape::session::{FILE as SESSION, RANK_NAME, RICH_ENDING, TAPE_ENDING};
use retake_tape::walk::{self, Fault};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// Where a take came from: what decides whether its command may be run unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Store,
    Elsewhere,
    Packed,
}

/// A process that ends just behind the first one is waited for so long.
const STRAGGLERS: Duration = Duration::from_secs(1);

pub struct Take {
    pub dir: PathBuf,
    pub facts: Facts,
    pub origin: Origin,
    /// The file of a packed take, and where it was unpacked for the time being.
    pub unpacked: Option<(PathBuf, TempDir)>,
}

impl Take {
    /// Opens the take in `dir`, sealing it first if its recorder is gone.
    pub fn open(dir: &Path, origin: Origin) -> Result<Take> {
        let mut facts = Facts::read(dir).map_err(|why| {
            Failure::own(format!("{} cannot be used: {FILE}: {why}", dir.display())).next("retake ls")
        })?;
        if !facts.complete {
            if Mapped::in_use(&dir.join(SESSION)) {
                return Err(Failure::own(format!("{} is still being recorded", facts.name)).next("retake ls"));
            }
            let ended = facts.ended;
            let since = Instant::now();
            while !finish(dir, &mut facts, ended)? {
                if since.elapsed() > STRAGGLERS {
                    let what = format!("processes of {} are still running and being recorded", facts.name);
                    return Err(Failure::own(what).next("end them, then the same command again"));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            if ended.is_none() {
                say(format_args!("{} was left open by a recorder that was killed; it is sealed now", facts.name));
            }
        }
        if origin == Origin::Store {
            // The directory names it; an archive may have brought another name along.
            facts.name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        Ok(Take { dir: dir.to_owned(), facts, origin, unpacked: None })
    }

    /// All tapes, each checked whole.
    pub fn tapes(&self) -> Result<Vec<Tape>> {
        let found = files(&self.dir, TAPE_ENDING)?;
        if found.len() != self.facts.tapes.len() {
            return Err(self.refuse(format!("it has {} tapes instead of {}", found.len(), self.facts.tapes.len())));
        }
        self.facts.tapes.iter().map(|facts| self.checked(facts, TAPE_ENDING, kind::TAPE)).collect()
    }

    /// The file of that ending and kind which the facts speak of.
    pub fn checked(&self, facts: &TapeFacts, ending: &str, kind: u32) -> Result<Tape> {
        let file = format!("{}{ending}", facts.process);
        let tape = load(&self.dir.join(&file)).map_err(|why| self.refuse(format!("{file}: {why}")))?;
        let header = &tape.header;
        if header.sealed.load(Relaxed) == 0 || header.crc.load(Relaxed) != facts.seal || header.kind != kind {
            return Err(self.refuse(format!("{file}: it is not the tape that was recorded")));
        }
        if tape.name() != facts.process || tape.events() != facts.events || tape.threads.len() as u64 != facts.threads {
            return Err(self.refuse(format!("{file}: it does not fit {FILE}")));
        }
        Ok(tape)
    }

    pub fn refuse(&self, why: String) -> Failure {
        Failure::own(format!("{} cannot be used: {why}", self.facts.name)).next("retake ls")
    }

    /// How the take is named in a command to type.
    pub fn label(&self) -> String {
        match (&self.origin, &self.unpacked) {
            (Origin::Store, _) => self.facts.name.clone(),
            (_, Some((file, _))) => words::shell(&file.to_string_lossy()),
            _ => words::shell(&self.dir.to_string_lossy()),
        }
    }
}

/// Reads and checks one tape file.
pub fn load(path: &Path) -> std::result::Result<Tape, String> {
    let mut bytes = Vec::new();
    let mut file = open_plainly(path).map_err(|error| plain(&error))?;
    file.read_to_end(&mut bytes).map_err(|error| plain(&error))?;
    Tape::new(bytes).map_err(words::fault)
}

/// Opens a file that is a file: neither a link nor a pipe that would hang us.
fn open_plainly(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::Error::other("it is not a regular file")) }
}

/// Files in `dir` that end in `ending`, sorted.
pub fn files(dir: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let words = || format!("cannot read {}", dir.display());
    let mut found = Vec::new();
    for item in fs::read_dir(dir).because(words)? {
        let path = item.because(words)?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Seals the take in `dir` and completes `facts`. False if processes of it still run; then nothing is final.
pub fn finish(dir: &Path, facts: &mut Facts, ended: Option<Ended>) -> Result<bool> {
    facts.ended = ended;
    if is_being_written(dir)? {
        facts.write(dir).because(|| format!("cannot write {}", dir.join(FILE).display()))?;
        return Ok(false);
    }
    tasks::place(dir)?;
    facts.tapes.clear();
    for path in &files(dir, TAPE_ENDING)? {
        if let Some(tape) = seal_tape(path)? {
            facts.tapes.push(tape);
        }
    }
    facts.parts = parts::seal(dir)?;
    for path in files(dir, RICH_ENDING)? {
        seal_file(&path).map_err(|why| Failure::own(format!("cannot seal {}: {why}", path.display())))?;
    }
    facts.tapes.sort_by_key(|tape| place(&tape.process));
    facts.complete = true;
    // These make room, should the disk be full.
    let _ = fs::remove_file(dir.join(SESSION));
    for shim in files(dir, ".so")? {
        let _ = fs::remove_file(shim);
    }
    facts.write(dir).because(|| format!("cannot write {}", dir.join(FILE).display()))?;
    Ok(true)
}

/// Whether a process writes into `dir` or is about to. Whoever begins another process, or another program in its own,
/// counts that in the session first: so one that passed the search by has been counted meanwhile.
fn is_being_written(dir: &Path) -> Result<bool> {
    let session = Mapped::open(&dir.join(SESSION)).ok();
    let announced = || session.as_ref().map_or(0, |session| session.announced.load(Acquire));
    let before = announced();
    let paths = files(dir, TAPE_ENDING)?;
    let alone = session.is_some() && before == 0 && paths.len() == 1;
    let found = paths.iter().any(|path| running::writes(path)) || !alone && running::is_any_of(dir);
    Ok(found || announced() != before)
}

/// Where a process or thread name stands in the tree of creations, for sorting.
pub fn place(name: &str) -> Vec<u32> {
    let part = |part: &str| part.trim_start_matches(RANK_NAME).parse().unwrap_or(u32::MAX);
    name.split(['.', '~']).map(part).collect()
}

pub fn seal_tape(path: &Path) -> Result<Option<TapeFacts>> {
    let words = |why: String| Failure::own(format!("cannot seal {}: {why}", path.display()));
    if let Err(why) = seal_file(path) {
        // A process that was killed before it had written the first page has recorded nothing.
        if fs::read(path).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0)) {
            let _ = fs::remove_file(path);
            return Ok(None);
        }
        return Err(words(why));
    }
    let tape = load(path).map_err(words)?;
    Ok(Some(TapeFacts {
        process: tape.name(),
        events: tape.events(),
        threads: tape.threads.len() as u64,
        bytes: tape.bytes_used(),
        seal: tape.header.crc.load(Relaxed),
    }))
}

/// Seals one file through a map and cuts off what was only reserved.
pub fn seal_file(path: &Path) -> std::result::Result<(), String> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
        .map_err(|error| plain(&error))?;
    let length = file.metadata().map_err(|error| plain(&error))?.len() as usize;
    if length == 0 {
        return Err(words::fault(Fault::Truncated));
    }
    // SAFETY: a fresh map of a whole file, which nobody writes any more.
    let end = unsafe {
        let flags = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(std::ptr::null_mut(), length, flags, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if at == libc::MAP_FAILED {
            return Err(plain(&std::io::Error::last_os_error()));
        }
        let end = retake_tape::seal::seal(std::slice::from_raw_parts_mut(at.cast::<u8>(), length));
        libc::munmap(at, length);
        end
    };
    file.set_len(end.map_err(words::fault)?).map_err(|error| plain(&error))
}

/// The first page of the tape at `path`, if it has a good one.
pub fn header(path: &Path) -> Option<ProcessHeader> {
    let mut page = vec![0; HEADER_SIZE as usize];
    open_plainly(path).and_then(|mut file| file.read_exact(&mut page)).ok()?;
    walk::process(&page).ok()
}

/// A directory for the time being, private to the user, removed when dropped.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
    _lock: Option<fs::File>,
}

/// Where directories in memory lie, and how their names begin.
const MEMORY: &str = "/dev/shm";
const IN_MEMORY: &str = "retake-run-";

impl TempDir {
    pub fn new() -> Result<TempDir> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let usual = [runtime.filter(|dir| dir.is_absolute()), Some(std::env::temp_dir()), Some("/tmp".into())];
        let mut last = None;
        for base in usual.into_iter().flatten() {
            for attempt in 0..100u32 {
                let path = base.join(format!("retake-{:x}", crate::store::random() as u32 ^ attempt));
                match std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(&path) {
                    Ok(()) => return Ok(TempDir { path, _lock: None }),
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    Err(error) => {
                        last = Some(error);
                        break;
                    }
                }
            }
        }
        Err(last.unwrap_or_else(|| std::io::Error::other("no name is free")))
            .because(|| "cannot make a directory for the session".into())
    }

    /// The same, in memory if the system has such a place. It is locked as long as this process lives, so that
    /// [`TempDir::remove_left_behind`] can tell.
    pub fn in_memory() -> Result<TempDir> {
        for _ in 0..100u32 {
            let path = Path::new(MEMORY).join(format!("{IN_MEMORY}{:016x}", crate::store::random()));
            if std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(&path).is_err() {
                break;
            }
            // Whoever cleans up may have come in between; then there is another name.
            if let Some(lock) = locked(&path) {
                return Ok(TempDir { path, _lock: Some(lock) });
            }
        }
        TempDir::new()
    }

    /// Removes what processes of this user that were killed have left in memory.
    pub fn remove_left_behind() {
        // SAFETY: only asks.
        let user = unsafe { libc::geteuid() };
        for entry in fs::read_dir(MEMORY).into_iter().flatten().flatten() {
            let is_ours = entry.metadata().is_ok_and(|data| data.is_dir() && data.uid() == user);
            let is_named_so = entry.file_name().to_string_lossy().starts_with(IN_MEMORY);
            if is_ours
                && is_named_so
                && let Some(_lock) = locked(&entry.path())
            {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The directory, locked; nothing if another process has it, or if it has been removed.
fn locked(path: &Path) -> Option<fs::File> {
    let dir = fs::File::open(path).ok()?;
    // SAFETY: a descriptor of ours.
    let is_locked = unsafe { libc::flock(dir.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    (is_locked && dir.metadata().is_ok_and(|data| data.nlink() > 0)).then_some(dir)
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use retake_tape::entry::{Context as Memory, write};
    use retake_tape::layout::{
        CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, MAGIC, MAJOR, ThreadHeader, chunk_size, payload_at, state,
    };
    use std::mem::offset_of;

    /// A tape of one thread with a few entries, as a program leaves it behind.
    fn tape() -> Vec<u8> {
        let mut bytes = vec![0u8; HEADER_SIZE as usize + chunk_size(0) as usize + 4096];
        let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
        put(0, &MAGIC);
        put(offset_of!(ProcessHeader, major), &MAJOR.to_le_bytes());
        put(offset_of!(ProcessHeader, pid), &u32::MAX.to_le_bytes());
        put(offset_of!(ProcessHeader, state), &state::EXITED.to_le_bytes());
        put(offset_of!(ProcessHeader, threads), &1u32.to_le_bytes());
        put(offset_of!(ProcessHeader, next_free), &(HEADER_SIZE + u64::from(chunk_size(0)) + 100).to_le_bytes());
        put(offset_of!(ProcessHeader, last_thread), &HEADER_SIZE.to_le_bytes());
        put(offset_of!(ProcessHeader, name_len), &1u32.to_le_bytes());
        put(offset_of!(ProcessHeader, name), b"0");
        let chunk = HEADER_SIZE as usize;
        put(chunk, &CHUNK_MAGIC.to_le_bytes());
        put(chunk + offset_of!(ChunkHeader, size), &chunk_size(0).to_le_bytes());
        put(chunk + offset_of!(ChunkHeader, thread), &1u32.to_le_bytes());
        put(chunk + CHUNK_HEADER + offset_of!(ThreadHeader, number), &1u32.to_le_bytes());
        put(chunk + CHUNK_HEADER + offset_of!(ThreadHeader, count), &9u64.to_le_bytes());
        let mut memory = Memory::new();
        let start = bytes[chunk + payload_at(0)..].as_mut_ptr();
        // SAFETY: a chunk's payload has room for three entries.
        let used = unsafe {
            let to = write::hand_over(&mut memory, start, 3, 7);
            let to = write::clock(&mut memory, to, 4, 1, 1 << 40);
            write::hand_over(&mut memory, to, 9, 12) as usize - start as usize
        };
        let at = chunk + offset_of!(ChunkHeader, used);
        bytes[at..at + 4].copy_from_slice(&(used as u32).to_le_bytes());
        bytes
    }

    /// A sealed take with one tape.
    pub fn sample() -> TempDir {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("0.tape"), tape()).unwrap();
        let mut facts = crate::facts::tests::sample();
        assert!(finish(dir.path(), &mut facts, Some(Ended::Exit(0))).unwrap());
        dir
    }

    fn entries(take: &Take) -> std::result::Result<String, String> {
        let mut text = String::new();
        for tape in take.tapes().map_err(|failure| failure.to_string())? {
            for thread in &tape.threads {
                text += &format!("{} {} {}: ", thread.name, thread.events(), thread.header.parent);
                let mut payload = tape.payload(thread);
                while let Some((event, entry)) = payload.next_entry().map_err(|_| "garbled")? {
                    text += &format!("{event} {}, ", words::entry(&entry));
                }
            }
        }
        Ok(text)
    }

    #[test]
    fn a_sealed_take_is_read() {
        let dir = sample();
        let take = Take::open(dir.path(), Origin::Elsewhere).unwrap();
        assert_eq!((take.facts.events(), take.facts.threads(), take.facts.complete), (9, 1, true));
        let text = entries(&take).unwrap();
        assert_eq!(text, "0 9 0: 3 hand-over, version 7, 4 clock 1 read 1099.511627776 s, 9 hand-over, version 12, ");
    }

    #[test]
    fn a_flipped_byte_is_refused_or_harmless() {
        let dir = sample();
        let take = Take::open(dir.path(), Origin::Elsewhere).unwrap();
        let good = entries(&take).unwrap();
        let path = dir.path().join("0.tape");
        let bytes = fs::read(&path).unwrap();
        let mut accepted = 0;
        // The first page is mostly filling.
        for at in (0..1200).chain((1200..4096).step_by(31)).chain(4096..bytes.len()) {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (at % 8);
            fs::write(&path, &bad).unwrap();
            if let Ok(text) = entries(&take) {
                assert_eq!(text, good, "byte {at}");
                accepted += 1;
            }
        }
        // Only what is reserved and never read may change unnoticed.
        assert!(accepted < chunk_size(0) as usize, "{accepted} flips accepted");
    }

    #[test]
    fn a_cut_or_foreign_tape_is_refused() {
        let dir = sample();
        let take = Take::open(dir.path(), Origin::Elsewhere).unwrap();
        let path = dir.path().join("0.tape");
        let bytes = fs::read(&path).unwrap();
        for length in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(entries(&take).is_err(), "cut at {length}");
        }
        fs::remove_file(&path).unwrap();
        assert!(entries(&take).unwrap_err().contains("0 tapes instead of 1"));
        let mut other = tape();
        other[offset_of!(ProcessHeader, at_random)] = 1;
        fs::write(&path, other).unwrap();
        seal_file(&path).unwrap();
        assert!(entries(&take).unwrap_err().contains("not the tape that was recorded"));
    }

    #[test]
    fn what_a_killed_recorder_left_is_sealed() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("0.tape"), tape()).unwrap();
        fs::write(dir.path().join("0.1.tape"), [0; 4096]).unwrap();
        let mut facts = crate::facts::tests::sample();
        (facts.complete, facts.ended) = (false, None);
        facts.write(dir.path()).unwrap();
        let take = Take::open(dir.path(), Origin::Elsewhere).unwrap();
        assert_eq!((take.facts.complete, take.facts.tapes.len()), (true, 1));
        assert!(entries(&take).is_ok());
    }
}
