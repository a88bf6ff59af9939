//! `retake record --serial`: threads in turn. The programs of `programs/serial/` depend on what no other recording keeps: races on
//! plain memory, atomics, locks that are futexes. And every fixture of `programs/` comes back when it is recorded so, too, since
//! nothing else may differ.

use retake_testkit::{Fixture, Kit, Test, run_all};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// Of each fixture that other tests replay more often.
const REPLAYS: u32 = 3;

fn main() -> ExitCode {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("serial");
    let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), folder);
    kit.flags = &["--serial"];
    let kit = Arc::new(kit);
    let (own, others) = match (Fixture::all(&programs.join("serial")), Fixture::all(&programs)) {
        (Ok(own), Ok(others)) => (own, others),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let others = others.into_iter().map(|fixture| Fixture { replays: REPLAYS, ..fixture });
    let mut tests: Vec<Test> = own
        .into_iter()
        .chain(others)
        .map(|fixture| {
            let kit = kit.clone();
            Test::new(fixture.name.clone(), move || kit.check(&fixture))
        })
        .collect();
    for (name, test) in [
        ("rust_std_sync", rust as fn(&Kit, &Path) -> Result<(), String>),
        ("the_rust_compiler", the_rust_compiler),
        ("gnu_sort", sort),
    ] {
        let kit = kit.clone();
        tests.push(Test::new(name, move || {
            let scratch = kit.scratch(name)?;
            test(&kit, &scratch)?;
            fs::remove_dir_all(&scratch).map_err(|e| e.to_string())
        }));
    }
    run_all(tests)
}

fn rustc() -> PathBuf {
    std::env::var_os("RUSTC").unwrap_or("rustc".into()).into()
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/serial/std_sync.rs")
}

/// Locks that are futexes, channels, atomics: an unchanged Rust program.
fn rust(kit: &Kit, scratch: &Path) -> Result<(), String> {
    let program = scratch.join("std_sync");
    let done = Command::new(rustc()).args(["--edition=2021", "-O", "-o"]).arg(&program).arg(source()).status();
    if !done.is_ok_and(|status| status.success()) {
        return Err("rustc does not compile the program".into());
    }
    kit.record_and_replay(&program, &[], scratch, 20, Some(0))
}

/// A large one, with a linker and jemalloc.
fn the_rust_compiler(kit: &Kit, scratch: &Path) -> Result<(), String> {
    let (rustc, source) = (rustc(), source());
    let compile = format!(
        "rm -rf out; {} --edition=2021 -O -C codegen-units=4 --out-dir out {} && cksum out/std_sync",
        rustc.display(),
        source.display()
    );
    kit.record_and_replay(Path::new("/bin/sh"), &["-c".into(), compile], scratch, 3, Some(0))
}

/// Its merging threads read and write one word under different locks.
fn sort(kit: &Kit, scratch: &Path) -> Result<(), String> {
    let mut lines = String::new();
    for n in 0..400_000u64 {
        let _ = writeln!(lines, "{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40);
    }
    let input = scratch.join("numbers");
    fs::write(&input, lines).map_err(|e| e.to_string())?;
    let args = ["--parallel=4".into(), input.display().to_string()];
    kit.record_and_replay(Path::new("/usr/bin/sort"), &args, scratch, 20, Some(0))
}
