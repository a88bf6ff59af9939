//! `retake check` on real takes. Each program of `checks/` is recorded as it is, and what is found must be the text beside
//! it, word by word; and once more with `-DREPAIRED`, when nothing may be found. Nor may anything be found in the fixtures
//! of `programs/`, but for those listed here. `BLESS=1` writes the texts anew.

use retake_testkit::{Fixture, Kit, Test, run, run_all};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Fixtures that are about something that is wrong, and what.
const WRONG: &[(&str, &[&str])] = &[
    ("debug_deadlock", &["deadlock"]),
    ("end_deadlock_alarm", &["deadlock"]),
    ("end_deadlock_kill", &["deadlock"]),
    ("end_deadlock_static", &["deadlock"]),
    ("mutex_relay", &["foreign unlock"]),
    ("mutex_signal", &["foreign unlock", "foreign unlock"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("checks");
    let kit = Arc::new(Kit::new(env!("CARGO_BIN_EXE_retake"), folder));
    match tests(&kit) {
        Ok(tests) => run_all(tests),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn tests(kit: &Arc<Kit>) -> Result<Vec<Test>, String> {
    let mut tests = Vec::new();
    for entry in fs::read_dir(root().join("tests/checks")).map_err(|e| e.to_string())? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.extension().is_none_or(|ending| ending == "txt" || ending == "h") {
            continue;
        }
        let fixture = Fixture::load(&path)?;
        let (kit, golden) = (kit.clone(), path.with_extension("txt"));
        let again = (fixture.clone(), kit.clone());
        tests.push(Test::new(format!("{}_is_found", fixture.name), move || found(&kit, &fixture, &golden)));
        let (mut repaired, kit) = again;
        repaired.name += "_repaired";
        repaired.flags.push("-DREPAIRED".into());
        repaired.ends = 0;
        tests.push(Test::new(repaired.name.clone(), move || nothing(&kit, &repaired)));
    }
    for fixture in Fixture::all(&root().join("tests/programs"))? {
        let kit = kit.clone();
        let name = format!("{}_as_expected", fixture.name);
        match WRONG.iter().find(|(name, _)| *name == fixture.name) {
            Some((_, kinds)) => tests.push(Test::new(name, move || only(&kit, &fixture, kinds))),
            None => tests.push(Test::new(name, move || nothing(&kit, &fixture))),
        }
    }
    Ok(tests)
}

/// What `check` prints of a fresh take, and its status.
fn check(kit: &Kit, fixture: &Fixture, json: bool) -> Result<(String, i32), String> {
    let program = kit.compile(fixture)?;
    let scratch = kit.scratch(&fixture.name)?;
    let take = scratch.join("take");
    let recorded = kit.record(&program, &fixture.args, &take)?;
    if recorded.ended != fixture.ends {
        return Err(format!("ended {} when recorded, not {}:\n{}", recorded.ended, fixture.ends, recorded.stderr));
    }
    let mut command = kit.retake(&scratch);
    command.arg("check").arg(&take).args(json.then_some("--json"));
    let checked = run(&mut command, &scratch, kit.limits)?;
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    if !matches!(checked.ended, 0 | 1) || !checked.stderr.is_empty() {
        return Err(format!("check ended {} and said:\n{}\n{text}", checked.ended, checked.stderr));
    }
    fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    Ok((text, checked.ended))
}

fn found(kit: &Kit, fixture: &Fixture, golden: &Path) -> Result<(), String> {
    let (text, status) = check(kit, fixture, false)?;
    if std::env::var_os("BLESS").is_some() {
        fs::write(golden, &text).map_err(|e| e.to_string())?;
    }
    let wanted = fs::read_to_string(golden).map_err(|e| format!("{}: {e}", golden.display()))?;
    if (text.as_str(), status) == (wanted.as_str(), 1) {
        return Ok(());
    }
    Err(format!("status {status}; instead of {}\n{wanted}\n{text}", golden.display()))
}

fn nothing(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    match check(kit, fixture, false)? {
        (text, 0) if text == "no findings\n" => Ok(()),
        (text, status) => Err(format!("status {status}:\n{text}")),
    }
}

/// Findings of these kinds and of no others, one at least.
fn only(kit: &Kit, fixture: &Fixture, kinds: &[&str]) -> Result<(), String> {
    let (text, status) = check(kit, fixture, true)?;
    let is_one = |line: &str| kinds.iter().any(|kind| line.contains(&format!("{{\"finding\":\"{kind}\"")));
    if status == 1 && text.lines().all(is_one) { Ok(()) } else { Err(format!("status {status}:\n{text}")) }
}
