//! Compiles a fixture, once for each content: the program's name holds a hash of all that went into it.

use crate::fixture::Fixture;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Compiles into `folder` and returns the program; returns at once when it is there already.
pub fn compile(compiler: &str, fixture: &Fixture, folder: &Path) -> Result<PathBuf, String> {
    let hash = hash_of(fixture, compiler)?;
    let program = folder.join(format!("{}-{hash:016x}", fixture.name));
    if program.exists() {
        return Ok(program);
    }
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    // Tests of one process, and of several, may compile the same fixture at the same time.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let unfinished = folder.join(format!("{}-{hash:016x}.{process}.{number}", fixture.name));
    let output = Command::new(compiler)
        .args(["-O1", "-g", "-o"])
        .arg(&unfinished)
        .arg(&fixture.path)
        .args(&fixture.flags)
        .output()
        .map_err(|e| format!("cannot run the compiler `{compiler}`: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "{} does not compile:\n{}",
            fixture.path.display(),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    fs::rename(&unfinished, &program).map_err(|e| format!("{}: {e}", program.display()))?;
    Ok(program)
}

pub fn compiler(fixture: &Fixture) -> String {
    let (variable, default) = if fixture.is_cxx() { ("CXX", "c++") } else { ("CC", "cc") };
    std::env::var(variable).unwrap_or_else(|_| default.to_string())
}

/// FNV-1a over the compiler, the flags, the source, and the headers that lie beside it.
fn hash_of(fixture: &Fixture, compiler: &str) -> Result<u64, String> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(compiler.as_bytes());
    fixture.flags.iter().for_each(|flag| add(flag.as_bytes()));
    let folder = fixture.path.parent().unwrap_or(Path::new("."));
    let told = |e: std::io::Error| format!("{}: {e}", fixture.path.display());
    let beside = fs::read_dir(folder).map_err(told)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut headers: Vec<PathBuf> = beside.filter(|path| path.extension().is_some_and(|e| e == "h")).collect();
    headers.sort();
    for file in [fixture.path.clone()].iter().chain(&headers) {
        add(&fs::read(file).map_err(told)?);
    }
    Ok(hash)
}
