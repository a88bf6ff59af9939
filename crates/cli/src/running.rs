//! Which processes of a recording are still there.
//!
//! A process that writes a tape has it mapped. One that was just forked has no tape yet, but its parent's maps; one that
//! has just executed a program has nothing but its environment.

use crate::elf;
use crate::take::header;
use retake_tape::copy::SLEEPER;
use retake_tape::layout::state;
use retake_tape::session::variable;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Whether the process that writes the tape at `path` is still alive.
pub fn writes(path: &Path) -> bool {
    let Some(header) = header(path) else { return false };
    header.state.load(Relaxed) != state::EXECED && maps(header.pid, &canonical(path).to_string_lossy())
}

/// Whether any process is about to write a tape in `dir`, or does so already. This looks at every process of the user.
pub fn is_any_of(dir: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let inside = canonical(dir).join("").to_string_lossy().into_owned();
    let pids = processes.flatten().filter_map(|item| item.file_name().to_str()?.parse::<u32>().ok());
    // In this order: who was forked and executes, who executes and begins, who has begun since. The shim maps the session
    // before it takes its variables out.
    let is_of = |pid: u32| maps(pid, &inside) || begins(pid, dir) || maps(pid, &inside);
    pids.filter(|pid| *pid != std::process::id() && !sleeps(*pid)).any(is_of)
}

/// Whether the process is a sleeping copy of a participant's: it writes nothing.
fn sleeps(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_ascii_end() == SLEEPER.to_bytes())
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether the process has a file mapped in whose path are the words `path`.
fn maps(pid: u32, path: &str) -> bool {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    String::from_utf8_lossy(&maps).lines().any(|line| line.contains(path))
}

/// Whether the process was told to write into `dir` and has not begun to, or will only be told: it is about to execute.
/// A program into which the shim cannot be loaded never begins.
fn begins(pid: u32, dir: &Path) -> bool {
    let read = |what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
    let exe = PathBuf::from(format!("/proc/{pid}/exe"));
    let mut environment = read("environ");
    if environment.is_empty() {
        if read("cmdline").is_empty() {
            // While the kernel puts a new program in place it has neither; what has ended has no program at all.
            return fs::read_link(exe).is_ok();
        }
        environment = read("environ");
    }
    let told = |dir: &Path| {
        let words = [variable::TAKE.as_bytes(), b"=", dir.as_os_str().as_bytes()].concat();
        environment.split(|byte| *byte == 0).any(|text| text == words)
    };
    (told(dir) || told(&canonical(dir))) && elf::examine(&exe).problem.is_none()
}
