//! How many runs each strategy needs to find a bug: `cargo bench -p retake-cli --bench bugs -- [--seeds N] [--runs M] [PROGRAM…]`.
//!
//! Every program of `tests/programs/explore` is explored by every strategy with the seeds 1 to N (5), at most M runs (1,000)
//! each, one run at a time. A cell is the mean number of the run that failed; where not every seed found it, behind it how
//! many did, and the mean is of those; `-` if none did. Counts do not depend on how busy the machine is: a run is a function
//! of its seed, unless its program waits for what Retake does not see.

use retake_testkit::{Fixture, Kit, run};
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

const STRATEGIES: [&str; 8] = ["portfolio", "random", "pct", "pos", "surw", "delay", "preempt", "all"];

struct Asked {
    seeds: u64,
    runs: u64,
    programs: Vec<String>,
}

fn main() -> ExitCode {
    let mut asked = Asked { seeds: 5, runs: 1000, programs: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = |usual| arguments.next().and_then(|n| n.parse().ok()).unwrap_or(usual);
        match argument.as_str() {
            "--bench" => {} // cargo adds it
            "--seeds" => asked.seeds = number(asked.seeds),
            "--runs" => asked.runs = number(asked.runs),
            name => asked.programs.push(name.to_owned()),
        }
    }
    match table(&asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("bugs: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// What came of one strategy on one program: the failing run with each seed that found it.
type Cell = Vec<u64>;

fn table(asked: &Asked) -> Result<(), String> {
    let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("bugs"));
    kit.limits.wait_ms_max *= 20;
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/explore");
    let mut fixtures = Fixture::all(&programs)?;
    fixtures.retain(|fixture| asked.programs.is_empty() || asked.programs.contains(&fixture.name));
    println!("Seeds 1 to {}, at most {} runs.\n", asked.seeds, asked.runs);
    println!("| program | {} |", STRATEGIES.join(" | "));
    println!("|---{}|", "|---".repeat(STRATEGIES.len()));
    let mut rows = Vec::new();
    for fixture in &fixtures {
        let row = row(&kit, fixture, asked)?;
        println!(
            "| {} | {} |",
            fixture.name,
            row.iter().map(|cell| words(cell, asked.seeds)).collect::<Vec<_>>().join(" | ")
        );
        rows.push(row);
    }
    let all = |strategy: usize| rows.iter().filter(|row| row[strategy].len() as u64 == asked.seeds).count();
    let counts: Vec<String> = (0..STRATEGIES.len()).map(|it| format!("{} of {}", all(it), rows.len())).collect();
    println!("| found with every seed | {} |", counts.join(" | "));
    Ok(())
}

/// All strategies and seeds of one program, as many at once as there are processors.
fn row(kit: &Kit, fixture: &Fixture, asked: &Asked) -> Result<Vec<Cell>, String> {
    let program = kit.compile(fixture)?;
    let left = Mutex::new((0..STRATEGIES.len()).flat_map(|it| (1..=asked.seeds).map(move |seed| (it, seed))));
    let cells = Mutex::new(vec![Cell::new(); STRATEGIES.len()]);
    let work = || -> Result<(), String> {
        while let Some((strategy, seed)) = left.lock().map_err(|e| e.to_string())?.next() {
            let word = STRATEGIES[strategy];
            let dir = kit.scratch(&format!("{}-{word}-{seed}", fixture.name))?;
            let mut explore = kit.retake(&dir);
            explore.args(["explore", "-j", "1", "--json", "--no-shrink", "-o", "take", "--strategy", word]);
            explore.args(["--seed", &seed.to_string(), "--runs", &asked.runs.to_string(), "--"]).arg(&program);
            let made = run(&mut explore, &dir, kit.limits)?;
            let told: Value = serde_json::from_slice(&made.stdout).map_err(|e| format!("{e}: {}", made.stderr))?;
            if let Some(number) = told["failures"][0]["run"].as_u64() {
                cells.lock().map_err(|e| e.to_string())?[strategy].push(number);
            }
            let _ = std::fs::remove_dir_all(dir);
        }
        Ok(())
    };
    let many = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..many).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker ended".to_owned())?)
    })?;
    cells.into_inner().map_err(|e| e.to_string())
}

/// `12`, or `412 (17 of 20)`, or `-`.
fn words(cell: &Cell, seeds: u64) -> String {
    let found = cell.len() as u64;
    let mean = cell.iter().sum::<u64>() as f64 / found.max(1) as f64;
    match found {
        0 => "-".into(),
        found if found == seeds => format!("{mean:.0}"),
        found => format!("{mean:.0} ({found} of {seeds})"),
    }
}
