//! What an exploration came to: the document of `--json`, one take of each kind with `--keep-going`, parts that are made
//! apart and joined.

use retake_testkit::{Kit, Outcome, Place};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn place(test: &str, program: &str) -> Place {
    let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore_results"));
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/explored");
    Place::new(kit, test, &programs.join(program)).expect("a folder with a program")
}

fn explore(place: &Place, arguments: &[&str]) -> Outcome {
    place.run("explore", arguments).expect("it ends")
}

fn document(outcome: &Outcome) -> Value {
    serde_json::from_slice(&outcome.stdout).unwrap_or_else(|error| panic!("{error}:\n{}", outcome.stderr))
}

/// Makes a part, in a file of that name; returns its document.
fn part(place: &Place, file: &str, arguments: &[&str]) -> Value {
    let made = explore(place, &[&["-j", "1", "--json"], arguments].concat());
    fs::write(place.dir.join(file), &made.stdout).expect("written");
    document(&made)
}

fn merge(place: &Place, files: &[&str]) -> Outcome {
    place.retake(&[&["explore", "--json", "--merge"], files].concat()).expect("it ends")
}

#[test]
fn the_document_tells_what_was_found() {
    let place = place("document", "unlocked.c");
    let found = explore(&place, &["--json", "--seed", "0x7", "-o", "take"]);
    let told = document(&found);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    assert_eq!((told["schema"].as_u64(), told["asked"]["seed"].as_str()), (Some(1), Some("0x7")), "{told}");
    let [failure] = &told["failures"].as_array().expect("a list")[..] else { panic!("{told}") };
    let word = |key: &str| failure[key].as_str();
    assert_eq!((word("kind"), word("failure"), word("take")), (Some("signal"), Some("SIGABRT"), Some("./take")));
    assert!(found.stderr.contains(&format!("run {} of 1000 failed: SIGABRT", failure["run"])), "{told}");
    let shrunk = &failure["shrunk"];
    assert_eq!((shrunk["choices"].as_u64(), shrunk["is_least"].as_bool()), (Some(1), Some(true)), "{told}");
    assert_eq!(told["runs"], failure["run"], "it stopped there: {told}");
    let replayed = place.retake(&["replay", failure["directory"].as_str().expect("a path")]).expect("it ends");
    assert_eq!(replayed.ended, 134, "{}", replayed.stderr);

    let plain = explore(&place, &["--json", "--no-shrink", "--seed", "0x7", "-o", "plain"]);
    let told_plain = document(&plain);
    let failure_plain = &told_plain["failures"][0];
    assert_eq!(failure_plain["run"], failure["run"], "{told_plain}");
    assert!(failure_plain["shrunk"].is_null() && failure_plain["decides"].is_null(), "{told_plain}");

    let fine = explore(&place, &["--json", "--runs", "1"]);
    let told = document(&fine);
    assert_eq!((fine.ended, told["runs"].as_u64(), told["failures"].as_array().map(Vec::len)), (0, Some(1), Some(0)));
    assert_eq!(told["coverage"]["orders"].as_u64(), Some(1), "{told}");
}

#[test]
fn where_memory_decides_it_is_told_which_thread_went_on() {
    let place = place("switch", "unlocked.c");
    let found = explore(&place, &["--json", "-j", "1", "-o", "take"]);
    let decides = &document(&found)["failures"][0]["decides"];
    assert_eq!(decides["how"].as_str(), Some("switch"), "{}", found.stderr);
    let of =
        |place: usize| (decides["operations"][place]["thread"].as_str(), decides["operations"][place]["what"].as_str());
    assert_eq!(of(0), (Some("0"), Some("create thread 0.1")), "{}", found.stderr);
    assert_eq!(of(1).0, Some("0.1"), "{}", found.stderr);
    assert!(found.stderr.contains("if 0 goes on there, it passes (tried)"), "{}", found.stderr);
}

#[test]
fn threads_of_cxx_are_told_by_what_they_run() {
    let place = place("cxx", "lambdas.cc");
    let found = explore(&place, &["--json", "-j", "1", "-o", "take"]);
    let decides = &document(&found)["failures"][0]["decides"];
    let names = |key: &str| -> BTreeSet<String> {
        let operations = decides["operations"].as_array().into_iter().flatten();
        operations.filter_map(|operation| Some(operation[key].as_str()?.to_owned())).collect()
    };
    assert_eq!(decides["how"].as_str(), Some("between"), "{}", found.stderr);
    assert_eq!(names("function"), BTreeSet::from(["count".into(), "lambda".into()]), "{}", found.stderr);
    assert_eq!(names("what"), BTreeSet::from(["lock mutex lock".into()]), "{}", found.stderr);
}

#[test]
fn one_take_of_each_kind_is_kept() {
    let place = place("kinds", "two_bugs.c");
    let found = explore(&place, &["--json", "--keep-going", "--runs", "150", "-j", "1", "-o", "take"]);
    let told = document(&found);
    assert_eq!((found.ended, told["runs"].as_u64()), (1, Some(150)), "{}", found.stderr);
    let failures = told["failures"].as_array().expect("a list");
    let kinds: BTreeSet<_> = failures.iter().filter_map(|failure| failure["kind"].as_str()).collect();
    assert_eq!((failures.len(), kinds), (2, BTreeSet::from(["deadlock", "exit"])), "{}", found.stderr);
    for (failure, take) in failures.iter().zip(["./take", "./take-2"]) {
        assert_eq!(failure["take"].as_str(), Some(take), "{told}");
        assert!(failure["times"].as_u64() > Some(1), "it fails often: {told}");
        let is_dead = failure["kind"] == "deadlock";
        let replayed = place.retake(&["replay", take]).expect("it ends");
        assert_eq!(replayed.ended, if is_dead { 122 } else { 3 }, "{}", replayed.stderr);
        let threads = failure["deadlock"]["threads"].as_array();
        assert_eq!(threads.map(Vec::len), is_dead.then_some(2), "{told}");
        assert!(failure["decides"]["operations"].as_array().is_some_and(|list| list.len() >= 2), "{told}");
    }
    assert!(!place.dir.join("take-3").exists());
}

#[test]
fn parts_together_see_what_one_exploration_sees() {
    let place = place("parts", "three_counters.c");
    // The first run, which every part makes, and 13 times 3.
    let asked = ["--runs", "40", "--strategy", "random", "--seed", "3"];
    let whole = part(&place, "whole", &asked);
    let parts = [1, 2, 3].map(|number| {
        let shard = format!("{number}/3");
        part(&place, &shard.replace('/', "-"), &[&asked[..], &["--shard", &shard]].concat())
    });
    let merged = merge(&place, &["3-3", "1-3", "2-3"]);
    let told = document(&merged);
    assert_eq!(merged.ended, 0, "{}", merged.stderr);
    assert_eq!(told["merged"]["missing"].as_array().map(Vec::len), Some(0), "{told}");
    assert_eq!(told["runs"].as_u64(), Some(42), "{told}");
    assert_eq!(told["coverage"], whole["coverage"], "the same orders and pairs");
    let orders = |part: &Value| part["coverage"]["orders"].as_u64().expect("a number");
    // No run but the first is made twice: of so many orders, hardly any comes twice by chance.
    assert_eq!(orders(&told) + 2, parts.iter().map(orders).sum::<u64>(), "{told}");
}

#[test]
fn failures_of_parts_are_joined_by_what_decides() {
    let place = place("joined", "two_bugs.c");
    let asked = ["--runs", "300", "--keep-going"];
    let one = part(&place, "one", &[&asked[..], &["--shard", "1/3"]].concat());
    let two = part(&place, "two", &[&asked[..], &["--shard", "2/3"]].concat());
    let merged = merge(&place, &["one", "two"]);
    let told = document(&merged);
    assert_eq!(merged.ended, 1, "{}", merged.stderr);
    assert!(merged.stderr.contains("missing: 3/3"), "{}", merged.stderr);
    assert_eq!(told["merged"]["missing"][0].as_u64(), Some(3), "{told}");
    let times = |document: &Value| -> u64 {
        document["failures"].as_array().into_iter().flatten().filter_map(|failure| failure["times"].as_u64()).sum()
    };
    assert_eq!(told["failures"].as_array().map(Vec::len), Some(2), "{}", merged.stderr);
    assert_eq!(times(&told), times(&one) + times(&two), "{told}");
}

#[test]
fn only_parts_of_one_exploration_are_joined() {
    let place = place("refused", "unlocked.c");
    let asked = ["--runs", "2", "--strategy", "random"];
    let make = |file: &str, more: &[&str]| part(&place, file, &[&asked[..], more].concat());
    make("one", &["--shard", "1/2"]);
    make("seed", &["--shard", "2/2", "--seed", "9"]);
    make("of", &["--shard", "2/3"]);
    make("status", &["--shard", "2/2", "--ok-exit", "3"]);
    make("none", &[]);
    let other = place.retake(&[&["explore", "--json", "--shard", "2/2"], &asked[..], &["--", "true"]].concat());
    fs::write(place.dir.join("program"), other.expect("it ends").stdout).expect("written");
    let text = fs::read(place.dir.join("one")).expect("read");
    fs::write(place.dir.join("cut"), &text[..text.len() / 2]).expect("written");
    fs::write(place.dir.join("joined"), merge(&place, &["one"]).stdout).expect("written");
    for (file, why) in [
        ("seed", "--seed is 0x1 and 0x9"),
        ("of", "--shard is of 2 and 3"),
        ("status", "what counts as a failure differs"),
        ("none", "it is no part"),
        ("program", "the commands are"),
        ("cut", "it may be cut off"),
        ("joined", "it has been joined already"),
        ("one", "are both part 1/2"),
        ("nowhere", "cannot read nowhere"),
    ] {
        let refused = merge(&place, &["one", file]);
        assert_eq!(refused.ended, 125, "{file}: {}", refused.stderr);
        assert!(refused.stderr.contains(why), "{file}: {}", refused.stderr);
        assert!(refused.stdout.is_empty(), "{file}");
    }
}
