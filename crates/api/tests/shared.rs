//! Shared objects: the CREW protocol, checked on the tapes of threads that read and write at random.

mod dice;

use dice::Dice;
use retake::{Mode, Shared, init, set_mode};
use retake_tape::part::Line;
use retake_tape::reader::Tape;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

const THREADS: usize = 4;
const STEPS: usize = 400;

/// The tests of this file choose the mode of the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("retake-shared-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn name(number: usize) -> String {
    format!("shared-{number}-{}", std::process::id())
}

/// Whether each access of that thread writes.
fn plan(number: usize) -> Vec<bool> {
    let mut dice = Dice(number as u64 * 77 + 1);
    (0..STEPS).map(|_| dice.roll(3) == 0).collect()
}

fn run(number: usize, object: &Shared<Vec<u64>>) {
    let mut me = init(&name(number)).unwrap();
    let mut pace = Dice(number as u64 + 5);
    for (step, writes) in plan(number).into_iter().enumerate() {
        if pace.roll(4) == 0 {
            thread::yield_now();
        }
        if writes {
            let mut data = object.write(&mut me).unwrap();
            let sum: u64 = data.iter().sum();
            assert_eq!(sum, data.len() as u64 * data.first().copied().unwrap_or(0), "a torn write");
            let next = data.first().copied().unwrap_or(0) + 1;
            data.iter_mut().for_each(|cell| *cell = next);
        } else {
            let data = object.read(&mut me).unwrap();
            assert!(data.iter().all(|cell| *cell == data[0]), "a torn read at step {step}");
        }
    }
    me.finish();
}

/// The lines of a part that tell of accesses, by their events.
fn lines(path: &Path) -> BTreeMap<u64, (bool, u64, u64)> {
    let tape = Tape::new(std::fs::read(path).unwrap()).unwrap();
    let mut payload = tape.payload(&tape.threads[0]);
    let mut lines = BTreeMap::new();
    while let Ok(Some((event, line))) = payload.next_line() {
        match line {
            Line::Read { version, .. } => lines.insert(event, (false, version, 0)),
            Line::Wrote { version, readers, .. } => lines.insert(event, (true, version, readers)),
            _ => None,
        };
    }
    lines
}

/// One access, as its thread's own tape tells it.
struct Access {
    thread: usize,
    writes: bool,
    version: u64,
    /// How often that version had been read; `None` if there is no line.
    readers: Option<u64>,
}

/// What a thread did, by its plan and its tape: an access without a line finds the version that the thread knows.
fn accesses(number: usize, lines: &BTreeMap<u64, (bool, u64, u64)>) -> Vec<Access> {
    let mut knows = 0;
    let of = |(event, writes): (u64, bool)| {
        let line = lines.get(&event);
        assert!(line.is_none_or(|line| line.0 == writes), "thread {number}, event {event}");
        let version = line.map_or(knows, |line| line.1);
        assert!(version > 0, "thread {number} knows nothing at event {event}");
        knows = version + u64::from(writes);
        Access { thread: number, writes, version, readers: line.map(|line| line.2) }
    };
    (1..).zip(plan(number)).map(of).collect()
}

#[test]
fn every_history_is_one_of_concurrent_readers_and_exclusive_writers() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let folder = folder("history");
    set_mode(Mode::Capture, Some(&folder));
    let object = Shared::new("object", vec![0u64; 64]);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let object = &object;
            scope.spawn(move || run(number, object));
        }
    });
    let of = |number: usize| accesses(number, &lines(&folder.join(format!("{}.part", name(number)))));
    let all: Vec<_> = (0..THREADS).flat_map(of).collect();
    let mut readers: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    all.iter().filter(|access| !access.writes).for_each(|access| {
        readers.entry(access.version).or_default().push(access.thread);
    });
    let mut written = BTreeMap::new();
    for access in all.iter().filter(|access| access.writes) {
        let before = written.insert(access.version, access.thread);
        assert!(before.is_none(), "two writers of version {}", access.version);
    }
    // Each version was written once, one after the other, by a writer who knew all who had read it, or was the only one who
    // knew it.
    assert!(written.keys().copied().eq(1..=written.len() as u64));
    for access in all.iter().filter(|access| access.writes) {
        let read_by = readers.get(&access.version).map_or(&[][..], |threads| threads);
        match access.readers {
            Some(readers) => assert_eq!(read_by.len() as u64, readers, "readers of version {}", access.version),
            None => {
                assert!(read_by.iter().all(|thread| *thread == access.thread), "version {}", access.version);
                let maker = written.get(&(access.version - 1));
                assert!(maker == Some(&access.thread) || !read_by.is_empty(), "version {}", access.version);
            }
        }
    }
    assert_eq!(object.into_inner()[0], written.len() as u64);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_nobody_came_between_takes_no_tape() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let folder = folder("alone");
    set_mode(Mode::Capture, Some(&folder));
    let objects = [Shared::new("one", 0), Shared::new("two", 0)];
    let (mut me, mut other) = (init(&name(90)).unwrap(), init(&name(91)).unwrap());
    let mut both = |times: usize| {
        for object in std::iter::repeat_n(&objects, times).flatten() {
            let read = *object.read(&mut me).unwrap();
            *object.write(&mut me).unwrap() = read + 1;
        }
    };
    both(100);
    let noted = || lines(&folder.join(format!("{}.part", name(90)))).into_iter().collect::<Vec<_>>();
    let first = [(1, (false, 1, 0)), (3, (false, 1, 0))];
    assert_eq!(noted(), first, "its first access to each");
    // Another reads: only the next write could have come elsewhere.
    let seen = *objects[0].read(&mut other).unwrap();
    both(100);
    assert_eq!(noted(), [&first[..], &[(402, (true, 101, 2))]].concat());
    // Another writes: so could the next read, and the write that follows, since the other still knows what it wrote.
    *objects[0].write(&mut other).unwrap() = seen;
    both(100);
    assert_eq!(noted(), [&first[..], &[(402, (true, 101, 2)), (801, (false, 202, 0)), (802, (true, 202, 1))]].concat());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Runs the function `helper` of this file in a process of its own, and in a group of its own: tests run side by side.
fn process(mistake: &str, variables: &[(&str, &str)]) -> Output {
    static GROUPS: AtomicU32 = AtomicU32::new(0);
    let group = GROUPS.fetch_add(1, Relaxed);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["helper", "--exact", "--nocapture"]).env("TEST_MISTAKE", mistake);
    command.env("RETAKE_GROUP", format!("shared-{}-{group}", std::process::id()));
    command.envs(variables.iter().copied()).output().unwrap()
}

/// Not a test: a participant that makes mistakes.
#[test]
fn helper() {
    let Ok(mistake) = std::env::var("TEST_MISTAKE") else { return };
    let mut me = init("guards").unwrap();
    let number = Shared::new("Number", if mistake == "another value" { 2 } else { 1 });
    match &*mistake {
        "never released" => {
            std::mem::forget(number.read(&mut me).unwrap());
            std::mem::forget(number.read(&mut me).unwrap());
        }
        _ => drop(number.read(&mut me).unwrap()),
    }
    me.finish();
}

#[test]
fn guards_that_are_never_released_are_told() {
    let said = |mistake: &str, variables: &[(&str, &str)]| {
        let output = process(mistake, variables);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let told = "retake: guards finishes with 2 guards of shared objects not released\n";
    let take = folder("guards");
    let capture = [("RETAKE_CHECK", "1"), ("RETAKE_MODE", "capture"), ("RETAKE_TAKE", take.to_str().unwrap())];
    assert_eq!(said("never released", &[("RETAKE_CHECK", "1")]), told);
    assert_eq!(said("never released", &capture), told);
    assert_eq!(said("none", &[("RETAKE_CHECK", "1")]), "");
    if !cfg!(debug_assertions) {
        assert_eq!(said("never released", &[]), "");
    }
    std::fs::remove_dir_all(take).unwrap();
}

/// Data that no guard has changed, and that is another all the same.
#[test]
fn what_was_changed_without_a_guard_is_told_in_a_replay() {
    let take = folder("changed");
    let run =
        |mode: &str, mistake: &str| process(mistake, &[("RETAKE_MODE", mode), ("RETAKE_TAKE", take.to_str().unwrap())]);
    assert!(run("full", "none").status.success());
    assert!(run("replay", "none").status.success());
    let changed = run("replay", "another value");
    let said = String::from_utf8(changed.stderr).unwrap();
    assert_eq!(changed.status.code(), Some(120), "{said}");
    assert!(said.contains("object Number with other contents"), "{said}");
    assert!(said.contains("somebody changed without a guard"), "{said}");
    std::fs::remove_dir_all(take).unwrap();
}
