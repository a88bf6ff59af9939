//! Other hosts of a job that do not have the take's directory: what their ranks need is taken there, and their tapes are
//! brought back, both by the remote shell that the launcher itself uses.
//!
//! ```text
//! retake record -> mpirun -mca plm_rsh_agent "retake reach-host 1 ssh" --host a,b ...
//! mpirun -> retake reach-host 1 ssh b orted ...     has b the take? if not: session and shim go there, by tar
//!        -> ssh b orted ...                         its ranks write their tapes there
//! at the end, for each such host:                   ssh b tar of the tapes -> the take
//! ```
//!
//! Each host counts its threads by itself, from a number of its own on, so that numbers stay unique in the take.
//!
//! Law: what comes from another host is a file among the take's only if it is a tape that the take does not have yet.

use crate::facts::FILE as FACTS;
use crate::session::Mapped;
use crate::status::{Context, Failure, Result, Status, plain, say};
use crate::words::shell;
use crate::{Ending, launch, launcher, shim};
use retake_tape::session::{FILE as SESSION, TAPE_ENDING, variable};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;

/// Our remote shell, as the launcher calls it.
pub const PROGRAM: &str = "reach-host";
/// What lies in the take for each host that was given what it needs: `host-1` and so on.
const STAGE: &str = "host-";
/// In there: the remote shell and the host, each word ended by a zero byte.
const AGENT: &str = "agent";
/// Hosts, and numbers of threads of each: together they fit into a number.
const HOSTS: u32 = 255;
const NUMBERS: u32 = 1 << 16;

/// What names hosts to Open MPI's launcher; a word follows.
const NAMES_HOSTS: [&str; 7] = ["-host", "--host", "-H", "-hostfile", "--hostfile", "-machinefile", "--machinefile"];
const SETS: [&str; 4] = ["-mca", "--mca", "-gmca", "--gmca"];
const REMOTE_SHELL: &str = "plm_rsh_agent";
/// Whether hosts start each other: there is no `retake` on them.
const NO_TREE: &str = "plm_rsh_no_tree_spawn";

/// Where `argv` sets this parameter of Open MPI's.
fn setting(argv: &[OsString], name: &str) -> Option<usize> {
    argv.windows(3).position(|words| SETS.iter().any(|set| words[0] == *set) && words[1] == name)
}

/// The arguments of Open MPI's launcher, with our remote shell before its own; as they are if it names no hosts.
pub fn reached(exe: &Path, mut argv: Vec<OsString>) -> Vec<OsString> {
    if !launcher::is_open_mpi_4(exe) || !argv.iter().any(|word| NAMES_HOSTS.iter().any(|name| word == *name)) {
        return argv;
    }
    let at = setting(&argv, REMOTE_SHELL).map(|at| at + 2);
    let given = at.map(|at| argv[at].clone()).or_else(|| std::env::var_os(format!("OMPI_MCA_{REMOTE_SHELL}")));
    let given = given.map_or("ssh : rsh".into(), |words| words.to_string_lossy().into_owned());
    let path = std::env::var_os("PATH");
    let is_there = |words: &&str| {
        words.split(' ').next().is_some_and(|name| launch::find_program(name.as_ref(), path.as_deref()).is_ok())
    };
    let own = std::env::current_exe().unwrap_or_default().to_string_lossy().into_owned();
    // The launcher splits at both.
    let Some(agent) = given.split(':').map(str::trim).find(is_there).filter(|_| !own.contains([' ', ':'])) else {
        return argv;
    };
    let ours: OsString = format!("{own} {PROGRAM} {} {agent}", agent.split_whitespace().count()).into();
    let mut more: Vec<OsString> = Vec::new();
    match at {
        Some(at) => argv[at] = ours,
        None => more.extend(["-mca".into(), REMOTE_SHELL.into(), ours]),
    }
    if setting(&argv, NO_TREE).is_none() {
        more.extend(["-mca", NO_TREE, "1"].map(OsString::from));
    }
    argv.splice(1..1, more);
    argv
}

/// The arguments with which a job of several hosts runs on this one: a replay needs one session for all ranks. Only the
/// first word that names hosts is the launcher's, in each of the parts that `:` divides; others are the program's.
pub fn at_home(argv: Vec<OsString>) -> Vec<OsString> {
    let mut words = argv.into_iter();
    let mut home: Vec<_> = words.next().into_iter().chain([OsString::from("--oversubscribe")]).collect();
    let mut is_named = false;
    while let Some(word) = words.next() {
        if !is_named && NAMES_HOSTS.iter().any(|name| word == *name) {
            is_named = true;
            words.next();
        } else {
            is_named &= word != ":";
            home.push(word);
        }
    }
    home
}

#[derive(clap::Args)]
pub struct Args {
    /// How many words the remote shell has
    many: usize,
    /// The remote shell, the host, and what is to run there
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<OsString>,
}

/// A remote shell, and the host that it is to reach.
struct Reach {
    agent: Vec<OsString>,
    host: OsString,
}

impl Reach {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.agent[0]);
        // What it starts there need not find our library.
        command.args(&self.agent[1..]).arg(&self.host).env_remove(variable::PRELOAD);
        command
    }

    fn words(&self) -> String {
        self.host.to_string_lossy().into_owned()
    }

    /// Why it did not work, if it did not.
    fn must(&self, ended: std::io::Result<std::process::ExitStatus>) -> Result<()> {
        let shell = self.agent[0].to_string_lossy().into_owned();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::own(format!("{shell} to {} ended with {status}", self.words()))),
            Err(error) => Err(Failure::own(format!("{shell} to {}: {}", self.words(), plain(&error)))),
        }
    }
}

/// `retake reach-host`: gives a host what it needs, and becomes the launcher's own remote shell.
pub fn main(args: Args) -> Result<Ending> {
    if args.many == 0 || args.words.len() <= args.many {
        return Err(Failure::own(format!("{PROGRAM} is for launchers")));
    }
    let (agent, rest) = args.words.split_at(args.many);
    let reach = Reach { agent: agent.to_vec(), host: rest[0].clone() };
    if let Some(take) = std::env::var_os(variable::TAKE)
        && let Err(failure) = provide(&reach, Path::new(&take))
    {
        // The job runs all the same; that tapes are missing is told at its end.
        eprintln!("{failure}");
    }
    let error = Command::new(&agent[0]).args(&agent[1..]).args(rest).exec();
    Err(Failure::new(Status::NotFound, format!("{}: {}", reach.agent[0].to_string_lossy(), plain(&error))))
}

/// Sees to it that ranks on the host can be recorded.
fn provide(reach: &Reach, take: &Path) -> Result<()> {
    let facts = fs::read(take.join(FACTS)).because(|| format!("cannot read {}", take.display()))?;
    let quoted = |path: &Path| shell(&path.to_string_lossy());
    // Its own words may stand around it.
    let found = reach.command().arg(format!("cat {} 2>/dev/null; true", quoted(&take.join(FACTS)))).output();
    let found = found.because(|| reach.agent[0].to_string_lossy().into_owned())?.stdout;
    if found.windows(facts.len()).any(|part| part == facts) {
        return Ok(());
    }
    let preload = std::env::var_os(variable::PRELOAD).unwrap_or_default();
    let is_ours = |path: &&[u8]| path.windows(shim::START.len()).any(|part| part == shim::START.as_bytes());
    let ours = preload.as_bytes().split(|byte| b": ".contains(byte)).find(is_ours);
    let shim = Path::new(OsStr::from_bytes(ours.unwrap_or_default()));
    let stage = stage(reach, take, shim)?;
    let name = Path::new(shim.file_name().unwrap_or_default());
    let parent = |path: &Path| quoted(path.parent().unwrap_or(Path::new("/")));
    let script = format!(
        "umask 077 && mkdir -p {} && mkdir {take} && cd {take} && tar xf - && mkdir -p {} && {{ test -e {shim} || mv {} {shim}; }}",
        parent(take),
        parent(shim),
        quoted(name),
        take = quoted(take),
        shim = quoted(shim),
    );
    let mut pack = Command::new("tar");
    pack.args(["cf", "-", "-C"]).arg(&stage).args([SESSION, FACTS]).arg(name).stdout(Stdio::piped());
    let given = pack.spawn().because(|| "tar".into()).and_then(|mut pack| {
        let from = pack.stdout.take().map_or(Stdio::null(), Stdio::from);
        let ended = reach.command().arg(script).stdin(from).stdout(Stdio::null()).status();
        pack.wait().because(|| "tar".into())?;
        reach.must(ended)
    });
    given.map_err(|failure| {
        let _ = fs::remove_dir_all(&stage);
        let what = format!("{} does not have {}, and cannot be given it", reach.words(), take.display());
        Failure::own(format!("{what}: {}", failure.what))
    })
}

/// A folder in the take with what the host needs.
fn stage(reach: &Reach, take: &Path, shim: &Path) -> Result<PathBuf> {
    let words = || format!("cannot write into {}", take.display());
    let free = (1..HOSTS).map(|number| (number, take.join(format!("{STAGE}{number}"))));
    let made = free.into_iter().find(|(_, stage)| fs::create_dir(stage).is_ok());
    let (number, stage) = made.ok_or_else(|| Failure::own(words()))?;
    let agent: Vec<u8> =
        reach.agent.iter().chain([&reach.host]).flat_map(|word| [word.as_bytes(), &[0]].concat()).collect();
    fs::write(stage.join(AGENT), agent).because(words)?;
    for (from, name) in [(take.join(SESSION), SESSION.as_ref()), (take.join(FACTS), FACTS.as_ref())]
        .into_iter()
        .chain([(shim.to_owned(), shim.file_name().unwrap_or_default())])
    {
        fs::copy(from, stage.join(name)).because(words)?;
    }
    Mapped::open(&stage.join(SESSION))?.next_number.store(number * NUMBERS, Relaxed);
    Ok(stage)
}

/// Brings the tapes of all hosts into the take at `dir`; returns the hosts. One that is lost is told.
pub fn gather(dir: &Path) -> Vec<String> {
    let mut hosts = Vec::new();
    for stage in (1..HOSTS).map(|number| dir.join(format!("{STAGE}{number}"))).filter(|stage| stage.exists()) {
        let words = fs::read(stage.join(AGENT)).unwrap_or_default();
        let mut agent: Vec<_> = words.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect();
        agent.pop();
        let Some(host) = agent.pop().filter(|_| !agent.is_empty()) else { continue };
        let reach = Reach { agent, host };
        if let Err(failure) = fetch(&reach, dir, &stage) {
            say(format_args!(
                "{}; what was recorded there is missing, and may still be in {} there",
                failure.what,
                dir.display()
            ));
        }
        let _ = fs::remove_dir_all(&stage);
        hosts.push(reach.words());
    }
    hosts
}

fn fetch(reach: &Reach, dir: &Path, stage: &Path) -> Result<()> {
    let there = shell(&dir.to_string_lossy());
    let here = stage.join("tapes");
    fs::create_dir(&here).because(|| format!("cannot write into {}", dir.display()))?;
    let mut from = reach.command();
    from.arg(format!("cd {there} && tar cf - .")).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut from = from.spawn().because(|| reach.agent[0].to_string_lossy().into_owned())?;
    let stream = from.stdout.take().map_or(Stdio::null(), Stdio::from);
    let unpacked = Command::new("tar").args(["xf", "-", "-C"]).arg(&here).stdin(stream).stderr(Stdio::null()).status();
    reach.must(from.wait())?;
    reach.must(unpacked)?;
    for entry in fs::read_dir(&here).because(|| here.display().to_string())?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_tape =
            name.as_bytes().ends_with(TAPE_ENDING.as_bytes()) && path.symlink_metadata().is_ok_and(|it| it.is_file());
        if is_tape && !dir.join(&name).exists() {
            fs::rename(&path, dir.join(&name)).because(|| format!("cannot write into {}", dir.display()))?;
        }
    }
    reach.must(reach.command().arg(format!("rm -rf {there}")).stdin(Stdio::null()).stdout(Stdio::null()).status())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_a_launcher_that_names_hosts_gets_our_remote_shell() {
        let exe = Path::new("/nowhere/orterun");
        assert_eq!(reached(exe, words("mpirun -np 4 job")), words("mpirun -np 4 job"));
        assert_eq!(reached(Path::new("/bin/sh"), words("sh --host a")), words("sh --host a"));
        let own = std::env::current_exe().unwrap();
        let ours: OsString = format!("{} {PROGRAM} 2 sh -e", own.display()).into();
        let mut given = words("mpirun -mca plm_rsh_agent X --host a job");
        given[3] = "nowhere : sh -e".into();
        let changed = reached(exe, given);
        assert_eq!(changed[..4], words("mpirun -mca plm_rsh_no_tree_spawn 1"));
        assert_eq!(changed[6], ours);
    }

    #[test]
    fn at_home_no_hosts_are_named() {
        assert_eq!(at_home(words("mpirun --host a,b -np 4 job")), words("mpirun --oversubscribe -np 4 job"));
        let parts = at_home(words("mpirun -H a job --host x : -H b job"));
        assert_eq!(parts, words("mpirun --oversubscribe job --host x : job"));
    }
}
