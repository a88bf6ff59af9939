//! `take.json`: what was run, where, by which build, how it ended.
//!
//! Written when the recording starts (so that a killed recorder leaves a readable take) and again when it is sealed. The
//! field `check` is the CRC-32C of the file with its own eight digits taken as zeros: a flipped bit is found here as
//! well as in the tapes.

use crate::words::{hex, signal, unhex};
use retake_tape::check::crc32c;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

pub const FILE: &str = "take.json";
pub const SCHEMA: u32 = 1;
const MARK: &str = "\"check\": \"";
const ZEROS: &str = "00000000";
/// No honest take.json is longer: arguments and environment of a process are at most a few megabytes.
const SIZE_MAX: u64 = 64 << 20;

/// Bytes that are nearly always text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Plain(String),
    Bytes { hex: String },
}

impl Text {
    pub fn new(text: &OsStr) -> Text {
        match text.to_str() {
            Some(text) => Text::Plain(text.to_owned()),
            None => Text::Bytes { hex: hex(text.as_bytes()) },
        }
    }

    pub fn os(&self) -> OsString {
        match self {
            Text::Plain(text) => text.into(),
            Text::Bytes { hex } => OsString::from_vec(unhex(hex).unwrap_or_default()),
        }
    }
}

/// One variable of the environment, in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Variable {
    /// `NAME=VALUE`.
    Kept(Text),
    /// Its name looks as if its value were a secret; only the length is kept, so that the stack starts where it did.
    Omitted { omitted: Text, length: usize },
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    Exit(i32),
    Signal(i32),
}

impl Ended {
    /// The status as a shell shows it.
    pub fn code(self) -> i32 {
        match self {
            Ended::Exit(code) => code,
            Ended::Signal(number) => 128 + number,
        }
    }

    pub fn words(self) -> String {
        match self {
            Ended::Exit(code) => format!("exit {code}"),
            Ended::Signal(number) => format!("exit {} ({})", 128 + number, signal(number)),
        }
    }
}

/// What standard input was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stdin {
    /// `terminal`, `pipe`, `socket`, `file`, `null`, `closed` or `other`.
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Text>,
    #[serde(default)]
    pub offset: u64,
}

/// What an output was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// As of [`Stdin::kind`].
    pub kind: String,
    /// Rows and columns of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<(u16, u16)>,
}

/// One tape file of a sealed take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeFacts {
    pub process: String,
    pub events: u64,
    pub threads: u64,
    /// Bytes of entries.
    pub bytes: u64,
    /// The checksum of the file's first page, so that a tape of another take is not taken for this one's.
    pub seal: u32,
}

/// All of `take.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    pub schema: u32,
    pub check: String,
    /// Random; tells this take from another of the same name.
    pub id: String,
    pub format: (u16, u16),
    pub retake: String,
    pub name: String,
    pub argv: Vec<Text>,
    pub exe: Text,
    /// The program's build id, or its checksum and size.
    pub exe_id: String,
    pub cwd: Text,
    pub host: String,
    pub started_ms: u64,
    pub duration_ms: Option<u64>,
    pub ended: Option<Ended>,
    /// Sealed: all tapes have their final checksums.
    pub complete: bool,
    pub rich: bool,
    /// It deadlocked.
    #[serde(default)]
    pub deadlock: bool,
    /// Retake ended it, as it was asked to: by a signal, which `ended` does not tell.
    #[serde(default)]
    pub stopped: bool,
    /// A strategy chose who ran: one thread at a time.
    #[serde(default)]
    pub explored: bool,
    /// Threads took turns, in each process.
    #[serde(default)]
    pub serial: bool,
    pub aslr_off: bool,
    /// The soft limit of the stack: where memory maps start depends on it.
    pub stack_limit: u64,
    /// The bytes that Retake's own variables take, filling included.
    pub own_environment: usize,
    pub stdin: Stdin,
    /// Standard output and standard error.
    #[serde(default)]
    pub outputs: Vec<Stream>,
    /// The user's own LD_PRELOAD.
    pub preload: Option<Text>,
    pub environment: Vec<Variable>,
    pub tapes: Vec<TapeFacts>,
    /// Tapes of the library's participants; `process` is the participant's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<TapeFacts>,
    /// Hosts that did not have the take's directory, from which tapes were brought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// How much a take's facts may grow by while it is recorded.
const RESERVE: u64 = 16 << 10;

impl Facts {
    pub fn events(&self) -> u64 {
        self.tapes.iter().map(|tape| tape.events).sum()
    }

    pub fn threads(&self) -> u64 {
        self.tapes.iter().map(|tape| tape.threads).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.tapes.iter().chain(&self.parts).map(|tape| tape.bytes).sum()
    }

    /// The command as it would be typed.
    pub fn command(&self) -> String {
        let words: Vec<_> = self.argv.iter().map(|word| crate::words::shell(&word.os().to_string_lossy())).collect();
        words.join(" ")
    }

    /// The bytes of the file.
    fn bytes_with_check(&self) -> Vec<u8> {
        let mut text = serde_json::to_string_pretty(&Facts { check: ZEROS.into(), ..self.clone() }).unwrap_or_default();
        text.push('\n');
        let check = format!("{:08x}", crc32c(0, text.as_bytes()));
        let at = text.find(MARK).map_or(0, |at| at + MARK.len());
        text.replace_range(at..at + ZEROS.len(), &check);
        text.into_bytes()
    }

    /// Writes the file so that it is there whole or not at all.
    pub fn write(&self, dir: &Path) -> std::io::Result<()> {
        let (fresh, path, bytes) = (dir.join(".take.json.new"), dir.join(FILE), self.bytes_with_check());
        let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh);
        let written = written.and_then(|mut file| {
            // A file that has its blocks takes another's place at once; else ext4 waits until they are on their way to the disk.
            keep_room(&file, bytes.len() as u64);
            file.write_all(&bytes)?;
            fs::rename(&fresh, &path)
        });
        let Err(error) = written else { return Ok(()) };
        let _ = fs::remove_file(&fresh);
        // On a full disk there is still the room that the file has already.
        let room = fs::metadata(&path).map_or(0, |data| data.blocks() * 512);
        if error.raw_os_error() != Some(libc::ENOSPC) || bytes.len() as u64 > room {
            return Err(error);
        }
        let file = OpenOptions::new().write(true).open(&path)?;
        file.write_all_at(&bytes, 0)?;
        file.set_len(bytes.len() as u64)
    }

    /// Keeps room behind the file in `dir` for what is added when the program has ended, should the disk be full then.
    pub fn reserve(dir: &Path) {
        let Ok(file) = OpenOptions::new().write(true).open(dir.join(FILE)) else { return };
        keep_room(&file, file.metadata().map_or(0, |data| data.len()) + RESERVE);
    }

    /// Reads the file in `dir`; the error says what is wrong with it.
    pub fn read(dir: &Path) -> Result<Facts, String> {
        let path = dir.join(FILE);
        let long = fs::metadata(&path).map_err(|error| crate::status::plain(&error))?.len();
        if long > SIZE_MAX {
            return Err("it is absurdly long".into());
        }
        let bytes = fs::read(&path).map_err(|error| crate::status::plain(&error))?;
        Facts::parse(&bytes)
    }

    pub fn parse(bytes: &[u8]) -> Result<Facts, String> {
        let damaged = || "it is damaged: its checksum does not fit".to_owned();
        let at = bytes.windows(MARK.len()).position(|part| part == MARK.as_bytes()).ok_or_else(damaged)? + MARK.len();
        let digits = bytes.get(at..at + ZEROS.len()).ok_or_else(damaged)?;
        let rest = bytes.get(at + ZEROS.len()..).unwrap_or_default();
        let found = crc32c(crc32c(crc32c(0, &bytes[..at]), ZEROS.as_bytes()), rest);
        if digits != format!("{found:08x}").as_bytes() {
            return Err(damaged());
        }
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let version: Version = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if version.schema > SCHEMA {
            return Err(format!("it was written by a newer retake (schema {})", version.schema));
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

/// Gives the file its blocks on the disk, if that can be done.
fn keep_room(file: &File, size: u64) {
    // SAFETY: a plain call on a descriptor of ours. Where it cannot be done there is no room, as without it.
    unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, size as libc::off_t) };
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn sample() -> Facts {
        Facts {
            schema: SCHEMA,
            check: String::new(),
            id: "00".into(),
            format: (1, 0),
            retake: "0".into(),
            name: "flaky-1".into(),
            argv: vec![Text::Plain("./flaky".into()), Text::new(OsStr::from_bytes(b"a\xffb"))],
            exe: Text::Plain("/tmp/flaky".into()),
            exe_id: String::new(),
            cwd: Text::Plain("/tmp".into()),
            host: String::new(),
            started_ms: 0,
            duration_ms: Some(3),
            ended: Some(Ended::Signal(6)),
            complete: true,
            rich: false,
            deadlock: false,
            stopped: false,
            explored: false,
            serial: false,
            aslr_off: true,
            stack_limit: 0,
            own_environment: 2048,
            stdin: Stdin::default(),
            outputs: Vec::new(),
            preload: None,
            environment: vec![
                Variable::Kept(Text::Plain("A=1".into())),
                Variable::Omitted { omitted: Text::Plain("X_TOKEN".into()), length: 9 },
            ],
            tapes: Vec::new(),
            parts: Vec::new(),
            hosts: Vec::new(),
        }
    }

    #[test]
    fn facts_come_back() {
        let facts = sample();
        let read = Facts::parse(&facts.bytes_with_check()).unwrap();
        assert_eq!(read.argv, facts.argv);
        assert_eq!(read.argv[1].os().as_bytes(), b"a\xffb");
        assert_eq!(read.environment, facts.environment);
        assert_eq!(read.ended, Some(Ended::Signal(6)));
        assert_eq!(Ended::Signal(6).words(), "exit 134 (SIGABRT)");
    }

    #[test]
    fn no_flipped_byte_is_accepted() {
        let bytes = sample().bytes_with_check();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                assert!(Facts::parse(&bad).is_err(), "byte {at} bit {bit}");
            }
        }
        for length in 0..bytes.len() {
            assert!(Facts::parse(&bytes[..length]).is_err());
        }
    }
}
