//! The shim, embedded in this binary, and where it is unpacked so that the dynamic linker can load it.

use crate::status::{Failure, Result};
use crate::store::{private_dirs, random, xdg};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

static SHIM: &[u8] = include_bytes!(env!("RETAKE_SHIM"));

/// How its file names start.
pub const START: &str = "libretake-";
/// What follows: tells two builds apart. The content itself is compared before it is used.
const MARK: &str = env!("RETAKE_SHIM_MARK");

/// The unpacked shim's path: in the user's cache, else in `fallback`, else under `/tmp`.
pub fn unpack(fallback: &Path) -> Result<PathBuf> {
    // SAFETY: cannot fail.
    let user = unsafe { libc::geteuid() };
    let cache = xdg("XDG_CACHE_HOME", ".cache").map(|cache| cache.join("retake"));
    let places = [cache, Some(fallback.to_owned()), Some(format!("/tmp/retake-{user}").into())];
    let mut why = String::new();
    for place in places.into_iter().flatten() {
        match unpack_in(&place, user) {
            Ok(path) => return Ok(path),
            Err(error) => why = format!("{}: {}", place.display(), crate::status::plain(&error)),
        }
    }
    Err(Failure::own(format!("the shim cannot be unpacked anywhere; last tried {why}")).next("retake doctor"))
}

fn unpack_in(place: &Path, user: u32) -> std::io::Result<PathBuf> {
    let unfit = std::io::Error::other;
    // The dynamic linker splits LD_PRELOAD at spaces and colons.
    if place.as_os_str().as_bytes().iter().any(|byte| b" :\n\t".contains(byte)) {
        return Err(unfit("the path has a space or a colon, which the dynamic linker does not take"));
    }
    private_dirs(place)?;
    let data = fs::symlink_metadata(place)?;
    if !data.is_dir() || data.uid() != user || data.mode() & 0o022 != 0 {
        return Err(unfit("others may write there"));
    }
    if mounted_noexec(place) {
        return Err(unfit("programs may not be executed from there (noexec)"));
    }
    let path = place.join(format!("{START}{MARK}.so"));
    if fs::symlink_metadata(&path).is_ok_and(|data| data.is_file() && data.uid() == user && is_whole(&path, &data)) {
        return Ok(path);
    }
    let fresh = place.join(format!(".{START}{:x}", random()));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh).and_then(|mut file| {
        file.write_all(SHIM)?;
        fs::rename(&fresh, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written.map(|()| path)
}

/// Whether the file is the shim to the last byte. To compare takes a millisecond, so it is noted beside the file in which
/// state it was found whole: the kernel tells when a file was last changed, and nobody can set that time.
fn is_whole(path: &Path, data: &Metadata) -> bool {
    let note = path.with_extension("whole");
    let state = format!("{} {} {} {} {}", data.dev(), data.ino(), data.len(), data.ctime(), data.ctime_nsec());
    if fs::read_to_string(&note).is_ok_and(|noted| noted == state) {
        return true;
    }
    let whole = compare(path).unwrap_or(false);
    // One that was changed only just now may be changed again before that time moves on.
    let changed = UNIX_EPOCH + Duration::from_secs(data.ctime().unsigned_abs());
    if whole && changed.elapsed().is_ok_and(|age| age > Duration::from_secs(2)) {
        let _ = fs::write(&note, state);
    }
    whole
}

fn compare(path: &Path) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() != SHIM.len() as u64 {
        return Ok(false);
    }
    // In pieces: memory for all of it takes longer to get than to compare.
    let mut piece = [0; 1 << 16];
    for there in SHIM.chunks(piece.len()) {
        let here = &mut piece[..there.len()];
        file.read_exact(here)?;
        if here != there {
            return Ok(false);
        }
    }
    Ok(true)
}

fn mounted_noexec(place: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(place.as_os_str().as_bytes()) else { return true };
    // SAFETY: a C string and room for the answer.
    unsafe {
        let mut data: libc::statvfs = std::mem::zeroed();
        libc::statvfs(path.as_ptr(), &mut data) == 0 && data.f_flag & libc::ST_NOEXEC != 0
    }
}

/// Whether this very process runs under a shim, that is, inside a recording or a replay.
pub fn is_loaded_here() -> bool {
    std::env::var_os(retake_tape::session::variable::MODE).is_some()
        || fs::read("/proc/self/maps").is_ok_and(|maps| {
            let maps = String::from_utf8_lossy(&maps);
            maps.lines().any(|line| line.ends_with(".so") && line.contains(&format!("/{START}")))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_unpacked_once_and_mended() {
        let temp = crate::take::TempDir::new().unwrap();
        // SAFETY: cannot fail.
        let user = unsafe { libc::geteuid() };
        let path = unpack_in(temp.path(), user).unwrap();
        let mut flipped = SHIM.to_owned();
        *flipped.last_mut().unwrap() ^= 1;
        for damaged in [&b"not the shim"[..], &SHIM[1..], &flipped] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(unpack_in(temp.path(), user).unwrap(), path);
            assert!(fs::read(&path).unwrap() == SHIM);
        }
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(unpack_in(temp.path(), user).unwrap(), path);
        assert!(path.with_extension("whole").exists());
        fs::write(&path, flipped).unwrap();
        assert_eq!(unpack_in(temp.path(), user).unwrap(), path);
        assert!(fs::read(&path).unwrap() == SHIM);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2);
        assert!(unpack_in(&temp.path().join("a b"), user).is_err());
        assert!(!is_loaded_here());
    }
}
