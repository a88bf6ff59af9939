//! Shared objects: the CREW protocol, checked on the tapes of threads that read and write at random.

use retake::{Mode, Shared, init, set_mode};
use retake_tape::part::Line;
use retake_tape::reader::Tape;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

const THREADS: usize = 4;
const STEPS: usize = 400;

/// Small random numbers, the same in every run of the tests.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("retake-shared-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(number: usize, object: &Shared<Vec<u64>>) {
    let mut me = init(&format!("shared-{number}-{}", std::process::id())).unwrap();
    let mut dice = Dice(number as u64 * 77 + 1);
    for step in 0..STEPS {
        if dice.roll().is_multiple_of(3) {
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

/// What a tape holds of the object: versions read, and versions written with their readers.
fn history(path: &Path) -> (Vec<u64>, Vec<(u64, u64)>) {
    let tape = Tape::new(std::fs::read(path).unwrap()).unwrap();
    let mut payload = tape.payload(&tape.threads[0]);
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    while let Ok(Some((_, line))) = payload.next_line() {
        match line {
            Line::Read { version, .. } => reads.push(version),
            Line::Wrote { version, readers, .. } => writes.push((version, readers)),
            _ => {}
        }
    }
    (reads, writes)
}

#[test]
fn every_history_is_one_of_concurrent_readers_and_exclusive_writers() {
    let folder = folder();
    set_mode(Mode::Capture, Some(&folder));
    let object = Shared::new("object", vec![0u64; 64]);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let object = &object;
            scope.spawn(move || run(number, object));
        }
    });
    let mut read_by: BTreeMap<u64, u64> = BTreeMap::new();
    let mut written: BTreeMap<u64, u64> = BTreeMap::new();
    for item in std::fs::read_dir(&folder).unwrap() {
        let (reads, writes) = history(&item.unwrap().path());
        assert_eq!(reads.len() + writes.len(), STEPS);
        let versions = reads.iter().copied().chain(writes.iter().map(|(version, _)| *version));
        assert!(versions.max().is_some());
        reads.into_iter().for_each(|version| *read_by.entry(version).or_default() += 1);
        for (version, readers) in writes {
            assert_eq!(written.insert(version, readers), None, "two writers of version {version}");
        }
    }
    // Each version was written once, one after the other, by a writer who knew all who had read it.
    assert!(written.keys().copied().eq(1..=written.len() as u64));
    for (version, readers) in &written {
        assert_eq!(read_by.get(version).copied().unwrap_or(0), *readers, "readers of version {version}");
    }
    assert_eq!(object.into_inner()[0], written.len() as u64);
    std::fs::remove_dir_all(folder).unwrap();
}
