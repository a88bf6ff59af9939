//! Messages as a program meets them, between threads and between processes: order, time-outs, ends, bad peers.

use retake::{Error, MESSAGE_MAX, Participant, Partner, init};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const ONCE: Option<Duration> = Some(Duration::ZERO);
const SHORT: Option<Duration> = Some(Duration::from_millis(20));

/// A name that no other test, and no other run of the tests, has.
fn name(word: &str) -> String {
    format!("{word}-{}", std::process::id())
}

/// Two participants that know each other.
fn pair(word: &str) -> (Participant, Participant, Partner) {
    let (a, b) = (name(&format!("{word}-a")), name(&format!("{word}-b")));
    let mut a = init(&a).unwrap();
    let b = init(&b).unwrap();
    let to_b = a.find_partner(b.name()).unwrap();
    (a, b, to_b)
}

#[test]
fn messages_come_in_order_with_who_and_how() {
    let (mut a, mut b, to_b) = pair("order");
    for i in 0..1000u32 {
        assert_eq!(a.send(to_b, &i.to_le_bytes()), Ok(u64::from(i) + 1));
    }
    for i in 0..1000u32 {
        let message = b.receive(None).unwrap().unwrap();
        assert_eq!(message.contents(), i.to_le_bytes());
        assert_eq!((&*message.name, message.id, message.expects_reply), (a.name(), u64::from(i) + 1, false));
        assert!(!message.host.is_empty());
        assert_eq!(b.name_of(message.from), a.name());
    }
    assert_eq!(b.receive(ONCE), Ok(None));
}

/// A timer interrupts the waiting thread more often than a wait for one partner ends by itself.
#[test]
fn a_time_out_ends_under_a_fast_timer() {
    extern "C" fn handled(_: i32) {}
    let (told, times) = mpsc::channel();
    thread::spawn(move || {
        let (mut a, mut b, to_b) = pair("timer");
        let to_a = b.find_partner(a.name()).unwrap();
        b.send(to_a, b"here").unwrap();
        assert!(a.receive(None).unwrap().is_some());
        // SAFETY: a handler that does nothing, and a timer for this thread alone.
        unsafe {
            libc::signal(libc::SIGUSR1, handled as *const () as usize);
            let mut event: libc::sigevent = std::mem::zeroed();
            (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_THREAD_ID, libc::SIGUSR1);
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = std::mem::zeroed();
            assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer), 0);
            let often = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            let often = libc::itimerspec { it_interval: often, it_value: often };
            assert_eq!(libc::timer_settime(timer, 0, &often, std::ptr::null_mut()), 0);
            assert_eq!(a.call(to_b, b"?", Some(Duration::from_millis(200))), Ok(None));
            libc::timer_delete(timer);
        }
        told.send(()).unwrap();
    });
    times.recv_timeout(Duration::from_secs(20)).expect("a call with a time-out of 0.2 s has not ended");
}

#[test]
fn any_bytes_of_any_length_up_to_the_limit() {
    let (mut a, mut b, to_b) = pair("length");
    let reader = thread::spawn(move || {
        for length in [0, 1, 65_519, 65_536, 1 << 20, MESSAGE_MAX] {
            let message = b.receive(None).unwrap().unwrap();
            assert_eq!(message.contents().len(), length);
            assert!(message.into_contents().iter().enumerate().all(|(at, byte)| *byte == at as u8));
        }
    });
    let bytes: Vec<u8> = (0..=MESSAGE_MAX).map(|at| at as u8).collect();
    for length in [0, 1, 65_519, 65_536, 1 << 20, MESSAGE_MAX] {
        a.send(to_b, &bytes[..length]).unwrap();
    }
    assert_eq!(a.send(to_b, &bytes), Err(Error::TooLong(MESSAGE_MAX + 1)));
    a.finish();
    reader.join().unwrap();
}

#[test]
fn two_who_send_much_to_each_other_do_not_block() {
    let (a, mut b, to_b) = pair("mutual");
    let to_a = b.find_partner(a.name()).unwrap();
    let run = |mut me: Participant, other: Partner| {
        let bytes = vec![7; 16 << 20];
        for _ in 0..3 {
            me.send(other, &bytes).unwrap();
        }
        for _ in 0..3 {
            assert_eq!(me.receive(None).unwrap().unwrap().contents().len(), bytes.len());
        }
        me.finish();
    };
    let other = thread::spawn(move || run(b, to_a));
    run(a, to_b);
    other.join().unwrap();
}

#[test]
fn calls_are_answered_by_their_replies() {
    let (mut a, mut b, to_b) = pair("call");
    let server = thread::spawn(move || {
        while let Ok(Some(message)) = b.receive(None) {
            if !message.expects_reply {
                return b;
            }
            let reply = [message.contents(), b"!"].concat();
            b.reply(&message, &reply).unwrap();
            assert_eq!(b.reply(&message, b"again"), Err(Error::NotACall(message.id)));
        }
        b
    });
    for word in ["one", "two", "three"] {
        let reply = a.call(to_b, word.as_bytes(), None).unwrap().unwrap();
        assert_eq!(String::from_utf8(reply).unwrap(), format!("{word}!"));
    }
    a.send(to_b, b"end").unwrap();
    let mut b = server.join().unwrap();
    let to_a = b.find_partner(a.name()).unwrap();
    assert_eq!(b.reply_to(to_a, 4, b"to a message that is no call"), Err(Error::NotACall(4)));
}

#[test]
fn what_comes_too_late_is_dropped() {
    let (mut a, mut b, to_b) = pair("late");
    assert_eq!(a.receive(SHORT), Ok(None));
    assert_eq!(a.call(to_b, b"first", SHORT), Ok(None));
    let first = b.receive(None).unwrap().unwrap();
    b.reply(&first, b"too late").unwrap();
    let server = thread::spawn(move || {
        let second = b.receive(None).unwrap().unwrap();
        b.reply(&second, b"in time").unwrap();
        b
    });
    assert_eq!(a.call(to_b, b"second", None).unwrap().unwrap(), b"in time");
    assert_eq!(a.receive(ONCE), Ok(None), "a reply is no message");
    server.join().unwrap();
}

#[test]
fn selective_receives_leave_the_others() {
    let (mut a, mut b, to_b) = pair("select");
    let mut c = init(&name("select-c")).unwrap();
    let from_c = c.find_partner(b.name()).unwrap();
    c.send(from_c, b"from c").unwrap();
    let from_b_to_a = b.find_partner(a.name()).unwrap();
    assert_eq!(b.receive_from(from_b_to_a, SHORT), Ok(None));
    a.send(to_b, b"from a").unwrap();
    assert_eq!(b.receive_from(from_b_to_a, None).unwrap().unwrap().contents(), b"from a");
    a.finish();
    assert!(matches!(b.receive_from(from_b_to_a, None), Err(Error::Gone(_))));
    assert_eq!(b.receive(None).unwrap().unwrap().contents(), b"from c");
}

#[test]
fn names_are_taken_once_and_free_again() {
    let a = name("taken");
    let first = init(&a).unwrap();
    assert_eq!(init(&a).err(), Some(Error::NameTaken(a.clone())));
    assert!(matches!(init("no/name"), Err(Error::BadName(_))));
    first.finish();
    let mut again = init(&a).unwrap();
    assert_eq!(again.find_partner(&name("nobody")), Err(Error::NotThere(name("nobody"))));
    assert_eq!(again.wait_for_partner(&name("nobody"), SHORT), Err(Error::NotThere(name("nobody"))));
}

#[test]
fn a_partner_that_comes_later_is_waited_for() {
    let mut a = init(&name("wait-a")).unwrap();
    let other = thread::spawn(|| init(&name("wait-b")).unwrap());
    a.wait_for_partner(&name("wait-b"), None).unwrap();
    other.join().unwrap();
}

#[test]
fn a_partner_that_leaves_is_an_error_not_a_hang() {
    let (mut a, mut b, to_b) = pair("leave");
    let other = thread::spawn(move || {
        let call = b.receive(None).unwrap().unwrap();
        b.reply(&call, b"the last words").unwrap();
        b.receive(None).unwrap();
        b.finish();
    });
    assert_eq!(a.call(to_b, b"first", None).unwrap().unwrap(), b"the last words");
    assert!(matches!(a.call(to_b, b"second", None), Err(Error::Gone(_))));
    assert!(matches!(a.send(to_b, b"third"), Err(Error::Gone(_))));
    other.join().unwrap();
}

/// Runs the function `helper` of this file in a process of its own.
fn process(role: &str, args: &[&str]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["helper", "--exact", "--nocapture"]).env("TEST_ROLE", role).env("TEST_ARGS", args.join(" "));
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// Not a test: what other processes of the tests do.
#[test]
fn helper() {
    let Ok(role) = std::env::var("TEST_ROLE") else { return };
    let args = std::env::var("TEST_ARGS").unwrap();
    let args: Vec<&str> = args.split(' ').collect();
    let mut me = init(args[0]).unwrap();
    match role.as_str() {
        "silent" => while me.receive(None).is_ok() {},
        "greets" => {
            let to = me.wait_for_partner(args[1], None).unwrap();
            me.send(to, b"hello").unwrap();
            while me.receive(None).is_ok() {}
        }
        "forks" => {
            // SAFETY: the child only sleeps and ends.
            unsafe {
                if libc_fork() == 0 {
                    thread::sleep(Duration::from_secs(60));
                    std::process::exit(0);
                }
            }
            me.receive(None).unwrap();
            me.finish();
        }
        _ => panic!("no role {role}"),
    }
}

unsafe extern "C" {
    #[link_name = "fork"]
    fn libc_fork() -> i32;
}

#[test]
fn a_partner_that_is_killed_is_an_error_not_a_hang() {
    let (mut a, other) = (init(&name("kill-a")).unwrap(), name("kill-b"));
    let mut child = process("silent", &[&other]);
    let b = a.wait_for_partner(&other, None).unwrap();
    let (tell, told) = mpsc::channel();
    let caller = thread::spawn(move || {
        tell.send(()).unwrap();
        a.call(b, b"will it answer?", None)
    });
    told.recv().unwrap();
    thread::sleep(Duration::from_millis(50));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(caller.join().unwrap(), Err(Error::Gone(other.clone())));
    init(&other).expect("the name of a dead participant is free").finish();
}

/// The same, when there is a connection from it, on which its reply would come.
#[test]
fn a_partner_that_has_sent_and_is_killed_is_an_error_not_a_hang() {
    let (mut a, other) = (init(&name("sent-a")).unwrap(), name("sent-b"));
    let mut child = process("greets", &[&other, a.name()]);
    let hello = a.receive(None).unwrap().unwrap();
    let b = a.wait_for_partner(&other, None).unwrap();
    let times = [None, Some(Duration::from_secs(60))];
    assert_eq!(a.call(b, b"in time?", Some(Duration::from_millis(300))), Ok(None), "time-outs hold");
    let (tell, told) = mpsc::channel();
    let caller = thread::spawn(move || {
        tell.send(()).unwrap();
        times.map(|time| (a.call(b, b"will it answer?", time), a.receive_from(hello.from, time).err()))
    });
    told.recv().unwrap();
    thread::sleep(Duration::from_millis(50));
    child.kill().unwrap();
    child.wait().unwrap();
    let gone = Error::Gone(other);
    assert_eq!(caller.join().unwrap(), [(); 2].map(|()| (Err(gone.clone()), Some(gone.clone()))));
}

/// Whoever waits for one partner takes in what others send, or they could wait for it for ever.
#[test]
fn a_caller_takes_in_what_others_send() {
    let (mut a, mut b, to_b) = pair("others");
    let mut c = init(&name("others-c")).unwrap();
    let (from_b, c_to_a) = (b.find_partner(a.name()).unwrap(), c.find_partner(a.name()).unwrap());
    b.send(from_b, b"so that there is a connection").unwrap();
    let c_to_b = c.find_partner(b.name()).unwrap();
    let third = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        c.send(c_to_a, &vec![1; 8 << 20]).unwrap();
        c.flush().unwrap();
        c.send(c_to_b, b"all is out").unwrap();
        // A new one comes meanwhile.
        let mut d = init(&name("others-d")).unwrap();
        let d_to_a = d.find_partner(&name("others-a")).unwrap();
        d.send(d_to_a, b"new").unwrap();
        (c, d)
    });
    let second = thread::spawn(move || {
        let call = b.receive(None).unwrap().unwrap();
        assert_eq!(b.receive(None).unwrap().unwrap().contents(), b"all is out");
        b.reply(&call, b"now").unwrap();
        b
    });
    assert_eq!(a.call(to_b, b"when?", None).unwrap().unwrap(), b"now");
    let lengths: Vec<usize> = (0..3).map(|_| a.receive(None).unwrap().unwrap().contents().len()).collect();
    assert_eq!((lengths.iter().sum::<usize>(), lengths.len()), ((8 << 20) + 29 + 3, 3));
    second.join().unwrap();
    third.join().unwrap();
}

/// More partners than the kernel tells of at once; some leave, others come.
#[test]
fn many_partners_at_once() {
    const MANY: usize = 150;
    let mut a = init(&name("many")).unwrap();
    let partner = |at: usize| {
        let mut one = init(&name(&format!("many-{at}"))).unwrap();
        let to = one.find_partner(&name("many")).unwrap();
        one.send(to, &at.to_le_bytes()).unwrap();
        (one, to)
    };
    let mut partners: Vec<_> = (0..MANY).map(partner).collect();
    for round in 0..3 {
        let mut came: Vec<usize> = Vec::new();
        while let Some(message) = a.receive(ONCE).unwrap() {
            came.push(usize::from_le_bytes(message.contents().try_into().unwrap()));
        }
        came.sort_unstable();
        let expected: Vec<usize> = (0..MANY).filter(|at| round == 0 || at % 3 != 0).collect();
        assert_eq!(came, expected, "round {round}");
        if round == 0 {
            let mut at = 0;
            partners.retain(|_| {
                at += 1;
                (at - 1) % 3 != 0
            });
        }
        for (one, to) in &mut partners {
            let number: usize = one.name().split('-').nth(1).unwrap().parse().unwrap();
            one.send(*to, &number.to_le_bytes()).unwrap();
        }
    }
}

#[test]
fn a_forked_child_does_not_keep_its_parent_alive() {
    let (mut a, other) = (init(&name("fork-a")).unwrap(), name("fork-b"));
    let mut child = process("forks", &[&other]);
    let b = a.wait_for_partner(&other, None).unwrap();
    assert!(matches!(a.call(b, b"end", None), Err(Error::Gone(_))));
    child.wait().unwrap();
}

fn socket_of(participant: &str) -> PathBuf {
    let uid = std::fs::metadata("/proc/self").map(|data| std::os::unix::fs::MetadataExt::uid(&data)).unwrap();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_dir());
    let base = runtime.map_or_else(|| PathBuf::from(format!("/tmp/retake-{uid}")), |dir| dir.join("retake"));
    base.join("default").join(format!("{participant}.sock"))
}

/// Whoever can reach a socket may send: so nobody else may enter where they are.
#[test]
fn the_meeting_place_is_private() {
    let me = init(&name("private")).unwrap();
    let socket = socket_of(me.name());
    let place = socket.parent().unwrap();
    assert_eq!(std::fs::metadata(place).unwrap().mode() & 0o777, 0o700);
    assert!(std::fs::metadata(&socket).unwrap().file_type().is_socket());
    let (group, mut command) = (name("open"), Command::new(std::env::current_exe().unwrap()));
    let open = place.with_file_name(&group);
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    command.args(["helper", "--exact", "--nocapture"]).env("TEST_ROLE", "silent").env("TEST_ARGS", "me");
    let refused = command.env("RETAKE_GROUP", group).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("must belong to you, and to nobody else"), "{said}");
    std::fs::remove_dir_all(open).unwrap();
}

#[test]
fn bad_peers_harm_only_themselves() {
    let (mut a, mut b, to_b) = pair("bad");
    let stranger = || UnixStream::connect(socket_of(b.name())).unwrap();
    let framed = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let hello = framed(b"RETAKE1\n\x01\0\0\0\0\0\0\0\x03badhost");
    let mut peers = Vec::new();
    let say = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        framed(b"RETAKE1\n\x01\0\0\0\0\0\0\0\xffbad"),
        framed(b"RETAKE1\n\x01\0\0\0\0\0\0\0\x03../"),
        vec![0xff; 100],
        // A hello, then a lie about a length.
        [&hello[..], &u32::MAX.to_le_bytes()].concat(),
        // A hello, then a frame of no known kind.
        [&hello[..], &framed(&[99; 17])].concat(),
        // A hello, then half a frame, and silence.
        [&hello[..], &1_000_000u32.to_le_bytes(), &[1; 100]].concat(),
        // Half a hello, and silence.
        hello[..9].to_vec(),
    ];
    for bytes in &say {
        let mut peer = stranger();
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
