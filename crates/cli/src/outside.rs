//! Threads that wait or compute outside of what a schedule orders, in words.
//!
//! The program tells of such a thread when another one waits for its turn. Where none does, this side looks: no step may
//! last long without a word.

use crate::status::say;
use crate::symbols::Symbols;
use retake_tape::schedule::{Header, OUTSIDE_MAX, Outside, outside};
use retake_tape::session::ROOT_NAME;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// A step that lasts so long is told, whatever its thread does.
const LONG: Duration = Duration::from_secs(10);

/// What has been told so far.
#[derive(Default)]
pub struct Watch {
    told: [bool; OUTSIDE_MAX],
    /// The step and its thread, since when, and whether that has been told.
    present: Option<(u32, u32)>,
    since: Option<Instant>,
    is_told: bool,
}

impl Watch {
    /// Called now and then while the program with that id runs.
    pub fn look(&mut self, header: &Header, child: i32) {
        if self.untold(header).next().is_some() {
            let mut symbols = Symbols::of_process(ROOT_NAME, child);
            // If it has just ended, its tape knows more.
            if symbols.knows(ROOT_NAME) {
                self.tell(header, &mut symbols);
            }
        }
        self.look_long(header, child);
    }

    /// Those that are new.
    fn untold<'a>(&self, header: &'a Header) -> impl Iterator<Item = (usize, &'a Outside)> + use<'a> {
        let told = self.told;
        let there = header.outside.iter().enumerate().filter(|(_, outside)| outside.step.load(Acquire) != 0);
        there.filter(move |(at, _)| !told[*at])
    }

    /// Tells of those that are new.
    pub fn tell(&mut self, header: &Header, symbols: &mut Symbols) {
        for (at, outside) in self.untold(header) {
            self.told[at] = true;
            let pcs: Vec<_> = outside.pcs.iter().map(|pc| pc.load(Relaxed)).take_while(|pc| *pc != 0).collect();
            let place = symbols.first_known(ROOT_NAME, &pcs).map_or(String::new(), |place| format!(" at {place}"));
            let call = outside.call.load(Relaxed);
            let (does, may) = (does(call), if call == outside::COMPUTES { ", and may spin" } else { "" });
            let then = if outside.lends.load(Relaxed) != 0 {
                "those who are named behind it have their steps meanwhile"
            } else {
                "the schedule goes on when it comes back"
            };
            let (step, thread) = (outside.step.load(Relaxed), outside.thread.load(Relaxed));
            say(format_args!("step {step}: thread {thread} {does}{place}{may}; {then}"));
            self.is_told |= header.step.load(Acquire) + 1 == step;
        }
    }

    fn look_long(&mut self, header: &Header, child: i32) {
        let tid = header.running_tid.load(Acquire);
        let (step, thread) = (header.step.load(Acquire), header.running.load(Relaxed));
        if self.present != Some((step, tid)) {
            (self.present, self.since, self.is_told) = (Some((step, tid)), Some(Instant::now()), false);
        }
        let is_long = self.since.is_some_and(|since| since.elapsed() > LONG);
        if tid == 0 || !is_long || self.is_told || header.ended.load(Acquire) != 0 {
            return;
        }
        let Some(call) = call_of(child, tid) else { return };
        self.is_told = true;
        let does = does(call);
        say(format_args!("step {}: thread {thread} {does}; gdb -p {child} looks at it, Ctrl-C ends it", step + 1));
    }
}

/// What the thread does; nothing if a debugger has stopped it, or it is gone.
fn call_of(child: i32, tid: u32) -> Option<u32> {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{child}/task/{tid}/{file}")).ok();
    match read("stat")?.rsplit(')').next()?.trim_start().chars().next()? {
        'R' => Some(outside::COMPUTES),
        'S' | 'D' => {
            let call = read("syscall").and_then(|text| text.split(' ').next()?.parse().ok());
            Some(call.unwrap_or(outside::UNKNOWN))
        }
        _ => None,
    }
}

fn does(call: u32) -> String {
    match call {
        outside::COMPUTES => "computes without coming to a point".into(),
        outside::UNKNOWN => "waits outside of what a schedule orders".into(),
        number => format!("waits outside of what a schedule orders: {}", name(number)),
    }
}

/// The calls that threads usually wait in.
fn name(number: u32) -> String {
    let known = match i64::from(number) {
        libc::SYS_futex => "futex",
        libc::SYS_read => "read",
        libc::SYS_write => "write",
        libc::SYS_poll => "poll",
        libc::SYS_ppoll => "ppoll",
        libc::SYS_select => "select",
        libc::SYS_pselect6 => "pselect",
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => "epoll_wait",
        libc::SYS_accept | libc::SYS_accept4 => "accept",
        libc::SYS_connect => "connect",
        libc::SYS_recvfrom => "recv",
        libc::SYS_recvmsg => "recvmsg",
        libc::SYS_wait4 | libc::SYS_waitid => "wait",
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => "nanosleep",
        libc::SYS_flock => "flock",
        _ => return format!("system call {number}"),
    };
    known.into()
}
