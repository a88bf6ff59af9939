//! Time, with the standard library's names: `use retake::time::Instant` instead of `std::time::Instant`.
//!
//! In an exploration time is virtual: sleeps and timed waits are over when a strategy says so, and this clock then shows that
//! the time has passed. Otherwise it is the standard one. Everything else is the standard library's own.

use crate::sync::native::explored;
use std::ops::{Add, AddAssign, Sub, SubAssign};
pub use std::time::*;

/// As [`std::time::Instant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(std::time::Instant);

impl Instant {
    /// As the standard library's.
    pub fn now() -> Instant {
        Instant(explored().map_or_else(std::time::Instant::now, |part| part.now()))
    }

    /// As the standard library's.
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// As the standard library's.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.duration_since(earlier.0)
    }

    /// As the standard library's.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// As the standard library's.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// As the standard library's.
    pub fn checked_add(&self, time: Duration) -> Option<Instant> {
        self.0.checked_add(time).map(Instant)
    }

    /// As the standard library's.
    pub fn checked_sub(&self, time: Duration) -> Option<Instant> {
        self.0.checked_sub(time).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0 + time)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        self.0 += time;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, time: Duration) -> Instant {
        Instant(self.0 - time)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, time: Duration) {
        self.0 -= time;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.0 - earlier.0
    }
}
