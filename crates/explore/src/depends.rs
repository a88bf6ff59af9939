//! Which operations may not change places: the dependency relation of every reduction here.
//!
//! Two operations depend on each other if one thread does both, or if they meet at an object and not both only read it.
//! Law: too much dependency costs runs; too little would lose interleavings. In doubt they depend.

use crate::{Act, EVERYTHING};
use retake_tape::op::Op;

pub fn depends(a: &Act, b: &Act) -> bool {
    a.thread == b.thread || is_global(a) || is_global(b) || (meets(a, b) && !(reads(a) && reads(b)))
}

fn meets(a: &Act, b: &Act) -> bool {
    let is_of_b = |object: u32| object != 0 && (object == b.object || object == b.other);
    is_of_b(a.object) || is_of_b(a.other)
}

/// What ends or copies the process comes before or after everything else.
pub fn is_global(act: &Act) -> bool {
    let global = matches!(op(act), Some(Op::Exit | Op::Abort | Op::Exec | Op::Fork | Op::Kill));
    global || act.object == EVERYTHING || act.other == EVERYTHING
}

/// Whether it leaves its object as it was.
pub fn reads(act: &Act) -> bool {
    matches!(op(act), Some(Op::RwRead | Op::RwTryRead | Op::RwTimedRead | Op::SemValue))
}

/// Whether it gives its object back. No other thread could have done so in its place.
pub fn releases(act: &Act) -> bool {
    matches!(op(act), Some(Op::MutexUnlock | Op::RwUnlock | Op::SpinUnlock | Op::OmpUnlock | Op::OmpCriticalEnd))
}

/// The tape's operation.
pub fn op(act: &Act) -> Option<Op> {
    Op::from_number(u8::try_from(act.op).ok()?)
}

/// Whether `later` can never be done in the place of `earlier`, though they depend: it needs what `earlier` gives.
pub fn excludes(earlier: &Act, later: &Act) -> bool {
    let (Some(first), Some(second)) = (op(earlier), op(later)) else { return false };
    match first {
        Op::MutexUnlock => matches!(second, Op::MutexLock),
        Op::SpinUnlock => matches!(second, Op::SpinLock),
        Op::OmpUnlock => matches!(second, Op::OmpLock),
        Op::OmpCriticalEnd => matches!(second, Op::OmpCritical),
        Op::ThreadEnd => matches!(second, Op::ThreadJoin),
        Op::ThreadCreate => matches!(second, Op::ThreadStart),
        _ => false,
    }
}

/// Whether `earlier` may be what lets `later` go on.
pub fn enables(earlier: &Act, later: &Act) -> bool {
    let (Some(first), Some(second)) = (op(earlier), op(later)) else { return false };
    excludes(earlier, later)
        || match first {
            Op::SemPost => matches!(second, Op::SemWait | Op::SemTimed),
            Op::RwUnlock => matches!(second, Op::RwRead | Op::RwWrite | Op::RwTimedRead | Op::RwTimedWrite),
            Op::CondSignal | Op::CondBroadcast => matches!(second, Op::CondWait | Op::CondTimed),
            Op::MutexUnlock => matches!(second, Op::MutexTimed | Op::CondWait | Op::CondTimed),
            Op::Barrier => matches!(second, Op::Barrier),
            Op::Once => matches!(second, Op::Once),
            _ => false,
        }
}
