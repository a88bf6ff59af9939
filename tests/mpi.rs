//! Every MPI fixture of `programs/mpi/`, under the real `mpirun` of two MPI libraries: recorded once, replayed as often as
//! its header says, the same output and the same end every time. `cargo test --test mpi recv`.
//!
//! More ranks than processors, as root, and over shared memory only: see [`variables`].

#[path = "mpi/alone.rs"]
mod alone;
#[path = "mpi/debugged.rs"]
mod debugged;
#[path = "mpi/hosts.rs"]
mod hosts;
#[path = "mpi/jobs.rs"]
mod jobs;
#[path = "mpi/shown.rs"]
mod shown;

use retake_testkit::{Fixture, Kit, Limits, MPI_VARIABLES, Test, run_all};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// One MPI: its name, and its compiler and launcher.
#[derive(Clone, Copy)]
struct Mpi {
    name: &'static str,
    cc: &'static str,
    fortran: &'static str,
    run: &'static str,
}

const ALL: [Mpi; 2] = [
    Mpi { name: "openmpi", cc: "mpicc.openmpi", fortran: "mpif90.openmpi", run: "mpirun.openmpi" },
    Mpi { name: "mpich", cc: "mpicc.mpich", fortran: "mpif90.mpich", run: "mpirun.mpich" },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn variables() -> Vec<(String, PathBuf)> {
    MPI_VARIABLES.iter().map(|(name, value)| (name.to_string(), PathBuf::from(value))).collect()
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
    for mpi in ALL {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi").join(mpi.name);
        let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), folder);
        kit.environment = variables();
        // A busy machine has one processor for four ranks.
        kit.limits = Limits { wait_ms_max: kit.limits.wait_ms_max * 4 };
        let kit = Arc::new(kit);
        for fixture in fixtures.iter().filter(|fixture| fixture.only.is_empty() || fixture.only == mpi.name) {
            let (kit, fixture) = (kit.clone(), fixture.clone());
            let name = format!("{}_{}", fixture.name, mpi.name);
            tests.push(Test::new(name, move || check(&kit, mpi, &fixture)));
        }
    }
    tests.extend(jobs::tests(&root(), variables()));
    run_all(tests)
}

/// Records a fixture under its launcher and replays it.
fn check(kit: &Kit, mpi: Mpi, fixture: &Fixture) -> Result<(), String> {
    let program = kit.compile_by(mpi.cc, fixture)?;
    let scratch = kit.scratch(&fixture.name)?;
    // Two Open MPIs that start at once get in each other's way in a folder that they share.
    let mut kit = kit.clone();
    kit.environment.push(("TMPDIR".into(), scratch.clone()));
    if fixture.name == "spawn" {
        hosts::with_tcp(&mut kit);
    }
    let args = ["-np".to_string(), fixture.ranks.to_string(), program.to_string_lossy().into_owned()];
    // Starting ranks is slow: the first library is tried as often as the header says, the others a few times.
    let replays = if mpi.name == ALL[0].name { fixture.replays } else { fixture.replays.div_ceil(4) };
    kit.record_and_replay(Path::new(mpi.run), &args, &scratch, replays, Some(fixture.ends))?;
    std::fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))
}
