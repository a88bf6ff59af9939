//! Calls that wait for the outside: for a file, a socket, a queue, another process.

use crate::handle::outward::{self, outward};
use crate::handle::{random, reading, ready};
use libc::{
    aiocb, c_char, c_int, c_long, c_uint, c_void, epoll_event, fd_set, iovec, mmsghdr, mqd_t, msghdr, nfds_t, off_t,
    pollfd, sembuf, sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec, timeval,
};

/// Rows without a handler need none: their meaning is to be outward.
macro_rules! outward {
    ($( Outward fn $name:ident ( $($arg:ident : $type:ty),* ) -> $result:ty; )* with { $($other:tt)* }) => {
        interpose! {
            $( Outward fn $name ( $($arg : $type),* ) -> $result => plain::$name; )*
            $($other)*
        }

        mod plain {
            use super::*;
            $(
                pub unsafe fn $name($($arg: $type),*) -> $result {
                    // SAFETY: the program's arguments.
                    outward(|| unsafe { real::$name($($arg),*) } as i64) as $result
                }
            )*
        }
    };
}

outward! {
    Outward fn pread           (fd: c_int, to: *mut c_void, length: size_t, at: off_t) -> ssize_t;
    Outward fn pread64         (fd: c_int, to: *mut c_void, length: size_t, at: off_t) -> ssize_t;
    Outward fn recvmmsg        (fd: c_int, to: *mut mmsghdr, many: c_uint, flags: c_int, time: *mut timespec) -> c_int;
    Outward fn aio_suspend     (list: *const *const aiocb, many: c_int, time: *const timespec) -> c_int;
    Outward fn aio_suspend64   (list: *const *const aiocb, many: c_int, time: *const timespec) -> c_int;
    Outward fn flock           (fd: c_int, how: c_int) -> c_int;
    Outward fn lockf           (fd: c_int, how: c_int, length: off_t) -> c_int;
    Outward fn lockf64         (fd: c_int, how: c_int, length: off_t) -> c_int;
    Outward fn mq_receive      (queue: mqd_t, to: *mut c_char, length: size_t, priority: *mut c_uint) -> ssize_t;
    Outward fn mq_timedreceive (queue: mqd_t, to: *mut c_char, length: size_t, priority: *mut c_uint, until: *const timespec) -> ssize_t;
    Outward fn msgrcv          (queue: c_int, to: *mut c_void, length: size_t, kind: c_long, flags: c_int) -> ssize_t;
    Outward fn semop           (set: c_int, what: *mut sembuf, many: size_t) -> c_int;
    Outward fn semtimedop      (set: c_int, what: *mut sembuf, many: size_t, time: *const timespec) -> c_int;
  with {
    Outward fn read        (fd: c_int, to: *mut c_void, length: size_t) -> ssize_t => random::read;
    Outward fn __read_chk  (fd: c_int, to: *mut c_void, length: size_t, room: size_t) -> ssize_t => random::read_chk;
    Outward fn select      (many: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *mut timeval) -> c_int => ready::select;
    Outward fn pselect     (many: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *const timespec, blocked: *const sigset_t) -> c_int => ready::pselect;
    Outward fn ppoll       (at: *mut pollfd, many: nfds_t, time: *const timespec, blocked: *const sigset_t) -> c_int => ready::ppoll;
    Outward fn __ppoll_chk (at: *mut pollfd, many: nfds_t, time: *const timespec, blocked: *const sigset_t, room: size_t) -> c_int => ready::ppoll_chk;
    Outward fn epoll_pwait (fd: c_int, to: *mut epoll_event, many: c_int, ms: c_int, blocked: *const sigset_t) -> c_int => ready::epoll_pwait;
    Outward fn epoll_pwait2 (fd: c_int, to: *mut epoll_event, many: c_int, time: *const timespec, blocked: *const sigset_t) -> c_int => ready::epoll_pwait2;
    Outward fn readv (fd: c_int, parts: *const iovec, many: c_int) -> ssize_t => reading::readv;
    Outward fn recv (fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t => reading::recv;
    Outward fn __recv_chk (fd: c_int, to: *mut c_void, length: size_t, room: size_t, flags: c_int) -> ssize_t => reading::recv_chk;
    Outward fn recvfrom (fd: c_int, to: *mut c_void, length: size_t, flags: c_int, from: *mut sockaddr, name: *mut socklen_t) -> ssize_t => reading::recvfrom;
    Outward fn __recvfrom_chk (fd: c_int, to: *mut c_void, length: size_t, room: size_t, flags: c_int, from: *mut sockaddr, name: *mut socklen_t) -> ssize_t => reading::recvfrom_chk;
    Outward fn recvmsg (fd: c_int, to: *mut msghdr, flags: c_int) -> ssize_t => reading::recvmsg;
    Outward fn poll (at: *mut pollfd, many: nfds_t, ms: c_int) -> c_int => ready::poll;
    Outward fn __poll_chk (at: *mut pollfd, many: nfds_t, ms: c_int, room: size_t) -> c_int => ready::poll_chk;
    Outward fn epoll_wait (fd: c_int, to: *mut epoll_event, many: c_int, ms: c_int) -> c_int => ready::epoll_wait;
    Outward fn epoll_ctl   (set: c_int, how: c_int, fd: c_int, event: *mut epoll_event) -> c_int => ready::epoll_ctl;
    Outward fn fcntl       (fd: c_int, what: c_int, how: usize) -> c_int => outward::fcntl;
    Outward fn fcntl64     (fd: c_int, what: c_int, how: usize) -> c_int => outward::fcntl;
  }
}
