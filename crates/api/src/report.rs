//! A replay that went wrong: told to the command line through the session, or to standard error, and then the process
//! ends. 120: it does something else than it did. 121: it stands still.

use crate::mode::Settings;
use retake_engine::{sys, watch};
use retake_tape::session::{REPORT_MAX, Session};
use std::fmt::Write;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Whom to tell, and for whom.
pub struct Reporter {
    session: Option<&'static Session>,
    process: String,
    name: String,
    pub patience_ns: i64,
}

impl Reporter {
    pub fn new(settings: &Settings, name: &str) -> Reporter {
        Reporter {
            session: settings.session(),
            process: settings.process.clone().unwrap_or_else(|| "0".into()),
            name: name.into(),
            patience_ns: settings.patience_ns(),
        }
    }

    /// The program does something else than it did.
    pub fn diverged(&self, event: u64, recorded: &str, came: &str) -> ! {
        let text = format!("recorded={recorded}\ncame={came}\n");
        self.end("divergence", event, &text, &format!("recorded {recorded}; came {came}"), 120)
    }

    /// Nothing has come for longer than the user has patience.
    pub fn stuck(&self, event: u64, waits_for: &str) -> ! {
        let text = format!("recorded={waits_for}\n");
        self.end("stuck", event, &text, &format!("it has waited too long for {waits_for}"), 121)
    }

    fn end(&self, what: &str, event: u64, text: &str, words: &str, status: usize) -> ! {
        if let Some(session) = self.session {
            let mut report = String::new();
            let _ = write!(report, "what={what}\nprocess={}\nthread={}\nevent={event}\n", self.process, self.name);
            report += text;
            write_report(session, report.as_bytes());
        } else {
            let what = if what == "stuck" { "stuck" } else { "diverged" };
            tell(&format!("{what}: participant {} at event {event}: {words}", self.name));
        }
        loop {
            // SAFETY: the process ends here.
            unsafe { sys::exit_group(status) };
        }
    }

    /// Whether somebody of this run is held by a debugger or stopped: then nothing is ever stuck.
    pub fn is_held(&self) -> bool {
        let held = |pid: i32| {
            let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
            let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
            value("TracerPid:").is_some_and(|tracer| tracer != "0")
                || value("State:").is_some_and(|state| state.starts_with(['t', 'T']))
        };
        let others = self.session.is_some_and(|session| {
            let length = (session.pids_len.load(Acquire) as usize).min(session.pids.len());
            session.pids[..length].iter().any(|pair| held(pair.load(Relaxed) as u32 as i32))
        });
        others || watch::is_debugged()
    }
}

/// Says something to the user, past whatever the program does with its streams.
pub fn tell(words: &str) {
    let line = format!("retake: {words}\n");
    // SAFETY: the text lives as long as the call.
    unsafe { sys::write(2, line.as_ptr() as usize, line.len()) };
}

fn write_report(session: &Session, text: &[u8]) {
    if session.report_state.compare_exchange(0, 1, AcqRel, Acquire).is_ok() {
        let length = text.len().min(REPORT_MAX);
        // SAFETY: whoever turned the state to 1 is the only writer.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), session.report.as_ptr().cast_mut(), length) };
        session.report_len.store(length as u32, Release);
        session.report_state.store(2, Release);
    }
    // Another may be writing: its report must be whole before the process ends.
    for _ in 0..2000 {
        if session.report_state.load(Acquire) == 2 {
            break;
        }
        sys::sleep_ns(1_000_000);
    }
}
