//! Running one program bare, recorded and replayed, and what each run cost.
//!
//! Everything is kept in one temporary folder that goes away with the [`Place`]: the compiled C programs, the take, the
//! output. Output goes to a file, never through a pipe, so that the reader costs the program nothing.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// How one run ended, and what it cost.
pub struct Outcome {
    pub wall_ns: f64,
    /// User and system time of the program and of all that it waited for.
    pub cpu_ns: f64,
    /// The nanoseconds per operation that the program told on standard error, if it did.
    pub told_ns: Option<f64>,
    pub status: ExitStatus,
    pub output: u64,
    pub stderr: String,
}

/// The folder in which everything happens.
pub struct Place {
    dir: PathBuf,
    pub retake: PathBuf,
    /// What `retake record` is given besides.
    pub flags: Vec<String>,
    /// Variables that every run gets besides.
    variables: &'static [(&'static str, &'static str)],
}

impl Place {
    /// Makes the folder, and compiles these programs of the repository by `compiler`.
    pub fn new(
        retake: &Path,
        compiler: &str,
        sources: &[&str],
        variables: &'static [(&'static str, &'static str)],
    ) -> Result<Place, String> {
        let dir = std::env::temp_dir().join(format!("retake-bench-{}", std::process::id()));
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let place = Place { dir, retake: retake.to_path_buf(), flags: Vec::new(), variables };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for source in sources {
            let source = root.join(source);
            let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let done = Command::new(compiler)
                .args(["-std=gnu11", "-O2", "-g", "-pthread", "-o", &place.program(&name)])
                .arg(&source)
                .arg("-lm")
                .status();
            if !done.is_ok_and(|status| status.success()) {
                return Err(format!("cannot compile {} by {compiler}", source.display()));
            }
        }
        Ok(place)
    }

    pub fn program(&self, name: &str) -> String {
        self.dir.join(name).to_string_lossy().into_owned()
    }

    pub fn take(&self) -> PathBuf {
        self.dir.join("take")
    }

    pub fn bare(&self, command: &[&str]) -> Result<Outcome, String> {
        self.run(Command::new(command[0]).args(&command[1..]))
    }

    pub fn record(&self, command: &[&str]) -> Result<Outcome, String> {
        let _ = fs::remove_dir_all(self.take());
        self.run(&mut self.recording(command))
    }

    /// The command that records, for those that run it themselves.
    pub fn recording(&self, command: &[&str]) -> Command {
        let mut record = Command::new(&self.retake);
        record.arg("record").args(&self.flags).arg("-o").arg(self.take()).arg("--").args(command);
        record
    }

    pub fn replay(&self) -> Result<Outcome, String> {
        self.run(Command::new(&self.retake).arg("replay").arg(self.take()))
    }

    /// The order of the last take, in a file, and how many steps that are.
    pub fn schedule(&self) -> Result<(String, usize), String> {
        let mut print = Command::new(&self.retake);
        print.arg("schedule").arg(self.take()).env("XDG_STATE_HOME", self.dir.join("state"));
        let printed = print.output().map_err(|e| e.to_string())?;
        if !printed.status.success() {
            return Err(String::from_utf8_lossy(&printed.stderr).into_owned());
        }
        let text = String::from_utf8_lossy(&printed.stdout).into_owned();
        let file = self.program("schedule.txt");
        fs::write(&file, &text).map_err(|e| e.to_string())?;
        let entries = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        Ok((file, entries.map(|line| line.split([',', ' ']).filter(|word| !word.is_empty()).count()).sum()))
    }

    pub fn follow(&self, schedule: &str, command: &[&str]) -> Result<Outcome, String> {
        let take = self.dir.join("followed");
        let _ = fs::remove_dir_all(&take);
        let mut follow = Command::new(&self.retake);
        follow.args(["follow", schedule, "--then", "resume", "-o"]).arg(take).arg("--").args(command);
        self.run(&mut follow)
    }

    /// Events and bytes of the last take.
    pub fn sizes(&self) -> Result<(u64, u64), String> {
        let told = Command::new(&self.retake).args(["info", "--json"]).arg(self.take()).output();
        let told = told.map_err(|e| e.to_string())?;
        let value: serde_json::Value =
            serde_json::from_slice(&told.stdout).map_err(|e| format!("retake info --json: {e}"))?;
        let number = |key: &str| value[key].as_u64().ok_or_else(|| format!("retake info --json has no number `{key}`"));
        Ok((number("events")?, number("bytes")?))
    }

    fn run(&self, command: &mut Command) -> Result<Outcome, String> {
        let (out, err) = (self.dir.join("stdout"), self.dir.join("stderr"));
        let file = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
        command.stdin(Stdio::null()).stdout(file(&out)?).stderr(file(&err)?);
        command.env("XDG_STATE_HOME", self.dir.join("state")).envs(self.variables.iter().copied());
        let start = Instant::now();
        let child = command.spawn().map_err(|e| format!("{:?}: {e}", command.get_program()))?;
        let (status, cpu_ns) = wait(child.id())?;
        let wall_ns = start.elapsed().as_nanos() as f64;
        let stderr = fs::read_to_string(&err).unwrap_or_default();
        if !status.success() {
            return Err(format!("{status}: {}", stderr.trim().replace('\n', " / ")));
        }
        let told_ns = stderr.lines().filter(|line| !line.starts_with("retake:")).find_map(|line| {
            let (_, number) = line.rsplit_once(' ')?;
            number.parse().ok()
        });
        Ok(Outcome { wall_ns, cpu_ns, told_ns, status, output: hash(&fs::read(&out).unwrap_or_default()), stderr })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Waits for a child and returns its status and the processor time that it and its own children took.
pub fn wait(pid: u32) -> Result<(ExitStatus, f64), String> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value; both pointers are to locals that live through the call.
    let (result, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage), usage)
    };
    if result < 0 {
        return Err(format!("wait4: {}", std::io::Error::last_os_error()));
    }
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    Ok((ExitStatus::from_raw(status), ns(usage.ru_utime) + ns(usage.ru_stime)))
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// Where a program is, by the rules of the shell.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).exists().then(|| program.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// One line on the machine: a figure without it means nothing.
pub fn machine() -> String {
    let field = |file: &str, key: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_string())
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{cores} cores, {}, kernel {}, load {} at the start.",
        field("/proc/cpuinfo", "model name"),
        kernel.trim(),
        load.split(' ').next().unwrap_or("?"),
    )
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
