//! MPI: what could come out otherwise. What could not is in [`super::mpi_apart`].
//!
//! Each function is exported under its own name and under its profiling name: Open MPI's Fortran library calls the
//! latter. `real` is the library's function by its profiling name, wherever the library was loaded.

use crate::handle::mpi::{complete, persistent, probe, receive, spawn, world};
use libc::{c_char, c_int};

/// As `interpose!`, for MPI's two names of each function.
macro_rules! interpose_mpi {
    ($( $class:ident fn $name:ident ( $($arg:ident : $type:ty),* $(,)? ) -> $result:ty => $handler:path; )*) => {
        $(
            /// Caught.
            #[allow(clippy::too_many_arguments)] // MPI's own; so below
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $result {
                // SAFETY: the program calls a C function by its contract.
                unsafe { $handler($($arg),*) }
            }
        )*

        /// The same, by their profiling names.
        #[allow(clippy::too_many_arguments)]
        mod profiling {
            use super::*;
            $(
                #[unsafe(export_name = concat!("P", stringify!($name)))]
                pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $result {
                    // SAFETY: as above.
                    unsafe { $handler($($arg),*) }
                }
            )*
        }

        /// The functions that the rows stand before.
        #[allow(dead_code, clippy::missing_safety_doc, clippy::too_many_arguments)]
        pub mod real {
            use super::*;
            $( library_function!($name ($($arg: $type),*) -> $result); )*
            library_function!(MPI_Isend (a: usize, b: usize, c: usize, d: c_int, e: c_int, f: usize, g: *mut u8) -> c_int);
            library_function!(MPI_Isend_c (a: usize, b: usize, c: usize, d: c_int, e: c_int, f: usize, g: *mut u8) -> c_int);
            library_function!(MPI_Info_create (info: *mut u8) -> c_int);
            library_function!(MPI_Info_dup (info: usize, new: *mut u8) -> c_int);
            library_function!(MPI_Info_get (info: usize, key: *const c_char, most: c_int, value: *mut c_char, flag: *mut c_int) -> c_int);
            library_function!(MPI_Info_set (info: usize, key: *const c_char, value: *const c_char) -> c_int);
            library_function!(MPI_Info_free (info: *mut u8) -> c_int);
            library_function!(MPI_Comm_dup (comm: usize, new: *mut u8) -> c_int);
            library_function!(MPI_Comm_remote_size (comm: usize, ranks: *mut c_int) -> c_int);
            library_function!(MPI_Comm_size (comm: usize, ranks: *mut c_int) -> c_int);
            library_function!(MPI_Comm_rank (comm: usize, rank: *mut c_int) -> c_int);
            library_function!(MPI_Get_count (status: *mut u8, kind: usize, count: *mut c_int) -> c_int);
            library_function!(MPI_Test_cancelled (status: *mut u8, flag: *mut c_int) -> c_int);
            library_function!(MPI_Comm_test_inter (comm: usize, flag: *mut c_int) -> c_int);
            library_function!(MPI_Comm_group (comm: usize, group: *mut u8) -> c_int);
            library_function!(MPI_Send_init (a: usize, b: usize, c: usize, d: c_int, e: c_int, f: usize, g: *mut u8) -> c_int);
            library_function!(MPI_Type_size (kind: usize, size: *mut c_int) -> c_int);
            library_function!(MPI_Type_get_extent (kind: usize, lower: *mut isize, extent: *mut isize) -> c_int);
            library_function!(MPI_Pack_size (n: c_int, kind: usize, comm: usize, size: *mut c_int) -> c_int);
            library_function!(MPI_Pack (from: usize, n: c_int, kind: usize, to: usize, room: c_int, at: *mut c_int, comm: usize) -> c_int);
            library_function!(MPI_Unpack (from: usize, length: c_int, at: *mut c_int, to: usize, n: c_int, kind: usize, comm: usize) -> c_int);
        }
    };
}

/// A function of the library.
macro_rules! library_function {
    ($name:ident ( $($arg:ident : $type:ty),* ) -> $result:ty) => {
        #[inline(always)]
        pub unsafe fn $name($($arg: $type),*) -> $result {
            use core::sync::atomic::AtomicUsize;
            use core::sync::atomic::Ordering::Relaxed;
            static AT: AtomicUsize = AtomicUsize::new(0);
            type Function = unsafe extern "C-unwind" fn($($type),*) -> $result;

            #[cold]
            #[inline(never)]
            unsafe fn first($($arg: $type),*) -> $result {
                let at = $crate::handle::mpi::find::function(&AT, concat!("P", stringify!($name), "\0"));
                // SAFETY: the library's function of that name.
                unsafe { core::mem::transmute::<usize, Function>(at)($($arg),*) }
            }

            // SAFETY: as above.
            unsafe {
                match AT.load(Relaxed) {
                    0 => first($($arg),*),
                    at => core::mem::transmute::<usize, Function>(at)($($arg),*),
                }
            }
        }
    };
}

/// The place of a request, a message or a communicator in the program's memory.
pub type Handle = *mut u8;
/// The place of a status.
pub type Status = *mut u8;
/// The place of a number.
pub type Number = *mut c_int;

interpose_mpi! {
    Outcome fn MPI_Init               (argc: usize, argv: usize) -> c_int                                                                                       => world::init;
    Outcome fn MPI_Init_thread        (argc: usize, argv: usize, required: c_int, provided: Number) -> c_int                                                    => world::init_thread;
    Note    fn MPI_Initialized        (flag: Number) -> c_int                                                                                                   => world::initialized;
    Note    fn MPI_Finalized          (flag: Number) -> c_int                                                                                                   => world::finalized;
    Outcome fn MPI_Abort              (comm: usize, code: c_int) -> c_int                                                                                       => world::abort;
    Value   fn MPI_Wtime              () -> f64                                                                                                                 => world::wtime;
    Value   fn MPI_Wtick              () -> f64                                                                                                                 => world::wtick;
    Outcome fn MPI_Recv               (b: usize, n: c_int, k: usize, source: c_int, tag: c_int, comm: usize, s: Status) -> c_int                                => receive::recv;
    Outcome fn MPI_Recv_c             (b: usize, n: usize, k: usize, source: c_int, tag: c_int, comm: usize, s: Status) -> c_int                                => receive::recv_c;
    Outcome fn MPI_Irecv              (b: usize, n: c_int, k: usize, source: c_int, tag: c_int, comm: usize, r: Handle) -> c_int                                => receive::irecv;
    Outcome fn MPI_Irecv_c            (b: usize, n: usize, k: usize, source: c_int, tag: c_int, comm: usize, r: Handle) -> c_int                                => receive::irecv_c;
    Outcome fn MPI_Sendrecv           (b: usize, n: c_int, k: usize, to: c_int, t: c_int, rb: usize, rn: c_int, rk: usize, source: c_int, tag: c_int, comm: usize, s: Status) -> c_int => receive::sendrecv;
    Outcome fn MPI_Sendrecv_c         (b: usize, n: usize, k: usize, to: c_int, t: c_int, rb: usize, rn: usize, rk: usize, source: c_int, tag: c_int, comm: usize, s: Status) -> c_int => receive::sendrecv_c;
    Outcome fn MPI_Sendrecv_replace   (b: usize, n: c_int, k: usize, to: c_int, t: c_int, source: c_int, tag: c_int, comm: usize, s: Status) -> c_int           => receive::sendrecv_replace;
    Outcome fn MPI_Sendrecv_replace_c (b: usize, n: usize, k: usize, to: c_int, t: c_int, source: c_int, tag: c_int, comm: usize, s: Status) -> c_int           => receive::sendrecv_replace_c;
    Outcome fn MPI_Isendrecv          (b: usize, n: usize, k: usize, to: c_int, t: c_int, rb: usize, rn: usize, rk: usize, source: c_int, tag: c_int, comm: usize, r: Handle) -> c_int => receive::isendrecv;
    Outcome fn MPI_Isendrecv_c        (b: usize, n: usize, k: usize, to: c_int, t: c_int, rb: usize, rn: usize, rk: usize, source: c_int, tag: c_int, comm: usize, r: Handle) -> c_int => receive::isendrecv_c;
    Outcome fn MPI_Isendrecv_replace  (b: usize, n: usize, k: usize, to: c_int, t: c_int, source: c_int, tag: c_int, comm: usize, r: Handle) -> c_int           => receive::isendrecv_replace;
    Outcome fn MPI_Isendrecv_replace_c (b: usize, n: usize, k: usize, to: c_int, t: c_int, source: c_int, tag: c_int, comm: usize, r: Handle) -> c_int                     => receive::isendrecv_replace_c;
    Outcome fn MPI_Probe              (source: c_int, tag: c_int, comm: usize, s: Status) -> c_int                                                              => probe::probe;
    Outcome fn MPI_Iprobe             (source: c_int, tag: c_int, comm: usize, flag: Number, s: Status) -> c_int                                                => probe::iprobe;
    Outcome fn MPI_Mprobe             (source: c_int, tag: c_int, comm: usize, m: Handle, s: Status) -> c_int                                                   => probe::mprobe;
    Outcome fn MPI_Improbe            (source: c_int, tag: c_int, comm: usize, flag: Number, m: Handle, s: Status) -> c_int                                     => probe::improbe;
    Outcome fn MPI_Wait               (r: Handle, s: Status) -> c_int                                                                                           => complete::wait;
    Outcome fn MPI_Waitall            (n: c_int, r: Handle, s: Status) -> c_int                                                                                 => complete::waitall;
    Outcome fn MPI_Waitany            (n: c_int, r: Handle, index: Number, s: Status) -> c_int                                                                  => complete::waitany;
    Outcome fn MPI_Waitsome           (n: c_int, r: Handle, done: Number, indices: Number, s: Status) -> c_int                                                  => complete::waitsome;
    Outcome fn MPI_Test               (r: Handle, flag: Number, s: Status) -> c_int                                                                             => complete::test;
    Outcome fn MPI_Testall            (n: c_int, r: Handle, flag: Number, s: Status) -> c_int                                                                   => complete::testall;
    Outcome fn MPI_Testany            (n: c_int, r: Handle, index: Number, flag: Number, s: Status) -> c_int                                                    => complete::testany;
    Outcome fn MPI_Testsome           (n: c_int, r: Handle, done: Number, indices: Number, s: Status) -> c_int                                                  => complete::testsome;
    Outcome fn MPI_Request_get_status (r: usize, flag: Number, s: Status) -> c_int                                                                              => complete::get_status;
    Outcome fn MPI_Recv_init          (b: usize, n: c_int, k: usize, source: c_int, tag: c_int, comm: usize, r: Handle) -> c_int                                => persistent::recv_init;
    Outcome fn MPI_Recv_init_c        (b: usize, n: usize, k: usize, source: c_int, tag: c_int, comm: usize, r: Handle) -> c_int                                => persistent::recv_init_c;
    Outcome fn MPI_Start              (r: Handle) -> c_int                                                                                                      => persistent::start;
    Outcome fn MPI_Startall           (n: c_int, r: Handle) -> c_int                                                                                            => persistent::startall;
    Outcome fn MPI_Request_free       (r: Handle) -> c_int                                                                                                      => persistent::free;
    Outcome fn MPI_Comm_spawn         (command: usize, argv: usize, n: c_int, info: usize, root: c_int, comm: usize, new: usize, errors: usize) -> c_int        => spawn::spawn;
    Outcome fn MPI_Comm_spawn_multiple (many: c_int, commands: usize, argvs: usize, n: usize, infos: *const usize, root: c_int, comm: usize, new: usize, errors: usize) -> c_int => spawn::spawn_multiple;
    Outcome fn MPI_Cancel             (r: Handle) -> c_int                                                                                                      => persistent::cancel;
}
