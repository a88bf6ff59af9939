//! The mode of a run: chosen when the program starts, never by rebuilding it.
//!
//! In this order: the shim's word, when `retake record` or `retake replay` has started the program; a call of
//! [`set_mode`]; the variables `RETAKE_MODE` and `RETAKE_TAKE`; otherwise normal.

use crate::carrier::{self, Carrier};
use crate::error::{Error, Result};
use crate::proof::Secret;
use retake_engine::sys;
use retake_tape::session::{END_OF_PART, ROLE, Role, Session, flag, variable};
use retake_trace::policy::Method;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// What is done with the events of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is noted.
    Normal,
    /// The order of events is noted, so that everyone together can be replayed.
    Capture,
    /// Contents are noted, too, so that one participant can be replayed alone.
    FullCapture,
    /// Everyone runs again; receives and reads follow the tapes.
    Replay,
    /// One process runs alone: what it received and read comes from its tapes, what it sends goes nowhere and is compared.
    ReplayOne,
    /// Contents are noted, and every so many events the participant leaves a sleeping copy of its process behind and starts
    /// its tape afresh: however it dies, what it did since then can be played again, from there.
    Checkpoint(u32),
}

/// So many events lie between two checkpoints if nobody says how many.
pub(crate) const EVERY: u32 = 1000;
/// The name of the variable that says how many.
const CHECKPOINT_EVERY: &str = "RETAKE_CHECKPOINT_EVERY";

/// The name of the variable that names a group.
const GROUP: &str = "RETAKE_GROUP";
/// The name of the variable that says which receives are noted.
const TRACE: &str = "RETAKE_TRACE";

/// Everything that is chosen at the start.
#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// The take's directory, in any mode but normal.
    pub take: Option<PathBuf>,
    /// The session file, if the command line has started the program.
    pub session: Option<PathBuf>,
    /// The process's name in the tree of creations, if the shim is there.
    pub process: Option<String>,
    pub group: String,
    /// Which receives are noted in a capture without contents.
    pub trace: Method,
    pub carrier: Carrier,
    pub secret: Secret,
}

static MAPPED: OnceLock<Option<&'static Session>> = OnceLock::new();
/// This process is a copy that was woken: it ends where its tape ends.
static WOKEN: AtomicBool = AtomicBool::new(false);
static CHOSEN: Mutex<Option<(Mode, Option<PathBuf>)>> = Mutex::new(None);

/// Chooses the mode, and the directory of the take for any mode but normal, for participants that are made from now on.
/// `retake record` and `retake replay` have the last word: started by them, a program need not care.
pub fn set_mode(mode: Mode, take: Option<&Path>) {
    let mut chosen = CHOSEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *chosen = Some((mode, take.map(Path::to_owned)));
}

impl Settings {
    /// What holds now.
    pub fn now() -> Result<Settings> {
        let group = std::env::var(GROUP).unwrap_or_else(|_| "default".into());
        if !crate::frame::is_name(&group) {
            return Err(Error::Setting(format!("{GROUP}={group}: a group has a name like a participant's")));
        }
        if let Some(mut settings) = from_shim(&group) {
            (settings.carrier, settings.secret) = match settings.mode {
                Mode::ReplayOne => (Carrier::Unix, Secret::default()),
                mode => carrier::now(mode == Mode::Replay)?,
            };
            return Ok(settings);
        }
        let chosen = CHOSEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let (mode, take) = match chosen {
            Some(chosen) => chosen,
            None => (mode_of(std::env::var(variable::MODE).ok().as_deref())?, None),
        };
        let take = take.or_else(|| std::env::var_os(variable::TAKE).map(PathBuf::from));
        if mode != Mode::Normal && take.is_none() {
            let what = "RETAKE_MODE is set, but not RETAKE_TAKE, the directory of the take: \
                        retake record -- CMD sets both";
            return Err(Error::Setting(what.into()));
        }
        let trace = match std::env::var(TRACE) {
            Ok(words) => words.parse().map_err(|error| Error::Setting(format!("{TRACE}={words}: {error}")))?,
            Err(_) => Method::DEFAULT,
        };
        let alone = mode == Mode::ReplayOne;
        let (carrier, secret) = if alone { (Carrier::Unix, Secret::default()) } else { carrier::now(false)? };
        Ok(Settings { mode, take, session: None, process: None, group, trace, carrier, secret })
    }

    /// How long a replay may stand still, in nanoseconds.
    pub fn patience_ns(&self) -> i64 {
        let asked = self.session().map(|session| session.patience_ms.load(Relaxed));
        i64::from(asked.unwrap_or(60_000)) * 1_000_000
    }

    /// The session page, shared with the command line.
    pub fn session(&self) -> Option<&'static Session> {
        let path = self.session.as_ref()?;
        *MAPPED.get_or_init(|| map(path))
    }
}

fn mode_of(word: Option<&str>) -> Result<Mode> {
    Ok(match word {
        None | Some("" | "off" | "normal") => Mode::Normal,
        Some("capture" | "record") => Mode::Capture,
        Some("full") => Mode::FullCapture,
        Some("replay") => Mode::Replay,
        Some("replay-one") => Mode::ReplayOne,
        Some("checkpoint") => Mode::Checkpoint(every(std::env::var(CHECKPOINT_EVERY).ok())?),
        Some(other) => {
            let what = format!("RETAKE_MODE={other} is no mode: normal, capture, full, checkpoint, replay, replay-one");
            return Err(Error::Setting(what));
        }
    })
}

fn every(words: Option<String>) -> Result<u32> {
    let Some(words) = words else { return Ok(EVERY) };
    words.parse().ok().filter(|every| *every > 0).ok_or_else(|| {
        Error::Setting(format!("{CHECKPOINT_EVERY}={words}: how many events lie between two checkpoints, 1 or more"))
    })
}

pub(crate) fn find(name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: a C string; null is a valid answer.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    (found != 0).then_some(found)
}

/// Whether this process is recorded or replayed by the shim.
pub fn is_caught() -> bool {
    from_shim("default").is_some()
}

fn from_shim(group: &str) -> Option<Settings> {
    type Ask = unsafe extern "C" fn(*mut Role) -> libc::c_int;
    // SAFETY: the shim's function of that name has this type; the texts live as long as the process.
    unsafe {
        let ask: Ask = std::mem::transmute::<usize, Ask>(find(ROLE)?);
        let mut role: Role = std::mem::zeroed();
        if ask(&raw mut role) == 0 {
            return None;
        }
        let bytes = |at: *const u8, length: usize| std::slice::from_raw_parts(at, length);
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let mut settings = Settings {
            mode: Mode::Normal,
            take: Some(path(bytes(role.take, role.take_len))),
            session: Some(path(bytes(role.session, role.session_len))),
            process: Some(String::from_utf8_lossy(bytes(role.name, role.name_len)).into_owned()),
            group: group.into(),
            trace: Method::DEFAULT,
            carrier: Carrier::Unix,
            secret: Secret::default(),
        };
        let flags = settings.session().map_or(0, |session| session.flags.load(Relaxed));
        let asked = settings.session().map_or(0, |session| session.trace.load(Relaxed));
        settings.trace = Method::of_number(asked).unwrap_or(Method::DEFAULT);
        settings.mode = match role.mode {
            1 if flags & flag::CHECKPOINT != 0 => {
                let every = settings.session().map_or(0, |session| session.checkpoint_every.load(Relaxed));
                Mode::Checkpoint(if every == 0 { EVERY } else { every })
            }
            1 if flags & flag::FULL != 0 => Mode::FullCapture,
            1 => Mode::Capture,
            _ if flags & flag::ALONE != 0 => Mode::ReplayOne,
            _ => Mode::Replay,
        };
        Some(settings)
    }
}

/// In a copy that was woken: this run's session lies at `path`; nothing if there is none. Participants that are made from
/// now on are replayed alone, too.
pub fn wake(take: Option<&Path>, path: &[u8]) {
    WOKEN.store(true, Relaxed);
    set_mode(Mode::ReplayOne, take);
    if let (Some(Some(session)), Ok(name)) = (MAPPED.get(), CString::new(path))
        && !path.is_empty()
    {
        map_at(&name, std::ptr::from_ref(*session) as usize, libc::MAP_FIXED);
    }
}

/// This thread's part has no more lines, and the recorded participant was blocked or killed there: waits for the end.
pub fn end_of_part() -> ! {
    let woken = WOKEN.load(Relaxed);
    if woken {
        // Nobody would see what it had printed since the checkpoint and not written yet.
        // SAFETY: all streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
    }
    if let Some(function) = find(END_OF_PART) {
        // SAFETY: the shim's function of that name has this type.
        unsafe { std::mem::transmute::<usize, extern "C" fn()>(function)() };
    }
    if woken {
        retake_engine::end::die_by(libc::SIGKILL as u32);
    }
    loop {
        sys::sleep_ns(1_000_000_000);
    }
}

fn map(path: &Path) -> Option<&'static Session> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    map_at(&name, sys::map_hint(size_of::<Session>()), 0)
}

/// Maps the session near `place`; right there, over what is there, if it is fixed.
fn map_at(name: &CStr, place: usize, fixed: libc::c_int) -> Option<&'static Session> {
    let size = size_of::<Session>();
    // SAFETY: a C string; a map of a file that the command line made as long as this, never unmapped. What it may replace
    // is another session.
    unsafe {
        let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
        let fd = sys::openat(libc::AT_FDCWD as usize, name.as_ptr() as usize, flags, 0);
        if fd < 0 {
            return None;
        }
        let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let at = sys::mmap(place, size, access, (libc::MAP_SHARED | fixed) as usize, fd as usize, 0);
        sys::close(fd as usize);
        if sys::error(at).is_some() { None } else { (at as *const Session).as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_words() {
        assert_eq!(mode_of(None), Ok(Mode::Normal));
        assert_eq!(mode_of(Some("full")), Ok(Mode::FullCapture));
        assert!(mode_of(Some("fast")).is_err());
        assert_eq!(mode_of(Some("checkpoint")), Ok(Mode::Checkpoint(EVERY)));
        assert_eq!(every(Some("7".into())), Ok(7));
        assert!(every(Some("0".into())).is_err());
    }
}
