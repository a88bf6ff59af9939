//! Finding the MPI library that the program uses, wherever it was loaded.
//!
//! Usually it is the next library that has the name. Where it was loaded for one module alone (mpi4py), it must be
//! looked for among all that are loaded.

use crate::table::process::real;
use core::ffi::CStr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{RTLD_DEFAULT, RTLD_NEXT, c_char, c_int, c_void, dl_phdr_info, dlsym, size_t};

/// The address of the function `name` (which ends in a zero byte), remembered in `at`. The process ends if there is none.
#[inline(always)]
pub fn function(at: &AtomicUsize, name: &'static str) -> usize {
    match at.load(Relaxed) {
        0 => must_find(at, name),
        known => known,
    }
}

#[cold]
#[inline(never)]
fn must_find(at: &AtomicUsize, name: &'static str) -> usize {
    let found = look_for(name);
    if found == 0 {
        let name = &name.as_bytes()[..name.len() - 1];
        crate::say(&[b"retake: the program calls ", &name[1..], b", which no MPI library here has\n"]);
        // SAFETY: without the function there is no way on, just as without Retake.
        unsafe { libc::_exit(127) }
    }
    at.store(found, Relaxed);
    found
}

/// The address of the function `name` (which ends in a zero byte), or 0.
pub fn look_for(name: &'static str) -> usize {
    let name = name.as_ptr().cast::<c_char>();
    // SAFETY: the name ends in a zero byte.
    match unsafe { dlsym(RTLD_NEXT, name) } as usize {
        0 => among_all(name),
        found => found,
    }
}

/// The address of a variable of the library, or 0. An executable may hold the copy that counts.
pub fn variable(name: &CStr) -> usize {
    // SAFETY: a C string.
    match unsafe { dlsym(RTLD_DEFAULT, name.as_ptr()) } as usize {
        0 => among_all(name.as_ptr()),
        found => found,
    }
}

struct Search {
    name: *const c_char,
    found: usize,
}

fn among_all(name: *const c_char) -> usize {
    let mut search = Search { name, found: 0 };
    // SAFETY: the callback gets what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn each(info: *mut dl_phdr_info, _: size_t, search: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker's structures; the library stays loaded, since it is not opened anew.
    unsafe {
        let search = &mut *search.cast::<Search>();
        let path = (*info).dlpi_name;
        let is_part_of_mpi =
            |path: &CStr| path.to_bytes().windows(6).any(|part| part == b"libmpi" || part == b"libucm");
        if path.is_null() || !is_part_of_mpi(CStr::from_ptr(path)) {
            return 0;
        }
        let library = real::dlopen(path, libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if !library.is_null() {
            search.found = dlsym(library, search.name) as usize;
            libc::dlclose(library);
        }
        c_int::from(search.found != 0)
    }
}
