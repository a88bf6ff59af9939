//! `retake replay --gdb`: a replay under the installed gdb, with a Python module that knows events.
//!
//! ```text
//! retake replay --gdb --> plan.json, retake.py --> gdb -- run --> retake (as exec-wrapper) --> the program, replayed
//! ```
//!
//! gdb starts the program as it always does, only that this binary stands in between: it makes a fresh session and becomes
//! the program. So `run` is a fresh replay, whoever says it: a person, `retake-back`, an IDE. A process that the first one
//! made is debugged by attaching to it: it waits when it begins.
//!
//! Law: gdb's own environment does not reach the program; it gets the recorded one.

use crate::board::{self, Where};
use crate::facts::{Ended, Text};
use crate::replay::Player;
use crate::status::{Context, Failure, Result, plain};
use crate::take::{Origin, Take, TempDir};
use crate::{Ending, launch, session, words};
use retake_tape::board::{Board, FILE as BOARD, Row};
use retake_tape::op::Op;
use retake_tape::session::{FILE as SESSION, ROOT_NAME, Session, flag};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::{Duration, Instant};

/// The hidden command by which gdb starts the program.
pub const PROGRAM: &str = "replayed-under-gdb";
const MODULE: &str = include_str!("retake.py");
const PLAN: &str = "plan.json";
const ASK: &str = "ask.json";
/// Holds the id of the process that the replay began as, if gdb attaches to another of it.
const BEGAN_AS: &str = "began-as";
/// Written by the module when the debugged process has ended by itself.
const ENDED: &str = "ended";
/// So long what gdb left of a replay may take to end by itself.
const END_MS_MAX: u64 = 10_000;

/// What the hidden command needs to know; part of the plan.
#[derive(Serialize, Deserialize)]
struct Replay {
    take: Text,
    flags: u32,
    at_end: u32,
    command: Vec<Text>,
    /// Run only this.
    only: Option<String>,
}

/// What gdb's module wants of the replay that begins.
#[derive(Default, Deserialize)]
struct Ask {
    thread: u32,
    event: u64,
    begin: u32,
}

/// What gdb looks at.
pub struct Debugged<'a> {
    pub process: &'a str,
    /// The main thread of the process that gdb attaches to; none if gdb starts the replay.
    pub attach: Option<u32>,
    /// The replay runs already, and waits.
    pub held: bool,
    /// gdb talks to a program.
    pub mi: bool,
}

/// Starts gdb, at `place` if that is given, with further `arguments` of its own.
pub fn main(mut player: Player, place: Option<&str>, arguments: &[OsString]) -> Result<Ending> {
    let place = place.map(parse).transpose()?;
    let first = player.first_process().to_owned();
    if place.is_none() && !player.tapes.iter().any(|tape| tape.name() == first) {
        return Err(not_the_first(&player));
    }
    let found = place.as_ref().map(|place| place.find(&player.take, &player.tapes)).transpose()?;
    player.flags |= flag::BOARD;
    let folder = TempDir::new()?;
    let process = found.as_ref().map_or(first.clone(), |found| found.process.clone());
    let attach = found.as_ref().filter(|found| found.process != first).map(|found| found.main);
    let mi = arguments.iter().any(|argument| {
        let argument = argument.to_string_lossy();
        argument.starts_with("mi")
            || argument
                .trim_start_matches('-')
                .split_once('=')
                .is_some_and(|(name, value)| value.starts_with("mi") && (name == "i" || name == "interpreter"))
    });
    write_plan(&player, folder.path(), &Debugged { process: &process, attach, held: false, mi })?;
    let mut gdb = Command::new("gdb");
    gdb.arg("-q").arg("-iex").arg(source(folder.path()));
    if attach.is_some() && place.as_ref().is_none_or(|place| place.event.is_none()) {
        gdb.args(["-ex", "retake-attach"]);
    } else if let Some(place) = &place {
        gdb.arg("-ex").arg(format!("retake-goto {}:{}", place.thread, place.event.unwrap_or(1)));
    }
    gdb.args(arguments);
    if attach.is_none() {
        gdb.arg(Path::new(&player.take.facts.cwd.os()).join(player.program()?.0));
    }
    if attach.is_some() {
        // What gdb leaves behind becomes a child of ours.
        // SAFETY: a plain call.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    }
    let ended = run(&mut gdb);
    if attach.is_some() && folder.path().join(ENDED).exists() {
        wait_for_rest();
    }
    session::end_all(&folder.path().join(SESSION));
    if attach.is_some() {
        wait_for_rest();
        let began_as = fs::read_to_string(folder.path().join(BEGAN_AS)).ok().and_then(|text| text.parse::<i32>().ok());
        if let Some(group) = began_as.filter(|group| *group > 1) {
            // SAFETY: a group that this replay began as; it has had its time.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }
    ended.map(|code| Ending::Like(Ended::Exit(code)))
}

/// The others end when the debugged process has ended; and a launcher, which is not recorded, when all have: it hands on what
/// they printed, and says how they ended.
fn wait_for_rest() {
    let until = Instant::now() + Duration::from_millis(END_MS_MAX);
    // SAFETY: a plain call. Only what gdb left behind is a child of ours.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } != -1 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The first process is a launcher, which is not recorded.
fn not_the_first(player: &Player) -> Failure {
    let (label, names) = (player.take.label(), player.tapes.iter().map(|tape| tape.name()));
    let names: Vec<_> = names.take(12).collect();
    let what = format!("{label} holds no process {ROOT_NAME} to debug, but {}", names.join(", "));
    let first = names.first().map_or("PROCESS", String::as_str);
    Failure::own(what).next(format!("retake replay {label} --gdb {first}"))
}

fn parse(text: &str) -> Result<Where> {
    let what = || format!("--gdb {text}: not a thread, such as 0.2 or rank:2, nor an event of one, such as 0.2:812");
    Where::parse(text).ok_or_else(|| Failure::own(what()).next("retake show --light"))
}

fn source(folder: &Path) -> OsString {
    let mut text = OsString::from("source ");
    text.push(folder.join(MODULE_FILE));
    text
}

/// The name of gdb's module in a plan's folder.
pub const MODULE_FILE: &str = "retake.py";

/// Writes the module and what it needs to know into `folder`, for gdb to read.
pub fn write_plan(player: &Player, folder: &Path, debugged: &Debugged<'_>) -> Result<()> {
    let words = || format!("cannot write {}", folder.display());
    let own = std::env::current_exe().because(|| "cannot find this binary".into())?;
    let launcher = [own.to_string_lossy(), PROGRAM.into(), folder.to_string_lossy()];
    let wrapper = launcher.iter().map(|word| words::shell(word)).collect::<Vec<_>>().join(" ");
    let replay = Replay {
        take: Text::new(player.take.dir.as_os_str()),
        flags: player.flags,
        at_end: player.at_end,
        command: player.command.iter().map(|word| Text::new(word)).collect(),
        only: player.only.clone(),
    };
    let threads: Vec<Value> = player
        .tapes
        .iter()
        .flat_map(|tape| tape.threads.iter().map(move |thread| (tape, thread)))
        .map(|(tape, thread)| {
            json!({
                "number": thread.header.number, "name": thread.name, "process": tape.name(), "events": thread.events(),
            })
        })
        .collect();
    let ops: serde_json::Map<String, Value> = (0..=u8::MAX)
        .filter_map(|number| {
            Some((number.to_string(), json!([Op::from_number(number)?.word(), board::word_offset(number.into())])))
        })
        .collect();
    let ended = match player.take.facts.ended {
        Some(Ended::Signal(number)) => format!("was ended by {}", words::signal(number)),
        _ => "hung".to_owned(),
    };
    let plan = json!({
        "take": player.take.label(),
        "process": debugged.process,
        "attach": debugged.attach,
        "held": debugged.held,
        "mi": debugged.mi,
        "ended": ended,
        "threads": threads,
        "ops": ops,
        "launcher": launcher,
        "wrapper": wrapper,
        "layout": layout(),
        "replay": replay,
    });
    fs::write(folder.join(PLAN), plan.to_string()).because(words)?;
    let directory = Value::from(folder.to_string_lossy());
    fs::write(folder.join(MODULE_FILE), format!("DIRECTORY = {directory}\n{MODULE}")).because(words)
}

/// Where the fields lie that the module reads and writes.
fn layout() -> Value {
    macro_rules! fields {
        ($type:ty: $($field:ident $form:literal),*) => { json!({ $(stringify!($field): [offset_of!($type, $field), $form]),* }) };
    }
    json!({
        "board": fields!(Board: rows "I", ask_thread "I", ask_event "Q", ask_any "I", ask_begin "I", stand "I", stopped "I"),
        "row": fields!(Row: count "Q", begun "Q", waits "I", op "I", waits_for "Q", waits_at "Q", pid "I", tid "I", stops "I"),
        "rows_at": size_of::<Board>(),
        "row_size": size_of::<Row>(),
        "session": {
            "report_state": offset_of!(Session, report_state),
            "report_len": offset_of!(Session, report_len),
            "report": offset_of!(Session, report),
        },
    })
}

extern "C" fn nothing(_: i32) {}

/// Runs gdb to its end. Interrupts from the terminal are gdb's.
fn run(gdb: &mut Command) -> Result<i32> {
    // SAFETY: a handler that does nothing; unlike ignoring, it does not reach gdb and the program.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGQUIT] {
            libc::signal(signal, nothing as *const () as libc::sighandler_t);
        }
    }
    let status = gdb.status().map_err(|error| {
        let what = format!("cannot start gdb: {}", plain(&error));
        Failure::own(what).next("apt-get install gdb").next("retake replay --stop-at THREAD:EVENT, which needs none")
    })?;
    Ok(status.code().unwrap_or(125))
}

#[derive(clap::Args)]
pub struct Args {
    folder: PathBuf,
    /// What gdb thinks the command is
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _command: Vec<OsString>,
}

/// The hidden command: makes a fresh session in the plan's folder and becomes the program.
pub fn program(args: Args) -> Result<Ending> {
    let folder = args.folder;
    let unusable = |why: String| Failure::own(format!("{}: {why}", folder.join(PLAN).display()));
    let text = fs::read_to_string(folder.join(PLAN)).map_err(|error| unusable(plain(&error)))?;
    let plan: Value = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
    let replay: Replay = serde_json::from_value(plan["replay"].clone()).map_err(|error| unusable(error.to_string()))?;
    let asked = fs::read_to_string(folder.join(ASK)).ok().and_then(|text| serde_json::from_str::<Ask>(&text).ok());
    let asked = asked.unwrap_or_default();
    session::end_all(&folder.join(SESSION));
    for name in [ASK, SESSION, BOARD, ENDED] {
        let _ = fs::remove_file(folder.join(name));
    }
    let mut player = Player::new(Take::open(Path::new(&replay.take.os()), Origin::Elsewhere)?)?;
    player.flags = replay.flags;
    player.at_end = replay.at_end;
    player.command = launch::os_strings(&replay.command);
    if let Some(name) = &replay.only {
        player.leave_alone(name)?;
    }
    // No patience is long enough for a person at a prompt.
    player.patience_ms = u32::MAX;
    // SAFETY: only asks. What gdb reads its commands from is not the program's input.
    player.silent = unsafe { libc::isatty(0) } == 0;
    let board = board::Mapped::create(&folder.join(BOARD), &player.tapes)?;
    board.ask_thread.store(asked.thread, Relaxed);
    board.ask_event.store(asked.event, Relaxed);
    board.ask_begin.store(asked.begin, Release);
    if asked.begin != 0 {
        let words = || format!("cannot write {}", folder.join(BEGAN_AS).display());
        fs::write(folder.join(BEGAN_AS), std::process::id().to_string()).because(words)?;
    }
    let mut scene = player.scene(&folder, None)?;
    std::mem::take(&mut scene.relay).leave_behind();
    Err(launch::become_it(&scene.launch))
}
