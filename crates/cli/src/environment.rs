//! The environment of a recorded program: handed on, kept without secrets, and given back in a replay.
//!
//! Law: names, order and total length are the same in record and replay, our own variables included ([`Own`] fills them
//! up), so that the program's stack starts at the same address.

use crate::facts::{Text, Variable};
use retake_tape::layout::born;
use retake_tape::session::{ROOT_NAME, variable};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Bytes that our variables take together, or a multiple.
pub const OWN_ENVIRONMENT: usize = 2048;

/// What carries the library's messages; it may hold a password.
const TRANSPORT: &str = "RETAKE_TRANSPORT";
/// That, and what proves who may carry.
const CARRIERS: [&str; 12] = [
    TRANSPORT,
    "RETAKE_SECRET",
    "RETAKE_SECRET_FILE",
    "NATS_USER",
    "NATS_PASSWORD",
    "NATS_TOKEN",
    "NATS_CA",
    "NATS_CERT",
    "NATS_KEY",
    "NATS_NKEY",
    "NATS_CREDS",
    "NATS_TLS_FIRST",
];

/// The first process of a run.
pub const ROOT: (&str, u32) = (ROOT_NAME, born::ROOT);

/// The values of our own variables.
pub struct Own<'a> {
    pub mode: &'a str,
    pub take: &'a Path,
    pub session: &'a Path,
    pub shim: &'a Path,
    /// The user's own LD_PRELOAD.
    pub preload: Option<&'a OsStr>,
    /// The process's name, and how it was born.
    pub process: (&'a str, u32),
}

impl Own<'_> {
    /// Our variables, filled up to `bytes` or to the next multiple of [`OWN_ENVIRONMENT`]; and how long they are.
    pub fn variables(&self, bytes: usize) -> (Vec<OsString>, usize) {
        let mut preload = self.shim.as_os_str().to_owned();
        if let Some(users) = self.preload {
            preload.push(":");
            preload.push(users);
        }
        let (name, born) = (self.process.0, self.process.1.to_string());
        let pairs: [(&str, &OsStr); 8] = [
            (variable::PRELOAD, &preload),
            (variable::MODE, self.mode.as_ref()),
            (variable::TAKE, self.take.as_os_str()),
            (variable::SESSION, self.session.as_os_str()),
            (variable::NAME, name.as_ref()),
            (variable::BORN, born.as_ref()),
            (variable::EVEN, "".as_ref()),
            (variable::PAD, "".as_ref()),
        ];
        let pairs = pairs.iter().filter(|(name, _)| *name != variable::EVEN || self.preload.is_none());
        let mut all: Vec<OsString> = pairs.map(|(name, value)| joined(name.as_ref(), value)).collect();
        let length: usize = all.iter().map(|text| text.len() + 1).sum();
        let wanted = if length <= bytes { bytes } else { length.next_multiple_of(OWN_ENVIRONMENT) };
        if let Some(pad) = all.last_mut() {
            pad.push("x".repeat(wanted - length));
        }
        (all, wanted)
    }
}

pub fn joined(name: &OsStr, value: &OsStr) -> OsString {
    let mut text = name.to_owned();
    text.push("=");
    text.push(value);
    text
}

/// The environment of this process as it is handed on: without our own variables and LD_PRELOAD.
pub fn present_environment() -> Vec<(OsString, OsString)> {
    let ours = |name: &OsStr| name == variable::PRELOAD || variable::ALL.iter().any(|own| name == *own);
    std::env::vars_os().filter(|(name, _)| !ours(name)).collect()
}

/// The environment as it is kept in a take: without the values of variables that look like secrets.
pub fn kept_environment(present: &[(OsString, OsString)]) -> Vec<Variable> {
    let keep = |(name, value): &(OsString, OsString)| {
        if looks_secret(&name.to_string_lossy()) || name == TRANSPORT {
            Variable::Omitted { omitted: Text::new(name), length: value.len() }
        } else {
            Variable::Kept(Text::new(&joined(name, value)))
        }
    };
    present.iter().map(keep).collect()
}

/// The environment of a recorded run, given back; values that were not kept are taken from the present one, or replaced
/// by filling of the same length. Also: the names that had to be filled, and by how much the whole is longer now.
///
/// What carries the library's messages is not the recording's business: a replay goes over Unix sockets, or as it is
/// told now.
pub fn restored_environment(kept: &[Variable]) -> (Vec<OsString>, Vec<String>, isize) {
    let (mut missing, mut longer) = (Vec::new(), 0);
    let mut carriers = CARRIERS.to_vec();
    let told = std::env::var_os(TRANSPORT).is_some();
    let restore = |variable: &Variable| match variable {
        Variable::Kept(text) => {
            let kept = text.os();
            let named = |known: &&str| kept.as_encoded_bytes().strip_prefix(known.as_bytes()).is_some_and(is_value);
            let carrier = carriers.iter().position(named).map(|at| carriers.remove(at));
            match carrier.filter(|_| told).and_then(|name| Some((name, std::env::var_os(name)?))) {
                None => kept,
                Some((name, value)) => {
                    let now = joined(name.as_ref(), &value);
                    longer += now.len() as isize - kept.len() as isize;
                    now
                }
            }
        }
        Variable::Omitted { omitted, length } => {
            let name = omitted.os();
            let carries = carriers.iter().position(|known| name == *known).map(|at| carriers.remove(at)).is_some();
            let value = std::env::var_os(&name).unwrap_or_else(|| {
                if carries && !told {
                    return format!("{:length$}", if name == TRANSPORT { "unix" } else { "" }).into();
                }
                missing.push(name.to_string_lossy().into_owned());
                "x".repeat(*length).into()
            });
            longer += value.len() as isize - *length as isize;
            joined(&name, &value)
        }
    };
    let mut restored: Vec<OsString> = kept.iter().map(restore).collect();
    for name in carriers {
        if let Some(value) = std::env::var_os(name).filter(|_| told) {
            let variable = joined(name.as_ref(), &value);
            // Its bytes, their end, and where they are.
            longer += (variable.len() + 1 + size_of::<usize>()) as isize;
            restored.push(variable);
        }
    }
    (restored, missing, longer)
}

/// Whether this may stand behind the whole name of a variable.
fn is_value(rest: &[u8]) -> bool {
    rest.starts_with(b"=")
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "_KEY",
        "APIKEY",
        "COOKIE",
        "PRIVATE",
        "_PAT",
    ];
    let harmless = ["SSH_AUTH_SOCK", "XAUTHORITY", "_PATH"];
    if harmless.iter().any(|part| name.contains(part)) {
        return false;
    }
    name.contains("AUTH") || words.iter().any(|word| name.contains(word)) || name.ends_with("_PASS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_variables_take_the_same_room_in_both_modes() {
        let own = |mode, take: &str, session: &str| {
            let own = Own {
                mode,
                take: Path::new(take),
                session: Path::new(session),
                shim: Path::new("/s.so"),
                preload: Some(OsStr::new("/x.so")),
                process: ROOT,
            };
            own.variables(OWN_ENVIRONMENT)
        };
        let (record, bytes) = own("record", "/a/take", "/a/take/session");
        let (replay, again) = own("replay", "/a/take", "/tmp/retake-12345/session");
        let sum = |all: &[OsString]| all.iter().map(|text| text.len() + 1).sum::<usize>();
        assert_eq!((sum(&record), sum(&replay)), (bytes, again));
        assert_eq!((bytes, again), (OWN_ENVIRONMENT, OWN_ENVIRONMENT));
        assert_eq!(record[0], "LD_PRELOAD=/s.so:/x.so");
        assert_eq!(own("record", &"x".repeat(3000), "/s").1, 2 * OWN_ENVIRONMENT);
    }

    #[test]
    fn secrets_are_not_kept() {
        for name in
            ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "apikey", "HTTP_AUTHORIZATION", "SESSION_COOKIE"]
        {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "OMP_NUM_THREADS", "KEYBOARD", "LD_LIBRARY_PATH"] {
            assert!(!looks_secret(name), "{name}");
        }
        let kept = kept_environment(&[("A".into(), "1".into()), ("RETAKE_TEST_TOKEN".into(), "hidden".into())]);
        let (restored, missing, longer) = restored_environment(&kept);
        assert_eq!(restored, ["A=1", "RETAKE_TEST_TOKEN=xxxxxx"]);
        assert_eq!((missing.len(), longer), (1, 0));
    }
}
