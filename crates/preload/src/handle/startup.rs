//! Before the program begins and after it has ended: what the constructors and destructors of MPI's libraries do, and how the
//! main thread leaves.
//!
//! The former measure clocks, take locks and draw numbers, otherwise in every run and in every MPI. So in a process that has
//! MPI loaded the program begins where the dynamic linker hands over to it, and ends where it is given back; the
//! executable's own constructors and destructors lie in between.

use crate::handle::{modules, server, thread};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_char, c_int};
use retake_engine::process::{self, mode};
use retake_engine::schedule;
use retake_engine::turn;

static REAL: AtomicUsize = AtomicUsize::new(0);
static MAIN: AtomicUsize = AtomicUsize::new(0);
static FINISH: AtomicUsize = AtomicUsize::new(0);

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// What is called at the beginning and at the end.
#[repr(C)]
struct Ways {
    main: usize,
    finish: usize,
}

/// The shim begins, before all constructors.
pub fn before() {
    if modules::has_mpi() {
        turn::enter_library();
    }
}

/// The dynamic linker is done. Takes `main` and what the linker wants to be called at the end, and returns what to call
/// instead.
extern "C" fn begins(main: usize, finish: usize) -> Ways {
    server::serve();
    let is_apart = modules::has_mpi() && turn::is_in_library();
    if is_apart {
        turn::leave_library();
    }
    schedule::begin_exploring();
    let mut ways = Ways { main, finish };
    if is_apart && finish != 0 {
        FINISH.store(finish, Relaxed);
        ways.finish = ends as *const () as usize;
    }
    if process::mode() != mode::OFF {
        MAIN.store(main, Relaxed);
        ways.main = watched as *const () as usize;
    }
    ways
}

/// Stands around `main`, so that it is noticed when the main thread leaves without ending the process.
unsafe extern "C-unwind" fn watched(argc: c_int, argv: *mut *mut c_char, environment: *mut *mut c_char) -> c_int {
    // SAFETY: the program's own function, with its own arguments.
    let main = || unsafe { core::mem::transmute::<usize, Main>(MAIN.load(Relaxed))(argc, argv, environment) };
    thread::run_main(main)
}

extern "C-unwind" fn ends() {
    turn::enter_library();
    // SAFETY: the dynamic linker's own function.
    unsafe {
        let finish: extern "C-unwind" fn() = core::mem::transmute(FINISH.load(Relaxed));
        finish();
    }
    turn::leave_library();
}

extern "C" fn real() -> usize {
    crate::real::find(&REAL, "__libc_start_main\0")
}

/// Called by every program's first instructions, with `main` and what the dynamic linker gave. It is left by a jump, so
/// that nothing of ours stays on the stack but the frame around `main`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __libc_start_main() {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "mov rsi, r9",
        "call {begins}",
        "push rdx",
        "push rax",
        "call {real}",
        "pop rdi",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "add rsp, 8",
        "jmp rax",
        begins = sym begins,
        real = sym real,
    );
}
