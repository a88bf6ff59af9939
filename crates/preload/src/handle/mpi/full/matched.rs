//! Receives of messages that a probe has matched. Alone, what the probe gave means nothing, and the receive is fed.

use crate::handle::mpi::abi::Status;
use crate::handle::mpi::full::feed;
use crate::handle::mpi::full::pack::Region;
use crate::handle::mpi::full::underway::{self, Brings};
use crate::handle::mpi::full::{given, kept};
use crate::handle::mpi::requests::Wanted;
use crate::handle::mpi::{SUCCESS, receive, told, wait};
use libc::c_int;
use retake_engine::turn::{self, in_library};

fn wanted(region: Region, tag: c_int) -> Wanted {
    let Region { buffer, count, kind } = region;
    Wanted { buffer, count, kind, source: 0, tag, comm: feed::comm(), large: false }
}

/// A receive that blocks; `real` makes it, with a status.
///
/// # Safety
/// The program's arguments.
pub unsafe fn blocking(
    name: &'static str,
    region: Region,
    message: usize,
    status: usize,
    real: impl FnOnce(usize) -> usize,
) -> usize {
    let Some(thread) = turn::enter() else { return real(status) };
    // SAFETY: as the caller promises.
    unsafe {
        if given() {
            feed::taken(message as *mut u8);
            return feed::receive(thread, name, &wanted(region, 0), status as *mut u8) as usize;
        }
        let mut own = Status::new();
        let to = told::readable(status as *mut u8, kept(), &mut own);
        let result = in_library(|| wait::held(|| real(to as usize)));
        if kept() && result as c_int == SUCCESS {
            feed::keep(thread, name, region, to);
        }
        result
    }
}

/// A receive with a request.
///
/// # Safety
/// The program's arguments.
pub unsafe fn begun(
    name: &'static str,
    region: Region,
    message: usize,
    request: usize,
    real: impl FnOnce() -> usize,
) -> usize {
    if turn::enter().is_none() {
        return real();
    }
    let (at, tag) = (request as *mut u8, feed::tag());
    // SAFETY: as the caller promises.
    unsafe {
        let result = if given() {
            feed::taken(message as *mut u8);
            in_library(|| receive::post(&wanted(region, tag), at)) as usize
        } else {
            in_library(|| wait::held(real))
        };
        if result as c_int == SUCCESS && (kept() || given()) {
            underway::begin(name, Brings::Message(region), tag, at);
        }
        result
    }
}
