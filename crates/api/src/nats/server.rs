//! A connection to a nats-server: one participant's. What comes is read by a thread of the library's own ([`unseen`]), so
//! that the server is answered while the program computes, and does not take us for slow.
//!
//! Law: a connection that is lost is lost. There is no connecting again behind the program's back: core NATS keeps
//! nothing for whoever is away, so messages would be gone in silence.

use super::pipe::{Pipe, Room};
use super::protocol::{Reader, Said};
use crate::carrier::{Nats as Url, NatsServer};
use crate::error::words;
use crate::unseen;
use crate::waiting::now;
use crate::wire::{self, Address, Fd};
use libc::{POLLIN, pollfd};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// How long connecting to one server may take, and how long each of its first words.
const TIME_NS: i64 = 5_000_000_000;

const GARBAGE: &str = "it said something that no nats-server says";

#[derive(Debug, Default)]
struct State {
    arrived: VecDeque<Said>,
    pongs: u64,
    /// Why there is no connection any more.
    lost: Option<String>,
}

#[derive(Debug)]
pub struct Server {
    pipe: Pipe,
    /// As the user named it, for words.
    shown: String,
    /// The longest payload that it takes.
    pub payload_max: usize,
    state: Mutex<State>,
    /// Rings when something has come.
    bell: Fd,
}

fn of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Server {
    /// Connects to one of the servers and shows who we are. The words say why that failed.
    pub fn connect(url: &Url, client: &str) -> Result<Arc<Server>, String> {
        let mut why = String::new();
        for server in &url.servers {
            let failed = |errno| format!("no nats-server at {}: {}", server.shown, words(errno));
            match wire::connect_until(&Address::of(server.address), now() + TIME_NS) {
                Ok(fd) => return Server::greet(url, server, Pipe::new(fd), client),
                Err(errno) => why = failed(errno),
            }
        }
        Err(why)
    }

    fn greet(url: &Url, at: &NatsServer, mut pipe: Pipe, client: &str) -> Result<Arc<Server>, String> {
        let shown = &at.shown;
        let (mut reader, mut said) = (Reader::default(), VecDeque::new());
        let none = |what: &str| format!("what listens at {shown} is no nats-server: {what}");
        let no_tls = |why| format!("no TLS with nats-server {shown}: {why}");
        if url.tls_first {
            pipe.shake(at.host(), &url.papers).map_err(no_tls)?;
        }
        let room = if url.tls_first { Room::wide() } else { Room::narrow() };
        let Ok(Some(Said::Info(info))) = first(&pipe, room, &mut reader, &mut said) else {
            let why = "it does not say INFO; one that begins with TLS (handshake_first) wants NATS_TLS_FIRST=1";
            return Err(none(if url.tls_first { "it does not say INFO" } else { why }));
        };
        let info: serde_json::Value = serde_json::from_slice(&info).map_err(|_| none("its INFO is no JSON"))?;
        if info["headers"] != true {
            return Err(format!("nats-server {shown} is too old: without headers it cannot tell that nobody listens"));
        }
        let speaks = url.tls_first || info["tls_required"] == true || info["tls_available"] == true;
        if at.tls && !speaks {
            return Err(format!(
                "nats-server {shown} does not speak TLS, and nothing is said to it in plain text: its option --tls, or \
                 nats:// without NATS_CA and NATS_CERT"
            ));
        }
        let tls = at.tls || info["tls_required"] == true;
        if tls && !url.tls_first {
            pipe.shake(at.host(), &url.papers).map_err(no_tls)?;
        }
        let mut connect = serde_json::json!({
            "verbose": false, "pedantic": false, "lang": "retake", "version": env!("CARGO_PKG_VERSION"), "protocol": 1,
            "name": client, "echo": false, "headers": true, "no_responders": true, "tls_required": tls,
        });
        let signed = match (&url.key, info["nonce"].as_str()) {
            (Some(key), Some(nonce)) => key.shown(nonce)?,
            (Some(_), None) => {
                return Err(format!("nats-server {shown} knows no keys: unset NATS_NKEY and NATS_CREDS"));
            }
            (None, _) => Vec::new(),
        };
        for (key, value) in url.login.iter().chain(&signed) {
            connect[*key] = value.clone().into();
        }
        let lost = |why| format!("the connection to nats-server {shown} was lost: {why}");
        pipe.write([format!("CONNECT {connect}\r\nPING\r\n").as_bytes(), b"", b""]).map_err(lost)?;
        loop {
            match first(&pipe, Room::wide(), &mut reader, &mut said).map_err(lost)? {
                Some(Said::Pong) => break,
                // It may tell more of itself, now that it knows us.
                Some(Said::Info(_)) => {}
                Some(Said::Refused(words)) => {
                    let why = if url.key.is_some() {
                        "it does not know our key, or what its account says of it has run out"
                    } else if info["nonce"].is_string() && url.login.is_empty() {
                        "it may want an NKey or a JWT: NATS_NKEY=FILE, or NATS_CREDS=FILE"
                    } else {
                        "RETAKE_TRANSPORT=nats://USER:PASSWORD@HOST, or NATS_USER and NATS_PASSWORD, or NATS_TOKEN"
                    };
                    return Err(format!("nats-server {shown} refuses: {words}; {why}"));
                }
                _ => return Err(lost("it does not answer".into())),
            }
        }
        let payload_max = info["max_payload"].as_u64().and_then(|max| usize::try_from(max).ok()).unwrap_or(1 << 20);
        let bell = wire::bell().map_err(|errno| format!("no descriptor: {}", words(errno)))?;
        let server = Server { pipe, shown: shown.clone(), payload_max, state: Mutex::default(), bell };
        let server = Arc::new(server);
        let reads = server.clone();
        let started = unseen::start(move || {
            if let Err(why) = reads.read(reader, said) {
                reads.lose(why);
            }
        });
        if started { Ok(server) } else { Err("no thread to read messages".into()) }
    }

    /// What the thread does. `said` has come with the first words.
    fn read(&self, mut reader: Reader, mut said: VecDeque<Said>) -> Result<(), String> {
        let mut room = Room::wide();
        loop {
            for one in said.drain(..) {
                match one {
                    Said::Ping => self.pipe.write([b"PONG\r\n", b"", b""])?,
                    Said::Pong => of(&self.state).pongs += 1,
                    Said::Info(_) => {}
                    Said::Refused(words) => return Err(words),
                    message => of(&self.state).arrived.push_back(message),
                }
            }
            wire::ring(&self.bell);
            let bytes = self.pipe.read(&mut room, -1)?;
            let read = reader.take(bytes, &mut |one| said.push_back(one));
            read.map_err(|_| GARBAGE)?;
        }
    }

    fn lose(&self, why: String) {
        let words = format!("the connection to nats-server {} was lost: {why}", self.shown);
        of(&self.state).lost.get_or_insert(words);
        wire::ring(&self.bell);
    }

    fn write(&self, pieces: [&[u8]; 3]) {
        if let Err(why) = self.pipe.write(pieces) {
            self.lose(why);
        }
    }

    /// Publishes a payload, in two pieces, and says where an answer would go.
    pub fn publish(&self, subject: &str, reply: &str, head: &[u8], contents: &[u8]) -> Result<(), String> {
        if let Some(words) = &of(&self.state).lost {
            return Err(words.clone());
        }
        let line = format!("PUB {subject} {reply} {}\r\n", head.len() + contents.len());
        self.write([&[line.as_bytes(), head].concat(), contents, b"\r\n"]);
        Ok(())
    }

    pub fn subscribe(&self, subject: &str) {
        self.write([format!("SUB {subject} 1\r\n").as_bytes(), b"", b""]);
    }

    /// Waits until the server has seen all that was said to it; and which of those with a reply to `subject` reached nobody.
    pub fn settle(&self, subject: &str) -> Result<bool, String> {
        let wanted = of(&self.state).pongs + 1;
        self.write([b"PING\r\n", b"", b""]);
        let until = now() + TIME_NS;
        loop {
            let mut state = of(&self.state);
            if state.pongs >= wanted {
                let before = state.arrived.len();
                state.arrived.retain(|said| !matches!(said, Said::Nobody { subject: its } if its == subject));
                return Ok(state.arrived.len() < before);
            }
            if let Some(words) = &state.lost {
                return Err(words.clone());
            }
            drop(state);
            if now() > until {
                self.lose("it does not answer".into());
            }
            self.wait(wire::left_ms(until));
        }
    }

    /// Waits until something has come, so long at most.
    pub fn wait(&self, timeout_ms: i32) {
        let mut polled = [pollfd { fd: self.bell.0, events: POLLIN, revents: 0 }];
        let _ = wire::poll(&mut polled, timeout_ms);
        wire::hush(&self.bell);
    }

    /// All that has come; and why nothing more will.
    pub fn arrived(&self) -> (VecDeque<Said>, Option<String>) {
        let mut state = of(&self.state);
        (std::mem::take(&mut state.arrived), state.lost.clone())
    }

    /// What we say to ourselves.
    pub fn echo(&self, subject: String, reply: String, payload: Vec<u8>) {
        of(&self.state).arrived.push_back(Said::Message { subject, reply: Some(reply), payload });
        wire::ring(&self.bell);
    }

    /// Hangs up; the thread ends by itself.
    pub fn close(&self) {
        self.pipe.close();
    }
}

/// The next thing that a server says while we get to know each other; none if it does not do so in time.
fn first(pipe: &Pipe, mut room: Room, reader: &mut Reader, said: &mut VecDeque<Said>) -> Result<Option<Said>, String> {
    let until = now() + TIME_NS;
    while said.is_empty() {
        let bytes = pipe.read(&mut room, wire::left_ms(until))?;
        if bytes.is_empty() && now() >= until {
            return Ok(None);
        }
        reader.take(bytes, &mut |one| said.push_back(one)).map_err(|_| GARBAGE)?;
    }
    Ok(said.pop_front())
}
