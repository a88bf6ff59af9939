//! What tracing messages costs, method by method: `cargo bench -p retake-cli --bench tracing -- [PROGRAM…] [--rounds N]`.
//!
//! Each program of `examples/talk` is recorded with each method, from 2 to 64 participants. A round runs all methods one
//! after the other, so that whatever else the machine does falls on all alike. The median of the rounds' times is printed,
//! and of one recording the receives, those that are traced, the bytes of all parts, and the bytes that stamps add to a
//! message. Executions differ from run to run; the fewest possible is that of the execution that was recorded with `all`.

use retake_tape::part::{Line, fact};
use retake_tape::reader::Tape;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const PROGRAMS: [&str; 4] = ["farm", "ring", "pool", "gossip"];
const METHODS: [&str; 6] = ["all", "netzer-miller", "b", "front", "window=16", "a"];
const SIZES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Receives of each participant, roughly.
const MESSAGES: usize = 400;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let rounds = words.iter().skip_while(|word| *word != "--rounds").nth(1).and_then(|word| word.parse().ok());
    let chosen =
        |name: &&str| words.iter().all(|word| !PROGRAMS.contains(&word.as_str())) || words.contains(&(*name).into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder").to_owned();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "-p", "retake", "--examples"]).arg("--target-dir").arg(&target);
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status();
    assert!(built.is_ok_and(|status| status.success()), "the examples do not build");
    println!(
        "| program | participants | method | receives | traced | fewest | bytes on tape | bytes a message | time |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for name in PROGRAMS.into_iter().filter(chosen) {
        for size in SIZES {
            let program = target.join(format!("release/examples/talk-{name}"));
            table(name, &program, size, rounds.unwrap_or(5));
        }
    }
}

fn table(name: &str, program: &Path, size: usize, rounds: usize) {
    let take = |method: &str| std::env::temp_dir().join(format!("retake-messages-{}-{method}", std::process::id()));
    let mut times = vec![Vec::new(); METHODS.len()];
    let mut kept: Vec<Option<Kept>> = METHODS.iter().map(|_| None).collect();
    let mut fewest = String::new();
    for _ in 0..rounds {
        for (at, method) in METHODS.iter().enumerate() {
            let (time, recorded) = record(program, size, method, &take(method));
            times[at].push(time);
            kept[at].get_or_insert(recorded);
            if *method == "all" && fewest.is_empty() {
                fewest = fewest_possible(&take(method));
            }
            let _ = std::fs::remove_dir_all(take(method));
        }
    }
    for (at, method) in METHODS.iter().enumerate() {
        let Some(kept) = &kept[at] else { continue };
        times[at].sort_by(f64::total_cmp);
        let (time, all) = (times[at][rounds / 2], times[0][rounds / 2]);
        println!(
            "| {name} | {size} | {method} | {} | {} | {fewest} | {} | {:.1} | {:.3} s ({:.2}) |",
            kept.receives,
            kept.traced,
            kept.tape,
            kept.stamps[1] as f64 / kept.stamps[0].max(1) as f64,
            time,
            time / all,
        );
    }
}

/// What a take holds.
#[derive(Default)]
struct Kept {
    receives: usize,
    traced: usize,
    tape: u64,
    /// How many, and their bytes.
    stamps: [u64; 2],
}

fn record(program: &Path, size: usize, method: &str, take: &Path) -> (f64, Kept) {
    let started = Instant::now();
    let mut retake = Command::new(env!("CARGO_BIN_EXE_retake"));
    retake.args(["record", "-q", "--trace", method, "-o"]).arg(take).arg("--").arg(program);
    let output = retake.args([size.to_string(), MESSAGES.to_string()]).output().expect("retake starts");
    let time = started.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let receives = text.lines().filter_map(|line| line.split(' ').nth(1)?.parse::<usize>().ok()).sum();
    let mut kept = Kept { receives, ..Kept::default() };
    for path in parts(take) {
        let tape = Tape::new(std::fs::read(path).expect("a part")).expect("a good part");
        kept.tape += tape.bytes_used();
        let mut payload = tape.payload(&tape.threads[0]);
        while let Ok(Some((_, line))) = payload.next_line() {
            match line {
                Line::Received { .. } | Line::Late { .. } => kept.traced += 1,
                Line::Fact(fact::STAMPS, bytes) => {
                    let number = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                    kept.stamps = [kept.stamps[0] + number(0), kept.stamps[1] + number(8)];
                }
                _ => {}
            }
        }
    }
    (time, kept)
}

fn parts(take: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(take).expect("a take").map(|file| file.expect("a file").path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "part")).collect()
}

fn fewest_possible(take: &Path) -> String {
    let mut retake = Command::new(env!("CARGO_BIN_EXE_retake"));
    let output = retake.args(["optimize", "--dry-run"]).arg(take).output().expect("retake starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.starts_with("fewest")).unwrap_or("? ?").to_owned();
    line.split_whitespace().nth(2).unwrap_or("?").into()
}
