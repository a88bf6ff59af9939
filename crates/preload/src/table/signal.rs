//! Signals.

use crate::handle::{mask, send, signal};
use libc::{
    c_int, c_uint, c_void, itimerspec, itimerval, pid_t, pthread_t, sigaction as Action, sighandler_t, siginfo_t,
    sigset_t, sigval, timer_t, timespec,
};

interpose! {
    Signal  fn sigaction        (number: c_int, new: *const Action, old: *mut Action) -> c_int                    => signal::sigaction;
    Signal  fn signal           (number: c_int, handler: sighandler_t) -> sighandler_t                            => signal::signal;
    Signal  fn __sysv_signal    (number: c_int, handler: sighandler_t) -> sighandler_t                            => signal::sysv_signal;
    Signal  fn bsd_signal       (number: c_int, handler: sighandler_t) -> sighandler_t                            => signal::signal;
    Signal  fn ssignal          (number: c_int, handler: sighandler_t) -> sighandler_t                            => signal::signal;
    Signal  fn sigset           (number: c_int, handler: sighandler_t) -> sighandler_t                            => signal::sigset;
    Signal  fn siginterrupt     (number: c_int, interrupt: c_int) -> c_int                                        => signal::siginterrupt;
    Signal  fn sigprocmask      (how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int                   => mask::sigprocmask;
    Signal  fn pthread_sigmask  (how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int                   => mask::thread_mask;
    Signal  fn sighold          (number: c_int) -> c_int                                                          => mask::sighold;
    Signal  fn sigrelse         (number: c_int) -> c_int                                                          => mask::sigrelse;
    Signal  fn sigblock         (mask: c_int) -> c_int                                                            => mask::sigblock;
    Signal  fn sigsetmask       (mask: c_int) -> c_int                                                            => mask::sigsetmask;
    Signal  fn alarm            (seconds: c_uint) -> c_uint                                                       => mask::alarm;
    Signal  fn ualarm           (us: c_uint, interval: c_uint) -> c_uint                                          => mask::ualarm;
    Signal  fn setitimer        (which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int               => mask::setitimer;
    Signal  fn timer_settime    (timer: timer_t, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int => mask::timer_settime;
    Signal  fn timer_delete     (timer: timer_t) -> c_int                                                         => mask::timer_delete;
    Signal  fn raise            (number: c_int) -> c_int                                                          => send::raise;
    Signal  fn kill             (pid: pid_t, number: c_int) -> c_int                                              => send::kill;
    Signal  fn killpg           (group: pid_t, number: c_int) -> c_int                                            => send::killpg;
    Signal  fn pthread_kill     (t: pthread_t, number: c_int) -> c_int                                            => send::pthread_kill;
    Signal  fn pthread_sigqueue (t: pthread_t, number: c_int, value: sigval) -> c_int                             => send::pthread_sigqueue;
    Signal  fn sigqueue         (pid: pid_t, number: c_int, value: sigval) -> c_int                               => send::sigqueue;
    Signal  fn tgkill           (pid: pid_t, tid: pid_t, number: c_int) -> c_int                                  => send::tgkill;
    Outcome fn sigwait          (set: *const sigset_t, to: *mut c_int) -> c_int                                   => signal::sigwait;
    Outcome fn sigwaitinfo      (set: *const sigset_t, to: *mut siginfo_t) -> c_int                               => signal::sigwaitinfo;
    Outcome fn sigtimedwait     (set: *const sigset_t, to: *mut siginfo_t, time: *const timespec) -> c_int        => signal::sigtimedwait;
    Outcome fn sigsuspend       (set: *const sigset_t) -> c_int                                                   => signal::sigsuspend;
    Outcome fn sigpause         (blocked: c_int) -> c_int                                                         => signal::sigpause;
    Outcome fn __xpg_sigpause   (number: c_int) -> c_int                                                          => signal::sigpause_for;
    Outcome fn __sigpause       (what: c_int, is_number: c_int) -> c_int                                          => signal::sigpause_either;
    Signal  fn siglongjmp       (to: *mut c_void, value: c_int)                                                   => signal::siglongjmp;
    Signal  fn longjmp          (to: *mut c_void, value: c_int)                                                   => signal::longjmp;
    Signal  fn _longjmp         (to: *mut c_void, value: c_int)                                                   => signal::plain_longjmp;
    Signal  fn __longjmp_chk    (to: *mut c_void, value: c_int)                                                   => signal::longjmp_chk;
    Outcome fn pause            () -> c_int                                                                       => signal::pause;
}
