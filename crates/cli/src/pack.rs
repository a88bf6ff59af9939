//! `retake pack` and `retake unpack`: one compressed file for a take.
//!
//! ```text
//! RETAKEPK  version (u32)  zstd( { name length (u16)  name  size (u64)  bytes }…  0 (u16)  CRC-32C (u32) )
//! ```
//!
//! An archive may come from a stranger: only names that a take can have are accepted, sizes are bounded, nothing is ever
//! written outside the new directory, and what comes out is checked as any take is. Its command is not run unasked.

use crate::Ending;
use crate::facts::{Ended, FILE, Facts};
use crate::lines;
use crate::status::{Context, Failure, Result, Status, say};
use crate::store::{FOREIGN_MARK, Store};
use crate::take::{Origin, Take, TempDir, files};
use crate::{parts, words};
use retake_tape::check::crc32c;
use retake_tape::session::{PART_ENDING, RANK_NAME, RICH_ENDING, TAPE_ENDING};
use retake_tape::settled;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"RETAKEPK";
const VERSION: u32 = 1;
/// Ending of packed takes.
const ENDING: &str = "retake";
const FILES_MAX: usize = 1 << 18;
/// An archive may unpack to so many times its own size, and a little.
const RATIO_MAX: u64 = 10_000;
const SIZE_FREE: u64 = 64 << 20;

#[derive(clap::Args)]
pub struct PackArgs {
    /// Which take: a name, a unique prefix, a directory
    #[arg(default_value = "latest")]
    take: String,
    /// The file to write; NAME.retake if not given. With --all-failing, a directory
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Pack every take in the store whose program failed
    #[arg(long, conflicts_with = "take")]
    all_failing: bool,
}

#[derive(clap::Args)]
pub struct UnpackArgs {
    /// A packed take
    file: PathBuf,
    /// Unpack it here instead of into the store
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn pack(args: PackArgs) -> Result<Ending> {
    let store = Store::open()?;
    if args.all_failing {
        let dir = args.output.unwrap_or_else(|| ".".into());
        fs::create_dir_all(&dir).because(|| format!("cannot make {}", dir.display()))?;
        let failing = |facts: &Facts| facts.ended != Some(Ended::Exit(0));
        let mut packed = 0;
        for (name, facts) in store.list() {
            if facts.is_ok_and(|facts| failing(&facts)) {
                pack_one(&Take::open(&store.root.join(&name), Origin::Store)?, &dir.join(format!("{name}.{ENDING}")))?;
                packed += 1;
            }
        }
        say(format_args!("{} packed", words::count(packed, "failing take")));
        return Ok(Ending::Status(Status::Fine));
    }
    let take = store.take(&args.take)?;
    let file = args.output.unwrap_or_else(|| format!("{}.{ENDING}", take.facts.name).into());
    pack_one(&take, &file)?;
    let shown = words::shell(&file.to_string_lossy());
    let size = fs::metadata(&file).map_or(0, |data| data.len());
    say(format_args!(
        "{} -> {shown}, {}; arguments and environment are inside: look before you publish it",
        take.label(),
        words::size(size)
    ));
    say(format_args!("next: retake unpack {shown} · retake replay {shown}, there"));
    Ok(Ending::Status(Status::Fine))
}

fn pack_one(take: &Take, target: &Path) -> Result<()> {
    take.tapes()?;
    parts::load(take)?;
    let words = || format!("cannot write {}", target.display());
    if target.exists() {
        return Err(Failure::own(format!("{} is there already", target.display())).next("retake pack -o FILE"));
    }
    let mut paths = vec![take.dir.join(FILE)];
    paths.extend(files(&take.dir, TAPE_ENDING)?);
    paths.extend(files(&take.dir, PART_ENDING)?);
    paths.extend(files(&take.dir, RICH_ENDING)?);
    paths
        .extend([lines::FILE, settled::FILE].map(|name| take.dir.join(name)).into_iter().filter(|path| path.is_file()));
    let fresh = target.with_extension(format!("{:x}", crate::store::random()));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh).and_then(|file| {
        write(file, &paths)?;
        fs::rename(&fresh, target)
    });
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written.because(words)
}

fn write(mut file: File, paths: &[PathBuf]) -> io::Result<()> {
    file.write_all(MAGIC)?;
    file.write_all(&VERSION.to_le_bytes())?;
    let mut packer = zstd::Encoder::new(file, 9)?;
    let mut crc = 0;
    let mut put = |bytes: &[u8]| {
        crc = crc32c(crc, bytes);
        packer.write_all(bytes)
    };
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let content = fs::read(path)?;
        put(&(name.len() as u16).to_le_bytes())?;
        put(name.as_bytes())?;
        put(&(content.len() as u64).to_le_bytes())?;
        put(&content)?;
    }
    put(&0u16.to_le_bytes())?;
    packer.write_all(&crc.to_le_bytes())?;
    packer.finish()?.flush()
}

pub fn unpack(args: UnpackArgs) -> Result<Ending> {
    let store = Store::open()?;
    let temp = open(&args.file)?;
    let dir = match args.output {
        Some(dir) => {
            if fs::read_dir(&dir).is_ok_and(|mut items| items.next().is_some()) {
                return Err(
                    Failure::own(format!("{} is not empty", dir.display())).next("give -o the name of a new directory")
                );
            }
            let words = || format!("cannot make {}", dir.display());
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).because(words)?;
            dir
        }
        None => store.create(temp.facts.name.rsplit_once('-').map_or(&*temp.facts.name, |(name, _)| name))?,
    };
    let words = || format!("cannot write into {}", dir.display());
    for item in fs::read_dir(&temp.dir).because(words)? {
        let path = item.because(words)?.path();
        fs::copy(&path, dir.join(path.file_name().unwrap_or_default())).because(words)?;
    }
    fs::write(dir.join(FOREIGN_MARK), "").because(words)?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    say(format_args!(
        "{} -> {name}, recorded on {} by: {}",
        args.file.display(),
        temp.facts.host,
        temp.facts.command()
    ));
    say(format_args!("next: retake info {name} · retake replay --trust {name}, which runs that command"));
    Ok(Ending::Status(Status::Fine))
}

/// Opens a packed take in a directory for the time being.
pub fn open(path: &Path) -> Result<Take> {
    let temp = TempDir::new()?;
    let refuse = |why: String| Failure::own(format!("{} cannot be unpacked: {why}", path.display())).next("retake ls");
    let file = File::open(path).map_err(|error| refuse(crate::status::plain(&error)))?;
    let length = file.metadata().map_or(0, |data| data.len());
    extract(file, length, temp.path()).map_err(refuse)?;
    let mut take = Take::open(temp.path(), Origin::Packed)?;
    take.tapes()?;
    parts::load(&take)?;
    take.unpacked = Some((path.to_owned(), temp));
    Ok(take)
}

fn extract(file: File, length: u64, target: &Path) -> std::result::Result<(), String> {
    let mut file = BufReader::new(file);
    let mut head = [0; 12];
    file.read_exact(&mut head).map_err(|_| "it is not a packed take".to_owned())?;
    if &head[..8] != MAGIC {
        return Err("it is not a packed take".into());
    }
    let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if version > VERSION {
        return Err(format!("it was packed by a newer retake (version {version})"));
    }
    let mut budget = length.saturating_mul(RATIO_MAX).saturating_add(SIZE_FREE);
    let broken = |error: io::Error| format!("it is damaged or cut off ({})", crate::status::plain(&error));
    let mut unpacker = zstd::Decoder::with_buffer(file).map_err(broken)?.single_frame();
    unpacker.window_log_max(27).map_err(broken)?;
    let mut from = Checked { from: unpacker, crc: 0 };
    for _ in 0..FILES_MAX {
        let name_length = u16::from_le_bytes(from.exact().map_err(broken)?);
        if name_length == 0 {
            let crc = from.crc;
            let stored = u32::from_le_bytes(from.exact().map_err(broken)?);
            return if stored == crc { Ok(()) } else { Err("it is damaged: its checksum does not fit".into()) };
        }
        let mut name = vec![0; name_length.into()];
        from.read_exact(&mut name).map_err(broken)?;
        let name = String::from_utf8(name).ok().filter(|name| is_take_file(name));
        let name = name.ok_or("it holds a file that no take has")?;
        let size = u64::from_le_bytes(from.exact().map_err(broken)?);
        budget =
            budget.checked_sub(size).ok_or_else(|| format!("{name} would be absurdly large: {}", words::size(size)))?;
        let path = target.join(&name);
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(broken)?;
        let copied = io::copy(&mut (&mut from).take(size), &mut to).map_err(broken)?;
        if copied != size {
            return Err("it is cut off".into());
        }
    }
    Err("it holds too many files".into())
}

/// Whether a take can have a file of this name: `take.json`, `lines.json`, `0.1.tape`, `0.1.rich`, `server.part`.
fn is_take_file(name: &str) -> bool {
    if let Some(stem) = name.strip_suffix(PART_ENDING) {
        return parts::is_part_name(stem);
    }
    let stem = name.strip_suffix(TAPE_ENDING).or_else(|| name.strip_suffix(RICH_ENDING));
    let tree = |stem: &str| {
        let stem = stem.replace(RANK_NAME, "");
        stem.starts_with(|c: char| c.is_ascii_digit())
            && stem.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '~')
    };
    [FILE, lines::FILE, settled::FILE].contains(&name) || name.len() < 256 && stem.is_some_and(tree)
}

/// A reader that keeps the checksum of what was read.
struct Checked<R> {
    from: R,
    crc: u32,
}

impl<R: Read> Checked<R> {
    fn exact<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(into)?;
        self.crc = crc32c(self.crc, &into[..length]);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(parts: &[(&str, u64, &[u8])]) -> (TempDir, PathBuf) {
        let temp = TempDir::new().unwrap();
        let path = temp.path().join("x.retake");
        let mut inner = Vec::new();
        for (name, size, bytes) in parts {
            inner.extend((name.len() as u16).to_le_bytes());
            inner.extend(name.as_bytes());
            inner.extend(size.to_le_bytes());
            inner.extend(*bytes);
        }
        inner.extend([0, 0]);
        let crc = crc32c(0, &inner);
        inner.extend(crc.to_le_bytes());
        let mut all = MAGIC.to_vec();
        all.extend(VERSION.to_le_bytes());
        all.extend(zstd::encode_all(&*inner, 1).unwrap());
        fs::write(&path, all).unwrap();
        (temp, path)
    }

    fn try_extract(path: &Path) -> std::result::Result<TempDir, String> {
        let to = TempDir::new().unwrap();
        let length = fs::metadata(path).unwrap().len();
        extract(File::open(path).unwrap(), length, to.path()).map(|()| to)
    }

    #[test]
    fn good_archives_come_out() {
        let (_temp, path) = archive(&[("take.json", 2, b"{}"), ("0.1.tape", 3, b"abc"), ("a-1.part", 1, b"x")]);
        let to = try_extract(&path).unwrap();
        assert_eq!(fs::read(to.path().join("0.1.tape")).unwrap(), b"abc");
    }

    #[test]
    fn hostile_archives_are_refused() {
        for name in [
            "../take.json",
            "/etc/passwd",
            "take.json/x",
            "a.tape",
            "..tape",
            "a/b.part",
            ".part",
            "unpacked",
            "session",
            "x.so",
        ] {
            let (_temp, path) = archive(&[(name, 1, b"x")]);
            assert!(try_extract(&path).unwrap_err().contains("no take has"), "{name}");
        }
        let (_temp, path) = archive(&[("take.json", 1, b"x"), ("take.json", 1, b"y")]);
        assert!(try_extract(&path).is_err());
        let (_temp, path) = archive(&[("0.tape", 1 << 60, b"x")]);
        assert!(try_extract(&path).unwrap_err().contains("absurdly large"));
        let (_temp, path) = archive(&[("0.tape", 100, b"x")]);
        assert!(try_extract(&path).unwrap_err().contains("cut off"));
    }

    #[test]
    fn damaged_archives_are_refused() {
        let (_temp, path) = archive(&[("take.json", 300, &[7; 300]), ("0.tape", 3, b"abc")]);
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            fs::write(&path, &bad).unwrap();
            if let Ok(to) = try_extract(&path) {
                assert_eq!(fs::read(to.path().join("0.tape")).unwrap(), b"abc", "byte {at}");
            }
            fs::write(&path, &bytes[..at]).unwrap();
            assert!(try_extract(&path).is_err(), "cut at {at}");
        }
    }
}
