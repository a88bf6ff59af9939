//! Runs a command to its end or to its time limit, and keeps what it wrote and how it ended.
//!
//! Output goes to files, not pipes: a process that outlives the command cannot hold the test up.

use crate::stacks;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub wait_ms_max: u64,
}

impl Default for Limits {
    /// `RETAKE_TEST_WAIT_MS` for a slow machine.
    fn default() -> Limits {
        let asked = std::env::var("RETAKE_TEST_WAIT_MS").ok().and_then(|value| value.parse().ok());
        Limits { wait_ms_max: asked.unwrap_or(30_000) }
    }
}

/// How a run ended, and what it wrote.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// The exit status, or 128 and the signal.
    pub ended: i32,
    pub took: Duration,
}

/// Runs `command` with its output in `folder`. A run over the limit is killed, with its process group, and is an error that
/// tells where all of its threads were.
pub fn run(command: &mut Command, folder: &Path, limits: Limits) -> Result<Outcome, String> {
    let make = |name: &str| {
        // A new file each time: what an earlier command left running must not write into this one's.
        let _ = fs::remove_file(folder.join(name));
        File::create(folder.join(name)).map_err(|e| format!("{}: {e}", folder.display()))
    };
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(make("stdout")?)
        .stderr(make("stderr")?)
        .process_group(0)
        .spawn()
        .map_err(|e| format!("cannot start {command:?}: {e}"))?;
    let status = wait(&mut child, started + Duration::from_millis(limits.wait_ms_max))?;
    let mut stacks = String::new();
    if status.is_none() {
        stacks = stacks::of_group(child.id());
        kill_group(child.id());
        child.wait().map_err(|e| e.to_string())?;
    }
    let stdout = fs::read(folder.join("stdout")).map_err(|e| e.to_string())?;
    let stderr = fs::read(folder.join("stderr")).map_err(|e| e.to_string())?;
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    match status {
        Some(status) => Ok(Outcome { stdout, stderr, ended: ended(status), took: started.elapsed() }),
        None => Err(format!(
            "still running after {} ms, killed; {} bytes of standard output; standard error:\n{}\n{stacks}",
            limits.wait_ms_max,
            stdout.len(),
            tail(&stderr)
        )),
    }
}

/// Its end, or none when the time is over.
fn wait(child: &mut Child, until: Instant) -> Result<Option<ExitStatus>, String> {
    let mut nap_us = 200;
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(Some(status));
        }
        if Instant::now() > until {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_micros(nap_us));
        nap_us = (nap_us * 3 / 2).min(10_000);
    }
}

/// The shell's own kill: the kit has no unsafe code.
fn kill_group(group: u32) {
    let _ = Command::new("/bin/sh").args(["-c", &format!("kill -9 -{group}")]).stderr(Stdio::null()).status();
}

fn ended(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The last lines of a text, for a message.
pub fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(4000);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[from..].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("retake-testkit-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn ends_are_told_apart() {
        let folder = folder("ends");
        let shell =
            |script: &str| run(Command::new("/bin/sh").args(["-c", script]), &folder, Limits::default()).unwrap();
        assert_eq!(shell("echo out; exit 3").ended, 3);
        assert_eq!(shell("kill -ABRT $$").ended, 134);
        assert_eq!(shell("echo out").stdout, b"out\n");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_run_over_its_limit_is_killed_with_its_children() {
        let folder = folder("limit");
        let started = Instant::now();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo said >&2; sleep 20 & sleep 20"]);
        let error = run(&mut command, &folder, Limits { wait_ms_max: 100 }).unwrap_err();
        assert!(error.contains("said"), "{error}");
        // Of the shell, and of both of its children.
        assert_eq!(error.matches("\nprocess ").count(), 3, "{error}");
        assert!(error.contains("#0 ") || error.contains("thread "), "{error}");
        assert!(started.elapsed() < Duration::from_secs(10));
        fs::remove_dir_all(folder).unwrap();
    }
}
