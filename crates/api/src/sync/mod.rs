//! Locks, channels and atomics with the standard library's names: `use retake::sync::Mutex` is all that a Rust program
//! changes to be recorded.
//!
//! The standard library's own locks are futexes, which a recording cannot see. Here each object has, beside the standard
//! one, an object of libc's, which the shim catches: when the program is recorded or replayed, that one is taken first, and
//! so the order of threads at it is on the tape. In a closure that [`explore`](crate::explore) runs, the exploration says who
//! takes it when. Otherwise it is not touched, and each operation costs what the standard one costs, and the look at one
//! variable.
//!
//! Law: what is caught orders, what is standard guards the data. So poisoning, moving out and all else is the standard's.

pub mod atomic;
mod barrier;
mod condvar;
mod guard;
pub mod mpsc;
mod mutex;
pub(crate) mod native;
mod once;
mod once_lock;
mod rwlock;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
pub use once::Once;
pub use once_lock::{LazyLock, OnceLock};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{Arc, LockResult, OnceState, PoisonError, TryLockError, TryLockResult, Weak};
