//! The virtual machine: hosts and tasks are told as they were; hosts are added and removed again.

use crate::handle::pvm::full;
use crate::handle::pvm::{self, Scratch, answer, library, take_int, told};
use crate::table::pvm::{Host, Ints, Task, Words, real};
use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_char, c_int, timeval};
use retake_engine::store::Path;
use retake_engine::{tasks, turn};
use retake_tape::op::Op;

pub unsafe fn tidtohost(tid: c_int) -> c_int {
    // SAFETY: a part of the id, and the id is the program's.
    unsafe { real::pvm_tidtohost(tid) }
}

pub unsafe fn pstat(tid: c_int) -> c_int {
    // SAFETY: asks the library; so for the others. A replay does not ask.
    answer(Op::PvmAsk, || unsafe { real::pvm_pstat(tid) })
}

pub unsafe fn mstat(host: *mut c_char) -> c_int {
    // SAFETY: as above.
    answer(Op::PvmAsk, || unsafe { real::pvm_mstat(host) })
}

pub unsafe fn archcode(arch: *mut c_char) -> c_int {
    // SAFETY: as above.
    answer(Op::PvmAsk, || unsafe { real::pvm_archcode(arch) })
}

/// A question with a longer answer: `write` puts it down while recording, `read` gives it to the program in a replay.
unsafe fn long_answer(
    op: Op,
    call: impl FnOnce() -> c_int,
    size: impl FnOnce() -> usize,
    write: impl FnOnce(&mut Path<'_>),
    read: impl FnOnce(&'static [u8]),
) -> c_int {
    let Some(thread) = pvm::enter() else { return call() };
    if turn::recording() {
        let result = library(call);
        let mut room = Scratch::new(if result >= 0 { size() } else { 0 });
        let mut words = Path { to: room.bytes(), length: 0 };
        if result >= 0 {
            write(&mut words);
        }
        let length = words.length.min(words.to.len());
        thread.begin();
        thread.result(op, i64::from(result));
        thread.bytes(&words.to[..length]);
        thread.happen();
        thread.finish();
        turn::tell(thread, op, thread.count(), 0, 0, i64::from(result));
        return result;
    }
    let Some(step) = thread.step(op) else { return call() };
    if step.result >= 0 {
        read(step.bytes);
    }
    thread.happened();
    turn::tell(thread, op, thread.count(), 0, 0, step.result);
    told(step.result)
}

pub(super) fn push_int(words: &mut Path<'_>, number: c_int) {
    words.push(&number.to_le_bytes());
}

/// A string and its end.
pub(super) unsafe fn push_text(words: &mut Path<'_>, text: *const c_char) {
    // SAFETY: the library's string, if there is one.
    words.push(if text.is_null() { b"" } else { unsafe { CStr::from_ptr(text) }.to_bytes() }).push(&[0]);
}

pub(super) unsafe fn text_length(text: *const c_char) -> usize {
    // SAFETY: as above.
    if text.is_null() { 1 } else { unsafe { CStr::from_ptr(text) }.count_bytes() + 1 }
}

/// The string at the start of `bytes`, which is then taken off. The tape stays in memory, so it may be pointed to.
pub(super) fn take_text(bytes: &mut &'static [u8]) -> *const c_char {
    let Some(end) = bytes.iter().position(|byte| *byte == 0) else { return c"".as_ptr() };
    let text = bytes.as_ptr().cast();
    *bytes = &bytes[end + 1..];
    text
}

pub(super) unsafe fn give(to: Ints, value: c_int) {
    // SAFETY: the program's variable, if there is one.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = value;
    }
}

/// The list that the library gave, of which a program must not take more than it was told.
unsafe fn list<'a, T>(at: *const T, count: c_int) -> &'a [T] {
    // SAFETY: as long as the library says.
    if at.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(at, count.max(0) as usize) } }
}

pub unsafe fn config(hosts: Ints, archs: Ints, to: *mut *mut Host) -> c_int {
    let (mut count, mut kinds, mut found) = (0, 0, core::ptr::null_mut::<Host>());
    let (count_at, kinds_at, found_at) = (&raw mut count, &raw mut kinds, &raw mut found);
    // SAFETY: variables of ours and of the program.
    unsafe {
        let result = long_answer(
            Op::PvmAsk,
            || real::pvm_config(count_at, kinds_at, found_at),
            || {
                8 + list(*found_at, *count_at)
                    .iter()
                    .map(|h| 12 + text_length(h.name) + text_length(h.arch))
                    .sum::<usize>()
            },
            |words| {
                push_int(words, *count_at);
                push_int(words, *kinds_at);
                for host in list(*found_at, *count_at) {
                    push_int(words, host.tid);
                    push_int(words, host.speed);
                    push_int(words, host.signature);
                    push_text(words, host.name);
                    push_text(words, host.arch);
                }
            },
            |mut bytes| {
                *count_at = take_int(&mut bytes);
                *kinds_at = take_int(&mut bytes);
                let all: *mut Host = Scratch::new((*count_at).max(0) as usize * size_of::<Host>()).keep().cast();
                for index in 0..*count_at as usize {
                    let (tid, speed) = (take_int(&mut bytes), take_int(&mut bytes));
                    let signature = take_int(&mut bytes);
                    let (name, arch) = (take_text(&mut bytes), take_text(&mut bytes));
                    all.add(index).write(Host { tid, name, arch, speed, signature });
                }
                *found_at = all;
            },
        );
        if result >= 0 {
            give(hosts, count);
            give(archs, kinds);
            if let Some(to) = to.as_mut() {
                *to = found;
            }
        }
        result
    }
}

pub unsafe fn tasks(at: c_int, n: Ints, to: *mut *mut Task) -> c_int {
    let (mut count, mut found) = (0, core::ptr::null_mut::<Task>());
    let (count_at, found_at) = (&raw mut count, &raw mut found);
    // SAFETY: variables of ours and of the program.
    unsafe {
        let result = long_answer(
            Op::PvmAsk,
            || real::pvm_tasks(at, count_at, found_at),
            || 4 + list(*found_at, *count_at).iter().map(|task| 20 + text_length(task.name)).sum::<usize>(),
            |words| {
                push_int(words, *count_at);
                for task in list(*found_at, *count_at) {
                    for number in [task.tid, task.parent, task.host, task.flag, task.pid] {
                        push_int(words, number);
                    }
                    push_text(words, task.name);
                }
            },
            |mut bytes| {
                *count_at = take_int(&mut bytes);
                let all: *mut Task = Scratch::new((*count_at).max(0) as usize * size_of::<Task>()).keep().cast();
                for index in 0..*count_at as usize {
                    let [tid, parent, host, flag, pid] = [(); 5].map(|()| take_int(&mut bytes));
                    all.add(index).write(Task { tid, parent, host, flag, name: take_text(&mut bytes), pid });
                }
                *found_at = all;
            },
        );
        if result >= 0 {
            give(n, count);
            if let Some(to) = to.as_mut() {
                *to = found;
            }
        }
        result
    }
}

pub unsafe fn hostsync(host: c_int, clock: *mut timeval, delta: *mut timeval) -> c_int {
    let mut times = [timeval { tv_sec: 0, tv_usec: 0 }; 2];
    let at = times.as_mut_ptr();
    const SIZE: usize = size_of::<[timeval; 2]>();
    // SAFETY: variables of ours and of the program.
    unsafe {
        let result = long_answer(
            Op::PvmAsk,
            || real::pvm_hostsync(host, at, at.add(1)),
            || SIZE,
            |words| {
                words.push(core::slice::from_raw_parts(at.cast(), SIZE));
            },
            |bytes| core::ptr::copy_nonoverlapping(bytes.as_ptr(), at.cast(), SIZE.min(bytes.len())),
        );
        for (to, time) in [(clock, times[0]), (delta, times[1])] {
            if let (Some(to), true) = (to.as_mut(), result >= 0) {
                *to = time;
            }
        }
        result
    }
}

/// Adds or removes hosts: done again for what it does, answered from the tape.
unsafe fn hosts(n: c_int, results: Ints, call: impl Fn(Ints) -> c_int) -> c_int {
    let size = n.max(0) as usize * 4;
    let mut room = Scratch::new(size);
    let at = room.ints();
    // SAFETY: memory of ours, and the program's array of the same length.
    unsafe {
        let result = long_answer(
            Op::PvmHosts,
            || call(at),
            || size,
            |words| {
                words.push(core::slice::from_raw_parts(at.cast(), size));
            },
            |bytes| {
                if !full::given() {
                    library(|| call(at));
                }
                core::ptr::copy_nonoverlapping(bytes.as_ptr(), at.cast(), size.min(bytes.len()));
            },
        );
        if !results.is_null() && result >= 0 {
            core::ptr::copy_nonoverlapping(at, results, n.max(0) as usize);
        }
        result
    }
}

pub unsafe fn addhosts(names: Words, n: c_int, results: Ints) -> c_int {
    // SAFETY: the program's arguments.
    unsafe {
        let result = hosts(n, results, |to| real::pvm_addhosts(names, n, to));
        if result > 0 && turn::recording() && turn::enter().is_some() {
            let mut room = [0u8; NAMES];
            let mut words = Path { to: &mut room, length: 0 };
            // A name may have options of the daemon's behind it.
            let is_part = |byte: &u8| *byte != b' ' && *byte != b'\t';
            for index in 0..n.max(0) as usize {
                let name = CStr::from_ptr(*names.add(index)).to_bytes();
                words.push(&name[..name.iter().take_while(|byte| is_part(byte)).count()]).push(b"\n");
            }
            let length = words.length.min(NAMES);
            tasks::tell_hosts(&room[..length]);
        }
        result
    }
}

/// Bytes of the names of hosts that are told.
const NAMES: usize = 16 << 10;

/// Whether this process has told of them.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Recording, when `tid` has enrolled for the first time: tells of the hosts other than its own, unless that has been done by
/// whoever spawned a task. The program has no list of hosts yet that the library's next one would take away.
pub fn tell_hosts(tid: c_int) {
    if TOLD.swap(true, Relaxed) || tasks::has_any() {
        return;
    }
    let (mut count, mut list) = (0, null_mut::<Host>());
    let mut room = [0u8; NAMES];
    let mut words = Path { to: &mut room, length: 0 };
    // SAFETY: variables of ours; the library's list is as long as it says.
    library(|| unsafe {
        let here = real::pvm_tidtohost(tid);
        if real::pvm_config(&raw mut count, null_mut(), &raw mut list) < 0 || list.is_null() {
            return;
        }
        for host in core::slice::from_raw_parts(list, count.max(0) as usize).iter().filter(|host| host.tid != here) {
            words.push(CStr::from_ptr(host.name).to_bytes()).push(b"\n");
        }
    });
    let length = words.length.min(NAMES);
    tasks::tell_hosts(&room[..length]);
}

pub unsafe fn delhosts(names: Words, n: c_int, results: Ints) -> c_int {
    // SAFETY: the program's arguments.
    unsafe { hosts(n, results, |to| real::pvm_delhosts(names, n, to)) }
}
