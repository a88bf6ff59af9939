//! What recording and replaying cost, against the bare program: `cargo bench --bench bench -- [NAME…] [--rounds N] [--busy N] [--serial]`.
//!
//! A NAME is a group (`micro`, `examples`, `real`, `scale`, `follow`, `explore`) or a workload (`shared`, `pigz`, …); without one, every group
//! runs but `scale`. Each round runs the bare program, its recording and the replay of that recording one after the other, so that
//! whatever else the machine does falls on all three alike; what is printed is the median of the rounds' ratios, as a
//! table in markdown. Every replay's output is compared with what was recorded: a fast wrong replay is no result.
//!
//! Micro benchmarks tell their own time per operation (`locks.c`); for the rest it is the wall clock around the process.
//! Nothing is installed here: a program that is missing is named in its row. With `--busy`, so many threads of ours keep the
//! processors busy meanwhile; with `--serial`, threads are recorded in turn.

mod explore;
mod follow;
mod load;
mod run;

use run::{Outcome, Place};
use std::path::Path;
use std::process::ExitCode;

/// One row of the table.
pub struct Workload {
    group: &'static str,
    name: String,
    /// What is run; `{input}` stands for the 48 MB of text that the compressors read, `{benches}` for this folder.
    command: Vec<String>,
    /// The program writes its own nanoseconds per operation on standard error.
    self_timed: bool,
}

/// The ratios of one round, each to the bare program of the same round.
struct Round {
    bare: f64,
    record: f64,
    replay: f64,
    cpu_record: f64,
    cpu_replay: f64,
}

const MICRO: &[(&str, &str)] = &[
    ("private1", "private 20000000 1"),
    ("private2", "private 20000000 2"),
    ("shared", "shared 5000000 2"),
    ("random1024", "random 10000000 2 1024"),
    ("queue", "queue 300000 4"),
    ("create", "create 3000"),
];

/// Does the cost of an event grow with the number of objects, threads or events?
const SCALE: &[(&str, &str)] = &[
    ("objects 1,024", "random 5000000 2 1024"),
    ("objects 65,536", "random 5000000 2 65536"),
    ("objects 1,048,576", "random 5000000 2 1048576"),
    ("threads 10", "private 2000000 10"),
    ("threads 100", "private 200000 100"),
    ("threads 1,000", "private 20000 1000"),
    ("events 10^7", "private 10000000 1"),
    ("events 10^8", "private 100000000 1"),
    ("events 10^9", "private 1000000000 1"),
];

const REAL: &[(&str, &str)] = &[
    ("pigz", "pigz -p2 -c {input}"),
    ("pbzip2", "pbzip2 -p2 -k -c {input}"),
    ("xz", "xz -T2 -0 -k -c {input}"),
    ("zstd", "zstd -T2 -5 -q -c {input}"),
    ("python3", "/usr/bin/python3 {benches}/threads.py"),
];

fn main() -> ExitCode {
    let (mut wanted, mut rounds, mut flags) = (Vec::new(), 11, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {} // cargo adds it
            "--rounds" => rounds = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(rounds),
            "--busy" => (0..arguments.next().and_then(|n| n.parse().ok()).unwrap_or(0)).for_each(|_| {
                std::thread::spawn(|| {
                    loop {
                        std::hint::black_box(0);
                    }
                });
            }),
            "--serial" => flags.push(argument),
            name => wanted.push(name.to_string()),
        }
    }
    let sources = ["benches/locks.c", "examples/knights_tour.c", "examples/gauss.c", "tests/programs/follow/files.c"];
    let place = Place::new(Path::new(env!("CARGO_BIN_EXE_retake")), "cc", &sources, &[]).and_then(|place| {
        std::fs::write(input(&place), text(48 << 20)).map_err(|e| e.to_string())?;
        Ok(place)
    });
    let mut place = match place {
        Ok(place) => place,
        Err(problem) => {
            eprintln!("bench: {problem}");
            return ExitCode::FAILURE;
        }
    };
    place.flags = flags;
    println!("{rounds} interleaved rounds, medians. {}\n", run::machine());
    println!(
        "| workload | bare | record | replay | replay/record | CPU record | CPU replay | events | bytes/event | same |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut all_same = true;
    for workload in workloads(&place).iter().filter(|w| is_wanted(&wanted, w)) {
        match measure(&place, workload, rounds) {
            Ok((row, same)) => {
                println!("{row}");
                all_same &= same;
            }
            Err(problem) => {
                println!("| {} | {problem} | | | | | | | | |", workload.name);
                all_same = false;
            }
        }
    }
    if wanted.is_empty() || wanted.iter().any(|w| w == "real" || w == "memcached") {
        match load::memcached(&place, rounds) {
            Ok(row) => println!("{row}"),
            Err(problem) => println!("| memcached | {problem} | | | | | | | | |"),
        }
    }
    type Table = fn(&Place, usize) -> Result<(), String>;
    for (name, table) in [("follow", follow::table as Table), ("explore", explore::table)] {
        if (wanted.is_empty() || wanted.iter().any(|w| w == name))
            && let Err(problem) = table(&place, rounds)
        {
            println!("| {problem} |");
            all_same = false;
        }
    }
    if all_same { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn input(place: &Place) -> String {
    place.program("input.txt")
}

fn is_wanted(wanted: &[String], workload: &Workload) -> bool {
    match wanted {
        [] => workload.group != "scale",
        names => names.iter().any(|name| name == workload.group || *name == workload.name),
    }
}

fn workloads(place: &Place) -> Vec<Workload> {
    let benches = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches");
    let filled = |word: &str| word.replace("{input}", &input(place)).replace("{benches}", benches);
    let words = |line: &str| line.split(' ').map(filled).collect::<Vec<_>>();
    let locks = |group, name: &str, line: &str| Workload {
        group,
        name: name.to_string(),
        command: [vec![place.program("locks")], words(line)].concat(),
        self_timed: true,
    };
    let whole = |group, name: &str, command| Workload { group, name: name.to_string(), command, self_timed: false };
    let mut list: Vec<Workload> = MICRO.iter().map(|(name, line)| locks("micro", name, line)).collect();
    list.extend(SCALE.iter().map(|(name, line)| locks("scale", name, line)));
    list.push(whole("examples", "knights_tour", vec![place.program("knights_tour")]));
    list.push(whole("examples", "gauss", vec![place.program("gauss")]));
    list.extend(REAL.iter().map(|(name, line)| whole("real", name, words(line))));
    if !place.flags.is_empty() {
        // Its threads race: only in turn it replays.
        list.push(whole("real", "sort", words("sort --parallel=2 -S 8M {input}")));
    }
    list
}

/// Runs the rounds of one workload; returns its row, and whether every replay said what was recorded.
fn measure(place: &Place, workload: &Workload, rounds: usize) -> Result<(String, bool), String> {
    if run::find(&workload.command[0]).is_none() {
        return Err(format!("not installed: {}", workload.command[0]));
    }
    let command: Vec<&str> = workload.command.iter().map(String::as_str).collect();
    let value = |outcome: &Outcome| match workload.self_timed {
        true => outcome.told_ns.ok_or_else(|| format!("no time told: {}", outcome.stderr.trim())),
        false => Ok(outcome.wall_ns),
    };
    place.bare(&command)?; // warms the caches, counts for nothing
    let (mut results, mut same, mut sizes) = (Vec::new(), 0, (0, 0));
    for _ in 0..rounds {
        let bare = place.bare(&command)?;
        let recorded = place.record(&command)?;
        sizes = place.sizes()?;
        let replayed = place.replay()?;
        same += usize::from(recorded.output == replayed.output && recorded.status == replayed.status);
        let bare_value = value(&bare)?;
        results.push(Round {
            bare: bare_value,
            record: value(&recorded)? / bare_value,
            replay: value(&replayed)? / bare_value,
            cpu_record: recorded.cpu_ns / bare.cpu_ns,
            cpu_replay: replayed.cpu_ns / bare.cpu_ns,
        });
    }
    let of = |pick: fn(&Round) -> f64| run::median(results.iter().map(pick).collect());
    let bare = of(|r| r.bare);
    let shown = if workload.self_timed { format!("{bare:.1} ns") } else { format!("{:.2} s", bare / 1e9) };
    let (events, bytes) = sizes;
    let row = format!(
        "| {} | {shown} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {events} | {:.3} | {same}/{rounds} |",
        workload.name,
        of(|r| r.record),
        of(|r| r.replay),
        of(|r| r.replay / r.record),
        of(|r| r.cpu_record),
        of(|r| r.cpu_replay),
        if events == 0 { 0.0 } else { bytes as f64 / events as f64 },
    );
    Ok((row, same == rounds))
}

/// Lines of made-up words, always the same, that compress about as text does.
fn text(length: usize) -> Vec<u8> {
    let mut random = 88172645463325252_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let words: Vec<Vec<u8>> =
        (0..4096).map(|_| (0..2 + next() % 9).map(|_| b'a' + (next() % 26) as u8).collect()).collect();
    let mut all = Vec::with_capacity(length + 128);
    while all.len() < length {
        for _ in 0..4 + next() % 12 {
            let rank = (next() % 4096).min(next() % 4096); // some words are commoner than others
            all.extend_from_slice(&words[rank as usize]);
            all.push(b' ');
        }
        all.push(b'\n');
    }
    all
}
