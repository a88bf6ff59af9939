//! Starting a program under the shim, the same way for record, replay and developing.
//!
//! Law: the program gets what it would get without retake (descriptors, signal dispositions, process group, terminal),
//! plus the seven variables of [`crate::environment`], which the shim hides.

use crate::facts::{Ended, Text};
use crate::session::Mapped;
use crate::status::{Failure, Result, Status, plain};
use retake_tape::choices::serve;
use std::ffi::{CString, OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How long the other processes of a replay may take to end once one of them has reported.
const GRACE: Duration = Duration::from_secs(3);
/// Signals that reach retake alone and are meant for the program.
const FORWARDED: [i32; 10] = [
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
];
/// Signals that the terminal sends to the program as well.
const FROM_TERMINAL: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

/// What to start, and how.
#[derive(Clone)]
pub struct Launch {
    pub exe: PathBuf,
    pub argv: Vec<OsString>,
    /// `NAME=VALUE`, in order, ours included.
    pub environment: Vec<OsString>,
    pub cwd: Option<PathBuf>,
    /// Descriptors that become 0, 1 and 2 in place of retake's own.
    pub streams: [Option<i32>; 3],
    pub stack_limit: Option<u64>,
    /// It is the head of a group of processes, and ends when retake does.
    pub is_apart: bool,
    /// The socket of a server of copies.
    pub socket: Option<i32>,
}

/// How it went.
pub struct Ran {
    pub ended: Ended,
    pub aslr_off: bool,
    /// It was ended because `watch` said so.
    pub stopped: bool,
}

/// The program that `word` means, as a shell would find it.
pub fn find_program(word: &OsStr, path: Option<&OsStr>) -> Result<PathBuf> {
    let executable = |path: &Path| {
        let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return false };
        // SAFETY: a C string.
        path.is_file() && unsafe { libc::access(name.as_ptr(), libc::X_OK) } == 0
    };
    let shown = word.to_string_lossy();
    if word.as_bytes().contains(&b'/') {
        let path = PathBuf::from(word);
        if !path.exists() {
            return Err(Failure::new(Status::NotFound, format!("{shown}: not found")));
        }
        if !executable(&path) {
            let why = if path.is_dir() { "it is a directory" } else { "it is not executable" };
            let failure = Failure::new(Status::NotExecutable, format!("{shown}: {why}"));
            return Err(if path.is_dir() { failure } else { failure.next(format!("chmod +x {shown}")) });
        }
        return Ok(path);
    }
    let mut there = false;
    for dir in std::env::split_paths(path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"))) {
        let dir = if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir };
        let path = dir.join(word);
        if !word.is_empty() && executable(&path) {
            return Ok(path);
        }
        there |= !word.is_empty() && path.is_file();
    }
    if there {
        return Err(Failure::new(Status::NotExecutable, format!("{shown}: it is not executable")));
    }
    let failure = Failure::new(Status::NotFound, format!("{shown}: not found in PATH"));
    Err(if Path::new(word).is_file() { failure.next(format!("retake record -- ./{shown}")) } else { failure })
}

/// Whoever sends one of these wants an end; all others are between the sender and the program.
const ASKS_TO_END: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// The signal that has asked retake, or the program that it runs, to end; or 0.
static ASKED: AtomicI32 = AtomicI32::new(0);
/// How often that was.
static REQUESTS: AtomicI32 = AtomicI32::new(0);

extern "C" fn note_asked(signal: i32) {
    ASKED.store(signal, SeqCst);
    REQUESTS.fetch_add(1, SeqCst);
}

/// From here on a signal that asks retake to end is noted; [`asked_to_end`] tells.
pub fn note_requests() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only does what handlers may do.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut old);
            if old.sa_sigaction != libc::SIG_IGN {
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = note_asked as *const () as usize;
                libc::sigaction(signal, &new, std::ptr::null_mut());
            }
        }
    }
}

/// The signal that has asked retake to end.
pub fn asked_to_end() -> Option<i32> {
    Some(ASKED.load(SeqCst)).filter(|signal| *signal != 0)
}

/// How often retake has been asked to end.
pub fn requests() -> i32 {
    REQUESTS.load(SeqCst)
}

static CHILD: AtomicI32 = AtomicI32::new(0);

extern "C" fn hand_on(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let child = CHILD.load(SeqCst);
    // SAFETY: the kernel gives a valid pointer; what is called is allowed in handlers. What the terminal sent (a positive
    // code) has reached the program already, and so has what the program sent to its own group.
    unsafe {
        let before = *libc::__errno_location();
        let is_sent = (*info).si_code <= 0;
        let is_own = is_sent && child > 0 && descends((*info).si_pid(), child);
        if !is_own {
            if ASKS_TO_END.contains(&signal) {
                note_asked(signal);
            }
            if child > 0 && is_sent {
                libc::kill(child, signal);
            }
        }
        *libc::__errno_location() = before;
    }
}

/// Whether process `pid` is `ancestor`, or one of its descendants. Does only what handlers may do.
pub fn descends(mut pid: i32, ancestor: i32) -> bool {
    while pid > 1 && pid != ancestor {
        pid = parent(pid).unwrap_or(0);
    }
    pid == ancestor
}

fn parent(pid: i32) -> Option<i32> {
    let mut path = [0u8; 32];
    write!(&mut path[..31], "/proc/{pid}/stat").ok()?;
    let mut text = [0u8; 256];
    // SAFETY: the path ends in a zero, and the buffer is as long as said.
    let length = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        usize::try_from(length).ok()?
    };
    // The name in parentheses may contain anything; behind it are the state and the parent.
    let behind = text[..length].iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(&text[behind..length]).ok()?.split(' ').nth(2)?.parse().ok()
}

/// Signals that retake ignores, so that a write fails instead: Rust's runtime the first, [`survive_limits`] the second.
const MADE_ERRORS: [i32; 2] = [libc::SIGPIPE, libc::SIGXFSZ];
/// What is changed before the program is started: which of these signals were ignored already (a bit each), and which of
/// the three streams were closed.
static IGNORED: AtomicI32 = AtomicI32::new(0);
static CLOSED: AtomicI32 = AtomicI32::new(0);

/// A limit on the size of files makes retake's writes fail; it does not kill retake.
pub fn survive_limits() {
    // SAFETY: a write that fails is told.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Makes those signals what they were before retake began.
fn stop_ignoring() {
    for (at, signal) in MADE_ERRORS.iter().enumerate() {
        if IGNORED.load(SeqCst) & 1 << at == 0 {
            // SAFETY: what they do by default.
            unsafe { libc::signal(*signal, libc::SIG_DFL) };
        }
    }
}

extern "C" fn note_start() {
    // SAFETY: only asks.
    unsafe {
        let is_ignored = |signal: &i32| {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(*signal, std::ptr::null(), &mut action);
            action.sa_sigaction == libc::SIG_IGN
        };
        let ignored = MADE_ERRORS.iter().enumerate().filter(|(_, signal)| is_ignored(signal));
        IGNORED.store(ignored.fold(0, |bits, (at, _)| bits | 1 << at), SeqCst);
        let closed = (0..3).filter(|stream| libc::fcntl(*stream, libc::F_GETFD) < 0);
        CLOSED.store(closed.fold(0, |bits, stream| bits | 1 << stream), SeqCst);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_START: extern "C" fn() = note_start;

/// Whether we were started without this stream.
pub fn was_closed(stream: i32) -> bool {
    CLOSED.load(SeqCst) & 1 << stream != 0
}

/// What is to become of a running program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    GoOn,
    /// That process is killed. If it is the program itself, it counts as `ended` so.
    Stop {
        pid: i32,
        ended: Ended,
    },
    /// All processes of the session are killed.
    StopAll,
}

/// Starts the program, waits until it has ended, and hands signals on meanwhile. `watch` is asked now
/// and then what is to become of it.
pub fn run(launch: &Launch, session: &Mapped, watch: &mut dyn FnMut(i32) -> Verdict) -> Result<Ran> {
    let mut before = Vec::new();
    for signal in FORWARDED.into_iter().chain(FROM_TERMINAL).chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
        // SAFETY: the handler only does what handlers may do.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut old);
            if old.sa_sigaction != libc::SIG_IGN {
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = hand_on as *const () as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &new, std::ptr::null_mut());
                before.push((signal, old));
            }
        }
    }
    let started = start(launch, &before);
    let ended = started.as_ref().ok().map(|(child, _)| wait(*child, session, watch));
    CHILD.store(0, SeqCst);
    let (_, aslr_off) = started?;
    let (ended, stopped) = ended.unwrap_or((Ended::Exit(0), false));
    Ok(Ran { ended, aslr_off, stopped })
}

/// A launch in the form that the kernel wants, made before the fork.
struct Ready<'a> {
    launch: &'a Launch,
    exe: CString,
    argv: Vec<CString>,
    environment: Vec<CString>,
    cwd: Option<CString>,
}

impl Ready<'_> {
    fn new(launch: &Launch) -> Result<Ready<'_>> {
        let c =
            |text: &OsStr| CString::new(text.as_bytes()).map_err(|_| Failure::own("an argument has a zero byte in it"));
        Ok(Ready {
            launch,
            exe: c(launch.exe.as_os_str())?,
            argv: launch.argv.iter().map(|text| c(text)).collect::<Result<Vec<_>>>()?,
            environment: launch.environment.iter().map(|text| c(text)).collect::<Result<Vec<_>>>()?,
            cwd: launch.cwd.as_ref().map(|path| c(path.as_os_str())).transpose()?,
        })
    }

    /// Makes this process the program. `tell` gets what went wrong: `p` randomisation stays on, `d` no such directory,
    /// `x` it cannot be executed.
    ///
    /// # Safety
    /// Streams and settings of this process change; the pointers must be those of [`pointers`].
    unsafe fn execute(&self, argv: &[*const libc::c_char], environment: &[*const libc::c_char], tell: &dyn Fn(u8)) {
        // SAFETY: plain system calls with structures of ours.
        unsafe {
            let now = libc::personality(0xffff_ffff);
            if libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong) < 0 {
                tell(b'p');
            }
            if let Some(limit) = self.launch.stack_limit {
                let mut now: libc::rlimit = std::mem::zeroed();
                libc::getrlimit(libc::RLIMIT_STACK, &mut now);
                now.rlim_cur = limit.min(now.rlim_max);
                libc::setrlimit(libc::RLIMIT_STACK, &now);
            }
            for (target, stream) in self.launch.streams.iter().enumerate() {
                if let Some(stream) = stream {
                    libc::dup2(*stream, target as i32);
                } else if was_closed(target as i32) {
                    libc::close(target as i32);
                }
            }
            if let Some(socket) = self.launch.socket {
                libc::dup2(socket, serve::SOCKET as i32);
            }
            if let Some(cwd) = &self.cwd
                && libc::chdir(cwd.as_ptr()) != 0
            {
                return tell(b'd');
            }
            libc::execve(self.exe.as_ptr(), argv.as_ptr(), environment.as_ptr());
            tell(b'x');
        }
    }

    /// Why [`Ready::execute`] came back.
    fn failure(&self, what: u8, errno: i32) -> Failure {
        let (exe, why) = (self.launch.exe.display(), plain(&std::io::Error::from_raw_os_error(errno)));
        match what {
            b'd' => {
                let dir = self.launch.cwd.as_deref().unwrap_or(Path::new("")).display();
                Failure::own(format!("cannot go to {dir}, where the program was recorded: {why}"))
            }
            _ if errno == libc::ENOENT => {
                Failure::new(Status::NotFound, format!("{exe}: not found, or its interpreter is not"))
            }
            _ => {
                let failure = Failure::new(Status::NotExecutable, format!("{exe}: cannot be executed: {why}"));
                let script = format!("retake record -- sh {exe}");
                if errno == libc::ENOEXEC { failure.next(script) } else { failure }
            }
        }
    }
}

fn pointers(all: &[CString]) -> Vec<*const libc::c_char> {
    all.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Makes this process the program; returns only if that fails.
pub fn become_it(launch: &Launch) -> Failure {
    let ready = match Ready::new(launch) {
        Ok(ready) => ready,
        Err(failure) => return failure,
    };
    let told = std::cell::Cell::new((b'x', 0));
    let (argv, environment) = (pointers(&ready.argv), pointers(&ready.environment));
    // SAFETY: this process is to be the program; the pointers are those of `ready`.
    unsafe {
        stop_ignoring();
        ready.execute(&argv, &environment, &|what| told.set((what, *libc::__errno_location())));
    }
    ready.failure(told.get().0, told.get().1)
}

/// Forks and executes; returns the child's id and whether address randomisation could be switched off.
fn start(launch: &Launch, before: &[(i32, libc::sigaction)]) -> Result<(i32, bool)> {
    let ready = Ready::new(launch)?;
    let (argv, environment) = (pointers(&ready.argv), pointers(&ready.environment));
    let mut pipe = [0; 2];
    // SAFETY: this process has one thread; the child only makes system calls until it executes the program, and all
    // that it uses was made before the fork.
    let child = unsafe {
        if libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            let what = format!("cannot make a pipe: {}", plain(&std::io::Error::last_os_error()));
            return Err(Failure::own(what).next("ulimit -n, which tells how many open files are allowed"));
        }
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut mask);
        let parent = libc::getpid();
        let child = libc::fork();
        if child == 0 {
            if launch.is_apart {
                libc::setpgid(0, 0);
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != parent {
                    // It was gone before.
                    libc::_exit(126);
                }
            }
            for (signal, old) in before {
                libc::sigaction(*signal, old, std::ptr::null_mut());
            }
            stop_ignoring();
            libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            let tell = |what: u8| {
                let message = [i32::from(what), *libc::__errno_location()];
                libc::write(pipe[1], message.as_ptr().cast(), 8);
            };
            ready.execute(&argv, &environment, &tell);
            libc::_exit(126);
        }
        CHILD.store(child, SeqCst);
        libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
        libc::close(pipe[1]);
        child
    };
    let told = read_messages(pipe[0]);
    if child < 0 {
        return Err(Failure::own(format!("cannot fork: {}", plain(&std::io::Error::last_os_error()))));
    }
    let mut aslr_off = true;
    for [what, errno] in told {
        if what == i32::from(b'p') {
            aslr_off = false;
            continue;
        }
        // SAFETY: our own child, which has ended itself.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        return Err(ready.failure(what as u8, errno));
    }
    Ok((child, aslr_off))
}

/// Starts a program that runs apart, and returns its id and whether address randomisation could be switched off.
pub fn start_apart(launch: &Launch) -> Result<(i32, bool)> {
    let started = start(launch, &[]);
    CHILD.store(0, SeqCst);
    started
}

/// How the child ended, if it has.
pub fn ended(child: i32) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: room for the status.
    let got = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
    (got == child).then(|| ended_by(status))
}

/// How a process ended, from what `wait` tells.
pub fn ended_by(status: i32) -> Ended {
    if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Exit(libc::WEXITSTATUS(status))
    }
}

/// Whether there is something to read, now or within `most`.
pub fn is_readable(descriptor: i32, most: Duration) -> bool {
    wait_for(&[descriptor], most)
}

/// Waits until one of the descriptors can be read, but not longer than `most`.
pub fn wait_for(descriptors: &[i32], most: Duration) -> bool {
    let one = |fd: &i32| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<_> = descriptors.iter().map(one).collect();
    // SAFETY: as many as said.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, most.as_millis() as i32) > 0 }
}

/// A descriptor that can be read when the child has ended; negative if there is none.
pub fn watched(child: i32) -> i32 {
    // SAFETY: a plain system call.
    unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) as i32 }
}

fn read_messages(pipe: i32) -> Vec<[i32; 2]> {
    use std::io::Read;
    // SAFETY: the descriptor is ours alone from here on.
    let mut file = unsafe { <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(pipe) };
    let mut bytes = Vec::new();
    let _ = file.read_to_end(&mut bytes);
    let number = |four: &[u8]| i32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
    bytes.chunks_exact(8).map(|eight| [number(&eight[..4]), number(&eight[4..])]).collect()
}

/// Waits for the child. Once a process of a replay has reported, the others have a short while to end by themselves.
fn wait(child: i32, session: &Mapped, watch: &mut dyn FnMut(i32) -> Verdict) -> (Ended, bool) {
    // SAFETY: plain system calls; a failed pidfd_open leaves us polling.
    let watched = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) } as i32;
    let mut reported: Option<Instant> = None;
    let mut stopped: Option<(i32, Ended)> = None;
    let ended = loop {
        let mut status = 0;
        // SAFETY: room for the status.
        let got = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        if got == child {
            break match stopped.filter(|(pid, _)| *pid == child) {
                Some((_, ended)) => ended,
                None => ended_by(status),
            };
        }
        if got < 0 && std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            break Ended::Exit(0);
        }
        match if stopped.is_none() { watch(child) } else { Verdict::GoOn } {
            Verdict::GoOn => {}
            Verdict::Stop { pid, ended } => {
                // SAFETY: a process of this session's, which is blocked and so still there.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                stopped = Some((pid, ended));
            }
            Verdict::StopAll => {
                kill(child, session);
                stopped = Some((child, Ended::Signal(libc::SIGKILL)));
            }
        }
        if session.report_state.load(SeqCst) == 2 {
            let since = *reported.get_or_insert_with(Instant::now);
            if since.elapsed() > GRACE {
                kill(child, session);
            }
        }
        let mut poll = libc::pollfd { fd: watched, events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd; a negative descriptor is passed over, and the time-out makes it a nap.
        unsafe { libc::poll(&mut poll, 1, 20) };
    };
    if reported.is_some() || session.report_state.load(SeqCst) == 2 {
        kill(0, session);
    }
    if watched >= 0 {
        // SAFETY: our own descriptor.
        unsafe { libc::close(watched) };
    }
    (ended, stopped.is_some_and(|(pid, _)| pid == child))
}

/// Ends what is left of a replay that has gone wrong.
fn kill(child: i32, session: &Mapped) {
    for pid in session.present_pids().into_iter().chain([child]) {
        // SAFETY: ids of processes that this session has started.
        if pid > 1 {
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

/// Ends this process as the program ended: with its status, or by the same signal, without a second core dump.
pub fn end_as(ended: Ended) -> ! {
    if let Ended::Signal(signal) = ended {
        // SAFETY: plain system calls.
        unsafe {
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            libc::signal(signal, libc::SIG_DFL);
            let mut only: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut only);
            libc::sigaddset(&mut only, signal);
            libc::sigprocmask(libc::SIG_UNBLOCK, &only, std::ptr::null_mut());
            libc::raise(signal);
        }
    }
    std::process::exit(ended.code())
}

/// The bytes of an argument list as they were given.
pub fn os_strings(texts: &[Text]) -> Vec<OsString> {
    texts.iter().map(Text::os).map(|text| OsString::from_vec(text.into_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let path = Some(OsStr::new("/nowhere:/bin:/usr/bin"));
        assert!(find_program(OsStr::new("sh"), path).unwrap().ends_with("sh"));
        assert_eq!(find_program(OsStr::new("no-such-program"), path).unwrap_err().status, Status::NotFound);
        assert_eq!(find_program(OsStr::new("/etc/passwd"), path).unwrap_err().status, Status::NotExecutable);
        assert_eq!(find_program(OsStr::new("/"), path).unwrap_err().status, Status::NotExecutable);
        assert_eq!(find_program(OsStr::new(""), path).unwrap_err().status, Status::NotFound);
    }
}
