//! `retake replay`: run a recorded execution again, the same.

use crate::board::Where;
use crate::deadlock::{self, OnDeadlock};
use crate::environment::{self, Own};
use crate::facts::{Ended, Facts};
use crate::launch::{self, Launch, Verdict};
use crate::parts::{self, Alone};
use crate::relay::Relay;
use crate::report::{Report, changed_program, other_command};
use crate::session::Mapped;
use crate::settle::{Order, Told, Way};
use crate::status::{Context, Failure, Result, Status, say};
use crate::store::Store;
use crate::symbols::Symbols;
use crate::take::{Take, TempDir};
use crate::tasks::TASK_NAME;
use crate::{
    Ending, checkpoints, gdb, hosts, idle, launcher, promote, ranks, record, shim, stop, streams, tasks, wake, words,
};
use retake_tape::layout::{born, state};
use retake_tape::reader::Tape;
use retake_tape::session::{FILE as SESSION, RANK_NAME, ROOT_NAME, at_end, flag};
use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum AtEnd {
    /// End as the recorded program ended
    Stop,
    /// Wait for ever, so that a debugger can look
    Hang,
    /// Go on without a tape
    Live,
}

#[derive(clap::Args)]
pub struct Args {
    /// Which take: a name, a unique prefix, a directory, a packed file
    #[arg(default_value = "latest")]
    take: String,
    /// Replay so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,
    /// Compare how the program ended with the recording, and the output of several replays with each other; exit 0 if all is the same, 120 if not
    #[arg(long)]
    check: bool,
    /// Sleep as long as the program asks for
    #[arg(long)]
    real_time: bool,
    /// What a thread does at the end of its tape, where the recorded program was killed or hung
    #[arg(long, value_enum, default_value = "stop")]
    at_end: AtEnd,
    /// How long nothing may happen before the replay is called stuck; 0: for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u32,
    /// Replay under gdb: at the prompt, or WHERE a thread or process begins (0.2, rank:2), or before an event of it (0.2:812; 812 alone: of thread 0)
    #[arg(long, value_name = "WHERE", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["times", "check", "stop_at"])]
    gdb: Option<String>,
    /// An argument for gdb, such as -x=SCRIPT, -batch or -i=mi; may be given again
    #[arg(long, value_name = "ARG", requires = "gdb", allow_hyphen_values = true)]
    gdb_arg: Vec<OsString>,
    /// Stop where THREAD is about to have its event EVENT (0.2:812), or at the `end` of a program that hung; tell every thread's place and stack, and end
    #[arg(long, value_name = "THREAD:EVENT", conflicts_with_all = ["times", "check"])]
    stop_at: Option<String>,
    /// With --stop-at: leave everything where it stands, for a debugger
    #[arg(long, requires = "stop_at")]
    hold: bool,
    /// Run only this rank of an MPI job (rank:3), this task of PVM (task:0.1.2), or the process of this participant of the
    /// retake library, without the others; what it received comes from the take, which must be made with --full, and what it sends goes nowhere
    /// and is compared
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Keep the contents of messages, too, and of shared objects of the retake library: makes a new take, with which one rank,
    /// task or participant can be replayed alone
    #[arg(long, conflicts_with_all = ["times", "check", "gdb", "stop_at", "only", "at_end"])]
    full: bool,
    /// With --full: put the new take here instead of into the store (%p: process id, %h: host name)
    #[arg(short, long, value_name = "DIR", requires = "full")]
    output: Option<OsString>,
    /// Run the command of a take that was not recorded here
    #[arg(long)]
    trust: bool,
    /// A command to run instead of the recorded one: a moved or rebuilt program
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn main(mut args: Args) -> Result<Ending> {
    // In `replay --gdb TAKE` the word is the take, unless it can be a thread's name.
    if let Some(word) = &mut args.gdb
        && args.take == "latest"
        && !word.is_empty()
        && Where::parse(word).is_none()
    {
        args.take = std::mem::take(word);
    }
    let store = Store::open()?;
    if let Some(name) = args.only.as_deref().filter(|_| args.command.is_empty())
        && let Some(copy) = checkpoints::find(&store, &args.take, name)
    {
        let refused = [(args.check, "--check"), (args.gdb.is_some(), "--gdb"), (args.stop_at.is_some(), "--stop-at")];
        if let Some((_, option)) = refused.into_iter().find(|(given, _)| *given) {
            return Err(Failure::own(format!("{option} is not for {name}, of which a sleeping copy plays the tail"))
                .next(format!("retake replay --only {name} {}", args.take)));
        }
        return wake::main(&copy, args.patience, args.times);
    }
    let take = store.take(&args.take)?;
    if args.command.is_empty() && !args.trust {
        let remedies =
            |label: &str| [format!("retake replay --trust {label}"), format!("retake replay {label} -- CMD")];
        require_trust(&store, &take, remedies)?;
    }
    let mut player = Player::new(take)?;
    player.command = args.command;
    if let Some(name) = &args.only {
        player.leave_alone(name)?;
    }
    player.flags |= if args.real_time { flag::REAL_TIME } else { 0 };
    player.patience_ms = if args.patience == 0 { u32::MAX } else { args.patience.saturating_mul(1000) };
    player.at_end = match args.at_end {
        AtEnd::Stop => at_end::STOP,
        AtEnd::Hang => at_end::HANG,
        AtEnd::Live => at_end::LIVE,
    };
    if player.at_end == at_end::LIVE && player.only.as_ref().is_some_and(|name| name.starts_with(TASK_NAME)) {
        let what = "a task alone cannot go on behind the end of its tape: there is no daemon, and nobody to talk to";
        return Err(Failure::own(what).next("the same with --at-end hang"));
    }
    player.warn();
    if args.full {
        return promote::main(&store, player, args.output.as_deref());
    }
    if let Some(place) = &args.gdb {
        return gdb::main(player, Some(place.as_str()).filter(|place| !place.is_empty()), &args.gdb_arg);
    }
    if let Some(place) = &args.stop_at {
        return stop::main(player, place, args.hold);
    }
    let capture = args.check && args.times > 1;
    let mut first: Option<Output> = None;
    let mut last = Ended::Exit(0);
    for time in 1..=args.times {
        let output = if capture { Some(Output::new()?) } else { None };
        let ran = player.play(output.as_ref(), &mut |_, _| Ok(()));
        if let (Some(output), true) = (&output, ran.is_err() || time == 1) {
            output.print()?;
        }
        last = ran?;
        if player.sent_otherwise.get() > 0 {
            let many = words::count(player.sent_otherwise.get().into(), "message");
            let what = format!("{many} had other contents than recorded; the first is told above");
            if args.check {
                return Err(Failure::new(Status::Diverged, what).next(format!("retake show {}", player.take.label())));
            }
            say(format_args!("{what}; memory that was never written can be the cause"));
        }
        if args.check && player.recorded_end().is_some_and(|recorded| recorded != last) {
            return Err(other_end(&player.take, last, time));
        }
        if let Some(output) = output {
            match &first {
                Some(first) => first.compare(&output, time)?,
                None => first = Some(output),
            }
        }
    }
    if let Some(errno) = player.cut().filter(|_| player.at_end == at_end::STOP) {
        say(format_args!("the recording stopped {}, so the replay ends there", record::cut_reason(errno)));
        let label = player.take.label();
        say(format_args!("next: retake replay --at-end live {label}, which lets the program go on from there"));
    }
    if args.check {
        let outputs = if capture { ", same output" } else { "" };
        say(format_args!("{}: same end ({}){outputs}", words::count(args.times.into(), "replay"), last.words()));
        return Ok(Ending::Status(Status::Fine));
    }
    if let Some(recorded) = player.recorded_end().filter(|recorded| *recorded != last) {
        say(format_args!("the recording ended with {}, this replay with {}", recorded.words(), last.words()));
    }
    Ok(Ending::Like(last))
}

fn other_end(take: &Take, ended: Ended, time: u32) -> Failure {
    let recorded = take.facts.ended.map_or_else(|| "unknown".into(), Ended::words);
    let what = format!("replay {time} ended with {}, the recording with {recorded}", ended.words());
    Failure::new(Status::Diverged, what).next(format!("retake show {}", take.label()))
}

/// Refuses a take whose command would be a stranger's.
pub fn require_trust(store: &Store, take: &Take, remedies: impl Fn(&str) -> [String; 2]) -> Result<()> {
    if store.trusts(take) {
        return Ok(());
    }
    let what = format!(
        "{} was not recorded here by you; it would run, in {}: {}",
        take.label(),
        Path::new(&take.facts.cwd.os()).display(),
        take.facts.command()
    );
    let [trust, other] = remedies(&take.label());
    Err(Failure::own(what).next(format!("{trust}, if you trust it")).next(other))
}

/// A replay that can begin.
pub struct Scene {
    pub session: Mapped,
    pub launch: Launch,
    /// What it was told of the order of its threads.
    pub told: Option<Told>,
    /// Streams of the kinds that the program had, where there are others now.
    pub relay: Relay,
    _stdin: Option<File>,
}

/// Replays one take, as often as asked.
pub struct Player {
    pub take: Take,
    pub tapes: Vec<Tape>,
    /// In which order its threads run one at a time, if they do.
    pub way: Option<Way>,
    /// Run only this, as the user called it.
    pub only: Option<String>,
    alone: Option<Alone>,
    /// How many messages the last replay sent, alone, with other contents than recorded.
    sent_otherwise: Cell<u32>,
    pub command: Vec<OsString>,
    pub flags: u32,
    pub at_end: u32,
    pub patience_ms: u32,
    /// Nobody looks: standard input is the recorded file or nothing, and nothing is said in passing.
    pub silent: bool,
}

/// How long a replay that is asked to end may go on.
const END_GRACE: Duration = Duration::from_secs(1);

/// Whether a signal has asked the replay to end, and it has had its time: its handlers run by the tape, so that it does not see
/// such a signal.
fn must_end(since: &mut Option<Instant>) -> bool {
    launch::asked_to_end().is_some() && since.get_or_insert_with(Instant::now).elapsed() > END_GRACE
}

impl Player {
    /// Checks the whole take first.
    pub fn new(take: Take) -> Result<Player> {
        let tapes = take.tapes()?;
        if tapes.is_empty() {
            return Err(
                Failure::own(format!("{} holds no recorded process", take.label())).next("retake record -- CMD")
            );
        }
        let (command, flags, at_end) = (Vec::new(), 0, at_end::STOP);
        parts::load(&take)?;
        let way = Order::load(&take.dir)?.map(Way::from);
        Ok(Player {
            way,
            take,
            tapes,
            only: None,
            alone: None,
            sent_otherwise: Cell::new(0),
            command,
            flags,
            at_end,
            patience_ms: 60_000,
            silent: false,
        })
    }

    /// Only the process of this participant, rank or task shall run.
    pub fn leave_alone(&mut self, name: &str) -> Result<()> {
        if let Some(task) = name.strip_prefix(TASK_NAME) {
            let task = tasks::find(&self.take, &self.tapes, task)?;
            self.alone = Some(Alone::of_tape(&self.take, task, &self.tapes)?);
            self.flags |= flag::ALONE;
            self.only = Some(name.to_owned());
            return Ok(());
        }
        let parts = parts::load(&self.take)?;
        let is_part = parts.iter().any(|part| part.name() == name);
        self.alone = Some(match self.tapes.iter().find(|tape| tape.name() == name && !is_part) {
            Some(tape) => Alone::of_tape(&self.take, tape, &self.tapes)?,
            None => Alone::new(&self.take, parts::find(&self.take, &parts, name)?, &self.tapes)?,
        });
        self.flags |= flag::ALONE;
        self.only = Some(name.to_owned());
        Ok(())
    }

    /// Whether what is started is a rank without its launcher.
    fn is_rank_alone(&self) -> bool {
        self.alone.is_some() && self.first_process().contains(RANK_NAME)
    }

    /// Whether it was started then by one who gave it pipes, and now is not.
    fn is_started_for(&self) -> bool {
        self.is_rank_alone() || self.is_task_alone()
    }

    /// Whether it is a task that a daemon of PVM started.
    fn is_task_alone(&self) -> bool {
        self.alone.as_ref().is_some_and(|alone| alone.born == born::TASK)
    }

    /// The name of the process that is started.
    pub fn first_process(&self) -> &str {
        self.alone.as_ref().map_or(ROOT_NAME, |alone| &alone.process)
    }

    /// Why the recording of a process stopped before the process did, if that happened.
    fn cut(&self) -> Option<i32> {
        let cut = self.tapes.iter().find(|tape| tape.header.state.load(Relaxed) == state::CUT)?;
        Some(cut.header.cut_errno.load(Relaxed) as i32)
    }

    /// How the recording ended, if the tapes go so far.
    pub fn recorded_end(&self) -> Option<Ended> {
        if let Some(alone) = &self.alone {
            let tape = self.tapes.iter().find(|tape| tape.name() == alone.process)?;
            let exited = tape.header.state.load(Relaxed) == state::EXITED;
            return exited.then(|| Ended::Exit(tape.header.status.load(Relaxed) as i32 & 0xff));
        }
        self.take.facts.ended.filter(|_| self.cut().is_none())
    }

    /// Says what may make this replay go another way.
    fn warn(&self) {
        if self.command.is_empty()
            && let Some(words) = changed_program(&self.take.facts)
        {
            say(format_args!("{words}; it replays as long as its interactions are the same"));
        }
    }

    /// One replay. `before_removal` may look at the session's directory when the program has ended.
    pub fn play(
        &self,
        output: Option<&Output>,
        before_removal: &mut dyn FnMut(&Path, Ended) -> Result<()>,
    ) -> Result<Ended> {
        let place = TempDir::new()?;
        let mut scene = self.scene(place.path(), output)?;
        let relay = std::mem::take(&mut scene.relay).start();
        let mut deadlock = deadlock::Watch::new(&scene.session, OnDeadlock::Hang);
        let mut ranks = ranks::Watch::new(&scene.session);
        let mut idle = idle::Watch::new(&scene.session);
        let mut asked: Option<Instant> = None;
        let mut ran = launch::run(&scene.launch, &scene.session, &mut |_| match ranks.look() {
            Verdict::GoOn if must_end(&mut asked) => Verdict::StopAll,
            Verdict::GoOn if !self.silent => {
                idle.look();
                deadlock.look()
            }
            verdict => verdict,
        })?;
        relay.finish();
        if let (true, Some(signal)) = (ran.stopped, launch::asked_to_end()) {
            return Ok(Ended::Signal(signal));
        }
        let facts = &self.take.facts;
        if let (true, Some(ended), Ended::Signal(libc::SIGKILL)) = (facts.stopped, facts.ended, ran.ended) {
            ran.ended = ended;
        }
        self.went_well(&scene.session)?;
        self.sent_otherwise.set(scene.session.sent_otherwise.load(Acquire));
        before_removal(place.path(), ran.ended)?;
        Ok(ran.ended)
    }

    /// Everything that a replay needs, made in the directory `place`.
    pub fn scene(&self, place: &Path, output: Option<&Output>) -> Result<Scene> {
        self.scene_by(place, output, self.way.as_ref().filter(|_| self.alone.is_none()))
    }

    /// The same for a replay that runs one thread at a time, by that way.
    pub fn scene_by(&self, place: &Path, output: Option<&Output>, way: Option<&Way>) -> Result<Scene> {
        if shim::is_loaded_here() {
            let what = "this is already being recorded or replayed: a replay cannot run inside it";
            return Err(Failure::own(what).next("retake replay, outside of it"));
        }
        if self.alone.is_none() {
            parts::require_whole(&self.take, &parts::load(&self.take)?)?;
        }
        let facts = &self.take.facts;
        let session_path = place.join(SESSION);
        let deadlock = if facts.deadlock { flag::DEADLOCK } else { 0 };
        let baton = if facts.explored { flag::BATON } else { 0 };
        let serial = if facts.serial { flag::SERIAL } else { 0 };
        let settled = if way.is_some() { flag::SETTLED } else { 0 };
        let home = if facts.hosts.is_empty() { 0 } else { flag::HOME };
        let session = Mapped::create(&session_path, self.flags | deadlock | baton | serial | settled | home)?;
        let told = way.map(|way| way.tell(place)).transpose()?;
        session.at_end.store(self.at_end, Relaxed);
        session.patience_ms.store(self.patience_ms, Relaxed);
        session.root_signal.store(root_signal(facts), Relaxed);
        let shim = shim::unpack(place)?;
        let preload = facts.preload.as_ref().map(|text| text.os());
        let own = Own {
            mode: "replay",
            take: &self.take.dir,
            session: &session_path,
            shim: &shim,
            preload: preload.as_deref(),
            process: self.alone.as_ref().map_or(environment::ROOT, |alone| (&alone.process, alone.born)),
        };
        let (mut environment, missing, longer) = environment::restored_environment(&facts.environment);
        if !missing.is_empty() && !self.silent {
            say(format_args!("{}: recorded without the value; filled with x", missing.join(", ")));
        }
        if self.is_rank_alone() {
            // Open MPI would start a daemon of its launcher's for a rank that has none.
            environment.push("OMPI_MCA_ess_singleton_isolated=1".into());
        }
        environment.extend(own.variables(facts.own_environment.saturating_add_signed(-longer)).0);
        let stdin = self.stdin();
        let (exe, argv) = self.program()?;
        let to = output.map(|output| [&output.stdout, &output.stderr]);
        let given = stdin.as_ref().map(File::as_raw_fd);
        // A launcher gives its ranks pipes, a daemon its tasks.
        let relay = if self.is_started_for() { Relay::pipes(to)? } else { Relay::new(facts, given.unwrap_or(0), to)? };
        let outputs = to.map_or([None; 2], |to| to.map(|file| Some(file.as_raw_fd())));
        let mut streams = [given, outputs[0], outputs[1]];
        relay.stand_in(&mut streams);
        let argv = launcher::arguments(&exe, argv);
        let launch = Launch {
            exe,
            argv,
            environment,
            cwd: Some(self.alone.as_ref().map_or_else(|| facts.cwd.os().into(), |alone| alone.cwd.clone())),
            streams,
            stack_limit: Some(facts.stack_limit),
            is_apart: false,
            socket: None,
        };
        Ok(Scene { session, launch, told, relay, _stdin: stdin })
    }

    /// Words the report of a replay that went wrong.
    pub fn went_well(&self, session: &Mapped) -> Result<()> {
        tasks::wait_replayed(session);
        if let Some(text) = session.report() {
            let mut symbols = Symbols::of_replay(&self.tapes);
            return Err(Report::parse(&text).failure(
                &self.take,
                &self.tapes,
                &mut symbols,
                self.other_program(),
                session.made(),
            ));
        }
        if session.processes.load(Acquire) == 0 {
            let what = "this was no replay: the dynamic linker did not load the shim; its message, if any, is above";
            return Err(Failure::own(what).next("retake doctor"));
        }
        if self.flags & flag::FULL != 0 && session.cuts.load(Acquire) > 0 {
            let what = "the replay could not write what it was to keep: there is no room for it";
            return Err(Failure::own(what).next(format!("retake replay {}", self.take.label())));
        }
        Ok(())
    }

    /// Says so if what was run is not what was recorded.
    fn other_program(&self) -> Option<String> {
        if self.command.is_empty() {
            return changed_program(&self.take.facts);
        }
        // What one process of a take was run by is not kept in the same place.
        let (exe, argv) = self.program().ok().filter(|_| self.alone.is_none())?;
        other_command(&self.take.facts, &exe, &argv)
    }

    pub fn program(&self) -> Result<(PathBuf, Vec<OsString>)> {
        if self.command.is_empty() {
            if let Some(alone) = &self.alone {
                return Ok((alone.exe.clone(), alone.argv.clone()));
            }
            let facts = &self.take.facts;
            let argv = launch::os_strings(&facts.argv);
            let exe = PathBuf::from(facts.exe.os());
            let argv = if facts.hosts.is_empty() { argv } else { hosts::at_home(&exe, argv) };
            return Ok((exe, argv));
        }
        let path = std::env::var_os("PATH");
        let exe = launch::find_program(&self.command[0], path.as_deref())?;
        let exe = std::path::absolute(exe).because(|| "cannot find the program".into())?;
        Ok((exe, self.command.clone()))
    }

    /// Standard input as it was, where that can be had again and the user gives no other.
    fn stdin(&self) -> Option<File> {
        // SAFETY: only asks.
        let given = unsafe { libc::isatty(0) } == 0 && !self.silent;
        let recorded = &self.take.facts.stdin;
        let nothing = || File::open("/dev/null").ok();
        // What a daemon starts has no input.
        if self.is_task_alone() {
            return nothing();
        }
        // Nothing was read then, whatever whoever starts this replay has there.
        if given && recorded.kind != streams::NULL {
            return None;
        }
        match (recorded.kind.as_str(), &recorded.path) {
            ("file", Some(path)) => match File::open(path.os()) {
                Ok(mut file) => {
                    let _ = file.seek(std::io::SeekFrom::Start(recorded.offset));
                    Some(file)
                }
                Err(_) if self.silent => nothing(),
                Err(_) => {
                    say(format_args!(
                        "standard input was {}, which is not there any more",
                        Path::new(&path.os()).display()
                    ));
                    None
                }
            },
            ("null", _) => nothing(),
            _ if self.silent => nothing(),
            ("pipe" | "socket", _) => {
                say(format_args!(
                    "standard input was a {}, whose content is not recorded: give it again",
                    recorded.kind
                ));
                None
            }
            _ => None,
        }
    }
}

fn root_signal(facts: &Facts) -> u32 {
    match facts.ended {
        Some(_) if facts.stopped => libc::SIGKILL as u32,
        Some(Ended::Exit(_)) => 0,
        Some(Ended::Signal(signal)) => signal as u32,
        None => libc::SIGKILL as u32,
    }
}

/// A file that goes away with its last descriptor.
pub fn unnamed_file() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let unnamed = options.clone().custom_flags(libc::O_TMPFILE).open(std::env::temp_dir());
    unnamed.or_else(|_| {
        let path = std::env::temp_dir().join(format!("retake-output-{:x}", crate::store::random()));
        let file = options.create_new(true).open(&path);
        let _ = std::fs::remove_file(&path);
        file
    })
}

/// Where the output of a replay is kept, to be compared.
pub struct Output {
    pub stdout: File,
    pub stderr: File,
}

impl Output {
    pub fn new() -> Result<Output> {
        let words = || "cannot make a file for the output".into();
        Ok(Output { stdout: unnamed_file().because(words)?, stderr: unnamed_file().because(words)? })
    }

    /// Nowhere.
    pub fn null() -> Result<Output> {
        let open = || OpenOptions::new().write(true).open("/dev/null").because(|| "cannot open /dev/null".into());
        Ok(Output { stdout: open()?, stderr: open()? })
    }

    /// The same files.
    pub fn try_clone(&self) -> Result<Output> {
        let words = || "cannot share the output".into();
        Ok(Output { stdout: self.stdout.try_clone().because(words)?, stderr: self.stderr.try_clone().because(words)? })
    }

    /// What was written to each, as far as it is text.
    pub fn texts(&self) -> [String; 2] {
        [&self.stdout, &self.stderr].map(|mut file| {
            let mut bytes = Vec::new();
            let _ = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }

    fn print(&self) -> Result<()> {
        let words = || "cannot print the output".into();
        let copy = |mut from: &File, to: &mut dyn Write| {
            from.rewind()?;
            std::io::copy(&mut from, to)?;
            to.flush()
        };
        copy(&self.stdout, &mut std::io::stdout().lock()).because(words)?;
        copy(&self.stderr, &mut std::io::stderr().lock()).because(words)
    }

    fn compare(&self, other: &Output, time: u32) -> Result<()> {
        for (name, one, two) in
            [("standard output", &self.stdout, &other.stdout), ("standard error", &self.stderr, &other.stderr)]
        {
            if let Some(at) = first_difference(one, two).because(|| "cannot read the output".into())? {
                let what = format!("replay {time} wrote something else to {name} than the first, from byte {at} on");
                return Err(Failure::new(Status::Diverged, what).next("retake show"));
            }
        }
        Ok(())
    }
}

fn first_difference(mut one: &File, mut two: &File) -> std::io::Result<Option<usize>> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    one.rewind()?;
    two.rewind()?;
    one.read_to_end(&mut left)?;
    two.read_to_end(&mut right)?;
    let same = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    Ok((left.len() != right.len() || same != left.len()).then_some(same))
}
