//! Following schedules: the thesis's tables, schedules that decide an outcome, schedules that cannot be followed, takes
//! printed as schedules, and recorded deadlocks.

use retake_testkit::{Fixture, Kit, Outcome, run};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

/// A program of `programs/follow` or of `programs`, compiled, in a folder of the test's own.
struct Place {
    kit: Kit,
    dir: PathBuf,
    program: PathBuf,
}

impl Place {
    fn new(test: &str, program: &str) -> Place {
        let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("follow"));
        let sources = ["follow/NAME.c", "follow/NAME.cc", "NAME.c", "NAME.cc"]
            .map(|form| programs().join(form.replace("NAME", program)));
        let source = sources.iter().find(|path| path.is_file()).expect("the program's source");
        let mut fixture = Fixture::load(source).expect("a fixture");
        fixture.flags.extend(["-pthread".into(), "-g".into()]);
        let program = kit.compile(&fixture).expect("it compiles");
        let dir = kit.scratch(&format!("{test}-{}", fixture.name)).expect("a folder");
        Place { kit, dir, program }
    }

    fn retake(&self, before: &[&str], with_program: bool) -> Outcome {
        let mut command = self.kit.retake(&self.dir);
        command.args(before);
        if with_program {
            command.arg("--").arg(&self.program);
        }
        run(&mut command, &self.dir, self.kit.limits).expect("it ends")
    }

    /// Follows `schedule`, and ends the program if it has not ended by then.
    fn follow(&self, schedule: &str) -> Outcome {
        self.retake(&["follow", schedule, "--then", "stop"], true)
    }
}

#[test]
fn the_simple_program_follows_every_schedule_of_table_5_1() {
    let place = Place::new("table", "simple");
    for schedule in [
        "0,0,0,0,2,1,1",
        "0,0,0,3,0,0,3",
        "0,1,1",
        "0,0,0,0,2,0,2",
        "0,0,0,0,3,0,1,1",
        "0,0,0,3,3,3,2,2,2",
        "0,0,0,0,0,4,3,2,2",
        "0,0,0,0,0,4,3,1,1",
        "0,0,0,3,0,0,1,1",
        "0,1,0,0,0,0,2,2",
        "0,0,0,0,1,0,1",
        "0,0,0,0,1,0,4,4",
        "0,0,0,0,0,1,3,2,2",
        "0,0,0,0,3,3",
        "0,0,0,0,0,2,2",
        "0,0,0,0,0,2,3,4,4",
        "0,0,0,1,3,3,3,3,2,2",
        "0,0,0,0,0,1,4,4",
        "0,0,0,0,0,2,1,2",
    ] {
        followed(&place.follow(schedule), schedule);
    }
}

/// Each to the program's end. Those that the text has cut short in one column are taken from the other.
#[test]
fn the_lockers_follow_every_whole_schedule_of_table_5_2() {
    let place = Place::new("table", "lockers");
    for schedule in [
        "0,0,0,1,1,1,1,2,2,2,2,2,2,3,3,3,3,3,3,4,4,4,4,4,4,0,0,1,1,1,0",
        "0,1,1,1,2,2,2,2,2,2,3,3,3,3,3,3,0,0,1,1,1,4,4,4,4,4,4,0,0",
        "0,0,0,2,2,2,2,2,2,0,0,1,1,1,1,3,3,3,3,3,3,4,4,4,4,4,4,1,1,1,0",
        "0,0,0,1,1,2,2,2,2,2,2,3,3,3,3,3,3,0,0,1,1,1,4,4,4,4,4,4,1,1,0",
        "0,0,0,1,1,3,3,3,3,3,3,1,1,1,2,2,2,2,2,2,4,4,4,4,4,4,0,0,1,1,0",
        "0,0,0,1,1,1,3,3,3,3,3,3,4,4,4,4,4,4,1,1,1,2,2,2,2,2,2,0,0",
        "0,0,0,1,1,1,4,4,4,4,4,4,1,2,2,2,2,2,2,3,3,3,3,3,3,0,0,1,1,1,0",
        "0,0,0,1,1,1,1,4,4,4,4,4,4,2,2,2,2,2,2,3,3,3,3,3,3,0,0,1,1,1,0",
    ] {
        followed(&place.follow(schedule), schedule);
    }
}

#[test]
fn the_small_programs_follow_all_their_orders() {
    for (program, schedules) in [
        ("one_thread", &["0,0,1,1,0", "0,1,1,0,0", "0,0,0,1,1,0", "0,1,0,0,1,0"][..]),
        ("two_threads", &["0,0,0,1,1,2,2,0,0", "0,1,1,0,2,2,0,0", "0,0,2,2,0,1,1,0,0"]),
        ("one_lock", &["0,0,0,0,0,1,1,1,1,0", "0,1,1,0,0,1,1,0,0,0", "0,1,1,1,1,0,0,0,0"]),
    ] {
        let place = Place::new("small", program);
        for schedule in schedules {
            followed(&place.follow(schedule), schedule);
        }
    }
}

fn followed(outcome: &Outcome, schedule: &str) {
    let steps = schedule.split(',').count();
    let told = format!("retake: followed all {steps} steps");
    assert!(outcome.ended == 0 && outcome.stderr.contains(&told), "{schedule}: {}\n{}", outcome.ended, outcome.stderr);
}

/// Nothing protects the variable; the schedule alone decides.
#[test]
fn a_schedule_forces_each_last_value() {
    let place = Place::new("last", "unprotected");
    for (schedule, last) in [
        ("0,0,0,0,2,2,3,3,1,1,0,0,0", "1\n"),
        ("0,0,0,0,3,3,1,1,2,2,0,0,0", "2\n"),
        ("0,1,1,0,2,0,2,0,3,3,0,0,0", "3\n"),
    ] {
        for _ in 0..3 {
            let outcome = place.follow(schedule);
            followed(&outcome, schedule);
            assert_eq!(String::from_utf8_lossy(&outcome.stdout), last, "{schedule}");
        }
    }
}

/// A try gets what is free, unless the schedule says otherwise.
#[test]
fn a_schedule_says_what_comes_of_a_try() {
    let place = Place::new("says", "tries");
    for (steps, said) in [
        ("0,0,1,1,1,1,0,0,0,0", "got it\n"),
        ("0,0,1,1=0,1,1,0,0,0,0", "got it\n"),
        ("0,0,0,1,1,1,0,0,0", "busy\n"),
        ("0,0,1,1=EBUSY,1,0,0,0,0", "busy\n"),
    ] {
        fs::write(place.dir.join("schedule.txt"), format!("points all\n{steps}\n")).expect("the schedule is written");
        let outcome = place.follow("schedule.txt");
        followed(&outcome, steps);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), said, "{steps}");
    }
}

/// A timed wait counts as unlock and lock, and times out.
#[test]
fn timed_waits_time_out() {
    let place = Place::new("timed", "timed");
    for (schedule, said) in
        [("0,0,0,0,1,1,1,1,0,0,0", "timed out, seen 1\n"), ("0,0,0,0,0,0,1,1,1,1,0", "timed out, seen 0\n")]
    {
        let outcome = place.follow(schedule);
        followed(&outcome, schedule);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), said, "{schedule}");
    }
}

/// Whoever blocks or spins where no call is caught is told once, and the schedule goes on.
#[test]
fn who_waits_outside_does_not_keep_the_baton() {
    for (program, schedule, said, told) in [
        (
            "future",
            "0,0,1,1,1,0,0,1,1,1,0",
            "7\n",
            "waits outside of what a schedule orders: futex at follow/future.cc:20",
        ),
        (
            "future",
            "0,0,1,1,1,1,1,1,0,0,0",
            "7\n",
            "waits outside of what a schedule orders: futex at follow/future.cc:20",
        ),
        (
            "semaphores",
            "0,0,1,1,0",
            "ping\npong\nping\npong\nping\npong\n",
            "waits outside of what a schedule orders: futex at follow/semaphores.cc:20",
        ),
        ("pipes", "0,0,1,1,1,1,0", "x\n", "waits outside of what a schedule orders: read at follow/pipes.c:21"),
        ("spins", "0,0,1,1,1,1,0", "seen\n", "computes without coming to a point at follow/spins.c:19"),
        // No signal of the program's is used to ask where it is.
        ("spins_masked", "0,0,1,1,0", "handled 0\n", "computes without coming to a point at follow/spins_masked.c:24"),
    ] {
        let place = Place::new("outside", program);
        let outcome = place.follow(schedule);
        followed(&outcome, schedule);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), said, "{program}: {}", outcome.stderr);
        let told = format!("retake: step 2: thread 0 {told} (main)");
        assert_eq!(outcome.stderr.matches(&told).count(), 1, "{program}: {}", outcome.stderr);
        let replayed = place.retake(&["replay"], false);
        assert_eq!(String::from_utf8_lossy(&replayed.stdout), said, "{program}: {}", replayed.stderr);
    }
}

/// Even where no thread is left to look, a step does not last long without a word.
#[test]
fn a_long_step_of_the_only_thread_is_told() {
    let place = Place::new("long", "alone");
    let mut command = place.kit.retake(&place.dir);
    command.args(["follow", "0", "--"]).arg(&place.program).current_dir(&place.dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let lines = BufReader::new(child.stderr.take().expect("its messages")).lines();
    let told = "retake: step 1: thread 0 waits outside of what a schedule orders: read; gdb -p";
    let mut lines = lines.map(|line| line.expect("text"));
    assert!(lines.any(|line| line.starts_with(told)), "nothing was told");
    drop(child.stdin.take());
    assert!(lines.any(|line| line == "retake: followed all 1 step"), "it did not end well");
    assert!(child.wait().expect("it ends").success());
}

/// The main thread's end is a point like any other's.
#[test]
fn the_main_thread_may_leave_before_the_others() {
    let place = Place::new("leaves", "main_leaves");
    for schedule in ["0,0,0,1,1,1,1", "0,0,1,1,1,0,1", "0,1,1,1,1,0,0"] {
        let outcome = place.follow(schedule);
        followed(&outcome, schedule);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), "alone\n", "{schedule}");
    }
    let explored = place.retake(&["explore", "--runs", "20"], true);
    assert_eq!(explored.ended, 0, "{}", explored.stderr);
}

/// Nor is it another when the main thread is cancelled.
#[test]
fn the_main_thread_may_be_cancelled_by_another() {
    let place = Place::new("cancelled", "main_cancelled");
    for schedule in ["0,0,1,0,1,0,1,1", "0,0,1,0,0,1,1", "0,1,0,0,0,1,1"] {
        let outcome = place.follow(schedule);
        followed(&outcome, schedule);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), "alone\n", "{schedule}");
    }
}

#[test]
fn the_end_of_a_schedule_hangs_stops_or_resumes() {
    let place = Place::new("then", "simple");
    let stopped = place.retake(&["follow", "0,0", "--then", "stop"], true);
    assert_eq!((stopped.ended, stopped.stdout.len()), (0, 0), "{}", stopped.stderr);
    // Another program: this one may lose its wake-up when it runs freely.
    let files = Place::new("then_resume", "files");
    let resumed = files.retake(&["follow", "0,0,0,0,3", "--then", "resume"], true);
    assert!(resumed.ended == 0 && resumed.stdout.starts_with(b"last "), "{}", resumed.stderr);
    let mut command = place.kit.retake(&place.dir);
    let script = "timeout -s INT 2 \"$0\" follow 0,0 -- \"$1\"";
    command = {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.arg("-c").arg(script).arg(command.get_program()).arg(&place.program).current_dir(&place.dir);
        shell.env("XDG_STATE_HOME", place.dir.join("state"));
        shell
    };
    let hung = run(&mut command, &place.dir, place.kit.limits).expect("it ends");
    assert!(hung.stderr.contains("the schedule is at its end (2 steps); the program waits: gdb -p"), "{}", hung.stderr);
}

/// Sleeps take no time while a schedule is followed, and the clock that shows them is ahead when time is real again.
#[test]
fn the_monotonic_clock_never_goes_back() {
    let place = Place::new("forwards", "sleeper");
    let resumed = place.retake(&["follow", "0,0", "--then", "resume"], true);
    assert!(resumed.ended == 0 && resumed.stdout == b"forwards\n", "{}", resumed.stderr);
    let replayed = place.retake(&["replay"], false);
    assert!(replayed.ended == 0 && replayed.stdout == b"forwards\n", "{}", replayed.stderr);
}

/// What is said of schedules that cannot be followed, as files beside the programs (`UPDATE=1` writes them).
#[test]
fn a_schedule_that_cannot_be_followed_is_refused_with_the_reason() {
    for (program, name, schedule) in [
        ("simple", "not_created", "0,2"),
        ("simple", "ended", "0,0,0,0,3,3,3,3,3"),
        ("simple", "not_main", "1,0"),
        ("simple", "has_mutex", "0,1,1,1,2"),
        ("lockers", "mutex_busy", "0,0,2,2,2,1,1,1,3,3,3"),
        ("lockers", "join_busy", "0,0,0,0,0"),
        ("lockers", "deadlock", "0,0,1,1,1,2,2,3,3,2,3,2"),
        ("one_thread", "too_long", "0,0,1,1,0,0,0"),
        ("one_thread", "not_a_number", "0,0,x"),
        ("one_thread", "no_such_points", "points few\n0"),
        ("tries", "cannot_succeed", "points all\n0,0,0,1,1=0"),
        ("tries", "cannot_return", "points all\n0,0,0=EBUSY"),
        ("tries", "no_such_outcome", "points all\n0,0,1,1=maybe"),
        ("tries", "says_too_much", "0,0,1,1=EBUSY"),
        ("tries", "not_cancelled", "points all\n0,0,1,1,1,1,0,0,0=cancelled"),
        ("objects", "read_busy", "points all\n0,0,0,0,1,1"),
        ("objects", "write_busy", "points all\n0,0,0,0,0,2,2"),
        ("objects", "semaphore_busy", "points all\n0,0,0,0,0,0,3,3"),
        ("objects", "barrier_busy", "points all\n0,0,0,0,0,0,0,4,4,4"),
        ("objects", "spin_busy", "points all\n0,0,0,0,0,0,0,0,5,5"),
        ("objects", "once_busy", "points all\n0,0,0,0,0,0,0,0,0,0,6,6,7,7"),
        ("future", "waits_outside", "0,0,0,1"),
        ("future", "waits_outside_at_last", "0,0"),
    ] {
        let place = Place::new(name, program);
        let file = place.dir.join("schedule.txt");
        fs::write(&file, schedule).expect("the schedule is written");
        let refused = place.retake(&["follow", "schedule.txt", "-o", "take"], true);
        let said = refused.stderr.lines().filter(|line| !line.contains(" -> ")).map(|line| format!("{line}\n"));
        let said = format!("{}{}\n", said.collect::<String>(), refused.ended);
        let golden = programs().join("follow").join(format!("{name}.expected"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&golden, &said).expect("the golden file is written");
        }
        assert_eq!(said, fs::read_to_string(&golden).unwrap_or_default(), "{name}");
    }
}

/// A take printed as a schedule, and followed: the same output, without the take's help.
#[test]
fn a_take_is_followed_as_a_schedule() {
    for program in [
        "mutex_normal",
        "mutex_bank",
        "cond_queue",
        "cond_broadcast",
        "rwlock_order",
        "barrier_serial",
        "thread_tree",
        "once_who",
        "files",
        // Tries that failed, waits that were too late, values that were read.
        "mutex_trylock",
        "mutex_timedlock",
        "rwlock_try",
        "rwlock_timed",
        "sem_try",
        "sem_timed",
        "sem_order",
        "cond_timedwait",
        "cond_clockwait",
        "spin_order",
        "thread_tryjoin",
        "thread_timedjoin",
        // Threads that are cancelled while they wait.
        "cancel_join",
        "cancel_cond",
        "cancel_sem",
        // Owners that have died; unlocked by others than who locked.
        "mutex_robust",
        "mutex_relay",
        "mutex_signal",
        // Barriers that are not seen.
        "team",
        // Who runs what is run once; C++'s own locks.
        "cxx_once",
        "cxx_static",
        "cxx_mutex",
    ] {
        let place = Place::new("take", program);
        let recorded = place.retake(&["record", "-q", "-o", "take"], true);
        let schedule = place.retake(&["schedule", "take"], false);
        assert_eq!(schedule.ended, 0, "{program}: {}", schedule.stderr);
        fs::write(place.dir.join("schedule.txt"), &schedule.stdout).expect("the schedule is written");
        let followed = place.retake(&["follow", "schedule.txt", "-o", "again", "--then", "stop"], true);
        assert_eq!(
            (followed.ended, &followed.stdout),
            (recorded.ended, &recorded.stdout),
            "{program}: {}",
            followed.stderr
        );
        let replayed = place.retake(&["replay", "again"], false);
        assert_eq!(replayed.stdout, recorded.stdout, "{program}: {}", replayed.stderr);
    }
}

/// P-Rep's record mode found schedules of deadlocks that did not always lead there again. `DEADLOCKS=100` makes so many of
/// each, and replays each ten times.
#[test]
fn recorded_deadlocks_come_again() {
    let asked = std::env::var("DEADLOCKS").ok().map(|many| many.parse().expect("DEADLOCKS is a number"));
    let (recordings, replays): (usize, u32) = asked.map_or((4, 5), |many| (many, 10));
    for program in ["philosophers", "queue"] {
        let place = Place::new("deadlock", program);
        let mut dead = 0;
        for _ in 0..100 * recordings {
            let _ = fs::remove_dir_all(place.dir.join("take"));
            let recorded = place.retake(&["record", "-q", "--on-deadlock", "stop", "-o", "take"], true);
            if recorded.ended != 122 {
                continue;
            }
            dead += 1;
            for replay in 1..=replays {
                let replayed = place.retake(&["replay", "take"], false);
                let same = replayed.ended == 122 && replayed.stdout == recorded.stdout;
                assert!(same, "{program}, replay {replay}: {}\n{}", replayed.ended, replayed.stderr);
            }
            follow_deadlock(&place);
            if dead == recordings {
                break;
            }
        }
        assert_eq!(dead, recordings, "{program} did not deadlock often enough");
    }
}

/// So does one of static variables, which a thread waits for without a point.
#[test]
fn a_deadlock_of_static_variables_comes_again() {
    let place = Place::new("static", "deadlock/static_both");
    let dead = place.retake(&["record", "-q", "--on-deadlock", "stop", "-o", "take"], true);
    assert_eq!(dead.ended, 122, "{}", dead.stderr);
    follow_deadlock(&place);
}

/// Guards that are not inlined are told by the lines that make them, by the one who followed and by `retake check` alike.
#[test]
fn a_deadlock_of_guards_is_told_by_their_own_lines() {
    let place = Place::new("guards", "guards");
    let schedule = "0,0,0,1,1,2,2,1,2,1";
    let dead = place.retake(&["follow", schedule, "--on-deadlock", "stop", "-o", "take"], true);
    let told = ["held by 0.1 since follow/guards.cc:9 (forwards)", "held by 0.2 since follow/guards.cc:14 (backwards)"];
    assert!(told.iter().all(|told| dead.stderr.contains(told)), "{}\n{}", dead.ended, dead.stderr);
    let checked = place.retake(&["check", "take"], false);
    let checked = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.contains("guards.cc:9 (forwards)") && checked.contains("guards.cc:14 (backwards)"), "{checked}");
}

/// It is told at once; the program hangs on, as it would alone, and the take is complete.
#[test]
fn a_program_that_deadlocks_hangs_unless_it_is_to_stop() {
    let place = Place::new("hangs", "deadlock/itself");
    let mut command = place.kit.retake(&place.dir);
    command.args(["record", "-o", "take", "--"]).arg(&place.program).current_dir(&place.dir);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let lines = BufReader::new(child.stderr.take().expect("its messages")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    assert!(lines.any(|line| line == "retake: deadlock: thread 0 waits for itself"), "nothing was told");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(child.try_wait().expect("it can be asked").is_none(), "it does not hang");
    let ended = std::process::Command::new("kill").arg(child.id().to_string()).status().expect("kill");
    assert!(ended.success() && lines.any(|line| line.contains("exit 143 (SIGTERM)")));
    child.wait().expect("it ends");
    let replayed = place.retake(&["replay", "take"], false);
    let told = replayed.stderr.contains("retake: deadlock: thread 0 waits for itself");
    assert!(replayed.ended == 143 && told, "{}: {}", replayed.ended, replayed.stderr);
}

/// `-v` tells who runs in each step, and what it does then.
#[test]
fn each_step_is_told_if_asked_for() {
    let place = Place::new("verbose", "one_thread");
    let outcome = place.retake(&["follow", "0,0,1,1,0", "-v", "--then", "stop"], true);
    followed(&outcome, "0,0,1,1,0");
    let told: Vec<&str> = outcome.stderr.lines().filter_map(|line| line.strip_prefix("retake: step ")).collect();
    let starts =
        ["1: thread 0 (0): ", "2: thread 0 (0): ", "3: thread 1 (0.1): ", "4: thread 1 (0.1): ", "5: thread 0 (0): "];
    assert_eq!(told.len(), starts.len(), "{}", outcome.stderr);
    assert!(told.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{}", outcome.stderr);
}

/// The order of a deadlock, followed, ends in it.
fn follow_deadlock(place: &Place) {
    let schedule = place.retake(&["schedule", "take"], false);
    fs::write(place.dir.join("schedule.txt"), &schedule.stdout).expect("the schedule is written");
    let _ = fs::remove_dir_all(place.dir.join("again"));
    let again = place.retake(&["follow", "schedule.txt", "-o", "again", "--on-deadlock", "stop"], true);
    assert_eq!(again.ended, 122, "followed: {}", again.stderr);
}
