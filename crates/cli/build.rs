//! Builds the shim and tells the program where it lies, so that it can be embedded: `cargo install` ships one binary.
//!
//! The shim is built by a second cargo with a profile and a target directory of its own, so that neither the flags nor
//! the lock of the outer build reach it.

use std::env;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let target = out.join("shim");
    // Releases may bring a shim that was built elsewhere, against an older glibc.
    println!("cargo:rerun-if-env-changed=RETAKE_SHIM_FILE");
    if let Some(ready) = env::var_os("RETAKE_SHIM_FILE").map(PathBuf::from) {
        println!("cargo:rerun-if-changed={}", ready.display());
        return embed(&ready);
    }
    for path in ["../preload", "../engine", "../explore", "../tape", "../../Cargo.toml", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }

    let mut cargo = Command::new(env::var_os("CARGO").expect("set by cargo"));
    cargo.args(["build", "--quiet", "-p", "retake-preload", "--profile", "shim"]);
    cargo.arg("--manifest-path").arg(here.join("../../Cargo.toml")).arg("--target-dir").arg(&target);
    // What the outer build was told (flags, wrappers such as clippy's, profile overrides) is not meant for the shim.
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let ours = ["CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_TERM_COLOR"].contains(&text)
            || ["CARGO_NET", "CARGO_HTTP", "CARGO_REGISTR", "CARGO_SOURCE"].iter().any(|start| text.starts_with(start));
        let foreign = text.starts_with("CARGO") && !ours;
        let wrapper = ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOCFLAGS", "CLIPPY_ARGS"];
        if foreign || wrapper.contains(&text) {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().expect("cargo starts");
    assert!(status.success(), "the shim (crates/preload) did not build; see above");

    let shim = target.join("shim").join("libretake_preload.so");
    assert!(shim.is_file(), "{} is missing", shim.display());
    embed(&shim);
}

/// Tells where the shim lies, and by which word two builds of it are told apart.
fn embed(shim: &Path) {
    let mut hasher = DefaultHasher::new();
    hasher.write(&std::fs::read(shim).expect("the shim can be read"));
    println!("cargo:rustc-env=RETAKE_SHIM={}", shim.display());
    println!("cargo:rustc-env=RETAKE_SHIM_MARK={:016x}", hasher.finish());
}
