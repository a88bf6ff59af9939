//! `retake record`: run a program as it would run alone, and keep how it went.

use crate::deadlock::{self, OnDeadlock};
use crate::elf::{self, Program};
use crate::environment::{self, OWN_ENVIRONMENT, Own};
use crate::explore::Given;
use crate::facts::{Ended, Facts, SCHEMA, Text};
use crate::follow::Plan;
use crate::launch::{self, Launch, Verdict};
use crate::messages;
use crate::session::Mapped;
use crate::status::{Context, Failure, Result, Status, say};
use crate::store::{Store, random};
use crate::symbols::Symbols;
use crate::take::{self, Origin, Take};
use crate::{Ending, checkpoints, develop, hosts, launcher, lines, parts, prune, shim, streams, tasks, words};
use retake_tape::entry::{Entry, note};
use retake_tape::layout::{MAJOR, MINOR, state};
use retake_tape::session::{FILE as SESSION, TAPE_ENDING, flag, variable};
use retake_trace::policy::Method;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long the ranks of a job may outlive their launcher, and tasks the one who spawned them.
const RANKS_END: Duration = Duration::from_secs(5);
/// How long a remote shell may do nothing.
const PATIENCE_S: u32 = 60;

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Keep {
    /// Every take.
    All,
    /// Only takes of programs that failed: anything but exit status 0.
    Failing,
}

#[derive(clap::Args)]
pub struct Args {
    /// Put the take here instead of into the store (%p: process id, %h: host name)
    #[arg(short, long, value_name = "DIR")]
    output: Option<OsString>,
    /// Which takes to keep
    #[arg(long, value_enum, default_value = "all")]
    keep: Keep,
    /// Note every operation with its object and call stack at once: slower, for programs that cannot be run twice
    #[arg(long)]
    rich: bool,
    /// Keep the contents of messages and shared objects, too, of MPI, PVM and the retake library: one rank, task or
    /// participant can then be replayed alone
    #[arg(long)]
    full: bool,
    /// As --full, but every N events each participant leaves a sleeping copy of its process behind and starts its tape
    /// afresh: however it dies, `retake replay --only NAME` plays what it did since then
    #[arg(long, value_name = "N", conflicts_with_all = ["full", "rich"], value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint_every: Option<u32>,
    /// Run the threads of each process one at a time, so that races, atomics and locks that are futexes (Rust's std::sync) come
    /// back in the replay, too
    #[arg(long, conflicts_with = "checkpoint_every")]
    serial: bool,
    /// What becomes of the program if it deadlocks
    #[arg(long, value_enum, default_value = "hang")]
    on_deadlock: OnDeadlock,
    /// Which receives to note where the program uses the retake library: all, netzer-miller, a, b, front, window=N. The
    /// default, front, is RETAKE_TRACE's if that is set; with --full all are noted
    #[arg(long, value_name = "METHOD")]
    trace: Option<Method>,
    /// How long a remote shell to another host may do nothing before that host is given up; 0: for ever
    #[arg(long, value_name = "SECONDS", default_value_t = PATIENCE_S)]
    patience: u32,
    /// Say nothing unless something is wrong
    #[arg(short, long)]
    quiet: bool,
    /// Say more
    #[arg(short, long)]
    verbose: bool,
    /// Run the program even if it, or a part of it, cannot be recorded
    #[arg(long)]
    anyway: bool,
    /// Inside a recording: run the program as a part of that one instead of refusing
    #[arg(long)]
    nested: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Args {
    /// Recording as `retake follow` and `retake explore` do.
    pub fn to_follow(output: Option<OsString>, on_deadlock: OnDeadlock, command: Vec<OsString>) -> Args {
        let (keep, rich, full, serial, quiet) = (Keep::All, false, false, false, false);
        let (verbose, anyway, nested) = (false, false, false);
        let (checkpoint_every, trace, patience) = (None, None, PATIENCE_S);
        Args {
            output,
            keep,
            rich,
            full,
            checkpoint_every,
            serial,
            on_deadlock,
            trace,
            patience,
            quiet,
            verbose,
            anyway,
            nested,
            command,
        }
    }
}

/// Who says which thread goes on.
enum Way {
    /// The system.
    Free,
    /// A list.
    Follow(Plan),
    /// Choices that were made before.
    Explore(Given),
}

/// What came of a recording.
pub struct Recorded {
    pub ending: Ending,
    pub ended: Ended,
    /// What the take is called.
    pub label: String,
    pub dir: PathBuf,
    /// The deadlock, if there was one.
    pub deadlock: Option<deadlock::Told>,
    /// Retake ended it because nothing moved.
    pub hangs: bool,
}

pub fn main(args: Args) -> Result<Ending> {
    run(args, Way::Free).map(|recorded| recorded.ending)
}

/// Records a program that follows a schedule.
pub fn follow(args: Args, plan: Plan) -> Result<Ending> {
    run(args, Way::Follow(plan)).map(|recorded| recorded.ending)
}

/// Records a program that makes the choices that are given, and says nothing.
pub fn explored(command: Vec<OsString>, output: Option<OsString>, given: Given) -> Result<Recorded> {
    let args = Args::to_follow(output, OnDeadlock::Stop, command);
    run(Args { quiet: true, ..args }, Way::Explore(given))
}

fn run(args: Args, way: Way) -> Result<Recorded> {
    let path = std::env::var_os("PATH");
    let exe = launch::find_program(&args.command[0], path.as_deref())?;
    if shim::is_loaded_here() {
        if args.nested {
            return Err(run_in_place(&exe, &args.command));
        }
        return Err(Failure::own("this is already being recorded or replayed: one recording cannot hold another")
            .next("retake record --nested -- CMD, which makes it a part of the outer one"));
    }
    let program = elf::examine(&exe);
    refuse_unfit(&program, args.anyway)?;
    let store = Store::open()?;
    let (dir, origin) = make_dir(&store, args.output.as_deref(), &exe)?;
    let recording = Recording { args, way, store, dir: dir.clone(), origin, exe, program };
    recording.run().inspect_err(|_| {
        // Nothing was run: an empty take would only be in the way.
        let _ = fs::remove_dir_all(&dir);
    })
}

/// Refuses a program into which the shim cannot be loaded, unless it shall run anyway.
pub fn refuse_unfit(program: &Program, anyway: bool) -> Result<()> {
    match &program.problem {
        Some(problem) if !anyway => {
            let (what, remedy) = problem.words(&program.image);
            Err(Failure::own(what).next(remedy).next("retake record --anyway -- CMD runs it unrecorded"))
        }
        _ => Ok(()),
    }
}

struct Recording {
    args: Args,
    way: Way,
    store: Store,
    dir: PathBuf,
    origin: Origin,
    exe: PathBuf,
    program: Program,
}

impl Recording {
    fn run(&self) -> Result<Recorded> {
        let session_path = self.dir.join(SESSION);
        let session = Mapped::create(&session_path, self.flags())
            .map_err(|failure| failure.next("retake record -o DIR -- CMD").next("retake prune"))?;
        session.trace.store(self.trace()?.number(), Relaxed);
        session.checkpoint_every.store(self.args.checkpoint_every.unwrap_or(0), Relaxed);
        let patience_ms = if self.args.patience == 0 { u32::MAX } else { self.args.patience.saturating_mul(1000) };
        session.patience_ms.store(patience_ms, Relaxed);
        let shim = shim::unpack(&self.dir)?;
        let preload = std::env::var_os("LD_PRELOAD").filter(|list| !list.is_empty());
        let own = Own {
            mode: "record",
            take: &self.dir,
            session: &session_path,
            shim: &shim,
            preload: preload.as_deref(),
            process: environment::ROOT,
        };
        let (own, own_environment) = own.variables(OWN_ENVIRONMENT);
        let present = environment::present_environment();
        let mut facts = self.facts(&present, preload.as_deref(), own_environment)?;
        facts.write(&self.dir).because(|| format!("cannot write into {}", self.dir.display()))?;
        Facts::reserve(&self.dir);
        if self.origin == Origin::Elsewhere {
            self.store.remember(&facts.id, &self.dir).because(|| "cannot note the take as yours".into())?;
        }
        let argv = launcher::arguments(&self.exe, self.args.command.clone());
        let launch = Launch {
            exe: self.exe.clone(),
            argv: hosts::reached(&self.exe, argv, &self.dir),
            environment: self.environment(&present, own, preload.as_deref()),
            cwd: None,
            streams: self.streams(),
            stack_limit: None,
            is_apart: false,
            socket: None,
        };
        let clock = Instant::now();
        let (mut following, mut choosing) = (None, None);
        let mut deadlock = deadlock::Watch::new(&session, self.args.on_deadlock);
        match &self.way {
            Way::Free => {}
            Way::Follow(plan) => following = Some(plan.write(&self.dir)?),
            Way::Explore(given) => {
                choosing = Some(given.write(&self.dir)?);
                deadlock = deadlock::Watch::silent(&session, self.args.on_deadlock);
            }
        }
        let mut watch = |child| {
            hosts::see_to_tasks(&session, &self.dir, &shim);
            match (deadlock.look(), &mut following, &mut choosing) {
                (Verdict::GoOn, Some(following), _) => following.look(child),
                (Verdict::GoOn, _, Some(choosing)) => choosing.look(child),
                (verdict, ..) => verdict,
            }
        };
        let ran = launch::run(&launch, &session, &mut watch)?;
        let refused = session.report().is_some();
        facts.explored = choosing.is_some();
        (facts.deadlock, facts.stopped) = (session.deadlock().is_some(), ran.stopped || refused);
        facts.duration_ms = Some(clock.elapsed().as_millis() as u64);
        facts.aslr_off = ran.aslr_off;
        let ended = if refused { Ended::Exit(Status::Infeasible as i32) } else { ran.ended };
        // From here on the program has run: whatever fails, retake ends as it ended.
        facts.hosts = hosts::gather(&session, &self.dir);
        let sealed = self.seal(&session, &mut facts, ended);
        let tapes: Vec<_> = take::files(&self.dir, TAPE_ENDING).unwrap_or_default();
        let tapes: Vec<_> = tapes.iter().filter_map(|path| take::load(path).ok()).collect();
        let mut symbols = Symbols::new(&tapes);
        // What was found while the program ran comes first, even if there was no time to tell it then.
        deadlock.look_back(&mut symbols);
        if let Some(following) = &mut following {
            following.look_back(&mut symbols);
        }
        if let Err(failure) = sealed.and_then(|sealed| self.conclude(&session, &mut facts, ended, sealed)) {
            eprintln!("{failure}");
        }
        let label = self.label(&facts);
        let mut ending = Ending::Like(ran.ended);
        if let Some(Err(failure)) = following.map(|it| it.compare(&session, &mut symbols, &label)) {
            eprintln!("{failure}");
            ending = Ending::Status(failure.status);
        }
        let hangs = choosing.is_some_and(|choosing| choosing.hangs);
        let deadlock = deadlock.into_found();
        Ok(Recorded { ending, ended, label, dir: self.dir.clone(), deadlock, hangs })
    }

    /// What the program is given: our variables, too, unless it cannot do anything with them.
    fn environment(
        &self,
        present: &[(OsString, OsString)],
        own: Vec<OsString>,
        preload: Option<&OsStr>,
    ) -> Vec<OsString> {
        let ours = match (&self.program.problem, preload) {
            (None, _) => own,
            (Some(_), Some(list)) => vec![environment::joined(variable::PRELOAD.as_ref(), list)],
            (Some(_), None) => Vec::new(),
        };
        present.iter().map(|(name, value)| environment::joined(name, value)).chain(ours).collect()
    }

    /// Which of the library's receives are to be noted.
    fn trace(&self) -> Result<Method> {
        match (self.args.trace, std::env::var("RETAKE_TRACE")) {
            (Some(method), _) => Ok(method),
            (None, Ok(words)) => words.parse().map_err(|error| {
                Failure::own(format!("RETAKE_TRACE={words}: {error}")).next("retake record --trace front -- CMD")
            }),
            (None, Err(_)) => Ok(Method::DEFAULT),
        }
    }

    fn flags(&self) -> u32 {
        let way = match self.way {
            Way::Free => 0,
            Way::Follow(_) => flag::FOLLOW,
            Way::Explore(_) => flag::EXPLORE,
        };
        let chosen = [
            (self.args.rich, flag::RICH),
            (self.args.full, flag::FULL),
            (self.args.serial, flag::SERIAL),
            (self.args.checkpoint_every.is_some(), flag::CHECKPOINT),
            (way != 0, way),
        ];
        chosen.iter().filter(|(asked, _)| *asked).map(|(_, flag)| flag).sum()
    }

    /// Seals the take. Whether it is complete.
    fn seal(&self, session: &Mapped, facts: &mut Facts, ended: Ended) -> Result<bool> {
        // Ranks on other hosts count in sessions of their own.
        if session.processes.load(Acquire) == 0 && take::files(&self.dir, TAPE_ENDING)?.is_empty() {
            let _ = fs::remove_dir_all(&self.dir);
            return Err(self.shim_not_loaded());
        }
        tasks::wait_recorded(session, &self.dir);
        let mut sealed = take::finish(&self.dir, facts, Some(ended))?;
        // A launcher that gives a job up may end before the last of its ranks does. Tasks are children of a daemon: any
        // process that just begins may be one more, until it can be looked at.
        let are_others = launcher::is_one(&self.exe) || session.tasks.load(Acquire) > 0;
        let clock = Instant::now();
        while !sealed && are_others && clock.elapsed() < RANKS_END {
            std::thread::sleep(RANKS_END / 100);
            sealed = take::finish(&self.dir, facts, Some(ended))?;
        }
        Ok(sealed)
    }

    fn conclude(&self, session: &Mapped, facts: &mut Facts, ended: Ended, sealed: bool) -> Result<()> {
        if ended == Ended::Exit(0) && self.args.keep == Keep::Failing && sealed {
            fs::remove_dir_all(&self.dir).because(|| format!("cannot remove {}", self.dir.display()))?;
            if self.args.verbose {
                say("the program ended with exit 0; nothing is kept");
            }
            return Ok(());
        }
        if sealed && self.args.rich {
            let take = Take::open(&self.dir, self.origin)?;
            develop::developed(&take).inspect(|rich| lines::keep(&take, rich));
        }
        self.tell_shortcomings(session, facts, sealed);
        if !self.args.quiet {
            let name = self.label(facts);
            say(format_args!("{} -> {name}; {}", sums(facts), ended.words()));
            if self.args.checkpoint_every.is_none() {
                let argument = if self.origin == Origin::Store { String::new() } else { format!(" {name}") };
                let then = if facts.deadlock { "check" } else { "show" };
                say(format_args!("next: retake replay{argument} · retake {then}{argument}"));
            }
        }
        if sealed && self.args.checkpoint_every.is_some() {
            checkpoints::conclude(&self.dir, &self.label(facts), self.args.quiet);
        }
        if self.origin == Origin::Store {
            prune::tidy(&self.store, &facts.name);
        }
        Ok(())
    }

    fn label(&self, facts: &Facts) -> String {
        match (&self.args.output, self.origin) {
            (Some(_), Origin::Elsewhere) => {
                let here = std::env::current_dir().unwrap_or_default();
                let shown = self.dir.strip_prefix(&here).map_or(self.dir.clone(), |path| Path::new(".").join(path));
                words::shell(&shown.to_string_lossy())
            }
            _ => facts.name.clone(),
        }
    }

    fn shim_not_loaded(&self) -> Failure {
        if let Some(problem) = &self.program.problem {
            let (what, remedy) = problem.words(&self.program.image);
            return Failure::own(format!("nothing was recorded: {what}")).next(remedy);
        }
        if self.program.sanitizer {
            return Failure::own("nothing was recorded: address sanitizer wants to be the first library")
                .next("ASAN_OPTIONS=verify_asan_link_order=0 retake record -- CMD");
        }
        Failure::own("nothing was recorded: the dynamic linker did not load the shim; its message, if any, is above")
            .next(format!("retake doctor {}", words::shell(&self.exe.to_string_lossy())))
    }

    fn tell_shortcomings(&self, session: &Mapped, facts: &Facts, sealed: bool) {
        // Nothing is wrong with a daemon: the next command that uses the take seals it.
        if !sealed && !self.args.quiet {
            say("some of its processes are still running; the take is complete when they have ended");
        }
        if !facts.aslr_off {
            say(
                "address randomisation could not be switched off here, so pointers will differ between runs; the order is recorded all the same",
            );
        }
        let mut cuts_told = 0;
        let mut names = BTreeSet::new();
        for path in take::files(&self.dir, TAPE_ENDING).unwrap_or_default() {
            let Some(header) = take::header(&path) else { continue };
            if header.state.load(Relaxed) == state::CUT {
                cuts_told += 1;
                say(cut_words(header.cut_errno.load(Relaxed) as i32));
            }
            if header.unsupported.load(Relaxed) != 0
                && let Ok(tape) = take::load(&path)
            {
                names.extend(unsupported(&tape));
            }
        }
        if !names.is_empty() {
            let names: Vec<_> = names.into_iter().collect();
            say(format_args!("it called {}, which is not replayed", names.join(", ")));
        }
        if self.args.full {
            parts::tell_who_is_bound(&self.dir);
        }
        for words in messages::missing_ranks(&self.dir) {
            say(words);
            say("next: retake record -o DIRECTORY -- CMD, with a directory that all hosts have under the same path");
        }
        if let Some(words) = messages::unseen_ranks(&self.dir) {
            say(words);
        }
        if let Some(words) = tasks::missing(&self.dir) {
            say(words);
        }
        let cuts = session.cuts.load(Acquire);
        if cuts > cuts_told {
            let lost = words::count(u64::from(cuts - cuts_told), "process");
            say(format_args!(
                "{lost} could not be recorded at all (a full disk, or no file to be had); the rest is kept"
            ));
        }
        let spun = session.spun.load(Relaxed);
        if spun > 0 {
            let times = words::count(u64::from(spun), "time");
            say(format_args!(
                "{times}, a thread computed for long without any call, and others went on beside it: where they race there, the order is not kept"
            ));
        }
        // With one thread there is no order to lose.
        if sealed
            && !facts.serial
            && facts.parts.is_empty()
            && self.program.futex_locks
            && facts.threads() > facts.tapes.len() as u64
        {
            say(
                "only threads were recorded, not locks: this Rust program locks with std::sync, whose locks are futexes that libc never sees",
            );
            say("next: retake record --serial -- CMD, which runs its threads one at a time");
        }
    }

    /// The program's streams, where they are not ours.
    fn streams(&self) -> [Option<i32>; 3] {
        if let Way::Explore(given) = &self.way { given.streams() } else { [None; 3] }
    }

    fn facts(
        &self,
        present: &[(OsString, OsString)],
        preload: Option<&OsStr>,
        own_environment: usize,
    ) -> Result<Facts> {
        let cwd = std::env::current_dir().because(|| "cannot find the current directory".into())?;
        let name = self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let given = self.streams();
        Ok(Facts {
            schema: SCHEMA,
            check: String::new(),
            id: format!("{:016x}{:016x}", random(), random()),
            format: (MAJOR, MINOR),
            retake: env!("CARGO_PKG_VERSION").into(),
            name,
            argv: self.args.command.iter().map(|word| Text::new(word)).collect(),
            exe: Text::new(self.exe.as_os_str()),
            exe_id: elf::identity(&self.exe),
            cwd: Text::new(cwd.as_os_str()),
            host: host(),
            started_ms: now_ms(),
            duration_ms: None,
            ended: None,
            complete: false,
            rich: self.args.rich,
            deadlock: false,
            stopped: false,
            explored: false,
            serial: self.args.serial,
            aslr_off: true,
            stack_limit: stack_limit(),
            own_environment,
            stdin: streams::input(),
            outputs: [1, 2].map(|at| streams::output(given[at as usize].unwrap_or(at))).into(),
            preload: preload.map(Text::new),
            environment: environment::kept_environment(present),
            tapes: Vec::new(),
            parts: Vec::new(),
            hosts: Vec::new(),
        })
    }
}

/// `48 213 events, 6 threads, 312 kB`.
pub fn sums(facts: &Facts) -> String {
    let mut text = format!("{}, {}", words::count(facts.events(), "event"), words::count(facts.threads(), "thread"));
    if facts.tapes.len() > 1 {
        text += &format!(", {}", words::count(facts.tapes.len() as u64, "process"));
    }
    if !facts.parts.is_empty() {
        text += &format!(", {}", words::count(facts.parts.len() as u64, "participant"));
    }
    format!("{text}, {}", words::size(facts.bytes()))
}

/// That and why a recording stopped early.
pub fn cut_words(errno: i32) -> String {
    format!("the recording stopped {}; everything up to there is kept", cut_reason(errno))
}

/// When and why it stopped.
pub fn cut_reason(errno: i32) -> String {
    let why = crate::status::plain(&std::io::Error::from_raw_os_error(errno));
    let when = if errno == libc::ENOSPC || errno == libc::EDQUOT { "when the disk was full" } else { "early" };
    format!("{when} ({why})")
}

fn unsupported(tape: &retake_tape::reader::Tape) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for thread in &tape.threads {
        let mut payload = tape.payload(thread);
        while let Ok(Some((_, entry))) = payload.next_entry() {
            if let Entry::Note(note::UNSUPPORTED, name) = entry {
                names.insert(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
    names
}

/// Makes the directory of a new take: `output`, or one in the store named after the program.
pub fn make_dir(store: &Store, output: Option<&OsStr>, exe: &Path) -> Result<(PathBuf, Origin)> {
    let Some(output) = output else {
        let name = exe.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok((store.create(&name)?, Origin::Store));
    };
    let text = output.to_string_lossy();
    let filled = text.replace("%p", &std::process::id().to_string()).replace("%h", &host());
    let path = if text.contains('%') { PathBuf::from(filled) } else { PathBuf::from(output) };
    let words = || format!("cannot make the take {}", path.display());
    if path.is_dir() {
        if fs::read_dir(&path).because(words)?.next().is_some() {
            return Err(
                Failure::own(format!("{} is not empty", path.display())).next("give -o the name of a new directory")
            );
        }
        let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o700));
    } else {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).because(words)?;
    }
    let full = fs::canonicalize(&path).because(words)?;
    let inside = fs::canonicalize(&store.root).is_ok_and(|root| full.parent() == Some(&root));
    Ok((full, if inside { Origin::Store } else { Origin::Elsewhere }))
}

/// Becomes the program; returns only if that fails.
fn run_in_place(exe: &Path, command: &[OsString]) -> Failure {
    use std::os::unix::process::CommandExt;
    let error = std::process::Command::new(exe).arg0(&command[0]).args(&command[1..]).exec();
    Failure::new(Status::NotExecutable, format!("{}: {}", exe.display(), crate::status::plain(&error)))
}

pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

fn stack_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for the answer.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    limit.rlim_cur
}
