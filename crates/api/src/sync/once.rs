//! `Once`, as the standard library's.

use super::native::NativeMutex;
use crate::exploring::part::Touch;
use std::fmt;
use std::sync::OnceState;

/// As [`std::sync::Once`].
pub struct Once {
    /// Recorded, whoever comes is put in order here: also those who find it done.
    native: NativeMutex,
    inner: std::sync::Once,
}

impl Once {
    pub const fn new() -> Once {
        Once { native: NativeMutex::new(), inner: std::sync::Once::new() }
    }

    #[inline]
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        let _held = self.native.lock_for("call once");
        self.inner.call_once(f);
    }

    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        let _held = self.native.lock_for("call once");
        self.inner.call_once_force(f);
    }

    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let _held = self.native.touch(Touch::Load);
        self.inner.is_completed()
    }
}

impl Default for Once {
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
