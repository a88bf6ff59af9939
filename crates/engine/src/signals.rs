//! Signals: deferred while the engine is busy, delivered from the tape in a replay.
//!
//! A handler may lock, post and wait like any other code. While recording, a signal that arrives in the middle of the
//! engine's own work is kept and sent again when that work is done; its place in the order is where its handler runs.
//! In a replay the handler runs at that place, and signals that arrive by themselves are dropped. A signal that a
//! recorded process sent is sent again by the replay: its handler does not run before that.

use crate::pids;
use crate::process::{self, mode};
use crate::settled;
use crate::stops;
use crate::sys;
use crate::thread::{self, DEFERRED, SIGNALS, Thread};
use crate::watch;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, compiler_fence};
use retake_tape::entry::{INSIDE, Signal};
use retake_tape::layout::state;
use retake_tape::session::flag;

/// The kernel's `siginfo_t` as far as it is needed.
#[repr(C)]
struct Info {
    number: i32,
    error: i32,
    code: i32,
    pad: i32,
    pid: u32,
    uid: u32,
    value: u64,
    rest: [u64; 12],
}

/// Reads what a handler was given, and who in this process sent it.
///
/// # Safety
/// `info` must be what the kernel gave the handler.
pub unsafe fn read(thread: &Thread, number: i32, info: *const libc::siginfo_t) -> (Signal, u32) {
    // SAFETY: the kernel's structure is 128 bytes.
    let info = unsafe { &*info.cast::<Info>() };
    let (sender, sent_at) = sender(thread, number, info, info.code != libc::SI_USER);
    let (number, releases) = (number as u8, thread.releases);
    let (code, pid, value, is_just_behind) = (info.code, info.pid, info.value, false);
    (Signal { number, code, pid, value, sender, sent_at, is_just_behind, releases }, info.uid)
}

/// Who in this process sent what `sigwait` or one of its relatives has brought, and at which event. libc does not tell there
/// whether it was sent to the thread or to the process.
///
/// # Safety
/// `info` must be what it has brought.
pub unsafe fn sender_of_taken(thread: &Thread, number: i32, info: *const libc::siginfo_t) -> Option<(u32, u64)> {
    // SAFETY: the kernel's structure is 128 bytes.
    let info = unsafe { &*info.cast::<Info>() };
    Some(sender(thread, number, info, true)).filter(|(sender, _)| *sender != 0 && *sender != thread.number)
}

/// The last one who sent this signal to the thread, if it may have been sent to that, or to the process. An older one does no
/// harm: it lies in the past all the same.
fn sender(thread: &Thread, number: i32, info: &Info, is_to_thread: bool) -> (u32, u64) {
    let by_process = matches!(info.code, libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE);
    let mut sent = 0;
    if by_process && info.pid == process::get().pid {
        let index = number as usize % SIGNALS;
        sent = if is_to_thread { thread.sent[index].load(Acquire) } else { 0 };
        if sent == 0 {
            sent = SENT[index].load(Acquire);
        }
    }
    ((sent >> SENT_BITS) as u32, sent & ((1 << SENT_BITS) - 1))
}

const SENT_BITS: u32 = 40;
/// Who last sent a signal to this process as a whole: thread and committed events.
static SENT: [AtomicU64; SIGNALS] = [const { AtomicU64::new(0) }; SIGNALS];

/// Recording: `thread` is about to send signal `number` to the thread `to` of this process, or to all of it. A replay
/// then knows after what the handler ran.
pub fn sends(thread: &Thread, to: Option<&Thread>, number: i32) {
    let sent = u64::from(thread.number) << SENT_BITS | thread.count();
    let index = number as usize % SIGNALS;
    to.map_or(&SENT[index], |to| &to.sent[index]).store(sent, Release);
}

/// Keeps a signal until the engine is left. Where many come, the others wait in the kernel until then: `mask` is what the
/// interrupted code will find blocked. False if there is no room: the signal must be handled now.
pub fn defer(thread: &mut Thread, signal: (Signal, u32), mask: &mut u64) -> bool {
    let taken = thread.deferred_taken;
    let room = |put: u32| ((put.wrapping_sub(taken) as usize) < DEFERRED).then(|| put.wrapping_add(1));
    // Another handler may interrupt this one, and put its own in between.
    let Ok(put) = thread.deferred_put.fetch_update(Relaxed, Relaxed, room) else { return false };
    thread.deferred[put as usize % DEFERRED] = signal;
    // The rest of the room is for those that come before the mask counts. A handler that interrupts another finds more
    // blocked than the program has.
    if put.wrapping_sub(taken) as usize >= DEFERRED / 2 {
        thread.masked.fetch_or(blockable() & !*mask, Relaxed);
        *mask |= blockable();
    }
    true
}

/// Sends again what was deferred. Handlers run meanwhile, and come here themselves. In a replay: looks once more for what
/// is due.
#[cold]
#[inline(never)]
pub fn flush(thread: &mut Thread) {
    if process::mode() == mode::REPLAY {
        thread.deferred_taken = thread.deferred_put.load(Relaxed);
        return thread.look_ahead();
    }
    loop {
        // While it is busy a handler only puts one more behind these.
        thread.set_busy(1);
        let first = thread.has_deferred().then(|| {
            let first = thread.deferred[thread.deferred_taken as usize % DEFERRED];
            compiler_fence(SeqCst);
            thread.deferred_taken = thread.deferred_taken.wrapping_add(1);
            first
        });
        let masked = if first.is_none() { thread.masked.swap(0, Relaxed) } else { 0 };
        thread.set_busy(0);
        match first {
            Some((signal, uid)) => send(thread, signal, uid),
            // SAFETY: the mask lives on the stack.
            None if masked != 0 => unsafe {
                let mask = (&raw const masked).addr();
                from_here(libc::SYS_rt_sigprocmask, [libc::SIG_UNBLOCK as usize, mask, 0, size_of::<u64>()]);
            },
            None if !thread.has_deferred() => return,
            None => {}
        }
    }
}

/// Replay: whether so many signals have been delivered, and are blocked, that there is no room for another.
pub fn is_full(thread: &Thread) -> bool {
    thread.delivering_len as usize == DEFERRED
}

/// Runs the handler of a recorded signal: here and now, or as soon as the program no longer blocks the signal.
#[inline(never)]
pub fn deliver(thread: &mut Thread, signal: Signal) {
    if !is_handled(&signal) {
        return;
    }
    let signal = Signal { number: signal.number & !INSIDE, ..signal };
    let busy = thread.busy;
    let length = thread.delivering_len as usize;
    if length < DEFERRED {
        thread.delivering[length] = signal;
        thread.delivering_len += 1;
    }
    thread.set_busy(0);
    send(thread, signal, 0);
    thread.set_busy(busy);
}

/// Sends a signal to this very thread.
pub fn send(thread: &Thread, signal: Signal, uid: u32) {
    let info = Info {
        number: i32::from(signal.number),
        error: 0,
        code: signal.code,
        pad: 0,
        pid: signal.pid,
        uid,
        value: signal.value,
        rest: [0; 12],
    };
    let pid = process::get().pid as usize;
    // SAFETY: a signal to this very thread; the kernel copies the particulars.
    unsafe {
        let what = [pid, thread.tid as usize, signal.number as usize, (&raw const info).addr()];
        let sent = from_here(libc::SYS_rt_tgsigqueueinfo, what);
        if sys::error(sent).is_some() {
            sys::tgkill(pid, thread.tid as usize, signal.number as usize);
        }
    }
}

/// A call of the kernel that lets signals in which had come before.
unsafe fn from_here(call: libc::c_long, [one, two, three, four]: [usize; 4]) -> isize {
    // SAFETY: the caller's.
    unsafe { place(one, two, three, four, call) }
}

/// Its instructions, in a place of their own: see [`is_from_here`]. A handler runs on top of them and may be cancelled there:
/// so they say how they are unwound.
#[unsafe(naked)]
unsafe extern "C" fn place(one: usize, two: usize, three: usize, four: usize, call: libc::c_long) -> isize {
    core::arch::naked_asm!(".cfi_startproc", "mov r10, rcx", "mov rax, r8", "syscall", "ret", ".cfi_endproc")
}

/// Whether a signal that interrupted the instruction at `at` was let in by [`from_here`].
pub fn is_from_here(at: usize) -> bool {
    /// That is more than its instructions take.
    const LENGTH: usize = 16;
    at.wrapping_sub(place as *const () as usize) < LENGTH
}

/// All signals but faults and libc's own.
fn blockable() -> u64 {
    let bit = |number: i32| 1u64 << (number - 1);
    let faults = [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS];
    !faults.into_iter().fold(LIBC_OWN, |open, number| open | bit(number))
}

/// libc's own signals, as a mask.
const LIBC_OWN: u64 = 3 << 31;

/// libc's own signal that cancels a thread, as a mask.
pub const CANCELLATION: u64 = 1 << 31;

/// Keeps these away, and returns the mask before.
pub fn hold() -> u64 {
    set_mask(libc::SIG_BLOCK, blockable())
}

/// Keeps the signals of timers away. Returns the mask before.
pub fn hold_timers() -> u64 {
    let timers = [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF].into_iter().chain(34..=64);
    set_mask(libc::SIG_BLOCK, timers.fold(0, |set, number| set | 1u64 << (number - 1)))
}

/// Puts the mask back.
pub fn release(mask: u64) {
    set_mask(libc::SIG_SETMASK, mask);
}

/// Runs `inside` with that mask, if there is one.
pub fn with_mask<R>(mask: Option<u64>, inside: impl FnOnce() -> R) -> R {
    let before = mask.map(|mask| set_mask(libc::SIG_SETMASK, mask & !LIBC_OWN));
    let result = inside();
    if let Some(before) = before {
        release(before);
    }
    result
}

fn set_mask(how: i32, mask: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: both masks live on the stack.
    unsafe { sys::rt_sigprocmask(how as usize, &raw const mask as usize, &raw mut before as usize, size_of::<u64>()) };
    before
}

/// Signals from other processes that have arrived and whose place has not come, less those whose place has come, because
/// their senders have told so, and which have not arrived yet (replay). One number, since both may happen at once.
static ARRIVED: [AtomicI32; SIGNALS] = [const { AtomicI32::new(0) }; SIGNALS];
/// Nothing has moved for so long: the signal does not come.
const PATIENCE_NS: i64 = 2_000_000_000;

/// Signals that the program handles, a bit each: the tape's come no earlier than their handlers.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// The program now handles signal `number`, or no longer does.
pub fn set_handled(number: i32, handled: bool) {
    let bit = 1u64 << (number - 1);
    if handled {
        HANDLED.fetch_or(bit, AcqRel)
    } else {
        HANDLED.fetch_and(!bit, AcqRel)
    };
}

fn is_handled(signal: &Signal) -> bool {
    let number = signal.number & !INSIDE;
    number == 0 || HANDLED.load(Acquire) >> (number - 1) & 1 != 0
}

/// Replay: whether the signal has been sent, as far as that can be known. One from this process has when its sender has
/// come so far; one from another recorded process when it has arrived; all others are sent by nobody.
pub fn is_sent(signal: &Signal) -> bool {
    if !is_handled(signal) {
        return false;
    }
    if signal.sender != 0 {
        let seat = process::get().seat(signal.sender);
        return seat.is_none_or(|seat| seat.header.count.load(Acquire) >= signal.sent_at);
    }
    if !comes_from_outside(signal) {
        return true;
    }
    let number = signal.number & !INSIDE;
    let arrived = &ARRIVED[number as usize % SIGNALS];
    if take_one_sent(number) {
        // It has arrived, or will: that is no other one then.
        arrived.fetch_sub(1, AcqRel);
        return true;
    }
    let is_here = arrived.fetch_update(AcqRel, Acquire, |many| (many > 0).then(|| many - 1)).is_ok();
    if is_here {
        // Its sender may have told of it since it was asked.
        take_one_sent(number);
    }
    is_here
}

/// A cell of [`Session::sends`] holds a process, a signal, and below so many bits how often it was sent.
const MANY_BITS: u32 = 24;

fn cell_of(pid: u32, number: u8) -> Option<&'static AtomicU64> {
    let cells = &process::get().session()?.sends;
    let key = (u64::from(pid) << 8 | u64::from(number)) << MANY_BITS;
    let start = pid as usize * 64 + number as usize;
    (start..start + 32).map(|at| &cells[at % cells.len()]).find(|cell| {
        let now = cell.compare_exchange(0, key, AcqRel, Acquire).unwrap_or_else(|now| now);
        now == 0 || now >> MANY_BITS == key >> MANY_BITS
    })
}

/// So many threads are about to send another a signal (replay).
static SENDING: AtomicU32 = AtomicU32::new(0);

/// Replay: sends a signal by `call` to the thread of the handle `to`, another one. From the moment it counts, that thread may
/// handle it; but it does not end before the call has been made, since libc would look for it in memory that is gone.
pub fn sending<R>(thread: &mut Thread, to: u64, call: impl FnOnce(&mut Thread) -> R) -> R {
    // SAFETY: seats live as long as the process.
    let Some(seat) = (unsafe { thread.seat.as_ref() }) else { return call(thread) };
    SENDING.fetch_add(1, AcqRel);
    let outer = seat.sends_to.swap(to, AcqRel);
    let result = call(thread);
    seat.sends_to.store(outer, Release);
    SENDING.fetch_sub(1, AcqRel);
    result
}

/// Replay: the thread is about to end. Whoever is sending it a signal does so first. That takes a moment; not so if a handler
/// has come in between.
pub fn wait_for_senders(thread: &Thread) {
    const TRIES: u32 = 5000;
    let handle = thread.pthread.load(Relaxed);
    let is_sent_to = || process::get().seats().iter().any(|seat| seat.sends_to.load(Acquire) == handle);
    for _ in 0..TRIES {
        if SENDING.load(Acquire) == 0 || !is_sent_to() {
            return;
        }
        sys::sleep_ns(20_000);
    }
}

/// Replay: this process is about to send signal `number` to the one that is `pid` now.
pub fn sends_to(pid: u32, number: u8) {
    if let Some(cell) = cell_of(pid, number) {
        cell.fetch_add(1, AcqRel);
    }
}

fn take_one_sent(number: u8) -> bool {
    let Some(cell) = cell_of(process::get().pid, number) else { return false };
    let less = |now: u64| (now & ((1 << MANY_BITS) - 1) > 0).then(|| now - 1);
    cell.fetch_update(AcqRel, Acquire, less).is_ok()
}

/// Whether a process of this replay sends the signal, but none of its threads that is known.
fn comes_from_outside(signal: &Signal) -> bool {
    let by_process = matches!(signal.code, libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE) && signal.pid != 0;
    let is_here = || signal.pid == process::get().shown_pid || pids::present(signal.pid).is_some();
    signal.sender == 0 && by_process && is_here()
}

/// Replay: waits until the signal has been sent. False if it does not come.
pub fn wait_for(signal: &Signal) -> bool {
    if settled::is_on()
        && let Some(thread) = thread::current()
    {
        if settled::wait_softly(thread, || is_sent(signal)) {
            return true;
        }
        settled::leaves(thread);
    }
    let mut naps = 0u32;
    while !is_sent(signal) {
        // Where sleeps are real, its sender may sleep for long.
        let is_real_time = process::get().has(flag::REAL_TIME);
        if watch::still_ns() > PATIENCE_NS * if is_real_time { 30 } else { 1 } && !stops::is_standing() {
            return false;
        }
        // Looking often costs so much time that it would pass for work.
        sys::sleep_ns(if naps < 100 { 50_000 } else { 2_000_000 });
        naps += 1;
    }
    true
}

/// Replay: the handler's place has come, but the signal has not. If it can come now, and another process sends it, or the
/// handler ran just here, it is waited for. Otherwise its handler runs when it comes: the sender may wait for what the
/// thread does next.
pub fn arrives(signal: &Signal) -> bool {
    let mask = set_mask(libc::SIG_BLOCK, 0);
    let is_blocked = mask >> ((signal.number & !INSIDE) - 1) & 1 != 0;
    let is_due = signal.is_just_behind || comes_from_outside(signal);
    is_handled(signal) && is_due && !is_blocked && wait_for(signal)
}

/// Replay: a handler was called for signal `number`. The recorded signal that it is to run for, if it is to run: one from
/// the tape, or this thread's next one, if this is its place. A signal that is pending already swallows the tape's, or
/// comes before it; then it stands for it. `is_ours` if nobody sent it but we; `has_interrupted` tells whether it came into a
/// call of the kernel that waits.
pub fn to_run(
    thread: &mut Thread,
    number: u8,
    is_ours: bool,
    has_interrupted: impl FnOnce() -> bool,
) -> Option<Signal> {
    let has_arrived = || {
        if !is_ours {
            ARRIVED[number as usize % SIGNALS].fetch_add(1, AcqRel);
        }
    };
    if thread.busy > 0 {
        // The program's handler may enter the engine, or jump out of it: not while it is at work. If this one is due, it was
        // looked for a moment ago, when it had not been sent, or is about to be sent by us.
        has_arrived();
        thread.deferred_put.fetch_add(1, Relaxed);
        return None;
    }
    let length = thread.delivering_len as usize;
    if let Some(at) = thread.delivering[..length].iter().position(|signal| signal.number == number) {
        let signal = thread.delivering[at];
        thread.delivering.copy_within(at + 1..length, at);
        thread.delivering_len -= 1;
        return Some(signal);
    }
    has_arrived();
    thread.take_due(number).or_else(|| if has_interrupted() { thread.take_early(number) } else { None })
}

/// Replay: a signal has come for which there is no handler yet, or no longer. Whether another process of this replay has sent it, and
/// it did not end this one then: its place is still to come, or was before.
pub fn comes_elsewhere(number: i32, code: i32, pid: i32) -> bool {
    let process = process::get();
    let was_killed = process.recorded_state == state::OPEN;
    let is_sent = matches!(code, libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE);
    let is_of_ours = || pid as u32 != process.pid && pids::recorded(pid as u32).is_some();
    if process::mode() != mode::REPLAY || was_killed || !is_sent || !is_of_ours() {
        return false;
    }
    ARRIVED[number as usize % SIGNALS].fetch_add(1, AcqRel);
    true
}

/// Makes what a handler is given what it was given then, and who sent it if that is known.
///
/// # Safety
/// `info` must be what the kernel gave the handler.
pub unsafe fn put_back(info: *mut libc::siginfo_t, signal: &Signal, uid: Option<u32>) {
    // SAFETY: the kernel's structure is 128 bytes.
    let info = unsafe { &mut *info.cast::<Info>() };
    (info.code, info.pid, info.value) = (signal.code, signal.pid, signal.value);
    info.uid = uid.unwrap_or(info.uid);
}
