//! The shim: loaded before the program's own libraries, it catches the functions of [`table`] and gives each the meaning
//! that stands in [`handle`].
//!
//! Without its variables in the environment it does nothing but pass calls on.
//!
//! Law: the program is never harmed. No handler allocates, prints, or changes `errno` where the real function would not.

// The exported names are C's.
#![allow(clippy::missing_safety_doc, non_snake_case)]

mod errno;
mod glibc;
mod handle;
mod real;
mod role;
mod table;

use libc::{c_char, c_int, c_void};
use retake_engine::process::{self, Start};
use retake_engine::{deadlock, report, sys, taken, thread};
use retake_tape::choices::serve;
use retake_tape::layout::born;

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Writes to standard error, whatever the program has made of it.
pub(crate) fn say(parts: &[&[u8]]) {
    for part in parts {
        // SAFETY: the bytes are ours.
        unsafe { sys::write(2, part.as_ptr() as usize, part.len()) };
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) = start;

/// Runs before everything else of the program, with the environment as the kernel gave it.
unsafe extern "C" fn start(_: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) {
    // SAFETY: one thread runs; libc's own start has not finished, so only what it does not need is called.
    unsafe {
        handle::pvm::task::fix_addresses(argv, envp);
        taken::set_main_end(argv as usize);
        let role = handle::launcher::role(envp);
        if matches!(role, handle::launcher::Role::Apart) {
            return;
        }
        let Some(part) = handle::environment::take(envp) else { return };
        if handle::pvm::task::is_daemon() {
            return;
        }
        let short_cut = glibc::mutex_is_as_expected(real_lock, real_unlock);
        if part.mode == serve::MODE.as_bytes() {
            return handle::server::put_by(part, short_cut);
        }
        let mut part: handle::environment::Part<'_> = part;
        let mut rank_name = [0u8; thread::NAME_MAX];
        if let handle::launcher::Role::Rank(rank) = role {
            let length = handle::launcher::rank_name(&mut rank_name, part.name, rank);
            (part.name, part.born) = (&rank_name[..length], born::EXEC);
        }
        if matches!(part.mode, b"record" | b"replay") {
            begin(&part, part.mode == b"replay", short_cut);
            handle::command::note(argv);
        }
    }
}

/// This process has a part from here on.
///
/// # Safety
/// One thread runs.
unsafe fn begin(part: &handle::environment::Part<'_>, replay: bool, short_cut: bool) {
    // SAFETY: as above.
    unsafe {
        let (take, session, name, born) = (part.take, part.session, part.name, part.born);
        if !process::start(&Start { replay, take, session, name, born, short_cut }) {
            return;
        }
        report::set_callers(handle::callers);
        deadlock::set_surface(&handle::needs::SURFACE);
        handle::modules::note_all();
        handle::output::begin();
        handle::startup::before();
        if !short_cut {
            handle::input::note_unsupported(b"this libc's mutexes, which are not laid out as expected: slower, and");
        }
        on_exit(handle::process::at_exit, core::ptr::null_mut());
        libc::pthread_atfork(
            Some(handle::process::before_fork),
            Some(handle::process::after_fork_in_parent),
            Some(handle::process::after_fork_in_child),
        );
        if replay {
            handle::signal::watch_deaths();
            handle::debugger::arm();
            if let Some(thread) = thread::current() {
                thread.look_ahead();
            }
        }
    }
}

unsafe extern "C-unwind" fn real_lock(m: *mut glibc::Mutex) -> c_int {
    // SAFETY: the caller's mutex.
    unsafe { table::mutex::real::pthread_mutex_lock(m) }
}

unsafe extern "C-unwind" fn real_unlock(m: *mut glibc::Mutex) -> c_int {
    // SAFETY: the caller's mutex.
    unsafe { table::mutex::real::pthread_mutex_unlock(m) }
}
