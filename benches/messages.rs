//! What messages and shared objects cost, as ratios in one run: `cargo bench -p retake --bench messages`, or a part of
//! it: `... -- 64`, `... -- 65536`, `... -- objects`, `... -- sync`.
//!
//! The bare transport is the same frames over the same kind of socket, with one write for each, without the library's
//! names, ids and queues. `written` is the same, and whoever receives writes what came to a file of its own and does nothing
//! else with it: no full capture that writes before it goes on can cost less. Rounds alternate, so that a busy machine disturbs
//! all of them alike; the median counts.
//!
//! On one processor (`chrt -f 10 taskset -c 1`) all is work and nothing is waiting, and the ratios differ least between runs.
//!
//! A participant keeps the mode in which it was made, so that all modes can be measured side by side.

use retake::{Mode, Participant, Partner, Shared, init, set_mode};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::thread;
use std::time::Instant;

const ROUNDS: usize = 15;
const CALLS: usize = 1_000;
const ACCESSES: usize = 200_000;

/// How many messages of this length make a stream.
fn stream_of(length: usize) -> usize {
    if length > 1000 { 500 } else { 20_000 }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Seconds by the clock, and of the processor.
type Cost = [f64; 2];

fn timed(work: impl FnOnce()) -> Cost {
    let (start, used) = (Instant::now(), processor());
    work();
    [start.elapsed().as_secs_f64(), processor() - used]
}

/// Seconds that this process, all its threads, has had of the processor: what others do there does not count.
fn processor() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the answer has room.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn write_frame(to: &mut UnixStream, contents: &[u8]) {
    let mut frame = Vec::with_capacity(contents.len() + 21);
    frame.extend((contents.len() as u32 + 17).to_le_bytes());
    frame.extend([0; 17]);
    frame.extend(contents);
    to.write_all(&frame).expect("a write");
}

/// Reads frames as they come, many with one read if they are small.
struct Frames {
    from: UnixStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    kept: Option<Kept>,
}

/// Where a receiver writes what comes, and how much that was.
struct Kept {
    to: File,
    end: u64,
}

impl Kept {
    fn new(path: &Path) -> Kept {
        Kept { to: File::create(path).expect("a file"), end: 0 }
    }

    /// As a part is written: from the start of a page, and where blocks are reserved.
    fn keep(&mut self, contents: &[u8]) {
        const RESERVED: u64 = 1 << 20;
        if self.end.is_multiple_of(RESERVED) {
            // SAFETY: a descriptor of ours. Where blocks cannot be reserved, none are.
            unsafe { libc::fallocate(self.to.as_raw_fd(), 0, self.end as i64, RESERVED as i64) };
        }
        self.to.write_all_at(contents, self.end).expect("a write");
        self.end += (contents.len() as u64).next_multiple_of(4096);
    }
}

impl Frames {
    fn next(&mut self) -> Vec<u8> {
        let contents = self.cut();
        if let Some(kept) = &mut self.kept {
            kept.keep(&contents);
        }
        contents
    }

    fn cut(&mut self) -> Vec<u8> {
        loop {
            if let Some(length) = self.buffer[self.start..self.end].first_chunk::<4>() {
                let whole = u32::from_le_bytes(*length) as usize + 4;
                if self.end - self.start >= whole {
                    let contents = self.buffer[self.start + 21..self.start + whole].to_vec();
                    self.start += whole;
                    return contents;
                }
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.end += self.from.read(&mut self.buffer[self.end..]).expect("a read");
        }
    }
}

fn frames(from: &UnixStream, kept: Option<Kept>) -> Frames {
    Frames { from: from.try_clone().expect("a descriptor"), buffer: vec![0; 128 << 10], start: 0, end: 0, kept }
}

/// One round over bare sockets: calls, then a stream; seconds for each. What comes is written into that folder, if there is one.
fn bare(contents: &[u8], folder: Option<&Path>) -> [Cost; 2] {
    let (here, there) = UnixStream::pair().expect("a pair of sockets");
    let kept = |name: &str| folder.map(|folder| Kept::new(&folder.join(name)));
    let (kept_here, kept_there) = (kept("here"), kept("there"));
    let (length, stream) = (contents.len(), stream_of(contents.len()));
    let server = thread::spawn(move || {
        let (mut from, mut to) = (frames(&there, kept_there), there);
        for _ in 0..CALLS {
            let contents = from.next();
            write_frame(&mut to, &contents);
        }
        (0..stream).for_each(|_| assert_eq!(from.next().len(), length));
        write_frame(&mut to, b"end");
    });
    let (mut from, mut to) = (frames(&here, kept_here), here);
    let calls = timed(|| {
        for _ in 0..CALLS {
            write_frame(&mut to, contents);
            from.next();
        }
    });
    let stream = timed(|| {
        (0..stream).for_each(|_| write_frame(&mut to, contents));
        from.next();
    });
    server.join().expect("the server ends well");
    [calls, stream]
}

/// One round over the library.
fn library(mut me: Participant, mut other: Participant, contents: &[u8]) -> [Cost; 2] {
    let many = stream_of(contents.len());
    let to: Partner = me.find_partner(other.name()).expect("the other is there");
    let server = thread::spawn(move || {
        for _ in 0..CALLS {
            let message = other.receive(None).expect("a message").expect("in time");
            other.reply(&message, message.contents()).expect("a reply");
        }
        for _ in 0..many {
            other.receive(None).expect("a message");
        }
        let last = other.receive(None).expect("a message").expect("in time");
        other.reply(&last, b"end").expect("a reply");
        other.finish();
    });
    let calls = timed(|| (0..CALLS).for_each(|_| drop(me.call(to, contents, None).expect("a reply"))));
    let stream = timed(|| {
        (0..many).for_each(|_| assert!(me.send(to, contents).expect("sent") > 0));
        me.call(to, b"end?", None).expect("a reply");
    });
    server.join().expect("the server ends well");
    me.finish();
    [calls, stream]
}

/// Reads and writes of a shared object, and of a standard lock; seconds for each.
fn objects(mut me: Participant) -> [Cost; 2] {
    let object = Shared::new("object", 1u64);
    let reads = timed(|| (0..ACCESSES).for_each(|_| drop(object.read(&mut me).expect("a read"))));
    let writes = timed(|| (0..ACCESSES).for_each(|_| *object.write(&mut me).expect("a write") += 1));
    me.finish();
    [reads, writes]
}

/// The same by two participants in turn, so that another came in between each time.
fn objects_in_turn(mut me: Participant, mut other: Participant) -> [Cost; 2] {
    let object = Shared::new("object", 1u64);
    let mixed = timed(|| {
        for _ in 0..ACCESSES / 4 {
            *object.write(&mut me).expect("a write") += 1;
            drop(object.read(&mut other).expect("a read"));
            *object.write(&mut other).expect("a write") += 1;
            drop(object.read(&mut me).expect("a read"));
        }
    });
    let writes = timed(|| {
        for _ in 0..ACCESSES / 2 {
            *object.write(&mut me).expect("a write") += 1;
            *object.write(&mut other).expect("a write") += 1;
        }
    });
    me.finish();
    other.finish();
    [mixed, writes]
}

fn locks() -> [Cost; 2] {
    let lock = std::hint::black_box(RwLock::new(1u64));
    let reads = timed(|| (0..ACCESSES).for_each(|_| drop(std::hint::black_box(lock.read()))));
    let writes = timed(|| (0..ACCESSES).for_each(|_| *lock.write().expect("a lock") += 1));
    [reads, writes]
}

/// Locks, atomics and channels: the standard library's, and those of `retake::sync` where nothing is recorded.
macro_rules! sync {
    ($name:ident, $sync:path) => {
        fn $name() -> [Cost; 4] {
            use sync::atomic::{AtomicU64, Ordering};
            use $sync as sync;
            let (mutex, lock) = (sync::Mutex::new(1u64), sync::RwLock::new(1u64));
            let (number, (to, from)) = (AtomicU64::new(0), sync::mpsc::channel());
            [
                timed(|| (0..ACCESSES).for_each(|_| *mutex.lock().expect("a lock") += 1)),
                timed(|| (0..ACCESSES).for_each(|_| drop(std::hint::black_box(lock.read())))),
                timed(|| (0..ACCESSES).for_each(|_| _ = number.fetch_add(1, Ordering::SeqCst))),
                timed(|| {
                    for at in 0..ACCESSES {
                        to.send(at).expect("a receiver");
                        from.recv().expect("a sender");
                    }
                }),
            ]
        }
    };
}

sync!(standard_sync, std::sync);
sync!(our_sync, retake::sync);

const MODES: [(Mode, &str); 3] =
    [(Mode::Normal, "normal"), (Mode::Capture, "capture"), (Mode::FullCapture, "full capture")];

/// A fresh directory for the parts of one round.
fn fresh(root: &Path, number: usize) -> PathBuf {
    let folder = root.join(number.to_string());
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// As much memory as the next round will fill files with is touched and given back. A virtual machine's host may have taken it:
/// to get it anew costs ten times what the write of it does, and would be paid by whoever comes first.
fn touch(root: &Path, length: usize) {
    let mut file = Kept::new(&root.join("touched"));
    let contents = vec![7u8; length];
    (0..2 * CALLS + stream_of(length)).filter(|_| length > 4096).for_each(|_| file.keep(&contents));
    let _ = std::fs::remove_file(root.join("touched"));
}

/// The costs of the base and of what is compared with it, by name, in each round; for two kinds of work.
type Rounds = Vec<(&'static str, [Vec<Cost>; 2])>;

fn keep(rounds: &mut Rounds, name: &'static str, costs: [Cost; 2]) {
    let at = rounds.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        rounds.push((name, Default::default()));
        rounds.len() - 1
    });
    rounds[at].1.iter_mut().zip(costs).for_each(|(all, one)| all.push(one));
}

/// One line: the base, and everything else as a multiple of it, by the clock and in time of the processor.
fn tell(what: &str, rounds: &Rounds, kind: usize) {
    let of = |all: &[Vec<Cost>; 2], by: usize| median(all[kind].iter().map(|cost| cost[by]).collect());
    let (base, first) = &rounds[0];
    print!("{what:<26} {base} {:.4} s", of(first, 0));
    for (name, all) in &rounds[1..] {
        print!("  {name} {:.2} ({:.2})", of(all, 0) / of(first, 0), of(all, 1) / of(first, 1));
    }
    println!();
}

fn main() {
    let root = std::env::temp_dir().join(format!("retake-bench-{}", std::process::id()));
    let mut number = 0;
    let mut participants = |mode: Mode, many: usize| -> (Vec<Participant>, PathBuf) {
        number += 1;
        let folder = fresh(&root, number);
        set_mode(mode, Some(&folder));
        let name = |at: usize| format!("bench-{}-{number}-{at}", std::process::id());
        ((0..many).map(|at| init(&name(at)).expect("a participant")).collect(), folder)
    };
    println!(
        "seconds of the base, then each as a multiple of it, in brackets of processor time; median of {ROUNDS} rounds"
    );
    let asked = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |part: &str| asked.as_deref().is_none_or(|asked| asked == part);
    for length in [64, 64 << 10].into_iter().filter(|length: &usize| wanted(&length.to_string())) {
        let contents = vec![7u8; length];
        let mut rounds = Rounds::default();
        for _ in 0..ROUNDS {
            keep(&mut rounds, "bare", bare(&contents, None));
            let folder = fresh(&root, 0);
            touch(&root, length);
            keep(&mut rounds, "written", bare(&contents, Some(&folder)));
            let _ = std::fs::remove_dir_all(folder);
            for (mode, name) in MODES {
                let (mut both, folder) = participants(mode, 2);
                let (me, other) = (both.remove(0), both.remove(0));
                touch(&root, length);
                keep(&mut rounds, name, library(me, other, &contents));
                let _ = std::fs::remove_dir_all(folder);
            }
        }
        tell(&format!("round trips {length:>6} bytes"), &rounds, 0);
        tell(&format!("one way     {length:>6} bytes"), &rounds, 1);
    }
    let mut rounds = Rounds::default();
    for _ in 0..if wanted("objects") { ROUNDS } else { 0 } {
        keep(&mut rounds, "RwLock", locks());
        for (mode, name) in MODES {
            let (mut one, folder) = participants(mode, 1);
            keep(&mut rounds, name, objects(one.remove(0)));
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    let mut in_turn = Rounds::default();
    for _ in 0..if wanted("objects") { ROUNDS } else { 0 } {
        keep(&mut in_turn, "RwLock", locks());
        for (mode, name) in MODES {
            let (mut both, folder) = participants(mode, 2);
            keep(&mut in_turn, name, objects_in_turn(both.remove(0), both.remove(0)));
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    if wanted("objects") {
        tell("in turn, reads and writes", &in_turn, 0);
        tell("in turn, writes", &in_turn, 1);
        tell("shared read", &rounds, 0);
        tell("shared write", &rounds, 1);
    }
    let mut kinds: [Rounds; 2] = Default::default();
    for _ in 0..if wanted("sync") { ROUNDS } else { 0 } {
        for (name, [mutex, read, atomic, channel]) in [("std", standard_sync()), ("retake", our_sync())] {
            keep(&mut kinds[0], name, [mutex, read]);
            keep(&mut kinds[1], name, [atomic, channel]);
        }
    }
    if wanted("sync") {
        tell("Mutex", &kinds[0], 0);
        tell("RwLock, read", &kinds[0], 1);
        tell("fetch_add", &kinds[1], 0);
        tell("channel, send and receive", &kinds[1], 1);
    }
    let _ = std::fs::remove_dir_all(root);
}
