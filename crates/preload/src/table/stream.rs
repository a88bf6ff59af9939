//! Streams: the order in which threads write to one is part of what a program does.
//!
//! Only once a program has more than one thread. Reading from streams is not ordered.

use crate::handle::{output, stream, writing};
use libc::{FILE, c_char, c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

/// A `va_list`, handed on unopened.
pub type Arguments = *mut c_void;

interpose! {
    Acquire fn puts            (text: *const c_char) -> c_int                                                            => stream::puts;
    Acquire fn fputs           (text: *const c_char, f: *mut FILE) -> c_int                                              => stream::fputs;
    Acquire fn fputc           (c: c_int, f: *mut FILE) -> c_int                                                         => stream::fputc;
    Acquire fn putc            (c: c_int, f: *mut FILE) -> c_int                                                         => stream::fputc;
    Acquire fn _IO_putc        (c: c_int, f: *mut FILE) -> c_int                                                         => stream::fputc;
    Acquire fn putchar         (c: c_int) -> c_int                                                                       => stream::putchar;
    Acquire fn fwrite          (from: *const c_void, size: size_t, many: size_t, f: *mut FILE) -> size_t                 => stream::fwrite;
    Acquire fn fflush          (f: *mut FILE) -> c_int                                                                   => stream::fflush;
    Acquire fn fclose          (f: *mut FILE) -> c_int                                                                   => stream::fclose;
    Acquire fn vprintf         (format: *const c_char, a: Arguments) -> c_int                                            => stream::vprintf;
    Acquire fn vfprintf        (f: *mut FILE, format: *const c_char, a: Arguments) -> c_int                              => stream::vfprintf;
    Acquire fn __vfprintf_chk  (f: *mut FILE, flag: c_int, format: *const c_char, a: Arguments) -> c_int                 => stream::vfprintf_chk;
    Acquire fn __vprintf_chk   (flag: c_int, format: *const c_char, a: Arguments) -> c_int                               => stream::vprintf_chk;
    Acquire fn write           (fd: c_int, from: *const c_void, length: size_t) -> ssize_t                               => stream::write;
    Acquire fn writev          (fd: c_int, parts: *const iovec, many: c_int) -> ssize_t                                  => stream::writev;
    Acquire fn vdprintf        (fd: c_int, format: *const c_char, a: Arguments) -> c_int                                 => stream::vdprintf;
    Acquire fn __vdprintf_chk  (fd: c_int, flag: c_int, format: *const c_char, a: Arguments) -> c_int                    => stream::vdprintf_chk;
    Outward fn send            (fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t                 => writing::send;
    Outward fn sendto          (fd: c_int, from: *const c_void, length: size_t, flags: c_int, to: *const sockaddr, name: socklen_t) -> ssize_t => writing::sendto;
    Outward fn sendmsg         (fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t                              => writing::sendmsg;
    Note    fn dup2            (from: c_int, to: c_int) -> c_int                                                         => output::dup2;
    Note    fn dup3            (from: c_int, to: c_int, flags: c_int) -> c_int                                           => output::dup3;
    Note    fn close           (fd: c_int) -> c_int                                                                      => output::close;
    Acquire fn flockfile       (f: *mut FILE)                                                                            => stream::lock;
    Acquire fn ftrylockfile    (f: *mut FILE) -> c_int                                                                   => stream::trylock;
}

/// Rows of functions whose arguments vary: the exported name jumps to its form in `variadic.c`, which calls back.
macro_rules! variadic {
    ($( $class:ident fn $name:ident ( $($rest:tt)* ) -> c_int => $target:literal; )*) => {$(
        /// Caught.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(".cfi_startproc", concat!("jmp ", $target), ".cfi_endproc");
        }
    )*};
}

variadic! {
    Acquire fn printf          (format: *const c_char, ...) -> c_int                                                     => "retake_printf";
    Acquire fn fprintf         (f: *mut FILE, format: *const c_char, ...) -> c_int                                       => "retake_fprintf";
    Acquire fn __printf_chk    (flag: c_int, format: *const c_char, ...) -> c_int                                        => "retake_printf_chk";
    Acquire fn __fprintf_chk   (f: *mut FILE, flag: c_int, format: *const c_char, ...) -> c_int                          => "retake_fprintf_chk";
    Acquire fn dprintf         (fd: c_int, format: *const c_char, ...) -> c_int                                          => "retake_dprintf";
    Acquire fn __dprintf_chk   (fd: c_int, flag: c_int, format: *const c_char, ...) -> c_int                             => "retake_dprintf_chk";
    Create  fn execl           (path: *const c_char, arg: *const c_char, ...) -> c_int                                   => "retake_execl";
    Create  fn execlp          (file: *const c_char, arg: *const c_char, ...) -> c_int                                   => "retake_execlp";
    Create  fn execle          (path: *const c_char, arg: *const c_char, ...) -> c_int                                   => "retake_execle";
}
