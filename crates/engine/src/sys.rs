//! System calls made without libc's wrappers: they leave `errno` alone, are no cancellation points, and are never
//! caught by Retake itself.

use core::arch::asm;
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, c_long, timespec};

#[inline(always)]
unsafe fn call(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention; what the call does with its arguments is the caller's concern.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// The error in a result, as a positive number.
pub fn error(result: isize) -> Option<c_int> {
    (result < 0 && result > -4096).then_some(-result as c_int)
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident ($($arg:ident),*) = $number:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the system call.
        #[inline]
        pub unsafe fn $name($($arg: usize),*) -> isize {
            // SAFETY: passed on to the caller.
            unsafe { calls!(@ libc::$number, $($arg),*) }
        }
    )*};
    (@ $n:expr,) => { call($n, 0, 0, 0, 0, 0, 0) };
    (@ $n:expr, $a:expr) => { call($n, $a, 0, 0, 0, 0, 0) };
    (@ $n:expr, $a:expr, $b:expr) => { call($n, $a, $b, 0, 0, 0, 0) };
    (@ $n:expr, $a:expr, $b:expr, $c:expr) => { call($n, $a, $b, $c, 0, 0, 0) };
    (@ $n:expr, $a:expr, $b:expr, $c:expr, $d:expr) => { call($n, $a, $b, $c, $d, 0, 0) };
    (@ $n:expr, $a:expr, $b:expr, $c:expr, $d:expr, $e:expr) => { call($n, $a, $b, $c, $d, $e, 0) };
    (@ $n:expr, $a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr) => { call($n, $a, $b, $c, $d, $e, $f) };
}

calls! {
    /// Opens a file.
    openat(dir, path, flags, mode) = SYS_openat;
    /// Closes a file.
    close(fd) = SYS_close;
    /// Reserves room in a file.
    fallocate(fd, mode, offset, length) = SYS_fallocate;
    /// Sets a file's length.
    ftruncate(fd, length) = SYS_ftruncate;
    /// Writes at a position.
    pwrite(fd, from, length, offset) = SYS_pwrite64;
    /// Writes several pieces at a position.
    pwritev(fd, pieces, many, at, high) = SYS_pwritev;
    /// Reads at a position.
    pread(fd, to, length, offset) = SYS_pread64;
    /// Whether a file may be used so.
    faccessat(dir, path, how) = SYS_faccessat;
    /// Writes.
    write(fd, from, length) = SYS_write;
    /// Reads.
    read(fd, to, length) = SYS_read;
    /// Tells of a file.
    fstat(fd, to) = SYS_fstat;
    /// The current directory.
    getcwd(to, length) = SYS_getcwd;
    /// Maps memory.
    mmap(at, length, protection, flags, fd, offset) = SYS_mmap;
    /// Gives memory back.
    munmap(at, length) = SYS_munmap;
    /// Makes a timer.
    timer_create(clock, event, to) = SYS_timer_create;
    /// Starts a timer.
    timer_settime(timer, flags, new, old) = SYS_timer_settime;
    /// Ends a timer.
    timer_delete(timer) = SYS_timer_delete;
    /// Says how memory will be used.
    madvise(at, length, how) = SYS_madvise;
    /// Makes other threads pass a fence.
    membarrier(command, flags, cpu) = SYS_membarrier;
    /// The futex call.
    futex(word, op, value, timeout, word2, value3) = SYS_futex;
    /// This process.
    getpid() = SYS_getpid;
    /// The parent process.
    getppid() = SYS_getppid;
    /// This thread.
    gettid() = SYS_gettid;
    /// Reads a clock.
    clock_gettime(id, to) = SYS_clock_gettime;
    /// Sleeps.
    nanosleep(time, left) = SYS_nanosleep;
    /// Lets others run.
    sched_yield() = SYS_sched_yield;
    /// Which processors may be used.
    sched_getaffinity(pid, length, mask) = SYS_sched_getaffinity;
    /// Says which may be used.
    sched_setaffinity(pid, length, mask) = SYS_sched_setaffinity;
    /// Which one runs this thread.
    getcpu(cpu, node, unused) = SYS_getcpu;
    /// Waits for a child.
    wait4(pid, status, how, usage) = SYS_wait4;
    /// Tells of a child, and may leave it as it is.
    waitid(kind, id, info, how, usage) = SYS_waitid;
    /// Changes the group of a process.
    setpgid(pid, group) = SYS_setpgid;
    /// Sends a signal to a process.
    kill(pid, signal) = SYS_kill;
    /// Sends a signal to a thread.
    tgkill(pid, tid, signal) = SYS_tgkill;
    /// Sends a signal with its particulars to a thread.
    rt_tgsigqueueinfo(pid, tid, signal, info) = SYS_rt_tgsigqueueinfo;
    /// Changes the signal mask.
    rt_sigprocmask(how, set, old, size) = SYS_rt_sigprocmask;
    /// Changes what a signal does.
    rt_sigaction(signal, new, old, size) = SYS_rt_sigaction;
    /// Replaces the program.
    execve(path, argv, envp) = SYS_execve;
    /// Asks for or sets how programs are executed.
    personality(persona) = SYS_personality;
    /// Whether a file may be used.
    access(path, mode) = SYS_access;
    /// Lists a directory.
    getdents64(fd, to, length) = SYS_getdents64;
    /// Ends the process.
    exit_group(status) = SYS_exit_group;
    /// Settings of this process.
    prctl(what, a, b, c) = SYS_prctl;
    /// Makes a socket.
    socket(family, kind, protocol) = SYS_socket;
    /// Makes two sockets that are connected.
    socketpair(family, kind, protocol, to) = SYS_socketpair;
    /// Gives a socket its address.
    bind(fd, address, length) = SYS_bind;
    /// Lets others connect.
    listen(fd, backlog) = SYS_listen;
    /// Takes a connection.
    accept4(fd, address, length, flags) = SYS_accept4;
    /// Makes a connection.
    connect(fd, address, length) = SYS_connect;
    /// Writes several pieces to a socket.
    sendmsg(fd, message, flags) = SYS_sendmsg;
    /// Writes to a socket.
    sendto(fd, from, length, flags, to, to_len) = SYS_sendto;
    /// Reads from a socket.
    recvfrom(fd, to, length, flags, from, from_len) = SYS_recvfrom;
    /// Waits for descriptors.
    poll(fds, many, timeout_ms) = SYS_poll;
    /// Makes a set of descriptors to wait for.
    epoll_create1(flags) = SYS_epoll_create1;
    /// Changes such a set.
    epoll_ctl(set, how, fd, event) = SYS_epoll_ctl;
    /// Waits for such a set.
    epoll_wait(set, events, many, timeout_ms) = SYS_epoll_wait;
    /// Sets an option of a socket.
    setsockopt(fd, level, option, value, length, unused) = SYS_setsockopt;
    /// Asks for an option of a socket.
    getsockopt(fd, level, option, value, length) = SYS_getsockopt;
    /// Ends a connection.
    shutdown(fd, how) = SYS_shutdown;
    /// Makes a counter that can be waited for.
    eventfd2(first, flags) = SYS_eventfd2;
    /// Random bytes.
    getrandom(to, length, flags) = SYS_getrandom;
    /// Locks a file.
    flock(fd, how) = SYS_flock;
    /// Makes a directory.
    mkdir(path, mode) = SYS_mkdir;
    /// Removes a file.
    unlinkat(dir, path, flags) = SYS_unlinkat;
    /// Gives a file another name, replacing what has it.
    renameat(old_dir, old, new_dir, new) = SYS_renameat;
    /// Tells of a file by its name.
    newfstatat(dir, path, to, flags) = SYS_newfstatat;
    /// Where a link leads.
    readlink(path, to, length) = SYS_readlink;
    /// Changes or asks for the position in a file.
    lseek(fd, offset, whence) = SYS_lseek;
    /// Settings of a descriptor.
    fcntl(fd, what, argument) = SYS_fcntl;
    /// Asks a device, or tells it something.
    ioctl(fd, what, argument) = SYS_ioctl;
    /// Makes a descriptor lead where another one does.
    dup3(from, to, flags) = SYS_dup3;
    /// Reads from a socket, with descriptors.
    recvmsg(fd, message, flags) = SYS_recvmsg;
    /// Makes a process.
    clone(flags, stack, parent_tid, child_tid) = SYS_clone;
    /// A descriptor of a process.
    pidfd_open(pid, flags) = SYS_pidfd_open;
    /// Makes a session of processes.
    setsid() = SYS_setsid;
    /// Copies from the memory of a process.
    process_vm_readv(pid, to, to_many, from, from_many, flags) = SYS_process_vm_readv;
    /// A resource limit.
    prlimit64(pid, which, new, old) = SYS_prlimit64;
}

/// Waits while `*word == value`, at most `ns`; returns at once if it is not. Whether the time ran out.
///
/// # Safety
/// `word` must be readable.
pub unsafe fn futex_wait(word: *const u32, value: u32, ns: u64) -> bool {
    let time = timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is readable, the time lives on the stack.
    let result = unsafe { futex(word as usize, op as usize, value as usize, &raw const time as usize, 0, 0) };
    result == -(libc::ETIMEDOUT as isize)
}

/// Wakes up to `many` threads that wait at `word`; `shared` if they may be in another process.
///
/// # Safety
/// None beyond the system call's: the kernel checks the address.
pub unsafe fn futex_wake(word: *const u32, many: u32, shared: bool) {
    let op = libc::FUTEX_WAKE | if shared { 0 } else { libc::FUTEX_PRIVATE_FLAG };
    // SAFETY: waking touches no memory.
    unsafe { futex(word as usize, op as usize, many as usize, 0, 0, 0) };
}

/// Sleeps for `ns`.
pub fn sleep_ns(ns: u64) {
    let time = timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    // SAFETY: the time lives on the stack.
    unsafe { nanosleep(&raw const time as usize, 0) };
}

/// What the kernel tells of the file behind `fd`; all zero if it is closed.
pub fn status_of(fd: c_int) -> libc::stat {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: a variable of ours, as the kernel fills it; all zero is a value of it.
    unsafe {
        fstat(fd as usize, status.as_mut_ptr() as usize);
        status.assume_init()
    }
}

/// A clock's value in nanoseconds.
pub fn clock_ns(id: c_int) -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the result lives on the stack.
    unsafe { clock_gettime(id as usize, &raw mut time as usize) };
    time.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec)
}

/// Where the engine's own maps go: far from where the kernel puts the program's, so that those lie at the same addresses
/// whether the program is recorded or replayed. And not at a round address, which others choose, too (Open MPI 5 wants
/// 0x2000_0000_0000 for itself).
static NEXT_MAP: AtomicUsize = AtomicUsize::new(0x2b00_0000_0000);

/// An address to ask for when mapping `size` bytes.
pub fn map_hint(size: usize) -> usize {
    NEXT_MAP.fetch_add(size.next_multiple_of(4096) + 4096, Relaxed)
}

/// Fresh memory, zeroed, or null.
pub fn memory(size: usize) -> *mut u8 {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    // SAFETY: a fresh anonymous map touches nothing that exists.
    let at = unsafe { mmap(map_hint(size), size, protection, flags, usize::MAX, 0) };
    if error(at).is_some() { core::ptr::null_mut() } else { at as *mut u8 }
}

/// How many processors this process may use.
pub fn processors() -> u32 {
    let mut mask = [0u64; 16];
    // SAFETY: the mask is as long as said.
    let length = unsafe { sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr() as usize) };
    if length <= 0 { 1 } else { mask.iter().map(|word| word.count_ones()).sum::<u32>().max(1) }
}

/// Moves this thread to another of the processors that it may use, if there is one. The caller is busy: no handler is to jump away
/// meanwhile.
pub fn change_processor() {
    let (mut mask, mut cpu) = ([0u64; 16], 0u32);
    // SAFETY: the masks are as long as said.
    unsafe {
        let length = sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr() as usize);
        if length <= 0 || getcpu(&raw mut cpu as usize, 0, 0) != 0 {
            return;
        }
        let mut others = mask;
        others[cpu as usize / 64] &= !(1 << (cpu % 64));
        if others.iter().any(|word| *word != 0) {
            sched_setaffinity(0, length as usize, others.as_ptr() as usize);
            sched_setaffinity(0, length as usize, mask.as_ptr() as usize);
        }
    }
}

/// This process's id as the kernel knows it.
pub fn getpid_now() -> u32 {
    // SAFETY: asks and does nothing.
    unsafe { getpid() as u32 }
}

/// This thread's id as the kernel knows it.
pub fn gettid_now() -> u32 {
    // SAFETY: asks and does nothing.
    unsafe { gettid() as u32 }
}

/// Calls `body` with the id of each thread that the kernel knows in this process. True if they cannot be listed.
pub fn each_task(mut body: impl FnMut(u32)) -> bool {
    let flags = (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) as usize;
    let mut room = [0u64; 128];
    // SAFETY: the path ends in a zero byte, the buffer is as long as said, and the kernel fills it with whole entries.
    unsafe {
        let fd = openat(libc::AT_FDCWD as usize, c"/proc/self/task".as_ptr() as usize, flags, 0);
        if fd < 0 {
            return true;
        }
        loop {
            let length = getdents64(fd as usize, room.as_mut_ptr() as usize, size_of_val(&room));
            if length <= 0 {
                close(fd as usize);
                return length < 0;
            }
            let bytes = core::slice::from_raw_parts(room.as_ptr().cast::<u8>(), length as usize);
            let mut at = 0;
            while at < bytes.len() {
                // Each entry: inode (8), offset (8), length (2), type (1), name.
                let name = &bytes[at + 19..];
                let digits = name.iter().take_while(|byte| byte.is_ascii_digit());
                let tid = digits.fold(0u32, |tid, digit| tid.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')));
                if tid != 0 {
                    body(tid);
                }
                at += usize::from(u16::from_le_bytes([bytes[at + 16], bytes[at + 17]])).max(1);
            }
        }
    }
}

/// The processor time that thread `tid` of this process has used.
pub fn cpu_ns_of(tid: u32) -> i64 {
    /// A thread's own clock, by the scheduler's count.
    const OF_THREAD: u32 = 6;
    clock_ns((!tid << 3 | OF_THREAD) as c_int)
}

/// Whether thread `tid` of this process sleeps in the kernel.
pub fn is_asleep(tid: u32) -> bool {
    state_of(tid) == Some(b'S')
}

/// What thread `tid` of this process does, in the kernel's letters; nothing if it is gone.
pub fn state_of(tid: u32) -> Option<u8> {
    let mut room = [0u8; 256];
    // The state stands behind the name, which may hold anything.
    let text = tell_of(tid, b"/stat", &mut room)?;
    text.iter().rposition(|byte| *byte == b')').and_then(|at| text.get(at + 2)).copied()
}

/// Whether thread `tid` of this process is gone. A main thread that was left stays, as what it is until its process ends.
pub fn is_no_more(tid: u32) -> bool {
    // SAFETY: signal 0 asks and does nothing.
    let asked = unsafe { tgkill(getpid_now() as usize, tid as usize, 0) };
    error(asked) == Some(libc::ESRCH) || matches!(state_of(tid), Some(b'Z' | b'X'))
}

/// The system call that thread `tid` of this process waits in, and its second argument; nothing if that cannot be told.
pub fn call_of(tid: u32) -> Option<(u32, u64)> {
    let mut room = [0u8; 256];
    let text = core::str::from_utf8(tell_of(tid, b"/syscall", &mut room)?).ok()?;
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let second = u64::from_str_radix(words.nth(1)?.strip_prefix("0x")?, 16).ok()?;
    Some((number, second))
}

/// The first bytes of what the kernel tells of thread `tid` of this process in that file.
fn tell_of<'a>(tid: u32, file: &[u8], text: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut room = [0u8; 64];
    let mut path = crate::store::Path { to: &mut room, length: 0 };
    if !path.push(b"/proc/self/task/").push_number(tid.into()).push(file).finish() {
        return None;
    }
    // SAFETY: the path ends in a zero byte, and the buffer is as long as said.
    let length = unsafe {
        let fd = openat(libc::AT_FDCWD as usize, room.as_ptr() as usize, libc::O_CLOEXEC as usize, 0);
        if fd < 0 {
            return None;
        }
        let length = pread(fd as usize, text.as_mut_ptr() as usize, text.len(), 0);
        close(fd as usize);
        length
    };
    text.get(..usize::try_from(length).ok()?)
}
