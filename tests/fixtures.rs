//! Every fixture of `programs/`: recorded once, replayed as often as its header says, the same output and the same end
//! every time. Each is a test of its own: `cargo test --test fixtures mutex`.
//!
//! Two more tests keep the set whole: every row of the shim's tables has a fixture, and every fixture has a full header.

use retake_testkit::{Fixture, Kit, Test, rows_in, run_all};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn main() -> ExitCode {
    let fixtures = match Fixture::all(&root().join("tests/programs")) {
        Ok(fixtures) => fixtures,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures");
    let kit = Arc::new(Kit::new(env!("CARGO_BIN_EXE_retake"), folder));
    // Programs that need more than a compiler, or are recorded in turn, have test files of their own.
    let folders = ["pvm", "serial"].map(|folder| Fixture::all(&root().join("tests/programs").join(folder)));
    let others: Vec<Fixture> = match folders.into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(others) => others.concat(),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let all: Vec<Fixture> = fixtures.iter().chain(&others).cloned().collect();
    let mut tests = vec![whole_headers(all.clone()), covered_rows(all)];
    for fixture in fixtures {
        let kit = kit.clone();
        tests.push(Test::new(fixture.name.clone(), move || kit.check(&fixture)));
    }
    run_all(tests)
}

fn whole_headers(fixtures: Vec<Fixture>) -> Test {
    Test::new("every_header_is_whole", move || {
        let bad = |f: &&Fixture| f.flags.is_empty() || f.covers.is_empty() || f.replays < 20;
        let names: Vec<&str> = fixtures.iter().filter(bad).map(|f| f.name.as_str()).collect();
        if names.is_empty() { Ok(()) } else { Err(format!("flags, covers, or 20 replays are missing: {names:?}")) }
    })
}

fn covered_rows(fixtures: Vec<Fixture>) -> Test {
    Test::new("every_row_is_covered", move || {
        let mut fixtures = fixtures.clone();
        // Those of other runners.
        fixtures.extend(Fixture::all(&root().join("tests/programs/mpi"))?);
        let covered: BTreeSet<&str> = fixtures.iter().flat_map(|f| f.covers.iter().map(String::as_str)).collect();
        let rows = rows_in(&root().join("crates/preload/src/table"))?;
        if rows.is_empty() {
            return Err("no row was found: has the form of the tables changed?".to_string());
        }
        let missing: Vec<String> = rows
            .iter()
            .filter(|row| !covered.contains(row.function.as_str()))
            .map(|row| format!("    {}: {} fn {}", row.file, row.class, row.function))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (count, all) = (missing.len(), rows.len());
        Err(format!("{count} of {all} rows are named by no fixture's `covers:`:\n{}", missing.join("\n")))
    })
}
