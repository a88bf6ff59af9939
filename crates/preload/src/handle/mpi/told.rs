//! What was received, for a person to read: told where everything is told (`retake show`), and nowhere else.

use crate::handle::mpi::SUCCESS;
use crate::handle::mpi::abi::{self, Status};
use crate::handle::mpi::requests::Receive;
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::thread::Thread;
use retake_engine::turn::{self, in_library};
use retake_tape::op::Op;
use retake_tape::rich::{COMM_SELF, COMM_WORLD, Message};

/// What is known of a receive, or a probe, before it is made.
#[derive(Clone, Copy)]
pub struct Asked {
    pub call: u8,
    /// Its number among its thread's receives from anyone, if it is one.
    pub open: Option<u64>,
    pub comm: usize,
    /// The type of its elements; a probe knows none.
    pub kind: Option<usize>,
}

/// Where a status can be read that the program may not want: at `own` if it does not and somebody reads it.
#[inline(always)]
pub fn readable(status: *mut u8, reads: bool, own: &mut Status) -> *mut u8 {
    if reads && abi::get().is_ignored(status) { own.empty() } else { status }
}

/// Tells what `asked` got in that event: the message of `status`.
///
/// # Safety
/// If the thread tells, `status` must be one that the library has filled.
#[inline]
pub unsafe fn got(thread: &mut Thread, op: Op, event: u64, asked: &Asked, status: *mut u8) {
    if turn::tells(thread) {
        // SAFETY: as the caller promises.
        unsafe { tell(thread, op, event, asked, status) };
    }
}

#[cold]
#[inline(never)]
unsafe fn tell(thread: &mut Thread, op: Op, event: u64, asked: &Asked, status: *mut u8) {
    let abi = abi::get();
    let mut count: c_int = -1;
    // SAFETY: as the caller promises; a variable of ours.
    let (source, tag) = unsafe {
        if let Some(kind) = asked.kind
            && in_library(|| real::MPI_Get_count(status, kind, &raw mut count)) != SUCCESS
        {
            count = -1;
        }
        (abi.source(status), abi.tag(status))
    };
    let comm = match abi.handle_of(asked.comm) {
        comm if comm == abi.comm_world => COMM_WORLD,
        comm if comm == abi.comm_self => COMM_SELF,
        comm => comm as u64,
    };
    let message = Message { call: asked.call, open: asked.open, source, tag, count: u64::try_from(count).ok() };
    turn::tell_message(thread, op, event, comm as usize, message);
}

/// Tells what a receive with a request got, in the event that is under way.
///
/// # Safety
/// As for [`got`].
#[inline]
pub unsafe fn got_by_request(thread: &mut Thread, receive: &Receive, status: *mut u8) {
    let asked = Asked {
        call: receive.call,
        open: receive.open.then_some(receive.number),
        comm: receive.asked_comm,
        kind: Some(receive.wanted.kind),
    };
    let event = thread.count() + 1;
    // SAFETY: as the caller promises.
    unsafe { got(thread, Op::MpiGot, event, &asked, status) };
}
