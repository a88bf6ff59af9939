//! Receives that are asked for once and started again and again, and what else is done to requests.
//!
//! In a replay a persistent receive from anyone cannot be started as it is: each start is served by a request of its
//! own, for one sender, that stands behind the program's.

use crate::handle::input::note_unsupported;
use crate::handle::mpi::full::underway::{self, Brings};
use crate::handle::mpi::receive::{self, number};
use crate::handle::mpi::requests::{self, Receive, Wanted};
use crate::handle::mpi::{SUCCESS, abi, aside, full};
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, in_library};
use retake_tape::matches::calls;

unsafe fn init(wanted: Wanted, request: *mut u8, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = turn::enter() else { return call() };
    let result = in_library(call);
    if result == SUCCESS {
        // SAFETY: the library has written the request.
        let handle = unsafe { abi::get().handle(request) };
        let open = wanted.source == abi::get().any_source;
        requests::put(Receive {
            handle,
            number: 0,
            thread: thread.number,
            call: calls::START,
            open,
            active: false,
            persistent: true,
            cancelled: false,
            withdrawn: false,
            inner: 0,
            wanted,
            asked_comm: wanted.comm,
        });
        if (full::kept() || full::given()) && wanted.source != abi::get().proc_null {
            // SAFETY: as above.
            unsafe { underway::make(calls::word(calls::START), Brings::Message(wanted.region()), request) };
        }
    }
    result
}

/// Whom a persistent receive is made for: alone nobody, since each start is served by a request of its own.
fn source_now(source: c_int) -> c_int {
    if full::given() { abi::get().proc_null } else { source }
}

pub unsafe fn recv_init(b: usize, n: c_int, k: usize, source: c_int, tag: c_int, comm: usize, to: *mut u8) -> c_int {
    let wanted = Wanted { buffer: b, count: n as u32 as usize, kind: k, source, tag, comm, large: false };
    // SAFETY: the program's arguments; so for the others.
    unsafe { init(wanted, to, || real::MPI_Recv_init(b, n, k, source_now(source), tag, comm, to)) }
}

pub unsafe fn recv_init_c(b: usize, n: usize, k: usize, source: c_int, tag: c_int, comm: usize, to: *mut u8) -> c_int {
    let wanted = Wanted { buffer: b, count: n, kind: k, source, tag, comm, large: true };
    // SAFETY: as above.
    unsafe { init(wanted, to, || real::MPI_Recv_init_c(b, n, k, source_now(source), tag, comm, to)) }
}

/// Starts one request.
unsafe fn start_one(thread: &mut Thread, request: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let handle = abi::get().handle(request);
        full::send::started(thread, handle);
        let known = requests::get(handle).filter(|receive| receive.persistent);
        let Some(receive) = known else { return in_library(|| real::MPI_Start(request)) };
        let mut started = number(thread, calls::START, &receive.wanted);
        let posted = started.wanted;
        // What was asked for stays as the program asked for it.
        (started.handle, started.persistent, started.wanted) = (handle, true, receive.wanted);
        let mut result = SUCCESS;
        let fed = receive::is_fed(&started, &receive.wanted);
        if fed {
            underway::start(handle, posted.tag);
        }
        if !turn::recording() && (receive.open || started.withdrawn || fed && full::given()) {
            let mut inner = 0usize;
            let at = (&raw mut inner).cast::<u8>();
            result = in_library(|| {
                let w = &posted;
                if w.large {
                    real::MPI_Irecv_c(w.buffer, w.count, w.kind, w.source, w.tag, w.comm, at)
                } else {
                    real::MPI_Irecv(w.buffer, w.count as c_int, w.kind, w.source, w.tag, w.comm, at)
                }
            });
            started.inner = abi::get().handle(at);
        } else {
            result = in_library(|| real::MPI_Start(request)).max(result);
        }
        requests::put(started);
        result
    }
}

pub unsafe fn start(request: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        match turn::enter() {
            Some(thread) => start_one(thread, request),
            None => real::MPI_Start(request),
        }
    }
}

pub unsafe fn startall(count: c_int, requests: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let Some(thread) = turn::enter() else { return real::MPI_Startall(count, requests) };
        if !requests::any() && !underway::any() {
            return in_library(|| real::MPI_Startall(count, requests));
        }
        let mut result = SUCCESS;
        for index in 0..count.max(0) as usize {
            let one = start_one(thread, abi::get().nth(requests, index));
            result = if result == SUCCESS { one } else { result };
        }
        result
    }
}

/// Nobody will learn what a receive got whose request is given up while it is under way.
pub unsafe fn free(request: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let handle = abi::get().handle(request);
        underway::forget(handle);
        if let Some(receive) = requests::get(handle) {
            if receive.open && receive.active && turn::enter().is_some() {
                note_unsupported(b"MPI_Request_free for a receive from anyone that was under way");
            }
            requests::forget(handle);
            if receive.inner != 0 {
                let mut inner = receive.inner;
                aside(|| real::MPI_Request_free((&raw mut inner).cast()));
            }
        }
        aside(|| real::MPI_Request_free(request))
    }
}

/// In a replay only what was never served is cancelled; anything else came in time then, and comes in time now.
pub unsafe fn cancel(request: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        if turn::enter().is_none() {
            return real::MPI_Cancel(request);
        }
        let Some(mut receive) = requests::get(abi::get().handle(request)) else {
            note_unsupported(b"MPI_Cancel for something that is not a receive");
            full::refuse("MPI_Cancel for something that is not a receive");
            return in_library(|| real::MPI_Cancel(request));
        };
        receive.cancelled = true;
        requests::put(receive);
        if turn::recording() {
            return in_library(|| real::MPI_Cancel(request));
        }
        let mut inner = receive.inner;
        let at = if inner != 0 { (&raw mut inner).cast() } else { request };
        if receive.withdrawn { in_library(|| real::MPI_Cancel(at)) } else { SUCCESS }
    }
}
