//! Deadlocks of every kind, found at once and told in full, and programs that only look dead.
//!
//! `programs/deadlock`: recorded with `--on-deadlock stop`, the words must be those of the file beside the program
//! (`UPDATE=1` writes it); each replay must end in the same deadlock. `programs/alive`: recorded several times and
//! replayed, no word of a deadlock.

use retake_testkit::{Fixture, Kit, Outcome, Test, run, run_all};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Recordings of each program that only looks dead.
const RECORDINGS: u32 = 5;

fn programs(folder: &str) -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    Fixture::all(&root.join(folder)).unwrap_or_else(|error| panic!("{error}"))
}

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deadlock");
    let kit = Arc::new(Kit::new(env!("CARGO_BIN_EXE_retake"), folder));
    let mut tests = Vec::new();
    for fixture in programs("deadlock") {
        let kit = kit.clone();
        tests.push(Test::new(format!("deadlock_{}", fixture.name), move || dead(&kit, &fixture)));
    }
    for fixture in programs("alive") {
        let kit = kit.clone();
        tests.push(Test::new(format!("alive_{}", fixture.name), move || alive(&kit, &fixture)));
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

fn alive(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let scratch = kit.scratch(&fixture.name)?;
    for recording in 1..=RECORDINGS {
        let (recorded, take) = record(kit, fixture, &scratch)?;
        let quiet = |outcome: &Outcome, which: &str| {
            let fine = outcome.ended == fixture.ends && !outcome.stderr.contains("deadlock");
            fine.then_some(()).ok_or_else(|| format!("{which} ended {}:\n{}", outcome.ended, outcome.stderr))
        };
        quiet(&recorded, &format!("recording {recording}"))?;
        if recording == 1 {
            for replay in 1..=fixture.replays {
                let replayed = kit.replay(&take)?;
                quiet(&replayed, &format!("replay {replay}"))?;
                if replayed.stdout != recorded.stdout {
                    return Err(format!("replay {replay} wrote something else; take: {}", take.display()));
                }
            }
        }
    }
    Ok(())
}
