//! How many runs a second exploring makes, on one core, of a program with twenty operations on locks.
//!
//! Each round starts the bare program [`STARTS`] times, then explores it. The last column is how much faster that is than
//! a shell loop could be that does nothing but start the program.

use crate::run::{self, Place};
use std::process::Command;
use std::time::Instant;

const STARTS: u32 = 100;
const RUNS: u32 = 2000;

pub fn table(place: &Place, rounds: usize) -> Result<(), String> {
    println!("\n| explored, one run at a time | runs a second | starts of the bare program a second | ratio |");
    println!("|---|---|---|---|");
    let locks = place.program("locks");
    let twenty = [&[locks.as_str()][..], &TWENTY].concat();
    for strategy in ["random", "pct", "portfolio"] {
        let (mut explored, mut started, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let starts = a_second(STARTS, || (0..STARTS).try_for_each(|_| place.bare(&twenty).map(|_| ())))?;
            let runs = a_second(RUNS, || explore(place, strategy, &twenty))?;
            explored.push(runs);
            started.push(starts);
            ratios.push(runs / starts);
        }
        let [explored, started, ratio] = [explored, started, ratios].map(run::median);
        println!("| {strategy} | {explored:.0} | {started:.0} | {ratio:.1} |");
    }
    Ok(())
}

/// Two threads, five times lock and unlock each.
const TWENTY: [&str; 3] = ["shared", "5", "2"];

fn explore(place: &Place, strategy: &str, program: &[&str]) -> Result<(), String> {
    let mut command = Command::new(&place.retake);
    command.args(["explore", "-j", "1", "--runs", &RUNS.to_string(), "--strategy", strategy, "--"]).args(program);
    let done = command.output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() { Ok(()) } else { Err(said.into_owned()) }
}

fn a_second(many: u32, work: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    let start = Instant::now();
    work()?;
    Ok(f64::from(many) / start.elapsed().as_secs_f64())
}
