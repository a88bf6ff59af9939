//! `retake doctor`: can programs be recorded here, and this one?

use crate::elf;
use crate::environment::{self, OWN_ENVIRONMENT, Own};
use crate::launch::{self, Launch, Verdict};
use crate::session::Mapped;
use crate::status::{Result, Status};
use crate::store::{Store, private_dirs};
use crate::take::TempDir;
use crate::{Ending, shim, words};
use retake_tape::session::FILE as SESSION;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Acquire;

#[derive(clap::Args)]
pub struct Args {
    /// A program to look at
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// One line of the answer.
struct Finding {
    /// `None`: only good to know.
    good: Option<bool>,
    what: String,
}

fn good(what: impl Into<String>) -> Finding {
    Finding { good: Some(true), what: what.into() }
}

fn bad(what: impl Into<String>) -> Finding {
    Finding { good: Some(false), what: what.into() }
}

fn note(what: impl Into<String>) -> Finding {
    Finding { good: None, what: what.into() }
}

pub fn main(args: Args) -> Result<Ending> {
    let mut all = vec![machine(), store()];
    all.extend(load());
    all.push(gdb());
    all.push(ptrace());
    if let Some(word) = args.command.first() {
        all.extend(program(word));
    }
    for finding in &all {
        let mark = match finding.good {
            Some(true) => "ok",
            Some(false) => "NO",
            None => "--",
        };
        println!("{mark}  {}", finding.what);
    }
    let sick = all.iter().any(|finding| finding.good == Some(false));
    Ok(Ending::Status(if sick { Status::Failed } else { Status::Fine }))
}

fn machine() -> Finding {
    // SAFETY: a static C string.
    let glibc = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) }.to_string_lossy();
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    note(format!("retake {}, glibc {glibc}, {}", env!("CARGO_PKG_VERSION"), words::count(cores, "core")))
}

fn store() -> Finding {
    let store = match Store::open() {
        Ok(store) => store,
        Err(failure) => return bad(failure.to_string()),
    };
    let probe = store.root.join(format!(".doctor-{}", std::process::id()));
    let tried = private_dirs(&store.root).and_then(|()| fs::write(&probe, "x")).and_then(|()| fs::remove_file(&probe));
    let root = store.root.display();
    match tried {
        Ok(()) => good(format!("takes are kept in {root} ({} there)", words::count(store.list().len() as u64, "take"))),
        Err(error) => {
            bad(format!("{root} cannot be written: {}; use RETAKE_DIR or -o DIR", crate::status::plain(&error)))
        }
    }
}

/// Runs `true` under the shim: does it load, and can address randomisation be switched off?
fn load() -> Vec<Finding> {
    if shim::is_loaded_here() {
        return vec![bad("this shell itself runs inside a recording")];
    }
    let attempt = || -> Result<(PathBuf, u32, bool)> {
        let place = TempDir::new()?;
        let session_path = place.path().join(SESSION);
        let session = Mapped::create(&session_path, 0)?;
        let shim = shim::unpack(place.path())?;
        let exe = launch::find_program(OsStr::new("true"), std::env::var_os("PATH").as_deref())?;
        let process = environment::ROOT;
        let own =
            Own { mode: "record", take: place.path(), session: &session_path, shim: &shim, preload: None, process };
        let null = crate::replay::Output::null()?;
        let launch = Launch {
            exe,
            argv: vec!["true".into()],
            environment: own.variables(OWN_ENVIRONMENT).0,
            cwd: None,
            streams: [None, Some(null.stdout.as_raw_fd()), None],
            stack_limit: None,
            is_apart: false,
            socket: None,
        };
        let ran = launch::run(&launch, &session, &mut |_| Verdict::GoOn)?;
        Ok((shim, session.processes.load(Acquire), ran.aslr_off))
    };
    match attempt() {
        Ok((shim, 0, _)) => vec![bad(format!("the shim {} was not loaded into `true`", shim.display()))],
        Ok((shim, _, aslr_off)) => vec![
            good(format!("the shim loads ({})", shim.display())),
            if aslr_off {
                good("address randomisation can be switched off")
            } else {
                note(
                    "address randomisation cannot be switched off (a container's seccomp filter?): order is replayed, pointers will differ",
                )
            },
        ],
        Err(failure) => vec![bad(failure.to_string())],
    }
}

fn gdb() -> Finding {
    match std::process::Command::new("gdb").arg("--version").output() {
        Ok(output) if output.status.success() => {
            note(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("gdb").to_owned())
        }
        _ => note("gdb is not installed; it is only needed to look into a replay"),
    }
}

fn ptrace() -> Finding {
    match fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default().trim() {
        "" | "0" => note("debuggers may attach to any process of yours"),
        "1" => note("debuggers may attach to their own children only (ptrace_scope 1); retake replay --gdb works"),
        other => note(format!("debuggers may attach for root only (ptrace_scope {other})")),
    }
}

fn program(word: &OsStr) -> Vec<Finding> {
    let path = match launch::find_program(word, std::env::var_os("PATH").as_deref()) {
        Ok(path) => path,
        Err(failure) => return vec![bad(failure.to_string().trim_start_matches("retake: ").to_owned())],
    };
    let program = elf::examine(&path);
    if let Some(problem) = &program.problem {
        let (what, remedy) = problem.words(&program.image);
        return vec![bad(format!("{what}; {remedy}"))];
    }
    let mut all = vec![good(format!("{} can be recorded", path.display()))];
    if program.image != path {
        all.push(note(format!("it is a script, run by {}", program.image.display())));
    }
    if program.futex_locks {
        all.push(note("it is a Rust program whose std::sync locks are futexes: their order is recorded only with --serial (threads in turn), and otherwise what passes through libc"));
    }
    if program.sanitizer {
        all.push(note("it uses address sanitizer: set ASAN_OPTIONS=verify_asan_link_order=0"));
    }
    all
}
