//! Watching the ranks of a replayed job: whether any of them can still move.
//!
//! A rank in a call of MPI that does not come back, a barrier or `MPI_Finalize`, cannot look by itself. So the command line
//! does: if every rank waits inside MPI and none has come out for as long as the user has patience, nothing will come any
//! more. Then each is asked where it waits.
//!
//! Law: better late than wrong. A rank of which another thread works, a process of the job that is no rank yet, a debugger,
//! and time in which we did not run ourselves: none of that is a standstill.

use crate::launch::{Verdict, descends};
use crate::session::Mapped;
use retake_tape::board::ASK_SIGNAL;
use retake_tape::session::{at_end, fate};
use std::fs;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// What lies between two looks counts for so much at most.
const LOOK_MAX: Duration = Duration::from_millis(100);
/// A rank that is asked may take so long to answer.
const ANSWER: Duration = Duration::from_secs(2);

pub struct Watch<'a> {
    session: &'a Mapped,
    last: Vec<Member>,
    looked: Instant,
    still: Duration,
    /// What had been worked when they began to stand still.
    work: Duration,
}

/// A process of the replay that lives.
#[derive(Clone, Copy, PartialEq)]
struct Member {
    index: usize,
    pid: i32,
    fate: u32,
}

impl Member {
    fn is_rank(&self) -> bool {
        self.fate & fate::RANK != 0
    }

    fn waits(&self) -> bool {
        self.is_rank() && self.fate & fate::WAITS != 0
    }
}

impl Watch<'_> {
    pub fn new(session: &Mapped) -> Watch<'_> {
        let none = Duration::ZERO;
        Watch { session, last: Vec::new(), looked: Instant::now(), still: none, work: none }
    }

    pub fn look(&mut self) -> Verdict {
        let since = self.looked.elapsed().min(LOOK_MAX);
        self.looked = Instant::now();
        let patience_ms = self.session.patience_ms.load(Relaxed);
        let never = patience_ms == u32::MAX || self.session.at_end.load(Relaxed) == at_end::HANG;
        if never || self.session.report_state.load(Acquire) != 0 || !self.has_ranks() {
            return Verdict::GoOn;
        }
        let patience = Duration::from_millis(patience_ms.into());
        let members = self.members();
        if members != self.last {
            self.last = members;
            self.begin();
            return Verdict::GoOn;
        }
        self.still += since;
        if self.still < patience || !all_wait(&self.last) {
            return Verdict::GoOn;
        }
        // A hundredth of the time is what the library's own threads may use.
        let works = self.worked().abs_diff(self.work) > patience / 100;
        if works || self.last.iter().any(|member| is_traced(member.pid)) || !self.ask() {
            self.begin();
            return Verdict::GoOn;
        }
        Verdict::StopAll
    }

    fn begin(&mut self) {
        self.still = Duration::ZERO;
        self.work = if all_wait(&self.last) { self.worked() } else { Duration::ZERO };
    }

    fn has_ranks(&self) -> bool {
        self.session.fates[..self.session.present_pids().len()].iter().any(|fate| fate.load(Relaxed) & fate::RANK != 0)
    }

    /// All that live. One that has executed another image stands there twice; the last one counts.
    fn members(&self) -> Vec<Member> {
        let mut all: Vec<Member> = Vec::new();
        for (index, pid) in self.session.present_pids().into_iter().enumerate() {
            // SAFETY: signal 0 asks and does nothing.
            if pid > 0 && unsafe { libc::kill(pid, 0) } == 0 {
                all.retain(|member| member.pid != pid);
                all.push(Member { index, pid, fate: self.session.fates[index].load(Acquire) });
            }
        }
        all
    }

    /// What all of them have worked: without looking, and without the threads that wait inside MPI.
    fn worked(&self) -> Duration {
        let of = |member: &Member| {
            let all = used(&format!("/proc/{}/stat", member.pid));
            let looking = self.session.looking_us.get(member.index).map_or(0, |us| us.load(Relaxed));
            let tid = self.tid(member);
            let inside =
                if member.waits() { used(&format!("/proc/{}/task/{tid}/stat", member.pid)) } else { Duration::ZERO };
            all.saturating_sub(inside).saturating_sub(Duration::from_micros(looking.into()))
        };
        self.last.iter().map(of).sum()
    }

    /// The thread by which a rank waits inside MPI.
    fn tid(&self, member: &Member) -> i32 {
        self.session.waiting_tids.get(member.index).map_or(0, |tid| tid.load(Relaxed) as i32)
    }

    /// Asks each rank where it waits; false if one has moved meanwhile.
    fn ask(&self) -> bool {
        let session = self.session;
        if session.report_state.compare_exchange(0, 1, AcqRel, Acquire).is_err() {
            return false;
        }
        session.report_len.store(0, Release);
        for member in self.last.iter().filter(|member| member.is_rank()) {
            // At the end of its tape it is no longer inside MPI; its first thread will do.
            let tid = if member.waits() { self.tid(member) } else { member.pid };
            session.asked.store(member.pid as u32, Release);
            // SAFETY: a signal that the shim answers.
            unsafe { libc::syscall(libc::SYS_tgkill, member.pid, tid, ASK_SIGNAL) };
            let started = Instant::now();
            while session.asked.load(Acquire) != 0 && started.elapsed() < ANSWER {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let stands = self.members() == self.last && session.report_len.load(Acquire) > 0;
        session.report_state.store(if stands { 2 } else { 0 }, Release);
        stands
    }
}

/// Whether a debugger is attached to the process.
pub fn is_traced(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() != "0"))
}

/// Whether every rank waits inside MPI, or at the end of its tape, and whatever else there is has started them.
fn all_wait(members: &[Member]) -> bool {
    let has_descendant = |of: &Member| members.iter().any(|other| other.pid != of.pid && descends(other.pid, of.pid));
    let is_there = |member: &Member| match member.is_rank() {
        true => member.fate & (fate::WAITS | fate::PLAYED) != 0,
        false => has_descendant(member),
    };
    members.iter().any(Member::waits) && members.iter().all(is_there)
}

/// The processor time in a `stat` of the kernel's.
pub fn used(path: &str) -> Duration {
    let text = fs::read_to_string(path).unwrap_or_default();
    // The name in parentheses may contain anything.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    // SAFETY: only asks.
    let in_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    Duration::from_millis(ticks * 1000 / in_second)
}
