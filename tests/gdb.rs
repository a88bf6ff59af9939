//! Stopping a replay: under the real gdb, driven by scripts, and without it (`--stop-at`).
//!
//! What is shown is compared with files in `expected/` where it is known beforehand; where threads are free, with what
//! the recorded order allows.

use retake_testkit::{Fixture, Kit, Limits, Outcome, run};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A recorded fixture.
struct Take {
    kit: Kit,
    scratch: PathBuf,
    program: PathBuf,
    recorded: Outcome,
}

fn source(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let c = programs.join(format!("{name}.c"));
    if c.exists() { c } else { programs.join(format!("{name}.cc")) }
}

impl Take {
    /// Records the fixture `name`; its program is a copy of this test's own.
    fn record(test: &str, name: &str) -> Take {
        let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("gdb"));
        let compiled = kit.compile(&Fixture::load(&source(name)).unwrap()).unwrap();
        let scratch = kit.scratch(test).unwrap();
        let program = scratch.join(name);
        fs::copy(compiled, &program).unwrap();
        let recorded = kit.record(&program, &[], &scratch.join("take")).unwrap();
        Take { kit, scratch, program, recorded }
    }

    fn replay(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.kit.retake(&self.scratch);
        command.args(["replay", "take"]).args(arguments);
        run(&mut command, &self.scratch, Limits { wait_ms_max: 120_000 }).unwrap()
    }

    /// A replay under gdb that does what `script` says; what was printed.
    fn gdb(&self, arguments: &[&str], script: &str) -> String {
        let path = self.scratch.join("script.gdb");
        fs::write(&path, script).unwrap();
        let gdb = ["--gdb-arg=-nx", "--gdb-arg=-batch", "--gdb-arg=-x", "--gdb-arg=script.gdb"];
        let outcome = self.replay(&[&["--gdb"][..], arguments, &gdb].concat());
        let printed = String::from_utf8_lossy(&outcome.stdout).into_owned();
        assert_eq!(outcome.ended, 0, "gdb failed:\n{printed}\n{}", outcome.stderr);
        printed
    }

    fn end(self) {
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// What stands in the file `name` of `expected/`.
fn expected(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/expected").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The stops before events that gdb told of: thread and event.
fn stops(printed: &str) -> Vec<(String, u64)> {
    let stop = |line: &str| {
        let (thread, rest) = line.split_once("retake: thread ")?.1.split_once(" stands before event ")?;
        Some((thread.to_owned(), rest.split(' ').next()?.parse().ok()?))
    };
    printed.lines().filter_map(stop).collect()
}

fn lines<'a>(printed: &'a str, start: &str) -> Vec<&'a str> {
    printed.lines().filter(|line| line.starts_with(start)).collect()
}

#[test]
fn goto_next_and_back() {
    let take = Take::record("goto", "debug_relay");
    let printed = take.gdb(
        &[],
        "retake-goto 0.2:5\nprint balance\nretake-next\nprint balance\nretake-next\nretake-back\nprint balance\n\
         retake-back\nprint balance\nretake-back 3\nprint balance\nretake-goto 12\nretake-goto 3\nretake-goto 0.1:2\n\
         continue\n",
    );
    let at = |thread: &str, event| (thread.to_owned(), event);
    let wanted = [
        at("0.2", 5),
        at("0.2", 6),
        at("0.2", 7),
        at("0.2", 6),
        at("0.2", 5),
        at("0.2", 2),
        at("0.2", 12),
        at("0.2", 3),
        at("0.1", 2),
    ];
    assert_eq!(stops(&printed), wanted, "{printed}");
    // 100, 110, 55, 65, 33: between the wait and the post of its round the account is this worker's alone.
    assert_eq!(lines(&printed, "$"), ["$1 = 65", "$2 = 33", "$3 = 33", "$4 = 65", "$5 = 110"], "{printed}");
    assert_eq!(printed.matches("is past; running again").count(), 2, "{printed}");
    assert!(printed.contains("exited normally") && printed.contains("balance 13"), "{printed}");
    take.end();
}

#[test]
fn a_place_is_gone_to_at_the_start() {
    let take = Take::record("place", "debug_relay");
    let event = take.gdb(&["0.1:14"], "info retake\nkill\n");
    assert_eq!(stops(&event), [("0.1".to_owned(), 14)], "{event}");
    assert!(event.contains("* 0.1     13 of 15  lock mutex: stands before it at debug_relay.c:14 (change)"), "{event}");
    let thread = take.gdb(&["0.2"], "kill\n");
    assert_eq!(stops(&thread), [("0.2".to_owned(), 1)], "{thread}");
    let first = take.gdb(&["2"], "kill\n");
    assert_eq!(stops(&first), [("0".to_owned(), 2)], "{first}");
    take.end();
}

#[test]
fn the_next_event_of_any_thread_is_one_that_the_order_allows() {
    let take = Take::record("any", "debug_relay");
    let script = "retake-next-any\n".repeat(30);
    let printed = take.gdb(&[], &script);
    let stops = stops(&printed);
    assert_eq!(stops.len(), 30, "{printed}");
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for (thread, event) in &stops {
        let before = counts.insert(thread, *event).unwrap_or(0);
        assert!(*event > before, "{printed}");
        // Round r of the one who takes begins when the other has given r times, and the other way round.
        let (mine, other) = if thread == "0.1" { ("0.1", "0.2") } else { ("0.2", "0.1") };
        let rounds = |thread: &str| (counts.get(thread).copied().unwrap_or(1) - 1) / 3;
        if mine != "0" && *event > 3 {
            assert!(rounds(other) + 1 >= rounds(mine), "{printed}");
        }
    }
    take.end();
}

#[test]
fn breakpoints_stop_in_two_threads() {
    let take = Take::record("breakpoints", "debug_relay");
    let text = fs::read_to_string(source("debug_relay")).unwrap();
    let posts = text.lines().enumerate().filter(|(_, line)| line.contains("sem_post("));
    let breaks: String = posts.map(|(at, _)| format!("break debug_relay.c:{}\n", at + 1)).collect();
    let script = breaks + "run\n" + &"print balance\ncontinue\n".repeat(10);
    let printed = take.gdb(&[], &script);
    let values: Vec<&str> = lines(&printed, "$").iter().filter_map(|line| line.split(" = ").nth(1)).collect();
    assert_eq!(values, ["110", "55", "65", "33", "43", "22", "32", "16", "26", "13"], "{printed}");
    assert!(printed.contains("balance 13") && printed.contains("exited normally"), "{printed}");
    take.end();
}

#[test]
fn stepping_over_a_lock_that_must_wait() {
    let take = Take::record("step", "debug_relay");
    // The other thread has to go on meanwhile, or the step never ends.
    let printed = take.gdb(&["0.2:4"], "next\nstep\nnext\nnext\nnext\nprint balance\ncontinue\n");
    let shown = printed.lines().filter_map(|line| line.split_once('\t'));
    let shown: Vec<&str> = shown.map(|(_, code)| code.trim()).collect();
    let passed = ["sem_wait(&turns[1]);", "change(-balance / 2);", "static void change(int by) {"];
    assert!(shown.starts_with(&passed), "{shown:?}\n{printed}");
    assert!(printed.contains("balance 13") && printed.contains("exited normally"), "{printed}");
    take.end();
}

#[test]
fn a_deadlock_stops_gdb_by_itself() {
    let take = Take::record("deadlock", "debug_deadlock");
    assert_eq!(take.recorded.ended, 137);
    let printed = take.gdb(&[], "run\ninfo retake\ncontinue\n");
    assert!(printed.contains("the program was ended by SIGKILL here"), "{printed}");
    assert!(printed.contains("Program terminated with signal SIGKILL"), "{printed}");
    let table = printed.lines().skip_while(|line| !line.starts_with("  thread "));
    assert_eq!(unmarked(table.take(4)), unmarked(expected("info-retake.txt").lines()), "{printed}");
    take.end();
}

#[test]
fn what_never_happened_is_no_event() {
    let take = Take::record("behind", "debug_deadlock");
    let script = "python\nfor step in range(9):\n  try:\n    gdb.execute('retake-next-any')\n  except gdb.error as e:\n    \
                  print(e)\n    break\nend\n";
    let printed = take.gdb(&["0.2:3"], script);
    let said = "stands behind its last event, 3; what comes never happened: lock mutex";
    assert!(printed.contains(said) && !printed.contains("event 4 of 3"), "{printed}");
    take.end();
}

#[test]
fn guards_are_shown_by_the_lines_that_use_them() {
    let take = Take::record("guards", "debug_guards");
    let printed = take.gdb(&["0.2:2"], "info retake\nkill\n");
    assert!(
        printed.contains("* 0.2     1 of 2  lock mutex: stands before it at debug_guards.cc:23 (take)"),
        "{printed}"
    );
    let stopped = take.replay(&["--stop-at", "0.2:2"]);
    assert_eq!(stopped.stderr, expected("stop-at-guards.txt"));
    take.end();
}

/// Without the mark of the selected thread, which may be any.
fn unmarked<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    lines.map(|line| line.replacen('*', " ", 1)).collect()
}

#[test]
fn settings_that_cannot_work_are_explained() {
    let take = Take::record("settings", "debug_relay");
    let printed = take.gdb(
        &["0.2:5"],
        "set scheduler-locking on\nset scheduler-locking step\nset scheduler-locking off\nset detach-on-fork off\n\
         set schedule-multiple on\nset schedule-multiple off\nkill\nset non-stop on\n",
    );
    let said = lines(&printed, "retake: ");
    let starts = [
        "retake: thread 0.2 stands",
        "retake: scheduler-locking on: only this thread runs;",
        "retake: scheduler-locking step: only this thread runs while you step;",
        "retake: detach-on-fork off: a child stays stopped",
        "retake: schedule-multiple off: only one process runs;",
        "retake: non-stop: only the thread that comes to an event stops;",
    ];
    assert_eq!(said.len(), starts.len(), "{printed}");
    for (line, start) in said.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}, not {start}");
    }
    take.end();
}

#[test]
fn time_in_the_debugger_is_no_time() {
    let take = Take::record("patience", "debug_relay");
    let script = "break change\nrun\npython import time; time.sleep(4)\ncontinue\ndelete\nretake-goto 0.1:8\n\
                  python time.sleep(4)\ncontinue\n";
    let printed = take.gdb(&["--patience", "1"], script);
    assert!(printed.contains("balance 13") && printed.contains("exited normally"), "{printed}");
    take.end();
}

#[test]
fn a_rebuilt_program_that_prints_more_is_still_debugged() {
    let take = Take::record("rebuilt", "debug_relay");
    let built = Command::new("cc")
        .args(["-O1", "-g", "-DTALK", "-fno-inline", "-pthread", "-o"])
        .arg(&take.program)
        .arg(source("debug_relay"))
        .status()
        .unwrap();
    assert!(built.success());
    let printed = take.gdb(&["0.2:11"], "print balance\nretake-back 3\nprint balance\ncontinue\n");
    assert_eq!(stops(&printed), [("0.2".to_owned(), 11), ("0.2".to_owned(), 8)], "{printed}");
    assert_eq!(lines(&printed, "$"), ["$1 = 32", "$2 = 43"], "{printed}");
    assert!(printed.contains("exited normally") && printed.contains("balance 13"), "{printed}");
    let talk = [10, -55, 10, -32, 10, -21, 10, -16, 10, -13].map(|by| format!("by {by}\n")).concat();
    assert!(printed.contains(&talk), "{printed}");
    take.end();
}

#[test]
fn a_process_that_was_forked_is_attached_to() {
    let take = Take::record("child", "fork_threads");
    let printed = take.gdb(
        &["0.1.1"],
        "retake-goto 0.1.1.2:3\nretake-next\nretake-back 2\ninfo retake\npython print('parent', gdb.selected_inferior().num)\n\
         delete\ncontinue\n",
    );
    let at = |event| ("0.1.1.2".to_owned(), event);
    assert_eq!(stops(&printed), [at(3), at(4), at(2)], "{printed}");
    assert!(printed.contains("retake: process 0.1.1 has begun"), "{printed}");
    assert!(printed.contains("* 0.1.1.2"), "{printed}");
    take.end();
}

#[test]
fn an_event_of_another_process_is_refused_with_the_command_that_works() {
    let take = Take::record("other", "fork_threads");
    let printed = take.gdb(
        &["0.1:2"],
        "python\ntry:\n  gdb.execute('retake-goto 0.1.1:2')\nexcept gdb.error as e:\n  print(e)\nend\nkill\n",
    );
    assert!(printed.contains("is in process 0.1.1, which this gdb does not debug"), "{printed}");
    assert!(printed.contains("--gdb 0.1.1:2"), "{printed}");
    take.end();
}

#[test]
fn an_ide_talks_to_it() {
    let take = Take::record("mi", "debug_relay");
    let retake = take.kit.retake(&take.scratch);
    let mut command = Command::new("timeout");
    command.arg("100").arg(retake.get_program()).current_dir(&take.scratch);
    command.args(["replay", "take", "--gdb", "--gdb-arg=-nx", "--gdb-arg=--interpreter=mi"]);
    command.envs(retake.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut until = |what: &str| output.find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what}"));
    // What VS Code says before it lets the program run.
    writeln!(input, "-environment-cd .\n-file-exec-and-symbols {}", take.program.display()).unwrap();
    writeln!(input, "-break-insert take\n-exec-run").unwrap();
    assert!(until("*stopped").contains("breakpoint-hit"));
    writeln!(input, "-interpreter-exec console \"retake-goto 0.1:6\"").unwrap();
    let stopped = until("*stopped");
    assert!(stopped.contains("thread-id=") && stopped.contains("frame="), "{stopped}");
    until("thread 0.1 stands before event 6");
    writeln!(input, "-data-evaluate-expression balance").unwrap();
    assert!(until("^done").contains("65"));
    writeln!(input, "-break-delete 1\n-exec-continue").unwrap();
    assert!(until("*stopped").contains("exited-normally"));
    writeln!(input, "-gdb-exit").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    take.end();
}

#[test]
fn stop_at_tells_every_thread() {
    let take = Take::record("stop", "debug_relay");
    let stopped = take.replay(&["--stop-at", "0.2:5"]);
    assert_eq!(stopped.ended, 0, "{}", stopped.stderr);
    assert_eq!(stopped.stderr, expected("stop-at.txt"));
    assert!(stopped.stdout.is_empty());
    take.end();
}

#[test]
fn stop_at_the_end_tells_a_deadlock() {
    let take = Take::record("stop-end", "debug_deadlock");
    let stopped = take.replay(&["--stop-at", "end"]);
    assert_eq!(stopped.ended, 0, "{}", stopped.stderr);
    assert_eq!(stopped.stderr, expected("stop-at-end.txt"));
    take.end();
}

#[test]
fn stop_at_is_not_disturbed_by_a_timer_that_ended_the_program() {
    let take = Take::record("stop-timer", "end_deadlock_alarm");
    assert_eq!(take.recorded.ended, 142);
    let stopped = take.replay(&["--stop-at", "0.1:1"]);
    assert_eq!(stopped.ended, 0, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("retake: thread 0.1: 0 of "), "{}", stopped.stderr);
    take.end();
}

#[test]
fn stop_at_tells_what_became_of_a_program_that_executed_another() {
    let take = Take::record("stop-exec", "exec_at");
    let stopped = take.replay(&["--stop-at", "0.4.3:6"]);
    assert_eq!(stopped.ended, 0, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("retake: thread 0: 6 of 6 events; ended\n"), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("retake: thread 0.4.3: 5 of 10 events; lock mutex: stands before it\n"));
    take.end();
}

#[test]
fn stop_at_a_place_that_is_none_is_refused() {
    let take = Take::record("stop-none", "debug_relay");
    for (place, words) in [
        ("0.2:16", "thread 0.2 has events 1 to 15, not 16"),
        ("0.2:0", "thread 0.2 has events 1 to 15, not 0"),
        ("0.9:1", "take has no thread 0.9; it has 0, 0.1, 0.2"),
        ("0.2", "--stop-at 0.2: not THREAD:EVENT"),
        ("end", "the program did not hang: it ended by itself, with exit 0"),
    ] {
        let refused = take.replay(&["--stop-at", place]);
        assert_eq!(refused.ended, 125, "{place}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{place}: {}", refused.stderr);
        assert!(refused.stderr.contains("retake: next: "), "{place}: {}", refused.stderr);
    }
    take.end();
}

/// How far each thread was, as `--stop-at` told it.
fn counts(told: &str) -> HashMap<String, u64> {
    let count = |line: &str| {
        let (thread, rest) = line.strip_prefix("retake: thread ")?.split_once(": ")?;
        Some((thread.to_owned(), rest.split(' ').next()?.parse().ok()?))
    };
    told.lines().filter_map(count).collect()
}

#[test]
fn every_cut_is_consistent() {
    let take = Take::record("cuts", "mutex_bank");
    let shown = take.kit.retake(&take.scratch).args(["show", "--json", "take"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    // Who took each mutex, in the order in which they did.
    let mut orders: HashMap<String, Vec<(String, u64)>> = HashMap::new();
    let mut events: HashMap<String, u64> = HashMap::new();
    for line in shown.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let (Some(thread), Some(event)) = (line["thread"].as_str(), line["event"].as_u64()) else { continue };
        if line["op"] == "lock mutex" && event > 0 {
            orders.entry(line["object"].as_str().unwrap().into()).or_default().push((thread.into(), event));
            events.insert(thread.into(), event);
        }
    }
    assert!(orders.len() >= 8 && events.len() == 4, "{shown}");
    for index in 0..20u64 {
        let thread = format!("0.{}", index % 4 + 1);
        let event = 1 + index * (events[&thread] - 1) / 19;
        let stopped = take.replay(&["--stop-at", &format!("{thread}:{event}")]);
        assert_eq!(stopped.ended, 0, "{}", stopped.stderr);
        let counts = counts(&stopped.stderr);
        assert_eq!(counts[&thread], event - 1, "{}", stopped.stderr);
        for (object, order) in &orders {
            let happened: Vec<bool> = order.iter().map(|(thread, event)| counts[thread] >= *event).collect();
            let prefix = happened.iter().take_while(|happened| **happened).count();
            assert!(!happened[prefix..].contains(&true), "{thread}:{event}, {object}: {order:?}\n{}", stopped.stderr);
        }
    }
    take.end();
}

#[test]
fn a_held_replay_can_be_attached_to() {
    let take = Take::record("hold", "debug_relay");
    let mut command = take.kit.retake(&take.scratch);
    command.args(["replay", "take", "--stop-at", "0.2:5", "--hold"]);
    let mut held = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(held.stderr.take().unwrap()).lines().map_while(Result::ok);
    let attach = said.find_map(|line| Some(line.split_once("process 0 is held; next: ")?.1.to_owned())).unwrap();
    let words: Vec<&str> = attach.split(' ').collect();
    let mut gdb = Command::new(words[0]);
    gdb.args(["-nx", "-batch"]).args(&words[1..]);
    gdb.args(["-ex", "info retake", "-ex", "retake-goto 0.2:6", "-ex", "print balance", "-ex", "continue"]);
    let gdb = gdb.stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&gdb.stdout);
    assert!(printed.contains("0.2     4 of 15  lock mutex: stands before it at debug_relay.c"), "{printed}");
    assert_eq!(stops(&printed), [("0.2".to_owned(), 6)], "{printed}");
    assert!(printed.contains("$1 = 33") && printed.contains("exited normally"), "{printed}");
    assert_eq!(held.wait().unwrap().code(), Some(0));
    take.end();
}
