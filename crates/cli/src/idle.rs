//! Telling that a replay stands still where nobody inside of it can: every thread waits in a call that is not Retake's, for
//! input that does not come, or for something that is not followed.
//!
//! Law: it is told, and the replay goes on. Who waits for a person, or for a client, is no mistake.

use crate::ranks::{is_traced, used};
use crate::session::Mapped;
use crate::status::say;
use retake_tape::session::at_end;
use std::fs;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(500);
/// Threads that wait for their turn say so themselves, and first.
const LATER: Duration = Duration::from_secs(2);
/// So many processes are named.
const NAMED: usize = 6;

pub struct Watch<'a> {
    session: &'a Mapped,
    looked: Instant,
    still: Duration,
    /// The processes, and what they had worked, when they began to stand still.
    last: (Vec<i32>, Duration),
    told: bool,
}

impl Watch<'_> {
    pub fn new(session: &Mapped) -> Watch<'_> {
        Watch {
            session,
            looked: Instant::now(),
            still: Duration::ZERO,
            last: (Vec::new(), Duration::ZERO),
            told: false,
        }
    }

    /// Looks now and then; says so, once, if nothing has moved for longer than the user has patience.
    pub fn look(&mut self) {
        let since = self.looked.elapsed();
        if self.told || since < LOOK {
            return;
        }
        self.looked = Instant::now();
        let patience_ms = self.session.patience_ms.load(Relaxed);
        if patience_ms == u32::MAX || self.session.at_end.load(Relaxed) == at_end::HANG || self.is_told_otherwise() {
            return;
        }
        let pids = self.living();
        let work = pids.iter().map(|pid| used(&format!("/proc/{pid}/stat"))).sum::<Duration>();
        // A hundredth of the time is no work.
        let works = work.abs_diff(self.last.1) > (self.still / 100).max(Duration::from_millis(20));
        if pids.is_empty() || pids != self.last.0 || works {
            (self.last, self.still) = ((pids, work), Duration::ZERO);
            return;
        }
        // We may have been stopped ourselves.
        self.still += since.min(2 * LOOK);
        if self.still >= Duration::from_millis(patience_ms.into()) + LATER && !pids.iter().any(|pid| is_traced(*pid)) {
            self.told = true;
            tell(&pids, self.still);
        }
    }

    /// Whether a report, or a deadlock, has been told, or is about to be.
    fn is_told_otherwise(&self) -> bool {
        self.session.report_state.load(Acquire) != 0 || self.session.deadlock_state.load(Acquire) != 0
    }

    fn living(&self) -> Vec<i32> {
        let mut pids = self.session.present_pids();
        pids.retain(|pid| *pid > 0 && !matches!(state(*pid), None | Some('Z')));
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

fn tell(pids: &[i32], still: Duration) {
    say(format_args!(
        "nothing has moved for {} seconds; the replay goes on, in case that something still comes",
        still.as_secs()
    ));
    for pid in pids.iter().take(NAMED) {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        say(format_args!("  process {pid} ({}) waits {}", name.trim_end().escape_debug(), place(*pid)));
    }
    if pids.len() > NAMED {
        say(format_args!("  and {} more", pids.len() - NAMED));
    }
    say(
        "likely cause: input that is not recorded does not come, or a wait that Retake does not follow (docs/limits.md)",
    );
    say("next: Ctrl-C · retake replay --gdb");
}

/// Where the first thread of the process waits, in words.
fn place(pid: i32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    let mut words = text.split_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else { return "somewhere".into() };
    let first = words.next().and_then(|word| i64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let of = |what: &str| {
        let file = first.and_then(|fd| fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok());
        file.map_or(what.to_string(), |file| format!("{what} {}", file.display().to_string().escape_debug()))
    };
    match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 => of("to read"),
        libc::SYS_recvfrom | libc::SYS_recvmsg => of("to receive from"),
        libc::SYS_accept | libc::SYS_accept4 => of("to accept at"),
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg => of("to write"),
        libc::SYS_poll | libc::SYS_ppoll | libc::SYS_select | libc::SYS_pselect6 => {
            "for descriptors (poll, select)".into()
        }
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => "for descriptors (epoll)".into(),
        libc::SYS_wait4 | libc::SYS_waitid => "for a child".into(),
        libc::SYS_futex => "for another thread (futex)".into(),
        libc::SYS_pause | libc::SYS_rt_sigsuspend | libc::SYS_rt_sigtimedwait => "for a signal".into(),
        other => format!("in call {other} of the kernel"),
    }
}

fn state(pid: i32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit(')').next()?.trim_start().chars().next()
}
