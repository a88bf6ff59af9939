//! Programs that the program starts: the shim goes with them, under the name of their place in the tree.
//!
//! The variables that do this are hidden from the program, and put in again here. `system` and `popen` start their
//! shells inside libc, out of reach, so they are written out.

use crate::errno;
use crate::handle::environment::{Child, Environment};
use crate::handle::process::{ending, forked, is_borrowed, not_ending};
use crate::handle::wait;
use crate::handle::{asked, image};
use crate::table::process::{Actions, Attributes, Strings, real};
use core::ptr::{null, null_mut};
use libc::{AT_FDCWD, FILE, c_char, c_int, pid_t};
use retake_engine::lock::Lock;
use retake_engine::{thread, turn};
use retake_tape::layout::state;

unsafe extern "C" {
    static mut environ: Strings;
}

fn own_environment() -> Strings {
    // SAFETY: the program's own, read as `execv` does.
    unsafe { environ }
}

/// Whether the shim can go along into a program that is searched for.
unsafe fn found(file: *const c_char) -> bool {
    // SAFETY: the program's strings.
    unsafe { image::found_takes_shim(file, own_environment()) }
}

/// Replaces this program by `call`, which is given the environment; `fit`: the shim can go along.
unsafe fn replace(fit: bool, envp: Strings, call: impl FnOnce(Strings) -> c_int) -> c_int {
    if let Some(thread) = thread::current() {
        thread.creations += 1;
    }
    // SAFETY: the program's environment.
    let environment = unsafe { Environment::new(envp, if fit { Child::Program } else { Child::Unfit }) };
    let borrowed = is_borrowed();
    if !borrowed {
        turn::place();
        ending(state::EXECED, 0);
    }
    asked::give_back();
    let result = call(environment.strings());
    if !borrowed {
        not_ending();
    }
    result
}

pub unsafe fn execve(path: *const c_char, argv: Strings, envp: Strings) -> c_int {
    // SAFETY: the program's arguments; so for the others.
    unsafe { replace(image::takes_shim(AT_FDCWD, path), envp, |envp| real::execve(path, argv, envp)) }
}

pub unsafe fn execv(path: *const c_char, argv: Strings) -> c_int {
    // SAFETY: as above.
    unsafe { replace(image::takes_shim(AT_FDCWD, path), own_environment(), |envp| real::execve(path, argv, envp)) }
}

pub unsafe fn execvp(file: *const c_char, argv: Strings) -> c_int {
    // SAFETY: as above.
    unsafe { replace(found(file), own_environment(), |envp| real::execvpe(file, argv, envp)) }
}

pub unsafe fn execvpe(file: *const c_char, argv: Strings, envp: Strings) -> c_int {
    // SAFETY: as above.
    unsafe { replace(found(file), envp, |envp| real::execvpe(file, argv, envp)) }
}

pub unsafe fn fexecve(fd: c_int, argv: Strings, envp: Strings) -> c_int {
    // SAFETY: as above.
    unsafe { replace(image::open_takes_shim(fd), envp, |envp| real::fexecve(fd, argv, envp)) }
}

pub unsafe fn execveat(dir: c_int, path: *const c_char, argv: Strings, envp: Strings, flags: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let fit = if *path == 0 { image::open_takes_shim(dir) } else { image::takes_shim(dir, path) };
        replace(fit, envp, |envp| real::execveat(dir, path, argv, envp, flags))
    }
}

/// Starts a program by `call`, which is given where the id goes and the environment, and returns 0 or a reason.
unsafe fn spawn(fit: bool, to: *mut pid_t, envp: Strings, call: impl FnOnce(*mut pid_t, Strings) -> c_int) -> c_int {
    if let Some(thread) = thread::current() {
        thread.creations += 1;
    }
    // SAFETY: the program's environment.
    let environment = unsafe { Environment::new(envp, if fit { Child::Program } else { Child::Unfit }) };
    let mut pid: pid_t = 0;
    let at = &raw mut pid;
    let before = errno::get();
    let got = forked(|| {
        let reason = call(at, environment.strings());
        if reason == 0 {
            // SAFETY: a variable of ours.
            return unsafe { *at };
        }
        errno::set(reason);
        -1
    });
    if got < 0 {
        let reason = errno::get();
        errno::set(before);
        return reason;
    }
    errno::set(before);
    // SAFETY: the program's variable, if there is one.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = got;
    }
    0
}

pub unsafe fn posix_spawn(
    pid: *mut pid_t,
    path: *const c_char,
    files: Actions,
    attributes: Attributes,
    argv: Strings,
    envp: Strings,
) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        let fit = image::takes_shim(AT_FDCWD, path);
        spawn(fit, pid, envp, |pid, envp| real::posix_spawn(pid, path, files, attributes, argv, envp))
    }
}

pub unsafe fn posix_spawnp(
    pid: *mut pid_t,
    file: *const c_char,
    files: Actions,
    attributes: Attributes,
    argv: Strings,
    envp: Strings,
) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { spawn(found(file), pid, envp, |pid, envp| real::posix_spawnp(pid, file, files, attributes, argv, envp)) }
}

const SHELL: *const c_char = c"/bin/sh".as_ptr();

/// How libc calls the shell. From 2.38 on, a command may begin with a dash.
fn shell(command: *const c_char) -> [*const c_char; 5] {
    let (sh, c) = (c"sh".as_ptr(), c"-c".as_ptr());
    if is_since(38) { [sh, c, c"--".as_ptr(), command, null()] } else { [sh, c, command, null(), null()] }
}

/// Whether the program's libc is 2.`minor` or later.
fn is_since(minor: u32) -> bool {
    // SAFETY: libc's own string, which it never changes.
    let version = unsafe { core::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    let digits = version.to_bytes().iter().skip(2).map_while(|digit| (*digit as char).to_digit(10));
    digits.fold(0, |number, digit| number * 10 + digit) >= minor
}

/// As POSIX describes it: interrupts ignored and `SIGCHLD` blocked in the caller while the shell runs.
pub unsafe fn system(command: *const c_char) -> c_int {
    if command.is_null() {
        // SAFETY: only asks whether there is a shell.
        return unsafe { real::system(command) };
    }
    // SAFETY: variables of ours; the dispositions are put back.
    unsafe {
        let mut ignore: libc::sigaction = core::mem::zeroed();
        ignore.sa_sigaction = libc::SIG_IGN;
        let (mut interrupt, mut quit) =
            (core::mem::zeroed::<libc::sigaction>(), core::mem::zeroed::<libc::sigaction>());
        let (mut child, mut before) = (core::mem::zeroed::<libc::sigset_t>(), core::mem::zeroed::<libc::sigset_t>());
        SYSTEMS.with(|| {
            if RUNNING.fetch_add(1, core::sync::atomic::Ordering::Relaxed) == 0 {
                crate::handle::signal::plain_sigaction(libc::SIGINT, &ignore, &mut interrupt);
                crate::handle::signal::plain_sigaction(libc::SIGQUIT, &ignore, &mut quit);
                *INTERRUPT.0.get() = (interrupt, quit);
            }
        });
        libc::sigaddset(&mut child, libc::SIGCHLD);
        crate::table::signal::real::pthread_sigmask(libc::SIG_BLOCK, &child, &mut before);
        let mut defaults: libc::sigset_t = core::mem::zeroed();
        let (interrupt, quit) = &*INTERRUPT.0.get();
        if interrupt.sa_sigaction != libc::SIG_IGN {
            libc::sigaddset(&mut defaults, libc::SIGINT);
        }
        if quit.sa_sigaction != libc::SIG_IGN {
            libc::sigaddset(&mut defaults, libc::SIGQUIT);
        }
        let mut attributes: libc::posix_spawnattr_t = core::mem::zeroed();
        libc::posix_spawnattr_init(&mut attributes);
        libc::posix_spawnattr_setsigmask(&mut attributes, &before);
        libc::posix_spawnattr_setsigdefault(&mut attributes, &defaults);
        let flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
        libc::posix_spawnattr_setflags(&mut attributes, flags as _);
        let mut pid = 0;
        let argv = shell(command);
        let reason = posix_spawn(&mut pid, SHELL, null(), &attributes, argv.as_ptr(), own_environment());
        libc::posix_spawnattr_destroy(&mut attributes);
        let undo = PutBack { before };
        let mut status = 127 << 8;
        if reason == 0 {
            let killer = KillChild { pid };
            loop {
                let got = wait::waitpid(pid, &mut status, 0);
                if got == pid {
                    break;
                }
                if errno::get() != libc::EINTR {
                    status = -1;
                    break;
                }
            }
            core::mem::forget(killer);
        }
        drop(undo);
        if reason != 0 {
            errno::set(reason);
        }
        status
    }
}

static SYSTEMS: Lock = Lock::new();
static RUNNING: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
struct Kept(core::cell::UnsafeCell<(libc::sigaction, libc::sigaction)>);
// SAFETY: written under the lock by the first of several calls of `system` that run at once.
unsafe impl Sync for Kept {}
// SAFETY: all zero is the default disposition.
static INTERRUPT: Kept = Kept(core::cell::UnsafeCell::new(unsafe { core::mem::zeroed() }));

/// Puts signals back as they were, also when the caller is cancelled.
struct PutBack {
    before: libc::sigset_t,
}

impl Drop for PutBack {
    fn drop(&mut self) {
        // SAFETY: variables of ours.
        unsafe {
            SYSTEMS.with(|| {
                if RUNNING.fetch_sub(1, core::sync::atomic::Ordering::Relaxed) == 1 {
                    let (interrupt, quit) = &*INTERRUPT.0.get();
                    crate::handle::signal::plain_sigaction(libc::SIGINT, interrupt, null_mut());
                    crate::handle::signal::plain_sigaction(libc::SIGQUIT, quit, null_mut());
                }
            });
            crate::table::signal::real::pthread_sigmask(libc::SIG_SETMASK, &self.before, null_mut());
        }
    }
}

/// A cancelled caller takes its shell with it.
struct KillChild {
    pid: pid_t,
}

impl Drop for KillChild {
    fn drop(&mut self) {
        // SAFETY: our own child.
        unsafe {
            let now = crate::handle::process::present(self.pid);
            retake_engine::sys::kill(now as usize, libc::SIGKILL as usize);
            real::waitpid(now, null_mut(), 0);
        }
    }
}

/// Pipes to shells that are open.
const PIPES: usize = 256;
struct Pipes(core::cell::UnsafeCell<[(*mut FILE, pid_t); PIPES]>);
// SAFETY: touched under the lock only.
unsafe impl Sync for Pipes {}
static PIPES_OPEN: Pipes = Pipes(core::cell::UnsafeCell::new([(null_mut(), 0); PIPES]));
static PIPES_LOCK: Lock = Lock::new();

fn with_pipes<R>(body: impl FnOnce(&mut [(*mut FILE, pid_t); PIPES]) -> R) -> R {
    // SAFETY: under the lock.
    PIPES_LOCK.with(|| body(unsafe { &mut *PIPES_OPEN.0.get() }))
}

pub unsafe fn popen(command: *const c_char, how: *const c_char) -> *mut FILE {
    // SAFETY: the program's strings; descriptors and variables of ours.
    unsafe {
        let (mut reads, mut writes, mut keeps_closed, mut valid) = (false, false, false, true);
        let mut at = how;
        while *at != 0 {
            match *at as u8 {
                b'r' => reads = true,
                b'w' => writes = true,
                b'e' => keeps_closed = true,
                _ => valid = false,
            }
            at = at.add(1);
        }
        if !valid || reads == writes {
            errno::set(libc::EINVAL);
            return null_mut();
        }
        if with_pipes(|pipes| pipes.iter().all(|(stream, _)| !stream.is_null())) {
            errno::set(libc::EMFILE);
            return null_mut();
        }
        let mut pipe = [0 as c_int; 2];
        if libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return null_mut();
        }
        let (mine, theirs, target) = if reads { (pipe[0], pipe[1], 1) } else { (pipe[1], pipe[0], 0) };
        let mut actions: libc::posix_spawn_file_actions_t = core::mem::zeroed();
        libc::posix_spawn_file_actions_init(&mut actions);
        with_pipes(|pipes| {
            for (stream, _) in pipes.iter().filter(|(stream, _)| !stream.is_null()) {
                libc::posix_spawn_file_actions_addclose(&mut actions, libc::fileno(*stream));
            }
        });
        libc::posix_spawn_file_actions_adddup2(&mut actions, theirs, target);
        let mut pid = 0;
        let argv = shell(command);
        let reason = posix_spawn(&mut pid, SHELL, &actions, null(), argv.as_ptr(), own_environment());
        libc::posix_spawn_file_actions_destroy(&mut actions);
        libc::close(theirs);
        let mode = if reads { c"r" } else { c"w" };
        let stream = if reason == 0 { libc::fdopen(mine, mode.as_ptr()) } else { null_mut() };
        if stream.is_null() {
            let reason = if reason == 0 { errno::get() } else { reason };
            libc::close(mine);
            errno::set(reason);
            return null_mut();
        }
        if !keeps_closed {
            libc::fcntl(mine, libc::F_SETFD, 0);
        }
        with_pipes(|pipes| {
            if let Some(free) = pipes.iter_mut().find(|(stream, _)| stream.is_null()) {
                *free = (stream, pid);
            }
        });
        stream
    }
}

pub unsafe fn pclose(stream: *mut FILE) -> c_int {
    let found = with_pipes(|pipes| {
        let open = pipes.iter_mut().find(|(open, _)| *open == stream)?;
        open.0 = null_mut();
        Some(open.1)
    });
    // SAFETY: the program's stream; our own child.
    unsafe {
        let Some(pid) = found else { return real::pclose(stream) };
        libc::fclose(stream);
        let mut status = 0;
        // libc waits here without being cancelled.
        turn::undisturbed(|| {
            loop {
                if wait::waitpid(pid, &mut status, 0) == pid {
                    return status;
                }
                if errno::get() != libc::EINTR {
                    return -1;
                }
            }
        })
    }
}

/// For the variadic forms in `variadic.c`.
#[unsafe(no_mangle)]
unsafe extern "C" fn retake_execve(path: *const c_char, argv: Strings, envp: Strings, search: c_int) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        let envp = if envp.is_null() { own_environment() } else { envp };
        if search != 0 { execvpe(path, argv, envp) } else { execve(path, argv, envp) }
    }
}
