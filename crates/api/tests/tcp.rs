//! TCP as a program meets it: the same messages, proofs of the secret, strangers who lie or stall.

use hmac_sha256::HMAC;
use retake::{Error, MESSAGE_MAX, Participant, Partner, init, set_transport};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Once;
use std::thread;
use std::time::Duration;

const SECRET: &str = "a secret of thirty-two bytes, all";
const SHORT: Option<Duration> = Some(Duration::from_millis(20));
const NAMES: [&str; 13] = [
    "order-a", "order-b", "kill-a", "kill-b", "wrong-a", "bad-a", "bad-b", "fake-a", "fake-b", "free-a", "free-b", "x",
    "y",
];

/// An address of the loopback net that no other process of this machine uses.
fn address(name: &str) -> String {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    let port = 7001 + NAMES.iter().position(|known| *known == name).expect("a name of the list");
    format!("127.{}.{b}.{c}:{port}", 100 + a)
}

fn list() -> String {
    let all: Vec<String> = NAMES.iter().map(|name| format!("{name}={}", address(name))).collect();
    format!("tcp:{}", all.join(","))
}

/// A participant of this process.
fn participant(name: &str) -> Participant {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(|| set_transport(&list(), Some(SECRET.as_bytes())).unwrap());
    init(name).unwrap()
}

fn pair(a: &str, b: &str) -> (Participant, Participant, Partner) {
    let (mut a, b) = (participant(a), participant(b));
    let to_b = a.find_partner(b.name()).unwrap();
    (a, b, to_b)
}

/// Runs the function `helper` of this file in a process of its own, with that list and secret.
fn process(role: &str, list: &str, secret: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["helper", "--exact", "--nocapture"]).env("TEST_ROLE", role).env("RETAKE_TRANSPORT", list);
    command.envs(secret.iter().copied());
    command
}

/// Not a test: what other processes of the tests do.
#[test]
fn helper() {
    let Ok(role) = std::env::var("TEST_ROLE") else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let mut me = match init(words[1]) {
        Ok(me) => me,
        Err(error) => return println!("init: {error}"),
    };
    match words[0] {
        "silent" => while me.receive(None).is_ok() {},
        "finds" => match me.find_partner(words[2]) {
            Ok(partner) => println!("found, sent {:?}", me.send(partner, b"hello")),
            Err(error) => println!("find: {error}"),
        },
        role => panic!("no role {role}"),
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn messages_and_calls_go_over_tcp() {
    let (mut a, mut b, to_b) = pair("order-a", "order-b");
    assert_eq!(a.find_partner("y"), Err(Error::NotThere("y".into())));
    let server = thread::spawn(move || {
        for i in 0..500u32 {
            let message = b.receive(None).unwrap().unwrap();
            assert_eq!((message.contents(), &*message.name), (&i.to_le_bytes()[..], "order-a"));
        }
        let large = b.receive(None).unwrap().unwrap();
        assert_eq!(large.contents().len(), MESSAGE_MAX);
        let call = b.receive(None).unwrap().unwrap();
        b.reply(&call, &[call.contents(), b"!"].concat()).unwrap();
        b.finish();
    });
    for i in 0..500u32 {
        a.send(to_b, &i.to_le_bytes()).unwrap();
    }
    a.send(to_b, &vec![1; MESSAGE_MAX]).unwrap();
    assert_eq!(a.call(to_b, b"well", None).unwrap().unwrap(), b"well!");
    assert!(matches!(a.call(to_b, b"gone?", None), Err(Error::Gone(_))));
    server.join().unwrap();
}

#[test]
fn names_and_addresses_are_free_again() {
    for _ in 0..20 {
        let (mut a, mut b, to_b) = pair("free-a", "free-b");
        a.send(to_b, b"once more").unwrap();
        assert_eq!(b.receive(None).unwrap().unwrap().contents(), b"once more");
        assert_eq!(init("free-a").err(), Some(Error::NameTaken("free-a".into())));
        a.finish();
        b.finish();
    }
}

#[test]
fn a_process_that_is_killed_is_gone() {
    let mut a = participant("kill-a");
    let mut child = process("silent kill-b", &list(), &[("RETAKE_SECRET", SECRET)]).spawn().unwrap();
    let b = a.wait_for_partner("kill-b", None).unwrap();
    let caller = thread::spawn(move || a.call(b, b"will it answer?", None));
    thread::sleep(Duration::from_millis(50));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(caller.join().unwrap(), Err(Error::Gone("kill-b".into())));
}

#[test]
fn whoever_does_not_know_the_secret_is_refused_in_words() {
    let mut a = participant("wrong-a");
    let file = std::env::temp_dir().join(format!("retake-secret-{}", std::process::id()));
    let write = |mode: u32| {
        std::fs::write(&file, format!("{SECRET}\n")).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    let path = file.to_str().unwrap();
    let open = list().replacen(&format!("x={}", address("x")), "x=0.0.0.0:7999", 1);
    write(0o644);
    let cases = [
        (list(), ("RETAKE_SECRET", "another secret of many bytes"), "find: wrong-a at 127."),
        (list(), ("RETAKE_SECRET", "another secret of many bytes"), "refuses: another secret"),
        (list(), ("RETAKE_SECRET", ""), "this side has none"),
        (list(), ("RETAKE_GROUP", "elsewhere"), "another RETAKE_GROUP"),
        (list(), ("RETAKE_SECRET", "short"), "init: RETAKE_SECRET has 5 bytes: at least 16"),
        (list(), ("RETAKE_SECRET_FILE", path), "init: RETAKE_SECRET_FILE="),
        (list(), ("RETAKE_SECRET_FILE", path), "chmod 600"),
        (open, ("RETAKE_SECRET", ""), "init: x would listen at 0.0.0.0:7999 without a secret"),
        ("tcp:wrong-a=127.0.0.1:7".into(), ("RETAKE_SECRET", SECRET), "has no address for x"),
    ];
    for (list, secret, words) in cases {
        let output = process("finds x wrong-a", &list, &[secret]).output().unwrap();
        assert!(said(&output).contains(words), "{words}: {}", said(&output));
    }
    assert_eq!(a.receive(SHORT), Ok(None), "nothing was let in");
    write(0o600);
    let output = process("finds x wrong-a", &list(), &[("RETAKE_SECRET_FILE", path)]).output().unwrap();
    assert!(said(&output).contains("found, sent Ok(1)"), "{}", said(&output));
    assert_eq!(a.receive(None).unwrap().unwrap().contents(), b"hello");
    std::fs::remove_file(file).unwrap();
}

const GREETING: &[u8; 16] = b"RETAKE-PROOF-1\n\0";

/// Knocks at a participant as somebody who knows this secret; the connection, and what was answered.
fn knock(name: &str, secret: &str) -> (TcpStream, Vec<u8>) {
    let mut peer = TcpStream::connect(address(name)).unwrap();
    let mut first = [0; 48];
    peer.read_exact(&mut first).unwrap();
    assert_eq!(first[..16], GREETING[..]);
    let mine = [7; 32];
    let text = [&b"retake opener\0"[..], &first[16..], &mine, b"default\0", name.as_bytes(), b"\0"].concat();
    peer.write_all(&[&GREETING[..], &mine, &HMAC::mac(text, secret)].concat()).unwrap();
    let mut third = Vec::new();
    let _ = Read::by_ref(&mut peer).take(33).read_to_end(&mut third);
    (peer, third)
}

#[test]
fn strangers_and_bad_peers_harm_only_themselves() {
    let (mut a, mut b, to_b) = pair("bad-a", "bad-b");
    let mut peers: Vec<TcpStream> = Vec::new();
    // Before the proof: nonsense, half a word, silence, by more than there is room for.
    for at in 0..150 {
        let mut peer = TcpStream::connect(address("bad-b")).unwrap();
        let words: &[u8] = [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 200], GREETING, b""][at % 4];
        let _ = peer.write_all(words);
        peers.push(peer);
    }
    let (_, answer) = knock("bad-b", "not the secret, but as long");
    assert_eq!(answer[0], b'N');
    // After it: frames that are none.
    let framed = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let hello = framed(b"RETAKE1\n\x01\0\0\0\0\0\0\0\x03badhost");
    let say = [
        vec![0xff; 100],
        framed(b"RETAKE1\n\x01\0\0\0\0\0\0\0\x03../"),
        [&hello[..], &u32::MAX.to_le_bytes()].concat(),
        [&hello[..], &framed(&[99; 17])].concat(),
        [&hello[..], &1_000_000u32.to_le_bytes(), &[1; 100]].concat(),
        hello[..9].to_vec(),
    ];
    for bytes in &say {
        let (mut peer, answer) = knock("bad-b", SECRET);
        assert_eq!(answer[0], b'Y');
        peer.write_all(bytes).unwrap();
        peers.push(peer);
    }
    for i in 0..100u32 {
        a.send(to_b, &i.to_le_bytes()).unwrap();
        assert_eq!(b.receive(None).unwrap().unwrap().contents(), i.to_le_bytes());
    }
    assert_eq!(b.receive(SHORT), Ok(None));
    drop(peers);
    a.send(to_b, b"still here").unwrap();
    assert_eq!(b.receive(None).unwrap().unwrap().contents(), b"still here");
}

#[test]
fn a_listener_must_prove_itself_too() {
    let mut a = participant("fake-a");
    let fake = TcpListener::bind(address("fake-b")).unwrap();
    let listener = thread::spawn(move || {
        let mut heard = Vec::new();
        for answer in 0..3 {
            let (mut peer, _) = fake.accept().unwrap();
            if answer == 0 {
                peer.write_all(&[b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec(), vec![0; 48]].concat()).unwrap();
                continue;
            }
            peer.write_all(&[&GREETING[..], &[3; 32]].concat()).unwrap();
            let mut second = [0; 80];
            peer.read_exact(&mut second).unwrap();
            // The opener's own proof, or one of nothing.
            let proof = if answer == 1 { second[48..].to_vec() } else { HMAC::mac(b"", b"").to_vec() };
            peer.write_all(&[b"Y", &proof[..]].concat()).unwrap();
            let _ = peer.read_to_end(&mut heard);
        }
        heard
    });
    let find = |a: &mut Participant| a.find_partner("fake-b").unwrap_err().to_string();
    assert!(find(&mut a).contains("is no participant"));
    assert!(find(&mut a).contains("does not know the secret"));
    assert!(find(&mut a).contains("does not know the secret"));
    assert!(listener.join().unwrap().is_empty(), "no frame was sent to it");
}
