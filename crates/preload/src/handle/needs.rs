//! What a blocked thread needs, read off glibc's objects: who holds them, and whether they have come meanwhile.

use crate::glibc::{Barrier, Mutex, RwLock, Sem, guard_is_under_way, once_is_under_way, spin_is_free};
use crate::handle::{futex, signal, stack};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Acquire;
use libc::c_int;
use retake_engine::deadlock::{self, Need, Surface, Wanted, want};
use retake_engine::objects::Meeting;
use retake_engine::schedule;
use retake_engine::stand_in;
use retake_engine::sys;
use retake_engine::thread::{self, Thread};
use retake_engine::turn;

/// What the engine is told of this surface.
pub static SURFACE: Surface = Surface {
    mark,
    needs,
    stack_of: stack::of,
    while_held: stack::while_held,
    has_handlers: signal::has_handlers,
    since,
    left_by,
    own_stack: stack::own,
};

/// Somebody was cancelled who is not known by its handle yet: it may be anyone.
pub static STRAY_CANCEL: AtomicBool = AtomicBool::new(false);

/// What is run once is known by one of these, in the place of the address that took it: a control word, or a guard of C++.
pub const CONTROL: u32 = 0;
pub const GUARD: u32 = 1;

/// The mutex was this thread's before it asked for it: it waits for itself.
const OWN: u64 = 1;

fn mark(kind: u32, object: usize, thread: &Thread) -> u64 {
    // SAFETY: the program calls with an object of that kind.
    unsafe {
        match kind {
            want::MUTEX => u64::from((*(object as *const Mutex)).holder() == thread.tid) * OWN,
            want::BARRIER => (*(object as *const Barrier)).round(),
            want::FUTEX => futex::mark(*(object as *const u32)),
            _ => 0,
        }
    }
}

fn needs(wanted: Wanted, thread: &Thread) -> Need<'static> {
    let object = wanted.object;
    let is_cancelled = thread.is_cancelled.load(Acquire) || STRAY_CANCEL.load(Acquire);
    if is_cancelled && matches!(wanted.kind, want::CONDITION | want::SEMAPHORE | want::JOIN | want::FUTEX) {
        return Need::Nothing;
    }
    // SAFETY: a thread is blocked in a call with that object, so that it is there.
    unsafe {
        match wanted.kind {
            want::MUTEX => mutex(object, thread, wanted.mark == OWN),
            want::READ | want::WRITE => rwlock(object, thread, wanted.kind == want::WRITE),
            want::ONCE => under_way(object),
            want::SPIN if spin_is_free(object as *const c_int) => Need::Nothing,
            want::SPIN => match holder_of(object) {
                // One that it locked itself may be meant as a signal.
                Some(holder) if holder.tid == thread.tid && Meeting(object).is_out_of_reach() => Need::Outside,
                Some(holder) if holder.tid == thread.tid => anyone(false),
                Some(holder) => Need::Thread(holder.tid),
                None => Need::Outside,
            },
            want::JOIN => joined(object as u64),
            want::CONDITION => {
                let condition = Meeting(object);
                let woken = if schedule::is_on() { stand_in::is_woken(thread, object) } else { condition.is_woken() };
                if turn::recording() && woken {
                    // It, or another that waits there, is on its way, and needs its mutex.
                    return mutex(wanted.mark as usize, thread, false);
                }
                if condition.is_out_of_reach() { Need::Outside } else { anyone(false) }
            }
            want::FUTEX => anyone(futex::can_come(object, wanted.mark)),
            want::SEMAPHORE if schedule::is_on() => {
                let semaphore = &*(object as *const Sem);
                if semaphore.is_shared() && !semaphore.is_there() {
                    Need::Outside
                } else {
                    anyone(semaphore.is_there())
                }
            }
            want::SEMAPHORE => anyone((*(object as *const Sem)).can_come()),
            want::BARRIER if schedule::is_on() => anyone(!stand_in::is_held(thread, object)),
            want::BARRIER => {
                let barrier = &*(object as *const Barrier);
                let complete = || deadlock::how_many_want(wanted) >= barrier.count();
                anyone(barrier.is_shared() || barrier.round() != wanted.mark || complete())
            }
            _ => Need::Nothing,
        }
    }
}

/// Whose mutex it is, unless the thread has got it by now, or its holder is about to wait for a condition without it.
unsafe fn mutex(object: usize, thread: &Thread, own: bool) -> Need<'static> {
    // SAFETY: a thread is blocked in a call with that mutex, so that it is there.
    let tid = unsafe { (*(object as *const Mutex)).holder() };
    let gives_up = |holder: &Thread| {
        let theirs = holder.want.get();
        theirs.kind == want::CONDITION && theirs.mark as usize == object
    };
    if tid == 0 || tid == thread.tid && !own || deadlock::by_tid(tid).is_some_and(gives_up) {
        return Need::Nothing;
    }
    // One that it locked itself may be meant as a signal: any other thread can unlock it.
    // SAFETY: as above.
    if own { anyone(false) } else { unsafe { left(object, tid) }.unwrap_or(Need::Thread(tid)) }
}

/// What one needs who waits for a mutex whose holder has ended; nothing if it has not.
unsafe fn left(object: usize, tid: u32) -> Option<Need<'static>> {
    // SAFETY: as above.
    let mutex = unsafe { &*(object as *const Mutex) };
    // A robust one comes to whoever waits. Who has a shared one may be in another process.
    if mutex.is_robust() || mutex.is_shared() || !deadlock::has_ended(tid) {
        return None;
    }
    // It may have unlocked it before it ended, and behind the first look.
    if mutex.holder() != tid {
        return Some(Need::Nothing);
    }
    Some(if mutex.is_only_its_holders() { Need::Nobody } else { anyone(false) })
}

/// Who has the lock must give it up. If that one has ended, or is not known, anybody may: glibc does not look.
unsafe fn rwlock(object: usize, thread: &Thread, to_write: bool) -> Need<'static> {
    // SAFETY: a thread is blocked in a call with that lock, so that it is there.
    let lock = unsafe { &*(object as *const RwLock) };
    match lock.written_by() {
        0 if !to_write || !lock.is_read() => Need::Nothing,
        0 if holder_of(object).is_some() => Need::Readers,
        tid if tid == thread.tid => Need::Nothing,
        _ if lock.is_shared() => Need::Outside,
        0 => anyone(false),
        tid if deadlock::has_ended(tid) => anyone(false),
        tid => Need::Thread(tid),
    }
}

/// Whoever runs what is run once must come to its end.
unsafe fn under_way(object: usize) -> Need<'static> {
    let Some(runner) = holder_of(object) else { return Need::Nothing };
    // SAFETY: a thread waits for it, so that it is there.
    let runs = unsafe {
        match runner.holds.from(object) {
            GUARD => guard_is_under_way(object as *const u8),
            _ => once_is_under_way(object as *const c_int),
        }
    };
    if runs { Need::Thread(runner.tid) } else { Need::Nothing }
}

/// A thread that has the object, which does not itself say whose it is.
pub fn holder_of(object: usize) -> Option<&'static Thread> {
    let mut holder = None;
    thread::each(|thread| {
        if thread.in_use.load(Acquire) == 1 && thread.holds.has(object) {
            holder = Some(core::ptr::from_ref(thread));
        }
    });
    // SAFETY: threads are never freed.
    holder.map(|holder| unsafe { &*holder })
}

/// The thread gives up what does not itself say whose it is: its own, or what another one has taken.
pub fn gives(thread: &Thread, object: usize) {
    let of = if thread.holds.has(object) { Some(thread) } else { holder_of(object) };
    if let Some(holder) = of {
        holder.holds.remove(object);
    }
}

/// What any thread can give, unless it has come, or a handler can give it.
fn anyone(has_come: bool) -> Need<'static> {
    match has_come {
        true => Need::Nothing,
        false if signal::has_handlers() => Need::Outside,
        false => Need::Anyone,
    }
}

/// Whether the thread's function has not ended.
pub fn runs(handle: u64) -> bool {
    by_handle(handle).is_some()
}

/// Whether nothing of the program's runs in the thread any more, destructors of its keys included.
pub fn is_gone(handle: u64) -> bool {
    let mut is_there = false;
    thread::each(|thread| {
        let has_ended = thread.in_use.load(Acquire) == 2;
        is_there |= thread.pthread.load(Acquire) == handle && !(has_ended && sys::is_no_more(thread.tid));
    });
    !is_there
}

fn joined(handle: u64) -> Need<'static> {
    by_handle(handle).map_or(Need::Nothing, Need::End)
}

/// The thread that has this handle, if its function has not ended.
pub fn by_handle(handle: u64) -> Option<&'static Thread> {
    let mut target = None;
    thread::each(|thread| {
        if thread.pthread.load(Acquire) == handle && thread.in_use.load(Acquire) == 1 {
            target = Some(core::ptr::from_ref(thread));
        }
    });
    // SAFETY: threads are never freed.
    target.map(|target| unsafe { &*target })
}

/// From where its holder has it.
fn since(wanted: Wanted, holder: &Thread) -> u32 {
    match wanted.kind {
        // SAFETY: as above.
        want::MUTEX => unsafe { (*(wanted.object as *const Mutex)).from() },
        want::READ | want::WRITE | want::SPIN => holder.holds.from(wanted.object),
        _ => 0,
    }
}

/// The id of the thread that has it and has ended.
fn left_by(wanted: Wanted) -> Option<u32> {
    // SAFETY: as above.
    let tid = unsafe {
        match wanted.kind {
            want::MUTEX if !(*(wanted.object as *const Mutex)).is_shared() => {
                (*(wanted.object as *const Mutex)).holder()
            }
            want::READ | want::WRITE if !(*(wanted.object as *const RwLock)).is_shared() => {
                (*(wanted.object as *const RwLock)).written_by()
            }
            _ => 0,
        }
    };
    (tid != 0 && deadlock::has_ended(tid)).then_some(tid)
}
