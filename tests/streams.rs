//! A replay has standard streams of the kinds that the recording had, whatever they lead to now; what is written comes there.
//!
//! `script` makes the terminals.

use retake_testkit::{Fixture, Kit, run};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Place {
    kit: Kit,
    dir: PathBuf,
    program: PathBuf,
}

/// What came of a script.
struct Ran {
    stdout: String,
    stderr: String,
    ended: i32,
}

impl Place {
    fn new(name: &str) -> Place {
        let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("streams"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/robust/streams.c");
        let program = kit.compile(&Fixture::load(&source).unwrap()).unwrap();
        let dir = kit.scratch(name).unwrap();
        Place { kit, dir, program }
    }

    /// Runs a script; `$retake` and `$program` are there, and `at_terminal SCRIPT` runs one at a terminal of 33 rows.
    fn run(&self, script: &str) -> Ran {
        let at_terminal = "at_terminal() { script -qec \"stty rows 33 cols 77 -opost; $1\" /dev/null </dev/null; }\nexport retake program\n";
        let mut shell = Command::new("sh");
        shell.current_dir(&self.dir).args(["-c", &format!("{at_terminal}{script}")]);
        for (name, value) in self.kit.retake(&self.dir).get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("retake", env!("CARGO_BIN_EXE_retake")).env("program", &self.program);
        let ran = run(&mut shell, &self.dir, self.kit.limits).unwrap();
        let stdout = String::from_utf8_lossy(&ran.stdout).replace('\r', "");
        Ran { stdout, stderr: ran.stderr, ended: ran.ended }
    }

    /// Runs both; what each wrote, of both streams together, and how it ended.
    fn both(&self, record: &str, replay: &str) -> [String; 2] {
        [record, replay].map(|script| {
            let ran = self.run(script);
            let text = ran.stdout + &ran.stderr;
            text.lines().filter(|line| !line.starts_with("retake:")).map(|line| format!("{line}\n")).collect::<String>()
                + &format!("ended {}", ran.ended)
        })
    }
}

const RECORD: &str = "$retake record -q -o take -- $program";

fn lines(kinds: &str) -> String {
    let line = |at| format!("out {at}: {kinds}\nerror {at}\n");
    (0..3).map(line).collect::<String>() + "read 0\nended 3"
}

#[test]
fn what_was_a_terminal_is_one() {
    let place = Place::new("terminal");
    let record = format!("at_terminal '{RECORD} </dev/null'");
    for replay in [
        "$retake replay take </dev/null >out 2>&1; end=$?; cat out; exit $end",
        "{ $retake replay take </dev/null 2>&1; echo $? >end; } | cat; exit $(cat end)",
        "at_terminal '$retake replay take </dev/null'",
    ] {
        let [recorded, replayed] = place.both(&record, replay);
        assert_eq!(recorded, lines("other terminal terminal 33x77"), "{replay}");
        assert_eq!(replayed, recorded, "{replay}");
        place.run("rm -r take");
    }
}

#[test]
fn a_terminal_to_read_from_is_one() {
    let place = Place::new("reads");
    let [recorded, replayed] = place.both(
        &format!("at_terminal '(sleep 0.1; printf \"\\004\") | {RECORD}'"),
        "$retake replay take </dev/null 2>&1",
    );
    assert_eq!(recorded, lines("pipe terminal terminal 33x77").replace("read 0", "read 1"));
    assert_eq!(replayed.lines().next(), recorded.lines().next());
    place.run("rm -r take");
    let recorded = place.run(&format!("script -qec '{RECORD}' /dev/null </dev/null")).stdout;
    let replayed = place.run("$retake replay take </dev/null 2>&1").stdout;
    assert!(recorded.contains("out 2: terminal terminal terminal"), "{recorded}");
    assert!(replayed.contains("out 2: terminal terminal terminal") && replayed.contains("read 0"), "{replayed}");
}

#[test]
fn what_was_none_is_none() {
    let place = Place::new("none");
    let cases = [
        ("{ $R </dev/null 2>&1; echo $? >end; } | cat; exit $(cat end)", "other pipe pipe 0x0"),
        ("$R </dev/null >out 2>&1; end=$?; cat out; exit $end", "other file file 0x0"),
    ];
    for (record, kinds) in cases {
        let [recorded, replayed] = place.both(&record.replace("$R", RECORD), "at_terminal '$retake replay take'");
        assert_eq!(recorded, lines(kinds), "{record}");
        assert_eq!(replayed, recorded, "{record}");
        place.run("rm -r take");
    }
}

#[test]
fn each_output_of_its_own_kind() {
    let place = Place::new("each");
    place.run(&format!("{{ {RECORD} </dev/null 2>error; }} | cat"));
    let ran = place.run("$retake replay take >out 2>again </dev/null; cat out; echo; cat again");
    let (out, error) = ran.stdout.split_once("\n\n").unwrap();
    assert!(out.lines().take(3).all(|line| line.ends_with(": other pipe file 0x0")), "{out}");
    assert_eq!(error, "error 0\nerror 1\nerror 2\n");
}

#[test]
fn a_debugger_shows_what_was_recorded() {
    let place = Place::new("debugger");
    place.run(&format!("{{ {RECORD} </dev/null 2>&1; }} | cat"));
    let script = "printf 'run\\nquit\\n' >commands; \
                  script -qec '$retake replay --gdb take' /dev/null <commands; sleep 0.5";
    let shown = place.run(script).stdout;
    assert!(shown.contains("out 2: other pipe pipe 0x0"), "{shown}");
}

/// Who reads a few lines and goes away ends the program as it would without a pipe in between.
#[test]
fn what_passes_on_for_a_debugger_ends_with_the_program() {
    let place = Place::new("debugger_ends");
    place.run(&format!("{RECORD} </dev/null >out 2>&1"));
    // `cat` reads until nobody has the pipe any more.
    let commands = "--gdb --gdb-arg=-batch --gdb-arg=-ex --gdb-arg=run";
    let ran = place.run(&format!("$retake replay take {commands} </dev/null 2>&1 | timeout 20 cat; exit $?"));
    assert_eq!(ran.ended, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("out 2: "), "{}", ran.stdout);
}

#[test]
fn who_does_not_take_the_output_ends_the_program() {
    let place = Place::new("taken");
    place.run("at_terminal '$retake record -q -o take -- sh -c \"seq 100000; exit 3\" </dev/null' >/dev/null");
    let ran = place.run("$retake replay take </dev/null | head -3");
    assert_eq!(ran.stdout, "1\n2\n3\n");
}
