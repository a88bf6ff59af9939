//! `retake optimize`: the fewest receives that a take must know, and the take rewritten to hold no more.
//!
//! Which receives those are can be computed when the whole execution is known (`retake_trace::optimum`); a replay tells it.
//! Before anything is replaced, the new parts are written beside the old ones and read back.

use crate::Ending;
use crate::parts;
use crate::status::{Context, Failure, Result, say};
use crate::store::Store;
use crate::take::{self, Origin, Take};
use crate::talk::Talk;
use crate::words;
use retake_tape::part::{Line, fact};
use retake_tape::press::press;
use retake_tape::reader::Tape;
use retake_tape::session::PART_ENDING;
use retake_trace::graph::Cover;
use retake_trace::optimum;
use retake_trace::policy::Method;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;

#[derive(clap::Args)]
pub struct Args {
    /// Which take: a name, a unique prefix, a directory
    #[arg(default_value = "latest")]
    take: String,
    /// Only say what each method would note
    #[arg(long)]
    dry_run: bool,
    /// JSON
    #[arg(long)]
    json: bool,
    /// Run the command of a take that was not recorded here
    #[arg(long)]
    trust: bool,
}

/// What is compared.
const METHODS: [Method; 5] =
    [Method::All, Method::NetzerMiller, Method::B, Method::Front, Method::Window(retake_trace::window::WIDTH_MAX)];

pub fn main(args: Args) -> Result<Ending> {
    let store = Store::open()?;
    let take = store.take(&args.take)?;
    let label = take.label();
    if take.origin == Origin::Packed && !args.dry_run {
        return Err(Failure::own(format!("{label} is packed")).next(format!("retake unpack {label}")));
    }
    let (take, talk) = Talk::load(&store, take, args.trust)?;
    let Some(talk) = talk else {
        let what = format!("{label} has no participants: its program does not use the retake library");
        return Err(Failure::own(what).next(format!("retake show {label}")));
    };
    let least: Vec<Cover> = talk.histories.iter().map(optimum::fronts).collect();
    tell(&args, &talk, &least).because(|| "cannot print".into())?;
    if !args.dry_run {
        let (before, after) = rewrite(take, &talk, &least)?;
        if !args.json {
            say(format_args!("{label}: {} of messages before, {} now", words::size(before), words::size(after)));
        }
    }
    Ok(Ending::Status(crate::status::Status::Fine))
}

fn tell(args: &Args, talk: &Talk, least: &[Cover]) -> std::io::Result<()> {
    let traced = |method| talk.histories.iter().map(|history| optimum::decided(method, history).len()).sum::<usize>();
    let fewest: usize = least.iter().map(|cover| cover.chosen.len()).sum();
    let bound: usize = least.iter().map(|cover| cover.bound).sum();
    let mut out = std::io::stdout().lock();
    if args.json {
        let methods: BTreeMap<String, usize> =
            METHODS.iter().map(|method| (method.to_string(), traced(*method))).collect();
        return writeln!(
            out,
            "{}",
            json!({"receives": talk.receives(), "methods": methods, "fewest": fewest, "bound": bound})
        );
    }
    for method in METHODS {
        writeln!(out, "{:<16} {:>8}", method.to_string(), traced(method))?;
    }
    if fewest == bound {
        writeln!(out, "{:<16} {fewest:>8}", "fewest possible")
    } else {
        writeln!(out, "{:<16} {fewest:>8}  (no fewer than {bound} are possible)", "fewest found")
    }
}

/// Replaces the parts; bytes of all of them, before and after.
fn rewrite(mut take: Take, talk: &Talk, least: &[Cover]) -> Result<(u64, u64)> {
    let olds = parts::load(&take)?;
    let before = take.facts.parts.iter().map(|part| part.bytes).sum();
    let mut fresh = Vec::new();
    for (at, name) in talk.names.iter().enumerate() {
        let old = parts::find(&take, &olds, name)?;
        let lines = lines(old, talk, at, &least[at].chosen).map_err(|why| take.refuse(format!("{name}: {why}")))?;
        let home = take.dir.join(format!("{name}{PART_ENDING}"));
        let path = take.dir.join(format!(".{name}{PART_ENDING}"));
        let failed = || format!("cannot write {}", path.display());
        let bytes = fs::read(&home).because(|| format!("cannot read {}", home.display()))?;
        let bytes = press(&bytes, lines.into_iter()).map_err(|fault| take.refuse(words::fault(fault)))?;
        fs::write(&path, bytes).because(failed)?;
        let facts = take::seal_tape(&path)?.ok_or_else(|| Failure::own(failed()))?;
        fresh.push((path, home, facts));
    }
    take.facts.parts.clear();
    for (path, home, facts) in fresh {
        fs::rename(&path, &home).because(|| format!("cannot write {}", home.display()))?;
        take.facts.parts.push(facts);
    }
    take.facts.write(&take.dir).because(|| format!("cannot write into {}", take.dir.display()))?;
    Ok((before, take.facts.parts.iter().map(|part| part.bytes).sum()))
}

/// The lines of a part, with those receives in it, and no others.
fn lines<'a>(
    old: &'a Tape,
    talk: &Talk,
    at: usize,
    chosen: &[usize],
) -> std::result::Result<Vec<(u64, Line<'a>)>, String> {
    let (mut lines, mut partners, mut full) = (Vec::new(), BTreeMap::new(), false);
    parts::each(old, |event, line| match *line {
        Line::Fact(fact::FULL, bytes) if bytes == [1] => full = true,
        Line::Received { .. } | Line::Late { .. } | Line::Taken { .. } | Line::Fact(fact::TRACE, _) => {}
        line => {
            if let Line::Partner { index, life: 1, name, .. } = line {
                partners.insert(name, index);
            }
            lines.push((event, line));
        }
    });
    if full {
        return Err("it keeps the contents of every message, and so must know every receive".into());
    }
    lines.push((0, Line::Fact(fact::TRACE, b"optimum")));
    let chosen: BTreeSet<usize> = chosen.iter().copied().collect();
    let mut last = BTreeMap::new();
    for (receive, received) in talk.histories[at].receives.iter().enumerate() {
        let sender = &talk.names[received.arrival.message.channel.0 as usize];
        let from = *partners.get(sender.as_bytes()).ok_or_else(|| format!("it does not know {sender}"))?;
        let (seq, id) = talk.received[at][receive];
        if chosen.contains(&receive) {
            lines.push((talk.event(received.at), Line::Received { from, seq, id, call: false }));
        } else {
            last.insert(from, seq);
        }
    }
    lines.extend(last.into_iter().map(|(from, seq)| (old.events(), Line::Taken { from, seq })));
    // Stable: a partner is introduced before it is named.
    lines.sort_by_key(|(event, _)| *event);
    Ok(lines)
}
