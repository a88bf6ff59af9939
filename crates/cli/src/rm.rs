//! `retake rm`: remove takes. Only files that a take has are ever removed.

use crate::Ending;
use crate::checkpoints;
use crate::session::Mapped;
use crate::status::{Context, Failure, Result, Status};
use crate::store::{FOREIGN_MARK, Store};
use crate::take::{Origin, files};
use retake_tape::copy::ENDING as COPY_ENDING;
use retake_tape::session::{FILE as SESSION, NEXT_PART_ENDING, PART_ENDING, RICH_ENDING, TALK_ENDING, TAPE_ENDING};
use retake_tape::settled;
use std::fs;
use std::path::Path;

#[derive(clap::Args)]
pub struct Args {
    /// Names, unique prefixes or directories; `latest` for the newest
    #[arg(required = true)]
    takes: Vec<String>,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    for word in &args.takes {
        let (dir, origin) = store.find(word)?;
        if origin == Origin::Packed {
            return Err(Failure::own(format!("{word} is a packed take")).next(format!("rm {word}")));
        }
        if Mapped::in_use(&dir.join(SESSION)) {
            return Err(Failure::own(format!("{word} is still being recorded")).next("retake ls"));
        }
        remove(&dir)?;
    }
    Ok(Ending::Status(Status::Fine))
}

/// Removes the take in `dir`, and what sleeps for it.
pub fn remove(dir: &Path) -> Result<()> {
    checkpoints::end_all(dir);
    let words = || format!("cannot remove {}", dir.display());
    let mut all = Vec::new();
    for ending in [TAPE_ENDING, PART_ENDING, RICH_ENDING, TALK_ENDING, NEXT_PART_ENDING, COPY_ENDING, ".so"] {
        all.extend(files(dir, ending)?);
    }
    all.extend(
        [SESSION, FOREIGN_MARK, ".take.json.new", crate::lines::FILE, settled::FILE, crate::facts::FILE]
            .map(|name| dir.join(name)),
    );
    for path in all {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error).because(words),
            _ => {}
        }
    }
    fs::remove_dir(dir).because(words)
}
