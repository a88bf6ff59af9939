//! What an operation does to a lock.

use retake_tape::op::Op;
use retake_tape::rich::Rich;

/// The mutex was obtained though its holder had died (`EOWNERDEAD`).
const OWNER_DIED: i64 = 130;
const TIMED_OUT: i64 = 110;

/// What is run once is run by this thread.
pub const RAN: i64 = 1;

/// What is held by one thread, or by several readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Mutex,
    RwLock,
    Spin,
    Critical,
    OmpLock,
}

/// How a lock is held. Two readers do not disturb each other; any other two do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    Read,
    Write,
}

impl Mode {
    pub fn excludes(self, other: Mode) -> bool {
        self == Mode::Write || other == Mode::Write
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Obtains the lock. `waits`: it would have waited for it, for ever if need be; one who only tries does not.
    Takes {
        kind: Kind,
        mode: Mode,
        waits: bool,
    },
    Frees {
        kind: Kind,
    },
}

impl Deed {
    /// Whether the operation is on a lock at all, and which way; its outcome is not looked at.
    pub fn of(op: Op) -> Option<Deed> {
        let takes = |kind, mode, waits| Some(Deed::Takes { kind, mode, waits });
        match op {
            Op::MutexLock => takes(Kind::Mutex, Mode::Write, true),
            Op::MutexTry | Op::MutexTimed => takes(Kind::Mutex, Mode::Write, false),
            Op::RwRead => takes(Kind::RwLock, Mode::Read, true),
            Op::RwTryRead | Op::RwTimedRead => takes(Kind::RwLock, Mode::Read, false),
            Op::RwWrite => takes(Kind::RwLock, Mode::Write, true),
            Op::RwTryWrite | Op::RwTimedWrite => takes(Kind::RwLock, Mode::Write, false),
            Op::SpinLock => takes(Kind::Spin, Mode::Write, true),
            Op::SpinTry => takes(Kind::Spin, Mode::Write, false),
            Op::OmpCritical => takes(Kind::Critical, Mode::Write, true),
            Op::OmpLock => takes(Kind::OmpLock, Mode::Write, true),
            Op::OmpTry => takes(Kind::OmpLock, Mode::Write, false),
            Op::MutexUnlock => Some(Deed::Frees { kind: Kind::Mutex }),
            Op::RwUnlock => Some(Deed::Frees { kind: Kind::RwLock }),
            Op::SpinUnlock => Some(Deed::Frees { kind: Kind::Spin }),
            Op::OmpCriticalEnd => Some(Deed::Frees { kind: Kind::Critical }),
            Op::OmpUnlock => Some(Deed::Frees { kind: Kind::OmpLock }),
            _ => None,
        }
    }
}

/// Whether the lock that the operation wanted was obtained.
pub fn is_obtained(rich: &Rich) -> bool {
    rich.result == 0 || rich.result == OWNER_DIED
}

/// Whether a condition wait with this result ended with its mutex.
pub fn has_mutex(result: i64) -> bool {
    matches!(result, 0 | TIMED_OUT | OWNER_DIED | retake_tape::entry::CANCELLED)
}
