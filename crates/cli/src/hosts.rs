//! Other hosts of a job that do not have the take's directory: what their ranks or tasks need is taken there, and their tapes
//! are brought back, both by the remote shell that the launcher, or PVM, itself uses.
//!
//! ```text
//! retake record -> mpirun --mca plm_rsh_agent "retake reach-host 1 ssh" --host a,b ...      Open MPI
//!                  mpirun -launcher-exec TAKE/reach-host -hosts a,b ...                    MPICH: a script for the same
//! mpirun -> retake reach-host 1 ssh b orted ...     has b the take? if not: session and shim go there, by tar
//!        -> ssh b orted ...                         its ranks write their tapes there
//! at the end, for each such host:                   ssh b tar of the tapes -> the take
//!
//! retake record -> master of PVM: the shim tells the hosts of the virtual machine through the session, and waits
//!               -> PVM_RSH b ...                    the same is done for each of them, before any task is spawned
//! ```
//!
//! Each host counts its threads by itself, from a number of its own on, so that numbers stay unique in the take.
//!
//! Law: what comes from another host is a file among the take's only if it is a tape that the take does not have yet.

use crate::facts::FILE as FACTS;
use crate::launcher::{self, Kind};
use crate::reach::Reach;
use crate::session::Mapped;
use crate::status::{Context, Failure, Result, Status, plain, say};
use crate::words::shell;
use crate::{Ending, launch, shim};
use retake_tape::session::{FILE as SESSION, HOSTS, Session, TAPE_ENDING, flag, hosts, variable};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

/// Our remote shell, as the launcher calls it.
pub const PROGRAM: &str = "reach-host";
/// What lies in the take for each host that was given what it needs: `host-1` and so on.
const STAGE: &str = "host-";
/// In there: the remote shell and the host, each word ended by a zero byte.
const AGENT: &str = "agent";
/// Hosts, and numbers of threads of each: together they fit into a number.
const MANY: u32 = 255;
const NUMBERS: u32 = 1 << 16;

/// What names hosts to a launcher; a word follows.
fn names_hosts(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::OpenMpi => &["-host", "--host", "-H", "-hostfile", "--hostfile", "-machinefile", "--machinefile"],
        Kind::Hydra => &["-host", "-hosts", "--hosts", "-f", "-hostfile", "-machinefile", "-machine", "-machines"],
    }
}

/// What sets Open MPI's parameters, and those of 4 that 5 has under a second name.
const SETS: [&str; 6] = ["-mca", "--mca", "-gmca", "--gmca", "-prtemca", "--prtemca"];
const REMOTE_SHELL: [&str; 2] = ["plm_rsh_agent", "plm_ssh_agent"];
/// Whether hosts start each other: there is no `retake` on them.
const NO_TREE: [&str; 2] = ["plm_rsh_no_tree_spawn", "plm_ssh_no_tree_spawn"];
const SETTINGS: [&str; 3] = ["OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "PRTE_MCA_plm_rsh_agent"];

/// Hydra's remote shell, as an argument and as a variable; a program without arguments.
const EXEC: &str = "-launcher-exec";
const HYDRA_EXEC: &str = "HYDRA_LAUNCHER_EXEC";
/// What says that Hydra is to use no remote shell.
const OTHER_WAYS: [&str; 2] = ["-launcher", "-bootstrap"];

/// Where `argv` sets this parameter of Open MPI's.
fn setting(argv: &[OsString], names: &[&str]) -> Option<usize> {
    let is = |word: &OsString, those: &[&str]| those.iter().any(|name| word == *name);
    argv.windows(3).position(|words| is(&words[0], &SETS) && is(&words[1], names)).map(|at| at + 2)
}

/// The first of these remote shells that is there, in words.
fn found(given: &str) -> Option<&str> {
    let path = std::env::var_os("PATH");
    given.split(':').map(str::trim).find(|words| {
        words.split(' ').next().is_some_and(|name| launch::find_program(name.as_ref(), path.as_deref()).is_ok())
    })
}

/// The arguments of a launcher, with our remote shell before its own; as they are if it names no hosts. What it needs is
/// put into the take at `dir`.
pub fn reached(exe: &Path, argv: Vec<OsString>, dir: &Path) -> Vec<OsString> {
    let own = std::env::current_exe().unwrap_or_default();
    match launcher::kind(exe) {
        Some(kind) if !argv.iter().any(|word| names_hosts(kind).iter().any(|name| word == *name)) => argv,
        Some(Kind::OpenMpi) => open_mpi(argv, &own.to_string_lossy()),
        Some(Kind::Hydra) => hydra(argv, &own.to_string_lossy(), dir),
        None => argv,
    }
}

fn open_mpi(mut argv: Vec<OsString>, own: &str) -> Vec<OsString> {
    let at = setting(&argv, &REMOTE_SHELL);
    let given = at.map(|at| argv[at].clone()).or_else(|| SETTINGS.iter().find_map(std::env::var_os));
    let given = given.map_or("ssh : rsh".into(), |words| words.to_string_lossy().into_owned());
    // The launcher splits at both.
    let Some(agent) = found(&given).filter(|_| !own.contains([' ', ':'])) else { return argv };
    let ours: OsString = format!("{own} {PROGRAM} {} {agent}", agent.split_whitespace().count()).into();
    let mut more: Vec<OsString> = Vec::new();
    match at {
        Some(at) => argv[at] = ours,
        None => more.extend(["--mca".into(), REMOTE_SHELL[0].into(), ours]),
    }
    if setting(&argv, &NO_TREE).is_none() {
        more.extend(["--mca", NO_TREE[0], "1"].map(OsString::from));
    }
    argv.splice(1..1, more);
    argv
}

fn hydra(mut argv: Vec<OsString>, own: &str, dir: &Path) -> Vec<OsString> {
    let at = |names: &[&str]| argv.windows(2).position(|words| names.iter().any(|name| words[0] == *name));
    let is_otherwise = at(&OTHER_WAYS).is_some_and(|at| argv[at + 1] != "ssh" && argv[at + 1] != "rsh");
    let given = at(&[EXEC]).map(|at| at + 1);
    let agent = given.map(|at| argv[at].clone()).or_else(|| std::env::var_os(HYDRA_EXEC)).unwrap_or("ssh".into());
    let agent = agent.to_string_lossy();
    let script = dir.join(PROGRAM);
    let text = format!("#!/bin/sh\nexec {} {PROGRAM} 1 {} \"$@\"\n", shell(own), shell(&agent));
    if is_otherwise || found(&agent).is_none() || write_script(&script, &text).is_err() {
        return argv;
    }
    match given {
        Some(at) => argv[at] = script.into(),
        None => drop(argv.splice(1..1, [EXEC.into(), script.into()])),
    }
    argv
}

fn write_script(path: &Path, text: &str) -> std::io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// The arguments with which a job of several hosts runs on this one: a replay needs one session for all ranks. Only the
/// first word that names hosts is the launcher's, in each of the parts that `:` divides; others are the program's.
pub fn at_home(exe: &Path, argv: Vec<OsString>) -> Vec<OsString> {
    let Some(kind) = launcher::kind(exe) else { return argv };
    let mut words = argv.into_iter();
    let mut home: Vec<_> = words.next().into_iter().collect();
    // Hydra never minds.
    home.extend((kind == Kind::OpenMpi).then(|| OsString::from("--oversubscribe")));
    let mut is_named = false;
    while let Some(word) = words.next() {
        if !is_named && names_hosts(kind).iter().any(|name| word == *name) {
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

/// `retake reach-host`: gives a host what it needs, and becomes the launcher's own remote shell.
pub fn main(args: Args) -> Result<Ending> {
    if args.many == 0 || args.words.len() <= args.many {
        return Err(Failure::own(format!("{PROGRAM} is for launchers")));
    }
    // Hydra has options for it.
    let options = args.words[args.many..].iter().take_while(|word| word.as_bytes().starts_with(b"-")).count();
    let (agent, rest) = args.words.split_at(args.many + options);
    if rest.is_empty() {
        return Err(Failure::own(format!("{PROGRAM}: no host")));
    }
    let preload = std::env::var_os(variable::PRELOAD).unwrap_or_default();
    let is_ours = |path: &&[u8]| path.windows(shim::START.len()).any(|part| part == shim::START.as_bytes());
    let ours = preload.as_bytes().split(|byte| b": ".contains(byte)).find(is_ours);
    let shim = Path::new(OsStr::from_bytes(ours.unwrap_or_default()));
    if let Some(take) = std::env::var_os(variable::TAKE).map(PathBuf::from)
        && let Ok(session) = Mapped::open(&take.join(SESSION))
    {
        let reach = Reach { agent: agent.to_vec(), host: rest[0].clone(), patience: patience(&session) };
        // If not, the job runs all the same; that tapes are missing is told at its end.
        if let Err(failure) = provide(&reach, &take, shim) {
            eprintln!("{failure}");
        }
    }
    let error = Command::new(&agent[0]).args(&agent[1..]).args(rest).exec();
    Err(Failure::new(Status::NotFound, format!("{}: {}", agent[0].to_string_lossy(), plain(&error))))
}

/// How long nothing may come from a remote shell.
fn patience(session: &Session) -> Option<Duration> {
    let ms = session.patience_ms.load(Relaxed);
    (ms != u32::MAX).then(|| Duration::from_millis(ms.into()))
}

/// What starts PVM's daemons on other hosts.
const PVM_SHELL: &str = "PVM_RSH";

/// The hosts of PVM's virtual machine on which tasks of the recording in `dir` may run, as soon as one of them tells of them:
/// sees to it that tasks there can be recorded.
pub fn see_to_tasks(session: &Session, dir: &Path, shim: &Path) {
    if session.hosts_state.compare_exchange(hosts::TOLD, hosts::SEEN_TO, AcqRel, Acquire).is_err() {
        return;
    }
    let path = dir.join(HOSTS);
    let names = fs::read(&path).unwrap_or_default();
    let _ = fs::remove_file(&path);
    let given = std::env::var(PVM_SHELL).unwrap_or_else(|_| "rsh : ssh".into());
    for name in names.split(|byte| *byte == b'\n').filter(|name| !name.is_empty() && name[0] != b'-') {
        let host = OsStr::from_bytes(name).to_owned();
        let Some(agent) = found(&given) else {
            say(format_args!("no remote shell ({given}) to {}: tasks there may not be recorded", host.display()));
            continue;
        };
        let reach = Reach { agent: vec![agent.into()], host, patience: patience(session) };
        if let Err(failure) = provide(&reach, dir, shim) {
            eprintln!("{failure}");
        }
    }
    session.hosts_state.store(hosts::NONE, Release);
}

/// Sees to it that ranks or tasks on the host can be recorded.
fn provide(reach: &Reach, take: &Path, shim: &Path) -> Result<()> {
    let facts = fs::read(take.join(FACTS)).because(|| format!("cannot read {}", take.display()))?;
    let quoted = |path: &Path| shell(&path.to_string_lossy());
    let failed = |failure: Failure| {
        let what = format!("{} does not have {}, and cannot be given it", reach.host(), take.display());
        Failure::own(format!("{what}: {}", failure.what)).next(reach.trial())
    };
    let found = nameless(take)?;
    reach.run(&format!("cat {} 2>/dev/null; true", quoted(&take.join(FACTS))), None, Some(&found)).map_err(failed)?;
    // Its own words may stand around it.
    if read(found)?.windows(facts.len()).any(|part| part == facts) {
        return Ok(());
    }
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
    let packed = nameless(take).and_then(|to| {
        let mut pack = Command::new("tar");
        pack.args(["cf", "-", "-C"]).arg(&stage).args([SESSION, FACTS]).arg(name);
        must_tar(pack.stdout(to.try_clone().because(|| "tar".into())?))?;
        rewound(to)
    });
    packed.and_then(|packed| reach.run(&script, Some(&packed), None)).map_err(|failure| {
        let _ = fs::remove_dir_all(&stage);
        failed(failure)
    })
}

/// A file in the take that is gone when it is closed.
fn nameless(take: &Path) -> Result<File> {
    let path = take.join(format!("{PROGRAM}.{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path);
    let file = file.because(|| format!("cannot write into {}", take.display()))?;
    let _ = fs::remove_file(&path);
    Ok(file)
}

fn rewound(mut file: File) -> Result<File> {
    file.rewind().because(|| "a file of ours".into())?;
    Ok(file)
}

fn read(file: File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    rewound(file)?.read_to_end(&mut bytes).because(|| "a file of ours".into())?;
    Ok(bytes)
}

fn must_tar(command: &mut Command) -> Result<()> {
    match command.status().because(|| "tar".into())? {
        status if status.success() => Ok(()),
        status => Err(Failure::own(format!("tar ended with {status}"))),
    }
}

/// A folder in the take with what the host needs.
fn stage(reach: &Reach, take: &Path, shim: &Path) -> Result<PathBuf> {
    let words = || format!("cannot write into {}", take.display());
    let free = (1..MANY).map(|number| (number, take.join(format!("{STAGE}{number}"))));
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
    let session = Mapped::open(&stage.join(SESSION))?;
    session.next_number.store(number * NUMBERS, Relaxed);
    session.hosts_state.store(hosts::NONE, Relaxed);
    session.flags.fetch_or(flag::APART, Relaxed);
    Ok(stage)
}

/// Brings the tapes of all hosts into the take at `dir`; returns the hosts. One that is lost is told.
pub fn gather(session: &Session, dir: &Path) -> Vec<String> {
    let mut hosts = Vec::new();
    let _ = fs::remove_file(dir.join(PROGRAM));
    for stage in stages(dir) {
        let words = fs::read(stage.join(AGENT)).unwrap_or_default();
        let mut agent: Vec<_> = words.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect();
        agent.pop();
        let Some(host) = agent.pop().filter(|_| !agent.is_empty()) else { continue };
        let reach = Reach { agent, host, patience: patience(session) };
        if let Err(failure) = fetch(&reach, dir, &stage) {
            let there = format!("what was recorded there is missing, and may still be in {} there", dir.display());
            eprintln!("{}", Failure::own(format!("{}; {there}", failure.what)).next(reach.trial()));
        }
        let _ = fs::remove_dir_all(&stage);
        hosts.push(reach.host());
    }
    hosts
}

/// What lies in the take for hosts, in the order in which they were reached.
fn stages(dir: &Path) -> Vec<PathBuf> {
    let number = |name: OsString| name.to_str()?.strip_prefix(STAGE)?.parse::<u32>().ok();
    let mut numbers: Vec<_> =
        fs::read_dir(dir).into_iter().flatten().flatten().filter_map(|entry| number(entry.file_name())).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|number| dir.join(format!("{STAGE}{number}"))).collect()
}

fn fetch(reach: &Reach, dir: &Path, stage: &Path) -> Result<()> {
    let there = shell(&dir.to_string_lossy());
    let here = stage.join("tapes");
    fs::create_dir(&here).because(|| format!("cannot write into {}", dir.display()))?;
    // A task may go on a little longer than the first process.
    let ends = format!(
        "for i in $(seq 100); do grep -hsF {there}/ /proc/[0-9]*/maps | grep -qF {TAPE_ENDING} || break; sleep 0.1; done"
    );
    let brought = nameless(dir)?;
    reach.run(&format!("cd {there} && {{ {ends}; tar cf - .; }}"), None, Some(&brought))?;
    let mut unpack = Command::new("tar");
    must_tar(unpack.args(["xf", "-", "-C"]).arg(&here).stdin(rewound(brought)?).stderr(Stdio::null()))
        .map_err(|failure| Failure::own(format!("what came from {}: {}", reach.host(), failure.what)))?;
    for entry in fs::read_dir(&here).because(|| here.display().to_string())?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_tape =
            name.as_bytes().ends_with(TAPE_ENDING.as_bytes()) && path.symlink_metadata().is_ok_and(|it| it.is_file());
        if is_tape && !dir.join(&name).exists() {
            fs::rename(&path, dir.join(&name)).because(|| format!("cannot write into {}", dir.display()))?;
        }
    }
    // The tapes are here; if it cannot be tidied up there, nothing is lost.
    let _ = reach.run(&format!("rm -rf {there}"), None, None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_a_launcher_that_names_hosts_gets_our_remote_shell() {
        let (exe, nowhere) = (Path::new("/nowhere/orterun"), Path::new("/nowhere"));
        let reached = |exe: &Path, argv| reached(exe, argv, nowhere);
        assert_eq!(reached(exe, words("mpirun -np 4 job")), words("mpirun -np 4 job"));
        assert_eq!(reached(Path::new("/bin/sh"), words("sh --host a")), words("sh --host a"));
        let own = std::env::current_exe().unwrap();
        let ours: OsString = format!("{} {PROGRAM} 2 sh -e", own.display()).into();
        let mut given = words("mpirun -mca plm_rsh_agent X --host a job");
        given[3] = "nowhere : sh -e".into();
        let changed = reached(exe, given);
        assert_eq!(changed[..4], words("mpirun --mca plm_rsh_no_tree_spawn 1"));
        assert_eq!(changed[6], ours);
    }

    #[test]
    fn at_home_no_hosts_are_named() {
        let exe = Path::new("/nowhere/orterun");
        assert_eq!(at_home(exe, words("mpirun --host a,b -np 4 job")), words("mpirun --oversubscribe -np 4 job"));
        let hydra = Path::new("/nowhere/mpiexec.hydra");
        assert_eq!(at_home(hydra, words("mpirun -hosts a,b -np 4 job -f x")), words("mpirun -np 4 job -f x"));
        let parts = at_home(exe, words("mpirun -H a job --host x : -H b job"));
        assert_eq!(parts, words("mpirun --oversubscribe job --host x : job"));
    }
}
