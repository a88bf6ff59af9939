//! The README is a promise: its first two commands are the ones that `./check` runs, and what it points at is there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The commands in the `sh` blocks of a page, in order, without comments.
fn commands(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside && line == "```sh";
        } else if inside {
            let command = line.split(" #").next().unwrap_or_default().trim();
            if !command.is_empty() && !command.starts_with('#') {
                found.push(command.to_string());
            }
        }
    }
    found
}

#[test]
fn the_first_command_is_the_demo_and_the_second_the_check() {
    let commands = commands(&read("README.md"));
    assert_eq!(commands.first().map(String::as_str), Some("cargo run --release -- demo"));
    assert_eq!(commands.get(1).map(String::as_str), Some("./check"));
}

#[test]
fn check_runs_the_first_command_and_ci_runs_check() {
    let check = read("check");
    assert!(check.lines().any(|line| line == "cargo run --release -- demo"), "./check does not run the demo");
    assert!(check.trim_end().ends_with("echo \"check: all passed\""), "./check must end with its outcome");
    assert!(read(".ci/run").lines().any(|line| line.ends_with("./check")), ".ci/run does not call ./check");
    for script in ["check", ".ci/run", "benches/instructions"] {
        let mode = fs::metadata(root().join(script)).expect(script).permissions().mode();
        assert!(mode & 0o111 != 0, "{script} is not executable");
    }
}

#[test]
fn what_the_pages_point_at_is_there() {
    let mut problems = Vec::new();
    for page in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/performance.md"] {
        let text = read(page);
        let folder = root().join(page).parent().expect("a page is in a folder").to_path_buf();
        for (_, rest) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
            let target = rest.split([')', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                problems.push(format!("{page}: no {target}"));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
