//! Shared objects: data that the participants of one process share, by Instant Replay's CREW protocol.
//!
//! Readers go in at the same time, a writer goes alone. An object has a version, raised by every writer, and counts those
//! who have read it. A captured reader notes the version that it read; a captured writer notes the version that it found
//! and how many had read that. A replayed reader waits for its version; a replayed writer also waits until as many have
//! read. So readers of one version go in parallel again. What nobody came between is not noted ([`crate::crew`]).
//!
//! In full capture the contents are noted as well, as JSON where they can be; a replay compares them, which finds whoever changed the data
//! without a guard. A process that is replayed alone follows the same versions: all who share an object are in it.
//!
//! Deviations from the paper: the counts are kept by the lock that guards the data, so that no access needs two locks;
//! each reader counts in memory of its own; and nobody polls.

use crate::crew::{Crew, Entered};
use crate::error::Result;
use crate::participant::Participant;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Data that participants share.
///
/// ```
/// # fn main() -> retake::Result<()> {
/// let number = retake::Shared::new("Number", 9);
/// let mut me = retake::init("doc-reader")?;
/// *number.write(&mut me)? += 1;
/// assert_eq!(*number.read(&mut me)?, 10);
/// # Ok(()) }
/// ```
pub struct Shared<T> {
    crew: Crew,
    data: RwLock<T>,
}

impl<T: Serialize + DeserializeOwned> Shared<T> {
    /// A shared object of this name, which must be the only one in its process.
    pub fn new(name: &str, data: T) -> Shared<T> {
        Shared { crew: Crew::new(name), data: RwLock::new(data) }
    }

    /// Reads the object, together with other readers.
    ///
    /// # Errors
    /// [`Error::Forked`](crate::Error::Forked).
    #[inline(always)]
    pub fn read<'a>(&'a self, me: &mut Participant) -> Result<ReadGuard<'a, T>> {
        let turn = self.crew.turn(me, false)?;
        let data = self.readable();
        // The data, not its guard: so the guard can stay in registers.
        let contents: &T = &data;
        let entered = self.crew.enter(me, turn, false, &|| serde_json::to_vec(contents).ok());
        Ok(ReadGuard { data, _entered: Inside(entered) })
    }

    /// Writes the object, alone.
    ///
    /// # Errors
    /// As [`Shared::read`].
    #[inline(always)]
    pub fn write<'a>(&'a self, me: &mut Participant) -> Result<WriteGuard<'a, T>> {
        let turn = self.crew.turn(me, true)?;
        let data = self.writable();
        // The data, not its guard: so the guard can stay in registers.
        let contents: &T = &data;
        let entered = self.crew.enter(me, turn, true, &|| serde_json::to_vec(contents).ok());
        Ok(WriteGuard { data, _entered: Inside(entered) })
    }

    #[inline]
    fn readable(&self) -> RwLockReadGuard<'_, T> {
        self.data.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[inline]
    fn writable(&self) -> RwLockWriteGuard<'_, T> {
        self.data.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.crew.name()
    }

    /// The data, when nobody shares it any more.
    pub fn into_inner(self) -> T {
        self.data.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("name", &self.crew.name()).finish_non_exhaustive()
    }
}

/// Until the access ends.
struct Inside<'a>(Option<Box<Entered<'a>>>);

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(entered) = &self.0 {
            entered.leave();
        }
    }
}

/// Reading a shared object. Others may read at the same time.
#[must_use]
pub struct ReadGuard<'a, T> {
    // Told first, released then.
    _entered: Inside<'a>,
    data: RwLockReadGuard<'a, T>,
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

/// Writing a shared object, alone.
#[must_use]
pub struct WriteGuard<'a, T> {
    // Told first, released then.
    _entered: Inside<'a>,
    data: RwLockWriteGuard<'a, T>,
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.data
    }
}
