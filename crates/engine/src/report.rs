//! Reports: what went wrong in a replay, written into the session for the command line to word.
//!
//! The first report wins. It is lines of `key=value`; addresses are hexadecimal. Then the process ends.

use crate::deadlock;
use crate::process;
use crate::ranks;
use crate::schedule;
use crate::stops;
use crate::store::Path;
use crate::sys;
use crate::thread::{self, Thread, waiting};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use retake_tape::op::Op;
use retake_tape::session::REPORT_MAX;

/// Gathers the callers' addresses; set by the surface, which knows its own frames.
pub static CALLERS: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

/// The callers' addresses, innermost first; 0 behind the last.
pub fn callers() -> [u64; 6] {
    let function = CALLERS.load(Relaxed);
    if function == 0 {
        return [0; 6];
    }
    // SAFETY: only `set_callers` stores there.
    let function: fn() -> [u64; 6] = unsafe { core::mem::transmute(function) };
    function()
}

/// Says how to gather the callers' addresses.
pub fn set_callers(function: fn() -> [u64; 6]) {
    CALLERS.store(function as usize, Relaxed);
}

fn write(body: impl FnOnce(&mut Path<'_>)) -> ! {
    if let Some(session) = process::get().session() {
        if session.report_state.compare_exchange(0, 1, AcqRel, Acquire).is_ok() {
            // SAFETY: whoever turned the state to 1 is the only writer.
            let room = unsafe { core::slice::from_raw_parts_mut(session.report.as_ptr().cast_mut(), REPORT_MAX) };
            let mut lines = Path { to: room, length: 0 };
            body(&mut lines);
            session.report_len.store(lines.length.min(REPORT_MAX) as u32, Release);
            session.report_state.store(2, Release);
        }
        // Another thread may be writing: its report must be whole before the process ends.
        for _ in 0..2000 {
            if session.report_state.load(Acquire) == 2 {
                break;
            }
            sys::sleep_ns(1_000_000);
        }
    }
    if let Some(thread) = thread::current() {
        stops::diverged(thread);
    }
    loop {
        // SAFETY: the process ends here.
        unsafe { sys::exit_group(120) };
    }
}

/// Why a schedule cannot be followed.
pub struct Refusal<'a> {
    pub step: u32,
    pub length: u32,
    /// The number of the thread that was due.
    pub due: u32,
    pub blocked: Option<(Op, usize)>,
    pub why: &'a str,
    /// Where the thread that was due is, innermost first.
    pub pcs: &'a [u64],
}

/// The schedule cannot be followed.
#[cold]
pub fn infeasible(thread: &Thread, refusal: &Refusal<'_>) -> ! {
    write(|lines| {
        head_at(lines, "infeasible", thread, refusal.blocked.map(|(op, _)| op), refusal.pcs);
        lines.push(b"step=").push_number(u64::from(refusal.step) + 1).push(b"\nsteps=");
        lines.push_number(refusal.length.into()).push(b"\ndue=").push_number(refusal.due.into());
        lines.push(b"\nrecorded=").push(refusal.why.as_bytes()).push(b"\n");
        if let Some((_, object)) = refusal.blocked {
            lines.push(b"object=").push_hex(object as u64).push(b"\n");
            deadlock::holders(thread.want.get(), thread, |holder| {
                lines.push(b"holder=").push_number(holder.part.index.into()).push(b"\n");
            });
        }
        thread::each(|other| {
            let due = other.part.index == refusal.due;
            if other.in_use.load(Acquire) == 1 && !due && schedule::could_run(other) {
                lines.push(b"could=").push_number(other.part.index.into()).push(b"\n");
            }
        });
    })
}

/// Tells that a step begins.
pub fn tell_step(step: usize, index: u32, name: &[u8], op: u32, object: usize) {
    let mut room = [0u8; 320];
    let mut line = Path { to: &mut room, length: 0 };
    let word = Op::from_number(op as u8).map_or("start", Op::word);
    line.push(b"retake: step ").push_number(step as u64 + 1).push(b": thread ").push_number(index.into());
    line.push(b" (").push(name).push(b"): ").push(word.as_bytes());
    if object != 0 {
        line.push(b" 0x").push_hex(object as u64);
    }
    line.push(b"\n");
    let length = line.length.min(room.len());
    // SAFETY: the bytes are ours.
    unsafe { sys::write(2, room.as_ptr() as usize, length) };
}

fn head(lines: &mut Path<'_>, what: &str, thread: &Thread, op: Option<Op>) {
    head_at(lines, what, thread, op, &callers());
}

fn head_at(lines: &mut Path<'_>, what: &str, thread: &Thread, op: Option<Op>, pcs: &[u64]) {
    lines.push(b"what=").push(what.as_bytes()).push(b"\nprocess=").push(process::get().name());
    lines.push(b"\nthread=").push(thread.name()).push(b"\nevent=").push_number(thread.count() + 1);
    if let Some(op) = op {
        lines.push(b"\ncame=").push(op.word().as_bytes());
    }
    lines.push(b"\npcs=");
    for pc in pcs.iter().take_while(|pc| **pc != 0) {
        lines.push_hex(*pc).push(b",");
    }
    lines.push(b"\n");
}

fn name_of(number: u32, lines: &mut Path<'_>) {
    let mut found = false;
    thread::each(|other| {
        if other.number == number && !found {
            lines.push(other.name());
            found = true;
        }
    });
    if !found {
        lines.push(b"number ").push_number(u64::from(number));
    }
}

/// The tape has a result of another operation.
#[cold]
pub fn wrong_op(thread: &Thread, op: Op, what: &str, recorded: u8, code: i64) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, Some(op));
        let word = Op::from_number(recorded).map_or("another operation", Op::word);
        lines.push(b"recorded=").push(what.as_bytes()).push(b" of: ").push(word.as_bytes());
        lines.push(b" (").push_number(code.unsigned_abs()).push(b")\n");
    })
}

/// The tape has an entry that an earlier event should have used.
#[cold]
pub fn left_over(thread: &Thread, op: Op, event: u64) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, Some(op));
        lines.push(b"recorded=something that event ").push_number(event).push(b" should have used\n");
    })
}

/// The object is not this thread's, though the tape says that nobody had it in between.
#[cold]
pub fn not_own(thread: &Thread, object: usize, owner: u32) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, None);
        lines.push(b"object=").push_hex(object as u64);
        lines.push(b"\nrecorded=an object that this thread had last\ncame=an object that thread ");
        name_of(owner, lines);
        lines.push(b" had last\n");
    })
}

/// The object's turn is over.
#[cold]
pub fn passed(thread: &Thread, object: usize, wanted: u64, now: u64) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, None);
        lines.push(b"object=").push_hex(object as u64);
        lines.push(b"\nrecorded=an object at version ").push_number(wanted);
        lines.push(b"\ncame=an object at version ").push_number(now).push(b"\n");
    })
}

/// The process ends, and the thread still has so many events on its tape.
#[cold]
pub fn too_early(thread: &Thread, left: u64) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, Some(Op::Exit));
        lines.push(b"recorded=").push_number(left).push(if left == 1 { b" more event\n" } else { b" more events\n" });
    })
}

/// Something else does not fit.
#[cold]
pub fn other(thread: &Thread, op: Op, recorded: &str) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, Some(op));
        lines.push(b"recorded=").push(recorded.as_bytes()).push(b"\n");
    })
}

/// A call came out in another way, in words; `recorded` and `came` write what was and what is.
#[cold]
pub fn differs(thread: &Thread, op: Op, recorded: impl FnOnce(&mut Path<'_>), came: impl FnOnce(&mut Path<'_>)) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, Some(op));
        lines.push(b"recorded=");
        recorded(lines);
        lines.push(b"\ncame=").push(op.word().as_bytes()).push(b": ");
        came(lines);
        lines.push(b"\n");
    })
}

/// The next receive from anyone was another call.
#[cold]
pub fn another_call(thread: &Thread, op: Op, recorded: &str, came: &str) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, Some(op));
        lines.push(b"came=").push(came.as_bytes());
        lines.push(b" from anyone\nrecorded=").push(recorded.as_bytes()).push(b"\n");
    })
}

/// A process that is replayed alone wants to exchange something else than it did.
#[cold]
pub fn another_exchange(thread: &Thread, recorded: impl FnOnce(&mut Path<'_>), came: impl FnOnce(&mut Path<'_>)) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, None);
        lines.push(b"recorded=");
        recorded(lines);
        lines.push(b"\ncame=");
        came(lines);
        lines.push(b"\n");
    })
}

/// The job has another size.
#[cold]
pub fn another_world(thread: &Thread, op: Op, recorded: &[u8], came: &[u8]) -> ! {
    write(|lines| {
        head(lines, "divergence", thread, Some(op));
        lines.push(b"came=").push(came).push(b"\nrecorded=").push(recorded).push(b"\n");
    })
}

/// A process that the take does not know.
#[cold]
pub fn no_tape(name: &[u8]) -> ! {
    write(|lines| {
        lines.push(b"what=divergence\nprocess=").push(name).push(b"\nthread=").push(name);
        lines.push(b"\nevent=0\ncame=a process that was not recorded\nrecorded=no such process\n");
    })
}

/// Nothing can move any more.
#[cold]
pub fn stuck(thread: &Thread) -> ! {
    write(|lines| stands(lines, thread, &callers()))
}

/// The command line has found that no rank can move, and asks this one: it says where it waits, behind those who have.
pub fn answer(thread: &Thread, pcs: &[u64]) {
    let Some(session) = process::get().session() else { return };
    let used = (session.report_len.load(Acquire) as usize).min(REPORT_MAX);
    // SAFETY: the command line keeps the report for those whom it asks, one after the other; the rest of the room.
    let room =
        unsafe { core::slice::from_raw_parts_mut(session.report.as_ptr().add(used).cast_mut(), REPORT_MAX - used) };
    let mut lines = Path { to: room, length: 0 };
    stands(&mut lines, thread, pcs);
    session.report_len.store((used + lines.length).min(REPORT_MAX) as u32, Release);
    session.asked.store(0, Release);
}

/// Where each thread of this process waits.
fn stands(lines: &mut Path<'_>, thread: &Thread, pcs: &[u64]) {
    head_at(lines, "stuck", thread, None, pcs);
    thread::each(|other| {
        if other.in_use.load(Acquire) != 1 {
            return;
        }
        lines.push(b"waiting=").push(other.name()).push(b" at event ").push_number(other.count() + 1);
        let (value, at) = (other.waits_for.load(Relaxed), other.waits_at.load(Relaxed));
        match other.waits.load(Acquire) {
            waiting::VERSION => {
                lines.push(b" for version ").push_number(value).push(b" of object ").push_hex(at);
            }
            waiting::EDGE => {
                lines.push(b" for event ").push_number(value).push(b" of thread ");
                name_of(at as u32, lines);
            }
            waiting::RANK => {
                let (source, tag) = ranks::wanted(other);
                lines.push(b" for a message from ").push_number(u64::from(source.unsigned_abs()));
                lines.push(b" with tag ").push_number(u64::from(tag.unsigned_abs()));
            }
            waiting::LIBRARY => {
                lines.push(b" inside MPI");
            }
            waiting::END => {
                lines.push(b" at the end of its tape");
            }
            waiting::MESSAGE => {
                lines.push(b" for a message with tag ").push_number(value).push(b" from task t").push_hex(at);
            }
            waiting::TASK => {
                lines.push(b" for task t").push_hex(at).push(b", which has not come");
            }
            waiting::SHARED => {
                lines.push(b" for change ").push_number(value).push(b" of groups and mailboxes");
            }
            _ => {
                lines.push(b" outside of Retake");
            }
        }
        lines.push(b"\n");
    });
}
