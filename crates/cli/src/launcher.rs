//! Launchers of parallel jobs: what `record` and `replay` add to their arguments.
//!
//! A launcher starts ranks on this host with its own environment, so that they inherit Retake's variables. On other hosts
//! Open MPI starts them with a fresh one, unless it is told by `-x` what to hand on. Hydra (MPICH) hands on everything.

use retake_tape::session::{LAUNCHERS, variable};
use std::ffi::OsString;
use std::path::Path;

/// Launchers that take `-x NAME`.
const TAKE_X: [&str; 2] = ["orterun", "prterun"];

/// The arguments with which `exe` is started: `argv`, and behind its name what a launcher must hand on.
pub fn arguments(exe: &Path, argv: Vec<OsString>) -> Vec<OsString> {
    if !is_among(exe, &TAKE_X) {
        return argv;
    }
    let handed_on = variable::ALL.iter().chain([&variable::PRELOAD]);
    let flags = handed_on.flat_map(|name| ["-x".into(), (*name).into()]);
    let mut argv = argv.into_iter();
    argv.next().into_iter().chain(flags).chain(argv).collect()
}

/// Whether `exe` is the launcher of Open MPI 4.
pub fn is_open_mpi_4(exe: &Path) -> bool {
    is_among(exe, &["orterun"])
}

/// Whether `exe` is a launcher.
pub fn is_one(exe: &Path) -> bool {
    is_among(exe, &LAUNCHERS)
}

/// Whether `exe`, or what it is a link to, has one of these names.
fn is_among(exe: &Path, names: &[&str]) -> bool {
    let real = std::fs::canonicalize(exe).unwrap_or_else(|_| exe.to_owned());
    let name = real.file_name().unwrap_or_default();
    names.iter().any(|launcher| name == *launcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_launcher_gets_more_arguments() {
        let argv = || vec!["mpirun".into(), "-np".into(), "4".into()];
        assert_eq!(arguments(Path::new("/bin/sh"), argv()), argv());
        let more = arguments(Path::new("/nowhere/orterun"), argv());
        assert_eq!(more[..3], ["mpirun", "-x", "RETAKE_MODE"]);
        assert_eq!(more[more.len() - 4..], ["-x", "LD_PRELOAD", "-np", "4"]);
    }
}
