//! Runs that are explored: what is found, what is kept, and that what is kept replays; nothing waits for time; threads that
//! Retake cannot hold do not hold the others.

use retake_testkit::{Fixture, Kit, Outcome, run};
use std::path::{Path, PathBuf};

struct Place {
    kit: Kit,
    dir: PathBuf,
    program: PathBuf,
}

impl Place {
    fn new(test: &str, program: &str) -> Place {
        let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore_runs"));
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/explored");
        let fixture = Fixture::load(&programs.join(format!("{program}.c"))).expect("a fixture");
        let program = kit.compile(&fixture).expect("it compiles");
        let dir = kit.scratch(test).expect("a folder");
        Place { kit, dir, program }
    }

    fn retake(&self, arguments: &[&str]) -> Outcome {
        run(self.kit.retake(&self.dir).args(arguments), &self.dir, self.kit.limits).expect("it ends")
    }

    fn explore(&self, arguments: &[&str]) -> Outcome {
        let program = self.program.to_str().expect("a name");
        self.retake(&[&["explore"], arguments, &["--", program]].concat())
    }
}

#[test]
fn what_fails_is_kept_and_replays() {
    let place = Place::new("kept", "unlocked");
    let found = place.explore(&["-o", "take"]);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    assert!(found.stderr.contains("failed: SIGABRT"), "{}", found.stderr);
    assert!(found.stderr.contains("replayed 3 of 3: same failure"), "{}", found.stderr);
    let replayed = place.retake(&["replay", "take", "--times", "5", "--check"]);
    assert_eq!(replayed.ended, 0, "{}", replayed.stderr);
    let schedule = place.retake(&["schedule", "take"]);
    assert_eq!(schedule.ended, 0, "{}", schedule.stderr);
}

#[test]
fn what_does_not_fail_is_not_found() {
    let place = Place::new("fine", "unlocked");
    let fine = place.explore(&["--runs", "20", "--ok-exit", "0,3", "--strategy", "random"]);
    // The same program: its abort is a failure whatever is fine.
    assert_eq!(fine.ended, 1, "{}", fine.stderr);
    let place = Place::new("times", "times");
    let fine = place.explore(&["--runs", "30"]);
    assert_eq!(fine.ended, 0, "{}", fine.stderr);
    assert!(fine.stderr.contains("30 runs, none failed"), "{}", fine.stderr);
}

#[test]
fn what_the_user_calls_a_failure_is_one() {
    let place = Place::new("said", "times");
    let found = place.explore(&["--runs", "30", "--fail-if", "/^slept [0-9]+$/", "-o", "take"]);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    let found = place.explore(&["--runs", "30", "--fail-if", "grep -q never"]);
    assert_eq!(found.ended, 0, "{}", found.stderr);
}

#[test]
fn the_same_seed_finds_the_same() {
    let place = Place::new("seed", "unlocked");
    let first_line = |take: &str| {
        let found = place.explore(&["--seed", "7", "-o", take]);
        found.stderr.lines().next().unwrap_or_default().split("), ").next().unwrap_or_default().to_owned()
    };
    assert_eq!(first_line("one"), first_line("two"));
}

#[test]
fn runs_that_are_copies_find_what_fresh_ones_do() {
    let place = Place::new("copies", "unlocked");
    let first_line = |arguments: &[&str]| {
        let found = place.explore(arguments);
        assert_eq!(found.ended, 1, "{}", found.stderr);
        found.stderr.lines().next().unwrap_or_default().split("), ").next().unwrap_or_default().to_owned()
    };
    let copied = first_line(&["-j", "1", "-o", "copied"]);
    assert_eq!(copied, first_line(&["-j", "1", "--fresh", "-o", "fresh"]));
    let several = place.explore(&["-j", "3", "-o", "several"]);
    assert_eq!(several.ended, 1, "{}", several.stderr);
}

#[test]
fn a_kept_order_is_tried_first() {
    let place = Place::new("first", "unlocked");
    let found = place.explore(&["-o", "take"]);
    assert!(found.stderr.contains("shrunk to 1: 1 preemption, no fewer will do"), "{}", found.stderr);
    let again = place.explore(&["--replay-first", "take", "-o", "again"]);
    assert!(again.stderr.contains("retake: take fits: all "), "{}", again.stderr);
    assert!(again.stderr.contains("run 1 of 1000 failed: SIGABRT"), "{}", again.stderr);
}

#[test]
fn who_spins_or_waits_outside_does_not_hold_the_others() {
    let place = Place::new("outside", "outside");
    let fine = place.explore(&["--runs", "3"]);
    assert_eq!(fine.ended, 0, "{}", fine.stderr);
}

#[test]
fn who_is_cancelled_ends_and_replays() {
    let place = Place::new("cancelled", "cancelled");
    let said = place.explore(&["--runs", "20", "--strategy", "random", "--fail-if", "true", "-o", "take"]);
    assert!(said.stderr.contains("replayed 3 of 3: same failure"), "{}", said.stderr);
    let fine = place.explore(&["--runs", "30"]);
    assert_eq!(fine.ended, 0, "{}", fine.stderr);
}

#[test]
fn what_goes_on_for_ever_is_a_hang() {
    let place = Place::new("endless", "endless");
    let found = place.explore(&["-j", "1", "-o", "take"]);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    assert!(found.stderr.contains("failed: it hangs"), "{}", found.stderr);
}

#[test]
fn a_spinlock_that_nobody_releases_is_a_hang_found_at_once() {
    let place = Place::new("hang", "spinlocks");
    let found = place.explore(&["-o", "take"]);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    assert!(found.stderr.contains("failed: it hangs"), "{}", found.stderr);
}
