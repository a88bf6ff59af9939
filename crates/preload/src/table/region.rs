//! OpenMP's parallel regions, and where its threads wait for each other, as gcc's library has them. They matter only where threads
//! run in turn: the library's own waits are system calls that nobody sees.

use crate::handle::region::{Body, parallel, waits};
use libc::{c_long, c_uint, c_void};

type Data = *mut c_void;

/// Rows without a handler: their meaning is to run a region, or to wait.
macro_rules! region {
    ($( parallel fn $name:ident ( $($arg:ident : $type:ty),* ) -> $result:ty; )*
     $( waits fn $wait:ident ( $($wait_arg:ident : $wait_type:ty),* ) -> $wait_result:ty; )*) => {
        interpose! {
            $( Create fn $name (body: Body, data: Data, $($arg : $type),*) -> $result => plain::$name; )*
            $( Wait fn $wait ( $($wait_arg : $wait_type),* ) -> $wait_result => plain::$wait; )*
        }

        mod plain {
            use super::*;
            $(
                #[allow(clippy::too_many_arguments)] // they are the library's
                pub unsafe fn $name(body: Body, data: Data, $($arg: $type),*) -> $result {
                    // SAFETY: the program's arguments.
                    unsafe { parallel(body, data, |body, data| real::$name(body, data, $($arg),*)) }
                }
            )*
            $(
                pub unsafe fn $wait($($wait_arg: $wait_type),*) -> $wait_result {
                    // SAFETY: as above.
                    waits(|| unsafe { real::$wait($($wait_arg),*) })
                }
            )*
        }
    };
}

region! {
    parallel fn GOMP_parallel                                    (threads: c_uint, how: c_uint) -> ();
    parallel fn GOMP_parallel_reductions                         (threads: c_uint, how: c_uint) -> c_uint;
    parallel fn GOMP_parallel_sections                           (threads: c_uint, many: c_uint, how: c_uint) -> ();
    parallel fn GOMP_parallel_loop_static                        (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, how: c_uint) -> ();
    parallel fn GOMP_parallel_loop_dynamic                       (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, how: c_uint) -> ();
    parallel fn GOMP_parallel_loop_guided                        (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, how: c_uint) -> ();
    parallel fn GOMP_parallel_loop_nonmonotonic_dynamic          (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, how: c_uint) -> ();
    parallel fn GOMP_parallel_loop_nonmonotonic_guided           (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, how: c_uint) -> ();
    parallel fn GOMP_parallel_loop_runtime                       (threads: c_uint, from: c_long, to: c_long, by: c_long, how: c_uint) -> ();
    parallel fn GOMP_parallel_loop_nonmonotonic_runtime          (threads: c_uint, from: c_long, to: c_long, by: c_long, how: c_uint) -> ();
    parallel fn GOMP_parallel_loop_maybe_nonmonotonic_runtime    (threads: c_uint, from: c_long, to: c_long, by: c_long, how: c_uint) -> ();
    waits fn GOMP_barrier              () -> ();
    waits fn GOMP_barrier_cancel       () -> bool;
    waits fn GOMP_loop_end             () -> ();
    waits fn GOMP_loop_end_cancel      () -> bool;
    waits fn GOMP_sections_end         () -> ();
    waits fn GOMP_sections_end_cancel  () -> bool;
    waits fn GOMP_ordered_start        () -> ();
    waits fn GOMP_taskwait             () -> ();
    waits fn GOMP_taskgroup_end        () -> ();
}
