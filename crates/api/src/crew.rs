//! The CREW protocol itself: versions and readers of one object, whatever the data and the lock.
//!
//! Every writer raises the version. A captured access is noted only if it could have come elsewhere in the order: a read of
//! a version that its participant did not know yet (it has neither read nor written it), a write of a version that others
//! know, too. A noted writer tells how often the version that it found had been read, noted or not, and a replayed one
//! waits for as many; so what has no line finds the version that its participant knows, without waiting. Where contents
//! are kept, every access is noted.
//!
//! The data's lock is held between entering and leaving; versions and seats change only under it.

use crate::error::Result;
use crate::follow::Step;
use crate::participant::{Participant, Tape};
use crate::seat::{Place, Row, Seat};
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
    place: Place,
    version: AtomicU64,
    /// How many participants know this version: who made it, and who have read it.
    known: AtomicU64,
    seats: Row,
    /// Raised whenever either changes in a replay; those who wait sleep here.
    bell: AtomicU32,
}

/// How an access is made.
#[derive(Clone, Copy)]
pub enum Turn {
    /// Nothing is done but to take the lock.
    Passes,
    /// Only the order is captured.
    Light,
    /// Anything else; what a full tape has of the contents.
    Noted(Option<&'static [u8]>),
}

/// Between entering and leaving, where leaving is more than giving the lock back.
pub struct Entered<'a> {
    crew: &'a Crew,
    /// Replay: others may wait for this access.
    rings: bool,
    guards: Option<Arc<AtomicU32>>,
}

impl Crew {
    pub fn new(name: &str) -> Crew {
        Crew {
            name: name.into(),
            place: Place::new(),
            version: AtomicU64::new(1),
            known: AtomicU64::new(0),
            seats: Row::default(),
            bell: AtomicU32::new(0),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Before the lock is taken: a replay waits for the version, and if it writes, for its readers.
    #[inline(always)]
    pub fn turn(&self, me: &mut Participant, writes: bool) -> Result<Turn> {
        if me.passes() {
            Ok(Turn::Passes)
        } else if me.is_light() {
            Ok(Turn::Light)
        } else {
            Ok(Turn::Noted(self.recorded(me, writes)?))
        }
    }

    /// Waits as the tape says; the contents that it has.
    #[inline(never)]
    fn recorded(&self, me: &mut Participant, writes: bool) -> Result<Option<&'static [u8]>> {
        let event = me.begin()?;
        let Tape::Follow(follow) = &mut me.tape else { return Ok(None) };
        let came = || format!("{} object {}", if writes { "writing" } else { "reading" }, self.name);
        let step = follow.step(event, &came);
        if matches!(step, Step::Plain) && !follow.full {
            let own = me.seats.at(&self.place).is_some_and(|seat| self.is_own(seat, writes));
            if !own {
                follow.diverged(event, &step, &format!("{}, to which others came in between", came()));
            }
            return Ok(None);
        }
        let (object, version, readers, contents) = match step {
            Step::Line(Line::Read { object, version }, contents) if !writes => (object, version, None, contents),
            Step::Line(Line::Wrote { object, version, readers }, contents) if writes => {
                (object, version, Some(readers), contents)
            }
            step => follow.diverged(event, &step, &came()),
        };
        if follow.objects.get(object as usize).is_none_or(|known| *known != self.name) {
            let line = line_of(writes, object, version, readers.unwrap_or(0));
            follow.diverged(event, &Step::Line(line, None), &came());
        }
        self.wait(me, event, version, readers);
        Ok(contents)
    }

    /// Whether the participant of that seat finds the object as it knows it, whatever others do: it knows the version, and if
    /// it writes, nobody else does.
    #[inline]
    fn is_own(&self, seat: &Seat, writes: bool) -> bool {
        seat.knows(self.version.load(Acquire)) && (!writes || self.known.load(Acquire) == 1)
    }

    /// Waits for a version of the object, and for as many readers of it.
    fn wait(&self, me: &Participant, event: u64, version: u64, readers: Option<u64>) {
        let Tape::Follow(follow) = &me.tape else { return };
        let mut since = now();
        let mut spins = 0;
        loop {
            let bell = self.bell.load(Acquire);
            let (is, have) = (self.version.load(Acquire), self.seats.reads_of(version));
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

    /// The lock is held. What is to be done when the access ends, if anything.
    #[inline(always)]
    pub fn enter(
        &self,
        me: &mut Participant,
        turn: Turn,
        writes: bool,
        contents: &dyn Fn() -> Option<Vec<u8>>,
    ) -> Option<Box<Entered<'_>>> {
        match (turn, me.seats.at(&self.place)) {
            (Turn::Passes, _) => None,
            (Turn::Light, Some(seat)) if self.is_own(seat, writes) => {
                self.count(seat, writes);
                me.finish_event(me.event);
                if me.guards.is_none() { None } else { self.entered(me) }
            }
            _ => self.enter_noted(me, turn, writes, contents),
        }
    }

    /// The lock is held. A read counts; a write makes a version that its participant alone knows.
    #[inline]
    fn count(&self, seat: &Seat, writes: bool) {
        let version = self.version.load(Relaxed);
        if writes {
            seat.learn(version + 1);
            self.known.store(1, Release);
            self.version.store(version + 1, Release);
        } else if !seat.read(version) {
            self.known.fetch_add(1, Release);
        }
    }

    #[inline(never)]
    fn enter_noted(
        &self,
        me: &mut Participant,
        turn: Turn,
        writes: bool,
        contents: &dyn Fn() -> Option<Vec<u8>>,
    ) -> Option<Box<Entered<'_>>> {
        let event = me.event;
        if let Tape::Follow(follow) = &me.tape
            && let Turn::Noted(Some(recorded)) = turn
            && contents().is_some_and(|contents| contents != recorded)
        {
            let what = format!("object {} with other contents", self.name);
            let came = "contents that somebody changed without a guard, or that no lock orders";
            follow.reporter.diverged(event, &what, came);
        }
        if matches!(me.tape, Tape::Off) {
            return self.entered(me);
        }
        let version = self.version.load(Relaxed);
        let readers = if writes { self.seats.reads_of_last(version) } else { 0 };
        self.count(me.seats.take(&self.place, &self.seats), writes);
        if let Some(capture) = me.written() {
            let kept = if capture.full { contents() } else { None };
            let object = me.object_on_tape(event, &self.name);
            me.note(event, &line_of(writes, object, version, readers), kept.as_deref());
        }
        self.entered(me)
    }

    #[inline(never)]
    fn entered(&self, me: &Participant) -> Option<Box<Entered<'_>>> {
        let (rings, guards) = (matches!(me.tape, Tape::Follow(_)), me.guards.clone());
        if let Some(guards) = &guards {
            guards.fetch_add(1, Relaxed);
        }
        (rings || guards.is_some()).then(|| Box::new(Entered { crew: self, rings, guards }))
    }

    fn ring(&self) {
        self.bell.fetch_add(1, Release);
        // SAFETY: waking touches no memory.
        unsafe { sys::futex_wake(self.bell.as_ptr(), i32::MAX as u32, false) };
    }
}

fn line_of(writes: bool, object: u32, version: u64, readers: u64) -> Line<'static> {
    if writes { Line::Wrote { object, version, readers } } else { Line::Read { object, version } }
}

impl Entered<'_> {
    /// Before the lock is given back.
    pub fn leave(&self) {
        if let Some(guards) = &self.guards {
            guards.fetch_sub(1, Relaxed);
        }
        if self.rings {
            self.crew.ring();
        }
    }
}
