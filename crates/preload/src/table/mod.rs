//! The tables of functions that Retake catches: one row each, with its class in replay, its C signature, its meaning.
//!
//! | class | what a replay does with it |
//! |---|---|
//! | Acquire | waits until the object comes to this thread, then makes the real call |
//! | Lock | the same; its handler is told, behind its arguments, where it was called from |
//! | Release | gives the object on, then makes the real call |
//! | Wait | gives the mutex up, waits for its turn, takes it again; no real condition is waited for |
//! | Outcome | returns what it returned |
//! | Value | returns the value that was recorded |
//! | Create | makes the real call; the child has the name that it had |
//! | Signal | handlers run where they ran |
//! | Outward | runs the handlers that ran inside; makes the real call, unless one of them ended it |
//! | Id | makes the real call, with the present id of a process or thread |
//! | Note | makes the real call; it is told which input the program read |
//! | Unhandled | makes the real call; its use is told |

/// Makes the exported function of a row.
macro_rules! export {
    (Lock $name:ident ($a:ident : $at:ty) $($rest:tt)*) => {
        export!(@from "rsi" "rdx" $name ($a : $at) $($rest)*);
    };
    (Lock $name:ident ($a:ident : $at:ty, $b:ident : $bt:ty) $($rest:tt)*) => {
        export!(@from "rdx" "rcx" $name ($a : $at, $b : $bt) $($rest)*);
    };
    (Lock $name:ident ($a:ident : $at:ty, $b:ident : $bt:ty, $c:ident : $ct:ty) $($rest:tt)*) => {
        export!(@from "rcx" "r8" $name ($a : $at, $b : $bt, $c : $ct) $($rest)*);
    };
    (@from $from:literal $frame:literal $name:ident ($($arg:ident : $type:ty),*) -> $result:ty => $handler:path) => {
        /// Caught. The return address is on the stack, and the caller's frame in rbp, only until a frame is made.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $result {
            unsafe extern "C-unwind" fn behind($($arg: $type,)* called: retake_engine::taken::Called) -> $result {
                // SAFETY: the program calls a C function by its contract.
                unsafe { $handler($($arg,)* called) }
            }
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $from, ", [rsp]"),
                concat!("mov ", $frame, ", rbp"),
                "jmp {}",
                ".cfi_endproc",
                sym behind
            )
        }
    };
    ($class:ident $name:ident ($($arg:ident : $type:ty),*) $(-> $result:ty)? => $handler:path) => {
        /// Caught.
        #[allow(clippy::too_many_arguments)] // they are the library's
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) $(-> $result)? {
            // SAFETY: the program calls a C function by its contract.
            unsafe { $handler($($arg),*) }
        }
    };
}

/// Makes, of each row, the exported function, and the module `real` with the function that it stands before.
macro_rules! interpose {
    ($( $class:ident fn $name:ident ( $($arg:ident : $type:ty),* $(,)? ) $(-> $result:ty)? => $handler:path; )*) => {
        $( export!($class $name ($($arg : $type),*) $(-> $result)? => $handler); )*

        /// The functions that the rows stand before.
        #[allow(dead_code, clippy::missing_safety_doc, clippy::too_many_arguments)]
        pub mod real {
            use super::*;
            $(
                pub unsafe fn $name($($arg: $type),*) $(-> $result)? {
                    static AT: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
                    type Function = unsafe extern "C-unwind" fn($($type),*) $(-> $result)?;
                    let at = $crate::real::find(&AT, concat!(stringify!($name), "\0"));
                    // SAFETY: the dynamic linker found the function of that name.
                    unsafe { core::mem::transmute::<usize, Function>(at)($($arg),*) }
                }
            )*
        }
    };
}

pub mod c11;
pub mod cond;
pub mod figures;
pub mod ids;
pub mod input;
pub mod mpi;
pub mod mpi_apart;
pub mod mpi_full;
pub mod mutex;
pub mod openmp;
pub mod outward;
pub mod process;
pub mod pvm;
pub mod region;
pub mod rwlock;
pub mod sem;
pub mod share;
pub mod signal;
pub mod stream;
pub mod sync;
pub mod thread;
pub mod time;
