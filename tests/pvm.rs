//! PVM programs, each under a daemon of its own on this machine: recorded once, replayed as often as the header says, the
//! same output every time. Nothing is installed here (`./check` does that).
//!
//! The last tests are about what a person sees: names of tasks, refusals, a daemon that is missing, several hosts; and one
//! task alone.

#[path = "pvm/alone.rs"]
mod alone;
#[path = "pvm/hosts.rs"]
mod hosts;

use retake_testkit::{Fixture, Kit, Limits, Outcome, Test, run, run_all};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn programs() -> PathBuf {
    root().join("tests/programs/pvm")
}

fn main() -> ExitCode {
    let fixtures = match Fixture::all(&programs()) {
        Ok(fixtures) => fixtures,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut tests: Vec<Test> = Vec::new();
    for fixture in fixtures {
        let own_daemon = fixture.name == "own_daemon";
        tests.push(Test::new(fixture.name.clone(), move || {
            let place = Place::new()?;
            let _machine = if own_daemon { None } else { Some(Machine::start(&place)?) };
            place.kit().check(&fixture)
        }));
    }
    tests.push(Test::new("tasks_are_named_by_the_tree_of_spawns", named_by_the_tree));
    tests.push(Test::new("messages_are_shown_by_the_names_of_tasks", shown_by_name));
    tests.push(Test::new("what_is_not_replayed_is_told", unhandled_is_told));
    tests.push(Test::new("a_static_program_is_refused", static_is_refused));
    tests.push(Test::new("a_missing_daemon_is_told", missing_daemon_is_told));
    tests.push(Test::new("another_order_of_calls_is_told", changed_program_is_told));
    tests.push(Test::new("a_fortran_program_comes_back", fortran_comes_back));
    tests.push(Test::new("three_hosts_on_one_machine", three_hosts));
    tests.push(Test::new("tasks_on_hosts_apart", hosts::apart));
    tests.push(Test::new("tasks_on_hosts_apart_are_told", hosts::apart_is_told));
    tests.push(Test::new("tablix2_comes_back", tablix));
    for program in ["recv_any", "ring", "group_collect"] {
        tests.push(Test::new(format!("each_task_alone_{program}"), move || alone::comes_back(program, "20")));
    }
    for program in
        ["context", "enrol_again", "group_leave", "killed", "machine", "mailbox", "mcast", "options", "precv", "signal"]
    {
        tests.push(Test::new(format!("each_task_alone_{program}"), move || alone::comes_back(program, "2")));
    }
    let later = [
        "alone",
        "recv_any",
        "ring",
        "group_collect",
        "group_leave",
        "context",
        "enrol_again",
        "killed",
        "machine",
        "mailbox",
    ];
    for program in later.into_iter().chain(["mcast", "options", "precv", "probe", "signal"]) {
        tests.push(Test::new(format!("each_task_alone_later_{program}"), move || alone::comes_back_later(program)));
    }
    tests.push(Test::new("each_task_alone_prints_the_same", alone::prints_the_same));
    tests.push(Test::new("a_task_alone_that_differs", alone::differs));
    tests.push(Test::new("a_task_alone_under_gdb", alone::under_gdb));
    tests.push(Test::new("what_cannot_be_replayed_alone_is_told", alone::refused));
    tests.push(Test::new("tablix2_alone", alone::tablix));
    for (program, input) in
        [("hello.pvm", ""), ("timing", ""), ("gexample", "20\n4\n"), ("master1", "3\n"), ("hitc", "")]
    {
        tests.push(Test::new(format!("example_{program}_comes_back"), move || example(program, input)));
    }
    run_all(tests)
}

/// Where one virtual machine keeps its files: short, because there is a socket in it.
struct Place {
    dir: PathBuf,
}

impl Place {
    fn new() -> Result<Place, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("retake-pvm-{}-{number}", std::process::id()));
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        Ok(Place { dir })
    }

    fn variables(&self) -> Vec<(String, PathBuf)> {
        let pairs = [
            ("PVM_ROOT", PathBuf::from("/usr/lib/pvm3")),
            ("PVM_TMP", self.dir.clone()),
            ("PVM_PATH", PathBuf::from("/usr/bin")),
            ("PVM_ALLOW_ROOT", PathBuf::from("1")),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    fn kit(&self) -> Kit {
        let mut kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("pvm"));
        kit.environment = self.variables();
        kit
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A daemon; it ends with the test, and its tasks with it.
struct Machine {
    daemon: Child,
}

impl Machine {
    fn start(place: &Place) -> Result<Machine, String> {
        let mut command = Command::new("pvmd");
        command.arg("-n127.0.0.1").envs(place.variables()).process_group(0);
        Machine::of(&mut command, place)
    }

    fn of(command: &mut Command, place: &Place) -> Result<Machine, String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let daemon = child.map_err(|e| format!("this test needs pvmd: apt-get install pvm (./check does it): {e}"))?;
        let machine = Machine { daemon };
        let started = Instant::now();
        let is_ready = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("pvmd.") && fs::metadata(path).is_ok_and(|data| data.len() > 0)
        };
        let files = || fs::read_dir(&place.dir).into_iter().flatten().flatten().map(|item| item.path());
        while !files().any(|path| is_ready(&path)) {
            if started.elapsed() > Duration::from_secs(20) {
                return Err("pvmd did not start".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(machine)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let pid = self.daemon.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let started = Instant::now();
        while matches!(self.daemon.try_wait(), Ok(None)) && started.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn fixture(name: &str) -> Result<Fixture, String> {
    Fixture::load(&programs().join(format!("{name}.c")))
}

fn must(fits: bool, what: &str, outcome: &Outcome) -> Result<(), String> {
    let said = || format!("{what}\nended {}; standard error:\n{}", outcome.ended, outcome.stderr);
    if fits { Ok(()) } else { Err(said()) }
}

fn names(take: &Path) -> Vec<String> {
    let items = fs::read_dir(take).into_iter().flatten().flatten();
    let mut names: Vec<_> = items.map(|item| item.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".tape"));
    names.sort();
    names
}

fn named_by_the_tree() -> Result<(), String> {
    let place = Place::new()?;
    let _machine = Machine::start(&place)?;
    let kit = place.kit();
    let program = kit.compile(&fixture("spawn_tree")?)?;
    let take = kit.scratch("named")?.join("take");
    kit.record(&program, &[], &take)?;
    let expected: Vec<String> = ["0.1.1.1.1", "0.1.1.1.2", "0.1.1", "0.1.2.1.1", "0.1.2.1.2", "0.1.2"]
        .into_iter()
        .chain(["0.1.3.1.1", "0.1.3.1.2", "0.1.3", "0"])
        .map(|name| format!("{name}.tape"))
        .collect();
    if names(&take) == expected { Ok(()) } else { Err(format!("{:?} instead of {expected:?}", names(&take))) }
}

fn shown_by_name() -> Result<(), String> {
    let place = Place::new()?;
    let _machine = Machine::start(&place)?;
    let kit = place.kit();
    let program = kit.compile(&fixture("recv_any")?)?;
    let scratch = kit.scratch("shown")?;
    for take in ["one", "two"] {
        kit.record(&program, &[], &scratch.join(take))?;
    }
    let told = |args: &[&str]| run(kit.retake(&scratch).args(args), &scratch, kit.limits);
    let text = |outcome: &Outcome| String::from_utf8_lossy(&outcome.stdout).into_owned();
    for shown in [told(&["show", "one"])?, told(&["show", "one", "--light"])?] {
        let all = (1..=4).all(|task| text(&shown).contains(&format!("a message from task 0.1.{task} with tag 0")));
        must(all, "tasks are not named", &shown)?;
    }
    // Ids of tasks are others in each run: only names can be compared.
    let parted = told(&["diff", "one", "two"])?;
    let words = "a message from task 0.1.";
    must(parted.ended == 0 || text(&parted).contains(words), "diff compares ids", &parted)
}

fn unhandled_is_told() -> Result<(), String> {
    let place = Place::new()?;
    let _machine = Machine::start(&place)?;
    let kit = place.kit();
    let program = kit.compile(&fixture("unhandled")?)?;
    let recorded = kit.record(&program, &["rm".to_string()], &kit.scratch("unhandled-told")?.join("take"))?;
    let all = ["pvm_addmhf", "pvm_getfds", "pvm_reg_hoster", "pvm_reg_tasker", "pvm_reg_rm", "pvm_reg_tracer"];
    let mut all = all.into_iter().chain(["pvm_tickle", "is not replayed"]);
    must(all.all(|name| recorded.stderr.contains(name)), "not told", &recorded)
}

fn static_is_refused() -> Result<(), String> {
    let place = Place::new()?;
    let kit = place.kit();
    let mut fixture = fixture("recv_any")?;
    fixture.flags = ["-static", "-lpvm3", "-ltirpc"].map(String::from).to_vec();
    let program = kit.compile(&fixture)?;
    let recorded = kit.record(&program, &[], &kit.scratch("static")?.join("take"))?;
    must(recorded.ended == 125 && recorded.stderr.contains("static"), "not refused in words", &recorded)
}

fn missing_daemon_is_told() -> Result<(), String> {
    let place = Place::new()?;
    let machine = Machine::start(&place)?;
    let kit = place.kit();
    let program = kit.compile(&fixture("recv_any")?)?;
    let take = kit.scratch("missing-daemon")?.join("take");
    kit.record(&program, &[], &take)?;
    drop(machine);
    let replayed = kit.replay(&take)?;
    must(replayed.ended == 120 && replayed.stderr.contains("start pvmd"), "not told", &replayed)
}

/// A program that receives from one task where it received from any.
fn changed_program_is_told() -> Result<(), String> {
    let place = Place::new()?;
    let _machine = Machine::start(&place)?;
    let kit = place.kit();
    let program = kit.compile(&fixture("recv_any")?)?;
    let scratch = kit.scratch("changed")?;
    let take = scratch.join("take");
    kit.record(&program, &[], &take)?;
    let text = fs::read_to_string(programs().join("recv_any.c")).map_err(|e| e.to_string())?;
    let other = scratch.join("recv_other.c");
    fs::write(&other, text.replace("pvm_recv(-1, -1)", "pvm_recv(-1, 77)")).map_err(|e| e.to_string())?;
    let other = kit.compile(&Fixture::load(&other)?)?;
    let mut replay = kit.retake(&scratch);
    let replayed = run(replay.arg("replay").arg(&take).arg("--").arg(&other), &scratch, kit.limits)?;
    let words = ["thread 0 ", "a message from task t", "pvm_recv", "any task with tag 77"];
    let told = words.iter().all(|words| replayed.stderr.contains(words));
    must(replayed.ended == 120 && told, "not told in words", &replayed)
}

fn fortran_comes_back() -> Result<(), String> {
    let place = Place::new()?;
    let _machine = Machine::start(&place)?;
    let kit = place.kit();
    let scratch = kit.scratch("fortran")?;
    let program = scratch.join("program");
    let mut compiler = Command::new("gfortran");
    compiler.args(["-O1", "-g", "-I/usr/include", "-o"]).arg(&program).arg(programs().join("order.f"));
    let built = compiler.args(["-lfpvm3", "-lgpvm3", "-lpvm3"]).output();
    let built = built.map_err(|e| format!("this test needs gfortran: apt-get install gfortran: {e}"))?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    kit.record_and_replay(&program, &[program.to_string_lossy().into_owned()], &scratch, 20, Some(0))
}

/// Three daemons that believe to be on three hosts: each has its own host name, in a namespace, and its own address.
fn three_hosts() -> Result<(), String> {
    let place = Place::new()?;
    let kit = place.kit();
    let scratch = kit.scratch("three-hosts")?;
    let shell = place.dir.join("rsh");
    let write = |name: &str, text: &str| {
        let path = place.dir.join(name);
        fs::write(&path, text).map_err(|e| e.to_string())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|e| e.to_string())
    };
    write("hosts", "127.0.0.1 localhost\n127.0.1.1 nodea\n127.0.1.2 nodeb\n127.0.1.3 nodec\n")?;
    let remote = "#!/bin/sh\nwhile :; do case $1 in -l) shift 2;; -n) shift;; *) break;; esac; done\nhost=$1; shift\n\
                  export PVM_TMP=$PVM_TMP/$host; mkdir -p $PVM_TMP\n\
                  exec unshare -u sh -c \"hostname $host; exec $*\"\n";
    write("rsh", remote)?;
    // A master and its slaves, a ring, and groups.
    let compile = |name| kit.compile(&fixture(name)?);
    let programs = [compile("hosts_order")?, compile("ring")?, compile("group_join")?, compile("group_collect")?];
    let programs: Vec<_> = programs.iter().map(|program| program.to_string_lossy()).collect();
    let retake = env!("CARGO_BIN_EXE_retake");
    // Standard output of the recording, then of each replay, must be the same.
    let script = format!(
        "set -e\nmount --bind {dir}/hosts /etc/hosts\nhostname nodea\npvmd -nnodea >/dev/null 2>&1 &\n\
         for i in $(seq 500); do [ -s {dir}/pvmd.0 ] && break; sleep 0.02; done\n\
         printf 'add nodeb nodec\\nconf\\nquit\\n' | pvm >{dir}/conf\n\
         grep -q nodec {dir}/conf\n\
         for program in {programs}; do\n\
         take=take-${{program##*/}}; {retake} record -o $take -- $program >recorded; cat recorded\n\
         for i in $(seq 20); do {retake} replay $take >replayed; cmp recorded replayed; done\ndone\n\
         echo halt | pvm >/dev/null 2>&1 || true\n",
        dir = place.dir.display(),
        programs = programs.join(" "),
    );
    write("script", &script)?;
    let mut command = Command::new("unshare");
    command.args(["-r", "-m", "-u", "sh"]).arg(place.dir.join("script")).current_dir(&scratch);
    command.envs(place.variables()).env("PVM_RSH", shell).env("PVM_DPATH", "/usr/bin/pvmd");
    command.env("XDG_STATE_HOME", scratch.join("state"));
    // Four programs, and twenty replays of each.
    let limits = Limits { wait_ms_max: kit.limits.wait_ms_max * 8 };
    let outcome = run(&mut command, &scratch, limits)?;
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let hosts = ["nodea", "nodeb", "nodec"].iter().all(|host| text.contains(host));
    must(outcome.ended == 0 && hosts, &format!("not the same on three hosts:\n{text}"), &outcome)
}

fn need(program: &str, package: &str) -> Result<PathBuf, String> {
    let path = Path::new("/usr/bin").join(program);
    let missing = || format!("this test needs {program}: apt-get install {package} (./check does it)");
    if path.is_file() { Ok(path) } else { Err(missing()) }
}

/// Debian's timetabler, as it is: a genetic algorithm in three tasks, whose results differ from run to run.
fn tablix() -> Result<(), String> {
    let program = need("tablix2", "tablix2")?;
    let place = Place::new()?;
    let _machine = Machine::start(&place)?;
    let kit = place.kit();
    let scratch = kit.scratch("tablix2")?;
    let problem = programs().join("timetable.xml").to_string_lossy().into_owned();
    let args = ["-n", "3", "-o", "out-", &problem].map(String::from);
    let read = || -> Result<Vec<Vec<u8>>, String> {
        let name = |index: u32| scratch.join(format!("out-result{index}.xml"));
        let read = |index| fs::read(name(index)).map_err(|e| format!("{}: {e}", name(index).display()));
        (0..3).map(read).collect()
    };
    let recorded = kit.record(&program, &args, &scratch.join("take"))?;
    must(recorded.ended == 0, "recording", &recorded)?;
    let results = read()?;
    for _ in 0..5 {
        for index in 0..3 {
            let _ = fs::remove_file(scratch.join(format!("out-result{index}.xml")));
        }
        let replayed = kit.replay(&scratch.join("take"))?;
        must(replayed.ended == 0 && replayed.stdout == recorded.stdout, "another end, or other output", &replayed)?;
        must(read()? == results, "other timetables", &replayed)?;
    }
    Ok(())
}

/// An example of PVM's own, as Debian built it. The times that `timing` measures come back, too.
fn example(program: &str, input: &str) -> Result<(), String> {
    let path = need(program, "pvm-examples")?;
    let place = Place::new()?;
    let _machine = Machine::start(&place)?;
    let kit = place.kit();
    let scratch = kit.scratch(program)?;
    fs::write(scratch.join("input"), input).map_err(|e| e.to_string())?;
    let script = scratch.join("script");
    // The input is given to every run: it is not recorded.
    let text = format!("exec {} < {}\n", path.display(), scratch.join("input").display());
    fs::write(&script, text).map_err(|e| e.to_string())?;
    kit.record_and_replay(Path::new("/bin/sh"), &[script.to_string_lossy().into_owned()], &scratch, 5, None)
}
