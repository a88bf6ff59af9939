//! `retake checkpoints`: the sleeping copies of participants, listed or ended.
//!
//! A copy belongs to the part that begins at its checkpoint, and listens in the take at a socket named by that file: so
//! what is found here is what can be woken, and nothing else.

use crate::parts;
use crate::status::{Context, Failure, Result, Status, say};
use crate::store::Store;
use crate::take;
use crate::{Ending, running, words};
use retake_tape::copy::{ENDING, ask};
use retake_tape::layout::state;
use retake_tape::part::{Line, fact};
use retake_tape::reader::Tape;
use retake_tape::session::{PART_ENDING, TAPE_ENDING};
use serde_json::json;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

#[derive(clap::Args)]
pub struct Args {
    /// Which take: a name, a unique prefix, a directory; all takes in the store if none is given
    take: Option<String>,
    /// End them: what they could play is lost
    #[arg(long)]
    end: bool,
    /// JSON, one object a line
    #[arg(long, conflicts_with = "end")]
    json: bool,
}

/// A participant's process, asleep.
pub struct Copy {
    pub dir: PathBuf,
    pub participant: String,
    /// The event behind which it stands.
    pub event: u64,
    socket: String,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let dirs = match &args.take {
        Some(word) => {
            vec![directory(&store, word).ok_or_else(|| {
                Failure::own(format!("there is no take {word}")).next("retake checkpoints").next("retake ls")
            })?]
        }
        None => store.list().into_iter().map(|(name, _)| store.root.join(name)).collect(),
    };
    let mut many = 0;
    for dir in dirs {
        for copy in all(&dir) {
            many += 1;
            let take = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let pid = copy.pid();
            let since = copy.part().map_or(0, |part| part.events().saturating_sub(copy.event));
            let Copy { participant, event, .. } = &copy;
            if args.json {
                let line = json!({"schema": 1, "take": take, "participant": participant, "pid": pid, "event": event,
                    "events_since": since, "running": copy.is_running()});
                println!("{line}");
            } else if !args.end {
                let runs = if copy.is_running() { "; it still runs" } else { "" };
                let since = words::count(since, "event");
                println!("{take:<20} {participant:<16} process {pid} sleeps behind event {event}, {since} since{runs}");
            }
        }
        if args.end {
            end_all(&dir);
        }
    }
    if args.end {
        say(format_args!("{} ended", words::count(many, "sleeping copy")));
    } else if many == 0 && !args.json {
        say("nothing sleeps");
        say("next: retake record --checkpoint-every N -- CMD");
    }
    Ok(Ending::Status(Status::Fine))
}

/// The directory that `word` names: of a take, even one that is being recorded, or of parts without one.
fn directory(store: &Store, word: &str) -> Option<PathBuf> {
    if word == "latest" {
        return store.list().into_iter().next().map(|(name, _)| store.root.join(name));
    }
    let found = store.find(word).ok().map(|(dir, _)| dir);
    found.or_else(|| fs::canonicalize(word).ok()).filter(|dir| dir.is_dir())
}

/// The copy of that participant, if there is one and it lives.
pub fn find(store: &Store, word: &str, participant: &str) -> Option<Copy> {
    all(&directory(store, word)?).into_iter().find(|copy| copy.participant == participant)
}

/// Everyone who sleeps for the parts in `dir`.
pub fn all(dir: &Path) -> Vec<Copy> {
    let parts = take::files(dir, PART_ENDING).unwrap_or_default();
    parts.iter().filter_map(|path| Copy::of(dir, path)).collect()
}

/// Ends everyone who sleeps in `dir`, whatever part they belong to.
pub fn end_all(dir: &Path) {
    for path in take::files(dir, ENDING).unwrap_or_default() {
        end(dir, &path.file_name().unwrap_or_default().to_string_lossy());
        let _ = fs::remove_file(path);
    }
}

/// Ends who listens there, and waits until it has ended.
fn end(dir: &Path, socket: &str) {
    if let Ok((mut stream, _)) = connect(dir, socket) {
        // It ends, and with it the connection.
        let _ = stream.write_all(&[ask::END]);
        let _ = stream.read(&mut [0]);
    }
}

/// Connects to the socket of that name in `dir`, however deep that lies. Who listens is told, too.
fn connect(dir: &Path, name: &str) -> std::io::Result<(UnixStream, i32)> {
    let open = File::open(dir)?;
    let stream = UnixStream::connect(format!("/proc/self/fd/{}/{name}", open.as_raw_fd()))?;
    // SAFETY: room for the answer, as long as said.
    let pid = unsafe {
        let mut peer: libc::ucred = std::mem::zeroed();
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(stream.as_raw_fd(), level, option, (&raw mut peer).cast(), &raw mut length);
        peer.pid
    };
    Ok((stream, pid))
}

impl Copy {
    fn of(dir: &Path, path: &Path) -> Option<Copy> {
        let socket = format!("{}{ENDING}", fs::metadata(path).ok()?.ino());
        if !dir.join(&socket).exists() {
            return None;
        }
        let part = take::load(path).ok()?;
        let event = parts::checkpoint(&part)?;
        let copy = Copy { dir: dir.to_owned(), participant: part.name(), event, socket };
        copy.connect().ok()?;
        Some(copy)
    }

    pub fn connect(&self) -> Result<UnixStream> {
        let words = || format!("the sleeping copy of {} cannot be reached", self.participant);
        Ok(connect(&self.dir, &self.socket).because(words)?.0)
    }

    fn pid(&self) -> i32 {
        connect(&self.dir, &self.socket).map_or(0, |(_, pid)| pid)
    }

    fn path(&self) -> PathBuf {
        self.dir.join(format!("{}{PART_ENDING}", self.participant))
    }

    /// What the participant did since.
    pub fn part(&self) -> Option<Tape> {
        take::load(&self.path()).ok()
    }

    /// Whether the participant itself still runs.
    pub fn is_running(&self) -> bool {
        running::writes(&self.path())
    }

    /// Whether nobody can want to see it again: the participant has finished, or its process has ended well.
    fn is_done(&self) -> bool {
        let Some(part) = self.part() else { return true };
        let mut process = String::new();
        parts::each(&part, |_, line| {
            if let Line::Fact(fact::PROCESS, bytes) = line {
                process = String::from_utf8_lossy(bytes).into_owned();
            }
        });
        let well = take::header(&self.dir.join(format!("{process}{TAPE_ENDING}"))).is_some_and(|header| {
            header.state.load(Relaxed) == state::EXITED && header.status.load(Relaxed) & 0xff == 0
        });
        well || part.header.state.load(Relaxed) == state::EXITED
    }
}

/// The recording in `dir` has ended: copies that are of no use go, and of the others the user is told.
pub fn conclude(dir: &Path, label: &str, quiet: bool) {
    let mut died = false;
    for copy in all(dir) {
        if copy.is_done() {
            end(dir, &copy.socket);
            continue;
        }
        let Copy { participant, event, .. } = &copy;
        let since = copy.part().map_or(0, |part| part.events().saturating_sub(*event));
        let since = words::count(since, "event");
        say(format_args!("{participant} died; a sleeping copy of it can play its last {since} again"));
        say(format_args!("next: retake replay --only {participant} {label} · retake checkpoints --end {label}"));
        died = true;
    }
    if !died && !quiet {
        let parts = take::files(dir, PART_ENDING).unwrap_or_default();
        let names: Vec<_> = parts.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
        match names.first() {
            Some(name) => say(format_args!("next: retake show --participant {name} {label}")),
            None => say("next: retake replay, since no participant of the retake library was there"),
        }
    }
}
