//! Logins by key at a real nats-server: an NKey, and a JWT that an account has signed. And a server that begins with TLS.

#![cfg(feature = "nats")]

use retake::init;
use retake_testkit::{Authority, Nats};
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn host(number: u8) -> String {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    format!("127.{}.{b}.{c}:{}", 190 + a, 4222 + u16::from(number))
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn put(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

/// What NATS calls kinds of keys.
#[derive(Clone, Copy)]
enum Whose {
    Operator = 14,
    Account = 0,
    User = 20,
}

/// A key made here.
struct Made {
    seed: String,
    public: String,
    pair: Ed25519KeyPair,
}

fn digits(bytes: &[u8], bits: u32, digits: &[u8]) -> String {
    let all: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let one = |chunk: &[u8]| {
        let text = format!("{:0<width$}", std::str::from_utf8(chunk).unwrap(), width = bits as usize);
        char::from(digits[usize::from_str_radix(&text, 2).unwrap()])
    };
    all.as_bytes().chunks(bits as usize).map(one).collect()
}

fn base64(bytes: &[u8]) -> String {
    digits(bytes, 6, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
}

fn summed(mut bytes: Vec<u8>) -> String {
    let mut sum = 0u16;
    for byte in &bytes {
        sum ^= u16::from(*byte) << 8;
        (0..8).for_each(|_| sum = sum << 1 ^ if sum >> 15 == 1 { 0x1021 } else { 0 });
    }
    bytes.extend(sum.to_le_bytes());
    digits(&bytes, 5, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
}

impl Made {
    fn new(whose: Whose) -> Made {
        let mut seed = [0; 32];
        std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut seed).unwrap();
        let (kind, pair) = ((whose as u8) << 3, Ed25519KeyPair::from_seed_unchecked(&seed).unwrap());
        let public = summed([&[kind], pair.public_key().as_ref()].concat());
        Made { seed: summed([&[18 << 3 | kind >> 5, (kind & 31) << 3], &seed[..]].concat()), public, pair }
    }

    /// This key says something of `subject`.
    fn says(&self, subject: &Made, nats: &str) -> String {
        let claims = format!(
            r#"{{"jti":"x","iat":1600000000,"iss":"{}","name":"test","sub":"{}","nats":{nats}}}"#,
            self.public, subject.public
        );
        let text = format!("{}.{}", base64(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#), base64(claims.as_bytes()));
        format!("{text}.{}", base64(self.pair.sign(text.as_bytes()).as_ref()))
    }
}

/// Runs the function `helper` of this file in a process of its own; what it said.
fn talk(url: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["helper", "--exact", "--nocapture"]).env("TEST_ROLE", "talks").env("RETAKE_TRANSPORT", url);
    let group = url.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    command.env("RETAKE_GROUP", format!("keys-{}-{group}", std::process::id()));
    String::from_utf8(command.envs(variables.iter().copied()).output().unwrap().stdout).unwrap()
}

/// Not a test: two participants that talk through the server.
#[test]
fn helper() {
    if std::env::var("TEST_ROLE").is_err() {
        return;
    }
    let (mut one, mut two) = match (init("one"), init("two")) {
        (Ok(one), Ok(two)) => (one, two),
        (Err(error), _) | (_, Err(error)) => return println!("refused: {error}"),
    };
    let to = one.find_partner("two").unwrap();
    let other = thread::spawn(move || {
        let message = two.receive(Some(Duration::from_secs(20))).unwrap().unwrap();
        two.reply(&message, message.contents()).unwrap();
        two.finish();
    });
    let reply = one.call(to, &vec![7; 100_000], Some(Duration::from_secs(20))).unwrap().unwrap();
    println!("{} bytes came back", reply.len());
    other.join().unwrap();
}

const CAME_BACK: &str = "100000 bytes came back";

fn refused(url: &str, variables: &[(&str, &str)], words: &str) {
    let said = talk(url, variables);
    assert!(said.contains("refused: ") && said.contains(words), "{words} is not in {said}");
}

#[test]
fn an_nkey_opens_the_door() {
    let (folder, me, other) = (folder("nkey"), Made::new(Whose::User), Made::new(Whose::User));
    let users = format!("authorization {{ users = [ {{ nkey: {} }} ] }}\n", me.public);
    let nats = Nats::start(&host(0), &["-c", &put(&folder, "nats.conf", &users)]);
    let url = format!("nats://{}", nats.address);
    let seed = put(&folder, "seed", &format!("# a comment\n{}\n", me.seed));
    let said = talk(&url, &[("NATS_NKEY", &seed)]);
    assert!(said.contains(CAME_BACK), "{said}");
    let wrong = put(&folder, "other", &other.seed);
    refused(&url, &[("NATS_NKEY", &wrong)], "it does not know our key");
    refused(&url, &[], "NATS_NKEY=FILE, or NATS_CREDS=FILE");
    refused(&url, &[("NATS_NKEY", "/no/such/file")], "NATS_NKEY=/no/such/file: No such file");
    refused(&url, &[("NATS_NKEY", &put(&folder, "public", &me.public))], "no seed of a user");
    let damaged = put(&folder, "damaged", &me.seed[..57]);
    refused(&url, &[("NATS_NKEY", &damaged)], "its seed is damaged");
    refused(&url, &[("NATS_NKEY", &seed), ("NATS_CREDS", &seed)], "unset one");
    let said = talk(&url, &[("NATS_NKEY", &damaged)]);
    assert!(!said.contains(&me.seed[..57]), "a seed is not shown");
    let open = Nats::start(&host(1), &[]);
    refused(&format!("nats://{}", open.address), &[("NATS_NKEY", &seed)], "knows no keys");
}

#[test]
fn credentials_open_the_door() {
    let folder = folder("creds");
    let [operator, account, user, other] =
        [Whose::Operator, Whose::Account, Whose::User, Whose::Account].map(Made::new);
    let limits =
        r#""limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1}"#;
    let account_words =
        operator.says(&account, &format!(r#"{{{limits},"default_permissions":{{}},"type":"account","version":2}}"#));
    let settings = format!(
        "operator: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {} }}\n",
        operator.says(&operator, r#"{"type":"operator","version":2}"#),
        account.public,
        account_words
    );
    let nats = Nats::start(&host(2), &["-c", &put(&folder, "nats.conf", &settings)]);
    let url = format!("nats://{}", nats.address);
    let credentials = |name: &str, by: &Made| {
        let jwt = by.says(&user, r#"{"pub":{},"sub":{},"subs":-1,"data":-1,"payload":-1,"type":"user","version":2}"#);
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n*** IMPORTANT ***\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            user.seed
        );
        put(&folder, name, &text)
    };
    let good = credentials("good.creds", &account);
    let said = talk(&url, &[("NATS_CREDS", &good)]);
    assert!(said.contains(CAME_BACK), "{said}");
    refused(&url, &[("NATS_CREDS", &credentials("bad.creds", &other))], "it does not know our key");
    refused(&url, &[("NATS_CREDS", &put(&folder, "seed", &user.seed))], "no JWT of a user");
    refused(&url, &[], "NATS_NKEY=FILE, or NATS_CREDS=FILE");
}

/// Copies bytes both ways between somebody who speaks TLS at once and a server that does not.
fn carry(client: TcpStream, server: &str, settings: Arc<ServerConfig>) {
    let mut plain = TcpStream::connect(server).unwrap();
    let moment = Some(Duration::from_millis(2));
    client.set_read_timeout(moment).unwrap();
    plain.set_read_timeout(moment).unwrap();
    let mut sealed = StreamOwned::new(ServerConnection::new(settings).unwrap(), client);
    let mut room = vec![0; 64 << 10];
    let again = |error: &std::io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    loop {
        for way in 0..2 {
            let got = if way == 0 { sealed.read(&mut room) } else { plain.read(&mut room) };
            match got {
                Ok(0) => return,
                Ok(many) if way == 0 => plain.write_all(&room[..many]).unwrap(),
                Ok(many) if sealed.write_all(&room[..many]).is_err() => return,
                Ok(_) => {}
                Err(error) if again(&error) => {}
                Err(_) => return,
            }
        }
    }
}

/// As a nats-server with `handshake_first`, which Debian's is too old for: TLS stands before a real one.
#[test]
fn a_server_may_begin_with_tls() {
    let folder = folder("first");
    let authority = Authority::new(&folder, "authority");
    let (nats, front) = (Nats::start(&host(3), &[]), host(4));
    let (ip, _) = front.split_once(':').unwrap();
    let (certificate, key) = authority.sign("front", &format!("IP:{ip}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let own = CertificateDer::pem_file_iter(certificate).unwrap().map(Result::unwrap).collect();
    let settings = builder.with_no_client_auth().with_single_cert(own, PrivateKeyDer::from_pem_file(key).unwrap());
    let (settings, listener) = (Arc::new(settings.unwrap()), TcpListener::bind(&front).unwrap());
    let behind = nats.address.clone();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (settings, behind) = (settings.clone(), behind.clone());
            thread::spawn(move || carry(client, &behind, settings));
        }
    });
    let (own, url) = (authority.file().to_str().unwrap().to_owned(), format!("tls://{front}"));
    let said = talk(&url, &[("NATS_CA", &own), ("NATS_TLS_FIRST", "1")]);
    assert!(said.contains(CAME_BACK), "{said}");
    refused(&url, &[("NATS_CA", &own)], "wants NATS_TLS_FIRST=1");
    refused(&url, &[("NATS_TLS_FIRST", "1")], "NATS_CA=FILE names who has");
    // One that does not begin so is never spoken to in plain text.
    refused(&format!("nats://{}", nats.address), &[("NATS_TLS_FIRST", "1")], "no TLS with nats-server");
}
