//! One task alone: no daemon, no other tasks, everything that it received from the take.

use crate::{Machine, Place, fixture, must, names, need, programs};
use retake_testkit::{Kit, Outcome, run};
use std::path::{Path, PathBuf};

/// Runs `retake` in `scratch`.
fn retake(kit: &Kit, scratch: &Path, args: &[&str]) -> Result<Outcome, String> {
    run(kit.retake(scratch).args(args), scratch, kit.limits)
}

fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// A take with contents, in a folder of its own, and no daemon any more.
struct Recorded {
    place: Place,
    scratch: PathBuf,
    outcome: Outcome,
}

impl Recorded {
    fn new(test: &str, command: &[&str]) -> Result<Recorded, String> {
        let place = Place::new()?;
        let machine = Machine::start(&place)?;
        let kit = place.kit();
        let scratch = kit.scratch(test)?;
        let outcome = retake(&kit, &scratch, &[&["record", "-q", "--full", "-o", "take", "--"], command].concat())?;
        drop(machine);
        must(outcome.ended == 0, "the recording failed", &outcome)?;
        Ok(Recorded { place, scratch, outcome })
    }

    /// The same of a program that was recorded without contents: they are kept while it is replayed, under another daemon
    /// that gives other ids.
    fn later(test: &str, command: &[&str]) -> Result<Recorded, String> {
        let place = Place::new()?;
        let machine = Machine::start(&place)?;
        let kit = place.kit();
        let scratch = kit.scratch(test)?;
        let outcome = retake(&kit, &scratch, &[&["record", "-q", "-o", "light", "--"], command].concat())?;
        must(outcome.ended == 0, "the recording failed", &outcome)?;
        // Ids are given out one behind the other.
        retake(&kit, &scratch, &[&["record", "-q", "-o", "other", "--"], command].concat())?;
        let full = retake(&kit, &scratch, &["replay", "--full", "light", "-o", "take"])?;
        let fits = full.ended == 0 && full.stderr.contains("next: retake replay --only task:0");
        must(fits && full.stdout == outcome.stdout, "it is not made full", &full)?;
        let whole = retake(&kit, &scratch, &["replay", "take"])?;
        must(whole.ended == 0 && whole.stdout == outcome.stdout, "the full take is another", &whole)?;
        drop(machine);
        Ok(Recorded { place, scratch, outcome })
    }

    fn retake(&self, args: &[&str]) -> Result<Outcome, String> {
        retake(&self.place.kit(), &self.scratch, args)
    }

    /// The names of all processes, which are all tasks here.
    fn tasks(&self) -> Vec<String> {
        names(&self.scratch.join("take")).iter().map(|name| name.trim_end_matches(".tape").to_string()).collect()
    }

    /// Replays each task alone, so many times; what each printed.
    fn each_alone(&self, times: &str) -> Result<Vec<(String, String)>, String> {
        let each = |name: String| {
            let only = format!("task:{name}");
            let alone = self.retake(&["replay", "--check", "--times", times, "--only", &only, "take"])?;
            must(alone.ended == 0, &only, &alone)?;
            Ok((name, text(&alone)))
        };
        self.tasks().into_iter().map(each).collect()
    }
}

fn compiled(name: &str) -> Result<String, String> {
    let place = Place::new()?;
    Ok(place.kit().compile(&fixture(name)?)?.to_string_lossy().into_owned())
}

fn same(expected: &str, found: &str) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("recorded:\n{expected}\nalone:\n{found}")) }
}

/// The first task prints what came from all the others.
pub fn comes_back(name: &str, times: &str) -> Result<(), String> {
    let recorded = Recorded::new(&format!("alone_{name}"), &[&compiled(name)?])?;
    for (task, printed) in recorded.each_alone(times)? {
        if task == "0" {
            same(&text(&recorded.outcome), &printed)?;
        }
    }
    Ok(())
}

/// The same of a take that was made full by a replay.
pub fn comes_back_later(name: &str) -> Result<(), String> {
    let recorded = Recorded::later(&format!("later_{name}"), &[&compiled(name)?])?;
    for (task, printed) in recorded.each_alone("2")? {
        if task == "0" {
            same(&text(&recorded.outcome), &printed)?;
        }
    }
    Ok(())
}

/// Every task prints, and the first takes over what the others print.
pub fn prints_the_same() -> Result<(), String> {
    let recorded = Recorded::new("alone_prints", &[&compiled("alone")?])?;
    let all = text(&recorded.outcome);
    let alone = recorded.each_alone("20")?;
    if alone.len() != 4 {
        return Err(format!("{} tasks instead of 4", alone.len()));
    }
    for (task, printed) in alone {
        if task == "0" {
            same(&all, &printed)?;
            continue;
        }
        let mut lines = all.lines().map(str::to_string).collect::<Vec<_>>();
        lines.retain(|line| !line.ends_with(" BEGIN") && !line.ends_with(" EOF"));
        let place = task.rsplit('.').next().unwrap_or_default();
        // The first task sends the number of its place to each.
        let tag = place.parse::<u32>().map_err(|e| e.to_string())? - 1;
        let first = lines.iter().find(|line| line.contains(&format!("] tag {tag}: "))).ok_or("it printed nothing")?;
        let prefix = first.split_inclusive("] ").next().unwrap_or_default().to_string();
        let expected: String =
            lines.iter().filter_map(|line| line.strip_prefix(&prefix)).map(|line| format!("{line}\n")).collect();
        same(&expected, &printed)?;
    }
    Ok(())
}

/// A changed program sends something else, or asks for something else.
pub fn differs() -> Result<(), String> {
    let program = compiled("alone")?;
    let recorded = Recorded::new("alone_differs", &[&program])?;
    let only = ["replay", "--only", "task:0.1.2", "take"];
    let other = recorded.retake(&[&only[..], &["--", &program, "x"]].concat())?;
    let words = ["0.1.2 sends other bytes than it did before event", "pvm_send to task t40001, tag 6, 40 bytes"];
    let told = words.iter().all(|words| other.stderr.contains(words));
    must(other.ended == 0 && told, "other bytes", &other)?;
    let checked = recorded.retake(&[&only[..], &["--check", "--", &program, "x"]].concat())?;
    must(checked.ended == 120, "other bytes are the same", &checked)?;
    let fewer = recorded.retake(&[&only[..], &["--", &program, "y"]].concat())?;
    let words = "diverged in thread 0.1.2 at event";
    let and = "recorded pvm_send to task t40001, tag 6, 40 bytes; came pvm_send to task t40001, tag 6, 36 bytes";
    must(fewer.ended == 120 && fewer.stderr.contains(words) && fewer.stderr.contains(and), "fewer bytes", &fewer)?;
    let live = recorded.retake(&[&only[..], &["--at-end", "live"]].concat())?;
    must(live.ended == 125 && live.stderr.contains("--at-end hang"), "it goes on without a daemon", &live)?;
    let another = recorded.retake(&["replay", "--only", "task:0", "take", "--", &compiled("recv_any")?])?;
    let words = "recorded pvm_spawn of 3 tasks: ";
    let told = another.stderr.contains(words) && another.stderr.contains("; came pvm_spawn of 4 tasks: ");
    must(another.ended == 120 && told, "another program", &another)
}

pub fn under_gdb() -> Result<(), String> {
    let recorded = Recorded::new("alone_gdb", &[&compiled("alone")?])?;
    let debug = ["replay", "--only", "task:0.1.3", "take", "--gdb", "--gdb-arg=-batch"];
    let steps = ["break pvm_psend", "run", "up", "print tids[2] == few[0]", "print name", "continue"];
    let steps = steps.map(|step| format!("--gdb-arg=-ex={step}"));
    let debugged = recorded.retake(&debug.into_iter().chain(steps.iter().map(String::as_str)).collect::<Vec<_>>())?;
    let shown = ["$1 = 1", "$2 = \"a letter\"", "tag 5: a letter"].iter().all(|words| text(&debugged).contains(words));
    must(shown, "the debugger shows something else", &debugged)
}

pub fn refused() -> Result<(), String> {
    let place = Place::new()?;
    let _machine = Machine::start(&place)?;
    let (kit, program) = (place.kit(), compiled("recv_any")?);
    let scratch = kit.scratch("alone_refused")?;
    let light = retake(&kit, &scratch, &["record", "-q", "-o", "light", "--", &program])?;
    must(light.ended == 0, "the recording failed", &light)?;
    let refuse = |task: &str, take: &str, words: &str| {
        let refused = retake(&kit, &scratch, &["replay", "--only", task, take])?;
        must(refused.ended == 125 && refused.stderr.contains(words), &format!("{task} is not refused"), &refused)
    };
    refuse("task:0.1.2", "light", "retake record --full")?;
    refuse("task:0.1.2", "light", "retake replay --full")?;
    refuse("task:0.1.5", "light", "has no task 0.1.5, but 0, 0.1.1, 0.1.2, 0.1.3, 0.1.4")?;
    let other = retake(&kit, &scratch, &["record", "-q", "--full", "-o", "other", "--", "/bin/true"])?;
    must(other.ended == 0, "the recording failed", &other)?;
    refuse("task:0", "other", "has no tasks")?;
    let bound = retake(&kit, &scratch, &["record", "--full", "-o", "bound", "--", &compiled("unhandled")?])?;
    must(bound.stderr.contains("0 called pvm_addmhf, and cannot be replayed alone"), "it is not told", &bound)?;
    refuse("task:0", "bound", "0 cannot be replayed alone: it called pvm_addmhf, pvm_getfds")
}

/// Debian's timetabler, each of its tasks alone: the kernels write their results into files.
pub fn tablix() -> Result<(), String> {
    let program = need("tablix2", "tablix2")?.to_string_lossy().into_owned();
    let problem = programs().join("timetable.xml").to_string_lossy().into_owned();
    let recorded = Recorded::new("alone_tablix2", &[&program, "-n", "3", "-o", "out-", &problem])?;
    for (task, printed) in recorded.each_alone("2")? {
        if task == "0" {
            same(&text(&recorded.outcome), &printed)?;
        }
    }
    Ok(())
}
