//! UCX, on which MPI libraries stand, has itself called whenever memory is mapped or given back: in `malloc`, at the end
//! of a thread. It takes locks of its own then, at times that differ from run to run. It begins and ends each of these
//! calls by functions that can be caught: between them the thread is inside the library.

use crate::handle::modules;
use crate::handle::mpi::find;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_void, dlerror, dlsym};
use retake_engine::apart;

type Function = unsafe extern "C" fn();

/// A function of UCX.
struct Real {
    name: &'static str,
    at: AtomicUsize,
}

static ENTER: Real = Real { name: "ucm_event_enter\0", at: AtomicUsize::new(0) };
static ENTER_EXCLUSIVE: Real = Real { name: "ucm_event_enter_exclusive\0", at: AtomicUsize::new(0) };
static LEAVE: Real = Real { name: "ucm_event_leave\0", at: AtomicUsize::new(0) };

static ALL: [&Real; 3] = [&ENTER, &ENTER_EXCLUSIVE, &LEAVE];

fn missing() -> impl Iterator<Item = &'static &'static Real> {
    ALL.iter().filter(|real| real.at.load(Relaxed) == 0)
}

/// MPI begins: finds the functions if they are here already. Not when the first of them is called, perhaps inside of `malloc`:
/// the dynamic linker may call that.
pub fn look() {
    missing().for_each(|real| real.at.store(find::look_for(real.name), Relaxed));
}

/// The same, in a library that a rank has loaded, and what came with it.
///
/// # Safety
/// The handle must be the dynamic linker's.
pub unsafe fn look_in(library: *mut c_void) {
    for real in missing() {
        // SAFETY: a C string. The program does not ask for this, and must not find that it failed.
        let at = unsafe { dlsym(library, real.name.as_ptr().cast()) } as usize;
        if at == 0 {
            // SAFETY: forgets the failure.
            unsafe { dlerror() };
            return;
        }
        if !modules::is_shim(at) {
            real.at.store(at, Relaxed);
        }
    }
}

impl Real {
    fn call(&self) {
        if self.at.load(Relaxed) == 0 {
            look();
        }
        match self.at.load(Relaxed) {
            0 => (),
            // SAFETY: the library's function of that name, which its own code calls here.
            at => unsafe { core::mem::transmute::<usize, Function>(at)() },
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn ucm_event_enter() {
    apart::enter();
    ENTER.call();
}

#[unsafe(no_mangle)]
extern "C" fn ucm_event_enter_exclusive() {
    apart::enter();
    ENTER_EXCLUSIVE.call();
}

#[unsafe(no_mangle)]
extern "C" fn ucm_event_leave() {
    LEAVE.call();
    apart::leave();
}
