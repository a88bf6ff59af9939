//! Builds the few functions that need C, and asks the linker for two things.
//!
//! The shim is initialised before every other library, so that no lock is taken behind its back.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/variadic.c");
    println!("cargo:rerun-if-env-changed=CC");
    let object = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("variadic.o");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let status = Command::new(&compiler)
        .args(["-c", "-O2", "-fPIC", "-fexceptions", "-Wall", "-Wextra", "-Werror", "src/variadic.c", "-o"])
        .arg(&object)
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "a C compiler is needed: `{compiler}` failed on src/variadic.c"
    );
    println!("cargo:rustc-cdylib-link-arg={}", object.display());
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
}
