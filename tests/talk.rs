//! Messages of the `retake` library of which only those that race are noted: the programs of `examples/talk`, recorded with
//! each method, replayed, optimised, and looked at.

mod samples;

use retake_testkit::{Kit, Outcome, run};
use samples::samples;
use std::path::{Path, PathBuf};

const METHODS: [&str; 6] = ["all", "netzer-miller", "a", "b", "front", "window=5"];

fn kit() -> Kit {
    Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("talk"))
}

fn program(name: &str) -> String {
    samples().join(format!("talk-{name}")).to_str().expect("a plain path").into()
}

struct Bench {
    kit: Kit,
    scratch: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let kit = kit();
        let scratch = kit.scratch(name).expect("a scratch folder");
        Bench { kit, scratch }
    }

    fn retake(&self, arguments: &[&str]) -> Outcome {
        let ran = run(self.kit.retake(&self.scratch).args(arguments), &self.scratch, self.kit.limits);
        ran.unwrap_or_else(|why| panic!("{arguments:?}: {why}"))
    }

    /// Records the program as the take `take`.
    fn record(&self, take: &str, options: &[&str], name: &str, size: &str) -> Outcome {
        let program = program(name);
        let words = [&["record", "-q", "-o", take], options, &["--", &program, size, "40"]].concat();
        let recorded = self.retake(&words);
        assert_eq!(recorded.ended, 0, "{words:?}: {}", recorded.stderr);
        recorded
    }

    fn replay(&self, take: &str, recorded: &Outcome, times: usize) {
        for time in 1..=times {
            let replayed = self.retake(&["replay", take]);
            assert_eq!(replayed.ended, 0, "{take}, replay {time}: {}", replayed.stderr);
            assert_eq!(replayed.stdout, recorded.stdout, "{take}, replay {time}");
        }
    }

    /// How many receives have a line.
    fn traced(&self, take: &str) -> usize {
        let shown = text(&self.retake(&["show", "--light", take]));
        let is_receive = |line: &&str| line.contains("received message") || line.contains("received call");
        shown.lines().filter(is_receive).count()
    }
}

fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// How many messages the programs say that they have received.
fn received(outcome: &Outcome) -> usize {
    text(outcome).lines().filter_map(|line| line.split(' ').nth(1)?.parse::<usize>().ok()).sum()
}

fn every_method_replays(name: &str, size: &str) {
    let bench = Bench::new(name);
    for method in METHODS {
        let recorded = bench.record(method, &["--trace", method], name, size);
        bench.replay(method, &recorded, 5);
        let (traced, received) = (bench.traced(method), received(&recorded));
        assert!(if method == "all" { traced >= received } else { traced < received }, "{method}: {traced}");
    }
}

#[test]
fn a_task_farm_replays_with_every_method() {
    every_method_replays("farm", "5");
}

#[test]
fn a_ring_replays_with_every_method() {
    every_method_replays("ring", "4");
}

#[test]
fn a_pool_replays_with_every_method() {
    every_method_replays("pool", "5");
}

#[test]
fn gossip_replays_with_every_method() {
    every_method_replays("gossip", "6");
}

#[test]
fn where_nothing_can_race_nothing_is_noted() {
    let bench = Bench::new("nothing");
    let recorded = bench.record("take", &[], "ring", "5");
    assert_eq!(bench.traced("take"), 0);
    bench.replay("take", &recorded, 5);
    let checked = bench.retake(&["check", "take"]);
    assert!(!text(&checked).contains("could have received"), "{}", text(&checked));
}

#[test]
fn a_take_is_rewritten_to_what_it_must_know() {
    let bench = Bench::new("optimize");
    let recorded = bench.record("take", &["--trace", "all"], "gossip", "5");
    let all = bench.traced("take");
    let told = bench.retake(&["optimize", "--dry-run", "take"]);
    assert_eq!(told.ended, 0, "{}", told.stderr);
    assert_eq!(bench.traced("take"), all, "a dry run changes nothing");
    let number = |word: &str| {
        let line = text(&told).lines().find(|line| line.starts_with(word)).map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("no {word} in {}", text(&told)));
        line.split_whitespace().last().and_then(|last| last.parse::<usize>().ok()).expect("a number")
    };
    assert_eq!(number("all "), received(&recorded));
    assert!(number("fewest possible") <= number("b ") && number("b ") <= number("netzer-miller "));
    assert_eq!(number("fewest possible"), number("front "), "every receive is a wildcard");
    assert_eq!(bench.retake(&["optimize", "take"]).ended, 0);
    assert_eq!(bench.traced("take"), number("fewest possible"));
    bench.replay("take", &recorded, 20);
}

#[test]
fn what_cannot_be_optimised_is_refused_with_the_reason() {
    let bench = Bench::new("refused");
    bench.record("full", &["--full"], "farm", "3");
    let full = bench.retake(&["optimize", "full"]);
    assert_eq!(full.ended, 125);
    assert!(full.stderr.contains("keeps the contents of every message"), "{}", full.stderr);
    bench.retake(&["record", "-q", "-o", "none", "--", "true"]);
    let none = bench.retake(&["optimize", "none"]);
    assert_eq!(none.ended, 125);
    assert!(none.stderr.contains("has no participants"), "{}", none.stderr);
    let wrong = bench.retake(&["record", "--trace", "c", "--", "true"]);
    assert!(wrong.stderr.contains("window=N"), "{}", wrong.stderr);
}

#[test]
fn check_lists_what_could_have_come_instead() {
    let bench = Bench::new("check");
    bench.record("take", &[], "farm", "4");
    let checked = bench.retake(&["check", "take"]);
    let races = text(&checked);
    let race = races.lines().find(|line| line.contains("could have received")).expect("a race");
    assert!(race.starts_with("  farm-0 received at event ") && race.contains("had sent at its event"), "{race}");
    let removed = bench.retake(&["rm", "take"]);
    assert_eq!(removed.ended, 0, "what was gathered goes with the take: {}", removed.stderr);
}
