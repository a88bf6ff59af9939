//! Inputs: not recorded, but told, so that nobody is surprised when one has changed.

use crate::handle::{connection, input, random};
use libc::{FILE, c_char, c_int, c_void, mode_t, size_t, sockaddr, socklen_t};

interpose! {
    Note fn open      (path: *const c_char, flags: c_int, mode: mode_t) -> c_int                        => input::open;
    Note fn open64    (path: *const c_char, flags: c_int, mode: mode_t) -> c_int                        => input::open;
    Note fn __open_2  (path: *const c_char, flags: c_int) -> c_int                                      => input::open_2;
    Note fn __open64_2(path: *const c_char, flags: c_int) -> c_int                                      => input::open_2;
    Note fn openat    (dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int            => input::openat;
    Note fn openat64  (dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int            => input::openat;
    Note fn fopen     (path: *const c_char, how: *const c_char) -> *mut FILE                            => input::fopen;
    Note fn fopen64   (path: *const c_char, how: *const c_char) -> *mut FILE                            => input::fopen;
    Note fn freopen   (path: *const c_char, how: *const c_char, f: *mut FILE) -> *mut FILE              => input::freopen;
    Value fn fread    (to: *mut c_void, size: size_t, many: size_t, f: *mut FILE) -> size_t             => random::fread;
    Outward fn connect   (fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int                      => connection::connect;
    Outward fn accept    (fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int                 => connection::accept;
    Outward fn accept4   (fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int   => connection::accept4;
}
