//! What the library knows of itself. Alone it is told what it was told by the daemon when it enrolled.

use crate::handle::exchange::Numbers;
use crate::handle::pvm::ids;
use core::ffi::CStr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{FILE, RTLD_DEFAULT, c_int, dlsym};
use retake_engine::sys;
use retake_engine::turn::in_library as library;

unsafe extern "C" {
    static stdout: *mut FILE;
    static stderr: *mut FILE;
}

/// A variable of the library, found once. An executable may hold the copy that counts.
pub struct Variable {
    name: &'static CStr,
    at: AtomicUsize,
}

impl Variable {
    const fn new(name: &'static CStr) -> Variable {
        Variable { name, at: AtomicUsize::new(0) }
    }

    fn at(&self) -> *mut c_int {
        if self.at.load(Relaxed) == 0 {
            // SAFETY: a C string.
            self.at.store(unsafe { dlsym(RTLD_DEFAULT, self.name.as_ptr()) } as usize, Relaxed);
        }
        self.at.load(Relaxed) as *mut c_int
    }

    pub fn get(&self) -> c_int {
        // SAFETY: the library's variable, or null. The library knows no threads.
        unsafe { self.at().as_ref() }.copied().unwrap_or(0)
    }

    pub fn set(&self, value: c_int) {
        // SAFETY: as above.
        if let Some(variable) = unsafe { self.at().as_mut() } {
            *variable = value;
        }
    }
}

/// The last error.
pub static ERROR: Variable = Variable::new(c"pvm_errno");
static TASK: Variable = Variable::new(c"pvmmytid");
static PARENT: Variable = Variable::new(c"pvmmyptid");
static PROCESS: Variable = Variable::new(c"pvmmyupid");
static CONTEXT: Variable = Variable::new(c"pvmmyctx");
static FORMAT: Variable = Variable::new(c"pvmmydsig");
static PACKET: Variable = Variable::new(c"pvmudpmtu");
/// The size of the pieces of messages.
pub static FRAGMENT: Variable = Variable::new(c"pvmfrgsiz");

/// What a task knows when it has enrolled.
pub type Known = Numbers<4>;

/// What it knows now, with the ids that the program knows.
pub fn known() -> Known {
    let (parent, context) = (ids::recorded(PARENT.get()), ids::recorded_context(CONTEXT.get()));
    Numbers([parent, context, FORMAT.get(), PACKET.get()].map(i64::from))
}

/// Alone: lets the library believe that it has enrolled as `tid`.
pub fn enrol(tid: c_int, known: Known) {
    for (variable, value) in [&PARENT, &CONTEXT, &FORMAT, &PACKET].into_iter().zip(known.0) {
        variable.set(value as c_int);
    }
    FRAGMENT.set(known.0[3] as c_int);
    PROCESS.set(sys::getpid_now() as c_int);
    TASK.set(tid);
}

/// Alone: what leaving does besides telling the daemon. The next call enrols again.
pub fn leave() {
    // SAFETY: libc's streams.
    library(|| unsafe {
        libc::fflush(stderr);
        libc::fflush(stdout);
    });
    TASK.set(-1);
}
