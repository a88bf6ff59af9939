//! Elements in the program's memory, as bytes: packed and unpacked by the library, which knows their types.

use crate::handle::input::note_not_alone;
use crate::handle::mpi::{SUCCESS, abi};
use crate::table::mpi::real;
use libc::c_int;
use retake_engine::sys;
use retake_engine::turn::in_library;

/// So many elements of a type.
#[derive(Clone, Copy)]
pub struct Region {
    pub buffer: usize,
    pub count: usize,
    pub kind: usize,
}

/// So many bytes fit the stack.
const FEW: usize = 2048;

fn size_of_all(regions: impl Iterator<Item = Region>) -> usize {
    let mut total = 0usize;
    for region in regions {
        let mut size: c_int = 0;
        let Ok(count) = c_int::try_from(region.count) else {
            note_not_alone(b"MPI with more than 2147483647 elements at once");
            return 0;
        };
        // SAFETY: a type of the program's, and a variable of ours.
        in_library(|| unsafe { real::MPI_Pack_size(count, region.kind, abi::get().comm_self, &raw mut size) });
        total += size.max(0) as usize;
    }
    total
}

/// Gives `body` the bytes of all `regions`, one behind the other.
pub fn packed<R>(regions: impl Iterator<Item = Region> + Clone, body: impl FnOnce(&[u8]) -> R) -> R {
    let most = size_of_all(regions.clone());
    let mut few = [0u8; FEW];
    let memory = if most > FEW { sys::memory(most) } else { few.as_mut_ptr() };
    if most == 0 || most > c_int::MAX as usize || memory.is_null() {
        if most > 0 {
            note_not_alone(b"MPI with more than 2147483647 bytes at once");
        }
        return body(&[]);
    }
    let mut position: c_int = 0;
    for region in regions {
        let (buffer, count, to) = (region.buffer, region.count as c_int, memory as usize);
        // SAFETY: the program's elements, and room for as many bytes as the library asked for.
        in_library(|| unsafe {
            real::MPI_Pack(buffer, count, region.kind, to, most as c_int, &raw mut position, abi::get().comm_self)
        });
    }
    // SAFETY: so many bytes were written.
    let result = body(unsafe { core::slice::from_raw_parts(memory, (position.max(0) as usize).min(most)) });
    if most > FEW {
        // SAFETY: memory of ours that nobody uses any more.
        unsafe { sys::munmap(memory as usize, most) };
    }
    result
}

/// Puts bytes back where they were packed from.
pub fn unpack(bytes: &[u8], regions: impl Iterator<Item = Region>) {
    let mut position: c_int = 0;
    for region in regions {
        let (from, length) = (bytes.as_ptr() as usize, bytes.len() as c_int);
        // SAFETY: the program's memory for these elements; the library looks at the length.
        in_library(|| unsafe {
            let at = &raw mut position;
            real::MPI_Unpack(from, length, at, region.buffer, region.count as c_int, region.kind, abi::get().comm_self)
        });
    }
}

/// Bytes of one element, without gaps.
pub fn size(kind: usize) -> usize {
    let mut size: c_int = 0;
    // SAFETY: a type of the program's, and a variable of ours.
    let result = in_library(|| unsafe { real::MPI_Type_size(kind, &raw mut size) });
    if result == SUCCESS { size.max(0) as usize } else { 0 }
}

/// Bytes from one element to the next.
pub fn extent(kind: usize) -> usize {
    let (mut lower, mut extent) = (0isize, 0isize);
    // SAFETY: a type of the program's, and variables of ours.
    in_library(|| unsafe { real::MPI_Type_get_extent(kind, &raw mut lower, &raw mut extent) });
    extent as usize
}

/// Bytes of the message of this status.
///
/// # Safety
/// The library has filled the status.
pub unsafe fn length(status: *mut u8) -> usize {
    let mut count: c_int = 0;
    // SAFETY: as the caller promises.
    in_library(|| unsafe { real::MPI_Get_count(status, abi::get().byte, &raw mut count) });
    count.max(0) as usize
}
