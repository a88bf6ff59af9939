//! `retake settle`: programs with races on plain memory, of which replays go wrong, and do not any more.

use retake_testkit::{Fixture, Kit, Place};
use std::fs;
use std::path::{Path, PathBuf};

const REPLAYS: usize = 20;

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

fn kit() -> Kit {
    let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("settle"));
    kit.limits.wait_ms_max *= 10;
    kit
}

/// The program of that source, recorded as `take`, and what it printed.
fn recorded(kit: Kit, test: &str, source: &str) -> (Place, Vec<u8>) {
    let place = Place::new(kit, test, &programs().join(source)).expect("it is compiled");
    let recorded = place.run("record", &["-o", "take"]).expect("it is recorded");
    assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
    (place, recorded.stdout)
}

/// Settled, every replay is what was recorded.
fn is_settled(test: &str, source: &str) {
    is_settled_within(kit(), test, source);
}

fn is_settled_within(kit: Kit, test: &str, source: &str) {
    let (place, printed) = recorded(kit, test, source);
    let settled = place.retake(&["settle", "take"]).expect("it is settled");
    assert_eq!(settled.ended, 0, "{}", settled.stderr);
    for time in 1..=REPLAYS {
        let replayed = place.retake(&["replay", "take"]).expect("it is replayed");
        assert_eq!(replayed.ended, 0, "replay {time}: {}", replayed.stderr);
        let (came, was) = (String::from_utf8_lossy(&replayed.stdout), String::from_utf8_lossy(&printed));
        assert_eq!(came, was, "replay {time}");
    }
}

#[test]
fn a_flag_that_is_looked_at_too_early() {
    is_settled("late_flag", "settle/late_flag.c");
}

#[test]
fn a_word_under_two_locks() {
    is_settled("two_locks", "settle/two_locks.c");
}

/// Every way of waiting that a replay knows is one of waiting for the baton, too. These programs have no race: the first
/// order that is tried is one.
#[test]
fn programs_without_a_race_are_settled_at_once() {
    let kit = kit();
    for name in [
        "barrier_serial",
        "c11_cond",
        "cancel_cond",
        "cond_queue",
        "cond_timedwait",
        "cxx_async.cc",
        "cxx_static.cc",
        "cxx_thread_local.cc",
        "mutex_robust",
        "mutex_signal",
        "once_cancel",
        "output_stdio",
        "poll_usleep",
        "poll_yield",
        "rwlock_order",
        "sem_order",
        "settle/destructors",
        "spin_order",
        "thread_keys",
        "thread_tryjoin",
    ] {
        let file = if name.contains('.') { name.to_owned() } else { format!("{name}.c") };
        let fixture = Fixture::load(&programs().join(&file)).expect("the fixture");
        let place = Place {
            program: kit.compile(&fixture).expect("it is compiled"),
            dir: kit.scratch(&fixture.name).expect("a folder"),
            kit: kit.clone(),
        };
        let recorded = place.run("record", &["-o", "take"]).expect("it is recorded");
        let settled = place.retake(&["settle", "--tries", "1", "take"]).expect("it is settled");
        assert_eq!(settled.ended, 0, "{name}: {}", settled.stderr);
        for _ in 0..3 {
            let replayed = place.retake(&["replay", "take"]).expect("it is replayed");
            assert_eq!(
                (replayed.ended, &replayed.stdout),
                (recorded.ended, &recorded.stdout),
                "{name}: {}",
                replayed.stderr
            );
        }
    }
}

/// A signal from another process is used up once. Were it used up twice, the next one would be waited for until patience ends:
/// for so many, that is longer than a replay may take here.
#[test]
fn signals_of_another_process_are_not_lost() {
    let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("settle"));
    is_settled_within(kit, "outside_signals", "settle/outside_signals.c");
}

/// What an order cannot bring back is told as such; the take stays as it was.
#[test]
fn a_lost_update_is_not_found() {
    // Whether the update is lost is up to the machine, which may run one thread after the other.
    let record =
        |_| Some(recorded(kit(), "lost_update", "settle/lost_update.c")).filter(|(_, printed)| printed == b"1\n");
    let (place, _) = (0..20).find_map(record).expect("an update that is lost, in one of 20 recordings");
    let tried = place.retake(&["settle", "--tries", "5", "take"]).expect("it is tried");
    assert_eq!(tried.ended, 120, "{}", tried.stderr);
    assert!(tried.stderr.contains("no order found in 5 replays"), "{}", tried.stderr);
    assert!(!place.dir.join("take/settled").exists());
}

/// The order goes with the take, is removed with it, and a damaged one is refused.
#[test]
fn an_order_belongs_to_its_take() {
    let (place, printed) = recorded(kit(), "belongs", "settle/two_locks.c");
    let retake = |arguments: &[&str]| place.retake(arguments).expect("it runs");
    let none = retake(&["settle", "--process", "0.7", "take"]);
    assert_eq!(none.ended, 125, "{}", none.stderr);
    assert!(none.stderr.contains("has no process 0.7"), "{}", none.stderr);
    assert_eq!(retake(&["settle", "take"]).ended, 0);
    let again = retake(&["settle", "take"]);
    assert!(again.ended == 0 && again.stderr.contains("has an order already"), "{}", again.stderr);
    assert_eq!(retake(&["pack", "take", "-o", "packed.retake"]).ended, 0);
    assert_eq!(retake(&["unpack", "packed.retake", "-o", "there"]).ended, 0);
    let there = retake(&["replay", "--trust", "there"]);
    assert_eq!((there.ended, there.stdout), (0, printed), "{}", there.stderr);
    let shown = retake(&["show", "take"]);
    assert_eq!(shown.ended, 0, "a settled take is developed by its order: {}", shown.stderr);
    fs::write(place.dir.join("take/settled"), "process 0\nthreads 1x5 2").expect("it is damaged");
    let damaged = retake(&["replay", "take"]);
    assert_eq!(damaged.ended, 125, "{}", damaged.stderr);
    assert!(
        damaged.stderr.contains("is damaged") && damaged.stderr.contains("retake settle --anew"),
        "{}",
        damaged.stderr
    );
    assert_eq!(retake(&["rm", "./take"]).ended, 0);
    assert!(!place.dir.join("take").exists());
}
