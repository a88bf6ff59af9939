//! Questions about communicators and groups, and the making of them: answered from the tape, since alone there is one rank.
//!
//! What is made alone stands for what was made: it is a communicator, or a group, of one rank.

use crate::handle::mpi::full::{given, kept};
use crate::handle::mpi::{SUCCESS, abi, wait};
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::turn::{self, in_library};

/// So many bytes at a place of the program's.
pub type Place = (usize, usize);

/// So many numbers.
pub fn ints(at: usize, count: usize) -> Place {
    (at, (count as u32 as c_int).max(0) as usize * size_of::<c_int>())
}

/// A call that answers at `places`.
pub fn asked<const N: usize>(name: &'static str, places: [Place; N], real: impl FnOnce() -> usize) -> usize {
    let Some(thread) = turn::enter() else { return real() };
    if given() {
        let mut rest = thread.given(name);
        for (at, length) in places {
            let (bytes, behind) = rest.split_at(length.min(rest.len()));
            // SAFETY: the program's variables.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
            rest = behind;
        }
        return SUCCESS as usize;
    }
    let result = in_library(|| wait::held(real));
    if kept() {
        let mut room = [0u8; 512];
        let mut length = 0;
        for (at, size) in places {
            let to = room.get_mut(length..length + size);
            let Some(to) = to else {
                super::refuse(name);
                break;
            };
            // SAFETY: the program's variables, which the library has filled.
            to.copy_from_slice(unsafe { core::slice::from_raw_parts(at as *const u8, size) });
            length += size;
        }
        thread.keep(name, [&room[..length], &[]]);
    }
    result
}

/// A call that makes a communicator at `at`, or none.
pub fn made_comm(name: &'static str, at: usize, real: impl FnOnce() -> usize) -> usize {
    let Some(thread) = turn::enter() else { return real() };
    let (to, abi) = (at as *mut u8, abi::get());
    if given() {
        let is_one = thread.given(name) == [1];
        // SAFETY: the program's place for a handle.
        return in_library(|| unsafe {
            if is_one {
                return real::MPI_Comm_dup(abi.comm_self, to);
            }
            abi.set_handle(to, abi.comm_null);
            SUCCESS
        }) as usize;
    }
    let result = in_library(|| wait::held(real));
    if kept() {
        // SAFETY: the library has written the handle.
        let is_one = unsafe { abi.handle(to) } != abi.comm_null;
        thread.keep(name, [&[u8::from(is_one)], &[]]);
    }
    result
}

/// A call that makes a group at `at`.
pub fn made_group(at: usize, real: impl FnOnce() -> usize) -> usize {
    if turn::enter().is_some() && given() {
        // SAFETY: the program's place for a handle.
        return in_library(|| unsafe { real::MPI_Comm_group(abi::get().comm_self, at as *mut u8) }) as usize;
    }
    crate::handle::mpi::aside(real)
}
