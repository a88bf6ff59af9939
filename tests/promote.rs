//! `retake replay --full`: a light take, replayed once, gives a take with which each participant can be replayed alone.

#[path = "samples/mod.rs"]
mod samples;

use retake_testkit::{Kit, Outcome, run};
use samples::{STATIC, samples, samples_in_c};
use std::fs;
use std::path::{Path, PathBuf};

struct Stage {
    kit: Kit,
    scratch: PathBuf,
}

impl Stage {
    /// The three samples together, recorded light.
    fn recorded(name: &str, bin: impl FnOnce(&Path) -> PathBuf) -> (Stage, Outcome) {
        let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("promote"));
        let scratch = kit.scratch(name).unwrap();
        let bin = bin(&scratch);
        let commands = ["server", "client1", "client2"].map(|name| format!("{}/care-{name} &\n", bin.display()));
        fs::write(scratch.join("run.sh"), format!("{}wait\n", commands.concat())).unwrap();
        let stage = Stage { kit, scratch };
        let recorded = stage.retake(&["record", "-o", "light", "--", "sh", "run.sh"]);
        assert_eq!(recorded.ended, 0, "{}", recorded.stderr);
        (stage, recorded)
    }

    fn retake(&self, arguments: &[&str]) -> Outcome {
        run(self.kit.retake(&self.scratch).args(arguments), &self.scratch, self.kit.limits)
            .unwrap_or_else(|why| panic!("{arguments:?}: {why}"))
    }
}

fn lines(outcome: &Outcome, start: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    text.lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
}

const PARTICIPANTS: [&str; 4] = ["server", "client1", "client2a", "client2b"];

fn promoted(name: &str, bin: impl FnOnce(&Path) -> PathBuf) {
    let (stage, recorded) = Stage::recorded(name, bin);
    let light = stage.retake(&["replay", "--only", "server", "light"]);
    assert_eq!(light.ended, 125);
    assert!(light.stderr.contains("retake replay --full"), "{}", light.stderr);
    let replayed = stage.retake(&["replay", "--full", "light", "-o", "full"]);
    assert_eq!(replayed.ended, 0, "{}", replayed.stderr);
    assert!(replayed.stderr.contains("next: retake replay --only"), "{}", replayed.stderr);
    for participant in PARTICIPANTS {
        let start = format!("{participant}:");
        assert_eq!(lines(&replayed, &start), lines(&recorded, &start));
        for _ in 0..2 {
            let alone = stage.retake(&["replay", "--only", participant, "full"]);
            assert_eq!(alone.ended, 0, "{participant}: {}", alone.stderr);
            assert_eq!(lines(&alone, &start), lines(&recorded, &start));
            let others = if participant.starts_with("client2") { "server:" } else { "client2a:" };
            assert!(lines(&alone, others).is_empty(), "{participant} is alone");
        }
    }
    // Both takes replay as a whole, and the full one needs nothing more.
    for take in ["light", "full"] {
        let whole = stage.retake(&["replay", take]);
        assert_eq!(whole.ended, 0, "{}", whole.stderr);
        assert_eq!(lines(&whole, "server:"), lines(&recorded, "server:"));
    }
    let again = stage.retake(&["replay", "--full", "full"]);
    assert_eq!(again.ended, 125);
    assert!(again.stderr.contains("holds the contents already"), "{}", again.stderr);
}

#[test]
fn a_light_take_gets_its_contents() {
    promoted("rust", |_| samples().to_owned());
}

#[test]
fn a_light_take_gets_its_contents_in_c() {
    promoted("c", |scratch| samples_in_c(scratch, &STATIC));
}

/// In the store, the new take is the latest one.
#[test]
fn the_new_take_is_the_latest() {
    let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("promote"));
    let scratch = kit.scratch("store").unwrap();
    let bin = samples().display();
    fs::write(scratch.join("run.sh"), format!("{bin}/care-server 10 &\n{bin}/care-client1\nwait\n")).unwrap();
    let stage = Stage { kit, scratch };
    let recorded = stage.retake(&["record", "--", "sh", "run.sh"]);
    assert_eq!(stage.retake(&["replay", "--full"]).ended, 0);
    let alone = stage.retake(&["replay", "--only", "server"]);
    assert_eq!(alone.ended, 0, "{}", alone.stderr);
    assert_eq!(lines(&alone, ""), lines(&recorded, "server:"));
}
