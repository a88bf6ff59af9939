//! Receives: which message came, or that none came.
//!
//! A receive from a given task with a given tag gets the next such message in every run, and leaves nothing on the tape.
//! Any other has the source and the tag there; the replay asks for these. What a daemon sends is a notification, whose
//! order and content are not the same again (it names a task by its id), so its content is on the tape, and the replay
//! makes a message of it.

use crate::handle::exchange::Numbers;
use crate::handle::pvm::full::{self, message};
use crate::handle::pvm::{self, ids, library, meeting, options};
use crate::table::pvm::{Info, Ints, plain, real};
use core::cell::Cell;
use core::ptr::null;
use core::sync::atomic::Ordering::{Relaxed, Release};
use libc::{c_int, c_void, timeval};
use retake_engine::park::{self, Place};
use retake_engine::replay::Step;
use retake_engine::store::Path;
use retake_engine::thread::{Thread, waiting};
use retake_engine::turn::{self, CANCELLED};
use retake_engine::{report, sys, watch};
use retake_tape::op::Op;

/// Numbers in a notification that are kept.
const BODY: usize = 64;
/// How long a replay waits for a message before it looks around.
const SLICE_US: i64 = 20_000;

/// The message that came, as one number: its source above, its tag below.
fn code(source: c_int, tag: c_int) -> i64 {
    i64::from(source) << 32 | i64::from(tag as u32)
}

/// Source and tag, unless the number says that none came.
fn decode(code: i64) -> Option<(c_int, c_int)> {
    (code != 0 && !(-64..0).contains(&code)).then_some(((code >> 32) as c_int, code as c_int))
}

/// Whether a receive could get one message or another.
fn is_open(tid: c_int, tag: c_int) -> bool {
    tid == -1 || tag == -1 || ids::is_daemon(tid) || options::has_matcher()
}

/// The function that has this event.
fn name(op: Op) -> &'static str {
    match op {
        Op::PvmNrecv => "pvm_nrecv",
        Op::PvmTrecv => "pvm_trecv",
        Op::PvmPrecv => "pvm_precv",
        Op::PvmProbe => "pvm_probe",
        _ => "pvm_recv",
    }
}

/// Recording: notes what a receive returned. `open` if it could have been another message, `polls` if 0 is finding
/// nothing, `peeks` if the message stays where it is. A message whose content was looked at cannot be wound back, so
/// that one like it takes its place: its buffer is returned.
unsafe fn note(thread: &mut Thread, op: Op, buffer: c_int, open: bool, polls: bool, peeks: bool) -> c_int {
    let (mut length, mut tag, mut source) = (0, 0, 0);
    let mut body = [0 as c_int; BODY];
    let mut numbers = 0;
    if buffer > 0 {
        // SAFETY: variables of ours; the buffer is the library's.
        library(|| unsafe {
            real::pvm_bufinfo(buffer, &raw mut length, &raw mut tag, &raw mut source);
            if ids::is_daemon(source) && !peeks {
                numbers = (length as usize / 4).min(BODY);
                plain::pvm_upkint(body.as_mut_ptr(), numbers as c_int, 1);
            }
        });
    }
    if buffer > 0 && full::kept() {
        let keep = if peeks { message::keep_head } else { message::keep };
        // SAFETY: the library's buffer.
        unsafe { keep(thread, name(op), buffer) };
    }
    // SAFETY: numbers of ours, as bytes.
    let body = unsafe { core::slice::from_raw_parts(body.as_ptr().cast::<u8>(), numbers * 4) };
    thread.begin();
    if buffer > 0 && (open || ids::is_daemon(source)) {
        thread.result(op, code(source, tag));
        if numbers > 0 {
            thread.bytes(body);
        }
    } else if buffer == 0 && polls {
        thread.poll(op, 0);
    } else if buffer <= 0 {
        thread.result(op, i64::from(buffer));
    }
    thread.happen();
    thread.finish();
    turn::tell(thread, op, thread.count(), 0, 0, if buffer > 0 { code(source, tag) } else { i64::from(buffer) });
    // SAFETY: the library's buffers.
    if numbers > 0 { unsafe { make_active(source, tag, body) } } else { buffer }
}

/// Replay: what is to be had.
enum Wanted {
    /// Nothing: this result.
    Result(c_int),
    /// The next message from this task (by its present id) with this tag.
    Message(c_int, c_int),
    /// What a daemon sent: source, tag, content.
    Notification(c_int, c_int, &'static [u8]),
}

fn wanted(thread: &mut Thread, op: Op, tid: c_int, tag: c_int, step: &Step) -> Wanted {
    if step.result == CANCELLED {
        turn::cancelled_here(thread, op, 0);
    }
    let Some((source, recorded_tag)) = decode(step.result) else {
        if step.has_result {
            return Wanted::Result(step.result as c_int);
        }
        if tid == -1 || tag == -1 {
            let given = |words: &mut Path<'_>| {
                words.push(b"a receive from a given task with a given tag");
            };
            report::differs(thread, op, given, |words| asked(words, tid, tag));
        }
        return Wanted::Message(ids::wait_for(thread, tid), tag);
    };
    must_fit(thread, op, (tid, tag), (source, recorded_tag));
    if ids::is_daemon(source) {
        return Wanted::Notification(source, recorded_tag, step.bytes);
    }
    Wanted::Message(ids::wait_for(thread, source), recorded_tag)
}

/// Replay: ends it with a report if a call did not ask for the message that it got then.
fn must_fit(thread: &mut Thread, op: Op, (tid, tag): (c_int, c_int), (source, recorded_tag): (c_int, c_int)) {
    if tid != -1 && tid != source || tag != -1 && tag != recorded_tag {
        let came = |words: &mut Path<'_>| {
            words.push(b"a message from task t").push_hex(u64::from(source as u32));
            words.push(b" with tag ").push_number(u64::from(recorded_tag as u32));
        };
        report::differs(thread, op, came, |words| asked(words, tid, tag));
    }
}

/// Alone: the record of the message that a call got then.
fn record(thread: &mut Thread, op: Op, asked: (c_int, c_int)) -> &'static [u8] {
    let record = thread.given(name(op));
    let head = message::head(record);
    must_fit(thread, op, asked, (head.source, head.tag));
    record
}

/// What a call asked for, in words.
fn asked(words: &mut Path<'_>, tid: c_int, tag: c_int) {
    words.push(b"a receive from ");
    match tid {
        -1 => words.push(b"any task"),
        _ => words.push(b"task t").push_hex(u64::from(tid as u32)),
    };
    words.push(b" with ");
    match tag {
        -1 => words.push(b"any tag"),
        _ => words.push(b"tag ").push_number(u64::from(tag as u32)),
    };
}

fn waits(thread: &mut Thread, from: c_int, tag: c_int) -> i64 {
    thread.waits_for.store(u64::from(tag as u32), Relaxed);
    thread.waits_at.store(u64::from(ids::recorded(from) as u32), Relaxed);
    thread.waits.store(waiting::MESSAGE, Release);
    sys::clock_ns(libc::CLOCK_MONOTONIC)
}

/// Replay: the next message from the task that is `from` now.
unsafe fn take(thread: &mut Thread, op: Op, from: c_int, tag: c_int) -> c_int {
    let started = waits(thread, from, tag);
    loop {
        let mut slice = timeval { tv_sec: 0, tv_usec: SLICE_US };
        // SAFETY: a variable of ours.
        let buffer = turn::undisturbed(|| library(|| unsafe { real::pvm_trecv(from, tag, &raw mut slice) }));
        pvm::must_succeed(op, buffer);
        if buffer > 0 {
            thread.waits.store(waiting::NOT, Release);
            return buffer;
        }
        watch::look(thread, started);
    }
}

/// Replay: waits until such a message is there, and leaves it there.
unsafe fn look_for(thread: &mut Thread, op: Op, from: c_int, tag: c_int) -> c_int {
    let found = Cell::new(0);
    let place = Place { key: ids::recorded(from) as usize, wanted: null(), poll: true };
    park::wait(thread, waiting::MESSAGE, &place, u64::from(tag as u32), || {
        // SAFETY: asks the library.
        found.set(library(|| unsafe { real::pvm_probe(from, tag) }));
        park::far_unless(found.get() != 0)
    });
    pvm::must_succeed(op, found.get());
    found.get()
}

/// The active message is given up, as every receive does first.
pub unsafe fn drop_active() {
    // SAFETY: the library's buffers.
    library(|| unsafe {
        let active = plain::pvm_setrbuf(0);
        if active > 0 {
            plain::pvm_freebuf(active);
        }
    });
}

/// A message like the one that a daemon sent, in place of the active one.
unsafe fn make_active(source: c_int, tag: c_int, body: &[u8]) -> c_int {
    // SAFETY: the library's buffers.
    unsafe {
        let buffer = make(source, tag, body);
        activate(buffer);
        buffer
    }
}

/// Puts a message in place of the active one.
pub unsafe fn activate(buffer: c_int) {
    // SAFETY: the library's buffers.
    unsafe {
        drop_active();
        library(|| plain::pvm_setrbuf(buffer));
    }
}

/// A message like the one that a daemon sent.
unsafe fn make(source: c_int, tag: c_int, body: &[u8]) -> c_int {
    let mut numbers = [0 as c_int; BODY];
    let mut rest = body;
    let count = (body.len() / 4).min(BODY);
    numbers[..count].fill_with(|| pvm::take_int(&mut rest));
    // SAFETY: variables of ours; the buffer is made here.
    library(|| unsafe {
        let buffer = plain::pvm_mkbuf(0);
        let before = plain::pvm_setsbuf(buffer);
        plain::pvm_pkint(numbers.as_mut_ptr(), count as c_int, 1);
        plain::pvm_setsbuf(before);
        let mut info = Info::default();
        real::pvm_getminfo(buffer, &raw mut info);
        (info.source, info.tag) = (source, tag);
        real::pvm_setminfo(buffer, &raw mut info);
        buffer
    })
}

/// A receive that makes its message the active one. `call` is as the program made it.
unsafe fn receive(op: Op, tid: c_int, tag: c_int, polls: bool, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = pvm::enter() else { return call() };
    // SAFETY: as said there; the library's buffers.
    unsafe {
        if turn::recording() {
            let buffer = turn::cancellable(op, || library(call));
            return note(thread, op, buffer, polls || is_open(tid, tag), polls, false);
        }
        let Some(step) = thread.step(op) else { return call() };
        let buffer = match wanted(thread, op, tid, tag, &step) {
            Wanted::Result(result) => {
                drop_active();
                result
            }
            _ if full::given() => {
                let buffer = message::given(record(thread, op, (tid, tag)));
                activate(buffer);
                buffer
            }
            Wanted::Message(from, tag) => take(thread, op, from, tag),
            Wanted::Notification(source, tag, body) => make_active(source, tag, body),
        };
        if buffer > 0 && full::kept() {
            message::keep(thread, name(op), buffer);
        }
        thread.happened();
        turn::tell(thread, op, thread.count(), 0, 0, step.result);
        pvm::told(i64::from(buffer))
    }
}

pub unsafe fn recv(tid: c_int, tag: c_int) -> c_int {
    if tid == -1 && turn::is_in_library() {
        // SAFETY: the library's arguments.
        return meeting::receive(|from| unsafe { real::pvm_recv(from, tag) });
    }
    // SAFETY: the program's arguments; so for the others.
    unsafe { receive(Op::PvmRecv, tid, tag, false, || real::pvm_recv(ids::present(tid), tag)) }
}

pub unsafe fn nrecv(tid: c_int, tag: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { receive(Op::PvmNrecv, tid, tag, true, || real::pvm_nrecv(ids::present(tid), tag)) }
}

pub unsafe fn trecv(tid: c_int, tag: c_int, time: *mut timeval) -> c_int {
    // SAFETY: as above.
    unsafe { receive(Op::PvmTrecv, tid, tag, true, || real::pvm_trecv(ids::present(tid), tag, time)) }
}

pub unsafe fn probe(tid: c_int, tag: c_int) -> c_int {
    let op = Op::PvmProbe;
    // SAFETY: as above.
    unsafe {
        let call = || real::pvm_probe(ids::present(tid), tag);
        let Some(thread) = pvm::enter() else { return call() };
        if turn::recording() {
            let buffer = library(call);
            return note(thread, op, buffer, true, true, true);
        }
        let Some(step) = thread.step(op) else { return call() };
        let buffer = match wanted(thread, op, tid, tag, &step) {
            Wanted::Result(result) => result,
            _ if full::given() => message::looked_at(record(thread, op, (tid, tag))),
            Wanted::Message(from, tag) => look_for(thread, op, from, tag),
            Wanted::Notification(source, tag, _) => make(source, tag, &[]),
        };
        if buffer > 0 && full::kept() {
            message::keep_head(thread, name(op), buffer);
        }
        thread.happened();
        turn::tell(thread, op, thread.count(), 0, 0, step.result);
        pvm::told(i64::from(buffer))
    }
}

#[allow(clippy::too_many_arguments)] // they are PVM's
pub unsafe fn precv(
    tid: c_int,
    tag: c_int,
    to: *mut c_void,
    n: c_int,
    kind: c_int,
    rtid: Ints,
    rtag: Ints,
    rlen: Ints,
) -> c_int {
    let op = Op::PvmPrecv;
    // Its source, its tag, its length.
    let mut found = [0 as c_int; 3];
    let at = found.as_mut_ptr();
    // SAFETY: the program's buffer and variables.
    unsafe {
        let call = |tid: c_int, tag: c_int| real::pvm_precv(tid, tag, to, n, kind, at, at.add(1), at.add(2));
        let keep = |thread: &mut Thread, head: [c_int; 3]| {
            let length = (head[2].max(0) as usize).min(n.max(0) as usize * full::size(kind));
            let bytes = core::slice::from_raw_parts(to.cast(), length);
            thread.keep(name(op), [Numbers(head.map(i64::from)).bytes(), bytes]);
        };
        let result = match pvm::enter() {
            None => call(ids::present(tid), tag),
            Some(thread) if turn::recording() => {
                let result = turn::cancellable(op, || library(|| call(tid, tag)));
                let [source, found_tag, length] = *at.cast::<[c_int; 3]>();
                if result >= 0 && full::kept() {
                    keep(thread, [source, found_tag, length]);
                }
                thread.begin();
                if result < 0 {
                    thread.result(op, i64::from(result));
                } else if is_open(tid, tag) {
                    thread.result(op, code(source, found_tag));
                }
                thread.happen();
                thread.finish();
                turn::tell(thread, op, thread.count(), 0, 0, code(source, found_tag));
                result
            }
            Some(thread) => match thread.step(op) {
                None => call(ids::present(tid), tag),
                Some(step) => {
                    let result = match wanted(thread, op, tid, tag, &step) {
                        Wanted::Result(result) => result,
                        _ if full::given() => {
                            let (head, bytes) = Numbers::<3>::read(thread.given(name(op)));
                            let head = head.0.map(|number| number as c_int);
                            must_fit(thread, op, (tid, tag), (head[0], head[1]));
                            at.cast::<[c_int; 3]>().write(head);
                            let room = n.max(0) as usize * full::size(kind);
                            core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len().min(room));
                            0
                        }
                        Wanted::Message(from, tag) => {
                            look_for(thread, op, from, tag);
                            library(|| call(from, tag))
                        }
                        Wanted::Notification(..) => -5,
                    };
                    if result >= 0 && full::kept() {
                        let [source, tag, length] = *at.cast::<[c_int; 3]>();
                        keep(thread, [ids::recorded(source), tag, length]);
                    }
                    thread.happened();
                    turn::tell(thread, op, thread.count(), 0, 0, step.result);
                    pvm::told(i64::from(result))
                }
            },
        };
        if result >= 0 {
            let [source, tag, length] = found;
            for (room, value) in [(rtid, ids::recorded(source)), (rtag, tag), (rlen, length)] {
                if let Some(room) = room.as_mut() {
                    *room = value;
                }
            }
        }
        result
    }
}
