//! A slot: a place where one run after the other is made, each a recording that is thrown away.
//!
//! Everything lies in a directory of its own, in memory where there is such a place. A run and all that it starts are a
//! group of processes, which is ended with it.

use super::choices::{Choices, Clocks, STEPS_MAX};
use super::outcome::{Outcome, Output};
use super::server::Server;
use crate::environment::{self, OWN_ENVIRONMENT, Own};
use crate::launch::{self, Launch};
use crate::session::Mapped;
use crate::status::{Context, Failure, Result};
use crate::take::TempDir;
use crate::{shim, take};
use retake_explore::{Choice, Plan};
use retake_tape::choices::serve;
use retake_tape::session::{FILE as SESSION, PART_ENDING, RICH_ENDING, TAPE_ENDING, flag};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

/// What is run.
pub struct Program {
    pub exe: PathBuf,
    pub argv: Vec<OsString>,
    /// Nothing may move for so long.
    pub patience: Duration,
    pub clocks: Clocks,
    /// Whether runs are copies of a process that is about to begin.
    pub is_copied: bool,
}

/// A run that is over.
pub struct Run {
    pub outcome: Outcome,
    pub log: Vec<Choice>,
    /// How often a thread was left to itself: because it computed too long, because it waited outside.
    pub left_alone: (u32, u32),
    /// It was ended because nothing moved for long, or too much did.
    pub hangs_slowly: bool,
}

/// A run that is under way.
struct Running {
    pid: i32,
    /// Can be read when it has ended.
    watched: Option<OwnedFd>,
    steps: u64,
    moved: Instant,
    /// It was ended because it hangs.
    hangs: bool,
}

pub struct Slot {
    session: Mapped,
    choices: Choices,
    pub output: Output,
    launch: Launch,
    server: Option<Server>,
    patience: Duration,
    running: Option<Running>,
    stdin: (File, u64),
    /// Removed last.
    dir: TempDir,
}

impl Slot {
    pub fn new(program: &Program) -> Result<Slot> {
        let dir = TempDir::in_memory()?;
        let here = |name: &str| dir.path().join(name);
        let session_path = here(SESSION);
        let session = Mapped::create(&session_path, flag::EXPLORE)?;
        let choices = Choices::create(&here(retake_tape::choices::FILE), STEPS_MAX, program.clocks)?;
        let output = Output::new(here("output")).because(|| "cannot make a file for the output".into())?;
        let shim = shim::unpack(dir.path())?;
        let preload = std::env::var_os("LD_PRELOAD").filter(|list| !list.is_empty());
        let environment = |mode| {
            let own = Own {
                mode,
                take: dir.path(),
                session: &session_path,
                shim: &shim,
                preload: preload.as_deref(),
                process: environment::ROOT,
            };
            let own = own.variables(OWN_ENVIRONMENT).0;
            let present = environment::present_environment();
            present.iter().map(|(name, value)| environment::joined(name, value)).chain(own).collect()
        };
        let stdin = standard_input()?;
        let mut launch = Launch {
            exe: program.exe.clone(),
            argv: program.argv.clone(),
            environment: environment(serve::MODE),
            cwd: None,
            streams: [Some(stdin.0.as_raw_fd()), Some(output.file.as_raw_fd()), Some(output.file.as_raw_fd())],
            stack_limit: None,
            is_apart: true,
            socket: None,
        };
        let server = if program.is_copied { Server::start(&launch)? } else { None };
        launch.environment = environment("record");
        let patience = program.patience;
        Ok(Slot { session, choices, output, launch, server, patience, running: None, stdin, dir })
    }

    /// Starts a run.
    pub fn start(&mut self, plan: &Plan, prefix: &[u16]) -> Result<()> {
        clear(self.dir.path())?;
        self.output.clear();
        self.session.restart();
        self.choices.give(plan, prefix, true);
        let (file, offset) = &self.stdin;
        // SAFETY: our own descriptor; what cannot be wound back is read once.
        unsafe { libc::lseek(file.as_raw_fd(), *offset as libc::off_t, libc::SEEK_SET) };
        let copy = self.server.as_mut().and_then(Server::copy);
        let (pid, watched) = match copy {
            Some(pid) => (pid, None),
            None => {
                // What cannot be copied is started anew, from here on.
                self.server = None;
                let pid = launch::start_apart(&self.launch)?.0;
                let watched = launch::watched(pid);
                // SAFETY: a fresh descriptor of ours.
                (pid, (watched >= 0).then(|| unsafe { OwnedFd::from_raw_fd(watched) }))
            }
        };
        self.running = Some(Running { pid, watched, steps: 0, moved: Instant::now(), hangs: false });
        Ok(())
    }

    /// The run, if it is over.
    pub fn look(&mut self) -> Result<Option<Run>> {
        let Some(running) = &mut self.running else { return Ok(None) };
        let ended = match &mut self.server {
            Some(server) => server.ended(),
            None => launch::ended(running.pid),
        };
        let Some(ended) = ended else {
            let steps = self.choices.steps();
            if steps != running.steps {
                (running.steps, running.moved) = (steps, Instant::now());
            }
            if running.moved.elapsed() > self.patience || self.choices.is_full() {
                running.hangs = true;
                kill_group(running.pid);
            }
            return Ok(None);
        };
        kill_group(running.pid);
        let hangs = running.hangs;
        self.running = None;
        if self.session.processes.load(Acquire) == 0 {
            return Err(Failure::own("nothing was recorded: the dynamic linker did not load the shim")
                .next(format!("retake doctor {}", crate::words::shell(&self.launch.exe.to_string_lossy()))));
        }
        let outcome = match ended {
            _ if self.session.deadlock().is_some() => Outcome::Deadlock,
            _ if hangs || self.choices.is_stuck() => Outcome::Hang,
            ended => Outcome::Ended(ended),
        };
        let (log, left_alone) = (self.choices.log().to_vec(), self.choices.left_alone());
        Ok(Some(Run { outcome, log, left_alone, hangs_slowly: hangs }))
    }

    /// Can be read when the run has ended.
    fn descriptor(&self) -> Option<i32> {
        let running = self.running.as_ref()?;
        match &self.server {
            Some(server) => Some(server.descriptor()),
            None => running.watched.as_ref().map(AsRawFd::as_raw_fd),
        }
    }
}

/// Waits until a run may have ended, shortly.
pub fn wait_for_any(slots: &[Slot]) {
    let watched: Vec<i32> = slots.iter().filter_map(Slot::descriptor).collect();
    launch::wait_for(&watched, Duration::from_millis(20));
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            kill_group(running.pid);
            while self.server.is_none() && launch::ended(running.pid).is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Ends what is left of a run.
fn kill_group(pid: i32) {
    // SAFETY: a group of processes that this slot has started.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
}

/// Removes the recording of the last run.
fn clear(dir: &Path) -> Result<()> {
    for ending in [TAPE_ENDING, RICH_ENDING, PART_ENDING] {
        for path in take::files(dir, ending)? {
            let _ = std::fs::remove_file(path);
        }
    }
    Ok(())
}

/// What runs read: the file that standard input is, from where it stands, or nothing.
fn standard_input() -> Result<(File, u64)> {
    let given = crate::streams::input();
    match (given.kind.as_str(), &given.path) {
        ("file", Some(path)) => {
            let path = path.os();
            let file = File::open(&path).because(|| format!("cannot open {}", Path::new(&path).display()))?;
            Ok((file, given.offset))
        }
        _ => Ok((File::open("/dev/null").because(|| "cannot open /dev/null".into())?, 0)),
    }
}
