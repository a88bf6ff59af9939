//! What differs between MPI libraries: one row each, chosen when the program first calls one.
//!
//! Handles are words in registers, whatever they are in C. What must be known is how they lie in arrays, where a status
//! has its source and tag, and a handful of constants.

use crate::handle::mpi::find;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};
use libc::{c_char, c_int};

pub struct Abi {
    pub name: &'static str,
    pub any_source: c_int,
    pub undefined: c_int,
    pub thread_multiple: c_int,
    /// Bytes of a handle in an array.
    handle_size: usize,
    pub status_size: usize,
    source_at: usize,
    /// What is given for a status that nobody wants.
    pub ignore: usize,
    pub comm_world: usize,
    pub comm_self: usize,
    pub request_null: usize,
    pub comm_null: usize,
    pub message_null: usize,
    pub proc_null: c_int,
    pub in_place: usize,
    /// The types of bytes, and of what is packed; 0 where they are not known.
    pub byte: usize,
    pub packed: usize,
    pub info_null: usize,
    /// Whether ranks that a job starts get what stands under `env` in an info ([`super::spawn`]).
    pub hands_on: bool,
}

const OPEN_MPI: Abi = Abi {
    name: "Open MPI",
    any_source: -1,
    undefined: -32766,
    thread_multiple: 3,
    handle_size: 8,
    status_size: 24,
    source_at: 0,
    ignore: 0,
    // Variables of the library: see `choose`.
    comm_world: 0,
    comm_self: 0,
    request_null: 0,
    comm_null: 0,
    message_null: 0,
    proc_null: -2,
    in_place: 1,
    byte: 0,
    packed: 0,
    info_null: 0,
    hands_on: true,
};

const MPICH: Abi = Abi {
    name: "MPICH",
    any_source: -2,
    undefined: -32766,
    thread_multiple: 3,
    handle_size: 4,
    status_size: 20,
    source_at: 8,
    ignore: 1,
    comm_world: 0x4400_0000,
    comm_self: 0x4400_0001,
    request_null: 0x2c00_0000,
    comm_null: 0x0400_0000,
    message_null: 0x2c00_0000,
    proc_null: -1,
    in_place: usize::MAX,
    byte: 0x4c00_010d,
    packed: 0x4c00_010f,
    info_null: 0x1c00_0000,
    hands_on: false,
};

const STANDARD: Abi = Abi {
    name: "MPI ABI",
    any_source: -1,
    undefined: -32766,
    thread_multiple: 4096,
    handle_size: 8,
    status_size: 32,
    source_at: 0,
    ignore: 0,
    comm_world: 0x101,
    comm_self: 0x102,
    request_null: 0x180,
    comm_null: 0x100,
    message_null: 0x128,
    proc_null: -3,
    in_place: 1,
    byte: 0x247,
    packed: 0x207,
    info_null: 0x130,
    hands_on: false,
};

/// Room for a status of any library, not touched where it is not used.
pub struct Status(MaybeUninit<[u64; 8]>);

impl Status {
    #[inline(always)]
    pub const fn new() -> Status {
        Status(MaybeUninit::uninit())
    }

    /// An empty one: a call that fails fills none.
    #[inline(always)]
    pub fn empty(&mut self) -> *mut u8 {
        self.0.write([0; 8]).as_mut_ptr().cast()
    }
}

impl Abi {
    /// Who sent the message of this status.
    pub unsafe fn source(&self, status: *const u8) -> c_int {
        // SAFETY: the caller gives a status.
        unsafe { status.add(self.source_at).cast::<c_int>().read() }
    }

    /// Its tag.
    pub unsafe fn tag(&self, status: *const u8) -> c_int {
        // SAFETY: the caller gives a status.
        unsafe { status.add(self.source_at + 4).cast::<c_int>().read() }
    }

    /// Says who sent the message of this status, and its tag.
    pub unsafe fn set_sender(&self, status: *mut u8, source: c_int, tag: c_int) {
        // SAFETY: the caller gives a status.
        unsafe { status.add(self.source_at).cast::<[c_int; 2]>().write_unaligned([source, tag]) };
    }

    /// Puts a handle at `at`.
    pub unsafe fn set_handle(&self, at: *mut u8, handle: usize) {
        // SAFETY: the caller gives a place of a handle.
        unsafe {
            if self.handle_size == 4 { at.cast::<u32>().write(handle as u32) } else { at.cast::<usize>().write(handle) }
        }
    }

    /// The handle at `at`.
    pub unsafe fn handle(&self, at: *const u8) -> usize {
        // SAFETY: the caller gives a place of a handle.
        unsafe { if self.handle_size == 4 { at.cast::<u32>().read() as usize } else { at.cast::<usize>().read() } }
    }

    /// The place of the `index`-th handle of an array.
    pub fn nth(&self, array: *mut u8, index: usize) -> *mut u8 {
        array.wrapping_add(index * self.handle_size)
    }

    /// A handle that came in a register: what lies above it means nothing.
    pub fn handle_of(&self, word: usize) -> usize {
        if self.handle_size == 4 { word as u32 as usize } else { word }
    }

    /// Whether nobody wants this status, or these statuses.
    pub fn is_ignored(&self, status: *const u8) -> bool {
        status as usize == self.ignore
    }

    /// The place of the `index`-th status, or none if they are not wanted.
    pub fn nth_status(&self, array: *mut u8, index: usize) -> *mut u8 {
        if self.is_ignored(array) { array } else { array.wrapping_add(index * self.status_size) }
    }
}

struct Global(UnsafeCell<Abi>);
// SAFETY: written by whoever chooses, before the state says so; two who choose write the same.
unsafe impl Sync for Global {}

static CHOSEN: Global = Global(UnsafeCell::new(OPEN_MPI));
static STATE: AtomicU32 = AtomicU32::new(0);

/// The library's row, if it is chosen.
#[inline(always)]
pub fn known() -> Option<&'static Abi> {
    // SAFETY: see `Global`.
    (STATE.load(Acquire) != 0).then(|| unsafe { &*CHOSEN.0.get() })
}

/// The library's row.
#[inline(always)]
pub fn get() -> &'static Abi {
    if STATE.load(Acquire) == 0 {
        choose();
    }
    // SAFETY: see `Global`.
    unsafe { &*CHOSEN.0.get() }
}

#[cold]
#[inline(never)]
fn choose() {
    let mut row = match (is_standard(), says_open_mpi()) {
        (true, _) => STANDARD,
        (_, true) => OPEN_MPI,
        _ => MPICH,
    };
    if row.name == OPEN_MPI.name {
        row.comm_world = find::variable(c"ompi_mpi_comm_world");
        row.comm_self = find::variable(c"ompi_mpi_comm_self");
        row.request_null = find::variable(c"ompi_request_null");
        row.message_null = find::variable(c"ompi_message_null");
        row.comm_null = find::variable(c"ompi_mpi_comm_null");
        row.byte = find::variable(c"ompi_mpi_byte");
        row.packed = find::variable(c"ompi_mpi_packed");
        row.info_null = find::variable(c"ompi_mpi_info_null");
    }
    // SAFETY: see `Global`.
    unsafe { *CHOSEN.0.get() = row };
    STATE.store(1, Release);
}

/// Whether it has the interface of the MPI-5 standard, and not only a function that denies it.
fn is_standard() -> bool {
    let at = find::look_for("PMPI_Abi_get_version\0");
    let (mut major, mut minor): (c_int, c_int) = (-1, -1);
    if at != 0 {
        // SAFETY: the standard's function.
        unsafe {
            let ask: unsafe extern "C-unwind" fn(*mut c_int, *mut c_int) -> c_int = core::mem::transmute(at);
            ask(&raw mut major, &raw mut minor);
        }
    }
    major >= 1
}

fn says_open_mpi() -> bool {
    let mut text = [0 as c_char; 8192 + 512];
    words(&mut text).starts_with(b"Open MPI")
}

/// What the library says of itself, in `room`.
pub fn words(room: &mut [c_char; 8192 + 512]) -> &[u8] {
    let at = find::look_for("PMPI_Get_library_version\0");
    if at == 0 {
        return b"";
    }
    let mut length: c_int = 0;
    // SAFETY: the standard's function, which may be called at any time; the room is longer than any MPI wants.
    unsafe {
        let ask: unsafe extern "C-unwind" fn(*mut c_char, *mut c_int) -> c_int = core::mem::transmute(at);
        ask(room.as_mut_ptr(), &raw mut length);
        core::slice::from_raw_parts(room.as_ptr().cast(), length.clamp(0, room.len() as c_int) as usize)
    }
}
