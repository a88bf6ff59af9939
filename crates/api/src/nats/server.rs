//! A connection to a nats-server: one participant's. What comes is read by a thread of the library's own ([`unseen`]), so
//! that the server is answered while the program computes, and does not take us for slow.
//!
//! Law: a connection that is lost is lost. There is no connecting again behind the program's back: core NATS keeps
//! nothing for whoever is away, so messages would be gone in silence.

use super::protocol::{Reader, Said};
use crate::carrier::Nats as Url;
use crate::error::words;
use crate::unseen;
use crate::waiting::now;
use crate::wire::{self, Address, Fd, Reading};
use libc::{POLLIN, POLLOUT, pollfd};
use retake_engine::sys;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// How long connecting to one server may take, and how long a server may take nothing.
const TIME_NS: i64 = 5_000_000_000;

#[derive(Debug, Default)]
struct State {
    arrived: VecDeque<Said>,
    pongs: u64,
    /// Why there is no connection any more.
    lost: Option<String>,
}

#[derive(Debug)]
pub struct Server {
    fd: Fd,
    /// As the user named it, for words.
    shown: String,
    /// The longest payload that it takes.
    pub payload_max: usize,
    /// Held while something is written.
    writing: Mutex<()>,
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
        for (shown, address) in &url.servers {
            let failed = |errno| format!("no nats-server at {shown}: {}", words(errno));
            match wire::connect_until(&Address::of(*address), now() + TIME_NS) {
                Ok(fd) => return Server::greet(url, fd, shown.clone(), client),
                Err(errno) => why = failed(errno),
            }
        }
        Err(why)
    }

    fn greet(url: &Url, fd: Fd, shown: String, client: &str) -> Result<Arc<Server>, String> {
        wire::keep_alive(&fd);
        let (mut reader, mut said) = (Reader::default(), VecDeque::new());
        let none = |what: &str| format!("what listens at {shown} is no nats-server: {what}");
        let Some(Said::Info(info)) = first(&fd, &mut reader, &mut said) else {
            return Err(none("it does not say INFO"));
        };
        let info: serde_json::Value = serde_json::from_slice(&info).map_err(|_| none("its INFO is no JSON"))?;
        if info["tls_required"] == true {
            return Err(format!("nats-server {shown} wants TLS, which this library does not speak: a tunnel, or TCP"));
        }
        if info["headers"] != true {
            return Err(format!("nats-server {shown} is too old: without headers it cannot tell that nobody listens"));
        }
        let mut connect = serde_json::json!({
            "verbose": false, "pedantic": false, "lang": "retake", "version": env!("CARGO_PKG_VERSION"), "protocol": 1,
            "name": client, "echo": false, "headers": true, "no_responders": true, "tls_required": false,
        });
        for (key, value) in &url.login {
            connect[*key] = value.clone().into();
        }
        let line = format!("CONNECT {connect}\r\nPING\r\n");
        if !wire::write(&fd, line.as_bytes()) {
            return Err(format!("nats-server {shown} hung up"));
        }
        match first(&fd, &mut reader, &mut said) {
            Some(Said::Pong) => {}
            Some(Said::Refused(words)) => {
                let why = if info["nonce"].is_string() && url.login.is_empty() {
                    "it may want an NKey or a JWT, which this library does not know: user and password, or a token"
                } else {
                    "RETAKE_TRANSPORT=nats://USER:PASSWORD@HOST, or NATS_USER and NATS_PASSWORD, or NATS_TOKEN"
                };
                return Err(format!("nats-server {shown} refuses: {words}; {why}"));
            }
            _ => return Err(format!("nats-server {shown} hung up")),
        }
        let payload_max = info["max_payload"].as_u64().and_then(|max| usize::try_from(max).ok()).unwrap_or(1 << 20);
        let bell = wire::bell().map_err(|errno| format!("no descriptor: {}", words(errno)))?;
        let server = Server { fd, shown, payload_max, writing: Mutex::default(), state: Mutex::default(), bell };
        let server = Arc::new(server);
        let reads = server.clone();
        if unseen::start(move || reads.read(reader)) { Ok(server) } else { Err("no thread to read messages".into()) }
    }

    /// What the thread does.
    fn read(&self, mut reader: Reader) {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let mut polled = [pollfd { fd: self.fd.0, events: POLLIN, revents: 0 }];
            let _ = wire::poll(&mut polled, -1);
            let many = match read(&self.fd, &mut buffer) {
                Ok(0) => return self.lose("it hung up".into()),
                Ok(many) => many,
                Err(libc::EAGAIN | libc::EINTR) => continue,
                Err(errno) => return self.lose(words(errno)),
            };
            let (mut pings, mut refused) = (0, None);
            let read = reader.take(&buffer[..many], &mut |said| match said {
                Said::Ping => pings += 1,
                Said::Pong => of(&self.state).pongs += 1,
                Said::Info(_) => {}
                Said::Refused(words) => refused = Some(words),
                said => of(&self.state).arrived.push_back(said),
            });
            if read.is_err() {
                return self.lose("it said something that no nats-server says".into());
            }
            if let Some(words) = refused {
                return self.lose(words);
            }
            for _ in 0..pings {
                self.write([b"PONG\r\n", b"", b""]);
            }
            wire::ring(&self.bell);
        }
    }

    fn lose(&self, why: String) {
        let words = format!("the connection to nats-server {} was lost: {why}", self.shown);
        of(&self.state).lost.get_or_insert(words);
        wire::ring(&self.bell);
    }

    /// Writes, waiting for a server that takes nothing for a while, and not for one that never does.
    fn write(&self, pieces: [&[u8]; 3]) {
        let _writing = of(&self.writing);
        let mut left: Vec<&[u8]> = pieces.to_vec();
        while left.iter().any(|piece| !piece.is_empty()) {
            let Ok(mut taken) = wire::offer(&self.fd, [left[0], left[1], left[2]]) else {
                return self.lose("it hung up".into());
            };
            if taken == 0 {
                let mut polled = [pollfd { fd: self.fd.0, events: POLLOUT, revents: 0 }];
                if !wire::poll(&mut polled, wire::left_ms(now() + TIME_NS)).unwrap_or(false) {
                    return self.lose("it takes nothing any more".into());
                }
            }
            for piece in &mut left {
                let many = taken.min(piece.len());
                *piece = &piece[many..];
                taken -= many;
            }
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
        // SAFETY: a plain call on a descriptor of ours.
        unsafe { sys::shutdown(self.fd.0 as usize, libc::SHUT_RDWR as usize) };
    }
}

fn read(fd: &Fd, to: &mut [u8]) -> Result<usize, i32> {
    // SAFETY: the room is as long as said.
    let got = unsafe { sys::read(fd.0 as usize, to.as_mut_ptr() as usize, to.len()) };
    sys::error(got).map_or(Ok(got as usize), Err)
}

/// The first thing that a server says, if it does so in time.
fn first(fd: &Fd, reader: &mut Reader, said: &mut VecDeque<Said>) -> Option<Said> {
    let until = now() + TIME_NS;
    while said.is_empty() {
        let mut byte = Vec::new();
        match wire::read_up_to(fd, &mut byte, 1) {
            Reading::Closed => return None,
            Reading::Whole => reader.take(&byte, &mut |one| said.push_back(one)).ok()?,
            Reading::More if now() >= until => return None,
            Reading::More => {
                let mut polled = [pollfd { fd: fd.0, events: POLLIN, revents: 0 }];
                wire::poll(&mut polled, wire::left_ms(until)).ok()?;
            }
        }
    }
    said.pop_front()
}
