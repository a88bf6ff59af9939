//! Mailboxes: one store for all tasks, kept by the daemon. Its uses are put in order, across tasks, and made again in that
//! order; what was not found then is not looked for again.

use crate::handle::exchange::Numbers;
use crate::handle::input::note_unsupported;
use crate::handle::pvm::full::{self, message};
use crate::handle::pvm::machine::{give, push_int, push_text, take_text, text_length};
use crate::handle::pvm::receive::{activate, drop_active};
use crate::handle::pvm::{self, Scratch, library, take_int, told};
use crate::table::pvm::{Ints, Mailbox, real};
use core::cell::Cell;
use core::ptr::null;
use libc::{c_char, c_int};
use retake_engine::park::{self, Place};
use retake_engine::store::Path;
use retake_engine::tasks;
use retake_engine::thread::{Thread, waiting};
use retake_engine::{process, report, turn};
use retake_tape::op::Op;
use retake_tape::session::flag;

/// There is no such entry.
const NOT_FOUND: c_int = -32;
/// Wait until there is an entry.
const WAITS: c_int = 32;

/// One operation on what all tasks share. In a replay it must come out as it did; a task that has ended may still be on
/// record with the daemon, so it is tried again for a while.
pub fn ordered(op: Op, blocks: bool, same: fn(c_int, c_int) -> bool, call: impl Fn() -> c_int) -> c_int {
    let Some(thread) = pvm::enter() else { return call() };
    tell_if_apart();
    if turn::recording() {
        let note = |result: &c_int, version: u64| {
            if let Some(thread) = retake_engine::thread::current() {
                thread.begin();
                thread.hand_over(version);
                thread.result(op, i64::from(*result));
                thread.happen();
                thread.finish();
            }
        };
        let result = if blocks {
            // Others must be able to bring what it waits for.
            let result = turn::cancellable(op, || library(&call));
            tasks::changing(|| result, note)
        } else {
            tasks::changing(|| library(&call), note)
        };
        turn::tell(thread, op, thread.count(), 0, 0, i64::from(result));
        return result;
    }
    let Some(step) = thread.step(op) else { return call() };
    if !full::given() {
        tasks::wait_for_changes(thread, step.order);
    }
    let mut result = step.result as c_int;
    if result >= 0 && !full::given() {
        result = until_same(thread, result, same, &call);
        if !same(step.result as c_int, result) {
            let then = step.result as u64;
            report::differs(
                thread,
                op,
                |words| {
                    words.push(b"result ").push_number(then);
                },
                |words| match result {
                    0.. => {
                        words.push(b"result ").push_number(result as u64);
                    }
                    _ => pvm::error(words, result),
                },
            );
        }
    }
    tasks::changed();
    thread.happened();
    turn::tell(thread, op, thread.count(), 0, 0, step.result);
    told(i64::from(result))
}

/// Recording: on a host with a session of its own nobody knows what was changed elsewhere.
pub fn tell_if_apart() {
    if turn::recording() && process::get().has(flag::APART) {
        note_unsupported(b"PVM's groups or mailboxes on a host that does not have the take (their order)");
    }
}

/// Makes the call until it does not fail any more.
fn until_same(
    thread: &mut Thread,
    recorded: c_int,
    same: fn(c_int, c_int) -> bool,
    call: &impl Fn() -> c_int,
) -> c_int {
    let result = Cell::new(library(call));
    if same(recorded, result.get()) || result.get() >= 0 {
        return result.get();
    }
    let place = Place { key: 0, wanted: null(), poll: true };
    park::wait(thread, waiting::OUTSIDE, &place, 0, || {
        result.set(library(call));
        park::far_unless(result.get() >= 0)
    });
    result.get()
}

fn equal(recorded: c_int, now: c_int) -> bool {
    recorded == now
}

/// Buffers have other numbers in each run.
fn both_found(recorded: c_int, now: c_int) -> bool {
    recorded > 0 && now > 0
}

fn named(words: &mut Path<'_>, name: *const c_char) {
    words.push(b"of mailbox ");
    // SAFETY: the program's string.
    unsafe { full::push_text(words, name) };
}

pub unsafe fn putinfo(name: *mut c_char, buffer: c_int, flags: c_int) -> c_int {
    // SAFETY: the library's buffer.
    full::pass("pvm_putinfo", |words| named(words, name), |_| unsafe { message::sum(buffer) });
    // SAFETY: the program's arguments; so for the others.
    ordered(Op::PvmMailbox, false, equal, || unsafe { real::pvm_putinfo(name, buffer, flags) })
}

pub unsafe fn recvinfo(name: *mut c_char, index: c_int, flags: c_int) -> c_int {
    let blocks = flags & WAITS != 0;
    // SAFETY: as above.
    let buffer = ordered(Op::PvmMailbox, blocks, both_found, || unsafe { real::pvm_recvinfo(name, index, flags) });
    let Some(thread) = turn::enter() else { return buffer };
    // SAFETY: the library's buffers.
    unsafe {
        match buffer {
            1.. if full::kept() => message::keep(thread, "pvm_recvinfo", buffer),
            1.. if full::given() => {
                let buffer = message::given(thread.given("pvm_recvinfo"));
                activate(buffer);
                return buffer;
            }
            // What was not found took the place of the active message all the same.
            NOT_FOUND if !turn::recording() => drop_active(),
            _ => {}
        }
    }
    buffer
}

pub unsafe fn delinfo(name: *mut c_char, index: c_int, flags: c_int) -> c_int {
    // SAFETY: as above.
    ordered(Op::PvmMailbox, false, equal, || unsafe { real::pvm_delinfo(name, index, flags) })
}

pub unsafe fn insert(name: *mut c_char, index: c_int, data: c_int) -> c_int {
    // SAFETY: a number.
    full::pass("pvm_insert", |words| named(words, name), |_| unsafe { full::memory((&raw const data).cast(), 4) });
    // SAFETY: as above.
    ordered(Op::PvmMailbox, false, equal, || unsafe { real::pvm_insert(name, index, data) })
}

pub unsafe fn lookup(name: *mut c_char, index: c_int, data: Ints) -> c_int {
    // SAFETY: as above.
    let result = ordered(Op::PvmMailbox, false, equal, || unsafe { real::pvm_lookup(name, index, data) });
    // SAFETY: the program's variable, if there is one.
    if let (0.., Some(data), Some(thread)) = (result, unsafe { data.as_mut() }, turn::enter()) {
        if full::kept() {
            thread.keep("pvm_lookup", [Numbers([i64::from(*data)]).bytes(), &[]]);
        } else if full::given() {
            *data = full::number(thread.given("pvm_lookup"));
        }
    }
    result
}

pub unsafe fn delete(name: *mut c_char, index: c_int) -> c_int {
    // SAFETY: as above.
    ordered(Op::PvmMailbox, false, equal, || unsafe { real::pvm_delete(name, index) })
}

unsafe fn classes<'a>(at: *const Mailbox, count: c_int) -> &'a [Mailbox] {
    // SAFETY: the library's list is as long as it says.
    if at.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(at, count.max(0) as usize) } }
}

/// What is in the mailboxes: told as it was. The owners are ids as the program knows them.
pub unsafe fn getmboxinfo(pattern: *mut c_char, n: Ints, to: *mut *mut Mailbox) -> c_int {
    let op = Op::PvmMailbox;
    let (mut count, mut found) = (0, core::ptr::null_mut::<Mailbox>());
    // SAFETY: variables of ours and of the program; the library's lists are as long as it says.
    unsafe {
        let Some(thread) = pvm::enter() else { return real::pvm_getmboxinfo(pattern, n, to) };
        let result = if turn::recording() {
            let (count, found) = (&raw mut count, &raw mut found);
            let call = || library(|| real::pvm_getmboxinfo(pattern, count, found));
            let note = |result: &c_int, version: u64| {
                let all = classes(*found, *count);
                let size = |class: &Mailbox| 4 + text_length(class.name) + class.entries.max(0) as usize * 12;
                let mut room = Scratch::new(4 + all.iter().map(size).sum::<usize>());
                let mut words = Path { to: room.bytes(), length: 0 };
                push_int(&mut words, *count);
                for class in all {
                    push_int(&mut words, class.entries);
                    for list in [class.indices, class.owners, class.flags] {
                        (0..class.entries as usize).for_each(|index| push_int(&mut words, *list.add(index)));
                    }
                    push_text(&mut words, class.name);
                }
                let length = words.length.min(words.to.len());
                if let Some(thread) = retake_engine::thread::current() {
                    thread.begin();
                    thread.hand_over(version);
                    thread.result(op, i64::from(*result));
                    thread.bytes(&words.to[..length]);
                    thread.happen();
                    thread.finish();
                }
            };
            tasks::changing(call, note)
        } else {
            let Some(step) = thread.step(op) else { return real::pvm_getmboxinfo(pattern, n, to) };
            if !full::given() {
                tasks::wait_for_changes(thread, step.order);
            }
            (count, found) = read_classes(step.bytes);
            tasks::changed();
            thread.happened();
            told(step.result)
        };
        if result >= 0 {
            give(n, count);
            if let Some(to) = to.as_mut() {
                *to = found;
            }
        }
        result
    }
}

unsafe fn read_classes(mut bytes: &'static [u8]) -> (c_int, *mut Mailbox) {
    let count = take_int(&mut bytes);
    let all: *mut Mailbox = Scratch::new(count.max(0) as usize * size_of::<Mailbox>()).keep().cast();
    for index in 0..count.max(0) as usize {
        let entries = take_int(&mut bytes);
        let mut list = || {
            let at: Ints = Scratch::new(entries.max(0) as usize * 4).keep().cast();
            // SAFETY: memory of that length.
            (0..entries as usize).for_each(|index| unsafe { at.add(index).write(take_int(&mut bytes)) });
            at
        };
        let (indices, owners, flags) = (list(), list(), list());
        let class = Mailbox { name: take_text(&mut bytes), entries, indices, owners, flags };
        // SAFETY: memory of that length.
        unsafe { all.add(index).write(class) };
    }
    (count, all)
}
