//! What following a schedule costs, as a table of its own.
//!
//! The speed test of P-Rep's thesis, 40 thousand file operations in four threads: the ratio to the bare program. Two
//! threads at one lock, which do nothing else, and producers and consumers, who change at every few steps: time a step.
//!
//! Each round runs the bare program, records it, and follows that recording's own schedule. Both programs tell their time.

use crate::run::{self, Outcome, Place};

pub fn table(place: &Place, rounds: usize) -> Result<(), String> {
    println!("\n| schedule followed | steps | bare | follow | added a step |");
    println!("|---|---|---|---|---|");
    // The first tells the time of the whole run, the second that of an operation of one thread.
    row(place, "files", &["10000"], 1.0, rounds)?;
    row(place, "locks", &["shared", "20000", "2"], 20000.0, rounds)?;
    row(place, "locks", &["queue", "2000", "4"], 2000.0, rounds)
}

fn row(place: &Place, program: &str, arguments: &[&str], told_times: f64, rounds: usize) -> Result<(), String> {
    let path = place.program(program);
    let command = [&[path.as_str()], arguments].concat();
    let told = |outcome: &Outcome| outcome.told_ns.map(|ns| ns * told_times).ok_or("no time told".to_string());
    let (mut bare, mut ratios, mut added, mut steps) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        let alone = told(&place.bare(&command)?)?;
        place.record(&command)?;
        let (schedule, length) = place.schedule()?;
        let followed = told(&place.follow(&schedule, &command)?)?;
        steps = length;
        bare.push(alone);
        ratios.push(followed / alone);
        added.push((followed - alone) / length as f64);
    }
    println!(
        "| {program} {} | {steps} | {:.1} ms | {:.3} | {:.2} µs |",
        arguments.join(" "),
        run::median(bare) / 1e6,
        run::median(ratios),
        run::median(added) / 1e3,
    );
    Ok(())
}
