//! `retake record --serial`: threads in turn. The programs of `programs/serial/` depend on what no other recording keeps: races on
//! plain memory, atomics, locks that are futexes. And every fixture of `programs/` comes back when it is recorded so, too, since
//! nothing else may differ.

use retake_testkit::{Fixture, Kit, Outcome, Test, run, run_all};
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
        ("rust_deadlock", rust_deadlock),
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

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/serial").join(name)
}

fn compile(name: &str, scratch: &Path) -> Result<PathBuf, String> {
    let program = scratch.join(name).with_extension("");
    let done =
        Command::new(rustc()).args(["--edition=2021", "-O", "-g", "-o"]).arg(&program).arg(source(name)).status();
    let is_done = done.is_ok_and(|status| status.success());
    if is_done { Ok(program) } else { Err(format!("rustc does not compile {name}")) }
}

/// Locks that are futexes, channels, atomics: an unchanged Rust program.
fn rust(kit: &Kit, scratch: &Path) -> Result<(), String> {
    let program = compile("std_sync.rs", scratch)?;
    kit.record_and_replay(&program, &[], scratch, 20, Some(0))
}

/// A deadlock of such locks is told at once, with the lines of the program alone, in turn or not; and so it is in each replay.
fn rust_deadlock(kit: &Kit, scratch: &Path) -> Result<(), String> {
    let program = compile("std_deadlock.rs", scratch)?;
    for flags in [&[][..], &["--serial"]] {
        let take = scratch.join(format!("take{}", flags.concat()));
        let mut record = kit.retake(scratch);
        record.arg("record").args(flags).args(["--on-deadlock", "stop", "-o"]).arg(&take).arg("--").arg(&program);
        let told = |outcome: Outcome| {
            let waits = outcome.stderr.matches("waits for futex").count();
            let takes = outcome.stderr.matches("std_deadlock.rs:12 (std_deadlock::take)").count();
            let is_right = (outcome.ended, waits, takes) == (122, 3, 2) && !outcome.stderr.contains("thread/");
            if is_right { Ok(()) } else { Err(format!("ended {}:\n{}", outcome.ended, outcome.stderr)) }
        };
        told(run(&mut record, scratch, kit.limits)?)?;
        for _ in 0..5 {
            told(kit.replay(&take)?)?;
        }
    }
    Ok(())
}

/// A large one, with a linker and jemalloc.
fn the_rust_compiler(kit: &Kit, scratch: &Path) -> Result<(), String> {
    let (rustc, source) = (rustc(), source("std_sync.rs"));
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
