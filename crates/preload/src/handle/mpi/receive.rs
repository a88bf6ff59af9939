//! Receives. One that blocks is an event; one with a request is known by its number until its request is done.

use crate::handle::input::note_unsupported;
use crate::handle::mpi::abi::{self, Abi, Status};
use crate::handle::mpi::full::underway::{self, Brings};
use crate::handle::mpi::requests::{self, Receive, Wanted};
use crate::handle::mpi::told::{self, Asked};
use crate::handle::mpi::{SUCCESS, aside, commit, commit_match, full, only_receives, recorded_match, wait, world};
use crate::table::mpi::real;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Release};
use libc::c_int;
use retake_engine::ranks;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, in_library, inside_library};
use retake_tape::matches::{WITHDRAWN, calls};
use retake_tape::op::Op;

/// A blocking receive as the program wants it: `real` makes it, `again` makes it in a replay, for one sender.
unsafe fn blocking(
    call: u8,
    wanted: Wanted,
    sent: Option<Sent>,
    status: *mut u8,
    real: impl FnOnce(&Wanted, *mut u8) -> c_int,
    again: impl FnOnce(&Wanted, *mut u8) -> c_int,
) -> c_int {
    let Some(thread) = turn::enter() else { return real(&wanted, status) };
    let abi = abi::get();
    let open = wanted.source == abi.any_source;
    world::used_by(thread.number);
    let tells = turn::tells(thread);
    let asked = Asked { call, open: open.then_some(thread.messages.open), comm: wanted.comm, kind: Some(wanted.kind) };
    let mut own = Status::new();
    if let Some(sent) = &sent {
        full::send::pass(thread, calls::word(call), sent);
    }
    let is_exchange = wanted.source != abi.proc_null;
    let kept = is_exchange && full::kept();
    if turn::recording() {
        let to = told::readable(status, open || tells || kept, &mut own);
        let result = in_library(|| real(&wanted, to));
        if kept && result == SUCCESS {
            // SAFETY: the library has filled the status.
            unsafe { full::feed::keep(thread, calls::word(call), wanted.region(), to) };
        }
        match open {
            // SAFETY: the library has filled the status.
            true => unsafe { commit_match(thread, abi, call, to) },
            false => commit(thread),
        }
        // SAFETY: as above.
        unsafe { told::got(thread, Op::MpiRecv, thread.count(), &asked, to) };
        return result;
    }
    if thread.step(Op::MpiRecv).is_none() {
        return real(&wanted, status);
    }
    let to = told::readable(status, tells || kept, &mut own);
    let mut wanted = wanted;
    if open {
        let found = recorded_match(thread, Op::MpiRecv, call, false);
        (wanted.source, wanted.tag) = (found.source, found.tag);
    }
    let result = match (full::given(), is_exchange) {
        // SAFETY: the program's arguments.
        (true, true) => unsafe { full::feed::receive(thread, calls::word(call), &wanted, to) },
        // SAFETY: as above.
        (true, false) => in_library(|| unsafe { receive_now(&wanted, to) }),
        _ => in_library(|| again(&wanted, to)),
    };
    if kept && result == SUCCESS {
        // SAFETY: the library has filled the status.
        unsafe { full::feed::keep(thread, calls::word(call), wanted.region(), to) };
    }
    thread.happened();
    // SAFETY: the library has filled the status.
    unsafe { told::got(thread, Op::MpiRecv, thread.count(), &asked, to) };
    result
}

/// A blocking receive where nothing is wanted but to record from whom it came, if it could have come from another.
#[inline(always)]
unsafe fn plainly(
    (thread, abi): (&mut Thread, &Abi),
    call: u8,
    source: c_int,
    status: *mut u8,
    real: impl FnOnce(*mut u8) -> c_int,
) -> c_int {
    let open = source == abi.any_source;
    let mut own = Status::new();
    let to = if open && abi.is_ignored(status) { own.empty() } else { status };
    let result = inside_library(thread, || real(to));
    match open {
        // SAFETY: the library has filled the status.
        true => unsafe { commit_match(thread, abi, call, to) },
        false => commit(thread),
    }
    result
}

/// Asks for a message: the request goes to `to`.
pub unsafe fn post(w: &Wanted, to: *mut u8) -> c_int {
    // SAFETY: the program's arguments, and a place for a request.
    unsafe {
        if w.large {
            real::MPI_Irecv_c(w.buffer, w.count, w.kind, w.source, w.tag, w.comm, to)
        } else {
            real::MPI_Irecv(w.buffer, w.count as c_int, w.kind, w.source, w.tag, w.comm, to)
        }
    }
}

/// Replay: receives what `w` says and nothing else. The thread is apart.
pub unsafe fn receive_now(w: &Wanted, status: *mut u8) -> c_int {
    let mut request = 0usize;
    let at = (&raw mut request).cast::<u8>();
    // SAFETY: the program's arguments and a place for a request.
    unsafe {
        match post(w, at) {
            SUCCESS => {
                ranks::waits_for(w.source, w.tag);
                wait::request(at, status)
            }
            error => error,
        }
    }
}

#[inline(always)]
pub unsafe fn recv(b: usize, n: c_int, k: usize, source: c_int, tag: c_int, comm: usize, status: *mut u8) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe {
        match only_receives() {
            Some(here) => {
                plainly(here, calls::RECV, source, status, |to| real::MPI_Recv(b, n, k, source, tag, comm, to))
            }
            None => recv_fully(b, n, k, source, tag, comm, status),
        }
    }
}

#[inline(never)]
unsafe fn recv_fully(b: usize, n: c_int, k: usize, source: c_int, tag: c_int, comm: usize, status: *mut u8) -> c_int {
    let wanted = Wanted { buffer: b, count: n as u32 as usize, kind: k, source, tag, comm, large: false };
    // SAFETY: as above.
    unsafe {
        let real = |w: &Wanted, to| real::MPI_Recv(b, n, k, w.source, w.tag, comm, to);
        blocking(calls::RECV, wanted, None, status, real, |w, to| receive_now(w, to))
    }
}

pub unsafe fn recv_c(b: usize, n: usize, k: usize, source: c_int, tag: c_int, comm: usize, status: *mut u8) -> c_int {
    let wanted = Wanted { buffer: b, count: n, kind: k, source, tag, comm, large: true };
    // SAFETY: as above.
    unsafe {
        let real = |w: &Wanted, to| real::MPI_Recv_c(b, n, k, w.source, w.tag, comm, to);
        blocking(calls::RECV, wanted, None, status, real, |w, to| receive_now(w, to))
    }
}

/// What is sent along with a receive.
#[derive(Clone, Copy)]
pub struct Sent {
    pub buffer: usize,
    pub count: usize,
    pub kind: usize,
    pub to: c_int,
    pub tag: c_int,
}

/// Replay: sends and receives at the same time.
unsafe fn exchange_now(s: &Sent, w: &Wanted, status: *mut u8) -> c_int {
    let (mut sent, mut received) = (0usize, 0usize);
    let (sent, received) = ((&raw mut sent).cast::<u8>(), (&raw mut received).cast::<u8>());
    let nobody = abi::get().ignore as *mut u8;
    // SAFETY: as above.
    unsafe {
        let mut result = post(w, received);
        if result == SUCCESS {
            result = if w.large {
                real::MPI_Isend_c(s.buffer, s.count, s.kind, s.to, s.tag, w.comm, sent)
            } else {
                real::MPI_Isend(s.buffer, s.count, s.kind, s.to, s.tag, w.comm, sent)
            };
        }
        if result == SUCCESS {
            result = wait::request(received, status);
        }
        if result == SUCCESS {
            result = wait::request(sent, nobody);
        }
        result
    }
}

#[allow(clippy::too_many_arguments)] // MPI's own
pub unsafe fn sendrecv(
    b: usize,
    n: c_int,
    k: usize,
    to: c_int,
    sent_tag: c_int,
    rb: usize,
    rn: c_int,
    rk: usize,
    source: c_int,
    tag: c_int,
    comm: usize,
    status: *mut u8,
) -> c_int {
    let sent = Sent { buffer: b, count: n as u32 as usize, kind: k, to, tag: sent_tag };
    let wanted = Wanted { buffer: rb, count: rn as u32 as usize, kind: rk, source, tag, comm, large: false };
    // SAFETY: as above.
    unsafe {
        let real =
            |w: &Wanted, status| real::MPI_Sendrecv(b, n, k, to, sent_tag, rb, rn, rk, w.source, w.tag, comm, status);
        blocking(calls::SENDRECV, wanted, Some(sent), status, real, |w, to| exchange_now(&sent, w, to))
    }
}

#[allow(clippy::too_many_arguments)] // MPI's own
pub unsafe fn sendrecv_c(
    b: usize,
    n: usize,
    k: usize,
    to: c_int,
    sent_tag: c_int,
    rb: usize,
    rn: usize,
    rk: usize,
    source: c_int,
    tag: c_int,
    comm: usize,
    status: *mut u8,
) -> c_int {
    let sent = Sent { buffer: b, count: n, kind: k, to, tag: sent_tag };
    let wanted = Wanted { buffer: rb, count: rn, kind: rk, source, tag, comm, large: true };
    // SAFETY: as above.
    unsafe {
        let real =
            |w: &Wanted, status| real::MPI_Sendrecv_c(b, n, k, to, sent_tag, rb, rn, rk, w.source, w.tag, comm, status);
        blocking(calls::SENDRECV, wanted, Some(sent), status, real, |w, to| exchange_now(&sent, w, to))
    }
}

#[allow(clippy::too_many_arguments)] // MPI's own
pub unsafe fn sendrecv_replace(
    b: usize,
    n: c_int,
    k: usize,
    to: c_int,
    sent_tag: c_int,
    source: c_int,
    tag: c_int,
    comm: usize,
    status: *mut u8,
) -> c_int {
    let sent = Sent { buffer: b, count: n as u32 as usize, kind: k, to, tag: sent_tag };
    let wanted = Wanted { buffer: b, count: n as u32 as usize, kind: k, source, tag, comm, large: false };
    // SAFETY: as above.
    unsafe {
        let real =
            |w: &Wanted, status| real::MPI_Sendrecv_replace(b, n, k, to, sent_tag, w.source, w.tag, comm, status);
        blocking(calls::SENDRECV_REPLACE, wanted, Some(sent), status, real, |w, to| wait::held(|| real(w, to)))
    }
}

#[allow(clippy::too_many_arguments)] // MPI's own
pub unsafe fn sendrecv_replace_c(
    b: usize,
    n: usize,
    k: usize,
    to: c_int,
    sent_tag: c_int,
    source: c_int,
    tag: c_int,
    comm: usize,
    status: *mut u8,
) -> c_int {
    let sent = Sent { buffer: b, count: n, kind: k, to, tag: sent_tag };
    let wanted = Wanted { buffer: b, count: n, kind: k, source, tag, comm, large: true };
    // SAFETY: as above.
    unsafe {
        let real =
            |w: &Wanted, status| real::MPI_Sendrecv_replace_c(b, n, k, to, sent_tag, w.source, w.tag, comm, status);
        blocking(calls::SENDRECV_REPLACE, wanted, Some(sent), status, real, |w, to| wait::held(|| real(w, to)))
    }
}

/// The receive that `call` asks for, with the next number of its thread.
#[inline(always)]
fn next(thread: &mut Thread, abi: &Abi, call: u8, wanted: &Wanted) -> Receive {
    let open = wanted.source == abi.any_source;
    let messages = &mut thread.messages;
    let asked = if open { &mut messages.open } else { &mut messages.given };
    let number = *asked;
    if turn::recording() {
        *asked += 1;
    }
    Receive {
        handle: 0,
        number,
        thread: thread.number,
        call,
        open,
        active: true,
        persistent: false,
        cancelled: false,
        withdrawn: false,
        inner: 0,
        wanted: *wanted,
        asked_comm: wanted.comm,
    }
}

/// Gives a receive its number, or what it got then. In a replay it is asked for as the tape says: from one sender, or, if
/// it was never served, from nobody.
pub fn number(thread: &mut Thread, call: u8, wanted: &Wanted) -> Receive {
    world::used_by(thread.number);
    let mut receive = next(thread, abi::get(), call, wanted);
    if !turn::recording() {
        as_recorded(thread, call, wanted, &mut receive);
    }
    receive
}

/// Replay: asks for it as the tape says.
fn as_recorded(thread: &mut Thread, call: u8, wanted: &Wanted, receive: &mut Receive) {
    if receive.open {
        let found = recorded_match(thread, Op::MpiPost, call, true);
        receive.withdrawn = found.source == WITHDRAWN;
        (receive.wanted.source, receive.wanted.tag) = (found.source, found.tag);
    } else {
        receive.withdrawn = thread.next_is_withdrawn();
    }
    if receive.withdrawn {
        receive.wanted.source = 0;
        receive.wanted.tag = 0;
        receive.wanted.comm = own_comm(&NOWHERE);
    } else if full::given() && wanted.source != abi::get().proc_null {
        // What came then is sent there by ourselves, when it is time.
        let wanted = &mut receive.wanted;
        (wanted.source, wanted.tag, wanted.comm) = (0, full::feed::tag(), full::feed::comm());
    }
}

/// Whether what it gets is kept, or given.
pub fn is_fed(receive: &Receive, wanted: &Wanted) -> bool {
    (full::kept() || full::given()) && !receive.withdrawn && wanted.source != abi::get().proc_null
}

/// Asks for a message by `call`; the request goes to `request`.
unsafe fn ask(call: u8, wanted: Wanted, request: *mut u8, real: impl FnOnce(&Wanted) -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return real(&wanted) };
    let receive = number(thread, call, &wanted);
    let result = inside_library(thread, || real(&receive.wanted));
    if result == SUCCESS {
        // SAFETY: the library has written the request.
        unsafe { begun(abi::get(), receive, request) };
        if is_fed(&receive, &wanted) {
            // SAFETY: as above.
            unsafe {
                underway::begin(calls::word(call), Brings::Message(wanted.region()), receive.wanted.tag, request)
            };
        }
    }
    result
}

#[inline(always)]
pub unsafe fn irecv(b: usize, n: c_int, k: usize, source: c_int, tag: c_int, comm: usize, request: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let Some((thread, abi)) = only_receives() else { return irecv_fully(b, n, k, source, tag, comm, request) };
        let wanted = Wanted { buffer: b, count: n as u32 as usize, kind: k, source, tag, comm, large: false };
        let receive = next(thread, abi, calls::IRECV, &wanted);
        let result = inside_library(thread, || real::MPI_Irecv(b, n, k, source, tag, comm, request));
        if result == SUCCESS {
            begun(abi, receive, request);
        }
        result
    }
}

/// The library has written the request of `receive`.
#[inline(always)]
unsafe fn begun(abi: &Abi, receive: Receive, request: *const u8) {
    // SAFETY: as the caller says.
    let handle = unsafe { abi.handle(request) };
    if handle != abi.request_null {
        requests::put(Receive { handle, ..receive });
    }
}

#[inline(never)]
unsafe fn irecv_fully(b: usize, n: c_int, k: usize, source: c_int, tag: c_int, comm: usize, request: *mut u8) -> c_int {
    let wanted = Wanted { buffer: b, count: n as u32 as usize, kind: k, source, tag, comm, large: false };
    // SAFETY: as above.
    unsafe { ask(calls::IRECV, wanted, request, |w| post(w, request)) }
}

pub unsafe fn irecv_c(b: usize, n: usize, k: usize, source: c_int, tag: c_int, comm: usize, request: *mut u8) -> c_int {
    let wanted = Wanted { buffer: b, count: n, kind: k, source, tag, comm, large: true };
    // SAFETY: as above.
    unsafe { ask(calls::IRECV, wanted, request, |w| post(w, request)) }
}

/// An exchange with a request. MPICH does not tell whom it received from, so that one from anyone cannot be replayed.
fn exchange(source: c_int, call: impl FnOnce() -> c_int) -> c_int {
    if source == abi::get().any_source && turn::enter().is_some() {
        note_unsupported(b"MPI_Isendrecv from anyone");
    }
    full::refuse("MPI_Isendrecv");
    aside(call)
}

/// Functions of which only the source is looked at; the rest is as in the table.
macro_rules! exchanges {
    ($( $name:ident $real:ident ( $($before:ident: $type:ty),* ) $source:ident; )*) => { $(
        #[allow(clippy::too_many_arguments)] // MPI's own
        pub unsafe fn $name($($before: $type,)* $source: c_int, tag: c_int, comm: usize, request: *mut u8) -> c_int {
            // SAFETY: as above.
            exchange($source, || unsafe { real::$real($($before,)* $source, tag, comm, request) })
        }
    )* };
}

exchanges! {
    isendrecv           MPI_Isendrecv           (b: usize, n: usize, k: usize, to: c_int, t: c_int, rb: usize, rn: usize, rk: usize) source;
    isendrecv_c         MPI_Isendrecv_c         (b: usize, n: usize, k: usize, to: c_int, t: c_int, rb: usize, rn: usize, rk: usize) source;
    isendrecv_replace   MPI_Isendrecv_replace   (b: usize, n: usize, k: usize, to: c_int, t: c_int) source;
    isendrecv_replace_c MPI_Isendrecv_replace_c (b: usize, n: usize, k: usize, to: c_int, t: c_int) source;
}

static NOWHERE: AtomicUsize = AtomicUsize::new(0);

/// A communicator of this rank alone, on which nobody sends but we: what is asked for there does not come by itself.
pub fn own_comm(place: &AtomicUsize) -> usize {
    let made = place.load(Acquire);
    if made != 0 {
        return made;
    }
    let abi = abi::get();
    let mut comm = 0usize;
    let at = (&raw mut comm).cast::<u8>();
    // SAFETY: a communicator of one rank; whoever is too late leaves one unused.
    let handle = unsafe {
        aside(|| real::MPI_Comm_dup(abi.comm_self, at));
        abi.handle(at)
    };
    place.store(handle, Release);
    handle
}
