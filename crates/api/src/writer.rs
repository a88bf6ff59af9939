//! A writer: output of several participants to one terminal or file, put in order on request.
//!
//! It has a version, raised by every write, like a shared object. Under `retake record` and `retake replay` the version lies
//! in a file of the run, so that participants of all its processes share it; otherwise in the process. Captured, a write
//! notes the version that it found; replayed, it waits for that version. In full capture what is written is noted, too, and
//! compared.

use crate::error::{Error, Result};
use crate::follow::Step;
use crate::meeting::Meeting;
use crate::mode::Settings;
use crate::participant::{Participant, Tape};
use crate::waiting::now;
use crate::wire::Fd;
use retake_engine::sys;
use retake_tape::part::Line;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};

/// How often a replay looks whether it is its turn.
const LOOK_NS: u64 = 200_000;

/// The version of a writer, and nobody else is there meanwhile.
enum Turn {
    /// In a file that is locked.
    OfRun(Fd, u64),
    /// In this process.
    Here(MutexGuard<'static, Vec<(Arc<str>, u64)>>, usize),
}

impl Turn {
    fn take(place: &Meeting, name: &Arc<str>) -> Result<Turn> {
        static HERE: Mutex<Vec<(Arc<str>, u64)>> = Mutex::new(Vec::new());
        if let Some(file) = place.writer(name)? {
            let mut bytes = [0u8; 8];
            // SAFETY: eight bytes of room; a file that is not written yet has none.
            unsafe { sys::pread(file.0 as usize, bytes.as_mut_ptr() as usize, 8, 0) };
            return Ok(Turn::OfRun(file, u64::from_le_bytes(bytes)));
        }
        let mut here = HERE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let at = here.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            here.push((name.clone(), 0));
            here.len() - 1
        });
        Ok(Turn::Here(here, at))
    }

    fn version(&self) -> u64 {
        match self {
            Turn::OfRun(_, version) => *version,
            Turn::Here(here, at) => here[*at].1,
        }
    }

    /// The next one may come.
    fn done(self) {
        match self {
            Turn::OfRun(file, version) => {
                let bytes = (version + 1).to_le_bytes();
                // SAFETY: eight bytes; the lock goes with the file.
                unsafe { sys::pwrite(file.0 as usize, bytes.as_ptr() as usize, 8, 0) };
            }
            Turn::Here(mut here, at) => here[at].1 += 1,
        }
    }
}

/// Output that participants share.
///
/// ```
/// # fn main() -> retake::Result<()> {
/// let log = retake::Writer::new("log", std::io::stdout());
/// let mut me = retake::init("doc-writer")?;
/// log.write(&mut me, b"one line, whole\n")?;
/// # Ok(()) }
/// ```
pub struct Writer<W> {
    name: Arc<str>,
    to: Mutex<W>,
}

impl<W: Write> Writer<W> {
    /// A writer of this name. All of one name, in all processes of a recorded run, share one order.
    pub fn new(name: &str, to: W) -> Writer<W> {
        Writer { name: name.into(), to: Mutex::new(to) }
    }

    /// The writer's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes all of it, at its place among all who write here.
    ///
    /// # Errors
    /// [`Error::System`] if the output cannot be written; [`Error::BadName`] if the writer's name is none.
    pub fn write(&self, me: &mut Participant, bytes: &[u8]) -> Result<()> {
        if !crate::frame::is_name(&self.name) {
            return Err(Error::BadName(self.name.to_string()));
        }
        let event = me.begin()?;
        let came = || format!("{} bytes to {}", bytes.len(), self.name);
        let mut wanted = None;
        if let Tape::Follow(follow) = &mut me.tape {
            let step = follow.step(event, &came);
            let Step::Line(Line::Wrote { object, version, .. }, contents) = step else {
                follow.diverged(event, &step, &came());
            };
            let other = follow.objects.get(object as usize).is_none_or(|known| *known != self.name);
            if other || contents.is_some_and(|contents| contents != bytes) {
                follow.reporter.diverged(event, &format!("something else written to {}", self.name), &came());
            }
            // Alone, those who wrote in between are not there.
            wanted = (!follow.alone).then_some(version);
        }
        let turn = self.turn(me, event, wanted)?;
        let version = turn.version();
        let object = me.object_on_tape(event, &self.name);
        me.note(event, &Line::Wrote { object, version, readers: 0 }, Some(bytes));
        let mut to = self.to.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let written = to.write_all(bytes).and_then(|()| to.flush());
        turn.done();
        written.map_err(|error| Error::System { what: "write", errno: error.raw_os_error().unwrap_or(libc::EIO) })
    }

    /// Waits until it is our turn: anybody's, or that of the version on the tape.
    fn turn(&self, me: &Participant, event: u64, wanted: Option<u64>) -> Result<Turn> {
        let place = Meeting::enter(&Settings::now()?)?;
        let mut since = now();
        loop {
            let turn = Turn::take(&place, &self.name)?;
            let (Some(version), Tape::Follow(follow)) = (wanted, &me.tape) else { return Ok(turn) };
            if turn.version() == version {
                return Ok(turn);
            }
            if turn.version() > version {
                let recorded = format!("{} at version {version}", self.name);
                follow.reporter.diverged(event, &recorded, &format!("version {}", turn.version()));
            }
            drop(turn);
            sys::sleep_ns(LOOK_NS);
            if now() - since > follow.reporter.patience_ns {
                if !follow.reporter.is_held() {
                    follow.reporter.stuck(event, &format!("version {version} of {}", self.name));
                }
                since = now();
            }
        }
    }
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("name", &self.name).finish_non_exhaustive()
    }
}
