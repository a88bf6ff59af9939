//! The source lines of a developed take, kept beside it in `lines.json`.
//!
//! Rich tapes hold addresses. What lies there is in the program's debug information, which is gone once the program has
//! been built anew or the take has gone elsewhere. So it is looked up when the take is developed: `show`, `check` and the
//! report of a divergence still know the lines that were recorded.

use crate::symbols::{Kept, Symbols};
use crate::take::Take;
use retake_tape::reader::Tape;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub const FILE: &str = "lines.json";

/// Symbols of the recorded addresses of the take in `dir`.
pub fn symbols(dir: &Path, tapes: &[Tape]) -> Symbols {
    let mut symbols = Symbols::new(tapes);
    let kept = fs::read(dir.join(FILE)).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
    if let Some(kept) = kept {
        symbols.recall(kept);
    }
    symbols
}

/// Keeps the lines of `take`, whose rich tapes are `rich`, unless they are kept already. A take that cannot be written
/// has its lines as long as the program is there.
pub fn keep(take: &Take, rich: &[Tape]) {
    let path = take.dir.join(FILE);
    let (false, Ok(tapes)) = (path.exists(), take.tapes()) else { return };
    let mut symbols = Symbols::new(&tapes);
    for tape in rich {
        let (process, mut calls, mut objects) = (tape.name(), BTreeSet::new(), BTreeSet::new());
        for thread in &tape.threads {
            let mut payload = tape.payload(thread);
            while let Ok(Some(note)) = payload.next_rich() {
                calls.extend(note.pcs);
                objects.insert(note.object);
            }
        }
        let recorded = tapes.iter().filter(|light| light.name() == process).flat_map(|light| &light.threads);
        for thread in recorded {
            calls.extend(thread.header.pcs);
            symbols.place(&process, thread.header.start);
        }
        calls.into_iter().for_each(|pc| drop(symbols.call(&process, pc)));
        objects.into_iter().for_each(|object| drop(symbols.variable(&process, object)));
    }
    let fresh = take.dir.join(format!(".{FILE}"));
    let written = serde_json::to_vec(&symbols.kept()).map_err(std::io::Error::from).and_then(|bytes| {
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?.write_all(&bytes)?;
        fs::rename(&fresh, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
}
