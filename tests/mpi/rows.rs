//! Whatever a program can call of an MPI has a row in the shim's tables: what the library does inside is then none of the
//! program's, and what is not replayed is told.

use crate::jobs::{Jobs, Said};
use std::collections::BTreeSet;
use std::fs;

const OPEN_MPI_4: &str = "/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h";
const MPICH_4: [&str; 2] =
    ["/usr/include/x86_64-linux-gnu/mpich/mpi_proto.h", "/usr/include/x86_64-linux-gnu/mpich/mpio.h"];
const FIVES: [&str; 3] = ["openmpi/include/mpi.h", "mpich/include/mpi_proto.h", "mpich/include/mpi_abi.h"];

/// Handles, statuses and addresses turned into numbers and back: no lock, no message, and the same in every run.
/// `MPI_Abi_…` are left to the library, since whether they are there is how one learns which interface it has.
fn is_plain(name: &str) -> bool {
    let ends = ["_c2f", "_f2c", "_c2f08", "_f082c", "_f082f", "_f2f08", "_toint", "_fromint"];
    let starts = ["MPI_Abi_", "MPI_Aint_", "MPI_Status_get_", "MPI_Status_set_error", "MPI_Status_set_source"];
    let starts = starts.iter().chain(&["MPI_Status_set_tag", "MPI_Pcontrol", "MPI_Sizeof"]);
    ends.iter().any(|end| name.ends_with(end)) || starts.into_iter().any(|start| name.starts_with(start))
}

/// Types, which may stand before a bracket as well.
const TYPES: [&str; 16] = [
    "Aint",
    "Comm",
    "Count",
    "Datatype",
    "Errhandler",
    "File",
    "Fint",
    "Group",
    "Info",
    "Message",
    "Offset",
    "Op",
    "Request",
    "Session",
    "Status",
    "Win",
];

/// The functions that a header declares.
fn functions(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("MPI_") {
        let rest = &text[at..];
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let begins = !text[..at].ends_with(is_part) && rest[name.len()..].trim_start().starts_with('(');
        let word = name["MPI_".len()..].trim_start_matches("T_");
        let begins = begins && !TYPES.contains(&word);
        let is_word = word.chars().nth(1).is_some_and(|c| c.is_ascii_lowercase());
        if begins && (is_word || name.starts_with("MPI_T_") && word.starts_with(|c: char| c.is_ascii_lowercase())) {
            found.insert(name.to_owned());
        }
    }
    found
}

impl Jobs {
    pub fn every_function_has_a_row(&self) -> Said {
        let read = |path: &str| fs::read_to_string(path).map_err(|e| format!("{path}: {e}"));
        let tables = self.programs.join("../../../crates/preload/src/table");
        let table = |name| read(&tables.join(name).to_string_lossy());
        let text = table("mpi.rs")? + &table("mpi_full.rs")? + &table("mpi_apart.rs")?;
        let rows: BTreeSet<_> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        let fives = FIVES.map(|name| format!("{}/../mpi5/{name}", env!("CARGO_TARGET_TMPDIR")));
        for header in [OPEN_MPI_4].into_iter().chain(MPICH_4).chain(fives.iter().map(String::as_str)) {
            let all = functions(&read(header)?);
            if all.len() < 20 {
                return Err(format!("{header} declares only {all:?}"));
            }
            let missing: Vec<_> = all.iter().filter(|name| !rows.contains(name.as_str()) && !is_plain(name)).collect();
            if !missing.is_empty() {
                return Err(format!("no row for these of {header}: {missing:?}"));
            }
        }
        Ok(())
    }
}
