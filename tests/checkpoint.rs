//! Checkpoints: a participant dies, whatever way, and a sleeping copy of it plays its last events again and again; when it
//! is not needed any more, nothing is left running.

#[path = "samples/mod.rs"]
mod samples;

use retake_testkit::{Kit, Outcome, run};
use samples::{Over, SHARED, STATIC, UNIX, compile, nats, nats_at, samples, samples_in_c, tcp};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// SIGKILL, as an exit status.
const KILLED: i32 = 137;
const ABORTED: i32 = 134;

struct Stage {
    kit: Kit,
    scratch: PathBuf,
}

impl Stage {
    fn new(name: &str) -> Stage {
        let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("checkpoint"));
        let scratch = kit.scratch(name).unwrap();
        Stage { kit, scratch }
    }

    fn retake(&self, arguments: &[&str]) -> Outcome {
        self.retake_over(&UNIX, arguments)
    }

    fn retake_over(&self, over: &Over, arguments: &[&str]) -> Outcome {
        let mut command = self.kit.retake(&self.scratch);
        command.envs(over.iter().map(|(name, value)| (name, value))).args(arguments);
        run(&mut command, &self.scratch, self.kit.limits).unwrap_or_else(|why| panic!("{arguments:?}: {why}"))
    }

    /// A script in which the server is killed when the client has all its replies.
    fn script(&self, bin: &Path) -> PathBuf {
        let path = self.scratch.join("run.sh");
        let bin = bin.display();
        let lines = format!("{bin}/care-server 100 &\nserver=$!\n{bin}/care-client1\nkill -9 $server\nwait $server\n");
        fs::write(&path, lines).unwrap();
        path
    }

    /// The processes that sleep for the take.
    fn sleepers(&self) -> Vec<u32> {
        let listed = self.retake(&["checkpoints", "--json", "take"]);
        assert_eq!(listed.ended, 0, "{}", listed.stderr);
        let text = String::from_utf8(listed.stdout).unwrap();
        let pid = |line: &str| {
            assert!(line.contains("\"participant\":\"server\""), "{line}");
            line.split("\"pid\":").nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        text.lines().map(|line| pid(line).unwrap_or_else(|| panic!("{line}"))).collect()
    }

    /// Ends who sleeps, and requires that they are gone.
    fn end(&self) {
        let sleepers = self.sleepers();
        let ended = self.retake(&["checkpoints", "--end", "take"]);
        assert_eq!(ended.ended, 0, "{}", ended.stderr);
        assert!(self.sleepers().is_empty());
        await_end(&sleepers);
    }
}

/// Waits until none of these processes runs.
fn await_end(pids: &[u32]) {
    let runs = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with(['Z', 'X']))
    };
    for _ in 0..1000 {
        if !pids.iter().any(runs) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("still there: {pids:?}");
}

fn lines(outcome: &Outcome, start: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    text.lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
}

/// Of the server's fifteen events, twelve lie before the last checkpoint; two messages are received behind it. The last
/// event, a reply, may be sent and not on the tape yet when the server is killed.
const TAIL: [&str; 2] = [
    "server: from client1, id 9: This is client1 message 9",
    "server: from client1, id 10: This is client1 message 10",
];

fn tail_twice(stage: &Stage, which: &[&str]) {
    for _ in 0..2 {
        let replayed = stage.retake(&[&["replay"], which, &["--only", "server"]].concat());
        assert_eq!(replayed.ended, KILLED, "{}", replayed.stderr);
        assert_eq!(lines(&replayed, ""), TAIL);
    }
}

/// Under `retake record`.
fn killed(name: &str, over: &Over, bin: impl FnOnce(&Path) -> PathBuf) {
    let stage = Stage::new(name);
    stage.script(&bin(&stage.scratch));
    let recorded = stage.retake_over(over, &["record", "--checkpoint-every", "4", "-o", "take", "--", "sh", "run.sh"]);
    assert_eq!(recorded.ended, KILLED, "{}", recorded.stderr);
    assert!(recorded.stderr.contains("server died; a sleeping copy"), "{}", recorded.stderr);
    assert!(!recorded.stderr.contains("is not checkpointed"), "{}", recorded.stderr);
    assert_eq!(stage.sleepers().len(), 1);
    tail_twice(&stage, &["take"]);
    let whole = stage.retake(&["replay", "take"]);
    assert_eq!(whole.ended, 125, "{}", whole.stderr);
    assert!(whole.stderr.contains("next: retake checkpoints"), "{}", whole.stderr);
    let shown = stage.retake(&["show", "take", "--participant", "server"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("begins at the checkpoint behind event 12"), "{shown}");
    assert!(shown.contains("received message 9") && !shown.contains("received message 7"), "{shown}");
    stage.end();
    let gone = stage.retake(&["replay", "take", "--only", "server"]);
    assert_eq!(gone.ended, 125);
    assert!(gone.stderr.contains("the sleeping copy of server is gone"), "{}", gone.stderr);
}

#[test]
fn the_tail_of_a_killed_server_is_played_twice() {
    killed("killed", &UNIX, |_| samples().to_owned());
}

#[test]
fn the_tail_of_a_killed_server_is_played_twice_in_c() {
    killed("killed-c", &UNIX, |scratch| samples_in_c(scratch, &SHARED));
}

/// There the library has a thread of its own, which no copy has or needs.
#[test]
fn the_tail_of_a_killed_server_is_played_twice_over_tcp() {
    killed("killed-tcp", &tcp(21), |_| samples().to_owned());
}

#[test]
fn the_tail_of_a_killed_server_is_played_twice_over_tcp_in_c() {
    killed("killed-tcp-c", &tcp(22), |scratch| samples_in_c(scratch, &STATIC));
}

#[test]
fn the_tail_of_a_killed_server_is_played_twice_over_nats() {
    let nats = nats(21, &[]);
    killed("killed-nats", &nats_at(&nats), |_| samples().to_owned());
}

#[test]
fn the_tail_of_a_killed_server_is_played_twice_over_nats_in_c() {
    let nats = nats(22, &[]);
    killed("killed-nats-c", &nats_at(&nats), |scratch| samples_in_c(scratch, &SHARED));
}

/// Without the command line: the variables alone choose the mode, and no shim is there.
fn killed_without_shim(name: &str, bin: impl FnOnce(&Path) -> PathBuf) {
    let stage = Stage::new(name);
    let path = stage.script(&bin(&stage.scratch));
    fs::create_dir(stage.scratch.join("take")).unwrap();
    let mut shell = Command::new("sh");
    shell.arg(&path).current_dir(&stage.scratch).env("RETAKE_GROUP", format!("{name}-{}", std::process::id()));
    shell.env("RETAKE_MODE", "checkpoint").env("RETAKE_CHECKPOINT_EVERY", "4");
    shell.env("RETAKE_TAKE", stage.scratch.join("take"));
    let recorded = run(&mut shell, &stage.scratch, stage.kit.limits).unwrap();
    assert_eq!(recorded.ended, KILLED, "{}", recorded.stderr);
    let sleepers = stage.sleepers();
    assert_eq!(sleepers.len(), 1);
    tail_twice(&stage, &["./take"]);
    // A take that is gone takes its sleepers along.
    fs::remove_dir_all(stage.scratch.join("take")).unwrap();
    await_end(&sleepers);
}

#[test]
fn without_the_shim() {
    killed_without_shim("alone", |_| samples().to_owned());
}

#[test]
fn without_the_shim_in_c() {
    killed_without_shim("alone-c", |scratch| samples_in_c(scratch, &STATIC));
}

/// What the shim records of the process comes back in the tail: times, children, the end.
#[test]
fn a_crash_comes_again_with_its_times() {
    let stage = Stage::new("crash");
    compile("tests/samples/stamp.c", &stage.scratch.join("stamp"), &STATIC);
    fs::write(
        stage.scratch.join("run.sh"),
        format!("./stamp & server=$!\n{}/care-client1\nwait $server\n", samples().display()),
    )
    .unwrap();
    let recorded = stage.retake(&["record", "--checkpoint-every", "4", "-o", "take", "--", "sh", "run.sh"]);
    assert_eq!(recorded.ended, ABORTED, "{}", recorded.stderr);
    let said = lines(&recorded, "server:");
    assert_eq!(said.len(), 8, "{said:?}");
    let log = fs::read(stage.scratch.join("log")).unwrap();
    for _ in 0..3 {
        let replayed = stage.retake(&["replay", "take", "--only", "server"]);
        assert_eq!(replayed.ended, ABORTED, "{}", replayed.stderr);
        // Twelve events; the last checkpoint stands behind the eighth, of which two are replies.
        assert_eq!(lines(&replayed, "server:"), said[6..], "{}", replayed.stderr);
        assert_eq!(fs::read(stage.scratch.join("log")).unwrap(), log);
    }
    let sleepers = stage.sleepers();
    assert_eq!(stage.retake(&["rm", "./take"]).ended, 0);
    await_end(&sleepers);
}

/// Whoever finishes leaves nobody behind; a process with several threads is not copied, but stays whole on its tape.
#[test]
fn what_finishes_leaves_nothing_and_threads_are_refused_in_words() {
    let stage = Stage::new("finished");
    let commands =
        ["care-server", "care-client1", "care-client2"].map(|name| format!("{}/{name} &\n", samples().display()));
    fs::write(stage.scratch.join("run.sh"), format!("{}wait\n", commands.concat())).unwrap();
    let recorded = stage.retake(&["record", "--checkpoint-every", "2", "-o", "take", "--", "sh", "run.sh"]);
    assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
    assert!(!recorded.stderr.contains("died"), "{}", recorded.stderr);
    assert!(recorded.stderr.contains("client2a is not checkpointed: "), "{}", recorded.stderr);
    assert!(stage.sleepers().is_empty());
    assert!(!fs::read_dir(stage.scratch.join("take")).unwrap().flatten().any(|item| {
        let name = item.file_name().to_string_lossy().into_owned();
        name.ends_with(".copy") || name.ends_with(".next")
    }));
    let replayed = stage.retake(&["replay", "take", "--only", "client2a"]);
    assert_eq!(replayed.ended, 0, "{}", replayed.stderr);
    assert_eq!(lines(&replayed, "client2a:"), lines(&recorded, "client2a:"));
}

/// The tail of one that still runs can be played, too; it is not disturbed.
#[test]
fn whenever_asked() {
    let stage = Stage::new("asked");
    let bin = samples().display();
    let go = stage.scratch.join("go");
    let lines_of = format!(
        "{bin}/care-server 20 & server=$!\n{bin}/care-client1\ntouch half\nn=0\n\
         while ! test -e {} && test $n -lt 1500; do n=$((n+1)); sleep 0.02; done\n\
         {bin}/care-client1 client3\nwait $server\n",
        go.display()
    );
    fs::write(stage.scratch.join("run.sh"), lines_of).unwrap();
    let mut record = stage.kit.retake(&stage.scratch);
    record.args(["record", "--checkpoint-every", "4", "-o", "take", "--", "sh", "run.sh"]);
    let out = fs::File::create(stage.scratch.join("out")).unwrap();
    let mut recorder = record.stdout(out).spawn().unwrap();
    for _ in 0..1500 {
        if stage.scratch.join("half").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let sleepers = stage.sleepers();
    for _ in 0..2 {
        let replayed = stage.retake(&["replay", "./take", "--only", "server"]);
        assert_eq!(replayed.ended, KILLED, "{}", replayed.stderr);
        assert!(replayed.stderr.contains("server still runs"), "{}", replayed.stderr);
        assert_eq!(lines(&replayed, ""), TAIL);
    }
    fs::write(go, "").unwrap();
    assert!(recorder.wait().unwrap().success());
    let text = fs::read_to_string(stage.scratch.join("out")).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("server:")).count(), 20, "{text}");
    assert!(stage.sleepers().is_empty());
    await_end(&sleepers);
}
