//! `retake record --serial`: threads in turn. The programs of `programs/serial/` depend on what no other recording keeps: races on
//! plain memory, atomics, locks that are futexes. And every fixture of `programs/` comes back when it is recorded so, too, since
//! nothing else may differ.

use retake_testkit::{Fixture, Kit, Test, run_all};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Of each fixture that other tests replay more often.
const REPLAYS: u32 = 3;

fn main() -> ExitCode {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("serial");
    let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), folder);
    kit.flags = &["--serial"];
    let kit = Arc::new(kit);
    let (own, others) = match (Fixture::all(&programs.join("serial")), Fixture::all(&programs)) {
        (Ok(own), Ok(others)) => (own, others),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let others = others.into_iter().map(|fixture| Fixture { replays: REPLAYS, ..fixture });
    let tests = own.into_iter().chain(others).map(|fixture| {
        let kit = kit.clone();
        Test::new(fixture.name.clone(), move || kit.check(&fixture))
    });
    run_all(tests.collect())
}
