//! Every MPI fixture of `programs/mpi/`, under the real `mpirun` of each MPI library: recorded once, replayed as often as
//! its header says or a part of that, the same output and the same end every time. `cargo test --test mpi recv`.

#[path = "mpi/alone.rs"]
mod alone;
#[path = "mpi/debugged.rs"]
mod debugged;
#[path = "mpi/hosts.rs"]
mod hosts;
#[path = "mpi/jobs.rs"]
mod jobs;
#[path = "mpi/libraries.rs"]
mod libraries;
#[path = "mpi/rows.rs"]
mod rows;
#[path = "mpi/shown.rs"]
mod shown;

use libraries::{ALL, FIVES, Mpi};
use retake_testkit::{Fixture, Kit, Limits, Test, run_all};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A kit with a folder of this name, for a library.
fn kit(name: &str, mpi: Mpi) -> Kit {
    let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi").join(name));
    mpi.settle(&mut kit);
    // A busy machine has one processor for four ranks.
    kit.limits = Limits { wait_ms_max: kit.limits.wait_ms_max * 4 };
    kit
}

fn main() -> ExitCode {
    let fixtures = match Fixture::all(&root().join("tests/programs/mpi")) {
        Ok(fixtures) => fixtures,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut tests = Vec::new();
    for mpi in ALL.into_iter().chain(FIVES) {
        let kit = Arc::new(kit(mpi.name, mpi));
        let is_for = |fixture: &&Fixture| fixture.only.is_empty() || fixture.only.iter().any(|name| name == mpi.name);
        for fixture in fixtures.iter().filter(is_for) {
            let (kit, fixture) = (kit.clone(), fixture.clone());
            let name = format!("{}_{}", fixture.name, mpi.name);
            tests.push(Test::new(name, move || check(&kit, mpi, &fixture)));
        }
    }
    tests.extend(jobs::tests(&root()));
    run_all(tests)
}

/// Records a fixture under its launcher and replays it.
fn check(kit: &Kit, mpi: Mpi, fixture: &Fixture) -> Result<(), String> {
    mpi.must_be_there()?;
    let program = kit.compile_by(mpi.cc, fixture)?;
    let scratch = kit.scratch(&fixture.name)?;
    // Two Open MPIs that start at once get in each other's way in a folder that they share.
    let mut kit = kit.clone();
    kit.environment.push(("TMPDIR".into(), scratch.clone()));
    if fixture.name == "spawn" {
        mpi.with_tcp(&mut kit);
    }
    let args = ["-np".to_string(), fixture.ranks.to_string(), program.to_string_lossy().into_owned()];
    let replays = fixture.replays.div_ceil(mpi.part);
    kit.record_and_replay(Path::new(mpi.run), &args, &scratch, replays, Some(fixture.ends))?;
    std::fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))
}
