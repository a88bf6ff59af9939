//! Messages by way of a real nats-server: order, ends, a server that dies, logins, strangers on the same subjects.

#![cfg(feature = "nats")]

use retake::{Error, MESSAGE_MAX, Participant, Partner, init, set_transport};
use retake_testkit::Nats;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

const SHORT: Option<Duration> = Some(Duration::from_millis(20));

/// A nats-server of the test's own; `number` is the test's.
fn start(number: u8, options: &[&str]) -> Nats {
    Nats::start(&address(number), options)
}

fn url(server: &Nats) -> String {
    format!("nats://{}", server.address)
}

/// An address of the loopback net that no other process of this machine uses.
fn address(number: u8) -> String {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    format!("127.{}.{b}.{c}:{}", 150 + a, 4222 + u16::from(number))
}

fn try_init(url: &str, name: &str) -> retake::Result<Participant> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    set_transport(url, None).and_then(|()| init(name))
}

/// A name that no other test, and no other run of the tests, has: this machine's names are one for all servers.
fn name(word: &str) -> String {
    format!("{word}-{}", std::process::id())
}

fn pair(server: &Nats, word: &str) -> (Participant, Participant, Partner) {
    let mut a = try_init(&url(server), &name(&format!("{word}.a"))).unwrap();
    let b = try_init(&url(server), &name(&format!("{word}.b"))).unwrap();
    let to_b = a.find_partner(b.name()).unwrap();
    (a, b, to_b)
}

#[test]
fn messages_calls_and_ends() {
    let server = start(0, &[]);
    let (mut a, mut b, to_b) = pair(&server, "plain");
    assert_eq!(a.find_partner("nobody"), Err(Error::NotThere("nobody".into())));
    assert_eq!(a.wait_for_partner("nobody", SHORT), Err(Error::NotThere("nobody".into())));
    let bytes: Vec<u8> = (0..MESSAGE_MAX).map(|at| at as u8).collect();
    let lengths = [0, 1, 1_048_541, 1_048_576, 3_000_000, MESSAGE_MAX];
    let expected = bytes.clone();
    let partner = thread::spawn(move || {
        for i in 0..500u32 {
            assert_eq!(b.receive(None).unwrap().unwrap().contents(), i.to_le_bytes());
        }
        for length in lengths {
            assert!(b.receive(None).unwrap().unwrap().contents() == &expected[..length], "{length}");
        }
        let call = b.receive(None).unwrap().unwrap();
        b.reply(&call, b"the last words").unwrap();
        b.finish();
    });
    for i in 0..500u32 {
        a.send(to_b, &i.to_le_bytes()).unwrap();
    }
    for length in lengths {
        a.send(to_b, &bytes[..length]).unwrap();
    }
    assert_eq!(a.call(to_b, b"first", None).unwrap().unwrap(), b"the last words");
    assert!(matches!(a.call(to_b, b"second", None), Err(Error::Gone(_))));
    assert!(matches!(a.send(to_b, b"third"), Err(Error::Gone(_))));
    partner.join().unwrap();
    // To oneself.
    let own = a.name().to_owned();
    let myself = a.find_partner(&own).unwrap();
    a.send(myself, b"hello, me").unwrap();
    assert_eq!(a.receive(None).unwrap().unwrap().contents(), b"hello, me");
}

#[test]
fn two_who_send_much_to_each_other_do_not_block() {
    let server = start(1, &[]);
    let (a, mut b, to_b) = pair(&server, "mutual");
    let to_a = b.find_partner(a.name()).unwrap();
    let run = |mut me: Participant, other: Partner| {
        for _ in 0..3 {
            me.send(other, &vec![7; 8 << 20]).unwrap();
        }
        for _ in 0..3 {
            assert_eq!(me.receive(None).unwrap().unwrap().contents().len(), 8 << 20);
        }
        me.finish();
    };
    let other = thread::spawn(move || run(b, to_a));
    run(a, to_b);
    other.join().unwrap();
}

/// Runs the function `helper` of this file in a process of its own.
fn process(server: &Nats, name: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["helper", "--exact", "--nocapture"]).env("TEST_NAME", name);
    command.env("RETAKE_TRANSPORT", url(server)).stdout(Stdio::null()).spawn().unwrap()
}

/// Not a test: what other processes of the tests do.
#[test]
fn helper() {
    let Ok(name) = std::env::var("TEST_NAME") else { return };
    let mut me = init(&name).unwrap();
    while me.receive(None).is_ok() {}
}

#[test]
fn a_process_that_is_killed_is_gone_and_its_name_is_free() {
    let server = start(2, &[]);
    let (mut a, other) = (try_init(&url(&server), &name("kill.a")).unwrap(), name("kill.b"));
    let mut child = process(&server, &other);
    let b = a.wait_for_partner(&other, None).unwrap();
    assert_eq!(try_init(&url(&server), &other).err(), Some(Error::NameTaken(other.clone())));
    let caller = thread::spawn(move || (a.call(b, b"will it answer?", None), a));
    thread::sleep(Duration::from_millis(50));
    child.kill().unwrap();
    child.wait().unwrap();
    let (answer, mut a) = caller.join().unwrap();
    assert_eq!(answer, Err(Error::Gone(other.clone())));
    // It comes again: another one, who knows nothing of us.
    let mut child = process(&server, &other);
    let b = a.wait_for_partner(&other, None).unwrap();
    a.send(b, b"hello again").unwrap();
    assert_eq!(a.receive_from(b, SHORT), Ok(None));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(a.receive_from(b, None), Err(Error::Gone(_))));
}

#[test]
fn a_server_that_dies_is_an_error_not_a_hang() {
    let mut server = start(3, &[]);
    let (mut a, mut b, to_b) = pair(&server, "server");
    a.send(to_b, b"in time").unwrap();
    assert_eq!(b.receive(None).unwrap().unwrap().contents(), b"in time");
    let waits = thread::spawn(move || (b.receive(None), b));
    let calls = thread::spawn(move || (a.call(to_b, b"and now?", None), a));
    thread::sleep(Duration::from_millis(100));
    server.end();
    let lost = |error: &Error| error.to_string().contains("the connection to nats-server 127.");
    let (called, mut a) = calls.join().unwrap();
    assert!(lost(&called.unwrap_err()));
    let (received, mut b) = waits.join().unwrap();
    let received = received.and_then(|message| {
        assert_eq!(message.unwrap().contents(), b"and now?");
        b.receive(None)
    });
    assert!(lost(&received.unwrap_err()));
    assert!(lost(&a.send(to_b, b"still?").unwrap_err()));
    let error = try_init(&url(&server), &name("late")).err().unwrap().to_string();
    assert!(error.contains("no nats-server at 127.") && error.contains("Connection refused"), "{error}");
}

#[test]
fn logins_are_those_of_nats() {
    let users = start(4, &["--user", "me", "--pass", "pass@word"]);
    let tokens = start(5, &["--auth", "a-token"]);
    for (server, who) in [(&users, "me:pass%40word@"), (&tokens, "a-token@")] {
        let right = url(server).replace("nats://", &format!("nats://{who}"));
        try_init(&right, &name("login")).unwrap().finish();
        for wrong in ["", "me:wrong@", "wrong@"] {
            let url = url(server).replace("nats://", &format!("nats://{wrong}"));
            let error = try_init(&url, &name("login")).err().unwrap().to_string();
            assert!(error.contains("refuses: Authorization Violation"), "{wrong}: {error}");
            assert!(!error.contains("wrong"), "passwords are not shown");
        }
    }
    for words in ["tls:127.0.0.1", "nats://no.such.host.example", "nats:127.0.0.1"] {
        assert!(matches!(try_init(words, &name("login")), Err(Error::Setting(_))), "{words}");
    }
}

/// Somebody on the same server who says what it likes.
struct Stranger(TcpStream);

impl Stranger {
    fn new(server: &Nats) -> Stranger {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        // It listens as a participant would, or it would be taken for gone.
        stream.write_all(b"CONNECT {\"verbose\":false}\r\nSUB retake.live.default.loser.* 1\r\nPING\r\n").unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "PONG"));
        Stranger(stream)
    }

    fn say(&mut self, to: &Participant, payload: &[u8]) {
        let subject = format!("retake.live.default.{}.m", to.name().replace('.', "="));
        let line = format!("PUB {subject} {}\r\n", payload.len());
        self.0.write_all(&[line.as_bytes(), payload, b"\r\n"].concat()).unwrap();
    }
}

/// A payload: its kind, from which instance, its number, the rest.
fn label(kind: u8, instance: u64, number: u64, rest: &[u8]) -> Vec<u8> {
    [&[kind][..], &instance.to_le_bytes(), &number.to_le_bytes(), rest].concat()
}

/// A piece of a frame: the frame is the first and the last, a message of this number.
fn piece(instance: u64, number: u64, flags: u8, seq: u64) -> Vec<u8> {
    let frame = [&[1][..], &seq.to_le_bytes(), &seq.to_le_bytes(), b"text"].concat();
    label(2, instance, number, &[&[flags][..], &frame].concat())
}

#[test]
fn a_gap_is_an_error_that_the_program_sees() {
    let server = start(6, &[]);
    let mut me = try_init(&url(&server), &name("gap")).unwrap();
    let mut stranger = Stranger::new(&server);
    let hello = b"RETAKE1\n\x01\0\0\0\0\0\0\0\x05losershost";
    let loser = Error::Gap("loser".into());
    stranger.say(&me, &label(1, 9, 1, hello));
    stranger.say(&me, &piece(9, 2, 3, 1));
    stranger.say(&me, &piece(9, 4, 3, 3));
    stranger.say(&me, &piece(9, 4, 3, 3));
    stranger.say(&me, &piece(9, 5, 3, 4));
    assert_eq!(me.receive(None).unwrap().unwrap().id, 1);
    assert_eq!(me.receive(None), Err(loser.clone()));
    assert_eq!(me.receive(None).unwrap().unwrap().id, 3);
    assert_eq!(me.receive(None).unwrap().unwrap().id, 4, "a copy is dropped");
    // The end of a frame is lost; then the beginning of one; then the last one of all.
    stranger.say(&me, &piece(9, 6, 1, 5));
    stranger.say(&me, &piece(9, 8, 3, 6));
    assert_eq!(me.receive(None), Err(loser.clone()));
    assert_eq!(me.receive(None).unwrap().unwrap().id, 6);
    stranger.say(&me, &piece(9, 10, 2, 7));
    stranger.say(&me, &piece(9, 11, 3, 8));
    assert_eq!(me.receive(None), Err(loser.clone()));
    assert_eq!(me.receive(None).unwrap().unwrap().id, 8);
    stranger.say(&me, &label(3, 9, 12, b""));
    assert_eq!(me.receive(None), Err(loser));
}

#[test]
fn strangers_harm_only_themselves() {
    let server = start(7, &[]);
    let (mut a, mut b, to_b) = pair(&server, "bad");
    let mut stranger = Stranger::new(&server);
    for payload in [
        &b""[..],
        b"GET / HTTP/1.1",
        &[0xff; 100],
        &label(1, 1, 1, b"no hello"),
        &label(1, 2, 1, b"RETAKE1\n\x01\0\0\0\0\0\0\0\x03../host"),
        &piece(3, 2, 3, 1),
        &label(2, 3, 2, b""),
        &label(5, 4, 1, b"\xff\xff"),
        &label(6, 4, 1, b""),
        &label(99, 4, 1, b""),
    ] {
        stranger.say(&b, payload);
    }
    // A hello, and then: a frame of no kind; a frame that never ends.
    let hello = b"RETAKE1\n\x01\0\0\0\0\0\0\0\x03badhost";
    stranger.say(&b, &label(1, 5, 1, hello));
    stranger.say(&b, &label(2, 5, 2, &[3, 99, 99, 99]));
    stranger.say(&b, &piece(5, 3, 3, 1));
    stranger.say(&b, &label(1, 6, 1, hello));
    for number in 2..100 {
        let flags = u8::from(number == 2);
        stranger.say(&b, &label(2, 6, number, &[&[flags][..], &vec![1; 1_000_000]].concat()));
    }
    for i in 0..100u32 {
        a.send(to_b, &i.to_le_bytes()).unwrap();
        assert_eq!(b.receive(None).unwrap().unwrap().contents(), i.to_le_bytes());
    }
    assert_eq!(b.receive(SHORT), Ok(None));
}

#[test]
fn what_is_no_server_is_refused_in_words() {
    let listener = TcpListener::bind(address(8)).unwrap();
    let url = format!("nats://{}", address(8));
    let info = "INFO {\"headers\":true,\"max_payload\":1000}\r\n";
    let cases = [
        ("HTTP/1.1 400 Bad Request\r\n\r\n".to_owned(), "does not say INFO"),
        ("INFO no json\r\n".to_owned(), "no JSON"),
        ("INFO {}\r\n".to_owned(), "too old"),
        (format!("{info}PONG\r\nMSG a 1 99999999999\r\n"), "that no nats-server says"),
        (format!("{info}PONG\r\n-ERR 'Slow Consumer'\r\n"), "Slow Consumer"),
        (format!("{info}-ERR 'Authorization Violation'\r\n"), "NATS_USER"),
    ];
    for (says, words) in cases {
        let client = {
            let url = url.clone();
            thread::spawn(move || try_init(&url, &name("fake")).err().unwrap().to_string())
        };
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(says.as_bytes()).unwrap();
        // Whatever the client says is heard, so that the connection ends in peace.
        let heard = thread::spawn(move || {
            let _ = BufReader::new(&stream).lines().map_while(Result::ok).any(|line| line.starts_with("SUB"));
            let _ = (&stream).take(1).read(&mut [0]);
        });
        let error = client.join().unwrap();
        assert!(error.contains(words), "{words}: {error}");
        heard.join().unwrap();
    }
}
