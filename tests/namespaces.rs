//! Participants on two machines: namespaces of the network, joined by a pair of virtual interfaces. Needs a kernel that lets
//! users make namespaces; where it does not, this fails and says so.

#[path = "samples/mod.rs"]
mod samples;

use retake_testkit::{Kit, run};
use samples::samples;
use std::fs;
use std::path::Path;
use std::process::Command;

fn two_machines(carrier: &str) {
    let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("namespaces"));
    let scratch = kit.scratch(carrier).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/samples/two_machines.sh");
    let mut command = Command::new("unshare");
    command.args(["-rn", "sh"]).arg(script).arg(carrier).arg(samples()).arg(env!("CARGO_BIN_EXE_retake"));
    let retake = kit.retake(&scratch);
    for (name, value) in retake.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(&scratch).env("RETAKE_SECRET", "a secret for two machines");
    let outcome = run(&mut command, &scratch, kit.limits).unwrap();
    assert_eq!(outcome.ended, 0, "{}", outcome.stderr);
    let said = |name: &str| fs::read_to_string(scratch.join(name)).unwrap();
    assert_eq!(said("here.0").lines().filter(|line| line.starts_with("server: from client1")).count(), 10);
    for time in 1..=3 {
        for machine in ["here", "there"] {
            assert_eq!(said(&format!("{machine}.{time}")), said(&format!("{machine}.0")), "{machine}, replay {time}");
        }
    }
}

#[test]
fn over_tcp() {
    two_machines("tcp");
}

#[test]
fn over_nats() {
    two_machines("nats");
}
