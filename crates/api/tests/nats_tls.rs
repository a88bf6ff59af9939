//! TLS to a real nats-server, with certificates made here: whoever is not who it should be is refused in words, and nobody
//! is spoken to in plain text.

#![cfg(feature = "nats")]

use retake::init;
use retake_testkit::{Authority, Nats};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn host(number: u8) -> String {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    format!("127.{}.{b}.{c}:{}", 180 + a, 4222 + u16::from(number))
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tls-{name}"))
}

/// A server with a certificate for its own address, that wants one of its clients if it is `strict`.
fn server(number: u8, authority: &Authority, strict: bool) -> Nats {
    let address = host(number);
    let (ip, _) = address.split_once(':').unwrap();
    let (certificate, key) = authority.sign(&format!("server-{number}"), &format!("IP:{ip}"));
    let (certificate, key, own) = (text(&certificate), text(&key), text(&authority.file()));
    let mut options = vec!["--tls", "--tlscert", &certificate, "--tlskey", &key];
    if strict {
        options.extend(["--tlsverify", "--tlscacert", &own]);
    }
    Nats::start(&address, &options)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().into()
}

/// Runs the function `helper` of this file in a process of its own, with these files for TLS.
fn process(url: &str, role: &str, papers: &[(&str, &Path)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["helper", "--exact", "--nocapture"]).env("RETAKE_TRANSPORT", url);
    // This machine's names are one for all servers.
    let group = url.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    command.env("TEST_ROLE", role).env("RETAKE_GROUP", format!("tls-{}-{group}", std::process::id()));
    command.envs(papers.iter().copied()).stdout(Stdio::piped()).spawn().unwrap()
}

fn said(child: Child) -> String {
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

const LONG: usize = 5_000_000;

/// Not a test: what other processes of the tests do.
#[test]
fn helper() {
    let Ok(role) = std::env::var("TEST_ROLE") else { return };
    let mut me = match init(&role) {
        Ok(me) => me,
        Err(error) => return println!("refused: {error}"),
    };
    if role == "answers" {
        while let Ok(Some(message)) = me.receive(Some(Duration::from_secs(20))) {
            let end = message.contents().is_empty();
            me.reply(&message, message.contents()).unwrap();
            if end {
                break;
            }
        }
    } else {
        let other = me.wait_for_partner("answers", Some(Duration::from_secs(20))).unwrap();
        let bytes: Vec<u8> = (0..LONG).map(|at| (at * 7 + at / 251) as u8).collect();
        for length in [1, 16_384, 65_536, LONG, 17, 0] {
            let reply = me.call(other, &bytes[..length], Some(Duration::from_secs(20))).unwrap().unwrap();
            assert!(reply == bytes[..length], "{length}");
        }
        println!("all came back");
    }
    me.finish();
}

/// Two processes that talk through the server.
fn talk(url: &str, papers: &[(&str, &Path)]) {
    let (answers, asks) = (process(url, "answers", papers), process(url, "asks", papers));
    let asked = said(asks);
    assert!(asked.contains("all came back"), "{url}: {asked}{}", said(answers));
    assert!(!said(answers).contains("refused"));
}

fn refused(url: &str, papers: &[(&str, &Path)], words: &str) {
    let said = said(process(url, "refused", papers));
    assert!(said.contains("refused: ") && said.contains(words), "{words} is not in {said}");
}

#[test]
fn messages_go_through_tls() {
    let authority = Authority::new(&folder("talk"), "authority");
    let nats = server(0, &authority, false);
    let own = authority.file();
    talk(&format!("tls://{}", nats.address), &[("NATS_CA", &own)]);
    talk(&format!("nats://{}", nats.address), &[("NATS_CA", &own)]);
}

#[test]
fn a_server_that_wants_certificates_gets_one() {
    let folder = folder("strict");
    let authority = Authority::new(&folder, "authority");
    let nats = server(1, &authority, true);
    let (own, url) = (authority.file(), format!("tls://{}", nats.address));
    let (certificate, key) = authority.sign("me", "DNS:me");
    talk(&url, &[("NATS_CA", &own), ("NATS_CERT", &certificate), ("NATS_KEY", &key)]);
    refused(&url, &[("NATS_CA", &own)], "it wants a certificate of ours");
    let (foreign, foreign_key) = Authority::new(&folder, "somebody").sign("foreign", "DNS:me");
    refused(&url, &[("NATS_CA", &own), ("NATS_CERT", &foreign), ("NATS_KEY", &foreign_key)], "a certificate of ours");
    refused(&url, &[("NATS_CA", &own), ("NATS_CERT", &certificate)], "NATS_CERT and NATS_KEY go together");
    refused(&url, &[("NATS_CA", &own), ("NATS_CERT", &certificate), ("NATS_KEY", &own)], "no private key");
}

#[test]
fn a_server_that_cannot_prove_who_it_is_is_refused() {
    let folder = folder("wrong");
    let authority = Authority::new(&folder, "authority");
    let nats = server(2, &authority, false);
    let (own, other) = (authority.file(), Authority::new(&folder, "other").file());
    let (tls, plain) = (format!("tls://{}", nats.address), format!("nats://{}", nats.address));
    // It asks for TLS, and whom this machine trusts knows nothing of it.
    refused(&plain, &[], "NATS_CA=FILE names who has");
    refused(&tls, &[("NATS_CA", &other)], "NATS_CA=FILE names who has");
    refused(&tls, &[("NATS_CA", Path::new("/no/such/file"))], "NATS_CA=/no/such/file: No such file");
    let (_, key) = authority.sign("key", "DNS:me");
    refused(&tls, &[("NATS_CA", &key)], "no certificate in PEM form");
    // A certificate of another host.
    let address = host(3);
    let (certificate, key) = authority.sign("elsewhere", "DNS:elsewhere.example");
    let (certificate, key) = (text(&certificate), text(&key));
    let elsewhere = Nats::start(&address, &["--tls", "--tlscert", &certificate, "--tlskey", &key]);
    refused(&format!("tls://{}", elsewhere.address), &[("NATS_CA", &own)], "its certificate is another host's");
    // One that speaks no TLS, though it is asked for: by the address, or by what is to prove it.
    let open = Nats::start(&host(4), &[]);
    refused(&format!("tls://{}", open.address), &[], "does not speak TLS");
    refused(&format!("nats://{}", open.address), &[("NATS_CA", &own)], "does not speak TLS");
}

/// Whatever a server pretends, no word of ours is plain.
#[test]
fn nothing_is_said_in_plain_text() {
    let address = host(5);
    let listener = TcpListener::bind(&address).unwrap();
    for (info, scheme) in [("\"tls_required\":true", "nats"), ("\"tls_available\":true", "tls"), ("\"a\":1", "tls")] {
        let url = format!("{scheme}://me:secret@{address}");
        let client = process(&url, "plain", &[]);
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(format!("INFO {{\"headers\":true,{info}}}\r\n").as_bytes()).unwrap();
        let mut heard = vec![0; 100];
        let many = stream.read(&mut heard).unwrap();
        drop(stream);
        // The beginning of TLS, or nothing.
        assert!(many == 0 || heard.starts_with(&[22, 3]), "{heard:?}");
        assert_eq!(many == 0, info.contains("\"a\""));
        assert!(said(client).contains("refused: "));
    }
}
