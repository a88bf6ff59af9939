//! Where the processes of a group are, thread by thread: for a run that is over its time limit.

use std::fs;
use std::process::{Command, Stdio};

/// So long gdb may take for one process.
const WAIT_S: &str = "20";

/// The stacks of all its threads as gdb tells them, of every process of the group; without gdb, what the kernel tells of each.
pub fn of_group(group: u32) -> String {
    let mut processes: Vec<u32> = numbers_in("/proc").into_iter().filter(|pid| group_of(*pid) == Some(group)).collect();
    processes.sort_unstable();
    processes.into_iter().map(of_process).collect::<Vec<_>>().join("\n")
}

fn of_process(pid: u32) -> String {
    let gdb = Command::new("timeout")
        .args([WAIT_S, "gdb", "-batch", "-nx", "-p", &pid.to_string(), "-ex", "thread apply all backtrace 30"])
        .stdin(Stdio::null())
        .output();
    let told = gdb.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let frames: Vec<&str> = told.lines().filter(|line| line.starts_with('#') || line.starts_with("Thread ")).collect();
    let told = if frames.is_empty() { of_threads(pid) } else { frames.join("\n") };
    format!("process {pid}, {}:\n{told}", asked(pid, "cmdline").replace('\0', " ").trim_end())
}

/// The name of each thread, its state, and the call of the kernel that it is in.
fn of_threads(pid: u32) -> String {
    let folder = format!("/proc/{pid}/task");
    let one = |tid: u32| {
        let told = |file| asked(pid, &format!("task/{tid}/{file}")).trim_end().to_string();
        format!("thread {tid}: {}; {}", told("stat"), told("syscall"))
    };
    numbers_in(&folder).into_iter().map(one).collect::<Vec<_>>().join("\n")
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let names =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// The process group, the third word behind the name in brackets.
fn group_of(pid: u32) -> Option<u32> {
    asked(pid, "stat").rsplit(')').next()?.split_whitespace().nth(2)?.parse().ok()
}

fn asked(pid: u32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}
