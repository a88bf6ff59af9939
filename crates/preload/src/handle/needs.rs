//! What a blocked thread needs, read off glibc's objects: who holds them, and whether they have come meanwhile.

use crate::glibc::{Barrier, Mutex, RwLock, Sem};
use crate::handle::{signal, stack};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Acquire;
use retake_engine::deadlock::{self, Need, Surface, Wanted, want};
use retake_engine::objects::Meeting;
use retake_engine::schedule;
use retake_engine::stand_in;
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
};

/// Somebody was cancelled who is not known by its handle yet: it may be anyone.
pub static STRAY_CANCEL: AtomicBool = AtomicBool::new(false);

/// The mutex was this thread's before it asked for it: it waits for itself.
const OWN: u64 = 1;

fn mark(kind: u32, object: usize, thread: &Thread) -> u64 {
    // SAFETY: the program calls with an object of that kind.
    unsafe {
        match kind {
            want::MUTEX => u64::from((*(object as *const Mutex)).holder() == thread.tid) * OWN,
            want::BARRIER => (*(object as *const Barrier)).round(),
            _ => 0,
        }
    }
}

fn needs(wanted: Wanted, thread: &Thread) -> Need<'static> {
    let object = wanted.object;
    let is_cancelled = thread.is_cancelled.load(Acquire) || STRAY_CANCEL.load(Acquire);
    if is_cancelled && matches!(wanted.kind, want::CONDITION | want::SEMAPHORE | want::JOIN) {
        return Need::Nothing;
    }
    // SAFETY: a thread is blocked in a call with that object, so that it is there.
    unsafe {
        match wanted.kind {
            want::MUTEX => mutex(object, thread, wanted.mark == OWN),
            want::READ | want::WRITE => match (*(object as *const RwLock)).written_by() {
                0 if wanted.kind == want::WRITE && !(*(object as *const RwLock)).is_read() => Need::Nothing,
                0 if wanted.kind == want::WRITE => Need::Readers,
                0 => Need::Nothing,
                tid if tid == thread.tid => Need::Nothing,
                tid => Need::Thread(tid),
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
    if own { anyone(false) } else { Need::Thread(tid) }
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
        want::READ | want::WRITE => holder.holds.from(wanted.object),
        _ => 0,
    }
}
