//! Processes: their children, their ids, their end.

use crate::handle::{exec, process, wait};
use libc::{
    FILE, c_char, c_int, c_void, id_t, idtype_t, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t, rusage,
    siginfo_t,
};

/// A vector of strings, as `execve` takes them.
pub type Strings = *const *const c_char;
/// What `posix_spawn` does to files in the child.
pub type Actions = *const posix_spawn_file_actions_t;
/// How `posix_spawn` starts the child.
pub type Attributes = *const posix_spawnattr_t;

interpose! {
    Create  fn fork         () -> pid_t                                                                                      => process::fork;
    Create  fn _Fork        () -> pid_t                                                                                      => process::fork_alone;
    Create  fn execve       (path: *const c_char, argv: Strings, envp: Strings) -> c_int                                     => exec::execve;
    Create  fn execv        (path: *const c_char, argv: Strings) -> c_int                                                    => exec::execv;
    Create  fn execvp       (file: *const c_char, argv: Strings) -> c_int                                                    => exec::execvp;
    Create  fn execvpe      (file: *const c_char, argv: Strings, envp: Strings) -> c_int                                     => exec::execvpe;
    Create  fn fexecve      (fd: c_int, argv: Strings, envp: Strings) -> c_int                                               => exec::fexecve;
    Create  fn execveat     (dir: c_int, path: *const c_char, argv: Strings, envp: Strings, flags: c_int) -> c_int            => exec::execveat;
    Create  fn posix_spawn  (pid: *mut pid_t, path: *const c_char, f: Actions, a: Attributes, argv: Strings, envp: Strings) -> c_int => exec::posix_spawn;
    Create  fn posix_spawnp (pid: *mut pid_t, file: *const c_char, f: Actions, a: Attributes, argv: Strings, envp: Strings) -> c_int => exec::posix_spawnp;
    Create  fn system       (command: *const c_char) -> c_int                                                                => exec::system;
    Create  fn popen        (command: *const c_char, how: *const c_char) -> *mut FILE                                        => exec::popen;
    Outcome fn pclose       (stream: *mut FILE) -> c_int                                                                     => exec::pclose;
    Outcome fn wait         (status: *mut c_int) -> pid_t                                                                    => wait::wait;
    Outcome fn waitpid      (pid: pid_t, status: *mut c_int, how: c_int) -> pid_t                                            => wait::waitpid;
    Outcome fn wait3        (status: *mut c_int, how: c_int, usage: *mut rusage) -> pid_t                                    => wait::wait3;
    Outcome fn wait4        (pid: pid_t, status: *mut c_int, how: c_int, usage: *mut rusage) -> pid_t                        => wait::wait4;
    Outcome fn waitid       (kind: idtype_t, id: id_t, info: *mut siginfo_t, how: c_int) -> c_int                            => wait::waitid;
    Value   fn getpid       () -> pid_t                                                                                      => process::getpid;
    Value   fn getppid      () -> pid_t                                                                                      => process::getppid;
    Value   fn gettid       () -> pid_t                                                                                      => process::gettid;
    Value   fn getpgrp      () -> pid_t                                                                                      => process::getpgrp;
    Value   fn getpgid      (pid: pid_t) -> pid_t                                                                            => process::getpgid;
    Value   fn setpgid      (pid: pid_t, group: pid_t) -> c_int                                                              => process::setpgid;
    Value   fn getsid       (pid: pid_t) -> pid_t                                                                            => process::getsid;
    Value   fn setsid       () -> pid_t                                                                                      => process::setsid;
    Value   fn tcgetpgrp    (fd: c_int) -> pid_t                                                                             => process::tcgetpgrp;
    Value   fn tcsetpgrp    (fd: c_int, group: pid_t) -> c_int                                                               => process::tcsetpgrp;
    Outcome fn _exit        (status: c_int)                                                                                  => process::exit_now;
    Outcome fn _Exit        (status: c_int)                                                                                  => process::exit_now;
    Outcome fn quick_exit   (status: c_int)                                                                                  => process::quick_exit;
    Outcome fn abort        ()                                                                                               => process::abort;
    Note    fn dlopen       (path: *const c_char, flags: c_int) -> *mut c_void                                               => process::dlopen;
}
