//! Programs that use the `retake` library, recorded and replayed from the command line: the samples of `examples/care`.

mod samples;

use retake_testkit::{Authority, Kit, Outcome, run};
use samples::{Over, PARTICIPANTS, SHARED, STATIC, UNIX, compile, nats, nats_at, over, samples, samples_in_c, tcp};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn kit() -> Kit {
    Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("care"))
}

/// Writes a script that runs these commands side by side, each a sample with its arguments.
fn script(scratch: &Path, commands: &[&str]) -> PathBuf {
    script_in(scratch, samples(), commands)
}

fn script_in(scratch: &Path, bin: &Path, commands: &[&str]) -> PathBuf {
    let lines: String = commands.iter().map(|command| format!("{}/{command} &\n", bin.display())).collect();
    let path = scratch.join("run.sh");
    fs::write(&path, format!("{lines}wait\n")).expect("a script");
    path
}

fn retake(kit: &Kit, scratch: &Path, arguments: &[&str]) -> Outcome {
    retake_over(&UNIX, kit, scratch, arguments)
}

fn retake_over(over: &Over, kit: &Kit, scratch: &Path, arguments: &[&str]) -> Outcome {
    let mut command = kit.retake(scratch);
    command.envs(over.iter().map(|(name, value)| (name, value))).args(arguments);
    run(&mut command, scratch, kit.limits).unwrap_or_else(|why| panic!("{arguments:?}: {why}"))
}

/// The lines of each participant in their order; between participants the terminal decides, not the tape.
fn lines_of(outcome: &Outcome, participant: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    text.lines().filter(|line| line.starts_with(participant)).map(str::to_owned).collect()
}

/// The three samples together, as in the thesis.
const SAMPLES: [&str; 3] = ["care-server", "care-client1", "care-client2"];

/// Captures the samples together, over one transport, and replays them 50 times over it, and some times over others.
fn everyone(name: &str, bin: impl FnOnce(&Path) -> PathBuf, carrier: &Over, others: &[&Over]) -> PathBuf {
    let kit = kit();
    let scratch = kit.scratch(name).unwrap();
    script_in(&scratch, &bin(&scratch), &SAMPLES);
    let recorded = retake_over(carrier, &kit, &scratch, &["record", "-o", "take", "--", "sh", "run.sh"]);
    assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
    assert_eq!(lines_of(&recorded, "server:").len(), 15);
    assert_eq!(lines_of(&recorded, "client2b:").last().map(String::as_str), Some("client2b: no more messages"));
    for (over, times) in [(carrier, 50)].into_iter().chain(others.iter().map(|over| (*over, 3))) {
        for time in 1..=times {
            let replayed = retake_over(over, &kit, &scratch, &["replay", "take"]);
            assert_eq!(replayed.ended, 0, "replay {time} over {over:?}: {}", replayed.stderr);
            for participant in PARTICIPANTS.map(|name| format!("{name}:")) {
                let (now, then) = (lines_of(&replayed, &participant), lines_of(&recorded, &participant));
                assert_eq!(now, then, "replay {time} over {over:?}");
            }
        }
    }
    scratch
}

fn in_rust(_: &Path) -> PathBuf {
    samples().to_owned()
}

fn in_c(scratch: &Path) -> PathBuf {
    samples_in_c(scratch, &SHARED)
}

#[test]
fn every_message_is_received_as_it_was() {
    everyone("order", in_rust, &UNIX, &[&tcp(1)]);
}

#[test]
fn every_message_is_received_as_it_was_in_c() {
    everyone("order-c", in_c, &UNIX, &[&tcp(2)]);
}

#[test]
fn every_message_is_received_as_it_was_over_tcp() {
    everyone("tcp", in_rust, &tcp(3), &[&UNIX]);
}

#[test]
fn every_message_is_received_as_it_was_over_tcp_in_c() {
    everyone("tcp-c", in_c, &tcp(4), &[&UNIX]);
}

#[test]
fn every_message_is_received_as_it_was_over_nats() {
    let nats = nats(1, &[]);
    let scratch = everyone("nats", in_rust, &nats_at(&nats), &[&UNIX]);
    let kept = fs::read(scratch.join("take/take.json")).unwrap();
    assert!(!String::from_utf8_lossy(&kept).contains("samples@"), "the password is not kept");
}

#[test]
fn every_message_is_received_as_it_was_over_nats_in_c() {
    let nats = nats(2, &[]);
    everyone("nats-c", in_c, &nats_at(&nats), &[&UNIX]);
}

/// How many threads a recording has seen, as it says.
fn threads(recorded: &Outcome) -> &str {
    let words = recorded.stderr.split(" threads").next().unwrap_or_default();
    words.rsplit(' ').next().unwrap_or_default()
}

/// Nothing of what TLS does is the program's: not its random numbers, not its clock.
#[test]
fn a_take_made_through_tls_replays_without_it() {
    let kit = kit();
    let folder = kit.scratch("tls-files").unwrap();
    let authority = Authority::new(&folder, "authority");
    let [_, _, a, b] = std::process::id().to_be_bytes();
    let (certificate, key) = authority.sign("server", &format!("IP:127.213.{a}.{b}"));
    let files = [certificate, key].map(|path| path.to_str().unwrap().to_owned());
    let nats = nats(3, &["--tls", "--tlscert", &files[0], "--tlskey", &files[1]]);
    let mut tls = over(&format!("tls://retake:samples@{}", nats.address));
    tls.push(("NATS_CA", authority.file().to_str().unwrap().into()));
    for (name, bin) in [("tls", in_rust as fn(&Path) -> PathBuf), ("tls-c", in_c)] {
        let scratch = kit.scratch(name).unwrap();
        script_in(&scratch, &bin(&scratch), &SAMPLES);
        let recorded = retake_over(&tls, &kit, &scratch, &["record", "--full", "-o", "take", "--", "sh", "run.sh"]);
        assert_eq!((recorded.ended, lines_of(&recorded, "server:").len()), (0, 15), "{}", recorded.stderr);
        let plain = retake(&kit, &scratch, &["record", "-o", "plain", "--", "sh", "run.sh"]);
        assert_eq!(threads(&recorded), threads(&plain), "{}", recorded.stderr);
        for over in [&UNIX, &tls, &UNIX, &tls] {
            let replayed = retake_over(over, &kit, &scratch, &["replay", "take"]);
            assert_eq!(replayed.ended, 0, "over {over:?}: {}", replayed.stderr);
            for participant in PARTICIPANTS.map(|name| format!("{name}:")) {
                assert_eq!(lines_of(&replayed, &participant), lines_of(&recorded, &participant), "over {over:?}");
            }
        }
        let alone = retake(&kit, &scratch, &["replay", "take", "--only", "server"]);
        assert_eq!(lines_of(&alone, "server:"), lines_of(&recorded, "server:"), "{}", alone.stderr);
    }
}

#[test]
fn each_participant_runs_alone_from_a_full_take() {
    let kit = kit();
    let scratch = kit.scratch("alone").unwrap();
    one_by_one(&kit, &scratch, samples(), &UNIX);
}

#[test]
fn each_participant_runs_alone_from_a_full_take_in_c() {
    let kit = kit();
    let scratch = kit.scratch("alone-c").unwrap();
    one_by_one(&kit, &scratch, &samples_in_c(&scratch, &STATIC), &UNIX);
}

#[test]
fn each_participant_runs_alone_from_a_full_take_made_over_tcp() {
    let kit = kit();
    for (name, bin, number) in [("alone-tcp", in_rust as fn(&Path) -> PathBuf, 5), ("alone-tcp-c", in_c, 6)] {
        let scratch = kit.scratch(name).unwrap();
        one_by_one(&kit, &scratch, &bin(&scratch), &tcp(number));
    }
}

#[test]
fn each_participant_runs_alone_from_a_full_take_made_over_nats() {
    let kit = kit();
    for (name, bin, number) in [("alone-nats", in_rust as fn(&Path) -> PathBuf, 5), ("alone-nats-c", in_c, 6)] {
        let scratch = kit.scratch(name).unwrap();
        let nats = nats(number, &[]);
        one_by_one(&kit, &scratch, &bin(&scratch), &nats_at(&nats));
    }
}

/// Captures the samples with contents, over one transport, and replays each participant alone, over none.
fn one_by_one(kit: &Kit, scratch: &Path, bin: &Path, over: &Over) {
    script_in(scratch, bin, &SAMPLES);
    let recorded = retake_over(over, kit, scratch, &["record", "--full", "-o", "take", "--", "sh", "run.sh"]);
    assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
    for participant in PARTICIPANTS {
        for _ in 0..3 {
            let replayed = retake(kit, scratch, &["replay", "take", "--only", participant]);
            assert_eq!(replayed.ended, 0, "{participant}: {}", replayed.stderr);
            let start = format!("{participant}:");
            assert_eq!(lines_of(&replayed, &start), lines_of(&recorded, &start));
            let others = if participant.starts_with("client2") { "server:" } else { "client2a:" };
            assert!(lines_of(&replayed, others).is_empty(), "{participant} is alone");
        }
    }
    let replayed = retake(kit, scratch, &["replay", "take"]);
    assert_eq!(lines_of(&replayed, "server:"), lines_of(&recorded, "server:"));
}

#[test]
fn a_light_take_and_a_wrong_name_are_refused_with_the_remedy() {
    let kit = kit();
    let scratch = kit.scratch("light").unwrap();
    script(&scratch, &["care-server 10", "care-client1"]);
    retake(&kit, &scratch, &["record", "-o", "take", "--", "sh", "run.sh"]);
    let light = retake(&kit, &scratch, &["replay", "take", "--only", "server"]);
    assert_eq!(light.ended, 125);
    assert!(light.stderr.contains("retake record --full"), "{}", light.stderr);
    let wrong = retake(&kit, &scratch, &["replay", "take", "--only", "nobody"]);
    assert_eq!(wrong.ended, 125);
    assert!(wrong.stderr.contains("client1, server"), "{}", wrong.stderr);
}

#[test]
fn a_participant_that_does_something_else_has_diverged() {
    let kit = kit();
    let scratch = kit.scratch("diverged").unwrap();
    let server = samples().join("care-server");
    script(&scratch, &["care-server 10", "care-client1"]);
    retake(&kit, &scratch, &["record", "--full", "-o", "take", "--", "sh", "run.sh"]);
    // It ends after fewer messages than it had.
    let server = server.to_str().unwrap();
    let replayed = retake(&kit, &scratch, &["replay", "take", "--only", "server", "--", server, "3"]);
    assert_eq!(replayed.ended, 120, "{}", replayed.stderr);
    assert!(replayed.stderr.contains("diverged in thread server"), "{}", replayed.stderr);
}

#[test]
fn a_part_is_shown_as_readable_lines() {
    let kit = kit();
    let scratch = kit.scratch("show").unwrap();
    script(&scratch, &["care-server 10", "care-client1"]);
    retake(&kit, &scratch, &["record", "--full", "-o", "take", "--", "sh", "run.sh"]);
    let shown = retake(&kit, &scratch, &["show", "take", "--participant", "server"]);
    let text = String::from_utf8(shown.stdout).unwrap();
    for line in
        ["received message 1 from client1", "received call 2 from client1", "This is client1 message 2", "finished"]
    {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let packed = retake(&kit, &scratch, &["pack", "take", "-o", "x.retake"]);
    assert_eq!(packed.ended, 0, "{}", packed.stderr);
    let from_pack = retake(&kit, &scratch, &["replay", "--trust", "x.retake", "--only", "client1"]);
    assert_eq!(from_pack.ended, 0, "{}", from_pack.stderr);
}

/// Each participant's tape, with orders, hosts, versions and, if they are kept, contents.
#[test]
fn the_tapes_of_all_samples_are_readable() {
    let kit = kit();
    let scratch = kit.scratch("readable").unwrap();
    script(&scratch, &SAMPLES);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for (take, options) in [("light", &["--trace", "all"][..]), ("full", &["--full"])] {
        let record = [&["record", "-o", take], options, &["--", "sh", "run.sh"]].concat();
        let recorded = retake(&kit, &scratch, &record);
        assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
        let shown = |participant: &str| {
            let shown = retake(&kit, &scratch, &["show", take, "--participant", participant]);
            assert_eq!(shown.ended, 0, "{}", shown.stderr);
            String::from_utf8(shown.stdout).unwrap()
        };
        let has = |participant: &str, lines: &[String]| {
            let text = shown(participant);
            let mut rest = text.lines();
            for line in lines {
                assert!(
                    rest.any(|shown| shown.ends_with(line)),
                    "{participant}: {line} is not in its place in\n{text}"
                );
            }
        };
        // As in the thesis: what came from whom on which host, versions and their readers, what timed out.
        let kept = |text: String| (take == "full").then(|| format!("{} bytes: {text}", text.len()));
        let (mut first, mut third) = (vec!["found server".to_owned()], Vec::new());
        first.push(format!("partner server on {}", host.trim()));
        let mut second = vec!["object Number".to_owned(), "wrote object Number version 1, 0 had read it".into()];
        for (round, id) in (1..=5).map(|round| (round, 2 * round)) {
            first.push(format!("reply from server to message {id}"));
            first.extend(kept(format!("reply to message {id} from client1 on host {}", host.trim())));
            third.push(format!("received call {id} from client2a, its {round}. to here"));
            third.extend(kept(format!("This is client2a message {id}")));
            third.push(format!("wrote object Number version {id}, 1 had read it"));
            third.extend(kept(id.to_string()));
            second.push(format!("reply from client2b to message {id}"));
            second.push(format!("read object Number version {}", id + 1));
            second.extend(kept((49 + round).to_string()));
        }
        third.push("nothing came in time".into());
        for (participant, mut lines) in [("client1", first), ("client2a", second), ("client2b", third)] {
            lines.push("finished".into());
            has(participant, &lines);
        }
        // The server's lines stand in the order in which it printed what it received.
        let received = lines_of(&recorded, "server:").into_iter().map(|line| {
            let (_, rest) = line.split_once("from ").expect("a sender");
            let (name, rest) = rest.split_once(", id ").expect("an id");
            format!("{} from {name}, its ", rest.split(':').next().unwrap_or_default())
        });
        let text = shown("server");
        let mut lines = text.lines().filter(|line| line.contains("received "));
        for one in received {
            assert!(lines.next().is_some_and(|line| line.contains(&one)), "{one} is not in its place in\n{text}");
        }
        assert_eq!(lines.next(), None);
    }
}

/// Without the command line: the variables alone choose the mode.
#[test]
fn the_environment_chooses_the_mode() {
    let kit = kit();
    let scratch = kit.scratch("variables").unwrap();
    let path = script(&scratch, &["care-server 20", "care-client1 one", "care-client1 two"]);
    fs::create_dir(scratch.join("take")).unwrap();
    let group = format!("test-{}", std::process::id());
    let play = |mode: &str| {
        let mut shell = Command::new("sh");
        shell.arg(&path).current_dir(&scratch).env("RETAKE_GROUP", &group);
        shell.env("RETAKE_MODE", mode).env("RETAKE_TAKE", scratch.join("take"));
        run(&mut shell, &scratch, kit.limits).unwrap()
    };
    let recorded = play("capture");
    for _ in 0..10 {
        assert_eq!(lines_of(&play("replay"), "server:"), lines_of(&recorded, "server:"));
    }
}

/// Lines of several processes on one terminal.
#[test]
fn the_order_of_written_lines_comes_back() {
    let kit = kit();
    let scratch = kit.scratch("lines").unwrap();
    script(&scratch, &["lines one", "lines two", "lines three"]);
    let recorded = retake(&kit, &scratch, &["record", "--full", "-o", "take", "--", "sh", "run.sh"]);
    assert_eq!((recorded.ended, recorded.stdout.split(|byte| *byte == b'\n').count()), (0, 61), "{}", recorded.stderr);
    for time in 1..=10 {
        let replayed = retake(&kit, &scratch, &["replay", "take"]);
        assert_eq!(replayed.ended, 0, "replay {time}: {}", replayed.stderr);
        assert_eq!(replayed.stdout, recorded.stdout, "replay {time}");
    }
    let alone = retake(&kit, &scratch, &["replay", "take", "--only", "two"]);
    assert_eq!(lines_of(&alone, "two"), lines_of(&recorded, "two"), "{}", alone.stderr);
}

/// What C cannot forbid is found.
#[test]
fn forgotten_guards_are_told_in_c() {
    let kit = kit();
    let scratch = kit.scratch("guards").unwrap();
    let program = scratch.join("guards");
    compile("tests/library/guards.c", &program, &STATIC);
    let group = format!("guards-{}", std::process::id());
    let said = |mistake: &str, checked: bool| {
        let mut command = Command::new(&program);
        command.arg(mistake).env("RETAKE_GROUP", &group);
        if checked {
            command.env("RETAKE_CHECK", "1");
        }
        run(&mut command, &scratch, kit.limits).unwrap().stderr
    };
    let changed = "retake: object Number was changed without retake_write_entry; guards has noticed it\n";
    assert_eq!(said("outside", true), changed);
    assert_eq!(said("reading", true), changed);
    assert_eq!(said("held", true), "retake: guards finishes with 1 guards of shared objects not released\n");
    assert_eq!(said("none", true), "");
    assert_eq!(said("outside", false), "");
}

/// `retake explore` orders the threads of a program that explores by itself: there its closure runs once in each run.
#[test]
fn a_program_that_explores_is_explored_from_outside() {
    let kit = kit();
    let scratch = kit.scratch("explore").unwrap();
    let program = samples().join("explore");
    let explored = retake(&kit, &scratch, &["explore", "-j", "1", "--", &program.to_string_lossy()]);
    assert_eq!(explored.ended, 1, "{}", explored.stderr);
    for words in
        ["deadlock: 2 threads wait for ever", "replayed 3 of 3: same failure", "runs once, and is not explored"]
    {
        assert!(explored.stderr.contains(words), "no `{words}`: {}", explored.stderr);
    }
}

/// `retake::sync`: locks, conditions, channels, atomics of a Rust program.
#[test]
fn the_order_of_rust_locks_comes_back() {
    let kit = kit();
    let scratch = kit.scratch("sync").unwrap();
    kit.record_and_replay(&samples().join("sync-order"), &[], &scratch, 50, Some(0)).unwrap();
}
