//! The CREW protocol against a plain model: whatever threads read and write at random, a replay gives every read the value
//! that it had, however fast the threads are then.

mod dice;

use dice::Dice;
use retake::{Mode, Shared, init, set_mode};
use std::path::Path;
use std::thread;

const THREADS: usize = 3;
const OBJECTS: usize = 2;
const STEPS: usize = 120;

/// A thread is two participants, one after the other: what one has read counts when it has left.
const HALVES: usize = 2;

fn name(seed: u64, number: usize, half: usize) -> String {
    format!("crew-{seed}-{number}-{half}-{}", std::process::id())
}

/// What one thread does is decided by `seed`; how fast it is, by `pace`. All that it saw is returned.
fn run(number: usize, seed: u64, pace: u64, objects: &[Shared<u64>]) -> Vec<u64> {
    let mut me = init(&name(seed, number, 0)).unwrap();
    let (mut dice, mut speed) = (Dice(seed * 1000 + number as u64 + 1), Dice(pace * 77 + number as u64 + 1));
    let mut seen = Vec::new();
    for step in 0..STEPS {
        if step == STEPS / HALVES {
            me.finish();
            me = init(&name(seed, number, 1)).unwrap();
        }
        (0..speed.roll(4)).for_each(|_| thread::yield_now());
        let object = &objects[dice.roll(OBJECTS as u64) as usize];
        if dice.roll(3) == 0 {
            let mut data = object.write(&mut me).unwrap();
            seen.push(*data);
            *data = (number * STEPS + step) as u64;
        } else {
            seen.push(*object.read(&mut me).unwrap());
        }
    }
    me.finish();
    seen
}

fn everyone(mode: Mode, folder: &Path, seed: u64, pace: u64) -> Vec<Vec<u64>> {
    set_mode(mode, Some(folder));
    let objects: Vec<_> = (0..OBJECTS).map(|at| Shared::new(&format!("object{at}"), 0u64)).collect();
    thread::scope(|scope| {
        let objects = &objects;
        let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || run(at, seed, pace, objects))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn every_read_of_a_replay_has_the_value_that_it_had() {
    for seed in 1..=6 {
        let folder = std::env::temp_dir().join(format!("retake-crew-{seed}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mode = if seed % 2 == 0 { Mode::FullCapture } else { Mode::Capture };
        let recorded = everyone(mode, &folder, seed, seed);
        for pace in 1..=3 {
            // In one process every replay is one more life of each name.
            for (number, half) in (0..THREADS * HALVES).map(|at| (at / HALVES, at % HALVES)) {
                let part = |life: &str| folder.join(format!("{}{life}.part", name(seed, number, half)));
                std::fs::copy(part(""), part(&format!("@{}", pace + 1))).unwrap();
            }
            let replayed = everyone(Mode::Replay, &folder, seed, seed * 10 + pace);
            assert_eq!(replayed, recorded, "seed {seed}, pace {pace}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
