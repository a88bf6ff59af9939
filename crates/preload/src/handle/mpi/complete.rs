//! Waiting for requests and testing them: which were found done, in which order, and what the receives among them got.
//!
//! A test that finds nothing is one more of a run of polls, which costs no tape; in a replay it makes no call at all.

use crate::handle::mpi::abi::{self, Status};
use crate::handle::mpi::full::underway;
use crate::handle::mpi::told::{self, readable};
use crate::handle::mpi::{full, happen, happened, requests, wait};
use crate::table::mpi::real;
use core::mem::MaybeUninit;
use libc::c_int;
use retake_engine::replay::Step;
use retake_engine::report;
use retake_engine::sys;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, in_library, inside_library};
use retake_tape::matches::Match;
use retake_tape::op::Op;
use retake_tape::varint;

/// Nothing was done yet.
const NOT_YET: i64 = -2;
/// There was nothing to wait for.
const NONE: i64 = -1;

/// Recording: the receive whose request was `handle`, if it was one, is done with `status`.
unsafe fn received(thread: &mut Thread, handle: usize, status: *mut u8) {
    if underway::any() {
        // SAFETY: a status that the library has filled.
        unsafe { underway::arrived(thread, handle, status, false) };
    }
    let Some(receive) = requests::finish(handle).filter(|receive| receive.active) else { return };
    let abi = abi::get();
    let mut gone: c_int = 0;
    if receive.cancelled {
        // SAFETY: a status that the library has filled.
        in_library(|| unsafe { real::MPI_Test_cancelled(status, &raw mut gone) });
    }
    thread.begin();
    if gone != 0 && !receive.open {
        thread.withdrew(receive.number);
    }
    if gone == 0 && receive.open {
        let other = if receive.thread == thread.number { 0 } else { receive.thread };
        // SAFETY: as above.
        let (source, tag) = unsafe { (abi.source(status), abi.tag(status)) };
        thread.matched(Match { thread: other, number: receive.number, call: receive.call, source, tag });
    }
    thread.finish();
    if gone == 0 {
        // SAFETY: as above.
        unsafe { told::got_by_request(thread, &receive, status) };
    }
}

/// Whether it counts which requests are done.
#[inline(always)]
fn any() -> bool {
    requests::any() || underway::any()
}

/// Recording: nothing was done.
#[inline(always)]
fn not_yet(thread: &mut Thread, op: Op) {
    thread.begin();
    thread.poll(op, NOT_YET);
    thread.happen();
    thread.finish();
    turn::tell(thread, op, thread.count(), 0, 0, NOT_YET);
}

/// Recording: what was done, as a number; 0 needs no entry.
fn outcome(thread: &mut Thread, op: Op, result: i64) {
    thread.begin();
    if result != 0 {
        thread.result(op, result);
    }
    thread.happen();
    thread.finish();
    turn::tell(thread, op, thread.count(), 0, 0, result);
}

/// So many requests and their statuses fit the stack.
const FEW: usize = 64;

/// Room for a status of any library.
const STATUS_MAX: usize = 32;

/// Room on the stack for what is remembered of [`FEW`] requests: their handles, and statuses of any library. Never moved, and
/// not touched where it is not used.
type Room = MaybeUninit<[[u64; 1 + STATUS_MAX / 8]; FEW]>;

/// What the requests of an array were before a call, and statuses for those that want none.
struct Before {
    /// The array as it was; behind it the statuses.
    array: *mut u8,
    count: usize,
    own: bool,
    /// Memory to be given back; 0 if the room was enough.
    size: usize,
}

impl Before {
    /// Remembers the handles, if any receive is under way; `wanted` are the statuses that the program wants.
    #[inline(always)]
    unsafe fn new(room: &mut Room, count: c_int, requests: *mut u8, wanted: *mut u8) -> Before {
        let abi = abi::get();
        let count = if any() { count.max(0) as usize } else { 0 };
        let own = count > 0 && abi.is_ignored(wanted);
        let mut before = Before { array: room.as_mut_ptr().cast(), count, own, size: 0 };
        if count > FEW {
            before.size = count * (size_of::<usize>() + STATUS_MAX);
            before.array = sys::memory(before.size);
            if before.array.is_null() {
                return Before { array: before.array, count: 0, own: false, size: 0 };
            }
        }
        // As it is: a test that finds nothing never looks at it.
        let length = abi.nth(requests, count) as usize - requests as usize;
        // SAFETY: the program's array; room of ours for as many handles and statuses of any library. A call that fails fills no
        // status; fresh memory is empty by itself.
        unsafe {
            core::ptr::copy_nonoverlapping(requests, before.array, length);
            if own && before.size == 0 {
                core::ptr::write_bytes(before.statuses(wanted), 0, count * STATUS_MAX);
            }
        }
        before
    }

    /// Where statuses go, given where the program wants them.
    fn statuses(&self, wanted: *mut u8) -> *mut u8 {
        if self.own { self.array.wrapping_add(self.count * size_of::<usize>()) } else { wanted }
    }

    fn handle(&self, index: usize) -> usize {
        let abi = abi::get();
        // SAFETY: inside the array, or 0, which is nobody's.
        if index < self.count { unsafe { abi.handle(abi.nth(self.array, index)) } } else { 0 }
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        if self.size > 0 {
            // SAFETY: memory of ours that nobody uses any more.
            unsafe { sys::munmap(self.array as usize, self.size) };
        }
    }
}

pub unsafe fn wait(request: *mut u8, status: *mut u8) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe {
        let Some(thread) = turn::enter() else { return real::MPI_Wait(request, status) };
        if turn::recording() {
            let mut own = Status::new();
            let (handle, to) = (abi::get().handle(request), readable(status, any(), &mut own));
            let result = in_library(|| real::MPI_Wait(request, to));
            received(thread, handle, to);
            happen(thread, Op::MpiWait, 0);
            return result;
        }
        if thread.step(Op::MpiWait).is_none() {
            return real::MPI_Wait(request, status);
        }
        let result = in_library(|| wait::request(request, status));
        happened(thread, Op::MpiWait, 0);
        result
    }
}

pub unsafe fn waitall(count: c_int, requests: *mut u8, statuses: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let call = move |to| real::MPI_Waitall(count, requests, to);
        let Some(thread) = turn::enter() else { return call(statuses) };
        if turn::recording() {
            let mut room = Room::uninit();
            let before = Before::new(&mut room, count, requests, statuses);
            let to = before.statuses(statuses);
            let result = in_library(|| call(to));
            all_received(thread, &before, to);
            happen(thread, Op::MpiWait, i64::from(count));
            return result;
        }
        if thread.step(Op::MpiWait).is_none() {
            return call(statuses);
        }
        let result = each_done(0..count.max(0) as usize, requests, statuses, |index| index);
        happened(thread, Op::MpiWait, i64::from(count));
        result
    }
}

unsafe fn all_received(thread: &mut Thread, before: &Before, statuses: *mut u8) {
    for index in 0..before.count {
        let handle = before.handle(index);
        // SAFETY: statuses that the library has filled.
        unsafe { received(thread, handle, abi::get().nth_status(statuses, index)) };
    }
}

/// Replay: waits for the requests of these indices; the status of the `n`-th is at `to(n, index)`.
unsafe fn each_done(
    indices: impl Iterator<Item = usize>,
    requests: *mut u8,
    statuses: *mut u8,
    to: impl Fn(usize) -> usize,
) -> c_int {
    let abi = abi::get();
    in_library(|| {
        let mut result = 0;
        for (nth, index) in indices.enumerate() {
            // SAFETY: the program's arrays.
            let one = unsafe { wait::request(abi.nth(requests, index), abi.nth_status(statuses, to(nth))) };
            result = if result == 0 { one } else { result };
        }
        result
    })
}

pub unsafe fn waitany(count: c_int, requests: *mut u8, index: *mut c_int, status: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let call = move |to| real::MPI_Waitany(count, requests, index, to);
        let Some(thread) = turn::enter() else { return call(status) };
        if turn::recording() {
            let mut own = Status::new();
            let mut room = Room::uninit();
            let before = Before::new(&mut room, count, requests, core::ptr::dangling_mut::<u8>().wrapping_add(7));
            let to = readable(status, any(), &mut own);
            let result = in_library(|| call(to));
            any_received(thread, Op::MpiWaitAny, &before, *index, to);
            return result;
        }
        let Some(step) = thread.step(Op::MpiWaitAny) else { return call(status) };
        any_done(thread, Op::MpiWaitAny, &step, (count, requests), index, status, || call(status))
    }
}

unsafe fn any_received(thread: &mut Thread, op: Op, before: &Before, index: c_int, status: *mut u8) {
    if index >= 0 {
        let handle = before.handle(index as usize);
        // SAFETY: a status that the library has filled.
        unsafe { received(thread, handle, status) };
    }
    outcome(thread, op, if index >= 0 { i64::from(index) } else { NONE });
}

/// Replay: the request that was done then is waited for now.
unsafe fn any_done(
    thread: &mut Thread,
    op: Op,
    step: &Step,
    (count, requests): (c_int, *mut u8),
    index: *mut c_int,
    status: *mut u8,
    none: impl FnOnce() -> c_int,
) -> c_int {
    let result = if step.result == NONE {
        in_library(none)
    } else {
        let found = fitting(thread, op, step.result, count);
        // SAFETY: the program's variables and arrays.
        unsafe {
            *index = found as c_int;
            in_library(|| wait::request(abi::get().nth(requests, found), status))
        }
    };
    happened(thread, op, step.result);
    result
}

/// The index of a request on the tape, which must be one that there is.
fn fitting(thread: &mut Thread, op: Op, index: i64, count: c_int) -> usize {
    if !(0..i64::from(count)).contains(&index) {
        report::other(thread, op, "a request that was done, behind the last of these");
    }
    index as usize
}

pub unsafe fn test(request: *mut u8, flag: *mut c_int, status: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let Some(thread) = turn::enter() else { return real::MPI_Test(request, flag, status) };
        if turn::recording() {
            let mut own = Status::new();
            let (handle, to) = (abi::get().handle(request), readable(status, any(), &mut own));
            let result = in_library(|| real::MPI_Test(request, flag, to));
            if *flag == 0 {
                not_yet(thread, Op::MpiTest);
            } else {
                received(thread, handle, to);
                happen(thread, Op::MpiTest, 0);
            }
            return result;
        }
        let Some(step) = thread.step(Op::MpiTest) else { return real::MPI_Test(request, flag, status) };
        *flag = c_int::from(step.result != NOT_YET);
        let mut result = 0;
        if *flag != 0 {
            result = in_library(|| wait::request(request, status));
        }
        happened(thread, Op::MpiTest, step.result);
        result
    }
}

pub unsafe fn testall(count: c_int, requests: *mut u8, flag: *mut c_int, statuses: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let call = move |to| real::MPI_Testall(count, requests, flag, to);
        let Some(thread) = turn::enter() else { return call(statuses) };
        if turn::recording() {
            let mut room = Room::uninit();
            let before = Before::new(&mut room, count, requests, statuses);
            let to = before.statuses(statuses);
            let result = in_library(|| call(to));
            if *flag == 0 {
                not_yet(thread, Op::MpiTestAll);
            } else {
                all_received(thread, &before, to);
                happen(thread, Op::MpiTestAll, 0);
            }
            return result;
        }
        let Some(step) = thread.step(Op::MpiTestAll) else { return call(statuses) };
        *flag = c_int::from(step.result != NOT_YET);
        let mut result = 0;
        if *flag != 0 {
            result = each_done(0..count.max(0) as usize, requests, statuses, |index| index);
        }
        happened(thread, Op::MpiTestAll, step.result);
        result
    }
}

pub unsafe fn testany(count: c_int, requests: *mut u8, index: *mut c_int, flag: *mut c_int, status: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let call = move |to| real::MPI_Testany(count, requests, index, flag, to);
        let Some(thread) = turn::enter() else { return call(status) };
        if turn::recording() {
            let mut own = Status::new();
            let mut room = Room::uninit();
            let before = Before::new(&mut room, count, requests, core::ptr::dangling_mut::<u8>().wrapping_add(7));
            let to = readable(status, any(), &mut own);
            let result = in_library(|| call(to));
            if *flag == 0 {
                not_yet(thread, Op::MpiTestAny);
            } else {
                any_received(thread, Op::MpiTestAny, &before, *index, to);
            }
            return result;
        }
        let Some(step) = thread.step(Op::MpiTestAny) else { return call(status) };
        *flag = c_int::from(step.result != NOT_YET);
        if *flag == 0 {
            *index = abi::get().undefined;
            happened(thread, Op::MpiTestAny, step.result);
            return 0;
        }
        any_done(thread, Op::MpiTestAny, &step, (count, requests), index, status, || call(status))
    }
}

/// Recording of `MPI_Waitsome` and `MPI_Testsome`: one request is a number, several are bytes.
unsafe fn some_received(
    thread: &mut Thread,
    op: Op,
    before: &Before,
    done: c_int,
    indices: *const c_int,
    statuses: *mut u8,
) {
    for nth in 0..done.max(0) as usize {
        // SAFETY: that many are filled.
        unsafe {
            let handle = before.handle(*indices.add(nth) as usize);
            received(thread, handle, abi::get().nth_status(statuses, nth));
        }
    }
    match done {
        _ if done < 0 => outcome(thread, op, NONE),
        // SAFETY: one is there.
        1 => outcome(thread, op, i64::from(unsafe { *indices })),
        _ => {
            // SAFETY: that many are filled.
            note_indices(thread, unsafe { core::slice::from_raw_parts(indices, done as usize) });
            happen(thread, op, i64::from(done));
        }
    }
}

/// Several indices, as bytes.
fn note_indices(thread: &mut Thread, indices: &[c_int]) {
    let mut few = [MaybeUninit::<u8>::uninit(); FEW * varint::SLACK];
    let length = indices.len() * varint::SLACK;
    let memory = if length > few.len() { sys::memory(length) } else { few.as_mut_ptr().cast() };
    if memory.is_null() {
        return;
    }
    let mut to = memory;
    for index in indices {
        // SAFETY: there is room for each.
        to = unsafe { varint::put(to, *index as u64) };
    }
    thread.begin();
    // SAFETY: so many were written.
    thread.bytes(unsafe { core::slice::from_raw_parts(memory, to as usize - memory as usize) });
    thread.finish();
    if length > few.len() {
        // SAFETY: memory of ours.
        unsafe { sys::munmap(memory as usize, length) };
    }
}

/// Replay of the same two.
#[inline(never)]
unsafe fn some_done(
    thread: &mut Thread,
    op: Op,
    (count, requests): (c_int, *mut u8),
    (done, indices): (*mut c_int, *mut c_int),
    statuses: *mut u8,
    call: impl FnOnce(*mut u8) -> c_int,
) -> c_int {
    let Some(step) = thread.step(op) else { return call(statuses) };
    let mut result = 0;
    // SAFETY: the program's variables and arrays.
    unsafe {
        match step.result {
            NONE => result = in_library(|| call(statuses)),
            NOT_YET => *done = 0,
            one if step.bytes.is_empty() => {
                *indices = fitting(thread, op, one, count) as c_int;
                *done = 1;
            }
            _ => {
                let (mut rest, mut nth) = (step.bytes, 0);
                while let Some((value, length)) = varint::get(rest) {
                    if nth == count {
                        break;
                    }
                    *indices.add(nth as usize) = fitting(thread, op, value as i64, count) as c_int;
                    rest = &rest[length..];
                    nth += 1;
                }
                *done = nth;
            }
        }
        if step.result != NONE {
            let indices = (0..*done as usize).map(|nth| *indices.add(nth) as usize);
            result = each_done(indices, requests, statuses, |nth| nth);
        }
    }
    happened(thread, op, step.result);
    result
}

pub unsafe fn waitsome(
    count: c_int,
    requests: *mut u8,
    done: *mut c_int,
    indices: *mut c_int,
    statuses: *mut u8,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let call = move |to| real::MPI_Waitsome(count, requests, done, indices, to);
        some(Op::MpiWaitSome, count, requests, done, indices, statuses, call)
    }
}

#[inline(always)]
pub unsafe fn testsome(
    count: c_int,
    requests: *mut u8,
    done: *mut c_int,
    indices: *mut c_int,
    statuses: *mut u8,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let Some(thread) = turn::only_records() else {
            return testsome_fully(count, requests, done, indices, statuses);
        };
        let call = |to| real::MPI_Testsome(count, requests, done, indices, to);
        some_recorded(thread, Op::MpiTestSome, (count, requests), (done, indices), statuses, call)
    }
}

#[inline(never)]
unsafe fn testsome_fully(
    count: c_int,
    requests: *mut u8,
    done: *mut c_int,
    indices: *mut c_int,
    statuses: *mut u8,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let call = move |to| real::MPI_Testsome(count, requests, done, indices, to);
        some(Op::MpiTestSome, count, requests, done, indices, statuses, call)
    }
}

#[inline(always)]
unsafe fn some(
    op: Op,
    count: c_int,
    requests: *mut u8,
    done: *mut c_int,
    indices: *mut c_int,
    statuses: *mut u8,
    call: impl Fn(*mut u8) -> c_int,
) -> c_int {
    let Some(thread) = turn::enter() else { return call(statuses) };
    // SAFETY: as above.
    unsafe {
        match turn::recording() {
            true => some_recorded(thread, op, (count, requests), (done, indices), statuses, call),
            false => some_done(thread, op, (count, requests), (done, indices), statuses, call),
        }
    }
}

#[inline(always)]
unsafe fn some_recorded(
    thread: &mut Thread,
    op: Op,
    (count, requests): (c_int, *mut u8),
    (done, indices): (*mut c_int, *mut c_int),
    statuses: *mut u8,
    call: impl FnOnce(*mut u8) -> c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let mut room = Room::uninit();
        let before = Before::new(&mut room, count, requests, statuses);
        let to = before.statuses(statuses);
        let result = inside_library(thread, || call(to));
        if *done == 0 {
            not_yet(thread, op);
        } else {
            some_received(thread, op, &before, *done, indices, to);
        }
        result
    }
}

/// Looks at a request without freeing it.
pub unsafe fn get_status(request: usize, flag: *mut c_int, status: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let Some(thread) = turn::enter() else { return real::MPI_Request_get_status(request, flag, status) };
        if turn::recording() {
            let mut own = Status::new();
            let to = readable(status, underway::any(), &mut own);
            let result = in_library(|| real::MPI_Request_get_status(request, flag, to));
            if *flag == 0 {
                not_yet(thread, Op::MpiGetStatus)
            } else {
                underway::arrived(thread, abi::get().handle_of(request), to, true);
                happen(thread, Op::MpiGetStatus, 0)
            }
            return result;
        }
        let Some(step) = thread.step(Op::MpiGetStatus) else {
            return real::MPI_Request_get_status(request, flag, status);
        };
        let mut result = 0;
        *flag = c_int::from(step.result != NOT_YET);
        if *flag != 0 {
            let serving = requests::get(abi::get().handle_of(request)).map_or(0, |receive| receive.inner);
            let asked = if serving != 0 { serving } else { request };
            if full::given() {
                underway::bring(thread, abi::get().handle_of(request));
            }
            let mut own = Status::new();
            let kept = underway::any() && full::kept();
            let to = readable(status, kept, &mut own);
            result = in_library(|| {
                wait::until(|| {
                    let result = real::MPI_Request_get_status(asked, flag, to);
                    (result != 0 || *flag != 0).then_some(result)
                })
            });
            if kept {
                underway::arrived(thread, abi::get().handle_of(request), to, true);
            }
            if full::given() {
                underway::found(abi::get().handle_of(request), status, true);
            }
        }
        happened(thread, Op::MpiGetStatus, step.result);
        result
    }
}
