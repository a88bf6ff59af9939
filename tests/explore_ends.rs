//! The end of an exploration, however it comes: told what was found, nobody left running, nothing left in memory. And what
//! is told meanwhile.

use retake_testkit::{Kit, Place};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

fn place(test: &str, program: &str) -> Place {
    let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore_ends"));
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/explored");
    Place::new(kit, test, &programs.join(format!("{program}.c"))).expect("a folder with a program")
}

/// An exploration that goes on until it is ended.
struct Exploring {
    child: Child,
    dir: PathBuf,
    /// A word on the program's command line, by which its processes are known.
    mark: String,
}

impl Exploring {
    fn start(place: &Place, arguments: &[&str]) -> Exploring {
        let mark = format!("mark-of-{}", place.dir.file_name().expect("a name").to_string_lossy());
        let file = |name: &str| File::create(place.dir.join(name)).expect("a file");
        let mut command = place.command("explore", &[&["--runs", "1000000"], arguments].concat());
        command.arg(&mark).stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        // A shell that runs the tests in the background has them ignore it.
        // SAFETY: `signal` may be called in a forked child.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            })
        };
        Exploring { child: command.spawn().expect("it starts"), dir: place.dir.clone(), mark }
    }

    /// The directories in memory that it holds.
    fn directories(&self) -> Vec<PathBuf> {
        let open = fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it is there").flatten();
        let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.filter(|target| target.starts_with("/dev/shm") && target.is_dir()).collect()
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.dir.join("stderr")).expect("read")
    }

    fn has_processes(&self) -> bool {
        let all = fs::read_dir("/proc").expect("a list").flatten();
        let is_ours = |path: PathBuf| {
            let line = fs::read(path.join("cmdline")).unwrap_or_default();
            path != Path::new(&format!("/proc/{}", self.child.id()))
                && String::from_utf8_lossy(&line).split('\0').any(|word| word == self.mark)
        };
        all.map(|entry| entry.path()).any(is_ours)
    }

    fn end(&mut self, signal: &str) -> ExitStatus {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        self.child.wait().expect("it ends")
    }
}

impl Drop for Exploring {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until it is so; it will be.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[test]
fn a_signal_ends_it_and_all_that_it_runs() {
    for (name, signal, number) in [("int", "INT", 2), ("term", "TERM", 15)] {
        let place = place(&format!("signal_{name}"), "three_counters");
        let mut exploring = Exploring::start(&place, &["--json"]);
        until("runs are made", || exploring.has_processes());
        let directories = exploring.directories();
        assert!(!directories.is_empty());
        assert_eq!(signal_of(exploring.end(signal)), Some(number), "{}", exploring.stderr());
        assert!(directories.iter().all(|dir| !dir.exists()), "{directories:?}");
        until("all its processes have ended", || !exploring.has_processes());
        let told: Value = serde_json::from_slice(&fs::read(place.dir.join("stdout")).expect("read")).expect("JSON");
        assert_eq!(told["interrupted"].as_str(), Some(format!("SIG{signal}").as_str()), "{told}");
        assert!(exploring.stderr().contains("none failed"), "{}", exploring.stderr());
        let takes = place.retake(&["ls", "--json"]).expect("it ends");
        assert!(takes.stdout.is_empty(), "nothing is kept");
    }
}

#[test]
fn a_run_that_hangs_does_not_hold_the_end_up() {
    let place = place("hanging", "outside_for_ever");
    // The end comes while it starts its runs, or later.
    for milliseconds in 0..40 {
        let mut exploring = Exploring::start(&place, &["--timeout", "1000"]);
        until("a run is made", || exploring.has_processes());
        std::thread::sleep(Duration::from_millis(milliseconds));
        assert_eq!(signal_of(exploring.end("TERM")), Some(15), "{}", exploring.stderr());
        until("all its processes have ended", || !exploring.has_processes());
    }
}

#[test]
fn what_was_found_is_told_and_kept() {
    let place = place("found", "two_bugs");
    let mut exploring = Exploring::start(&place, &["--json", "--keep-going", "-o", "take"]);
    until("something is found", || exploring.stderr().contains("kept as ./take;"));
    let directories = exploring.directories();
    assert_eq!(signal_of(exploring.end("INT")), Some(2), "{}", exploring.stderr());
    assert!(directories.iter().all(|dir| !dir.exists()), "{directories:?}");
    let told: Value = serde_json::from_slice(&fs::read(place.dir.join("stdout")).expect("read")).expect("JSON");
    let failures = told["failures"].as_array().expect("a list");
    assert!(!failures.is_empty(), "{told}");
    for failure in failures {
        let replayed = place.retake(&["replay", failure["take"].as_str().expect("a name")]).expect("it ends");
        assert!([3, 122].contains(&replayed.ended), "{}", replayed.stderr);
    }
}

#[test]
fn what_a_killed_one_leaves_the_next_one_removes() {
    let place = place("killed", "three_counters");
    let mut killed = Exploring::start(&place, &[]);
    until("runs are made", || killed.has_processes());
    let left = killed.directories();
    assert!(!left.is_empty());
    assert_eq!(signal_of(killed.end("KILL")), Some(9));
    until("all its processes have ended", || !killed.has_processes());

    let other = self::place("alive", "three_counters");
    let alive = Exploring::start(&other, &[]);
    until("runs are made", || alive.has_processes());
    let used = alive.directories();
    assert!(left.iter().all(|dir| !dir.exists()), "{left:?}");
    let next = other.run("explore", &["--runs", "1"]).expect("it ends");
    assert_eq!(next.ended, 0, "{}", next.stderr);
    assert!(!used.is_empty() && used.iter().all(|dir| dir.exists()), "somebody has them: {used:?}");
}

#[test]
fn a_terminal_gets_a_line_that_changes() {
    let place = place("terminal", "three_counters");
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c"]).current_dir(&place.dir).env("XDG_STATE_HOME", place.dir.join("state"));
    let explore = format!("{} explore --runs 100000 -- {}", env!("CARGO_BIN_EXE_retake"), place.program.display());
    let mut child =
        script.arg(explore).arg("typed").stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("script");
    let typed = || fs::read_to_string(place.dir.join("typed")).unwrap_or_default();
    until("it tells how far it is", || typed().contains("a second ("));
    let _ = child.kill();
    let _ = child.wait();
    let text = typed();
    let line = text.split("\r\x1b[K").find(|line| line.contains("a second (")).expect("a line");
    assert!(line.starts_with("retake: ") && line.contains(" of 100 000 runs, "), "{line}");
    assert!(line.contains(" orders seen, ") && line.contains(" in both orders"), "{line}");
}

#[test]
fn elsewhere_there_is_a_line_now_and_then() {
    let place = place("lines", "three_counters");
    let mut exploring = Exploring::start(&place, &[]);
    until("it tells how far it is", || exploring.stderr().contains('\n'));
    let told = exploring.stderr();
    exploring.end("TERM");
    assert!(told.contains(" of 1 000 000 runs, ") && told.contains(" orders seen, "), "{told}");
    assert!(!told.contains('\r'), "{told}");
}
