//! Before the program begins and after it has ended: what the constructors and destructors of MPI's libraries do.
//!
//! They measure clocks, take locks and draw numbers, otherwise in every run and in every MPI. So in a process that has
//! MPI loaded the program begins where the dynamic linker hands over to it, and ends where it is given back; the
//! executable's own constructors and destructors lie in between.

use crate::handle::{modules, server};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use retake_engine::schedule;
use retake_engine::turn;

static REAL: AtomicUsize = AtomicUsize::new(0);
static FINISH: AtomicUsize = AtomicUsize::new(0);

/// The shim begins, before all constructors.
pub fn before() {
    if modules::has_mpi() {
        turn::enter_library();
    }
}

/// The dynamic linker is done. Takes what it wants to be called at the end, and returns what to call instead.
extern "C" fn begins(finish: usize) -> usize {
    server::serve();
    if !modules::has_mpi() || !turn::is_in_library() {
        schedule::begin_exploring();
        return finish;
    }
    turn::leave_library();
    schedule::begin_exploring();
    FINISH.store(finish, Relaxed);
    if finish == 0 { 0 } else { ends as *const () as usize }
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
/// that the program's stack is what it would be without us.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __libc_start_main() {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "mov rdi, r9",
        "call {begins}",
        "push rax",
        "sub rsp, 8",
        "call {real}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        begins = sym begins,
        real = sym real,
    );
}
