//! What is in memory where: noted at the start, so that addresses can be told as source lines afterwards.

use core::ffi::CStr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{PT_LOAD, PT_NOTE, c_int, c_void, dl_phdr_info, size_t};
use retake_engine::process::{self, mode};
use retake_engine::store::Path;
use retake_engine::turn;
use retake_tape::entry::note;

static NOTED: AtomicUsize = AtomicUsize::new(0);
static SHIM_START: AtomicUsize = AtomicUsize::new(0);
static SHIM_END: AtomicUsize = AtomicUsize::new(0);

/// Whether the address lies in the shim.
pub fn is_shim(pc: usize) -> bool {
    (SHIM_START.load(Relaxed)..SHIM_END.load(Relaxed)).contains(&pc)
}

/// A library of MPI is loaded.
static MPI: AtomicUsize = AtomicUsize::new(0);

/// Whether the process has MPI loaded.
pub fn has_mpi() -> bool {
    MPI.load(Relaxed) != 0
}

static UNWINDER_START: AtomicUsize = AtomicUsize::new(0);
static UNWINDER_END: AtomicUsize = AtomicUsize::new(0);

/// Whether the object belongs to the unwinder. How often that is called depends on the depth of the stack, which is
/// another in a replay where a thread is cancelled in a wait of Retake's own.
pub fn is_unwinders(address: usize) -> bool {
    (UNWINDER_START.load(Relaxed)..UNWINDER_END.load(Relaxed)).contains(&address)
}

/// Finds the shim's own place, and notes all modules while recording.
pub fn note_all() {
    NOTED.store(0, Relaxed);
    note_new();
}

/// Notes the modules that have come since.
pub fn note_new() {
    let mut index = 0usize;
    // SAFETY: the callback gets what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut index).cast()) };
    NOTED.store(index.max(NOTED.load(Relaxed)), Relaxed);
}

unsafe extern "C" fn each(info: *mut dl_phdr_info, _: size_t, index: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker's structures.
    unsafe {
        let index = &mut *index.cast::<usize>();
        *index += 1;
        if *index <= NOTED.load(Relaxed) {
            return 0;
        }
        let base = (*info).dlpi_addr as usize;
        let headers = core::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
        let loaded = headers.iter().filter(|header| header.p_type == PT_LOAD);
        let size = loaded.map(|header| (header.p_vaddr + header.p_memsz) as usize).max().unwrap_or(0);
        let here = each as *const () as usize;
        if (base..base + size).contains(&here) {
            SHIM_START.store(base, Relaxed);
            SHIM_END.store(base + size, Relaxed);
        }
        let name = if (*info).dlpi_name.is_null() { c"" } else { CStr::from_ptr((*info).dlpi_name) };
        if name.to_bytes().windows(6).any(|part| part == b"libmpi") {
            MPI.store(1, Relaxed);
        }
        if name.to_bytes().windows(9).any(|part| part == b"libgcc_s.") {
            UNWINDER_START.store(base, Relaxed);
            UNWINDER_END.store(base + size, Relaxed);
        }
        if process::mode() != mode::RECORD {
            return 0;
        }
        let Some(thread) = turn::enter() else { return 0 };
        let mut room = [0u8; 640];
        let mut words = Path { to: &mut room, length: 0 };
        words.push_hex(base as u64).push(b" ").push_hex(size as u64).push(b" ");
        match headers.iter().filter(|header| header.p_type == PT_NOTE).find_map(|header| build_id(base, header)) {
            Some(id) => id.iter().for_each(|byte| {
                words.push(&[b"0123456789abcdef"[(byte >> 4) as usize], b"0123456789abcdef"[(byte & 15) as usize]]);
            }),
            None => {
                words.push(b"-");
            }
        }
        words.push(b" ");
        if name.is_empty() && *index == 1 {
            let mut path = [0u8; 512];
            let length = libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len());
            words.push(&path[..length.max(0) as usize]);
        } else {
            words.push(name.to_bytes());
        }
        let length = words.length.min(room.len());
        thread.begin();
        thread.note(note::MODULE, &room[..length]);
        thread.finish();
        0
    }
}

unsafe fn build_id(base: usize, header: &libc::Elf64_Phdr) -> Option<&'static [u8]> {
    // SAFETY: the segment is in memory.
    unsafe {
        let mut at = base + header.p_vaddr as usize;
        let end = at + header.p_memsz as usize;
        while at + 12 <= end {
            let [name, data, kind] = (at as *const [u32; 3]).read_unaligned();
            let body = at + 12 + (name as usize).next_multiple_of(4);
            if kind == 3 && name == 4 && body + data as usize <= end {
                return Some(core::slice::from_raw_parts(body as *const u8, data as usize));
            }
            at = body + (data as usize).next_multiple_of(4);
        }
        None
    }
}
