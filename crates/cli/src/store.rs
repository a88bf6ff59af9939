//! Where takes live and what they are called: `$XDG_STATE_HOME/retake/NAME-N`, `latest`, unique prefixes.

use crate::facts::{FILE, Facts};
use crate::session::Mapped;
use crate::status::{Context, Failure, Result};
use crate::take::{Origin, Take};
use retake_tape::session::FILE as SESSION;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Marks a take in the store that came out of an archive.
pub const FOREIGN_MARK: &str = "unpacked";
/// Lists takes that were recorded outside the store.
const KNOWN: &str = "known";

/// The user's takes.
pub struct Store {
    pub root: PathBuf,
}

/// A directory of the XDG specification: the variable if it is absolute, else `default` under the home directory.
pub fn xdg(variable: &str, default: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| home().map(|home| home.join(default)))
}

/// The user's home directory: HOME, else what the system says.
fn home() -> Option<PathBuf> {
    let set = std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| {
        // SAFETY: the answer is copied before anyone asks again; this process has one thread.
        unsafe {
            let user = libc::getpwuid(libc::geteuid()).as_ref()?;
            let dir = std::ffi::CStr::from_ptr(user.pw_dir.as_ref()?);
            Some(PathBuf::from(OsStr::from_bytes(dir.to_bytes()))).filter(|path| path.is_absolute())
        }
    })
}

/// A number that nobody can guess.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

impl Store {
    /// The store that the environment names.
    pub fn open() -> Result<Store> {
        let own = std::env::var_os("RETAKE_DIR").map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
        let root = match own {
            Some(path) => std::path::absolute(path).because(|| "cannot find RETAKE_DIR".into())?,
            None => xdg("XDG_STATE_HOME", ".local/state").map(|state| state.join("retake")).ok_or_else(|| {
                Failure::own("there is no place for takes: you have no home directory")
                    .next("RETAKE_DIR=DIR retake record -- CMD")
            })?,
        };
        Ok(Store { root })
    }

    /// Makes the directory of a new take of the program `name`.
    pub fn create(&self, name: &str) -> Result<PathBuf> {
        let words = || format!("cannot make a take in {}", self.root.display());
        let hint = |failure: Failure| failure.next("retake record -o DIR -- CMD").next("retake doctor");
        private_dirs(&self.root).because(words).map_err(hint)?;
        let name = plain_name(name);
        let mut number = self.highest(&name) + 1;
        loop {
            let path = self.root.join(format!("{name}-{number}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error).because(words).map_err(hint),
            }
        }
    }

    fn highest(&self, name: &str) -> u64 {
        let number = |item: fs::DirEntry| {
            let file = item.file_name();
            file.to_str()?.strip_prefix(name)?.strip_prefix('-')?.parse().ok()
        };
        fs::read_dir(&self.root).into_iter().flatten().flatten().filter_map(number).max().unwrap_or(0)
    }

    /// How many takes there are, more or less: what else lies here counts, too.
    pub fn count(&self) -> usize {
        fs::read_dir(&self.root).map_or(0, Iterator::count)
    }

    /// Names of all takes, newest first, with what their `take.json` says (or why it cannot be read).
    pub fn list(&self) -> Vec<(String, std::result::Result<Facts, String>)> {
        let mut takes: Vec<_> = fs::read_dir(&self.root)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir()) && item.path().join(FILE).exists())
            .map(|item| (item.file_name().to_string_lossy().into_owned(), Facts::read(&item.path())))
            .collect();
        takes.sort_by_key(|(name, facts)| {
            (std::cmp::Reverse(facts.as_ref().map_or(0, |facts| facts.started_ms)), name.clone())
        });
        takes
    }

    /// The directory of the take that `word` names, and where it lies.
    pub fn find(&self, word: &str) -> Result<(PathBuf, Origin)> {
        let none = |what: String| Failure::own(what).next("retake ls").next("retake record -- CMD");
        if word == "latest" {
            let ready = |(name, facts): &(String, std::result::Result<Facts, String>)| {
                facts.is_ok() && !Mapped::in_use(&self.root.join(name).join(SESSION))
            };
            return match self.list().into_iter().find(ready) {
                Some((name, _)) => Ok((self.root.join(name), Origin::Store)),
                None => Err(Failure::own(format!("there is no take in {} yet", self.root.display()))
                    .next("retake record -- CMD")
                    .next("retake demo")),
            };
        }
        if !word.contains('/') && word != "." && word != ".." {
            let names: Vec<String> = self.list().into_iter().map(|(name, _)| name).collect();
            if names.iter().any(|name| name == word) {
                return Ok((self.root.join(word), Origin::Store));
            }
            if !Path::new(word).exists() {
                let fitting: Vec<_> = names.into_iter().filter(|name| name.starts_with(word)).collect();
                return match &fitting[..] {
                    [] => Err(none(format!("there is no take {word}"))),
                    [name] => Ok((self.root.join(name), Origin::Store)),
                    many => Err(none(format!("{word} fits {} takes: {}", many.len(), many.join(", ")))),
                };
            }
        }
        let path = fs::canonicalize(word).map_err(|_| none(format!("there is no take {word}")))?;
        if path.is_file() {
            return Ok((path, Origin::Packed));
        }
        if !path.join(FILE).exists() {
            return Err(none(format!("{word} is not a take: it has no {FILE}")));
        }
        let inside = fs::canonicalize(&self.root).is_ok_and(|root| path.parent() == Some(&root));
        Ok((path, if inside { Origin::Store } else { Origin::Elsewhere }))
    }

    /// Opens the take that `word` names.
    pub fn take(&self, word: &str) -> Result<Take> {
        let (path, origin) = self.find(word)?;
        if origin == Origin::Packed {
            return crate::pack::open(&path);
        }
        Take::open(&path, origin)
    }

    /// Whether this user's retake recorded the take here, so that its command may be run without asking.
    pub fn trusts(&self, take: &Take) -> bool {
        match take.origin {
            Origin::Store => !take.dir.join(FOREIGN_MARK).exists(),
            Origin::Packed => false,
            Origin::Elsewhere => {
                let line = known_line(&take.facts.id, &take.dir);
                let known = || {
                    let mut file = File::open(self.root.join(KNOWN))?;
                    file.lock_shared()?;
                    std::io::read_to_string(&mut file)
                };
                known().is_ok_and(|known| known.lines().any(|l| l == line))
            }
        }
    }

    /// Remembers that the take in `dir`, outside the store, was recorded by this user.
    pub fn remember(&self, id: &str, dir: &Path) -> std::io::Result<()> {
        private_dirs(&self.root)?;
        let mut open = fs::OpenOptions::new();
        let mut file =
            open.read(true).write(true).create(true).truncate(false).mode(0o600).open(self.root.join(KNOWN))?;
        // Another recording that begins now must not lose its line to the list that is written here.
        file.lock()?;
        let mut before = String::new();
        file.read_to_string(&mut before)?;
        let there = |line: &&str| line.split_once(' ').is_some_and(|(_, dir)| Path::new(dir).exists());
        if before.lines().filter(|line| !there(line)).count() > 100 {
            before = before.lines().filter(there).map(|line| format!("{line}\n")).collect();
            file.rewind()?;
            file.write_all(before.as_bytes())?;
        }
        file.write_all(format!("{}\n", known_line(id, dir)).as_bytes())?;
        let length = file.stream_position()?;
        file.set_len(length)
    }
}

fn known_line(id: &str, dir: &Path) -> String {
    let full = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    format!("{id} {}", full.to_string_lossy().replace('\n', "?"))
}

/// Makes `path` and its parents, private to the user.
pub fn private_dirs(path: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Bytes that the files of `dir` take on the disk.
pub fn disk_size(dir: &Path) -> u64 {
    let items = fs::read_dir(dir).into_iter().flatten().flatten();
    items.filter_map(|item| item.metadata().ok()).map(|data| data.blocks() * 512).sum()
}

/// A program's name without what would be awkward in a file name.
fn plain_name(name: &str) -> String {
    let fit = |c: char| if c.is_alphanumeric() || "_-+.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(fit).take(60).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "take".into() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_and_found() {
        let temp = crate::take::TempDir::new().unwrap();
        let store = Store { root: temp.path().join("s") };
        assert!(store.find("latest").is_err());
        for number in 1..=3 {
            let dir = store.create("my prog").unwrap();
            assert!(dir.ends_with(format!("my_prog-{number}")));
            let mut facts = crate::facts::tests::sample();
            facts.name = format!("my_prog-{number}");
            facts.started_ms = number;
            facts.write(&dir).unwrap();
        }
        assert!(store.find("latest").unwrap().0.ends_with("my_prog-3"));
        assert!(store.find("my_prog-2").unwrap().0.ends_with("my_prog-2"));
        assert!(store.find("my").is_err());
        assert!(store.find("../s/my_prog-1").is_err());
        fs::remove_dir_all(store.root.join("my_prog-1")).unwrap();
        fs::remove_dir_all(store.root.join("my_prog-2")).unwrap();
        assert!(store.find("my").unwrap().0.ends_with("my_prog-3"));
    }

    #[test]
    fn many_recordings_at_once_are_all_remembered() {
        let temp = crate::take::TempDir::new().unwrap();
        let root = temp.path().join("s");
        let gone =
            || (0..101).map(|n| known_line("0", &temp.path().join(format!("gone-{n}"))) + "\n").collect::<String>();
        let remember = |thread: usize| {
            let store = Store { root: root.clone() };
            for round in 0..20 {
                let dir = temp.path().join(format!("take-{thread}-{round}"));
                fs::create_dir(&dir).unwrap();
                store.remember("1", &dir).unwrap();
                // So that the list is to be cleared again.
                let mut list = fs::OpenOptions::new().append(true).open(root.join(KNOWN)).unwrap();
                list.lock().unwrap();
                list.write_all(gone().as_bytes()).unwrap();
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|thread| drop(scope.spawn(move || remember(thread)))));
        let known = fs::read_to_string(root.join(KNOWN)).unwrap();
        assert_eq!(known.lines().filter(|line| line.contains("/take-")).count(), 80);
    }

    #[test]
    fn names_are_harmless() {
        assert_eq!(plain_name("../../etc"), "_.._etc");
        assert_eq!(plain_name("-rf"), "rf");
        assert_eq!(plain_name(""), "take");
    }
}
