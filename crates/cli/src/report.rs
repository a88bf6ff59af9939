//! The report of a divergence or of a standstill: read from the session, put in words, with the likeliest cause.

use crate::develop;
use crate::elf;
use crate::facts::Facts;
use crate::lines;
use crate::names::ObjectNames;
use crate::status::{Failure, Status};
use crate::symbols::Symbols;
use crate::take::Take;
use crate::words::{clean, shell};
use retake_analysis::History;
use retake_tape::entry::{Entry, note};
use retake_tape::reader::Tape;
use retake_tape::session::RANK_NAME;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What a process reported, as it is written in the session: lines `key=value`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub what: String,
    pub process: String,
    pub thread: String,
    pub event: String,
    pub recorded: String,
    pub came: String,
    pub function: String,
    pub object: String,
    pub detail: String,
    pub pcs: Vec<u64>,
    pub waiting: Vec<String>,
    /// What other processes reported of the same standstill.
    pub others: Vec<Report>,
}

/// The cause where nothing else is seen.
const RACE: &str = "a race that no lock orders (plain memory, atomics)";

impl Report {
    pub fn parse(text: &str) -> Report {
        let starts = text.match_indices("what=").map(|(at, _)| at).filter(|at| *at > 0 && text[..*at].ends_with('\n'));
        let starts: Vec<usize> = [0].into_iter().chain(starts).chain([text.len()]).collect();
        let mut all: Vec<Report> = starts.windows(2).map(|part| Report::parse_one(&text[part[0]..part[1]])).collect();
        all.sort_by_cached_key(|report| (report.process.len(), report.process.clone()));
        Report { others: all.split_off(1), ..all.remove(0) }
    }

    fn parse_one(text: &str) -> Report {
        let mut report = Report::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            // Bytes that a program made up must not reach a terminal as they are.
            let value: String = value.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
            match key {
                "what" => report.what = value,
                "process" => report.process = value,
                "thread" => report.thread = value,
                "event" => report.event = value,
                "recorded" => report.recorded = value,
                "came" => report.came = value,
                "function" => report.function = value,
                "object" => report.object = value,
                "detail" => report.detail = value,
                "waiting" => report.waiting.push(value),
                "pcs" => {
                    report.pcs = value.split(',').filter_map(address).filter(|pc| *pc != 0).collect();
                }
                _ => {}
            }
        }
        report
    }

    pub fn is_stuck(&self) -> bool {
        self.what == "stuck"
    }

    /// All that there is to say, and the status that it means. `other` says so if the program is not the one that was
    /// recorded; the replay began at `since`.
    pub fn failure(
        &self,
        take: &Take,
        tapes: &[Tape],
        symbols: &mut Symbols,
        other: Option<String>,
        since: SystemTime,
    ) -> Failure {
        let place = self.place(symbols);
        let thread = if self.thread.is_empty() { &self.process } else { &self.thread };
        let mut text = if self.is_stuck() {
            let mut text = format!("stuck: thread {thread} has waited too long at event {}", self.event);
            if !self.recorded.is_empty() {
                text += &format!(" for {}", self.recorded);
            }
            text + &place
        } else {
            let came = if self.came.is_empty() { &self.function } else { &self.came };
            // A tape has few words, and has to guess where it has none; a developed take knows.
            let recorded = recorded(take, tapes, thread, &self.event).unwrap_or_else(|| self.recorded.clone());
            format!("diverged in thread {thread} at event {}: recorded {recorded}; came {came}{place}", self.event)
        };
        if let Some(name) = address(&self.object).and_then(|at| symbols.variable(&self.process, at)) {
            text += &format!("; the object is {name}");
        }
        if !self.detail.is_empty() {
            text += &format!(" ({})", self.detail);
        }
        for line in &self.waiting {
            text += &format!("\nretake:   {}", self.with_names(line, symbols));
        }
        for report in &self.others {
            let place = report.place(symbols);
            for line in &report.waiting {
                let is_main = line.strip_prefix(&report.thread).is_some_and(|rest| rest.starts_with(' '));
                let place = if is_main { &*place } else { "" };
                text += &format!("\nretake:   {}{place}", report.with_names(line, symbols));
            }
        }
        let cause = self.cause(other, take, tapes, since);
        text += &format!("\nretake: likely cause: {cause}");
        let status = if self.is_stuck() { Status::Stuck } else { Status::Diverged };
        let mut failure = Failure::new(status, text);
        if cause.starts_with(RACE) && take.facts.threads() > 1 && !take.facts.serial {
            failure = failure.next(format!("retake settle {}", take.label()));
            failure = failure.next("retake record --serial, which keeps races");
        }
        let failure = failure.next(format!("retake show --light {}", take.label()));
        if self.is_stuck() {
            failure.next("retake replay --patience SECONDS, if the program is only slow")
        } else {
            failure
        }
    }

    /// A line in which the address behind the word `object` is replaced by the variable's name, if it has one.
    fn with_names(&self, line: &str, symbols: &mut Symbols) -> String {
        let found = line.split_once(" object ").and_then(|(before, behind)| {
            let (word, rest) = behind.split_at(behind.find(' ').unwrap_or(behind.len()));
            let name = symbols.variable(&self.process, address(word)?)?;
            Some(format!("{before} {name}{rest}"))
        });
        found.unwrap_or_else(|| line.to_owned())
    }

    /// ` at file.c:41 (function)`.
    fn place(&self, symbols: &mut Symbols) -> String {
        match symbols.first_known(&self.process, &self.pcs) {
            Some(place) => format!(" at {place}"),
            None if !self.function.is_empty() && self.came != self.function => format!(" in {}", self.function),
            None => String::new(),
        }
    }

    /// What was seen here comes first, then what is `other` about the command or the program, then what else there may be.
    fn cause(&self, other: Option<String>, take: &Take, tapes: &[Tape], since: SystemTime) -> String {
        if self.recorded.contains(" ranks of ") || self.event == "0" && self.process.contains(RANK_NAME) {
            return "the job was started with another number of ranks than were recorded".into();
        }
        if let Some(other) = other {
            return other;
        }
        let (inputs, cwd) = (inputs(tapes), PathBuf::from(take.facts.cwd.os()));
        // What the replay itself has written was its output before it was its input.
        let recorded = SystemTime::UNIX_EPOCH + Duration::from_millis(take.facts.started_ms + 1);
        let changed: Vec<_> =
            inputs.iter().filter(|path| is_changed(&cwd.join(path), recorded, since)).cloned().collect();
        if !changed.is_empty() {
            return format!("input that changed since the recording: {}", changed.join(", "));
        }
        let mut unrecorded = Vec::new();
        if take.facts.stdin.kind != "terminal" && take.facts.stdin.kind != "null" {
            unrecorded.push(format!("standard input (a {})", take.facts.stdin.kind));
        }
        if !inputs.is_empty() {
            unrecorded.push(crate::words::count(inputs.len() as u64, "file"));
        }
        // The program itself may have put something there: a cache, an output. A second recording finds it.
        let begun = recorded - TICK;
        if let Some(folder) = folders(&inputs, &cwd).into_iter().find(|path| is_changed(path, begun, since)) {
            unrecorded.push(format!("what is in {}, which is not what it was: record it again", folder.display()));
        }
        let input = if unrecorded.is_empty() {
            String::new()
        } else {
            format!(", or input that is not recorded: {}", unrecorded.join(", "))
        };
        format!("{RACE}{input}")
    }
}

/// What `thread` did at `event` when it was recorded, and where, if the take is developed. Developing it now would be one
/// more replay, which goes wrong as this one did if the program has changed.
fn recorded(take: &Take, tapes: &[Tape], thread: &str, event: &str) -> Option<String> {
    let event: u64 = event.parse().ok().filter(|event| *event > 0)?;
    let rich = develop::developed(take)?;
    let (mut symbols, mut names) = (lines::symbols(&take.dir, tapes), ObjectNames::new(&rich));
    let history = History::new(&rich);
    let threads = history.threads().to_vec();
    for note in history {
        let (tape, other) = threads[note.thread];
        // Names are given in the order of all threads.
        let object = names.name(&tape.name(), &other.name, &note.rich, &mut symbols);
        if other.name == thread && note.rich.event == event {
            let object = if object.is_empty() { object } else { format!(" {object}") };
            let place = symbols.first_known(&tape.name(), &note.rich.pcs).map(|place| format!(" at {place}"));
            return Some(format!("{}{object}{}", note.rich.op.word(), place.unwrap_or_default()));
        }
    }
    None
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// Says so if the command that was given is not the one that was recorded: `exe` with the arguments `given`.
pub fn other_command(facts: &Facts, exe: &Path, given: &[OsString]) -> Option<String> {
    let mut why = Vec::new();
    if elf::identity(exe) != facts.exe_id {
        let recorded = facts.exe.os();
        why.push(format!("{} is not the program that was recorded ({})", exe.display(), recorded.display()));
    }
    let recorded: Vec<OsString> = facts.argv.iter().skip(1).map(|word| word.os().to_os_string()).collect();
    if given[1..] != recorded {
        let words = |all: &[OsString]| match all {
            [] => "none".to_owned(),
            all => all.iter().map(|word| shell(&word.to_string_lossy())).collect::<Vec<_>>().join(" "),
        };
        why.push(format!("other arguments were given: {}, recorded: {}", words(&given[1..]), words(&recorded)));
    }
    (!why.is_empty()).then(|| clean(&why.join("; ")))
}

/// Says so if the program has changed since it was recorded.
pub fn changed_program(facts: &Facts) -> Option<String> {
    let exe = Path::new(&facts.cwd.os()).join(facts.exe.os());
    let now = elf::identity(&exe);
    let short = |id: &str| id.chars().take(12).collect::<String>();
    let recorded = &facts.exe_id;
    let why = format!("build id {}, recorded {}", short(&now), short(recorded));
    (now != *recorded).then(|| format!("{} has changed since the recording ({why})", exe.display()))
}

/// Files that the recorded program opened for reading, without those of the system.
pub fn inputs(tapes: &[Tape]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for tape in tapes {
        for thread in &tape.threads {
            let mut payload = tape.payload(thread);
            while let Ok(Some((_, entry))) = payload.next_entry() {
                if let Entry::Note(note::FILE, path) = entry {
                    found.insert(String::from_utf8_lossy(path).into_owned());
                }
            }
        }
    }
    found.into_iter().collect()
}

/// Times of files may be so much too early: the kernel takes them from a clock that ticks.
const TICK: Duration = Duration::from_millis(10);

/// Where the inputs are, and where the program ran: it may have looked what else there is.
fn folders(inputs: &[String], cwd: &Path) -> BTreeSet<PathBuf> {
    let of_inputs = inputs.iter().filter_map(|path| cwd.join(path).parent().map(Path::to_path_buf));
    of_inputs.chain([cwd.to_path_buf()]).collect()
}

/// Whether the file was changed behind `after` and before `until`.
fn is_changed(path: &Path, after: SystemTime, until: SystemTime) -> bool {
    let changed = std::fs::metadata(path).and_then(|data| data.modified());
    changed.is_ok_and(|changed| changed > after && changed < until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let text = "what=divergence\nprocess=0\nthread=0.1\nevent=812\nrecorded=lock mutex\ncame=exit\x1b[31m\n\
                    pcs=55555,0x7f01\nwaiting=0.2 waits\nwaiting=0.3 waits\nnonsense\nnew=1\n";
        let report = Report::parse(text);
        assert_eq!(report.thread, "0.1");
        assert_eq!(report.came, "exit?[31m");
        assert_eq!(report.pcs, [0x55555, 0x7f01]);
        assert_eq!(report.waiting.len(), 2);
        assert!(!report.is_stuck());
    }
}
