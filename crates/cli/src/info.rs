//! `retake info`: what is known of one take.

use crate::Ending;
use crate::facts::{Ended, Variable};
use crate::messages;
use crate::status::{Result, Status};
use crate::store::{Store, disk_size};
use crate::words;
use retake_tape::reader::Thread;
use retake_tape::session::RICH_ENDING;
use serde_json::json;
use std::path::Path;

/// A server may have had thousands; `--json` lists all.
const THREADS_SHOWN: usize = 50;

#[derive(clap::Args)]
pub struct Args {
    /// Which take: a name, a unique prefix, a directory, a packed file
    #[arg(default_value = "latest")]
    take: String,
    /// For programs to read
    #[arg(long)]
    json: bool,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let take = store.take(&args.take)?;
    let tapes = take.tapes()?;
    let facts = &take.facts;
    let developed = !crate::take::files(&take.dir, RICH_ENDING)?.is_empty();
    let omitted: Vec<String> = facts
        .environment
        .iter()
        .filter_map(|variable| match variable {
            Variable::Omitted { omitted, .. } => Some(omitted.os().to_string_lossy().into_owned()),
            Variable::Kept(_) => None,
        })
        .collect();
    let lossy = |text: &crate::facts::Text| text.os().to_string_lossy().into_owned();
    if args.json {
        let processes: Vec<_> = tapes
            .iter()
            .map(|tape| {
                let received = messages::received(tape);
                let thread = |thread: &Thread| {
                    json!({"name": thread.name, "number": thread.header.number, "events": thread.events(),
                        "receives_from_anyone": received.get(&thread.header.number).map_or(0, |all| all.len())})
                };
                let threads: Vec<_> = tape.threads.iter().map(thread).collect();
                json!({"name": tape.name(), "pid": tape.header.pid, "events": tape.events(),
                    "bytes": tape.bytes_used(), "threads": threads})
            })
            .collect();
        let all = json!({
            "schema": 1, "name": facts.name, "directory": take.dir.to_string_lossy(),
            "command": facts.argv.iter().map(lossy).collect::<Vec<_>>(), "cwd": lossy(&facts.cwd),
            "executable": lossy(&facts.exe), "executable_id": facts.exe_id, "host": facts.host,
            "started_ms": facts.started_ms, "duration_ms": facts.duration_ms,
            "ended": facts.ended, "status": facts.ended.map(Ended::code),
            "events": facts.events(), "threads": facts.threads(), "processes": facts.tapes.len(),
            "bytes": facts.bytes(), "disk_bytes": disk_size(&take.dir),
            "rich": facts.rich, "serial": facts.serial, "developed": developed, "aslr_off": facts.aslr_off,
            "format": facts.format, "retake": facts.retake, "stdin": facts.stdin,
            "omitted_environment": omitted, "trusted": store.trusts(&take), "process_list": processes,
        });
        println!("{all}");
        return Ok(Ending::Status(Status::Fine));
    }
    let row = |name: &str, value: String| println!("{name:<12}{value}");
    row("take", facts.name.clone());
    row("directory", take.dir.display().to_string());
    row("command", facts.command());
    row("in", Path::new(&facts.cwd.os()).display().to_string());
    row(
        "when",
        format!("{}, for {}", words::date(facts.started_ms), facts.duration_ms.map_or("?".into(), words::duration)),
    );
    row("ended", facts.ended.map_or("unknown: the recorder was killed".into(), Ended::words));
    row("recorded", crate::record::sums(facts));
    if facts.serial {
        row("threads", "in turn (--serial)".into());
    }
    if let Some(job) = messages::job(&tapes) {
        row("job", job);
    }
    row("on disk", words::size(disk_size(&take.dir)));
    row("developed", if developed { "yes" } else { "no (retake show does it)" }.into());
    row("input", format!("standard input: {}", facts.stdin.kind));
    if !omitted.is_empty() {
        row("left out", format!("values of {}", omitted.join(", ")));
    }
    if let Some(words) = crate::report::changed_program(facts) {
        row("note", words);
    }
    for tape in &tapes {
        println!();
        let state = tape.header.state.load(std::sync::atomic::Ordering::Relaxed);
        println!("process {} (id {}): {}", tape.name(), tape.header.pid, words::process_end(state, &tape.header));
        let received = messages::received(tape);
        for thread in tape.threads.iter().take(THREADS_SHOWN) {
            let from_anyone = match received.get(&thread.header.number) {
                Some(all) => format!(", {} from anyone", words::count(all.len() as u64, "receive")),
                None => String::new(),
            };
            println!("  thread {:<10} {}{from_anyone}", thread.name, words::count(thread.events(), "event"));
        }
        if tape.threads.len() > THREADS_SHOWN {
            println!("  and {} more", words::count((tape.threads.len() - THREADS_SHOWN) as u64, "thread"));
        }
    }
    Ok(Ending::Status(Status::Fine))
}
