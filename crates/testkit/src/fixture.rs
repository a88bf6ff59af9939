//! A fixture: one C or C++ file that tests one behaviour, and its header.
//!
//! ```c
//! // The order in which a spin lock is taken must come back.
//! //@ flags: -pthread
//! //@ replay: 20 times, same stdout
//! //@ covers: pthread_spin_lock pthread_spin_unlock
//! //@ ends: 134
//! ```
//! Several may stand on one line. `ends` is the exit status, or 128 and the signal; 0 when it is left out. `args` are handed to the program. A fixture
//! for MPI says how many `ranks` it has, and perhaps for which libraries `only` it is. One with a bug has a schedule by which
//! it `fails`.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct Fixture {
    pub name: String,
    pub path: PathBuf,
    /// What must come back: the first comment.
    pub promise: String,
    pub flags: Vec<String>,
    pub args: Vec<String>,
    pub replays: u32,
    pub covers: Vec<String>,
    pub ends: i32,
    /// How many ranks a fixture for a launcher has.
    pub ranks: u32,
    /// The libraries that it is for; empty if it is for all.
    pub only: Vec<String>,
    /// The schedule by which its bug shows.
    pub fails: String,
}

impl Fixture {
    pub fn load(path: &Path) -> Result<Fixture, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::parse(path, &text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Every fixture of a folder that has a header with `replay:`, by name.
    pub fn all(folder: &Path) -> Result<Vec<Fixture>, String> {
        let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut fixtures = Vec::new();
        for entry in entries {
            let path = entry.map_err(|e| e.to_string())?.path();
            if is_source(&path) {
                fixtures.push(Self::load(&path)?);
            }
        }
        fixtures.sort_by(|a, b| a.name.cmp(&b.name));
        fixtures.retain(|fixture| fixture.replays > 0);
        Ok(fixtures)
    }

    fn parse(path: &Path, text: &str) -> Result<Fixture, String> {
        let name = path.file_stem().and_then(|n| n.to_str()).ok_or("a name that is not text")?;
        let promise = text.lines().next().and_then(|line| line.strip_prefix("// "));
        let mut fixture = Fixture {
            name: name.to_string(),
            path: path.to_path_buf(),
            promise: promise.ok_or("the first line must say what comes back")?.to_string(),
            flags: Vec::new(),
            args: Vec::new(),
            replays: 0,
            covers: Vec::new(),
            ends: 0,
            ranks: 0,
            only: Vec::new(),
            fails: String::new(),
        };
        let lines = text.lines().filter(|line| line.starts_with("//@ "));
        for line in lines.flat_map(|line| line.split("//@ ").skip(1)) {
            let (key, value) = line.split_once(':').ok_or_else(|| format!("no colon in `//@ {line}`"))?;
            let words = || value.split_whitespace().map(str::to_string).collect();
            match key.trim() {
                "flags" => fixture.flags = words(),
                "args" => fixture.args = words(),
                "covers" => fixture.covers.extend(words()),
                "ends" => fixture.ends = number(value)?,
                "replay" => fixture.replays = number(value)?,
                "ranks" => fixture.ranks = number(value)?,
                "only" => fixture.only = words(),
                "fails" => fixture.fails = value.trim().to_string(),
                other => return Err(format!("unknown header `{other}`")),
            }
        }
        Ok(fixture)
    }

    pub fn is_cxx(&self) -> bool {
        self.path.extension().is_some_and(|e| e == "cc")
    }
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "c" || e == "cc")
}

/// The first word of a value, as a number: `20 times, same stdout` is 20.
fn number<N: std::str::FromStr>(value: &str) -> Result<N, String> {
    let word = value.split_whitespace().next().unwrap_or("");
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// It comes back.\n//@ flags: -pthread -O2\n//@ replay: 20 times, same stdout\n\
                        //@ covers: fork wait\n//@ ends: 134\nint main;\n";

    #[test]
    fn a_header_is_read() {
        let fixture = Fixture::parse(Path::new("x/end.c"), TEXT).unwrap();
        assert_eq!(fixture.name, "end");
        assert_eq!(fixture.promise, "It comes back.");
        assert_eq!(fixture.flags, ["-pthread", "-O2"]);
        assert_eq!(fixture.covers, ["fork", "wait"]);
        assert_eq!((fixture.replays, fixture.ends), (20, 134));
    }

    #[test]
    fn a_bad_header_is_refused() {
        assert!(Fixture::parse(Path::new("a.c"), "int main;").is_err());
        assert!(Fixture::parse(Path::new("a.c"), "// x\n//@ colour: red\n").is_err());
        assert!(Fixture::parse(Path::new("a.c"), "// x\n//@ ends: soon\n").is_err());
    }
}
