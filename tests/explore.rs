//! Programs with one bug each that bare runs do not show, and what finds it.
//!
//! `programs/explore`: each program passes when it runs by itself, and fails as its head says when its threads run in the
//! order that its head gives; so the bug is there, and the order alone decides. With `-DREPAIRED` it is gone.

use retake_testkit::{Fixture, Kit, Test, run, run_all};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// Bare runs of each program.
const BARE_RUNS: u32 = 5;
/// A program that is to end in a deadlock.
const DEADLOCK: i32 = 122;

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore");
    let kit = Arc::new(Kit::new(env!("CARGO_BIN_EXE_retake"), folder));
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/explore");
    let mut tests = Vec::new();
    for fixture in Fixture::all(&programs).unwrap_or_else(|error| panic!("{error}")) {
        let mut add = |name: &str, fixture: &Fixture, check: fn(&Kit, &Fixture) -> Result<(), String>| {
            let (kit, fixture) = (kit.clone(), fixture.clone());
            tests.push(Test::new(format!("{}_{name}", fixture.name), move || check(&kit, &fixture)));
        };
        add("passes_bare", &fixture, bare);
        add("passes_bare", &repaired(&fixture), bare);
        add("fails_by_its_order", &fixture, fails_by_its_order);
    }
    run_all(tests)
}

/// The same program without its bug.
fn repaired(fixture: &Fixture) -> Fixture {
    let mut fixture = fixture.clone();
    fixture.name += "_repaired";
    fixture.flags.push("-DREPAIRED".into());
    fixture
}

fn bare(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let program = kit.compile(fixture)?;
    let scratch = kit.scratch(&format!("{}_bare", fixture.name))?;
    for number in 1..=BARE_RUNS {
        let outcome = run(&mut Command::new(&program), &scratch, kit.limits)?;
        if outcome.ended != 0 {
            return Err(format!("bare run {number} ended {}:\n{}", outcome.ended, outcome.stderr));
        }
    }
    Ok(())
}

/// Follows the order of the program's head.
fn fails_by_its_order(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let program = kit.compile(fixture)?;
    let scratch = kit.scratch(&format!("{}_follow", fixture.name))?;
    // Behind a deadlock a thread is named that there is none of, so that it is told who could run.
    let is_dead = fixture.ends == DEADLOCK;
    let (ends, told) =
        if is_dead { (123, "it has not been created; no thread could run") } else { (fixture.ends, "followed all") };
    let behind = if is_dead { ",999" } else { "" };
    fs::write(scratch.join("order"), format!("points all\n{}{behind}\n", fixture.fails)).map_err(|e| e.to_string())?;
    let mut command = kit.retake(&scratch);
    command.args(["follow", "order", "--then", "stop", "-o", "take", "--"]).arg(program);
    let outcome = run(&mut command, &scratch, kit.limits)?;
    let is_right = outcome.ended == ends && outcome.stderr.contains(told);
    is_right.then_some(()).ok_or_else(|| format!("ended {}, not {ends}:\n{}", outcome.ended, outcome.stderr))
}
