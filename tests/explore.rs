//! Programs with one bug each that bare runs do not show, and what finds it.
//!
//! `programs/explore`: each program passes when it runs by itself, and fails as its head says when its threads run in the
//! order that its head gives; so the bug is there, and the order alone decides. `retake explore` finds it, whatever the
//! seed, keeps it as a take that replays, and tells what decides, in the words of the file beside the program (`UPDATE=1`
//! writes it). With `-DREPAIRED` nothing is found. Real programs give the right output in every order.

use retake_testkit::{Fixture, Kit, Test, run, run_all};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// Bare runs of each program; `EXPLORE_BARE` gives another number.
const BARE_RUNS: u64 = 5;
/// A program that is to end in a deadlock.
const DEADLOCK: i32 = 122;
/// With how many seeds each bug is found; `EXPLORE_SEEDS` gives another number.
const SEEDS: u64 = 2;
/// Runs of a program without a bug; `EXPLORE_RUNS` gives another number.
const REPAIRED_RUNS: u64 = 200;

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore");
    let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), folder);
    // Up to 1,000 runs, then 2,000 more to make what failed smaller.
    kit.limits.wait_ms_max *= 4;
    let kit = Arc::new(kit);
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/explore");
    let mut tests = Vec::new();
    for fixture in Fixture::all(&programs).unwrap_or_else(|error| panic!("{error}")) {
        let mut add = |name: &str, fixture: &Fixture, check: fn(&Kit, &Fixture) -> Result<(), String>| {
            let (kit, fixture) = (kit.clone(), fixture.clone());
            tests.push(Test::new(format!("{}_{name}", fixture.name), move || check(&kit, &fixture)));
        };
        add("passes_bare", &fixture, bare);
        add("passes_bare", &repaired(&fixture), bare);
        add("fails_by_its_order", &fixture, fails_by_its_order);
        add("is_found", &fixture, is_found);
        add("is_not_found", &repaired(&fixture), is_not_found);
    }
    for (name, command, fails_if) in REAL {
        let kit = kit.clone();
        tests.push(Test::new(format!("{name}_gives_the_right_output"), move || gives(&kit, name, command, fails_if)));
    }
    run_all(tests)
}

/// Programs of Debian's, and when their output is wrong. Their input is a text of 300 kB, one number a line.
const REAL: [(&str, &str, &str); 6] = [
    ("pigz", "pigz -p 3 -b 128 -c input", "! pigz -dc | cmp -s - input"),
    ("zstd", "zstd -q -T3 -1 -c input", "! zstd -dc | cmp -s - input"),
    ("xz", "xz -0 -T3 --block-size=100KiB -c input", "! xz -dc | cmp -s - input"),
    ("pbzip2", "pbzip2 -p3 -b1 -q -c input", "! pbzip2 -dc | cmp -s - input"),
    ("sort", "sort --parallel=3 input", "! cmp -s - sorted"),
    ("python", "/usr/bin/python3 threads.py", "! grep -qx 4950"),
];
/// Who chooses in their runs; Python's threads poll, and an unfair strategy would never let them end.
const STRATEGIES: [&str; 4] = ["portfolio", "pct", "surw", "random"];
/// Runs of each of them by each strategy.
const REAL_RUNS: &str = "5";
/// Four threads take numbers off a queue.
const THREADS_PY: &str = "\
import queue, threading
numbers, taken, lock = queue.Queue(), [], threading.Lock()
def work():
    while (number := numbers.get()) is not None:
        with lock: taken.append(number)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for number in range(100): numbers.put(number)
for _ in threads: numbers.put(None)
for thread in threads: thread.join()
print(sum(taken))
";

/// The same program without its bug.
fn repaired(fixture: &Fixture) -> Fixture {
    let mut fixture = fixture.clone();
    fixture.name += "_repaired";
    fixture.flags.push("-DREPAIRED".into());
    fixture
}

fn bare(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let program = kit.compile(fixture)?;
    let scratch = kit.scratch(&format!("{}_bare", fixture.name))?;
    for number in 1..=asked("EXPLORE_BARE", BARE_RUNS) {
        let outcome = run(&mut Command::new(&program), &scratch, kit.limits)?;
        if outcome.ended != 0 {
            return Err(format!("bare run {number} ended {}:\n{}", outcome.ended, outcome.stderr));
        }
    }
    Ok(())
}

/// Follows the order of the program's head.
fn fails_by_its_order(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let program = kit.compile(fixture)?;
    let scratch = kit.scratch(&format!("{}_follow", fixture.name))?;
    // Behind a deadlock a thread is named that there is none of, so that it is told who could run.
    let is_dead = fixture.ends == DEADLOCK;
    let (ends, told) =
        if is_dead { (123, "it has not been created; no thread could run") } else { (fixture.ends, "followed all") };
    let behind = if is_dead { ",999" } else { "" };
    fs::write(scratch.join("order"), format!("points all\n{}{behind}\n", fixture.fails)).map_err(|e| e.to_string())?;
    let mut command = kit.retake(&scratch);
    command.args(["follow", "order", "--then", "stop", "-o", "take", "--"]).arg(program);
    let outcome = run(&mut command, &scratch, kit.limits)?;
    let is_right = outcome.ended == ends && outcome.stderr.contains(told);
    is_right.then_some(()).ok_or_else(|| format!("ended {}, not {ends}:\n{}", outcome.ended, outcome.stderr))
}

/// What the variable says, or `usual`.
fn asked(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// The bug is found within 1,000 runs with every seed, fails as it should, and replays; what is told with the first seed is
/// in the file beside the program.
fn is_found(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let program = kit.compile(fixture)?;
    for seed in 1..=asked("EXPLORE_SEEDS", SEEDS) {
        let scratch = kit.scratch(&format!("{}_explore", fixture.name))?;
        let mut command = kit.retake(&scratch);
        // One run at a time: what the file says does not depend on how many processors there are.
        let seed_word = seed.to_string();
        command.args(["explore", "--runs", "1000", "-j", "1", "--seed", &seed_word, "-o", "take", "--"]).arg(&program);
        let found = run(&mut command, &scratch, kit.limits)?;
        let told = |what: &str| Err(format!("seed {seed}: {what}:\n{}", found.stderr));
        if found.ended != 1 || !found.stderr.contains("replayed 3 of 3: same failure") {
            return told(&format!("ended {}, not found", found.ended));
        }
        let replayed = kit.replay(&scratch.join("take"))?;
        if replayed.ended != fixture.ends {
            return told(&format!("the replay ended {}, not {}", replayed.ended, fixture.ends));
        }
        if !found.stderr.contains("it passes (tried)") {
            return told("nothing that decides was found");
        }
        if seed == 1 {
            let told = explanation(&found.stderr);
            let has_several = SEVERAL.contains(&fixture.name.as_str());
            let told = told.split("retake: what decides").next().filter(|_| has_several).unwrap_or(&told);
            golden(&fixture.path.with_extension("expected"), told)?;
        }
    }
    Ok(())
}

/// Programs in which several orders decide, and which of them is told depends on which failing run came first.
const SEVERAL: [&str; 5] =
    ["deadlock_five", "deadlock_semaphores", "once_reinvented", "reference_count", "semaphore_post"];

/// What is said of the failure itself: not how it was found, nor where it was kept.
fn explanation(stderr: &str) -> String {
    let is_of_run =
        |line: &&str| ["run ", "replayed ", "kept as"].iter().any(|word| line.contains(&format!("retake: {word}")));
    let lines = stderr.lines().filter(|line| line.starts_with("retake: ") && !is_of_run(line));
    lines.filter(|line| !line.contains(" shrunk to ")).map(|line| format!("{line}\n")).collect()
}

fn golden(path: &Path, now: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(path, now).map_err(|e| e.to_string());
    }
    let expected = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    if expected == now { Ok(()) } else { Err(format!("it told\n{now}\nexpected in {}\n{expected}", path.display())) }
}

fn is_not_found(kit: &Kit, fixture: &Fixture) -> Result<(), String> {
    let program = kit.compile(fixture)?;
    let scratch = kit.scratch(&format!("{}_explore", fixture.name))?;
    let runs = asked("EXPLORE_RUNS", REPAIRED_RUNS).to_string();
    let mut command = kit.retake(&scratch);
    command.args(["explore", "--runs", &runs, "-o", "take", "--"]).arg(&program);
    let outcome = run(&mut command, &scratch, kit.limits)?;
    if outcome.ended == 0 { Ok(()) } else { Err(format!("ended {}:\n{}", outcome.ended, outcome.stderr)) }
}

/// Whether a program of Debian's gives the right output in every run.
fn gives(kit: &Kit, name: &str, command: &str, fails_if: &str) -> Result<(), String> {
    let scratch = kit.scratch(name)?;
    let mut numbers: Vec<String> = (0..45_000_u64).map(|n| format!("{:06}\n", n * 7919 % 1_000_003)).collect();
    let write = |file: &str, text: String| fs::write(scratch.join(file), text).map_err(|e| e.to_string());
    write("input", numbers.concat())?;
    numbers.sort();
    write("sorted", numbers.concat())?;
    write("threads.py", THREADS_PY.into())?;
    for strategy in STRATEGIES {
        let mut explore = kit.retake(&scratch);
        explore.env("LC_ALL", "C").args([
            "explore",
            "--runs",
            REAL_RUNS,
            "--strategy",
            strategy,
            "--fail-if",
            fails_if,
        ]);
        let outcome = run(explore.args(["-o", "take", "--"]).args(command.split(' ')), &scratch, kit.limits)?;
        if outcome.ended != 0 {
            return Err(format!("{strategy}: ended {}:\n{}", outcome.ended, outcome.stderr));
        }
    }
    Ok(())
}
