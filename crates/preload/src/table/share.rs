//! How OpenMP shares work out, as gcc's library does: who runs what is single, which sections, which part of a loop.

use crate::handle::openmp::{shares, wait_in_order};
use libc::{c_long, c_uint, c_ulonglong, c_void};

type Long = *mut c_long;
type Ull = *mut c_ulonglong;

/// Rows without a handler: their meaning is to share.
macro_rules! share {
    ($( Acquire fn $name:ident ( $($arg:ident : $type:ty),* ) -> $result:ty; )*
     in order { $( Acquire fn $next:ident ( $($next_arg:ident : $next_type:ty),* ) -> bool; )* }) => {
        interpose! {
            $( Acquire fn $name ( $($arg : $type),* ) -> $result => plain::$name; )*
            $( Acquire fn $next ( $($next_arg : $next_type),* ) -> bool => plain::$next; )*
        }

        mod plain {
            use super::*;
            $(
                #[allow(clippy::too_many_arguments)] // they are the library's
                pub unsafe fn $name($($arg: $type),*) -> $result {
                    // SAFETY: the program's arguments.
                    shares(|| unsafe { real::$name($($arg),*) })
                }
            )*
            $(
                pub unsafe fn $next($($next_arg: $next_type),*) -> bool {
                    wait_in_order();
                    // SAFETY: as above.
                    shares(|| unsafe { real::$next($($next_arg),*) })
                }
            )*
        }
    };
}

share! {
    Acquire fn GOMP_loop_dynamic_start                        (from: c_long, to: c_long, by: c_long, chunk: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_dynamic_next                         (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_guided_start                         (from: c_long, to: c_long, by: c_long, chunk: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_guided_next                          (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_nonmonotonic_dynamic_start           (from: c_long, to: c_long, by: c_long, chunk: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_nonmonotonic_dynamic_next            (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_nonmonotonic_guided_start            (from: c_long, to: c_long, by: c_long, chunk: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_nonmonotonic_guided_next             (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_runtime_start                        (from: c_long, to: c_long, by: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_runtime_next                         (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_nonmonotonic_runtime_start           (from: c_long, to: c_long, by: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_nonmonotonic_runtime_next            (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_maybe_nonmonotonic_runtime_start     (from: c_long, to: c_long, by: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_maybe_nonmonotonic_runtime_next      (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_ull_dynamic_start                    (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, chunk: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_dynamic_next                     (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_guided_start                     (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, chunk: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_guided_next                      (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_nonmonotonic_dynamic_start       (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, chunk: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_nonmonotonic_dynamic_next        (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_nonmonotonic_guided_start        (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, chunk: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_nonmonotonic_guided_next         (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_runtime_start                    (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_runtime_next                     (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_nonmonotonic_runtime_start       (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_nonmonotonic_runtime_next        (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_maybe_nonmonotonic_runtime_start (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_maybe_nonmonotonic_runtime_next  (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_start                                (from: c_long, to: c_long, by: c_long, how: c_long, chunk: c_long, first: Long, end: Long, reductions: *mut usize, memory: *mut *mut c_void) -> bool;
    Acquire fn GOMP_loop_ull_start                            (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, how: c_long, chunk: c_ulonglong, first: Ull, end: Ull, reductions: *mut usize, memory: *mut *mut c_void) -> bool;
    Acquire fn GOMP_loop_ordered_dynamic_start                (from: c_long, to: c_long, by: c_long, chunk: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_ordered_guided_start                 (from: c_long, to: c_long, by: c_long, chunk: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_ordered_runtime_start                (from: c_long, to: c_long, by: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_ordered_start                        (from: c_long, to: c_long, by: c_long, how: c_long, chunk: c_long, first: Long, end: Long, reductions: *mut usize, memory: *mut *mut c_void) -> bool;
    Acquire fn GOMP_loop_doacross_dynamic_start               (many: c_uint, counts: Long, chunk: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_doacross_guided_start                (many: c_uint, counts: Long, chunk: c_long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_doacross_runtime_start               (many: c_uint, counts: Long, first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_doacross_start                       (many: c_uint, counts: Long, how: c_long, chunk: c_long, first: Long, end: Long, reductions: *mut usize, memory: *mut *mut c_void) -> bool;
    Acquire fn GOMP_loop_ull_ordered_dynamic_start            (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, chunk: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_ordered_guided_start             (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, chunk: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_ordered_runtime_start            (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_ordered_start                    (up: bool, from: c_ulonglong, to: c_ulonglong, by: c_ulonglong, how: c_long, chunk: c_ulonglong, first: Ull, end: Ull, reductions: *mut usize, memory: *mut *mut c_void) -> bool;
    Acquire fn GOMP_loop_ull_doacross_dynamic_start           (many: c_uint, counts: Ull, chunk: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_doacross_guided_start            (many: c_uint, counts: Ull, chunk: c_ulonglong, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_doacross_runtime_start           (many: c_uint, counts: Ull, first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_doacross_start                   (many: c_uint, counts: Ull, how: c_long, chunk: c_ulonglong, first: Ull, end: Ull, reductions: *mut usize, memory: *mut *mut c_void) -> bool;
    Acquire fn GOMP_single_start                              () -> bool;
    Acquire fn GOMP_sections_start                            (many: c_uint) -> c_uint;
    Acquire fn GOMP_sections2_start                           (many: c_uint, reductions: *mut usize, memory: *mut *mut c_void) -> c_uint;
    Acquire fn GOMP_sections_next                             () -> c_uint;
  in order {
    Acquire fn GOMP_loop_ordered_dynamic_next                 (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_ordered_guided_next                  (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_ordered_runtime_next                 (first: Long, end: Long) -> bool;
    Acquire fn GOMP_loop_ull_ordered_dynamic_next             (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_ordered_guided_next              (first: Ull, end: Ull) -> bool;
    Acquire fn GOMP_loop_ull_ordered_runtime_next             (first: Ull, end: Ull) -> bool;
  }
}
