//! Real programs from Debian: the same bytes bare, recorded, and in each of five replays; the same exit status.
//!
//! Nothing is installed here (`./check` does that): a test whose program is missing fails and names the package. The
//! programs are Debian's own, never rebuilt. Each reads a text of four megabytes from a file in a folder of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

const REPLAYS: usize = 5;

/// A folder of one test, with its input; it goes away with the test if that passes.
struct Place {
    dir: PathBuf,
}

struct Run {
    status: ExitStatus,
    output: Vec<u8>,
    stderr: String,
}

impl Place {
    fn new(name: &str) -> Place {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("real-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder for the test");
        fs::write(dir.join("input"), text(4 << 20)).expect("the input");
        Place { dir }
    }

    fn run(&self, command: &mut Command) -> Run {
        let out = self.dir.join("output");
        command.current_dir(&self.dir).stdin(Stdio::null()).stdout(File::create(&out).expect("the output file"));
        command.env("XDG_STATE_HOME", self.dir.join("state")).env("LC_ALL", "C");
        let done = command.stderr(Stdio::piped()).output().expect("the program starts");
        Run {
            status: done.status,
            output: fs::read(&out).expect("the output"),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
        }
    }

    fn record(&self, command: &[&str]) -> Run {
        self.run(Command::new(env!("CARGO_BIN_EXE_retake")).args(["record", "-o", "take", "--"]).args(command))
    }

    fn replay(&self) -> Run {
        self.run(Command::new(env!("CARGO_BIN_EXE_retake")).args(["replay", "take"]))
    }

    fn end(self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn need(program: &str, package: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = program.contains('/') && Path::new(program).exists()
        || std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    assert!(found, "this test needs {program}: apt-get install {package} (./check does it)");
}

/// Bare, recorded and replayed five times: every time the same bytes and the same status.
fn same_everywhere(name: &str, package: &str, command: &[&str]) {
    need(command[0], package);
    let place = Place::new(name);
    let bare = place.run(Command::new(command[0]).args(&command[1..]));
    assert!(!bare.output.is_empty(), "{name} alone printed nothing: {}", bare.stderr);
    let recorded = place.record(command);
    assert_eq!(recorded.status, bare.status, "{name}: status under record\n{}", recorded.stderr);
    assert!(recorded.output == bare.output, "{name}: output under record differs\n{}", recorded.stderr);
    assert!(recorded.stderr.contains("retake:"), "{name}: record said nothing: {}", recorded.stderr);
    for time in 1..=REPLAYS {
        let replayed = place.replay();
        assert_eq!(replayed.status, bare.status, "{name}: status of replay {time}\n{}", replayed.stderr);
        assert!(replayed.output == bare.output, "{name}: output of replay {time} differs\n{}", replayed.stderr);
    }
    place.end();
}

/// Recorded once and replayed five times: what was recorded comes back, though alone it differs from run to run.
fn same_as_recorded(name: &str, package: &str, command: &[&str]) {
    need(command[0], package);
    let place = Place::new(name);
    let recorded = place.record(command);
    assert!(recorded.status.success(), "{name}: status under record\n{}", recorded.stderr);
    assert!(!recorded.output.is_empty(), "{name} printed nothing under record: {}", recorded.stderr);
    for time in 1..=REPLAYS {
        let replayed = place.replay();
        assert_eq!(replayed.status, recorded.status, "{name}: status of replay {time}\n{}", replayed.stderr);
        assert_eq!(
            String::from_utf8_lossy(&replayed.output),
            String::from_utf8_lossy(&recorded.output),
            "{name}: output of replay {time}\n{}",
            replayed.stderr
        );
    }
    place.end();
}

/// Lines of made-up words, always the same; more than 131,072 of them, since `sort` takes a second thread only then.
fn text(length: usize) -> Vec<u8> {
    let mut random = 88172645463325252_u64;
    let mut all = Vec::with_capacity(length + 16);
    while all.len() < length {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let word = random % 5000;
        all.extend_from_slice(format!("{:x}", word * word * 7919 % 1_000_003).as_bytes());
        all.push(if random >> 62 == 0 { b'\n' } else { b' ' });
    }
    all
}

#[test]
fn pigz() {
    same_everywhere("pigz", "pigz", &["pigz", "-n", "-p2", "-b128", "-c", "input"]);
}

#[test]
fn pbzip2() {
    same_everywhere("pbzip2", "pbzip2", &["pbzip2", "-p2", "-b1", "-k", "-c", "input"]);
}

#[test]
fn lbzip2() {
    same_everywhere("lbzip2", "lbzip2", &["lbzip2", "-n2", "-k", "-c", "input"]);
}

#[test]
fn xz() {
    same_everywhere("xz", "xz-utils", &["xz", "-T2", "-0", "--block-size=262144", "-k", "-c", "input"]);
}

#[test]
fn zstd() {
    same_everywhere("zstd", "zstd", &["zstd", "-T2", "-3", "-B524288", "-q", "-c", "input"]);
}

/// `retake check` finds nothing in programs that have been used by many for long.
#[test]
fn nothing_is_found_in_compressors() {
    for (name, package, command) in [
        ("pigz", "pigz", &["pigz", "-n", "-p3", "-b128", "-c", "input"][..]),
        ("xz", "xz-utils", &["xz", "-T3", "-0", "--block-size=262144", "-k", "-c", "input"]),
        ("zstd", "zstd", &["zstd", "-T3", "-3", "-B524288", "-q", "-c", "input"]),
    ] {
        need(command[0], package);
        let place = Place::new(&format!("checked-{name}"));
        let recorded = place.record(command);
        assert!(recorded.status.success(), "{name}: {}", recorded.stderr);
        let checked = place.run(Command::new(env!("CARGO_BIN_EXE_retake")).args(["check", "take"]));
        let text = String::from_utf8_lossy(&checked.output);
        assert_eq!((checked.status.code(), &*text), (Some(0), "no findings\n"), "{name}: {}", checked.stderr);
        place.end();
    }
}

/// GNU sort decides what to merge next by a word that two threads use under two different locks (helgrind tells of it).
/// No order of locks brings that back. What must hold: recording changes nothing, and a replay that leaves the tape is
/// told, with the likely cause; it never prints other bytes and calls that success.
#[test]
fn sort_has_a_race_which_is_told() {
    need("sort", "coreutils");
    let place = Place::new("sort");
    let command = ["sort", "--parallel=2", "-S", "16M", "input"];
    let bare = place.run(Command::new(command[0]).args(&command[1..]));
    let recorded = place.record(&command);
    assert_eq!(recorded.status, bare.status, "status under record\n{}", recorded.stderr);
    assert!(recorded.output == bare.output, "output under record differs\n{}", recorded.stderr);
    for time in 1..=REPLAYS {
        let mut replay = Command::new("timeout");
        replay.args(["--signal=KILL", "120", env!("CARGO_BIN_EXE_retake"), "replay", "--patience", "5", "take"]);
        let replayed = place.run(&mut replay);
        match replayed.status.code() {
            Some(0) => assert!(replayed.output == bare.output, "replay {time} differs in silence\n{}", replayed.stderr),
            Some(120 | 121) => assert!(replayed.stderr.contains("race"), "replay {time}: {}", replayed.stderr),
            other => panic!("replay {time} ended with {other:?}\n{}", replayed.stderr),
        }
    }
    place.end();
}

/// A status that is not 0 comes back too.
#[test]
fn a_program_that_fails() {
    // Whoever reads takes all: when a reader that stops early is seen to be gone is no part of a take.
    let script = "xz -T2 -0 --block-size=262144 -k -c input | wc -c; exit 42";
    same_everywhere("fails", "dash", &["/bin/sh", "-c", script]);
}

const PYTHON: &str = "/usr/bin/python3";

/// Work is handed to four threads through a queue; the result does not depend on who did what.
const PYTHON_POOL: &str = r#"
import hashlib, queue, threading
work, done, lock = queue.Queue(), {}, threading.Lock()
data = open("input", "rb").read()
def worker():
    while True:
        block = work.get()
        if block is None:
            return
        digest = hashlib.sha256(data[block * 65536:(block + 1) * 65536]).hexdigest()
        with lock:
            done[block] = digest
threads = [threading.Thread(target=worker) for _ in range(4)]
for thread in threads:
    thread.start()
for block in range(len(data) // 65536):
    work.put(block)
for _ in threads:
    work.put(None)
for thread in threads:
    thread.join()
for block in sorted(done):
    print(block, done[block])
"#;

/// The same, printing who did what, in the order in which it was done.
const PYTHON_ORDER: &str = r#"
import hashlib, queue, threading
work, done, lock = queue.Queue(), [], threading.Lock()
data = open("input", "rb").read()
def worker(me):
    while True:
        block = work.get()
        if block is None:
            return
        hashlib.sha256(data[block * 65536:(block + 1) * 65536]).hexdigest()
        with lock:
            done.append((me, block))
threads = [threading.Thread(target=worker, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for block in range(len(data) // 65536):
    work.put(block)
for _ in threads:
    work.put(None)
for thread in threads:
    thread.join()
print(done)
"#;

/// Threads that compute, and so are asked for the interpreter's lock in the middle of that, which they look at where they please;
/// what each did when is told, some of it behind a lock, some not.
const PYTHON_COMPUTES: &str = r#"
import threading, queue
from concurrent.futures import ThreadPoolExecutor, as_completed
lock, work, told = threading.Lock(), queue.Queue(), []
def computes(me):
    total = 0
    for turn in range(25):
        total += sum(i * i % 7 for i in range(30000))
        told.append((me, turn))
        with lock:
            told.append((me, turn, total))
def takes(me):
    while (block := work.get()) is not None:
        value = 0
        for i in range(block * 40):
            value = (value * 31 + i) % 1000003
        told.append((me, block, value))
threads = [threading.Thread(target=computes, args=(i,)) for i in range(3)]
threads += [threading.Thread(target=takes, args=(i,)) for i in range(3, 5)]
for thread in threads:
    thread.start()
for block in range(200):
    work.put(block)
work.put(None)
work.put(None)
for thread in threads:
    thread.join()
with ThreadPoolExecutor(4) as pool:
    asked = {pool.submit(sum, range(200000 + i)): i for i in range(40)}
    print([asked[done] for done in as_completed(asked)])
print(told)
"#;

/// Threads that read the output of children as it comes, and tell whose line came when.
const PYTHON_CHILDREN: &str = r#"
import subprocess, threading
told = []
def reads(me):
    child = subprocess.Popen(["sh", "-c", "for i in 1 2 3 4; do echo $i; sleep 0.00$i; done"], stdout=subprocess.PIPE)
    for line in child.stdout:
        told.append((me, line))
    told.append((me, child.wait()))
threads = [threading.Thread(target=reads, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(told)
for times in range(3):
    print(subprocess.run(["sh", "-c", "echo out; sleep 0.002; echo err >&2; echo out again"], capture_output=True))
"#;

/// A server with a thread for each connection, and clients that ask it at the same time.
const PYTHON_SERVER: &str = r#"
import http.server, socketserver, threading, urllib.request
asked, answered = [], []
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write((self.path * 1000).encode())
    def log_message(self, *words):
        pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
server = Server(("127.0.0.1", 0), Answers)
threading.Thread(target=server.serve_forever, daemon=True).start()
def asks(me):
    for time in range(5):
        page = urllib.request.urlopen(f"http://127.0.0.1:{server.server_address[1]}/{me}/{time}").read()
        answered.append((me, time, len(page)))
threads = [threading.Thread(target=asks, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(asked, answered)
"#;

#[test]
fn python_threads_that_compute() {
    same_as_recorded("python-computes", "python3", &[PYTHON, "-c", PYTHON_COMPUTES]);
}

/// Where in a long computation the lock was asked for cannot be told, and that is said. All that is ordered comes back all the same.
#[test]
fn python_threads_that_compute_for_long() {
    let script = "import threading\n\
                  def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n\
                  threads = [threading.Thread(target=lambda: print(threading.current_thread().name, fib(33))) for i in range(3)]\n\
                  [thread.start() for thread in threads], [thread.join() for thread in threads]";
    need(PYTHON, "python3");
    let place = Place::new("python-long");
    let recorded = place.record(&[PYTHON, "-c", script]);
    assert!(recorded.status.success(), "{}", recorded.stderr);
    assert!(recorded.stderr.contains("interpreter lock in the middle of a long computation"), "{}", recorded.stderr);
    for time in 1..=REPLAYS {
        let replayed = place.replay();
        assert_eq!(replayed.status, recorded.status, "status of replay {time}\n{}", replayed.stderr);
        assert_eq!(replayed.output, recorded.output, "output of replay {time}\n{}", replayed.stderr);
    }
    place.end();
}

#[test]
fn python_with_children() {
    same_as_recorded("python-children", "python3", &[PYTHON, "-c", PYTHON_CHILDREN]);
}

#[test]
fn python_server_and_clients() {
    same_as_recorded("python-server", "python3", &[PYTHON, "-c", PYTHON_SERVER]);
}

/// Jobs in the background write to one pipe, whose reader tells the lines as they come and gives up in time.
#[test]
fn a_pipe_that_several_write_to() {
    let script = "{ for i in 1 2 3; do (for k in 1 2 3 4; do echo $i.$k; sleep 0.00$(((i * 5 + k * 3) % 7)); done) & done; wait; } | \
                  while read -t 2 line; do echo got $line; done; { sleep 0.3; } | { read -t 0.01 x; echo $?; }; \
                  seq 12 | xargs -P3 -I{} sh -c 'sleep 0.00$(({} % 5)); echo job {}'";
    same_as_recorded("writers", "bash", &["bash", "-c", script]);
}

/// A script that runs ten programs is one take: their clocks, their ids and the scripts' own come back.
#[test]
fn a_shell_script_of_ten_programs() {
    let script = "for i in 1 2 3; do date +%s%N; done; echo $$; sh -c 'echo $$ $PPID'; \
                  x=$(date +%N); echo $x; pigz -n -p2 -c input | cksum; zstd -q -T2 -c input | cksum; \
                  (sleep 0.01; echo late) & wait; false || echo $?";
    for shell in ["dash", "bash"] {
        same_as_recorded(&format!("script-{shell}"), shell, &[shell, "-c", script]);
    }
}

#[test]
fn python_threads() {
    same_everywhere("python", "python3", &[PYTHON, "-c", PYTHON_POOL]);
}

#[test]
fn python_threads_in_their_order() {
    same_as_recorded("python-order", "python3", &[PYTHON, "-c", PYTHON_ORDER]);
}

/// Children send signals to the shell, which traps them when it has waited for the child.
#[test]
fn a_shell_script_with_traps() {
    let script = "n=0; trap 'n=$((n+1)); echo trap $n' USR1; trap 'echo term; exit 0' TERM; trap 'echo bye $n' EXIT; \
                  for i in 1 2 3 4 5 6 7; do echo step $i $n; (kill -USR1 $$); done; (kill -TERM $$); echo never";
    for shell in ["dash", "bash"] {
        same_everywhere(&format!("traps-{shell}"), shell, &[shell, "-c", script]);
    }
}

/// Jobs in the background send it signals at any moment.
#[test]
fn a_shell_script_with_traps_at_any_moment() {
    let script = "n=0; trap 'n=$((n+1)); echo trap $n' USR1; \
                  for i in 1 2 3 4 5 6 7 8; do (kill -USR1 $$) & echo step $i; \
                  j=0; while [ $j -lt 200 ]; do j=$((j+1)); done; done; wait; echo end $n";
    for shell in ["dash", "bash"] {
        same_as_recorded(&format!("any-moment-{shell}"), shell, &[shell, "-c", script]);
    }
}
