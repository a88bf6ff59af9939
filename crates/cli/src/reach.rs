//! A remote shell, as we use it ourselves: to give a host what it needs, and to bring its tapes back.
//!
//! Law: nobody is asked, and nobody waits for ever. The shell has a session of its own, so that there is no terminal on which
//! it could ask for a password, and no standard input but what we give it. What goes there and what comes are files: from
//! how much of the one is read and how long the other is, it is seen whether anything moves. If nothing has for as long as
//! the user has patience, or if the user asks us to end, the shell is ended.

use crate::launch;
use crate::status::{Context, Failure};
use crate::words::{count, shell};
use retake_tape::session::variable;
use std::ffi::OsString;
use std::fs::File;
use std::io::Seek;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(5);

/// A remote shell, and the host that it is to reach.
pub struct Reach {
    pub agent: Vec<OsString>,
    pub host: OsString,
    /// How long nothing may move; `None`: for ever.
    pub patience: Option<Duration>,
}

impl Reach {
    pub fn shell(&self) -> String {
        self.agent[0].to_string_lossy().into_owned()
    }

    pub fn host(&self) -> String {
        self.host.to_string_lossy().into_owned()
    }

    /// What a person types to see whether it asks.
    pub fn trial(&self) -> String {
        let words = self.agent.iter().chain([&self.host]).map(|word| shell(&word.to_string_lossy()));
        format!("{} true, which must not ask for anything", words.collect::<Vec<_>>().join(" "))
    }

    /// Runs `script` there, with these files as its standard input and output, and nothing where there is none.
    pub fn run(&self, script: &str, input: Option<&File>, output: Option<&File>) -> crate::status::Result<()> {
        let words = || format!("{} to {}", self.shell(), self.host());
        let stream = |file: Option<&File>| file.map_or(Ok(Stdio::null()), |file| file.try_clone().map(Stdio::from));
        let mut command = Command::new(&self.agent[0]);
        // What it starts there need not find our library.
        command.args(&self.agent[1..]).arg(&self.host).arg(script).env_remove(variable::PRELOAD);
        command.stdin(stream(input).because(words)?).stdout(stream(output).because(words)?);
        if std::env::var_os("SSH_ASKPASS").is_none() {
            // Without a terminal, ssh would ask in a window.
            command.env("SSH_ASKPASS_REQUIRE", "never");
        }
        // SAFETY: system calls that a child may make before it executes; it ends with us, since no terminal ends it.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let mut child = command.spawn().because(words)?;
        match self.wait(&mut child, [input, output]).because(words)? {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::own(format!("{} ended with {status}", words()))),
            Err(why) => Err(Failure::own(format!("{} {why}", words()))),
        }
    }

    /// How it ended; or why we have ended it.
    fn wait(&self, child: &mut Child, files: [Option<&File>; 2]) -> std::io::Result<Result<ExitStatus, String>> {
        let at = || files.map(|file| file.map_or(0, |mut file| file.stream_position().unwrap_or(0)));
        let requests = launch::requests();
        let (mut last, mut moved) = (at(), Instant::now());
        let why = loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Ok(status));
            }
            if last != at() {
                (last, moved) = (at(), Instant::now());
            }
            if launch::requests() != requests {
                break "was interrupted".into();
            }
            if let Some(patience) = self.patience.filter(|patience| moved.elapsed() >= *patience) {
                break format!("did nothing for {}", count(patience.as_secs(), "second"));
            }
            std::thread::sleep(LOOK);
        };
        // SAFETY: the group that the child leads, which has not been waited for yet.
        unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
        child.wait()?;
        Ok(Err(why))
    }
}
