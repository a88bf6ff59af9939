//! What recording and replaying an MPI job costs: `cargo bench -p retake-cli --bench mpi -- [NAME…] [--rounds N] [--mpich]`.
//!
//! Four ranks. `wildcard`: nothing but receives from anyone. `transport`: a small Monte-Carlo transport with
//! `MPI_Testsome`. `stencil`: a grid whose neighbours are known. Each round runs the bare job, its recording and the
//! replay of that one after the other; printed is the median of the rounds' ratios. The job tells its own time, between two
//! barriers, by a clock that Retake does not see, so that starting the ranks does not count; that is a column of its own,
//! in seconds, bare and recorded.
//!
//! Bytes a receive are the slope between a short recording and a long one: what a take holds besides (its modules, say)
//! does not count.

#[allow(dead_code)] // following a schedule: only `bench.rs` measures that
mod run;

use retake_testkit::MPI_VARIABLES;
use run::{Outcome, Place};
use std::path::Path;
use std::process::ExitCode;

/// Each with how much of it is run; a tenth of that is the short recording.
const WORKLOADS: [(&str, u64); 3] = [("wildcard", 100_000), ("transport", 4_000), ("stencil", 4_000)];

/// What one run told.
struct Told {
    receives: f64,
    ns: f64,
    /// Of the launcher and the ranks, from start to end.
    cpu_ns: f64,
    /// Starting and ending.
    around_ns: f64,
}

fn told(outcome: &Outcome) -> Result<Told, String> {
    let receives =
        outcome.stderr.lines().find_map(|line| line.strip_prefix("receives ")?.split(' ').next()?.parse().ok());
    let found = receives.zip(outcome.told_ns).map(|(receives, ns)| Told {
        receives,
        ns,
        cpu_ns: outcome.cpu_ns,
        around_ns: outcome.wall_ns - ns,
    });
    found.ok_or_else(|| format!("nothing told: {}", outcome.stderr.trim()))
}

fn main() -> ExitCode {
    let (mut wanted, mut rounds, mut library) = (Vec::new(), 11, "openmpi");
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {} // cargo adds it
            "--mpich" => library = "mpich",
            "--rounds" => rounds = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(rounds),
            name => wanted.push(name.to_string()),
        }
    }
    let retake = Path::new(env!("CARGO_BIN_EXE_retake"));
    let place = match Place::new(retake, &format!("mpicc.{library}"), &["benches/mpi.c"], &MPI_VARIABLES) {
        Ok(place) => place,
        Err(problem) => {
            eprintln!("bench: {problem}");
            return ExitCode::FAILURE;
        }
    };
    println!("{rounds} interleaved rounds, medians; {library}, 4 ranks. {}\n", run::machine());
    println!(
        "| workload | receives | bare | record | replay | CPU record | CPU replay | start and end | bytes/receive | same |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut all_same = true;
    for (name, many) in WORKLOADS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name)) {
        match measure(&place, &format!("mpirun.{library}"), name, *many, rounds) {
            Ok((row, same)) => {
                println!("{row}");
                all_same &= same;
            }
            Err(problem) => {
                println!("| {name} | {problem} | | | | | | | | |");
                all_same = false;
            }
        }
    }
    if all_same { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the rounds of one workload; returns its row, and whether every replay said what was recorded.
fn measure(place: &Place, mpirun: &str, name: &str, many: u64, rounds: usize) -> Result<(String, bool), String> {
    if run::find(mpirun).is_none() {
        return Err(format!("not installed: {mpirun}"));
    }
    let (program, many, few) = (place.program("mpi"), many.to_string(), (many / 10).to_string());
    let command = |many| [mpirun, "-np", "4", program.as_str(), name, many];
    let short = told(&place.record(&command(&few))?)?;
    let (_, short_bytes) = place.sizes()?;
    let (mut all, mut slope, mut same) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        let plain = told(&place.bare(&command(&many))?)?;
        let recorded = place.record(&command(&many))?;
        let (_, bytes) = place.sizes()?;
        let replayed = place.replay()?;
        same += usize::from(recorded.output == replayed.output && recorded.status == replayed.status);
        let long = told(&recorded)?;
        slope.push((bytes as f64 - short_bytes as f64) / (long.receives - short.receives));
        all.push((plain, long, told(&replayed)?));
    }
    let of = |pick: fn(&(Told, Told, Told)) -> f64| run::median(all.iter().map(pick).collect());
    let row = format!(
        "| {name} | {} | {:.2} s | {:.2} | {:.2} | {:.2} | {:.2} | {:.2}, {:.2} | {:.3} | {same}/{rounds} |",
        of(|(_, record, _)| record.receives),
        of(|(bare, ..)| bare.ns) / 1e9,
        of(|(bare, record, _)| record.ns / bare.ns),
        of(|(bare, _, replay)| replay.ns / bare.ns),
        of(|(bare, record, _)| record.cpu_ns / bare.cpu_ns),
        of(|(bare, _, replay)| replay.cpu_ns / bare.cpu_ns),
        of(|(bare, ..)| bare.around_ns / 1e9),
        of(|(_, record, _)| record.around_ns / 1e9),
        run::median(slope),
    );
    Ok((row, same == rounds))
}
