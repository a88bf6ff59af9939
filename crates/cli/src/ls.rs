//! `retake ls`: the takes in the store, newest first.

use crate::Ending;
use crate::facts::Ended;
use crate::session::Mapped;
use crate::status::{Result, Status, say};
use crate::store::{Store, disk_size};
use crate::words;
use retake_tape::session::FILE as SESSION;
use serde_json::json;

#[derive(clap::Args)]
pub struct Args {
    /// JSON, one object a line
    #[arg(long)]
    json: bool,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let takes = store.list();
    if takes.is_empty() && !args.json {
        say(format_args!("there is no take in {} yet", store.root.display()));
        say("next: retake record -- CMD · retake demo");
    }
    for (name, facts) in takes {
        let dir = store.root.join(&name);
        let running = Mapped::in_use(&dir.join(SESSION));
        match facts {
            Ok(facts) if args.json => {
                let line = json!({"schema": 1, "name": name, "started_ms": facts.started_ms,
                    "duration_ms": facts.duration_ms, "ended": facts.ended, "status": facts.ended.map(Ended::code),
                    "running": running, "complete": facts.complete, "events": facts.events(),
                    "threads": facts.threads(), "processes": facts.tapes.len(), "bytes": facts.bytes(),
                    "disk_bytes": disk_size(&dir), "command": facts.command()});
                println!("{line}");
            }
            Ok(facts) => {
                let ended = match facts.ended {
                    _ if running => "running".into(),
                    Some(ended) => ended.words(),
                    None => "not sealed".into(),
                };
                println!(
                    "{name:<20} {}  {:>14}  {:>9}  {ended:<18} {}",
                    words::date(facts.started_ms),
                    words::count(facts.events(), "event"),
                    words::size(disk_size(&dir)),
                    facts.command()
                );
            }
            Err(why) if args.json => println!("{}", json!({"schema": 1, "name": name, "unusable": why})),
            Err(why) => println!("{name:<20} unusable: take.json: {why}"),
        }
    }
    Ok(Ending::Status(Status::Fine))
}
