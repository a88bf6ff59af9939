//! A slot: a place where one run after the other is made, each a recording that is thrown away.
//!
//! Everything lies in a directory of its own, in memory where there is such a place. A run and all that it starts are a
//! group of processes, which is ended with it.

use super::choices::{Choices, Clocks, STEPS_MAX};
use super::outcome::{Outcome, Output};
use crate::environment::{self, OWN_ENVIRONMENT, Own};
use crate::launch::{self, Launch};
use crate::session::Mapped;
use crate::status::{Context, Failure, Result};
use crate::take::TempDir;
use crate::{shim, take};
use retake_explore::{Choice, Plan};
use retake_tape::session::{FILE as SESSION, PART_ENDING, RICH_ENDING, TAPE_ENDING, flag};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
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
}

/// A run that is over.
pub struct Run {
    pub outcome: Outcome,
    pub log: Vec<Choice>,
    /// How often a thread was left to itself: because it computed too long, because it waited outside.
    pub left_alone: (u32, u32),
}

/// A run that is under way.
struct Running {
    pid: i32,
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
    patience: Duration,
    running: Option<Running>,
    stdin: Option<(File, u64)>,
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
        let own = Own {
            mode: "record",
            take: dir.path(),
            session: &session_path,
            shim: &shim,
            preload: preload.as_deref(),
            process: environment::ROOT,
        };
        let (own, _) = own.variables(OWN_ENVIRONMENT);
        let present = environment::present_environment();
        let environment = present.iter().map(|(name, value)| environment::joined(name, value)).chain(own).collect();
        let stdin = standard_input()?;
        let launch = Launch {
            exe: program.exe.clone(),
            argv: program.argv.clone(),
            environment,
            cwd: None,
            streams: [Some(stdin.0.as_raw_fd()), Some(output.file.as_raw_fd()), Some(output.file.as_raw_fd())],
            stack_limit: None,
            is_apart: true,
        };
        let patience = program.patience;
        Ok(Slot { session, choices, output, launch, patience, running: None, stdin: Some(stdin), dir })
    }

    /// Starts a run.
    pub fn start(&mut self, plan: &Plan, prefix: &[u16]) -> Result<()> {
        clear(self.dir.path())?;
        self.output.clear();
        self.session.restart();
        self.choices.give(plan, prefix, true);
        if let Some((file, offset)) = &self.stdin {
            // SAFETY: our own descriptor; what cannot be wound back is read once.
            unsafe { libc::lseek(file.as_raw_fd(), *offset as libc::off_t, libc::SEEK_SET) };
        }
        let (pid, _) = launch::start_apart(&self.launch)?;
        self.running = Some(Running { pid, steps: 0, moved: Instant::now(), hangs: false });
        Ok(())
    }

    /// The run, if it is over.
    pub fn look(&mut self) -> Result<Option<Run>> {
        let Some(running) = &mut self.running else { return Ok(None) };
        let Some(ended) = launch::ended(running.pid) else {
            let steps = self.choices.steps();
            if steps != running.steps {
                (running.steps, running.moved) = (steps, Instant::now());
            }
            if running.moved.elapsed() > self.patience || steps >= STEPS_MAX as u64 {
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
        Ok(Some(Run { outcome, log: self.choices.log().to_vec(), left_alone: self.choices.left_alone() }))
    }

    /// Waits until something may have changed.
    pub fn wait(&self) {
        if let Some(running) = &self.running {
            launch::wait_shortly(running.pid, Duration::from_millis(20));
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            kill_group(running.pid);
            while launch::ended(running.pid).is_none() {
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
    let given = crate::record::what_stdin_is();
    match (given.kind.as_str(), &given.path) {
        ("file", Some(path)) => {
            let path = path.os();
            let file = File::open(&path).because(|| format!("cannot open {}", Path::new(&path).display()))?;
            Ok((file, given.offset))
        }
        _ => Ok((File::open("/dev/null").because(|| "cannot open /dev/null".into())?, 0)),
    }
}
