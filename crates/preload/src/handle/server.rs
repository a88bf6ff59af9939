//! The server: a process that stops just before the program begins, and makes a copy of itself for each run.
//!
//! So a run costs a fork instead of an exec with all its linking. The process itself is not recorded; each copy begins as
//! if it had been started there. The command line asks for copies through a socket, and is told each one's id and how it
//! ended.

use crate::handle::environment;
use crate::table::process::real;
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use retake_engine::sys;
use retake_tape::choices::serve;

struct Part {
    part: Option<environment::Part<'static>>,
    short_cut: bool,
}

struct Global(UnsafeCell<Part>);
// SAFETY: used while one thread runs.
unsafe impl Sync for Global {}
static PART: Global = Global(UnsafeCell::new(Part { part: None, short_cut: false }));
static SERVES: AtomicBool = AtomicBool::new(false);

/// This process is a server: what it is to record is put by for its copies.
pub fn put_by(part: environment::Part<'static>, short_cut: bool) {
    // SAFETY: one thread runs.
    unsafe { *PART.0.get() = Part { part: Some(part), short_cut } };
    SERVES.store(true, Relaxed);
}

/// The program is about to begin. A server stays here; its copies begin to record.
pub fn serve() {
    if !SERVES.swap(false, Relaxed) {
        return;
    }
    let mut threads = 0;
    let unknown = sys::each_task(|_| threads += 1);
    if unknown || threads != 1 {
        // A copy would have only one of them.
        tell(serve::CANNOT, 0);
        end();
    }
    tell(serve::READY, 0);
    let mut asked = 0u8;
    // SAFETY: one byte of ours; a copy like any fork.
    unsafe {
        while sys::read(serve::SOCKET, &raw mut asked as usize, 1) == 1 {
            let server = sys::getpid_now();
            let pid = real::fork();
            if pid == 0 {
                return begin(server);
            }
            // Before its id is told, so that it can be ended with all that it starts from then on.
            sys::setpgid(pid as usize, pid as usize);
            tell(serve::BEGUN, pid);
            let mut status = 0i32;
            if pid > 0 {
                while sys::error(sys::wait4(pid as usize, &raw mut status as usize, 0, 0)) == Some(libc::EINTR) {}
            }
            tell(serve::ENDED, status);
        }
    }
    end();
}

/// In a copy of `server`: the run begins.
unsafe fn begin(server: u32) {
    // SAFETY: one thread runs; the descriptor is the server's.
    unsafe {
        sys::close(serve::SOCKET);
        sys::setpgid(0, 0);
        sys::prctl(libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize, 0, 0);
        if sys::getppid() as u32 != server {
            // It was gone before, and nobody waits for this run.
            end();
        }
        let part = &mut *PART.0.get();
        if let Some(own) = part.part.take() {
            environment::records_from_here();
            crate::begin(&own, false, part.short_cut);
        }
    }
}

fn tell(what: i32, value: i32) {
    let message = [what, value];
    // SAFETY: a message of ours.
    unsafe { sys::write(serve::SOCKET, message.as_ptr() as usize, size_of_val(&message)) };
}

fn end() -> ! {
    // SAFETY: the end; nothing of the program has run.
    unsafe {
        loop {
            sys::exit_group(0);
        }
    }
}
