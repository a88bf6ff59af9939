//! Where a participant sits at a shared object: the version that it knows, and how often it has read that one.
//!
//! Law: a seat is written by its participant alone, while it has the object's lock. So what nobody came between costs no
//! atomic instruction besides the lock's own; whoever writes next adds the seats up.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard};

/// One participant at one object, in memory that no other seat shares.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Seat {
    /// 0 before the first access.
    version: AtomicU64,
    /// Its reads of that version.
    reads: AtomicU64,
}

impl Seat {
    #[inline]
    pub fn knows(&self, version: u64) -> bool {
        self.version.load(Relaxed) == version
    }

    /// It has read a version; true if it knew that one.
    #[inline]
    pub fn read(&self, version: u64) -> bool {
        let knew = self.knows(version);
        if !knew {
            self.learn(version);
        }
        self.reads.store(self.reads.load(Relaxed) + 1, Release);
        knew
    }

    /// It knows this version, and has not read it.
    #[inline]
    pub fn learn(&self, version: u64) {
        // In this order, so that whoever adds up takes no reads of one version for those of another.
        self.reads.store(0, Release);
        self.version.store(version, Release);
    }

    /// How often it has read that version, seen by another.
    fn reads_of(&self, version: u64) -> u64 {
        if self.version.load(Acquire) == version { self.reads.load(Acquire) } else { 0 }
    }
}

/// All seats at one object.
#[derive(Debug, Default)]
pub struct Row(Mutex<Vec<Arc<Seat>>>);

impl Row {
    fn seats(&self) -> MutexGuard<'_, Vec<Arc<Seat>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// How often that version was read.
    pub fn reads_of(&self, version: u64) -> u64 {
        self.seats().iter().map(|seat| seat.reads_of(version)).sum()
    }

    /// The same, by whoever makes the next version: what those have read who have left does not count any more.
    pub fn reads_of_last(&self, version: u64) -> u64 {
        let (mut seats, mut sum, mut left) = (self.seats(), 0, false);
        for seat in seats.iter() {
            sum += seat.reads_of(version);
            left |= Arc::strong_count(seat) == 1;
        }
        if left {
            seats.retain(|seat| Arc::strong_count(seat) > 1);
        }
        sum
    }
}

/// An object's place in the seats of every participant.
#[derive(Debug)]
pub struct Place {
    /// Used again when the object is gone.
    number: usize,
    /// Never used again.
    id: u64,
}

/// Numbers that are free, how many there are, and ids given out.
static PLACES: Mutex<(Vec<usize>, usize, u64)> = Mutex::new((Vec::new(), 0, 0));

impl Place {
    pub fn new() -> Place {
        let mut places = PLACES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        places.2 += 1;
        let number = places.0.pop().unwrap_or_else(|| {
            places.1 += 1;
            places.1 - 1
        });
        Place { number, id: places.2 }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        PLACES.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).0.push(self.number);
    }
}

/// The seats of one participant, each with its object's id, by the objects' numbers.
#[derive(Debug, Default)]
pub struct Seats(Vec<Option<(u64, Arc<Seat>)>>);

impl Seats {
    #[inline]
    pub fn at(&self, place: &Place) -> Option<&Seat> {
        match self.0.get(place.number) {
            Some(Some((id, seat))) if *id == place.id => Some(seat),
            _ => None,
        }
    }

    /// The seat there; a new one if there is none.
    pub fn take(&mut self, place: &Place, row: &Row) -> &Seat {
        if self.0.len() <= place.number {
            self.0.resize_with(place.number + 1, || None);
        }
        let found = &mut self.0[place.number];
        if found.as_ref().is_none_or(|(id, _)| *id != place.id) {
            *found = None;
        }
        let (_, seat) = found.get_or_insert_with(|| {
            let seat = Arc::<Seat>::default();
            row.seats().push(seat.clone());
            (place.id, seat)
        });
        seat
    }
}
