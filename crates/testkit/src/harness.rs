//! A test runner for tests that are made from a list, with the arguments and the closing line of the usual one.
//!
//! Understands names (or parts of names) to run, `--exact`, `--skip NAME`, `--list`, `--test-threads N`; other options are
//! taken and ignored, so that `cargo test` can hand on whatever it likes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

type Body = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

pub struct Test {
    name: String,
    body: Body,
}

impl Test {
    pub fn new(name: impl Into<String>, body: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Test {
        Test { name: name.into(), body: Box::new(body) }
    }
}

#[derive(Default)]
struct Options {
    names: Vec<String>,
    skips: Vec<String>,
    exact: bool,
    list: bool,
    ignored_only: bool,
    threads: Option<usize>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Options {
        let mut options = Options::default();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--exact" => options.exact = true,
                "--list" => options.list = true,
                "--ignored" => options.ignored_only = true,
                "--skip" => options.skips.extend(args.next()),
                "--test-threads" => options.threads = args.next().and_then(|n| n.parse().ok()),
                "--format" | "--color" | "--logfile" | "-Z" => drop(args.next()),
                _ if arg.starts_with("--test-threads=") => options.threads = arg[15..].parse().ok(),
                _ if arg.starts_with("--skip=") => options.skips.push(arg[7..].to_string()),
                _ if arg.starts_with('-') => {}
                _ => options.names.push(arg),
            }
        }
        options
    }

    fn wants(&self, name: &str) -> bool {
        let fits = |word: &String| if self.exact { name == word } else { name.contains(word.as_str()) };
        !self.ignored_only && (self.names.is_empty() || self.names.iter().any(fits)) && !self.skips.iter().any(fits)
    }
}

/// Runs the tests that the command line asks for, as many at a time as there are processors.
pub fn run_all(tests: Vec<Test>) -> ExitCode {
    let options = Options::parse(std::env::args().skip(1));
    let all = tests.len();
    let tests: Vec<Test> = tests.into_iter().filter(|test| options.wants(&test.name)).collect();
    if options.list {
        tests.iter().for_each(|test| println!("{}: test", test.name));
        return ExitCode::SUCCESS;
    }
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = options.threads.unwrap_or(processors).clamp(1, tests.len().max(1));
    println!("\nrunning {} tests", tests.len());
    let started = Instant::now();
    let (failures, times) = run_in_parallel(&tests, threads);
    if !failures.is_empty() {
        println!("\nfailures:");
        failures.iter().for_each(|(name, error)| println!("\n---- {name} ----\n{error}"));
        println!("\nfailures:");
        failures.iter().for_each(|(name, _)| println!("    {name}"));
    }
    if times.len() > SLOWEST {
        let slowest: Vec<String> = times[..SLOWEST].iter().map(|(s, name)| format!("{name} {s:.1} s")).collect();
        println!("\nslowest: {}", slowest.join(", "));
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        if failures.is_empty() { "ok" } else { "FAILED" },
        tests.len() - failures.len(),
        failures.len(),
        all - tests.len(),
        started.elapsed().as_secs_f64()
    );
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

/// So many of the slowest tests are told.
const SLOWEST: usize = 8;

type Failures = Vec<(String, String)>;

/// What failed, by name, and how many seconds each took, the slowest first.
fn run_in_parallel(tests: &[Test], threads: usize) -> (Failures, Vec<(f64, &str)>) {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let times = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let started = Instant::now();
                    let result = run_one(test);
                    let time = (started.elapsed().as_secs_f64(), test.name.as_str());
                    times.lock().unwrap_or_else(|e| e.into_inner()).push(time);
                    println!("test {} ... {}", test.name, if result.is_ok() { "ok" } else { "FAILED" });
                    if let Err(error) = result {
                        failures.lock().unwrap_or_else(|e| e.into_inner()).push((test.name.clone(), error));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_else(|e| e.into_inner());
    failures.sort();
    let mut times = times.into_inner().unwrap_or_else(|e| e.into_inner());
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    (failures, times)
}

fn run_one(test: &Test) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| (test.body)())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or("panicked".into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::parse(line.split_whitespace().map(str::to_string))
    }

    #[test]
    fn names_choose_tests() {
        assert!(options("").wants("mutex_fork"));
        assert!(options("mutex --nocapture").wants("mutex_fork"));
        assert!(!options("mutex --exact").wants("mutex_fork"));
        assert!(!options("mutex --skip fork").wants("mutex_fork"));
        assert_eq!(options("--test-threads=3 x").threads, Some(3));
    }
}
