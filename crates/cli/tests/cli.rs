//! The command line as a user meets it: statuses, messages, refusals, the store. What is replayed is tested elsewhere.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A store and a directory of its own for each test.
struct Home(PathBuf);

impl Home {
    fn new() -> Home {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("retake-cli-test-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Home(path)
    }

    fn retake(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
        command.args(arguments).current_dir(&self.0).env("XDG_STATE_HOME", self.0.join("state"));
        command.env("XDG_CACHE_HOME", self.0.join("cache")).env_remove("RETAKE_DIR").stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.retake(arguments).output().unwrap()
    }

    /// Records `true` and returns the take's directory.
    fn small_take(&self) -> PathBuf {
        let output = self.run(&["record", "--", "true"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let store = self.0.join("state/retake");
        let newest = fs::read_dir(&store).unwrap().flatten().map(|item| item.path()).filter(|path| path.is_dir()).max();
        newest.unwrap()
    }

    fn compile(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let (from, to) = (self.0.join(format!("{name}.c")), self.0.join(name));
        fs::write(&from, source).unwrap();
        let gcc = Command::new("gcc").args(["-g", "-pthread"]).arg(&from).arg("-o").arg(&to).args(flags).status();
        assert!(gcc.unwrap().success());
        to
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn wrong_words_are_retakes_own_failure() {
    let home = Home::new();
    for arguments in
        [&["record", "--no-such-flag", "true"][..], &["record"], &["no-such-command"], &["replay", "--times", "0"]]
    {
        let output = home.run(arguments);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}");
        assert!(said(&output).starts_with("retake: "), "{}", said(&output));
    }
    assert_eq!(home.run(&["--help"]).status.code(), Some(0));
    assert_eq!(home.run(&["--version"]).status.code(), Some(0));
}

#[test]
fn what_cannot_be_started_has_the_usual_statuses() {
    let home = Home::new();
    fs::write(home.0.join("data"), "hello").unwrap();
    for (program, status) in
        [("no-such-program", 127), ("./no-such-program", 127), ("./data", 126), ("/", 126), ("data", 127)]
    {
        let output = home.run(&["record", "--", program]);
        assert_eq!(output.status.code(), Some(status), "{program}: {}", said(&output));
        assert!(said(&output).starts_with("retake: "));
    }
    let takes = fs::read_dir(home.0.join("state/retake")).map_or(0, Iterator::count);
    assert_eq!(takes, 0, "nothing was run, nothing is kept");
}

#[test]
fn record_ends_as_the_program_ends() {
    let home = Home::new();
    let exit = home.run(&["record", "--", "sh", "-c", "echo out; echo err >&2; exit 37"]);
    assert_eq!(exit.status.code(), Some(37));
    assert_eq!(printed(&exit), "out\n");
    assert!(said(&exit).starts_with("err\n"));
    let killed = home.run(&["record", "--", "sh", "-c", "kill -SEGV $$"]);
    assert_eq!(killed.status.signal(), Some(libc::SIGSEGV));
    let quiet = home.run(&["record", "-q", "--", "sh", "-c", "exit 3"]);
    assert_eq!((quiet.status.code(), said(&quiet).as_str()), (Some(3), ""));
}

#[test]
fn signals_are_handed_on() {
    let home = Home::new();
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = home.retake(&["record", "-q", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    // SAFETY: our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn the_program_gets_what_it_would_get_alone() {
    let home = Home::new();
    let script =
        "ls /proc/self/fd | wc -l; grep -h -E 'SigIgn|SigBlk' /proc/self/status; env | grep -c RETAKE_; ulimit -s";
    let alone = Command::new("sh").args(["-c", script]).env_remove("RETAKE_DIR").stdin(Stdio::null()).output().unwrap();
    let recorded = home.run(&["record", "-q", "--", "sh", "-c", script]);
    assert_eq!(printed(&alone), printed(&recorded));
}

#[test]
fn a_static_program_is_refused_with_the_reason() {
    let home = Home::new();
    let program = home.compile("plain", "int main(void) { return 4; }", &["-static"]);
    let output = home.run(&["record", "--", text(&program)]);
    assert_eq!(output.status.code(), Some(125));
    assert!(said(&output).contains("statically linked"), "{}", said(&output));
    assert!(said(&output).contains("retake: next: "));
    let anyway = home.run(&["record", "--anyway", "--", text(&program)]);
    assert_eq!(anyway.status.code(), Some(4));
    assert!(said(&anyway).contains("nothing was recorded"), "{}", said(&anyway));
    let doctor = home.run(&["doctor", text(&program)]);
    assert_eq!(doctor.status.code(), Some(125));
    assert!(printed(&doctor).contains("statically linked"));
}

#[test]
fn the_store_is_listed_and_cleared() {
    let home = Home::new();
    for _ in 0..3 {
        home.small_take();
    }
    let failing = home.run(&["record", "--", "false"]);
    assert!(said(&failing).contains("-> false-1; exit 1\n"), "{}", said(&failing));
    assert!(said(&failing).contains("retake: next: retake replay · retake show"));
    assert_eq!(printed(&home.run(&["ls"])).lines().count(), 4);
    assert!(printed(&home.run(&["ls", "--json"])).lines().all(|line| line.starts_with('{')));
    let latest = printed(&home.run(&["info", "--json"]));
    assert!(latest.contains("\"name\":\"false-1\"") && latest.contains("\"status\":1"), "{latest}");
    assert!(said(&home.run(&["info", "tru"])).contains("fits 3 takes"));
    assert_eq!(home.run(&["rm", "true-2"]).status.code(), Some(0));
    assert_eq!(home.run(&["rm", "true-2"]).status.code(), Some(125));
    let pruned = home.run(&["prune", "--takes", "1"]);
    assert_eq!(printed(&pruned), "true-1\ntrue-3\n", "the failing one is kept longest");
    assert_eq!(printed(&home.run(&["ls"])).lines().count(), 1);
    assert_eq!(home.run(&["record", "-o", "state/retake", "--", "true"]).status.code(), Some(125));
}

#[test]
fn passing_takes_are_dropped_on_request() {
    let home = Home::new();
    let passing = home.run(&["record", "--keep", "failing", "--", "true"]);
    assert_eq!((passing.status.code(), said(&passing).as_str()), (Some(0), ""));
    let failing = home.run(&["record", "--keep", "failing", "--", "false"]);
    assert_eq!(failing.status.code(), Some(1));
    assert_eq!(printed(&home.run(&["ls"])).lines().count(), 1);
}

#[test]
fn a_damaged_take_is_refused() {
    let home = Home::new();
    let take = home.small_take();
    for (file, step) in [("0.tape", 97), ("take.json", 61)] {
        let path = take.join(file);
        let bytes = fs::read(&path).unwrap();
        // The checked parts; every byte is tried by a unit test.
        let limit = if file == "0.tape" { bytes.len().min(4096) } else { bytes.len() };
        for at in (0..limit).step_by(step) {
            let mut bad = bytes.clone();
            bad[at] ^= 4;
            fs::write(&path, &bad).unwrap();
            let output = home.run(&["replay", "true-1"]);
            assert_eq!(output.status.code(), Some(125), "{file} byte {at}: {}", said(&output));
            assert!(said(&output).contains("cannot be used"), "{}", said(&output));
        }
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(home.run(&["info", "true-1"]).status.code(), Some(125));
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(home.run(&["replay", "true-1"]).status.code(), Some(0));
}

#[test]
fn a_take_travels_and_is_not_trusted_there() {
    let home = Home::new();
    home.small_take();
    let packed = home.run(&["pack"]);
    assert_eq!(packed.status.code(), Some(0), "{}", said(&packed));
    let direct = home.run(&["replay", "true-1.retake"]);
    assert_eq!(direct.status.code(), Some(125));
    assert!(said(&direct).contains("it would run") && said(&direct).contains("--trust"), "{}", said(&direct));
    assert_eq!(home.run(&["info", "true-1.retake"]).status.code(), Some(0));
    assert_eq!(home.run(&["replay", "--trust", "true-1.retake"]).status.code(), Some(0));
    let unpacked = home.run(&["unpack", "true-1.retake"]);
    assert!(said(&unpacked).contains("-> true-2"), "{}", said(&unpacked));
    assert_eq!(home.run(&["replay", "true-2"]).status.code(), Some(125));
    assert_eq!(home.run(&["replay", "--trust", "true-2"]).status.code(), Some(0));
    assert_eq!(home.run(&["replay", "true-2", "--", "true"]).status.code(), Some(0));
    assert_eq!(home.run(&["diff", "true-1", "true-2"]).status.code(), Some(0));
    fs::write(home.0.join("junk.retake"), "RETAKEPK and then nonsense").unwrap();
    let junk = home.run(&["unpack", "junk.retake"]);
    assert_eq!(junk.status.code(), Some(125), "{}", said(&junk));
}

#[test]
fn a_take_elsewhere_is_trusted_only_where_it_was_recorded() {
    let home = Home::new();
    let output = home.run(&["record", "-o", "here-%p", "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let dir =
        fs::read_dir(&home.0).unwrap().flatten().find(|item| item.file_name().to_string_lossy().starts_with("here-"));
    let dir = dir.unwrap().path();
    assert_eq!(home.run(&["replay", text(&dir)]).status.code(), Some(0));
    let copy = home.0.join("copy");
    fs::create_dir(&copy).unwrap();
    for item in fs::read_dir(&dir).unwrap().flatten() {
        fs::copy(item.path(), copy.join(item.file_name())).unwrap();
    }
    let refused = home.run(&["replay", "./copy"]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(said(&refused).contains("was not recorded here by you"), "{}", said(&refused));
}

#[test]
fn a_killed_recorder_leaves_a_usable_take() {
    let home = Home::new();
    let mut child = home.retake(&["record", "--", "sleep", "0.6"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let busy = home.run(&["info", "sleep-1"]);
    assert!(said(&busy).contains("still being recorded"), "{}", said(&busy));
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(600));
    let output = home.run(&["info", "sleep-1"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("it is sealed now"), "{}", said(&output));
    assert_eq!(said(&home.run(&["info", "sleep-1"])), "");
}

#[test]
fn secrets_stay_out_of_the_take() {
    let home = Home::new();
    let recorded = home.retake(&["record", "--", "true"]).env("MY_API_TOKEN", "hunter2").output().unwrap();
    assert_eq!(recorded.status.code(), Some(0));
    let facts = fs::read_to_string(home.0.join("state/retake/true-1/take.json")).unwrap();
    assert!(facts.contains("MY_API_TOKEN") && !facts.contains("hunter2"));
}

#[test]
fn no_place_for_takes_is_said_before_the_program_runs() {
    let home = Home::new();
    fs::write(home.0.join("file"), "").unwrap();
    let output = home
        .retake(&["record", "--", "sh", "-c", "echo ran"])
        .env("RETAKE_DIR", home.0.join("file/x"))
        .output()
        .unwrap();
    assert_eq!((output.status.code(), printed(&output).as_str()), (Some(125), ""));
    assert!(said(&output).contains("retake record -o DIR"), "{}", said(&output));
    let empty = home.run(&["replay"]);
    assert_eq!(empty.status.code(), Some(125));
    assert!(said(&empty).contains("retake demo"));
}

#[test]
fn the_cache_may_be_missing_or_closed() {
    let home = Home::new();
    fs::write(home.0.join("file"), "").unwrap();
    for cache in ["file/cache", "a b"] {
        let output = home.retake(&["record", "--", "true"]).env("XDG_CACHE_HOME", home.0.join(cache)).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(said(&output).contains(" -> true-"), "{}", said(&output));
    }
    let left = fs::read_dir(home.0.join("state/retake/true-1")).unwrap().count();
    assert_eq!(left, 2, "take.json and one tape");
}

#[test]
fn the_manual_is_made() {
    let home = Home::new();
    assert!(printed(&home.run(&["man"])).contains(".TH"));
    assert!(printed(&home.run(&["completions", "bash"])).contains("retake"));
    assert_eq!(home.run(&["man", "--dir", "man"]).status.code(), Some(0));
    assert!(home.0.join("man/retake-record.1").is_file());
}

#[test]
fn the_demo_shows_what_it_says() {
    let home = Home::new();
    let output = home.run(&["demo"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", printed(&output), said(&output));
    assert!(printed(&output).contains("All the same"));
}

const COUNTER: &str = r#"
#include <pthread.h>
#include <stdio.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int order[20], next;
void *work(void *name) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        order[next++] = *(int *)name;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void) {
    int names[2] = {1, 2};
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, &names[i]);
    CHANGE
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    for (int i = 0; i < 20; i++) printf("%d", order[i]);
    puts("");
    return 0;
}
"#;

#[test]
fn a_take_is_shown_with_names_and_lines() {
    let home = Home::new();
    let program = home.compile("counter", &COUNTER.replace("CHANGE", ""), &[]);
    assert_eq!(home.run(&["record", "--", text(&program)]).status.code(), Some(0));
    let shown = home.run(&["show"]);
    assert_eq!(shown.status.code(), Some(0), "{}", said(&shown));
    let lines = printed(&shown);
    assert!(lines.contains("# inputs not recorded: "), "{lines}");
    assert!(lines.contains("runs work, created at counter.c:17 (main)"), "{lines}");
    let locks: Vec<_> = lines.lines().filter(|line| line.contains(" lock mutex ")).collect();
    assert_eq!(locks.len(), 20, "{lines}");
    assert!(locks.iter().all(|line| line.ends_with("counter.c:8 (work)") && line.contains(" lock ")), "{lines}");
    let one = printed(&home.run(&["show", "--thread", "0.1"]));
    assert_eq!(one.lines().filter(|line| line.contains(" lock mutex ")).count(), 10, "{one}");
    assert!(printed(&home.run(&["show", "--json"])).lines().all(|line| line.starts_with('{') && line.ends_with('}')));
    assert!(printed(&home.run(&["show", "--light"])).contains("last event"));
    assert_eq!(home.run(&["show", "--thread", "0.9"]).status.code(), Some(125));
    assert!(printed(&home.run(&["info"])).contains("developed   yes"));
}

#[test]
fn a_changed_program_replays_or_says_why_not() {
    let home = Home::new();
    let program = home.compile("counter", &COUNTER.replace("CHANGE", ""), &[]);
    let recorded = home.run(&["record", "--", text(&program)]);
    // A print more: the same interactions.
    home.compile("counter", &COUNTER.replace("CHANGE", "fputs(\"more \", stderr);"), &[]);
    let replayed = home.run(&["replay"]);
    assert_eq!(printed(&replayed), printed(&recorded));
    assert!(said(&replayed).contains("has changed since the recording"), "{}", said(&replayed));
    assert!(said(&replayed).contains("more"));
    // Another call where the tape has a join, when the workers have long had the lock: so it is main that notices.
    let other = "{ for (volatile long i = 0; i < 100000000; i++) {} pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); pthread_t x; pthread_create(&x, 0, work, &names[0]); }";
    home.compile("counter", &COUNTER.replace("CHANGE", other), &[]);
    let diverged = home.run(&["replay", "--patience", "5"]);
    assert_eq!(diverged.status.code(), Some(120), "{}", said(&diverged));
    assert!(said(&diverged).contains("retake: diverged in thread 0 at event "), "{}", said(&diverged));
    assert!(said(&diverged).contains("retake: likely cause: ") && said(&diverged).contains("has changed"));
    assert!(said(&diverged).contains("counter.c:18 (main)"), "{}", said(&diverged));
}

const GIVEN: &str = r#"#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t ours = PTHREAD_MUTEX_INITIALIZER;
static sem_t none;
int main(int argc, char **argv) {
    (void)argv;
    pthread_mutex_lock(&ours);
    return (argc == RIGHT ? pthread_mutex_trylock(&ours) : sem_trywait(&none)) == 0;
}
"#;

/// A command that is given in the recorded one's place is looked at first.
#[test]
fn a_divergence_of_a_given_command_names_what_is_other() {
    let home = Home::new();
    let program = home.compile("given", GIVEN, &["-DRIGHT=2"]);
    let other = home.compile("other", GIVEN, &["-DRIGHT=0"]);
    assert_eq!(home.run(&["record", "--", text(&program), "a b"]).status.code(), Some(0));
    let cause = |command: &[&str]| {
        let diverged = home.run(&[&["replay", "latest", "--"], command].concat());
        assert_eq!(diverged.status.code(), Some(120), "{}", said(&diverged));
        let lines = said(&diverged);
        let cause = lines.lines().find_map(|line| line.strip_prefix("retake: likely cause: "));
        cause.unwrap_or_default().to_owned()
    };
    let another = format!("{} is not the program that was recorded ({})", text(&other), text(&program));
    let arguments = "other arguments were given: none, recorded: 'a b'";
    assert_eq!(cause(&[text(&other), "a b"]), another);
    assert_eq!(cause(&[text(&program)]), arguments);
    assert_eq!(cause(&[text(&other)]), format!("{another}; {arguments}"));
    // It ends well, but too early.
    let nothing = home.compile("nothing", "int main(void) { return 0; }", &[]);
    let another = format!("{} is not the program that was recorded ({})", text(&nothing), text(&program));
    assert_eq!(cause(&[text(&nothing), "a b"]), another);
    assert_eq!(home.run(&["replay", "latest", "--", text(&program), "a b"]).status.code(), Some(0));
}

const CACHES: &str = r#"#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
static pthread_mutex_t ours = PTHREAD_MUTEX_INITIALIZER;
static sem_t none;
int main(void) {
    int cached = access("cache", F_OK) == 0;
    pthread_mutex_lock(&ours);
    if (cached) pthread_mutex_trylock(&ours); else sem_trywait(&none);
    close(open("cache", O_CREAT | O_WRONLY, 0600));
    return 0;
}
"#;

/// A program that finds what its recording has left behind goes another way, and that is told.
#[test]
fn a_divergence_names_a_folder_that_is_another_one() {
    let home = Home::new();
    let program = home.compile("caches", CACHES, &[]);
    let folder = home.0.join("work");
    fs::create_dir(&folder).unwrap();
    // The recording does not begin in the same moment.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let recorded = home.retake(&["record", "--", text(&program)]).current_dir(&folder).output().unwrap();
    assert_eq!(recorded.status.code(), Some(0), "{}", said(&recorded));
    let diverged = home.run(&["replay", "latest"]);
    assert_eq!(diverged.status.code(), Some(120), "{}", said(&diverged));
    let words = format!("what is in {}, which is not what it was: record it again", folder.display());
    assert!(said(&diverged).contains(&words), "{}", said(&diverged));
    fs::remove_file(folder.join("cache")).unwrap();
    assert_eq!(home.run(&["replay", "latest"]).status.code(), Some(0));
}

const TRIES: &str = r#"#include <pthread.h>
static pthread_mutex_t ours = PTHREAD_MUTEX_INITIALIZER, theirs = PTHREAD_MUTEX_INITIALIZER;
static __attribute__((noinline)) int look(pthread_mutex_t *at) {
    CALL
}
int main(void) {
    pthread_mutex_lock(&ours);
    return look(&theirs) + look(&ours) == 0;
}
"#;

/// What a thread did there when it was recorded is known from the developed take, though the program was built anew.
#[test]
fn a_divergence_names_both_lines() {
    let home = Home::new();
    let build = |call: &str| home.compile("tries", &TRIES.replace("CALL", call), &[]);
    let program = build("return pthread_mutex_trylock(at);");
    assert_eq!(home.run(&["record", "--", text(&program)]).status.code(), Some(0));
    assert_eq!(home.run(&["show"]).status.code(), Some(0));
    build("int more = 0;\n    return more + pthread_mutex_lock(at);");
    let diverged = home.run(&["replay"]);
    assert_eq!(diverged.status.code(), Some(120), "{}", said(&diverged));
    let line = said(&diverged).lines().find(|line| line.contains("diverged")).unwrap_or_default().to_owned();
    let both = "retake: diverged in thread 0 at event 3: recorded try mutex ours at tries.c:4 (look); \
                came lock mutex at tries.c:5 (look)";
    assert_eq!(line, both);
    // The lines travel with the take, and outlive the program.
    assert_eq!(home.run(&["pack"]).status.code(), Some(0));
    fs::remove_file(&program).unwrap();
    let shown = home.run(&["show", "tries-1.retake"]);
    assert!(printed(&shown).contains(" try mutex              theirs "), "{}{}", printed(&shown), said(&shown));
    assert!(printed(&shown).contains("tries.c:4 (look)"), "{}", printed(&shown));
}

#[test]
fn a_divergence_of_a_light_take_names_the_line_of_the_replay() {
    let home = Home::new();
    let build = |call: &str| home.compile("tries", &TRIES.replace("CALL", call), &[]);
    let program = build("return pthread_mutex_trylock(at);");
    assert_eq!(home.run(&["record", "--", text(&program)]).status.code(), Some(0));
    build("return pthread_mutex_lock(at);");
    let diverged = said(&home.run(&["replay"]));
    assert!(diverged.contains("recorded a poll of: try mutex (16); came lock mutex at tries.c:4 (look)"), "{diverged}");
    assert!(diverged.contains("retake: next: retake show --light tries-1"), "{diverged}");
}

#[test]
fn replays_are_compared() {
    let home = Home::new();
    let program = home.compile("counter", &COUNTER.replace("CHANGE", ""), &[]);
    let recorded = home.run(&["record", "--", text(&program)]);
    let checked = home.run(&["replay", "--check", "--times", "3"]);
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    assert_eq!(printed(&checked), printed(&recorded), "printed once");
    assert!(said(&checked).contains("3 replays: same end (exit 0), same output"));
    // Another program with the same (no) interactions but another end.
    home.run(&["record", "--", "true"]);
    let other = home.run(&["replay", "--check", "true-1", "--", "false"]);
    assert_eq!(other.status.code(), Some(120), "{}", said(&other));
    assert!(said(&other).contains("ended with exit 1, the recording with exit 0"));
}
