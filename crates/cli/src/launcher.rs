//! Launchers of parallel jobs: what `record` and `replay` add to their arguments.
//!
//! A launcher starts ranks on this host with its own environment, so that they inherit Retake's variables. On other hosts
//! Open MPI starts them with a fresh one, unless it is told by `-x` what to hand on. Hydra (MPICH) hands on everything.

use retake_tape::session::{LAUNCHERS, variable};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Launchers of which Retake knows how they are told things.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// Open MPI's, 4 and 5: takes `-x NAME`, and `-mca NAME VALUE`.
    OpenMpi,
    /// MPICH's.
    Hydra,
}

/// Names of launchers that are of one kind only.
const KINDS: [(&str, Kind); 3] =
    [("orterun", Kind::OpenMpi), ("prterun", Kind::OpenMpi), ("mpiexec.hydra", Kind::Hydra)];
/// Names that many have; then what lies beside it tells.
const COMMON: [&str; 2] = ["mpirun", "mpiexec"];

/// Which one `exe`, or what it is a link to, is.
pub fn kind(exe: &Path) -> Option<Kind> {
    let of = |is_it: &dyn Fn(&str) -> bool| KINDS.into_iter().find(|(name, _)| is_it(name)).map(|(_, kind)| kind);
    if is_among(exe, &COMMON) {
        return of(&|name| real(exe).with_file_name(name).exists());
    }
    of(&|name| is_among(exe, &[name]))
}

/// The arguments with which `exe` is started: `argv`, and behind its name what a launcher must hand on.
pub fn arguments(exe: &Path, argv: Vec<OsString>) -> Vec<OsString> {
    if kind(exe) != Some(Kind::OpenMpi) {
        return argv;
    }
    // It would warn of one that is not there.
    let handed_on = variable::ALL.iter().filter(|name| **name != variable::EVEN).chain([&variable::PRELOAD]);
    let flags = handed_on.flat_map(|name| ["-x".into(), (*name).into()]);
    let mut argv = argv.into_iter();
    argv.next().into_iter().chain(flags).chain(argv).collect()
}

/// Whether `exe` is a launcher.
pub fn is_one(exe: &Path) -> bool {
    is_among(exe, &LAUNCHERS)
}

fn real(exe: &Path) -> PathBuf {
    std::fs::canonicalize(exe).unwrap_or_else(|_| exe.to_owned())
}

/// Whether `exe`, or what it is a link to, has one of these names.
fn is_among(exe: &Path, names: &[&str]) -> bool {
    let real = real(exe);
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
        assert!(!more.iter().any(|word| word == "RETAKE_EVEN"));
    }
}
