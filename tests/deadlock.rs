//! Deadlocks of every kind, found at once and told in full, and programs that only look dead.
//!
//! `programs/deadlock`: recorded with `--on-deadlock stop`, the words must be those of the file beside the program
//! (`UPDATE=1` writes it); each replay must end in the same deadlock. `programs/alive`: recorded several times and
//! replayed, no word of a deadlock. `ALIVE_RUNS=1000` makes so many runs in all of them instead, recorded, replayed and
//! followed by turns, half of them with all processors busy.

use retake_testkit::{Fixture, Kit, Limits, Outcome, Test, run, run_all};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Recordings of each program that only looks dead.
const RECORDINGS: u32 = 5;
/// Those of them that wait for what no schedule orders: a destructor, a handler, a futex, another process, a thread that libc made.
const NOT_FOLLOWED: [&str; 7] = [
    "destructor_c11",
    "destructor_posts",
    "futex_ping_pong",
    "handler_posts",
    "left_to_destructor",
    "shared_semaphore",
    "timer_thread",
];

fn programs(folder: &str) -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    Fixture::all(&root.join(folder)).unwrap_or_else(|error| panic!("{error}"))
}

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deadlock");
    let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), folder);
    let runs = std::env::var("ALIVE_RUNS").ok().map(|runs| runs.parse().expect("ALIVE_RUNS is a number"));
    if runs.is_some() {
        // With all processors busy, a thread that polls does so a million times.
        kit.limits = Limits { wait_ms_max: 300_000 };
    }
    let kit = Arc::new(kit);
    let mut tests = Vec::new();
    for fixture in programs("deadlock") {
        let kit = kit.clone();
        tests.push(Test::new(format!("deadlock_{}", fixture.name), move || dead(&kit, &fixture)));
    }
    let all = programs("alive");
    let each = runs.map(|runs: usize| runs.div_ceil(all.len()));
    for fixture in all {
        let kit = kit.clone();
        tests.push(Test::new(format!("alive_{}", fixture.name), move || match each {
            Some(runs) => alive_often(&kit, &fixture, runs),
            None => alive(&kit, &fixture),
        }));
    }
    run_all(tests)
}

fn record(kit: &Kit, fixture: &Fixture, scratch: &Path) -> Result<(Outcome, PathBuf), String> {
    let (program, take) = (kit.compile(fixture)?, scratch.join("take"));
    if take.exists() {
        fs::remove_dir_all(&take).map_err(|e| e.to_string())?;
    }
    let mut command = kit.retake(scratch);
    command.args(["record", "--on-deadlock", "stop", "-o", "take", "--"]).arg(program).args(&fixture.args);
    Ok((run(&mut command, scratch, kit.limits)?, take))
}

fn dead(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let scratch = kit.scratch(&fixture.name)?;
    let (recorded, take) = record(kit, fixture, &scratch)?;
    expect_end(&recorded, fixture)?;
    let words = story(&recorded.stderr);
    golden(&fixture.path.with_extension("expected"), &words)?;
    for replay in 1..=fixture.replays {
        let replayed = kit.replay(&take)?;
        expect_end(&replayed, fixture).map_err(|e| format!("replay {replay}: {e}"))?;
        let now = story(&replayed.stderr);
        if words != now {
            return Err(format!("replay {replay} told\n{now}\nthe recording\n{words}\ntake: {}", take.display()));
        }
    }
    Ok(())
}

fn expect_end(outcome: &Outcome, fixture: &Fixture) -> Result<(), String> {
    let right = outcome.ended == fixture.ends;
    right.then_some(()).ok_or_else(|| format!("ended {}, not {}:\n{}", outcome.ended, fixture.ends, outcome.stderr))
}

/// The lines that tell of the deadlock.
fn story(stderr: &str) -> String {
    let told = stderr.lines().skip_while(|line| !line.starts_with("retake: deadlock"));
    let first_or_inner = |line: &&str| line.starts_with("retake: deadlock") || line.starts_with("retake:   ");
    told.take_while(first_or_inner).map(|line| format!("{line}\n")).collect()
}

fn golden(path: &Path, now: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(path, now).map_err(|e| e.to_string());
    }
    let expected = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    if expected == now { Ok(()) } else { Err(format!("it told\n{now}\nexpected in {}\n{expected}", path.display())) }
}

/// No word of a deadlock, and the right end.
fn quiet(outcome: &Outcome, fixture: &Fixture, which: &str) -> Result<(), String> {
    let fine = outcome.ended == fixture.ends && !outcome.stderr.contains("deadlock");
    fine.then_some(()).ok_or_else(|| format!("{which} ended {}:\n{}", outcome.ended, outcome.stderr))
}

/// So many runs: recorded, replayed and, where that can be, followed by the order of its take.
fn alive_often(kit: &Kit, fixture: &Fixture, runs: usize) -> Result<(), String> {
    let scratch = kit.scratch(&format!("{}-often", fixture.name))?;
    let follows = !NOT_FOLLOWED.contains(&fixture.name.as_str());
    let mut load = None;
    for run_number in 0..runs {
        if run_number == runs / 2 {
            load = Some(Load::new());
        }
        let which = format!("run {run_number} of {runs}");
        match run_number % 3 {
            1 => quiet(&kit.replay(&scratch.join("take"))?, fixture, &which)?,
            2 if follows => {
                let mut command = kit.retake(&scratch);
                let _ = fs::remove_dir_all(scratch.join("again"));
                command.args(["follow", "take", "-o", "again", "--then", "resume", "--"]).arg(kit.compile(fixture)?);
                quiet(&run(&mut command, &scratch, kit.limits)?, fixture, &which)?;
            }
            _ => quiet(&record(kit, fixture, &scratch)?.0, fixture, &which)?,
        }
    }
    drop(load);
    Ok(())
}

/// Keeps all processors busy until it is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn new() -> Load {
        let on = Arc::new(AtomicBool::new(true));
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let on = on.clone();
            std::thread::spawn(move || while on.load(Relaxed) {});
        }
        Load(on)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

fn alive(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let scratch = kit.scratch(&fixture.name)?;
    for recording in 1..=RECORDINGS {
        let (recorded, take) = record(kit, fixture, &scratch)?;
        quiet(&recorded, fixture, &format!("recording {recording}"))?;
        if recording == 1 {
            for replay in 1..=fixture.replays {
                let replayed = kit.replay(&take)?;
                quiet(&replayed, fixture, &format!("replay {replay}"))?;
                if replayed.stdout != recorded.stdout {
                    return Err(format!("replay {replay} wrote something else; take: {}", take.display()));
                }
            }
        }
    }
    Ok(())
}
