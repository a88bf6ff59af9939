//! Random programs, each made from a seed: recorded once, replayed twice, the same output and the same end.
//!
//! `RETAKE_STRESS_SEEDS=1000` says how many (100 otherwise), `RETAKE_STRESS_FROM=7` where to begin, `RETAKE_STRESS_LOAD=1`
//! keeps every processor busy meanwhile, so that threads are interrupted in odd places.

use retake_testkit::{Fixture, Kit};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

const REPLAYS: u32 = 2;

#[test]
fn random_programs_come_back() {
    come_back("stress", &[]);
}

#[test]
fn random_signals_come_back() {
    come_back("stress_signals", &[]);
}

#[test]
fn random_races_come_back_in_turn() {
    come_back("stress_races", &["--serial"]);
}

#[test]
fn random_programs_come_back_in_turn() {
    come_back("stress", &["--serial"]);
}

#[test]
fn random_signals_come_back_in_turn() {
    come_back("stress_signals", &["--serial"]);
}

/// Records with those flags.
fn come_back(name: &str, flags: &'static [&'static str]) {
    let seeds = setting("RETAKE_STRESS_SEEDS", 100);
    let from = setting("RETAKE_STRESS_FROM", 1);
    let load = Load::start(if setting("RETAKE_STRESS_LOAD", 0) > 0 { processors() } else { 0 });
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}{}", flags.concat()));
    let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), folder);
    kit.flags = flags;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/programs/{name}.c"));
    let program = kit.compile(&Fixture::load(&source).unwrap()).unwrap();
    let mut failures = Vec::new();
    for seed in from..from + seeds {
        let scratch = kit.scratch(&format!("seed-{seed}")).unwrap();
        match kit.record_and_replay(&program, &[seed.to_string()], &scratch, REPLAYS, Some(0)) {
            Ok(()) => fs::remove_dir_all(&scratch).unwrap(),
            Err(error) => {
                // At once, and beside the take: whoever ends the test early still knows.
                let failure = format!("seed {seed}: {error}");
                eprintln!("{failure}");
                fs::write(scratch.join("failure"), &failure).unwrap();
                failures.push(failure);
            }
        }
    }
    drop(load);
    let count = failures.len();
    assert!(count == 0, "{count} of {seeds} seeds did not come back:\n\n{}", failures.join("\n\n"));
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Threads that keep processors busy until it is dropped.
struct Load {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(count: usize) -> Load {
        let over = Arc::new(AtomicBool::new(false));
        let busy = || {
            let over = over.clone();
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..count).map(|_| busy()).collect();
        Load { over, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
