//! Turns at places outside of memory where processes meet: an address that several connect to, a pipe that several write to.
//!
//! Each has a version in the session's page: how often somebody was there. Whoever comes notes it if another thread was there
//! last, and a replay waits for it, as at a mutex; but softly, since a program that was changed may come more or less often.

use crate::came::Told;
use crate::descriptors::{Patience, Pause};
use crate::process;
use crate::sys;
use crate::thread::Thread;
use crate::turn;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use retake_tape::entry::sort;
use retake_tape::session::Place;

/// Who is there stays for one call of the kernel, as a rule: so it is tried often at first, then others are let run.
const SPINS: u32 = 200;
const YIELDS: u32 = SPINS + 20;
const PAUSE_NS: u64 = 50_000;
/// Nobody is waited for any longer while recording: its thread is gone, or waits for something itself.
const TRIES: u32 = YIELDS + 40;

/// So many neighbours are looked at for a place.
const NEAR: usize = 16;

/// Who waits has not tried often yet: it may come at any moment, or as soon as others run.
fn is_soon(tries: u32) -> bool {
    match tries {
        ..SPINS => core::hint::spin_loop(),
        // SAFETY: lets others run.
        SPINS..YIELDS => _ = unsafe { sys::sched_yield() },
        _ => return false,
    }
    true
}

/// The place that `key` names in this run; nothing if there are too many.
fn place(key: u64) -> Option<&'static Place> {
    let places = &process::get().session()?.places;
    let key = key.max(1);
    for at in 0..NEAR {
        let place = &places[(key as usize).wrapping_add(at) % places.len()];
        match place.key.compare_exchange(0, key, AcqRel, Acquire) {
            Ok(_) => return Some(place),
            Err(other) if other == key => return Some(place),
            Err(_) => {}
        }
    }
    None
}

/// Makes `call` in its turn at the place that `key` names.
pub fn in_turn<R>(key: u64, call: impl FnOnce() -> R) -> R {
    match turn::enter().filter(|thread| !thread.lends) {
        Some(thread) if turn::recording() => record(thread, key, call, |_| true),
        Some(thread) => replay(thread, key, call),
        None => call(),
    }
}

/// Recording: makes `call` while nobody else is there; if it `is_made`, that was a turn.
pub fn record<R>(thread: &mut Thread, key: u64, call: impl FnOnce() -> R, is_made: impl Fn(&R) -> bool) -> R {
    let Some(place) = place(key) else { return call() };
    if place.holder.load(Relaxed) == thread.number {
        // A handler came into the call of its own thread.
        return call();
    }
    let mut tries = 0;
    while let Err(other) = place.holder.compare_exchange(0, thread.number, AcqRel, Acquire) {
        tries += 1;
        if tries > TRIES && place.holder.compare_exchange(other, thread.number, AcqRel, Acquire).is_ok() {
            break;
        }
        if !is_soon(tries) {
            sys::sleep_ns(PAUSE_NS);
        }
    }
    let _there = There(place, thread.number);
    let result = call();
    if is_made(&result) {
        let version = place.version.fetch_add(1, AcqRel);
        if place.last.swap(thread.number, Relaxed) != thread.number {
            thread.begin();
            thread.came(sort::TURN, version as i64, &[]);
            thread.finish();
        }
        thread.rests().calls[usize::from(sort::TURN)] += 1;
    }
    result
}

/// Somebody is there, until the call is made or its thread cancelled in it; unless another has stopped waiting for that.
struct There(&'static Place, u32);

impl Drop for There {
    fn drop(&mut self) {
        let _ = self.0.holder.compare_exchange(self.1, 0, Release, Relaxed);
    }
}

/// Replay: makes `call`, which was made then, when it is its turn.
pub fn replay<R>(thread: &mut Thread, key: u64, call: impl FnOnce() -> R) -> R {
    let Some(place) = place(key) else { return call() };
    if let Told::So(came) = thread.told_of(sort::TURN) {
        let (mut pause, mut tries) = (Pause::new(Patience::Limited), 0);
        while place.version.load(Acquire) < came.answer as u64 && place.is_lost.load(Relaxed) == 0 {
            tries += 1;
            if !is_soon(tries) && !pause.goes_on(true) {
                place.is_lost.store(1, Relaxed);
            }
        }
    }
    let result = call();
    place.version.fetch_add(1, AcqRel);
    result
}
