//! What carries messages, as the user says it: `RETAKE_TRANSPORT`, or a call of [`set_transport`].
//!
//! ```text
//! unix                                             this machine; the default
//! tcp:server=10.0.0.1:7001,client=10.0.0.2:7001    an address for each participant
//! tcp:@FILE                                        the same, in a file: separated by commas, blanks or lines; # comments
//! nats://user:password@10.0.0.1:4222               a nats-server (feature `nats`)
//! tls://nats.example.org                           the same, and never in plain text
//! ```
//!
//! Law: whoever starts the program has the last word, so the variable goes before the call. A replay from the command
//! line runs over Unix sockets, whatever the recording ran over, unless the variable is set for the replay.

use crate::error::{Error, Result};
use crate::frame::is_name;
#[cfg(feature = "nats")]
use crate::nats::Key;
use crate::proof::{SECRET_MIN, Secret};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
#[cfg(feature = "nats")]
use std::path::PathBuf;
use std::sync::Mutex;

const TRANSPORT: &str = "RETAKE_TRANSPORT";
const SECRET: &str = "RETAKE_SECRET";
const SECRET_FILE: &str = "RETAKE_SECRET_FILE";

/// What carries messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    Unix,
    Tcp(Vec<(String, SocketAddr)>),
    #[cfg(feature = "nats")]
    Nats(Nats),
}

/// Where a nats-server is, and who we are there.
#[cfg(feature = "nats")]
#[derive(Clone, PartialEq, Eq)]
pub struct Nats {
    pub servers: Vec<NatsServer>,
    /// What a connection shows, as fields of CONNECT.
    pub login: Vec<(&'static str, String)>,
    /// What it signs with.
    pub key: Option<Key>,
    pub papers: Papers,
    /// Hands are shaken before a server has said anything.
    pub tls_first: bool,
}

#[cfg(feature = "nats")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsServer {
    /// As the user wrote it, without passwords: `HOST:PORT`.
    pub shown: String,
    pub address: SocketAddr,
    /// Nothing is said to it in plain text.
    pub tls: bool,
}

#[cfg(feature = "nats")]
impl NatsServer {
    /// Who it must prove to be.
    pub fn host(&self) -> &str {
        let host = self.shown.rsplit_once(':').map_or(&*self.shown, |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }
}

/// What is shown and wanted in TLS: files in PEM form.
#[cfg(feature = "nats")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Papers {
    /// Who signs the certificates of servers; whoever this machine trusts if it is missing.
    pub authority: Option<PathBuf>,
    /// Our certificate, and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

#[cfg(feature = "nats")]
impl std::fmt::Debug for Nats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nats").field("servers", &self.servers).finish_non_exhaustive()
    }
}

static CHOSEN: Mutex<Option<(Carrier, Secret)>> = Mutex::new(None);

/// Chooses what carries messages, for participants that are made from now on, in the words of `RETAKE_TRANSPORT`; and the
/// secret that all of a group share. The variable goes before this call. See `docs/library.md`.
///
/// # Errors
/// [`Error::Setting`] if the words make no sense, or the secret is shorter than 16 bytes.
pub fn set_transport(words: &str, secret: Option<&[u8]>) -> Result<()> {
    let carrier = Carrier::of(words)?;
    let secret = secret.map_or(Ok(Secret::default()), |secret| whole(secret, "the secret"))?;
    *CHOSEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some((carrier, secret));
    Ok(())
}

/// What holds now; `variable_only` in a replay from the command line.
pub fn now(variable_only: bool) -> Result<(Carrier, Secret)> {
    let chosen = CHOSEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
    let (mut carrier, mut secret) = chosen.filter(|_| !variable_only).unwrap_or((Carrier::Unix, Secret::default()));
    if let Some(words) = std::env::var(TRANSPORT).ok().filter(|words| !words.trim().is_empty()) {
        carrier = Carrier::of(&words)?;
    }
    if carrier != Carrier::Unix
        && let Some(given) = secret_of_environment()?
    {
        secret = given;
    }
    Ok((carrier, secret))
}

fn secret_of_environment() -> Result<Option<Secret>> {
    if let Some(path) = std::env::var_os(SECRET_FILE).filter(|path| !path.as_encoded_bytes().trim_ascii().is_empty()) {
        let shown = path.to_string_lossy().into_owned();
        return private_file(Path::new(&path), &shown).map(Some);
    }
    let given = std::env::var(SECRET).ok().filter(|words| !words.trim().is_empty());
    given.map(|words| whole(words.as_bytes(), SECRET)).transpose()
}

fn private_file(path: &Path, shown: &str) -> Result<Secret> {
    let refuse = |why: String| Error::Setting(format!("{SECRET_FILE}={shown}: {why}"));
    let data = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
    if data.mode() & 0o077 != 0 {
        return Err(refuse(format!("others may read it: chmod 600 {shown}")));
    }
    let bytes = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
    whole(bytes.trim_ascii(), SECRET_FILE)
}

fn whole(secret: &[u8], whose: &str) -> Result<Secret> {
    let short = || Error::Setting(format!("{whose} has {} bytes: at least {SECRET_MIN}", secret.len()));
    Secret::new(secret).ok_or_else(short)
}

impl Carrier {
    fn of(words: &str) -> Result<Carrier> {
        let words = words.trim();
        let refuse = |why: String| Error::Setting(format!("{TRANSPORT}: {why}"));
        match words.split_once(':') {
            None if words == "unix" => Ok(Carrier::Unix),
            Some(("tcp", list)) => match list.strip_prefix('@') {
                None => addresses(list).map(Carrier::Tcp).map_err(refuse),
                Some(file) => {
                    let text = std::fs::read_to_string(file).map_err(|error| refuse(format!("{file}: {error}")))?;
                    addresses(&text).map(Carrier::Tcp).map_err(|why| refuse(format!("{file}: {why}")))
                }
            },
            Some(("nats" | "tls", _)) => nats(words).map_err(refuse),
            _ => Err(refuse("unix, tcp:NAME=HOST:PORT,..., tcp:@FILE, nats://HOST:PORT or tls://HOST:PORT".into())),
        }
    }
}

#[cfg(not(feature = "nats"))]
fn nats(_: &str) -> std::result::Result<Carrier, String> {
    Err("this build of the library has no NATS: build package `retake` with --features nats".into())
}

/// `nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT]`, or several, with commas between, or `tls://`; NATS_USER, NATS_PASSWORD,
/// NATS_TOKEN, NATS_NKEY and NATS_CREDS say what the address does not. NATS_CA, NATS_CERT and NATS_KEY name files; whoever gives
/// them, or sets NATS_TLS_FIRST, means TLS.
#[cfg(feature = "nats")]
fn nats(words: &str) -> std::result::Result<Carrier, String> {
    let given = |name| std::env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
    let (user, pass, token) = (given("NATS_USER"), given("NATS_PASSWORD"), given("NATS_TOKEN"));
    let mut login = match (user, pass, token) {
        (Some(user), pass, _) => vec![("user", user), ("pass", pass.unwrap_or_default())],
        (None, _, Some(token)) => vec![("auth_token", token)],
        _ => Vec::new(),
    };
    let key = match (given("NATS_CREDS"), given("NATS_NKEY")) {
        (Some(_), Some(_)) => return Err("NATS_CREDS and NATS_NKEY both say who we are: unset one".into()),
        (Some(file), None) => Some(Key::of_credentials(Path::new(&file))?),
        (None, Some(file)) => Some(Key::of_seed_file(Path::new(&file))?),
        (None, None) => None,
    };
    let tls_first = given("NATS_TLS_FIRST").is_some_and(|word| !["0", "false"].contains(&&*word));
    let papers = Papers {
        authority: given("NATS_CA").map(PathBuf::from),
        certificate: match (given("NATS_CERT"), given("NATS_KEY")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return Err("NATS_CERT and NATS_KEY go together: a certificate and its key".into()),
        },
    };
    let mut servers = Vec::new();
    for url in words.split(',').map(str::trim) {
        let (scheme, place) = url
            .split_once("://")
            .filter(|(scheme, _)| ["nats", "tls"].contains(scheme))
            .ok_or("nats://HOST:PORT, or tls://HOST:PORT, or several with commas between")?;
        let tls = scheme == "tls" || tls_first || papers != Papers::default();
        let (who, host) = place.rsplit_once('@').unwrap_or(("", place));
        let host = host.trim_end_matches('/');
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let shown = if has_port { host.to_owned() } else { format!("{host}:4222") };
        servers.push(NatsServer { address: address(&shown)?, shown, tls });
        match who.split_once(':') {
            Some((user, pass)) => login = vec![("user", decoded(user)), ("pass", decoded(pass))],
            None if !who.is_empty() => login = vec![("auth_token", decoded(who))],
            None => {}
        }
    }
    Ok(Carrier::Nats(Nats { servers, login, key, papers, tls_first }))
}

/// `%40` is `@`, as in addresses of all kinds.
#[cfg(feature = "nats")]
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%').and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => (bytes, rest) = ([&bytes[..], &[byte]].concat(), &after[2..]),
            None => (bytes, rest) = ([&bytes[..], &[first]].concat(), after),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn addresses(text: &str) -> std::result::Result<Vec<(String, SocketAddr)>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let items = lines.flat_map(|line| line.split([',', ' ', '\t'])).filter(|item| !item.is_empty());
    let mut list: Vec<(String, SocketAddr)> = Vec::new();
    for item in items {
        let (name, at) = item.split_once('=').ok_or_else(|| format!("{item} is not NAME=HOST:PORT"))?;
        if !is_name(name) {
            return Err(format!("{name} is no name of a participant"));
        }
        if list.iter().any(|(known, _)| known == name) {
            return Err(format!("{name} has two addresses"));
        }
        list.push((name.into(), address(at)?));
    }
    if list.is_empty() { Err("no addresses: NAME=HOST:PORT for each participant".into()) } else { Ok(list) }
}

/// Names of hosts are looked up in `/etc/hosts` alone: a question over the net would be work of libc's that a recording
/// sees, and its answer may be another in the replay.
fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').ok_or_else(|| format!("{text} is not HOST:PORT"))?;
    let port = port.parse().map_err(|_| format!("{port} is no port"))?;
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let known = |line: &str| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let address: IpAddr = words.next()?.parse().ok()?;
        words.any(|word| word == host).then_some(address)
    };
    let found = hosts.lines().find_map(known);
    let address = found.ok_or_else(|| format!("{host} is neither an address nor in /etc/hosts"))?;
    Ok(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_choose_the_transport() {
        assert_eq!(Carrier::of(" unix  "), Ok(Carrier::Unix));
        let two = Carrier::of("tcp:a=127.0.0.1:1,b=[::1]:2").unwrap();
        let Carrier::Tcp(list) = &two else { panic!("{two:?}") };
        assert_eq!(list[1], ("b".into(), "[::1]:2".parse().unwrap()));
        let file = std::env::temp_dir().join(format!("retake-list-{}", std::process::id()));
        std::fs::write(&file, "# all of us\na=127.0.0.1:1\n\nb=[::1]:2  # the other\n").unwrap();
        assert_eq!(Carrier::of(&format!("tcp:@{}", file.display())), Ok(two));
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        let cases = [
            ("udp:a=1.2.3.4:5", "unix, tcp:"),
            ("tcp:", "no addresses"),
            ("tcp:a", "NAME=HOST:PORT"),
            ("tcp:a=1.2.3.4", "HOST:PORT"),
            ("tcp:a=1.2.3.4:x", "no port"),
            ("tcp:a/b=1.2.3.4:5", "no name"),
            ("tcp:a=1.2.3.4:5,a=1.2.3.4:6", "two addresses"),
            ("tcp:a=no.such.host.example:5", "/etc/hosts"),
            ("tcp:@/no/such/file", "No such file"),
        ];
        for (words, why) in cases {
            let error = Carrier::of(words).unwrap_err().to_string();
            assert!(error.starts_with("RETAKE_TRANSPORT: ") && error.contains(why), "{words}: {error}");
        }
    }
}
