//! The rules of style that a machine can keep: heads of files, their length, what depends on what, no traces of a machine.

use std::fs;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 700;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

/// Every file of the repository, but not what building and git put there.
fn files() -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder that can be read") {
            let entry = entry.expect("an entry of a folder");
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().expect("what the entry is");
            if kind.is_dir() && name != "target" && name != ".git" {
                folders.push(path);
            } else if kind.is_file() && name != ".git" {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The text files whose names end in one of these; all text files if there is none.
fn texts(endings: &[&str]) -> Vec<(String, String)> {
    let root = root();
    files()
        .into_iter()
        .map(|path| (path.strip_prefix(&root).expect("inside").to_string_lossy().into_owned(), path))
        .filter(|(name, _)| endings.is_empty() || endings.iter().any(|ending| name.ends_with(ending)))
        .filter_map(|(name, path)| Some((name, String::from_utf8(fs::read(path).ok()?).ok()?)))
        .collect()
}

fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// The names in one section of a manifest; a missing section has none.
fn names(manifest: &str, section: &str) -> Vec<String> {
    let path = root().join(manifest);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut inside = false;
    let mut names = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == format!("[{section}]");
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            names.push(name.to_string());
        }
    }
    names
}

#[test]
fn every_source_file_opens_with_what_it_is() {
    let without = texts(&[".rs"]).into_iter().filter(|(_, text)| !text.starts_with("//!"));
    none(without.map(|(name, _)| format!("{name}: must open with `//!` and what the file is")).collect());
}

#[test]
fn every_c_file_opens_with_what_it_is() {
    let without =
        texts(&[".c", ".cc"]).into_iter().filter(|(_, text)| !text.starts_with("//") && !text.starts_with("/*"));
    none(without.map(|(name, _)| format!("{name}: must open with a comment that says what it is")).collect());
}

#[test]
fn no_file_is_too_long() {
    let long = texts(&[".rs", ".c", ".cc"]).into_iter().filter(|(_, text)| text.lines().count() > LINES_MAX);
    none(long.map(|(name, text)| format!("{name}: {} lines, at most {LINES_MAX}", text.lines().count())).collect());
}

#[test]
fn nothing_is_left_to_do_in_the_source() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];
    let mut problems = Vec::new();
    for (name, text) in texts(&[".rs", ".c", ".cc", ".toml"]) {
        for (number, line) in text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) {
                problems.push(format!("{name}:{}: do it, or open an issue: {}", number + 1, line.trim()));
            }
        }
    }
    none(problems);
}

#[test]
fn no_path_of_one_machine() {
    let folders = ["work", "root", "home"].map(|folder| format!("/{folder}/"));
    let mut problems = Vec::new();
    for (name, text) in texts(&[]) {
        for (number, line) in text.lines().enumerate() {
            if folders.iter().any(|folder| starts_a_path(line, folder)) {
                problems.push(format!("{name}:{}: a path of one machine: {}", number + 1, line.trim()));
            }
        }
    }
    none(problems);
}

/// Whether the folder stands at the start of a path and not in its middle, as in `a/home/b`.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "/.-_}~*".contains(c))
    })
}

#[test]
fn the_hot_side_depends_on_libc_alone() {
    assert_eq!(names("crates/tape/Cargo.toml", "dependencies"), Vec::<String>::new(), "the tape stands alone");
    assert_eq!(names("crates/trace/Cargo.toml", "dependencies"), Vec::<String>::new(), "the trace stands alone");
    assert_eq!(
        names("crates/explore/Cargo.toml", "dependencies"),
        ["retake-tape"],
        "explore knows operations, no more"
    );
    let of_engine = ["libc", "retake-explore", "retake-tape"];
    for (part, allowed) in [("engine", &of_engine[..]), ("preload", &["libc", "retake-engine", "retake-tape"])] {
        let used = names(&format!("crates/{part}/Cargo.toml"), "dependencies");
        assert!(
            used.iter().all(|name| allowed.contains(&name.as_str())),
            "{part} depends on {used:?}, allowed {allowed:?}"
        );
    }
}

/// The library lives in other people's programs: few dependencies, none of the shim's side.
#[test]
fn the_library_links_little() {
    let allowed = [
        "hmac-sha256",
        "libc",
        "retake-engine",
        "retake-explore",
        "retake-tape",
        "retake-trace",
        // Signs for NKeys; rustls links it anyway. Both with the feature `nats` alone.
        "ring",
        "rustls",
        "serde",
        "serde_json",
    ];
    let library = names("crates/api/Cargo.toml", "dependencies");
    assert!(library.iter().all(|name| allowed.contains(&name.as_str())), "{library:?}, allowed {allowed:?}");
}

#[test]
fn the_analysis_reads_tapes_and_nothing_else() {
    assert_eq!(names("crates/analysis/Cargo.toml", "dependencies"), ["retake-tape"], "analysis");
    for (name, text) in texts(&["Cargo.toml"]) {
        let uses = text.lines().any(|line| line.starts_with("retake-analysis"));
        let allowed = ["Cargo.toml", "crates/cli/Cargo.toml"].contains(&name.as_str());
        assert!(!uses || allowed, "{name} uses the analysis, which is of the cold side");
    }
}

#[test]
fn the_command_line_never_links_the_engine() {
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let names = names("crates/cli/Cargo.toml", section);
        for hot in ["retake-engine", "retake-preload"] {
            assert!(!names.iter().any(|name| name == hot), "cli: {hot} in [{section}]; the two sides meet in the tape");
        }
    }
}

/// A crate that exports hooked names would hook whatever links it: nothing may.
#[test]
fn the_shim_is_a_shared_library_and_nothing_else() {
    let text = fs::read_to_string(root().join("crates/preload/Cargo.toml")).expect("the manifest");
    assert!(text.contains("crate-type = [\"cdylib\"]"), "preload must be a cdylib only");
    for (name, text) in texts(&["Cargo.toml"]) {
        let links = text.lines().any(|line| line.starts_with("retake-preload"));
        assert!(!links, "{name} links the shim");
    }
}
