//! TLS to a nats-server: who it must be, who we are, and the sealing and opening of bytes.
//!
//! The cryptography is rustls's. Its settings hold a table whose seed libc draws, so they are made, and hands are shaken,
//! in a thread apart ([`unseen::call`]): the seed would be a random number of the program's. Sealing and opening, which
//! happen in the program's own threads, call nothing that a recording sees.
//!
//! Law: whatever fails here is an error in words. Nobody goes on in plain text.

use crate::carrier::Papers;
use crate::unseen;
use crate::waiting::now;
use crate::wire;
use libc::{POLLIN, POLLOUT, c_int, pollfd};
use retake_engine::sys;
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, RootCertStore};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where systems keep the authorities that they trust.
const AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
const THREAD_STACK: usize = 1 << 20;

/// A connection whose hands are shaken.
#[derive(Debug)]
pub struct Tls(ClientConnection);

/// The time, past libc: a clock that is read there is on the tape.
#[derive(Debug)]
struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let ns = u64::try_from(sys::clock_ns(libc::CLOCK_REALTIME)).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_nanos(ns)))
    }
}

impl Tls {
    /// Shakes hands with the server at the other end of `fd`, which must prove to be `host`, until that moment.
    pub fn shake(fd: c_int, host: &str, papers: &Papers, until: i64) -> Result<Tls, String> {
        let (host, papers) = (host.to_owned(), papers.clone());
        let shaken = unseen::call(THREAD_STACK, move || {
            let name = ServerName::try_from(host).map_err(|_| "its name is none that a certificate has".to_owned())?;
            let mut connection =
                ClientConnection::new(Arc::new(settings(&papers)?), name).map_err(|why| words(&why))?;
            // What is sealed is written at once, so nothing piles up.
            connection.set_buffer_limit(None);
            let mut stream = Stream { fd, until };
            while connection.is_handshaking() || connection.wants_write() {
                connection.complete_io(&mut stream).map_err(|why| told(&why))?;
            }
            Ok(Tls(connection))
        });
        shaken.unwrap_or_else(|| Err("no thread for TLS".into()))
    }

    /// These bytes as they go to the server, after whatever else is to go.
    pub fn seal(&mut self, pieces: &[&[u8]]) -> Result<Vec<u8>, String> {
        let mut sealed = Vec::new();
        for piece in pieces {
            self.0.writer().write_all(piece).map_err(|why| told(&why))?;
        }
        while self.0.wants_write() {
            self.0.write_tls(&mut sealed).map_err(|why| told(&why))?;
        }
        Ok(sealed)
    }

    /// Opens what came from the server, and puts it behind `plain`. True if something is to be said in answer.
    pub fn open(&mut self, mut sealed: &[u8], plain: &mut Vec<u8>) -> Result<bool, String> {
        while !sealed.is_empty() {
            if self.0.read_tls(&mut sealed).map_err(|why| told(&why))? == 0 {
                break;
            }
            let here = self.0.process_new_packets().map_err(|why| words(&why))?.plaintext_bytes_to_read();
            let start = plain.len();
            plain.resize(start + here, 0);
            self.0.reader().read_exact(&mut plain[start..]).map_err(|why| told(&why))?;
        }
        Ok(self.0.wants_write())
    }
}

fn settings(papers: &Papers) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_details(provider, Arc::new(Clock));
    let builder = builder.with_safe_default_protocol_versions().map_err(|why| words(&why))?;
    let builder = builder.with_root_certificates(authorities(papers)?);
    let mut settings = match &papers.certificate {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let bytes = read(key, "NATS_KEY")?;
            let secret = PrivateKeyDer::from_pem_slice(&bytes)
                .map_err(|_| format!("NATS_KEY={}: no private key in PEM form", key.display()))?;
            let refuse = |why: Error| format!("NATS_CERT={}: {why}", certificate.display());
            builder.with_client_auth_cert(certificates(certificate, "NATS_CERT")?, secret).map_err(refuse)?
        }
    };
    // One connection for each participant, made once.
    settings.resumption = Resumption::disabled();
    Ok(settings)
}

/// Whom we trust to say who a server is.
fn authorities(papers: &Papers) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    match &papers.authority {
        Some(path) => {
            for one in certificates(path, "NATS_CA")? {
                store.add(one).map_err(|why| format!("NATS_CA={}: {why}", path.display()))?;
            }
        }
        None => {
            let systems = AUTHORITIES.iter().map(PathBuf::from).find(|path| path.exists());
            let systems = systems.ok_or("this machine trusts no authority: NATS_CA=FILE names one")?;
            store.add_parsable_certificates(certificates(&systems, "authorities of this machine")?);
        }
    }
    Ok(store)
}

fn certificates(path: &Path, whose: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = read(path, whose)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let all = all.map_err(|why| format!("{whose}={}: {why}", path.display()))?;
    if all.is_empty() { Err(format!("{whose}={}: no certificate in PEM form", path.display())) } else { Ok(all) }
}

fn read(path: &Path, whose: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|why| format!("{whose}={}: {why}", path.display()))
}

/// The likeliest cause, and what to do.
fn words(error: &Error) -> String {
    use CertificateError as Bad;
    let ours = "it wants a certificate of ours that it trusts: NATS_CERT=FILE and NATS_KEY=FILE";
    match error {
        Error::InvalidCertificate(Bad::UnknownIssuer) => {
            "nobody whom we trust has signed its certificate: NATS_CA=FILE names who has".into()
        }
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "its certificate is another host's: name the server as the certificate does".into()
        }
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => "its certificate has expired".into(),
        Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::HandshakeFailure,
        ) => ours.into(),
        other => other.to_string(),
    }
}

/// The same for what comes by way of a stream.
fn told(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(inner) => words(inner),
        None => error.to_string(),
    }
}

/// A connection while hands are shaken: it waits, until then.
struct Stream {
    fd: c_int,
    until: i64,
}

impl Stream {
    /// Makes a call until it need not wait any more.
    fn wait(&self, events: i16, call: impl Fn() -> isize) -> io::Result<usize> {
        loop {
            let done = call();
            match sys::error(done) {
                None => return Ok(done as usize),
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) if now() < self.until => {
                    let mut polled = [pollfd { fd: self.fd, events, revents: 0 }];
                    let _ = wire::poll(&mut polled, wire::left_ms(self.until));
                }
                Some(libc::EAGAIN) => return Err(io::Error::other("it does not answer in TLS")),
                Some(errno) => return Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let (at, length) = (to.as_mut_ptr() as usize, to.len());
        // SAFETY: the room is as long as said.
        self.wait(POLLIN, || unsafe { sys::read(self.fd as usize, at, length) })
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let (at, length, flags) = (from.as_ptr() as usize, from.len(), libc::MSG_NOSIGNAL as usize);
        // SAFETY: the bytes are as many as said; no address is given.
        self.wait(POLLOUT, || unsafe { sys::sendto(self.fd as usize, at, length, flags, 0, 0) })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
