//! `retake explore --merge`: the parts of one exploration, made apart, joined to what it came to.
//!
//! Law: only parts of the same exploration are joined; a part that is missing is told; nothing is told of all parts that is
//! not true of all of them.

use super::args::Args;
use super::finding::Finding;
use super::result::{Alone, Asked, Counts, Document, Merged, SCHEMA, Seen};
use crate::Ending;
use crate::status::{Context, Failure, Result, Status, say};
use crate::words::{clean, count};
use retake_explore::coverage::Coverage;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A part, and the file that it was read from.
struct Read {
    file: String,
    part: u64,
    of: u64,
    document: Document,
}

pub fn main(args: &Args) -> Result<Ending> {
    let parts = args.merge.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let merged = merge(&parts)?;
    for (finding, parts) in groups(&parts) {
        let (failed, take) = (&finding.failure, &finding.take);
        let whose: Vec<String> = parts.iter().map(u64::to_string).collect();
        let times = count(finding.times, "time");
        say(format_args!("failed {times}: {failed}, in part {}", whose.join(", ")));
        finding.say();
        say(format_args!("kept by part {} as {take}; next, there: retake replay {take} --gdb", parts[0]));
    }
    merged.say();
    if let Some(Merged { of, missing, is_coverage_joined }) = &merged.merged {
        let missing: Vec<String> = missing.iter().map(|part| format!("{part}/{of}")).collect();
        if !missing.is_empty() {
            say(format_args!("missing: {}; what they would have seen is not counted", missing.join(", ")));
        }
        if !is_coverage_joined {
            say("objects have other addresses in other parts: orders and pairs are those of the part that saw most");
        }
    }
    if args.json {
        merged.print();
    }
    Ok(Ending::Status(if merged.failures.is_empty() { Status::Fine } else { Status::Found }))
}

fn read(path: &Path) -> Result<Read> {
    let file = path.display().to_string();
    let unusable = |why: &str| {
        Failure::own(format!("{file} cannot be joined: {why}"))
            .next("retake explore --shard K/N --json -- CMD > RESULT")
    };
    let bytes = std::fs::read(path).because(|| format!("cannot read {file}"))?;
    let value: Value =
        serde_json::from_slice(&bytes).map_err(|_| unusable("it is not what --json prints; it may be cut off"))?;
    if value["schema"].as_u64() != Some(SCHEMA.into()) {
        return Err(unusable("another version of Retake wrote it"));
    }
    if value.get("merged").is_some() {
        return Err(unusable("it has been joined already"));
    }
    // It may come from a stranger, and is shown on a terminal.
    let document: Document =
        serde_json::from_value(cleaned(value)).map_err(|_| unusable("it is not a result of retake explore"))?;
    let shard = document.shard.filter(|shard| (1..=shard.of).contains(&shard.part));
    let shard = shard.ok_or_else(|| unusable("it is no part: --shard was not given"))?;
    Ok(Read { file, part: shard.part, of: shard.of, document })
}

/// The same without characters that change a terminal.
fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(all) => all.into_iter().map(cleaned).collect(),
        Value::Object(all) => all.into_iter().map(|(key, value)| (clean(&key), cleaned(value))).collect(),
        other => other,
    }
}

/// What all parts came to.
fn merge(parts: &[Read]) -> Result<Document> {
    let Some((first, others)) = parts.split_first() else { return Err(Failure::own("there is nothing to join")) };
    for other in others {
        if let Some((what, one, two)) = difference(first, other) {
            let (a, b) = (&first.file, &other.file);
            let what = format!("{a} and {b} are not parts of one exploration: {what} {one} and {two}");
            return Err(Failure::own(what).next("the same command on every machine but for --shard K/N"));
        }
    }
    let mut files: BTreeMap<u64, &str> = BTreeMap::new();
    for read in parts {
        if let Some(other) = files.insert(read.part, &read.file) {
            let what = format!("{other} and {} are both part {}/{}", read.file, read.part, read.of);
            return Err(Failure::own(what).next("give each part once"));
        }
    }
    let of = first.of;
    let missing: Vec<u64> = (1..=of).filter(|part| !files.contains_key(part)).collect();
    let documents: Vec<&Document> = parts.iter().map(|read| &read.document).collect();
    let joined = join(&documents);
    let counts =
        joined.as_ref().map(Counts::of).or_else(|| documents.iter().map(|it| it.coverage).max_by_key(|it| it.orders));
    let counts = counts.unwrap_or(first.document.coverage);
    let failures: Vec<Finding> = groups(parts).into_iter().map(|(finding, _)| finding).collect();
    let doubtful: Vec<_> = documents.iter().flat_map(|it| it.doubtful.clone()).collect();
    let passed = failures.is_empty() && doubtful.is_empty();
    let left_alone = documents.iter().fold(Alone::default(), |sum, it| Alone {
        computed: sum.computed + it.left_alone.computed,
        outside: sum.outside + it.left_alone.outside,
    });
    let is_known = left_alone.computed + left_alone.outside == 0;
    // One part does the whole exhaustive search; every part does its own of the bounded ones.
    let all = documents.iter().find_map(|it| it.all).filter(|all| passed && is_known && all.orders >= counts.orders);
    let within = documents.iter().map(|it| it.all_within).reduce(|a, b| if a == b { a } else { None }).flatten();
    Ok(Document {
        schema: SCHEMA,
        asked: first.document.asked.clone(),
        shard: None,
        runs: documents.iter().map(|it| it.runs).sum(),
        seconds: documents.iter().map(|it| it.seconds).sum(),
        interrupted: documents.iter().find_map(|it| it.interrupted.clone()),
        failures,
        doubtful,
        coverage: counts,
        all,
        all_within: within.filter(|_| passed && missing.is_empty()),
        left_alone,
        merged: Some(Merged { of, missing, is_coverage_joined: joined.is_some() }),
        seen: None,
    })
}

/// What two parts were asked for differently: what it is, and the two values.
fn difference(one: &Read, two: &Read) -> Option<(&'static str, String, String)> {
    let words = |asked: &Asked| {
        let words = asked.command.iter().map(|word| crate::words::shell(&clean(&word.os().to_string_lossy())));
        words.collect::<Vec<_>>().join(" ")
    };
    let (a, b) = (&one.document.asked, &two.document.asked);
    let number = |depth: Option<u32>| depth.map_or("none".into(), |depth| depth.to_string());
    let told = [
        ("the commands are", words(a), words(b)),
        ("the program differs:", a.program.clone(), b.program.clone()),
        ("--shard is of", one.of.to_string(), two.of.to_string()),
        ("--seed is", a.seed.clone(), b.seed.clone()),
        ("--strategy is", a.strategy.clone(), b.strategy.clone()),
        ("--depth is", number(a.depth), number(b.depth)),
        ("--runs is", a.runs.to_string(), b.runs.to_string()),
    ];
    let rest = (
        "what counts as a failure differs:",
        format!("{:?} {:?}", a.fail_if, a.ok_exit),
        format!("{:?} {:?}", b.fail_if, b.ok_exit),
    );
    told.into_iter().chain([rest]).find(|(_, one, two)| one != two)
}

/// What all parts together have seen; nothing if their names of objects differ, or if one is garbled.
fn join(documents: &[&Document]) -> Option<Coverage> {
    let seen: Vec<&Seen> = documents.iter().map(|it| it.seen.as_ref()).collect::<Option<_>>()?;
    let first = &seen.first()?.first;
    let mut joined = Coverage::default();
    for seen in &seen {
        joined.join(&seen.coverage().filter(|_| seen.first == *first)?);
    }
    Some(joined)
}

/// The failures, each kind once, with the parts that found it; what is told is that of the first part.
fn groups(parts: &[Read]) -> Vec<(Finding, Vec<u64>)> {
    let mut groups: Vec<(Finding, Vec<u64>)> = Vec::new();
    for read in parts {
        for finding in &read.document.failures {
            let group = finding.group();
            match groups.iter_mut().find(|(told, _)| told.group() == group) {
                Some((told, parts)) => {
                    told.times += finding.times;
                    parts.push(read.part);
                }
                None => groups.push((finding.clone(), vec![read.part])),
            }
        }
    }
    groups
}
