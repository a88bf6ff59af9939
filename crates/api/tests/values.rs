//! Values that a participant reads through the library: a replay gets them again, from the variables alone.

use retake::init;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Not a test: what the recorded process does.
#[test]
fn helper() {
    let Ok(name) = std::env::var("TEST_NAME") else { return };
    let mut me = init(&name).unwrap();
    let mut bytes = [0; 16];
    me.random(&mut bytes).unwrap();
    println!("value: random {bytes:?}");
    while let Some(line) = me.read_line().unwrap() {
        println!("value: line {line:?} at {:?}", me.time().unwrap());
    }
    println!("value: the end of the input, again {:?}", me.read_line().unwrap());
    me.finish();
}

/// Runs the helper with this input; the lines that it says.
fn run(mode: &str, take: &Path, input: &str) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["helper", "--exact", "--nocapture"]).env("TEST_NAME", format!("values-{}", std::process::id()));
    command.env("RETAKE_MODE", mode).env("RETAKE_TAKE", take).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A replay does not read it, and may have ended by now.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{mode}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|line| line.starts_with("value: ")).map(str::to_owned).collect()
}

#[test]
fn a_replay_reads_what_was_read() {
    for mode in ["capture", "full"] {
        let take = std::env::temp_dir().join(format!("retake-values-{mode}-{}", std::process::id()));
        std::fs::create_dir_all(&take).unwrap();
        let recorded = run(mode, &take, "one\ntwo\nwithout an end");
        assert_eq!(recorded.len(), 5, "{recorded:?}");
        assert!(recorded[1].starts_with("value: line \"one\\n\" at ") && recorded[4].ends_with("None"), "{recorded:?}");
        assert_eq!(run("replay", &take, ""), recorded);
        assert_eq!(run("replay", &take, "other\ninput\n"), recorded);
        if mode == "full" {
            assert_eq!(run("replay-one", &take, ""), recorded);
        }
        std::fs::remove_dir_all(take).unwrap();
    }
}
