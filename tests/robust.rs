//! What must not hurt: full disks, limits, kills, many children, many threads, signals in the middle of everything.
//!
//! Each test runs a program bare and recorded: the same output but for its line `order`, and the same end. What was
//! recorded is readable, and the replay brings `order` back. Disks are made here, in a mount namespace of the test's
//! own; where that is forbidden the test fails and says so.

use retake_testkit::{Fixture, Kit, Outcome, run};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const REPLAYS: usize = 3;

/// A folder of one test, and the program that it runs.
struct Place {
    kit: Kit,
    dir: PathBuf,
    program: PathBuf,
}

impl Place {
    fn new(name: &str, program: &str) -> Place {
        let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("robust"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/robust").join(program);
        let program = kit.compile(&Fixture::load(&source.with_extension("c")).unwrap()).unwrap();
        let dir = kit.scratch(name).unwrap();
        Place { kit, dir, program }
    }

    /// A shell that finds `retake` and the program, and sees no setting of the person who runs the tests.
    fn shell(&self, script: &str) -> Command {
        let retake = self.kit.retake(&self.dir);
        let mut shell = Command::new("sh");
        shell.current_dir(&self.dir).args(["-c", script]);
        for (name, value) in retake.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("retake", env!("CARGO_BIN_EXE_retake")).env("program", &self.program);
        shell
    }

    fn run(&self, script: &str) -> Outcome {
        run(&mut self.shell(script), &self.dir, self.kit.limits).unwrap()
    }

    /// Runs each of `steps`, scripts all, on a fresh file system at `state`, where takes are kept.
    fn on_disk<const N: usize>(&self, options: &str, steps: [&str; N]) -> [Outcome; N] {
        let kind = if fs::metadata("/proc/self").unwrap().uid() == 0 { "-m" } else { "-Urm" };
        let mut script = format!("mkdir -p state && mount -t tmpfs -o {options} none state || exit 99\n");
        for (at, step) in steps.iter().enumerate() {
            script += &format!("({step}) >{at}.out 2>{at}.err; echo $? >{at}.end\n");
        }
        fs::write(self.dir.join("steps"), script).unwrap();
        let ran = self.run(&format!("unshare {kind} sh steps"));
        assert_eq!(ran.ended, 0, "this test mounts a file system: it needs root, or user namespaces\n{}", ran.stderr);
        let read = |at: usize, what: &str| fs::read(self.dir.join(format!("{at}.{what}"))).unwrap();
        std::array::from_fn(|at| Outcome {
            stdout: read(at, "out"),
            stderr: String::from_utf8_lossy(&read(at, "err")).into_owned(),
            ended: String::from_utf8_lossy(&read(at, "end")).trim().parse().unwrap(),
            took: Duration::ZERO,
        })
    }

    /// Bare, recorded, and replayed: unharmed, and the same again. `result` is a file that the program writes.
    fn same(&self, result: Option<&str>) {
        let read = |ran: Outcome| match result {
            Some(file) => Outcome { stdout: fs::read(self.dir.join(file)).unwrap(), ..ran },
            None => ran,
        };
        let bare = read(self.run("exec $program"));
        let recorded = read(self.run("exec $retake record -o take -- $program"));
        unharmed(&bare, &recorded);
        for time in 1..=REPLAYS {
            let replayed = read(self.run("exec $retake replay take"));
            assert_eq!(text(&replayed), text(&recorded), "replay {time}: {}", replayed.stderr);
            assert_eq!(replayed.ended, recorded.ended, "replay {time}: {}", replayed.stderr);
        }
        let info = self.run("exec $retake info take");
        assert_eq!(info.ended, 0, "{}", info.stderr);
    }

    /// Starts `retake record` of the program, which waits until it is let go, for so many rounds; its process id.
    fn start(&self, rounds: u32) -> (Child, u32) {
        let script = format!("exec $retake record -o take -- $program 4 {rounds} wait 2>messages | tee seen");
        let mut command = self.shell(&script);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let pid = line.trim().strip_prefix("ready ").expect("the program says that it is ready").parse().unwrap();
        (child, pid)
    }

    fn end(self) {
        fs::remove_dir_all(&self.dir).unwrap();
    }
}

fn text(ran: &Outcome) -> String {
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// What is the same in every run: all but the order, and the id that it shows.
fn fixed(ran: &Outcome) -> Vec<String> {
    let differs = |line: &&str| line.starts_with("order ") || line.starts_with("ready ");
    text(ran).lines().filter(|line| !differs(line)).map(str::to_string).collect()
}

#[track_caller]
fn unharmed(bare: &Outcome, recorded: &Outcome) {
    assert!(!fixed(bare).is_empty(), "the program printed nothing: {}", bare.stderr);
    assert_eq!((fixed(recorded), recorded.ended), (fixed(bare), bare.ended), "{}", recorded.stderr);
}

#[track_caller]
fn says(ran: &Outcome, words: &[&str]) {
    for words in words {
        assert!(ran.stderr.contains(words), "`{words}` is not in:\n{}", ran.stderr);
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_program() {
    let place = Place::new("full", "work");
    let bare = place.run("exec $program 4 60000");
    let [recorded, info, light, replayed, live] = place.on_disk(
        "size=400k",
        [
            "$retake record -- $program 4 60000",
            "$retake info",
            "$retake show --light",
            "$retake replay",
            "$retake replay --at-end live",
        ],
    );
    unharmed(&bare, &recorded);
    says(&recorded, &["the recording stopped when the disk was full", "next: retake replay"]);
    assert!(text(&info).contains("the recording stopped when the disk was full"), "{}", text(&info));
    assert_eq!((info.ended, light.ended), (0, 0), "{}{}", info.stderr, light.stderr);
    assert_eq!((text(&replayed).as_str(), replayed.ended), ("", 137), "{}", replayed.stderr);
    says(&replayed, &["so the replay ends there", "--at-end live"]);
    unharmed(&bare, &live);
    place.end();
}

#[test]
fn a_disk_that_is_full_already_is_told_before_the_program_runs() {
    let place = Place::new("full-already", "work");
    for size in ["size=4k", "size=64k"] {
        let [recorded] = place.on_disk(size, ["$retake record -- $program 1 1"]);
        assert_eq!((text(&recorded).as_str(), recorded.ended), ("", 125), "{}", recorded.stderr);
        says(&recorded, &["No space left on device", "next: retake record -o DIR", "retake prune"]);
    }
    place.end();
}

#[test]
fn from_a_read_only_store_takes_are_still_replayed() {
    let place = Place::new("read-only", "work");
    let [recorded, refused, replayed, info, removed] = place.on_disk(
        "size=4m",
        [
            "$retake record -- $program 4 500; s=$?; mount -o remount,ro state; exit $s",
            "$retake record -- $program 4 500",
            "$retake replay",
            "$retake info",
            "$retake rm latest",
        ],
    );
    assert_eq!(recorded.ended, 7, "{}", recorded.stderr);
    assert_eq!((text(&refused).as_str(), refused.ended), ("", 125), "{}", refused.stderr);
    says(&refused, &["cannot make a take in", "Read-only file system", "next: retake record -o DIR"]);
    assert_eq!((text(&replayed), replayed.ended), (text(&recorded), 7), "{}", replayed.stderr);
    assert_eq!(info.ended, 0, "{}", info.stderr);
    assert_eq!(removed.ended, 125, "{}", removed.stderr);
    place.end();
}

#[test]
fn a_program_with_four_descriptors_is_recorded() {
    let place = Place::new("descriptors", "work");
    let bare = place.run("ulimit -n 4; exec $program 4 5000");
    let recorded = place.run("exec $retake record -o take -- sh -c 'ulimit -n 4; exec $program 4 5000'");
    unharmed(&bare, &recorded);
    assert!(!recorded.stderr.contains("stopped early"), "{}", recorded.stderr);
    for _ in 0..REPLAYS {
        let replayed = place.run("exec $retake replay take");
        assert_eq!((text(&replayed), replayed.ended), (text(&recorded), 7), "{}", replayed.stderr);
    }
    // The program has every one that may be had: there is none left to write a longer tape with.
    let crowded = place.run("exec $retake record -o crowded -- sh -c 'ulimit -n 8; exec $program 4 50000 full'");
    unharmed(&place.run("ulimit -n 8; exec $program 4 50000 full"), &crowded);
    says(&crowded, &["the recording stopped early (Too many open files)"]);
    says(&place.run("exec $retake replay crowded"), &["so the replay ends there"]);
    // Retake needs some itself.
    let refused = place.run("ulimit -n 5; exec $retake record -o refused -- $program 4 5000");
    assert_eq!((text(&refused).as_str(), refused.ended), ("", 125), "{}", refused.stderr);
    says(&refused, &["Too many open files", "retake: next: "]);
    place.end();
}

#[test]
fn a_limit_on_files_kills_neither_the_program_nor_retake() {
    let place = Place::new("file-limit", "work");
    let bare = place.run("ulimit -f 64; exec $program 4 50000");
    let recorded = place.run("exec $retake record -o take -- sh -c 'ulimit -f 64; exec $program 4 50000'");
    unharmed(&bare, &recorded);
    says(&recorded, &["the recording stopped early (File too large)"]);
    says(&place.run("exec $retake replay take"), &["so the replay ends there"]);
    let refused = place.run("ulimit -f 64; exec $retake record -o refused -- $program 4 50000");
    assert_eq!((text(&refused).as_str(), refused.ended), ("", 125), "{}", refused.stderr);
    says(&refused, &["File too large", "retake: next: "]);
    // The program itself still dies of its own limit, as it would alone.
    let own = place.run("exec $retake record -o own -- sh -c 'ulimit -f 0; echo x >file'");
    assert_eq!(own.ended, 153, "{}", own.stderr);
    place.end();
}

/// Whether the process is there, and no zombie.
fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits until the process has ended.
fn gone(pid: u32) {
    let until = Instant::now() + Duration::from_secs(30);
    while runs(pid) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_killed_recorder_leaves_the_program_alone() {
    let place = Place::new("recorder", "work");
    let (mut child, program) = place.start(20_000);
    let stat = fs::read_to_string(format!("/proc/{program}/stat")).unwrap();
    let recorder: u32 = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    kill(recorder);
    gone(recorder);
    let busy = place.run("exec $retake info take");
    assert_eq!(busy.ended, 125, "{}", busy.stderr);
    says(&busy, &["still running"]);
    // The program goes on, to its end, with its own output.
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
    gone(program);
    let seen = fs::read_to_string(place.dir.join("seen")).unwrap();
    assert!(seen.contains("total 80000\norder "), "{seen}");
    let sealed = place.run("exec $retake info take");
    assert_eq!(sealed.ended, 0, "{}", sealed.stderr);
    says(&sealed, &["left open by a recorder that was killed; it is sealed now"]);
    for _ in 0..REPLAYS {
        let replayed = place.run("exec $retake replay take");
        assert_eq!(text(&replayed), seen, "{}", replayed.stderr);
        assert_eq!(replayed.ended, 7, "{}", replayed.stderr);
    }
    place.end();
}

#[test]
fn a_killed_program_is_replayed_to_where_it_was() {
    let place = Place::new("program", "work");
    let (mut child, program) = place.start(u32::MAX);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    // Somewhere in the middle of its locks; where is not known, and need not be.
    std::thread::sleep(Duration::from_millis(3));
    kill(program);
    child.wait().unwrap();
    let messages = fs::read_to_string(place.dir.join("messages")).unwrap();
    assert!(messages.contains("exit 137 (SIGKILL)"), "{messages}");
    let light = place.run("exec $retake show --light take");
    assert_eq!(light.ended, 0, "{}", light.stderr);
    for _ in 0..REPLAYS {
        let replayed = place.run("exec $retake replay --check take");
        assert_eq!(replayed.ended, 0, "{}", replayed.stderr);
        says(&replayed, &["same end (exit 137 (SIGKILL))"]);
    }
    place.end();
}

/// Looking again and again must not pass for work.
#[test]
fn a_replay_that_stands_still_is_told_when_the_patience_is_over() {
    let place = Place::new("still", "still");
    let recorded = place.run("exec $retake record -o take -- $program");
    assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
    let replayed = place.run("exec $retake replay --patience 6 take -- $program still");
    assert_eq!(replayed.ended, 121, "{}", replayed.stderr);
    says(&replayed, &["stuck: thread 0.1", "outside of Retake"]);
    place.end();
}

/// The parent only waits, for longer than the patience.
#[test]
fn a_process_that_works_is_not_stuck() {
    let place = Place::new("slow", "slow");
    let recorded = place.run("exec $retake record -o take -- $program");
    assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
    let replayed = place.run("exec $retake replay --patience 2 take -- $program 5");
    assert_eq!((replayed.ended, text(&replayed)), (0, text(&recorded)), "{}", replayed.stderr);
    place.end();
}

#[test]
fn three_hundred_children() {
    let place = Place::new("children", "children");
    place.same(None);
    place.end();
}

#[test]
fn ten_thousand_threads() {
    let place = Place::new("threads", "threads");
    place.same(None);
    place.end();
}

#[test]
fn a_signal_every_fifty_microseconds() {
    for _ in 0..5 {
        let place = Place::new("signals", "signals");
        place.same(None);
        place.end();
    }
}

#[test]
fn bursts_of_signals_are_all_handled() {
    for _ in 0..5 {
        let place = Place::new("burst", "burst");
        place.same(None);
        place.end();
    }
}

#[test]
fn a_signal_to_the_whole_group_comes_once() {
    let place = Place::new("group", "group");
    // In a session of its own, so that the test is not in the group.
    let bare = place.run("exec setsid -w $program");
    let recorded = place.run("exec setsid -w $retake record -o take -- $program");
    unharmed(&bare, &recorded);
    place.end();
}

#[test]
fn every_key_is_the_programs() {
    let place = Place::new("keys", "keys");
    place.same(None);
    place.end();
}

#[test]
fn a_program_that_closes_every_descriptor() {
    let place = Place::new("closes", "closes");
    place.same(Some("closed.out"));
    place.end();
}

#[test]
fn a_program_that_moves_away_without_environment_and_output() {
    let place = Place::new("moves", "moves");
    place.same(Some("moved.out"));
    place.end();
}

#[test]
fn the_environment_that_the_kernel_shows_is_the_programs() {
    let place = Place::new("environment", "work");
    let script = "tr '\\0' '\\n' </proc/self/environ | grep -c . ; tr '\\0' '\\n' </proc/self/environ | grep RETAKE_";
    fs::write(place.dir.join("script"), script).unwrap();
    let bare = place.run("exec sh script");
    let recorded = place.run("exec $retake record -q -- sh script");
    assert_eq!(text(&recorded), text(&bare), "{}", recorded.stderr);
    place.end();
}

/// Go's runtime finds the auxiliary vector behind the environment, and so may others.
#[test]
fn what_lies_behind_the_environment_is_where_it_was() {
    let place = Place::new("auxiliary", "auxiliary");
    let told = |script: &str| text(&place.run(script));
    for before in ["", "env ", "env LD_PRELOAD=libm.so.6 ", "env -i ", "env -i LD_PRELOAD=libm.so.6 "] {
        let bare = told(&format!("exec {before} $program"));
        assert!(bare.contains(" known, "), "{bare}");
        assert_eq!(told(&format!("exec $retake record -q -- {before} $program")), bare, "{before}");
    }
    let bare = told("LD_PRELOAD=libm.so.6 exec $program");
    assert_eq!(told("LD_PRELOAD=libm.so.6 exec $retake record -q -- $program"), bare);
    place.end();
}

#[test]
fn a_daemon_is_nothing_to_be_told_of_quietly() {
    let place = Place::new("daemon", "work");
    let recorded = place.run("exec $retake record -q -o take -- sh -c 'sleep 1 & exit 3'");
    assert_eq!((recorded.ended, recorded.stderr.as_str()), (3, ""));
    let told = place.run("exec $retake record -o other -- sh -c 'sleep 1 & exit 3'");
    says(&told, &["some of its processes are still running"]);
    settled(&place, "take");
    settled(&place, "other");
    place.end();
}

/// What outlives the program is in the take, even if it had not begun to write when the program ended.
#[test]
fn what_outlives_the_program_is_waited_for() {
    for _ in 0..20 {
        let place = Place::new("outlives", "work");
        let recorded = place.run("exec $retake record -q -o take -- sh -c 'sh -c :& sh -c \"$program 1 10\" & exit 3'");
        assert_eq!((recorded.ended, recorded.stderr.as_str()), (3, ""));
        let info = settled(&place, "take");
        let tapes = text(&info).lines().filter(|line| line.starts_with("process ")).count();
        assert!((4..=6).contains(&tapes), "the shell, two that it forked, and what they executed:\n{}", text(&info));
        let replayed = place.run("exec $retake replay take");
        assert_eq!(replayed.ended, 3, "{}", replayed.stderr);
        place.end();
    }
}

/// Waits until all of the take's processes have ended; what is known of it then.
#[track_caller]
fn settled(place: &Place, take: &str) -> Outcome {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let info = place.run(&format!("exec $retake info {take}"));
        if info.ended == 0 || Instant::now() > until {
            assert_eq!(info.ended, 0, "{}", info.stderr);
            return info;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Its handlers run by the tape, so it does not see who wants it to end.
#[test]
fn a_replay_that_is_asked_to_end_ends() {
    let place = Place::new("handles", "handles");
    let recorded = place.run("printf x | $retake record -q -o take -- $program");
    assert_eq!((recorded.ended, text(&recorded).as_str()), (0, "1\n"), "{}", recorded.stderr);
    // The input does not come. `timeout` gives 137 if it had to kill.
    let asked = place.run("mkfifo input; exec 9<>input; timeout -k 20 -s TERM 1 $retake replay take <input");
    assert_eq!(asked.ended, 124, "{}", asked.stderr);
    place.end();
}

/// A replay whose threads all wait for the outside has nobody inside who could say that it stands still.
#[test]
fn a_replay_that_waits_for_input_says_so() {
    let place = Place::new("waits", "handles");
    let recorded = place.run("printf x | $retake record -q -o take -- $program");
    assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
    let told = "nothing has moved for";
    let asked = place.run(
        "mkfifo input; exec 9<>input
        $retake replay --patience 1 take <input 2>told & 
        for try in $(seq 300); do grep -q 'next:' told && break; sleep 0.1; done
        printf x >&9; wait $!; status=$?; cat told >&2; exit $status",
    );
    assert!(asked.stderr.contains(told) && asked.stderr.contains("to read"), "{}", asked.stderr);
    // It goes on when the input comes.
    assert_eq!((asked.ended, text(&asked).as_str()), (0, "1\n"), "{}", asked.stderr);
    place.end();
}

/// Input that comes in pieces is gathered up to what one read brought; if others send less now, that is not waited for for ever.
#[test]
fn a_replay_reads_what_came_but_not_for_ever() {
    let place = Place::new("reads", "reads");
    let recorded = place.run("printf 0123456789 | $retake record -q -o take -- $program");
    assert_eq!((recorded.ended, text(&recorded).as_str()), (0, "10\n"), "{}", recorded.stderr);
    let slowly = place.run("(printf 01234; sleep 0.3; printf 56789) | $retake replay take");
    assert_eq!((slowly.ended, text(&slowly).as_str()), (0, "10\n"), "{}", slowly.stderr);
    let less = place.run(
        "mkfifo input; exec 9<>input; printf 012 >&9
        $retake replay take <input >said 9<&- &
        for try in $(seq 300); do [ -s said ] && break; sleep 0.1; done
        exec 9>&-; wait $!; status=$?; cat said; exit $status",
    );
    assert_eq!((less.ended, text(&less).as_str()), (0, "3\n"), "{}", less.stderr);
    place.end();
}

/// What is waited for by `sigwait` is not returned before it is sent, however late that is.
#[test]
fn a_signal_is_not_taken_before_it_is_sent() {
    let place = Place::new("late", "late");
    let recorded = place.run("exec $retake record -q -o take -- $program");
    assert_eq!((recorded.ended, text(&recorded).as_str()), (0, "said 1\n"), "{}", recorded.stderr);
    let replayed = place.run("exec $retake replay take");
    assert_eq!((replayed.ended, text(&replayed).as_str()), (0, "said 1\n"), "{}", replayed.stderr);
    place.end();
}

/// A child that sleeps again and again comes to no event at which it could say that it may be killed now.
#[test]
fn who_is_killed_at_rest_is_not_waited_for() {
    let place = Place::new("rest", "rest");
    let recorded = place.run("exec $retake record -o take -- $program");
    assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
    let began = Instant::now();
    let replayed = place.run("exec $retake replay take");
    assert_eq!((replayed.ended, &replayed.stdout), (0, &recorded.stdout), "{}", replayed.stderr);
    assert!(began.elapsed() < Duration::from_secs(10), "five children took {:?}", began.elapsed());
    place.end();
}

/// More children than a replay has places for their ids: those that have ended make room, and the one that has not is known.
#[test]
fn thousands_of_children_one_after_another() {
    let place = Place::new("after", "after");
    let recorded = place.run("exec $retake record -q -o take -- $program");
    assert_eq!((recorded.ended, text(&recorded).as_str()), (0, "sum 26995, first 1 by 15\n"), "{}", recorded.stderr);
    let replayed = place.run("exec $retake replay take");
    assert_eq!((replayed.ended, &replayed.stdout), (0, &recorded.stdout), "{}", replayed.stderr);
    place.end();
}

/// A process that does not belong to the take is not signalled again: its number may be anybody's by now.
#[test]
fn a_replay_signals_nobody_else() {
    let place = Place::new("stranger", "stranger");
    let signalled = place.run(
        "trap 'echo signalled' USR1
        $retake record -q -o take -- $program $$; $retake replay take; $retake replay take; echo end",
    );
    assert_eq!(text(&signalled), "0\nsignalled\n0\n0\nend\n", "{}", signalled.stderr);
    place.end();
}
