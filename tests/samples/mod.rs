//! The sample programs that use the library, built once for the tests: in Rust, and in C against both kinds of library.

#![allow(dead_code)] // each test file uses some of it

use retake_testkit::Nats;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of the samples, built once: cargo knows of them, but not that this test needs them.
pub fn samples() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder").to_owned();
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--release", "-p", "retake", "--lib", "--examples", "--features", "nats"])
            .arg("--target-dir")
            .arg(&target);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().expect("cargo starts").success(), "the samples do not build");
        target.join("release/examples")
    })
}

/// The same samples in C, compiled against the header and linked with the shared or the static library.
pub fn samples_in_c(folder: &Path, link: &[&str]) -> PathBuf {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    for name in ["server", "client1", "client2"] {
        compile(&format!("examples/care/{name}.c"), &bin.join(format!("care-{name}")), link);
    }
    bin
}

/// Compiles a C program that uses the library.
pub fn compile(source: &str, to: &Path, link: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let libraries = samples().parent().expect("a folder of the release").to_owned();
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(root.join("crates/api/include"));
    cc.arg(root.join(source)).arg("-o").arg(to);
    cc.args(link.iter().map(|word| word.replace("LIBRARIES", &libraries.to_string_lossy())));
    assert!(cc.status().expect("a C compiler").success(), "{source} does not build");
}

/// Found before whatever `LD_LIBRARY_PATH` leads to, which under cargo is another build.
pub const SHARED: [&str; 3] = ["-LLIBRARIES", "-Wl,-rpath,LIBRARIES,--disable-new-dtags", "-lretake"];
pub const STATIC: [&str; 3] = ["LIBRARIES/libretake.a", "-ldl", "-lm"];

/// The participants of the samples.
pub const PARTICIPANTS: [&str; 4] = ["server", "client1", "client2a", "client2b"];

/// What carries messages, as variables.
pub type Over = Vec<(&'static str, String)>;

/// Nothing need be said.
pub const UNIX: Over = Vec::new();

pub fn over(transport: &str) -> Over {
    vec![("RETAKE_TRANSPORT", transport.into()), ("RETAKE_SECRET", "a secret for the samples".into())]
}

/// An address for each participant, on a loopback net that no other test has.
pub fn tcp(number: u8) -> Over {
    let [_, _, a, b] = std::process::id().to_be_bytes();
    let address = |(at, name): (usize, &str)| format!("{name}=127.{}.{a}.{b}:{}", 200 + number, 7001 + at);
    over(&format!("tcp:{}", PARTICIPANTS.into_iter().enumerate().map(address).collect::<Vec<_>>().join(",")))
}

/// A nats-server on a loopback net that no other test has, which wants a password.
pub fn nats(number: u8, options: &[&str]) -> Nats {
    let [_, _, a, b] = std::process::id().to_be_bytes();
    let options = [&["--user", "retake", "--pass", "samples"], options].concat();
    Nats::start(&format!("127.{}.{a}.{b}:4222", 210 + number), &options)
}

pub fn nats_at(nats: &Nats) -> Over {
    over(&format!("nats://retake:samples@{}", nats.address))
}
