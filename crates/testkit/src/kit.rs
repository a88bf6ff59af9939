//! The kit: where things are for one test file, and the whole check of one fixture.

use crate::compare::first_difference;
use crate::compile;
use crate::fixture::Fixture;
use crate::run::{Limits, Outcome, run, tail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What lets MPI run here, wherever here is: more ranks than processors, as whoever, over shared memory only.
pub const MPI_VARIABLES: [(&str, &str); 9] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_btl", "self,vader"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("OMPI_MCA_oob_tcp_if_include", "lo"),
    ("UCX_TLS", "self,sm"),
];

#[derive(Clone)]
pub struct Kit {
    retake: PathBuf,
    folder: PathBuf,
    pub limits: Limits,
    /// Variables that `retake`, and so the program, is given.
    pub environment: Vec<(String, PathBuf)>,
    /// What `retake record` is given besides.
    pub flags: &'static [&'static str],
}

impl Kit {
    /// `retake` is the binary under test, `folder` a place of the test file's own (`CARGO_TARGET_TMPDIR` and a name).
    pub fn new(retake: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Kit {
        let (retake, folder, limits) = (retake.into(), folder.into(), Limits::default());
        Kit { retake, folder, limits, environment: Vec::new(), flags: &[] }
    }

    pub fn compile(&self, fixture: &Fixture) -> Result<PathBuf, String> {
        self.compile_by(&compile::compiler(fixture), fixture)
    }

    /// By another compiler than the usual one.
    pub fn compile_by(&self, compiler: &str, fixture: &Fixture) -> Result<PathBuf, String> {
        compile::compile(compiler, fixture, &self.folder.join("bin"))
    }

    /// An empty folder for one check.
    pub fn scratch(&self, name: &str) -> Result<PathBuf, String> {
        let scratch = self.folder.join("run").join(name);
        if scratch.exists() {
            fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        }
        fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        Ok(scratch)
    }

    /// A `retake` command that sees no take and no setting of the person who runs the tests.
    pub fn retake(&self, scratch: &Path) -> Command {
        let mut command = Command::new(&self.retake);
        command.current_dir(scratch);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("RETAKE_") {
                command.env_remove(variable);
            }
        }
        command.envs(self.environment.iter().cloned());
        command.env("XDG_STATE_HOME", scratch.join("state"));
        // Shared: the shim is unpacked there once, under the name of its content.
        command.env("XDG_CACHE_HOME", self.folder.join("cache"));
        command
    }

    pub fn record(&self, program: &Path, args: &[String], take: &Path) -> Result<Outcome, String> {
        let scratch = take.parent().ok_or("a take without a folder")?;
        let mut command = self.retake(scratch);
        command.arg("record").args(self.flags).arg("-o").arg(take).arg("--").arg(program).args(args);
        run(&mut command, scratch, self.limits).map_err(|e| format!("record: {e}"))
    }

    pub fn replay(&self, take: &Path) -> Result<Outcome, String> {
        let scratch = take.parent().ok_or("a take without a folder")?;
        let mut command = self.retake(scratch);
        command.arg("replay").arg(take);
        run(&mut command, scratch, self.limits).map_err(|e| format!("replay: {e}"))
    }

    /// Records once, replays as often as the header says; standard output and the end must be the same every time.
    pub fn check(&self, fixture: &Fixture) -> Result<(), String> {
        let program = self.compile(fixture)?;
        let scratch = self.scratch(&fixture.name)?;
        self.record_and_replay(&program, &fixture.args, &scratch, fixture.replays, Some(fixture.ends))?;
        fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))
    }

    /// One recording in `scratch` and its replays. `ends`, when it is known, is how the recording itself must end.
    pub fn record_and_replay(
        &self,
        program: &Path,
        args: &[String],
        scratch: &Path,
        replays: u32,
        ends: Option<i32>,
    ) -> Result<(), String> {
        let take = scratch.join("take");
        let kept = || format!("\ntake: {}", take.display());
        let recorded = self.record(program, args, &take).map_err(|e| format!("{e}{}", kept()))?;
        if ends.is_some_and(|ends| ends != recorded.ended) {
            let (ended, error) = (recorded.ended, tail(&recorded.stderr));
            let wanted = ends.unwrap_or(0);
            return Err(format!("ended {ended} when recorded, not {wanted}; standard error:\n{error}{}", kept()));
        }
        let is_dead = scratch.file_name().is_some_and(|name| name.to_string_lossy().contains("deadlock"));
        if recorded.stderr.contains("retake: deadlock") && !is_dead {
            return Err(format!("a deadlock was told of where there is none:\n{}{}", recorded.stderr, kept()));
        }
        for replay in 1..=replays {
            let replayed = self.replay(&take).map_err(|e| format!("replay {replay} of {replays}: {e}{}", kept()))?;
            if let Some(difference) = first_difference(&recorded, &replayed) {
                return Err(format!("replay {replay} of {replays}: {difference}{}", kept()));
            }
        }
        Ok(())
    }
}
