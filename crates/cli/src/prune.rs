//! `retake prune`: keep the store small. Old takes go first; those of programs that failed go last.

use crate::Ending;
use crate::facts::Ended;
use crate::record::now_ms;
use crate::session::Mapped;
use crate::status::{Result, Status, say};
use crate::store::{Store, disk_size};
use crate::{rm, words};
use retake_tape::session::FILE as SESSION;

const TAKES_MAX: usize = 100;
const BYTES_MAX: u64 = 1_000_000_000;
const DAYS_MAX: u64 = 30;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[derive(clap::Args)]
pub struct Args {
    /// Keep at most so many takes
    #[arg(long, value_name = "N", default_value_t = TAKES_MAX)]
    takes: usize,
    /// Keep at most so many megabytes
    #[arg(long, value_name = "MB", default_value_t = BYTES_MAX / 1_000_000)]
    megabytes: u64,
    /// Keep takes for so many days
    #[arg(long, value_name = "N", default_value_t = DAYS_MAX)]
    days: u64,
    /// Only say what would go
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// What is known of a take when it is decided whether it goes.
#[derive(Clone, Debug)]
struct Candidate {
    name: String,
    started_ms: u64,
    bytes: u64,
    failed: bool,
}

struct Limits {
    takes: usize,
    bytes: u64,
    age_ms: u64,
}

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let limits = Limits {
        takes: args.takes,
        bytes: args.megabytes.saturating_mul(1_000_000),
        age_ms: args.days.saturating_mul(DAY_MS),
    };
    let all = candidates(&store, "");
    let go = superfluous(all, &limits, now_ms());
    let bytes = go.iter().map(|take| take.bytes).sum();
    for take in &go {
        println!("{}", take.name);
        if !args.dry_run {
            rm::remove(&store.root.join(&take.name))?;
        }
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    say(format_args!("{} ({}) {verb}", words::count(go.len() as u64, "take"), words::size(bytes)));
    Ok(Ending::Status(Status::Fine))
}

/// To look at all takes takes longer than a short recording: it is done once for so many takes, and for each large one.
const LOOK_EVERY: usize = 16;
const LARGE: u64 = BYTES_MAX / 100;

/// What `record` does by itself once the store is over its limits; never touches `keep`.
pub fn tidy(store: &Store, keep: &str) {
    if !store.count().is_multiple_of(LOOK_EVERY) && disk_size(&store.root.join(keep)) < LARGE {
        return;
    }
    let limits = Limits { takes: TAKES_MAX, bytes: BYTES_MAX, age_ms: DAYS_MAX * DAY_MS };
    for take in superfluous(candidates(store, keep), &limits, now_ms()) {
        let _ = rm::remove(&store.root.join(&take.name));
    }
}

fn candidates(store: &Store, keep: &str) -> Vec<Candidate> {
    let still = |name: &str| name == keep || Mapped::in_use(&store.root.join(name).join(SESSION));
    store
        .list()
        .into_iter()
        .filter(|(name, _)| !still(name))
        .filter_map(|(name, facts)| {
            let (facts, bytes) = (facts.ok()?, disk_size(&store.root.join(&name)));
            let failed = facts.ended != Some(Ended::Exit(0));
            Some(Candidate { name, started_ms: facts.started_ms, bytes, failed })
        })
        .collect()
}

/// Those that go: older than the limit, then, while there are too many or too much, passing before failing, old first.
fn superfluous(mut all: Vec<Candidate>, limits: &Limits, now_ms: u64) -> Vec<Candidate> {
    all.sort_by_key(|take| (take.failed, take.started_ms));
    let mut count = all.len();
    let mut bytes: u64 = all.iter().map(|take| take.bytes).sum();
    let mut go = Vec::new();
    let old = |take: &Candidate| now_ms.saturating_sub(take.started_ms) > limits.age_ms;
    let (aged, young): (Vec<_>, Vec<_>) = all.into_iter().partition(old);
    for take in aged {
        (count, bytes) = (count - 1, bytes - take.bytes);
        go.push(take);
    }
    for take in young {
        if count > limits.takes || bytes > limits.bytes {
            (count, bytes) = (count - 1, bytes - take.bytes);
            go.push(take);
        }
    }
    go
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(name: &str, started_ms: u64, bytes: u64, failed: bool) -> Candidate {
        Candidate { name: name.into(), started_ms, bytes, failed }
    }

    fn names(all: Vec<Candidate>, limits: &Limits) -> Vec<String> {
        superfluous(all, limits, 1000).into_iter().map(|take| take.name).collect()
    }

    #[test]
    fn failing_takes_go_last() {
        let all = || vec![take("fail", 10, 5, true), take("pass", 20, 5, false), take("new", 30, 5, false)];
        assert_eq!(names(all(), &Limits { takes: 2, bytes: 100, age_ms: 2000 }), ["pass"]);
        assert_eq!(names(all(), &Limits { takes: 1, bytes: 100, age_ms: 2000 }), ["pass", "new"]);
        assert_eq!(names(all(), &Limits { takes: 9, bytes: 4, age_ms: 2000 }), ["pass", "new", "fail"]);
        assert_eq!(names(all(), &Limits { takes: 9, bytes: 100, age_ms: 975 }), ["pass", "fail"]);
        assert!(names(all(), &Limits { takes: 3, bytes: 15, age_ms: 2000 }).is_empty());
    }
}
