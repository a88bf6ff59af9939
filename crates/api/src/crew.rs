//! The CREW protocol itself: versions and readers of one object, whatever the data and the lock.
//!
//! The data's lock is held between entering and leaving; versions change only under it.

use crate::error::Result;
use crate::follow::Step;
use crate::participant::{Participant, Tape};
use crate::waiting::now;
use retake_engine::sys;
use retake_tape::part::Line;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// How often a replay that waits looks around.
const LOOK_NS: u64 = 500_000_000;
/// Spins before a replayed access sleeps.
const SPINS: u32 = 200;

/// The versions of one object.
pub struct Crew {
    name: Arc<str>,
    version: AtomicU64,
    /// Who have read this version and are done.
    readers: AtomicU64,
    /// Raised whenever either changes in a replay; those who wait sleep here.
    bell: AtomicU32,
}

/// What the tape says of an access.
pub struct Turn {
    event: u64,
    contents: Option<&'static [u8]>,
}

/// Between entering and leaving.
pub struct Entered<'a> {
    crew: &'a Crew,
    counts: bool,
    rings: bool,
    guards: Option<Arc<AtomicU32>>,
}

impl Crew {
    pub fn new(name: &str) -> Crew {
        Crew { name: name.into(), version: AtomicU64::new(1), readers: AtomicU64::new(0), bell: AtomicU32::new(0) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Before the lock is taken for reading: a replay waits for the version.
    pub fn before_read(&self, me: &mut Participant) -> Result<Turn> {
        self.before(me, false)
    }

    /// Before the lock is taken for writing: a replay waits for the version and its readers.
    pub fn before_write(&self, me: &mut Participant) -> Result<Turn> {
        self.before(me, true)
    }

    fn before(&self, me: &mut Participant, writes: bool) -> Result<Turn> {
        let event = me.begin()?;
        let Tape::Follow(follow) = &mut me.tape else { return Ok(Turn { event, contents: None }) };
        let came = || format!("{} object {}", if writes { "writing" } else { "reading" }, self.name);
        let step = follow.step(event, &came);
        let (object, version, readers, contents) = match step {
            Step::Line(Line::Read { object, version }, contents) if !writes => (object, version, None, contents),
            Step::Line(Line::Wrote { object, version, readers }, contents) if writes => {
                (object, version, Some(readers), contents)
            }
            step => follow.diverged(event, &step, &came()),
        };
        if follow.objects.get(object as usize).is_none_or(|known| *known != self.name) {
            follow.diverged(event, &step_of(writes, object, version, readers), &came());
        }
        self.wait(me, event, version, readers);
        Ok(Turn { event, contents })
    }

    /// Waits for a version of the object, and for as many readers of it.
    fn wait(&self, me: &Participant, event: u64, version: u64, readers: Option<u64>) {
        let Tape::Follow(follow) = &me.tape else { return };
        let mut since = now();
        let mut spins = 0;
        loop {
            let bell = self.bell.load(Acquire);
            let (is, have) = (self.version.load(Acquire), self.readers.load(Acquire));
            if is > version || is == version && readers.is_some_and(|readers| have > readers) {
                let recorded = format!("object {} at version {version}", self.name);
                follow.reporter.diverged(event, &recorded, &format!("version {is}, read by {have}"));
            }
            if is == version && readers.is_none_or(|readers| have == readers) {
                return;
            }
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
                continue;
            }
            // SAFETY: the bell lives as long as the object.
            unsafe { sys::futex_wait(self.bell.as_ptr(), bell, LOOK_NS) };
            if now() - since > follow.reporter.patience_ns {
                if !follow.reporter.is_held() {
                    follow.reporter.stuck(event, &format!("version {version} of object {}", self.name));
                }
                since = now();
            }
        }
    }

    /// The lock is held for reading.
    pub fn reads(&self, me: &mut Participant, turn: Turn, contents: &dyn Fn() -> Option<Vec<u8>>) -> Entered<'_> {
        let version = self.version.load(Relaxed);
        self.enter(me, turn, contents, |object| Line::Read { object, version })
    }

    /// The lock is held for writing.
    pub fn writes(&self, me: &mut Participant, turn: Turn, contents: &dyn Fn() -> Option<Vec<u8>>) -> Entered<'_> {
        let (version, readers) = (self.version.load(Relaxed), self.readers.load(Relaxed));
        self.enter(me, turn, contents, |object| Line::Wrote { object, version, readers })
    }

    fn enter(
        &self,
        me: &mut Participant,
        turn: Turn,
        contents: &dyn Fn() -> Option<Vec<u8>>,
        line: impl Fn(u32) -> Line<'static>,
    ) -> Entered<'_> {
        if let Tape::Follow(follow) = &me.tape
            && let Some(recorded) = turn.contents
            && contents().is_some_and(|contents| contents != recorded)
        {
            let what = format!("object {} with other contents", self.name);
            let came = "contents that somebody changed without a guard, or that no lock orders";
            follow.reporter.diverged(turn.event, &what, came);
        }
        if let Some(capture) = me.written() {
            let kept = if capture.full { contents() } else { None };
            let object = me.object_on_tape(turn.event, &self.name);
            me.note(turn.event, &line(object), kept.as_deref());
        }
        let (counts, rings) = (!matches!(me.tape, Tape::Off), matches!(me.tape, Tape::Follow(_)));
        let guards = me.guards.clone();
        if let Some(guards) = &guards {
            guards.fetch_add(1, Relaxed);
        }
        Entered { crew: self, counts, rings, guards }
    }

    fn ring(&self) {
        self.bell.fetch_add(1, Release);
        // SAFETY: waking touches no memory.
        unsafe { sys::futex_wake(self.bell.as_ptr(), i32::MAX as u32, false) };
    }
}

fn step_of(writes: bool, object: u32, version: u64, readers: Option<u64>) -> Step {
    let readers = readers.unwrap_or(0);
    let line = if writes { Line::Wrote { object, version, readers } } else { Line::Read { object, version } };
    Step::Line(line, None)
}

impl Entered<'_> {
    /// Before the lock is given back.
    pub fn leave_read(&self) {
        if self.counts {
            self.crew.readers.fetch_add(1, Release);
        }
        self.leave();
    }

    /// Before the lock is given back.
    pub fn leave_write(&self) {
        if self.counts {
            self.crew.readers.store(0, Release);
            self.crew.version.fetch_add(1, Release);
        }
        self.leave();
    }

    fn leave(&self) {
        if let Some(guards) = &self.guards {
            guards.fetch_sub(1, Relaxed);
        }
        if self.rings {
            self.crew.ring();
        }
    }
}
