//! Numbers, outcomes and entries of a tape in words.

use retake_tape::entry::{CANCELLED, Came, Entry, INSIDE, Place, note, sort, unlock};
use retake_tape::op::Op;
use retake_tape::rich::WAITS;
use retake_tape::walk::Fault;

/// `48213` as `48 213`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 event`, `2 events`.
pub fn count(number: u64, one: &str) -> String {
    let many = if one.ends_with("ss") { "es" } else { "s" };
    format!("{} {one}{}", thousands(number), if number == 1 { "" } else { many })
}

/// Bytes as a person reads them: `312 kB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..10_000_000 => format!("{} kB", thousands(bytes.div_ceil(1_000))),
        _ => format!("{} MB", thousands(bytes.div_ceil(1_000_000))),
    }
}

const SIGNALS: [&str; 32] = [
    "", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
    "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH",
    "IO", "PWR", "SYS",
];

/// `6` as `SIGABRT`.
pub fn signal(number: i32) -> String {
    match usize::try_from(number).ok().and_then(|number| SIGNALS.get(number)) {
        Some(name) if !name.is_empty() => format!("SIG{name}"),
        _ => format!("signal {number}"),
    }
}

/// The symbolic name of an error number that synchronisation calls return.
pub fn errno(code: i64) -> Option<&'static str> {
    Some(match i32::try_from(code).ok()? {
        libc::EPERM => "EPERM",
        libc::ESRCH => "ESRCH",
        libc::EINTR => "EINTR",
        libc::ECHILD => "ECHILD",
        libc::EAGAIN => "EAGAIN",
        libc::ENOMEM => "ENOMEM",
        libc::EBUSY => "EBUSY",
        libc::EINVAL => "EINVAL",
        libc::EDEADLK => "EDEADLK",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EOWNERDEAD => "EOWNERDEAD",
        libc::ENOTRECOVERABLE => "ENOTRECOVERABLE",
        libc::ECANCELED => "ECANCELED",
        _ => return None,
    })
}

/// What `op` returned, with its name where it has one.
pub fn result(op: Op, code: i64) -> String {
    let name = match op {
        _ if code == WAITS => return "waits".into(),
        _ if code == CANCELLED => return "never: the thread was cancelled".into(),
        _ if code == WAITS => return if op == Op::Barrier { "arrives".into() } else { "waits".into() },
        Op::Once => (code == 1).then_some("ran it"),
        Op::MutexUnlock if code == unlock::FREES => return "0: it was another thread's".into(),
        Op::MutexUnlock if code == unlock::FINDS_FREE => return "0: it was free".into(),
        Op::MutexUnlock if code == unlock::TAKEN_AWAY => return "0: another had unlocked it".into(),
        Op::Barrier => (code == -1).then_some("serial thread"),
        Op::Wait if code >= 1 << 32 => return child(code),
        Op::Baton => return if code == 0 { "goes on".into() } else { format!("stops at its point {code}") },
        Op::Futex | Op::FutexTimed | Op::FutexWake => errno(code.checked_neg().unwrap_or(0)),
        op if (Op::MpiStart as u8..=Op::MpiGot as u8).contains(&(op as u8)) => return mpi(op, code),
        Op::PvmEnrol if code > 0 => return format!("task t{code:x}"),
        Op::PvmRecv | Op::PvmNrecv | Op::PvmTrecv | Op::PvmPrecv | Op::PvmProbe if code == 0 => {
            return "nothing".into();
        }
        op if (Op::PvmEnrol as u8..=Op::PvmOutput as u8).contains(&(op as u8)) => None,
        Op::SemValue | Op::Stream | Op::Write | Op::Clock | Op::Random | Op::Pid | Op::Fork | Op::Misc => None,
        _ => errno(code).or_else(|| errno(code.checked_neg()?)),
    };
    match name {
        Some(name) if code != 0 => format!("{code} ({name})"),
        _ => code.to_string(),
    }
}

/// The outcome of a call of MPI.
fn mpi(op: Op, code: i64) -> String {
    match (op, code) {
        (Op::MpiStart, ranks) => count(ranks.unsigned_abs(), "rank"),
        (_, -2) => "not yet".into(),
        (_, -1) => "nothing to wait for".into(),
        (Op::MpiWaitAny | Op::MpiTestAny, index) => format!("request {index}"),
        (Op::MpiWait, requests) => count(requests.unsigned_abs(), "request"),
        (_, code) => code.to_string(),
    }
}

/// The result of waiting for a child: its id above, its status below.
fn child(code: i64) -> String {
    let (pid, status) = (code >> 32, code as i32);
    if libc::WIFEXITED(status) {
        format!("process {pid}, exit {}", libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        format!("process {pid}, {}", signal(libc::WTERMSIG(status)))
    } else {
        format!("process {pid}, status {status:#x}")
    }
}

/// What an entry of a tape says.
pub fn entry(entry: &Entry<'_>) -> String {
    match entry {
        Entry::HandOver(version) => format!("hand-over, version {version}"),
        Entry::Result(Op::Baton, code) => format!("in turn: {}", result(Op::Baton, *code)),
        Entry::Result(op, code) => format!("{} returned {}", op.word(), result(*op, *code)),
        Entry::Polls(op, code, 1) => format!("{} returned {}", op.word(), result(*op, *code)),
        Entry::Polls(op, code, times) => format!("{} returned {}, {times} times", op.word(), result(*op, *code)),
        Entry::Edge { thread, count } => format!("after event {count} of thread number {thread}"),
        Entry::WriteTurn { version, readers } => format!("write turn, version {version}, {readers} had read"),
        Entry::Created(number) => format!("created number {number}"),
        Entry::Clock { id, ns } => {
            format!("clock {id} read {}.{:09} s", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000))
        }
        Entry::Signal(signal) => format!(
            "{} handled{} (code {}, from process {})",
            self::signal((signal.number & !INSIDE).into()),
            if signal.number & INSIDE == 0 { "" } else { " inside the next call" },
            signal.code,
            signal.pid
        ),
        Entry::After { own, thread, uses } => {
            format!("use {own} of streams after use {uses} by thread number {thread}")
        }
        Entry::Slept(many) => format!("slept {many} times"),
        Entry::Outward { many, is_behind } => {
            let when = if *is_behind { "at the end of" } else { "inside of" };
            format!("{when} a call that waits for the outside, after {many} others")
        }
        Entry::Came(came) => self::came(came),
        Entry::Asks { thread } => format!("time is over; thread number {thread} halts for what comes of that"),
        Entry::Halts { thread, count, place } => {
            let when = match place {
                Place::Before => String::new(),
                Place::Behind { releases, worked_us } => {
                    format!(", somewhere behind release {releases}, after {worked_us} us of work")
                }
            };
            format!("halts for event {count} of thread number {thread}{when}")
        }
        Entry::Bytes(bytes) if !bytes.is_empty() && bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) => {
            format!("{}: \"{}\"", count(bytes.len() as u64, "byte"), String::from_utf8_lossy(bytes))
        }
        Entry::Bytes(bytes) => format!("{}: {}", count(bytes.len() as u64, "byte"), hex(&bytes[..bytes.len().min(16)])),
        Entry::Note(kind, text) => {
            let contents = text.split(|byte| *byte == 0).next().unwrap_or(text);
            let text =
                String::from_utf8_lossy(if *kind == note::CONTENTS { contents } else { text }).replace('\0', " ");
            match *kind {
                note::CONTENTS => format!("exchanged by {text}"),
                note::NOT_ALONE => format!("called {text}, without which it cannot be replayed alone"),
                note::FILE => format!("read file {text}"),
                note::SOCKET => format!("used socket {text}"),
                note::MODULE => format!("module {text}"),
                note::UNSUPPORTED => format!("called {text}, which is not replayed"),
                note::COMMAND => format!("command {text}"),
                note::WORDS => text,
                _ => format!("note {kind}: {text}"),
            }
        }
        Entry::Matches(_) => "receives from anyone".into(),
        Entry::Unknown(kind) => format!("entry of a newer kind ({kind})"),
    }
}

/// What came of a call that waits for the outside.
fn came(came: &Came<'_>) -> String {
    let what = match came.sort {
        sort::READ => "a read",
        sort::READY => "a look at descriptors",
        sort::ACCEPT => "an accept",
        sort::CONNECT => "a connect",
        sort::WRITE => "a write",
        _ => "a call",
    };
    if came.sort == sort::TURN {
        return format!("came to where processes meet when {} had been there", count(came.answer as u64, "other"));
    }
    let answer = match (came.sort, came.answer) {
        (_, reason @ ..0) => format!("failed: {}", std::io::Error::from_raw_os_error(reason.unsigned_abs() as i32)),
        (sort::READY, 0) => "found none ready".into(),
        (sort::READY, many) => format!("found {many} ready"),
        (_, many) => count(many as u64, "byte"),
    };
    let times = if came.times > 1 { format!(", {} times", came.times) } else { String::new() };
    format!("{what} ({} before it): {answer}{times}", came.call)
}

/// Why a tape is refused.
pub fn fault(fault: Fault) -> String {
    match fault {
        Fault::NotATape => "it is not a tape, or its first bytes are damaged".into(),
        Fault::TooOld(major) => format!("it has format {major}, which this retake no longer reads"),
        Fault::TooNew(major) => format!("it has format {major}, made by a newer retake"),
        Fault::Truncated => "it is cut off: the file ends before its content does".into(),
        Fault::Checksum(at) => format!("it is damaged: the checksum of the block at byte {at} does not fit"),
        Fault::Structure(at) => format!("it is damaged: the block at byte {at} cannot be"),
        Fault::Entry(thread) => format!("it is damaged: an entry of thread number {thread} cannot be"),
    }
}

/// A moment, in the user's time zone.
pub fn date(ms: u64) -> String {
    let seconds = (ms / 1000) as libc::time_t;
    // SAFETY: room for the answer.
    let time = unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        libc::localtime_r(&seconds, &mut time);
        time
    };
    let (year, month) = (time.tm_year + 1900, time.tm_mon + 1);
    format!("{year}-{month:02}-{:02} {:02}:{:02}:{:02}", time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec)
}

/// How long something took.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// How a process's recording stands at its end.
pub fn process_end(state: u32, header: &retake_tape::layout::ProcessHeader) -> String {
    use std::sync::atomic::Ordering::Relaxed;
    match state {
        retake_tape::layout::state::EXITED => format!("exit {}", header.status.load(Relaxed) as i32 & 0xff),
        retake_tape::layout::state::EXECED => "replaced itself by another program".into(),
        retake_tape::layout::state::CUT => crate::record::cut_words(header.cut_errno.load(Relaxed) as i32),
        _ => "ended by a signal".into(),
    }
}

/// Text of a program as it may be shown on a terminal.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The inverse of [`hex`].
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()).collect()
}

/// A word as it must be typed into a shell.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(48_213), "48 213");
        assert_eq!(thousands(1_000_000), "1 000 000");
        assert_eq!(count(1, "process"), "1 process");
        assert_eq!(count(2, "process"), "2 processes");
        assert_eq!(size(311_200), "312 kB");
        assert_eq!(size(12), "12 B");
    }

    #[test]
    fn signals_have_names() {
        assert_eq!(signal(6), "SIGABRT");
        assert_eq!(signal(31), "SIGSYS");
        assert_eq!(signal(40), "signal 40");
        assert_eq!(result(Op::CondTimed, 110), "110 (ETIMEDOUT)");
        assert_eq!(result(Op::MutexLock, 0), "0");
        assert_eq!(result(Op::PvmSpawn, -7), "-7");
        assert_eq!(result(Op::Wait, (77 << 32) + 256), "process 77, exit 1");
        assert_eq!(result(Op::Wait, -10), "-10 (ECHILD)");
        assert_eq!(result(Op::Barrier, -1), "-1 (serial thread)");
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell("./a.out"), "./a.out");
        assert_eq!(shell("it's"), r"'it'\''s'");
        assert_eq!(unhex(&hex(b"\x00\xffa")), Some(b"\x00\xffa".to_vec()));
        assert_eq!(unhex("0g"), None);
    }
}
