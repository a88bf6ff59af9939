//! Runs that are explored: what is found, what is kept, and that what is kept replays; nothing waits for time; threads that
//! Retake cannot hold do not hold the others.

use retake_testkit::{Kit, Outcome, Place};
use std::path::Path;

fn place(test: &str, program: &str) -> Place {
    let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore_runs"));
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/explored");
    Place::new(kit, test, &programs.join(format!("{program}.c"))).expect("a folder with a program")
}

fn explore(place: &Place, arguments: &[&str]) -> Outcome {
    place.run("explore", arguments).expect("it ends")
}

#[test]
fn what_fails_is_kept_and_replays() {
    let place = place("kept", "unlocked");
    let found = explore(&place, &["-o", "take"]);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    assert!(found.stderr.contains("failed: SIGABRT"), "{}", found.stderr);
    assert!(found.stderr.contains("replayed 3 of 3: same failure"), "{}", found.stderr);
    let replayed = place.retake(&["replay", "take", "--times", "5", "--check"]).expect("it ends");
    assert_eq!(replayed.ended, 0, "{}", replayed.stderr);
    let schedule = place.retake(&["schedule", "take"]).expect("it ends");
    assert_eq!(schedule.ended, 0, "{}", schedule.stderr);
}

#[test]
fn what_does_not_fail_is_not_found() {
    let place = place("fine", "unlocked");
    let fine = explore(&place, &["--runs", "20", "--ok-exit", "0,3", "--strategy", "random"]);
    // The same program: its abort is a failure whatever is fine.
    assert_eq!(fine.ended, 1, "{}", fine.stderr);
    let place = self::place("times", "times");
    let fine = explore(&place, &["--runs", "30"]);
    assert_eq!(fine.ended, 0, "{}", fine.stderr);
    assert!(fine.stderr.contains("30 runs, none failed"), "{}", fine.stderr);
}

#[test]
fn what_the_user_calls_a_failure_is_one() {
    let place = place("said", "times");
    let found = explore(&place, &["--runs", "30", "--fail-if", "/^slept [0-9]+$/", "-o", "take"]);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    let found = explore(&place, &["--runs", "30", "--fail-if", "grep -q never"]);
    assert_eq!(found.ended, 0, "{}", found.stderr);
}

#[test]
fn the_same_seed_finds_the_same() {
    let place = place("seed", "unlocked");
    let first_line = |take: &str| {
        let found = explore(&place, &["--seed", "7", "-o", take]);
        found.stderr.lines().next().unwrap_or_default().split("), ").next().unwrap_or_default().to_owned()
    };
    assert_eq!(first_line("one"), first_line("two"));
}

#[test]
fn runs_that_are_copies_find_what_fresh_ones_do() {
    let place = place("copies", "unlocked");
    let first_line = |arguments: &[&str]| {
        let found = explore(&place, arguments);
        assert_eq!(found.ended, 1, "{}", found.stderr);
        found.stderr.lines().next().unwrap_or_default().split("), ").next().unwrap_or_default().to_owned()
    };
    let copied = first_line(&["-j", "1", "-o", "copied"]);
    assert_eq!(copied, first_line(&["-j", "1", "--fresh", "-o", "fresh"]));
    let several = explore(&place, &["-j", "3", "-o", "several"]);
    assert_eq!(several.ended, 1, "{}", several.stderr);
}

#[test]
fn a_kept_order_is_tried_first() {
    let place = place("first", "unlocked");
    let found = explore(&place, &["-o", "take"]);
    assert!(found.stderr.contains("shrunk to 1: 1 preemption, no fewer will do"), "{}", found.stderr);
    let again = explore(&place, &["--replay-first", "take", "-o", "again"]);
    assert!(again.stderr.contains("retake: take fits: all "), "{}", again.stderr);
    assert!(again.stderr.contains("run 1 of 1000 failed: SIGABRT"), "{}", again.stderr);
}

#[test]
fn who_spins_or_waits_outside_does_not_hold_the_others() {
    let place = place("outside", "outside");
    let fine = explore(&place, &["--runs", "3"]);
    assert_eq!(fine.ended, 0, "{}", fine.stderr);
}

#[test]
fn who_is_cancelled_ends_and_replays() {
    let place = place("cancelled", "cancelled");
    let said = explore(&place, &["--runs", "20", "--strategy", "random", "--fail-if", "true", "-o", "take"]);
    assert!(said.stderr.contains("replayed 3 of 3: same failure"), "{}", said.stderr);
    let fine = explore(&place, &["--runs", "30"]);
    assert_eq!(fine.ended, 0, "{}", fine.stderr);
}

#[test]
fn what_goes_on_for_ever_is_a_hang() {
    let place = place("endless", "endless");
    let found = explore(&place, &["-j", "1", "-o", "take"]);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    assert!(found.stderr.contains("failed: it hangs"), "{}", found.stderr);
}

#[test]
fn a_circle_of_spinlocks_is_a_deadlock() {
    let place = place("hang", "spinlocks");
    let found = explore(&place, &["-o", "take"]);
    assert_eq!(found.ended, 1, "{}", found.stderr);
    assert!(found.stderr.contains("failed: deadlock"), "{}", found.stderr);
}
