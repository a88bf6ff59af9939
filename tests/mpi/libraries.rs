//! The MPI libraries of these tests: how each is called, and what it must be told to run here.
//!
//! More ranks than processors, as root, and over shared memory only; over loopback where that does not reach.

use retake_testkit::{Kit, MPI_VARIABLES};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// One MPI: its name, and its compiler and launcher.
#[derive(Clone, Copy)]
pub struct Mpi {
    pub name: &'static str,
    pub cc: &'static str,
    pub run: &'static str,
    /// Starting ranks is slow: of the replays that a fixture asks for, this part is done.
    pub part: u32,
}

/// Debian's.
pub const ALL: [Mpi; 2] = [
    Mpi { name: "openmpi", cc: "mpicc.openmpi", run: "mpirun.openmpi", part: 1 },
    Mpi { name: "mpich", cc: "mpicc.mpich", run: "mpirun.mpich", part: 4 },
];

macro_rules! installed {
    ($file:literal) => {
        concat!(env!("CARGO_TARGET_TMPDIR"), "/../mpi5/", $file)
    };
}

const MPICH_5: &str = installed!("mpich/bin/mpirun");

/// Those that `tests/mpi/install` installs; the last is MPICH 5 by the interface of the MPI-5 standard.
pub const FIVES: [Mpi; 3] = [
    Mpi { name: "openmpi5", cc: installed!("openmpi/bin/mpicc"), run: installed!("openmpi/bin/mpirun"), part: 10 },
    Mpi { name: "mpich5", cc: installed!("mpich/bin/mpicc"), run: MPICH_5, part: 10 },
    Mpi { name: "abi", cc: installed!("mpich/bin/mpicc_abi"), run: MPICH_5, part: 10 },
];

impl Mpi {
    /// Tells it how to run here.
    pub fn settle(self, kit: &mut Kit) {
        tell(kit, &MPI_VARIABLES);
        if self.name == "openmpi5" {
            tell(kit, &[("OMPI_MCA_btl", "self,sm"), ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")]);
        }
    }

    /// Shared memory does not reach ranks of another job, or of what is another host: those talk over loopback.
    pub fn with_tcp(self, kit: &mut Kit) {
        let ways = if self.name == "openmpi5" { "self,sm,tcp" } else { "self,vader,tcp" };
        tell(kit, &[("OMPI_MCA_btl", ways), ("OMPI_MCA_btl_tcp_if_include", "lo")]);
        // MPICH's other transport does not reach them, whatever it is told.
        tell(kit, &[("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp")]);
    }

    /// A Python with an mpi4py that can use this MPI library, and the folder in which it finds it.
    pub fn python(self, scratch: &Path) -> Result<(String, PathBuf), String> {
        let python = match self.name {
            "openmpi5" => installed!("mpi4py-openmpi/bin/python"),
            _ => installed!("mpi4py/bin/python"),
        };
        if !Path::new(python).exists() {
            return Err(format!("no {python}: run `tests/mpi/install target/mpi5`"));
        }
        let library = match self.name {
            "mpich5" => PathBuf::from(installed!("mpich/lib")),
            "openmpi5" => PathBuf::from(installed!("openmpi/lib")),
            _ => {
                // Debian's has another name than everybody else's.
                let debians = "/usr/lib/x86_64-linux-gnu/libmpich.so.12";
                symlink(debians, scratch.join("libmpi.so.12")).map_err(|e| format!("{debians}: {e}"))?;
                scratch.to_owned()
            }
        };
        Ok((python.into(), library))
    }

    /// Why there is none, if there is none.
    pub fn must_be_there(self) -> Result<(), String> {
        let is_missing = self.cc.starts_with('/') && !Path::new(self.cc).exists();
        if is_missing { Err(format!("no {}: run `tests/mpi/install target/mpi5`", self.cc)) } else { Ok(()) }
    }
}

/// What is told later counts.
fn tell(kit: &mut Kit, variables: &[(&str, &str)]) {
    kit.environment.extend(variables.iter().map(|(name, value)| (name.to_string(), value.into())));
}
