//! Programs that cannot be recorded, real ones: `record` and `doctor` tell the reason and the remedy; `--anyway`, and
//! being the child of a recorded program, leave them unharmed.
//!
//! Nothing is installed here (`./check` does that): a test whose compiler or program is missing fails and names the
//! package.

use retake_testkit::{Kit, Outcome, run};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 4; }\n";
/// The user whom root becomes where it matters not to be root.
const NOBODY: u32 = 65534;

struct Place {
    kit: Kit,
    dir: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let kit = Kit::new(env!("CARGO_BIN_EXE_retake"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("refusals"));
        let dir = kit.scratch(name).unwrap();
        Place { kit, dir }
    }

    /// Compiles the program by `compiler`, which is in `package`.
    fn compile(&self, compiler: &str, package: &str, flags: &[&str], source: &str) -> PathBuf {
        let (from, to) = (self.dir.join("program.c"), self.dir.join("program"));
        fs::write(&from, source).unwrap();
        let mut command = Command::new(compiler);
        let done = command.args(flags).arg(&from).arg("-o").arg(&to).output();
        let done = done.unwrap_or_else(|_| panic!("this test needs {compiler}: apt-get install {package}"));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        to
    }

    fn plain(&self) -> PathBuf {
        self.compile("gcc", "gcc", &[], SOURCE)
    }

    fn run(&self, command: &mut Command) -> Outcome {
        run(command, &self.dir, self.kit.limits).unwrap()
    }

    fn retake(&self, arguments: &[&str]) -> Outcome {
        self.run(self.kit.retake(&self.dir).args(arguments))
    }

    fn end(self) {
        fs::remove_dir_all(&self.dir).unwrap();
    }

    /// `record` and `doctor` refuse with these words; anyway, and as a child, it does what it does bare.
    fn is_refused(&self, program: &[&str], reason: &str, remedy: &str) {
        let bare = self.run(Command::new(program[0]).args(&program[1..]).current_dir(&self.dir));
        let refused = self.retake(&[&["record", "--"], program].concat());
        assert_eq!((refused.ended, refused.stdout.len()), (125, 0), "{}", refused.stderr);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
        let next = refused.stderr.lines().find(|line| line.starts_with("retake: next: ")).unwrap_or("");
        assert!(next.contains(remedy) && next.contains("--anyway"), "{}", refused.stderr);
        let doctor = self.retake(&["doctor", program[0]]);
        let found = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert_eq!(doctor.ended, 125, "{found}");
        assert!(found.lines().any(|line| line.starts_with("NO  ") && line.contains(reason) && line.contains(remedy)));
        let anyway = self.retake(&[&["record", "--anyway", "--"], program].concat());
        assert_eq!((anyway.ended, &anyway.stdout), (bare.ended, &bare.stdout), "{}", anyway.stderr);
        assert!(anyway.stderr.contains("nothing was recorded: "), "{}", anyway.stderr);
        self.runs_as_a_child(program, &bare);
    }

    fn runs_as_a_child(&self, program: &[&str], bare: &Outcome) {
        let script = format!("{}; echo after $?", program.join(" "));
        let bare = (0, format!("{}after {}\n", String::from_utf8_lossy(&bare.stdout), bare.ended));
        let recorded = self.retake(&["record", "-q", "-o", "take", "--", "sh", "-c", &script]);
        let seen = |ran: &Outcome| (ran.ended, String::from_utf8_lossy(&ran.stdout).into_owned());
        assert_eq!((seen(&recorded), recorded.stderr.as_str()), (bare, ""));
        let replayed = self.retake(&["replay", "take"]);
        fs::remove_dir_all(self.dir.join("take")).unwrap();
        assert_eq!(seen(&replayed), seen(&recorded), "{}", replayed.stderr);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_static_program() {
    let place = Place::new("static");
    let program = place.compile("gcc", "gcc", &["-static"], SOURCE);
    place.is_refused(&[text(&program)], "is statically linked", "link it dynamically");
    // What it starts is not recorded either, and sees nothing of Retake.
    let starts = "#include <stdlib.h>\nint main(void) { return system(\"env | grep -c -e RETAKE_ -e LD_PRELOAD\"); }\n";
    let program = place.compile("gcc", "gcc", &["-static"], starts);
    let bare = Outcome { stdout: b"0\n".into(), ended: 0, ..place.run(&mut Command::new(&program)) };
    place.runs_as_a_child(&[text(&program)], &bare);
    place.end();
}

#[test]
fn a_program_for_musl() {
    let place = Place::new("musl");
    let program = place.compile("musl-gcc", "musl-tools", &[], SOURCE);
    place.is_refused(&[text(&program)], "uses musl", "build it for x86_64-linux-gnu");
    place.end();
}

/// Debian's fzf: dynamically linked, with threads of libc's and of its own.
#[test]
fn a_go_program() {
    let fzf = "/usr/bin/fzf";
    assert!(Path::new(fzf).exists(), "this test needs fzf: apt-get install fzf (./check does it)");
    let place = Place::new("go");
    fs::write(place.dir.join("lines"), "one\ntwo\nthree\n").unwrap();
    place.is_refused(&[fzf, "--version"], "is a Go program", "go test -race");
    let bare = Outcome { stdout: b"one\ntwo\n".into(), ended: 0, ..place.retake(&["--version"]) };
    place.runs_as_a_child(&["cat", "lines", "|", fzf, "--filter", "o", "|", "sort"], &bare);
    place.end();
}

#[test]
fn a_32_bit_program() {
    let place = Place::new("32-bit");
    let start = "void _start(void) { __asm__ volatile(\"int $0x80\" : : \"a\"(1), \"b\"(4)); }\n";
    let program = place.compile("gcc", "gcc", &["-m32", "-nostdlib", "-static", "-O1", "-fno-pic"], start);
    place.is_refused(&[text(&program)], "is made for 32-bit x86", "build it for x86_64-linux-gnu");
    place.end();
}

/// A program whose header says that it is ARM's: the kernel cannot run it either.
#[test]
fn a_program_for_another_machine() {
    let place = Place::new("machine");
    let program = place.plain();
    let mut bytes = fs::read(&program).unwrap();
    bytes[18..20].copy_from_slice(&183u16.to_le_bytes());
    fs::write(&program, bytes).unwrap();
    let refused = place.retake(&["record", "--", "./program"]);
    assert_eq!(refused.ended, 125, "{}", refused.stderr);
    assert!(refused.stderr.contains("is made for 64-bit ARM"), "{}", refused.stderr);
    assert!(refused.stderr.contains("retake: next: build it for x86_64-linux-gnu"), "{}", refused.stderr);
    let doctor = place.retake(&["doctor", "./program"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("NO  ./program is made for 64-bit ARM"));
    assert_eq!(place.retake(&["record", "--anyway", "--", "./program"]).ended, 126);
    place.end();
}

#[test]
fn a_setuid_program() {
    let place = Place::new("setuid");
    let (reason, remedy) = ("is setuid or setgid", "record a copy without that bit");
    if is_root() {
        let program = place.plain();
        chown(&program, Some(NOBODY), None).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        place.is_refused(&[text(&program)], reason, remedy);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        chown(&program, None, Some(NOBODY)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o2755)).unwrap();
        place.is_refused(&[text(&program)], reason, remedy);
        // To its own owner the bit means nothing.
        chown(&program, Some(0), Some(0)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
        assert_eq!(place.retake(&["record", "--", text(&program)]).ended, 4);
    } else {
        place.is_refused(&["/usr/bin/passwd", "--help"], reason, remedy);
    }
    place.end();
}

/// Root has all capabilities anyway: it records such a program. Everybody else is told why not.
#[test]
fn a_program_with_capabilities() {
    assert!(is_root(), "this test gives a program capabilities: run it as root");
    let place = Place::new("capabilities");
    let program = place.plain();
    let given = Command::new("setcap").args(["cap_net_raw+ep", text(&program)]).status();
    assert!(given.is_ok_and(|status| status.success()), "this test needs setcap: apt-get install libcap2-bin");
    assert_eq!(place.retake(&["record", "--", text(&program)]).ended, 4);
    // In a place that nobody may go to, too.
    let open = std::env::temp_dir().join(format!("retake-capabilities-{}", std::process::id()));
    fs::create_dir_all(&open).unwrap();
    chown(&open, Some(NOBODY), None).unwrap();
    for file in [env!("CARGO_BIN_EXE_retake"), text(&program)] {
        let to = open.join(Path::new(file).file_name().unwrap());
        fs::copy(file, &to).unwrap();
    }
    let program = open.join("program");
    Command::new("setcap").args(["cap_net_raw+ep", text(&program)]).status().unwrap();
    let nobody = NOBODY.to_string();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]).arg(open.join("retake"));
        command.args(arguments).current_dir(&open).env("HOME", &open).env_remove("RETAKE_DIR");
        command.env("XDG_STATE_HOME", open.join("state")).env("XDG_CACHE_HOME", open.join("cache"));
        place.run(&mut command)
    };
    let refused = as_nobody(&["record", "--", text(&program)]);
    assert_eq!((refused.ended, refused.stdout.len()), (125, 0), "{}", refused.stderr);
    assert!(refused.stderr.contains("has file capabilities"), "{}", refused.stderr);
    assert!(refused.stderr.contains("retake: next: record a copy"), "{}", refused.stderr);
    let doctor = as_nobody(&["doctor", text(&program)]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("has file capabilities"), "{}", doctor.stderr);
    // The remedy helps: cp drops them.
    Command::new("cp").args([&program, &open.join("copy")]).status().unwrap();
    let copy = as_nobody(&["record", "--", text(&open.join("copy"))]);
    assert_eq!(copy.ended, 4, "{}", copy.stderr);
    fs::remove_dir_all(&open).unwrap();
    place.end();
}

/// Rust's own locks are futexes: said by `doctor` before, and by `record` after.
#[test]
fn a_rust_program_with_locks_of_its_own() {
    let place = Place::new("rust");
    let compile = |name: &str, source: &str| {
        fs::write(place.dir.join(name).with_extension("rs"), source).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let done = Command::new(rustc).current_dir(&place.dir).args(["-O", &format!("{name}.rs")]).status();
        assert!(done.unwrap().success());
    };
    compile(
        "locks",
        "use std::sync::Mutex;\nstatic TOTAL: Mutex<u32> = Mutex::new(0);\nfn main() {\n    \
         let work = || (0..1000).for_each(|_| *TOTAL.lock().unwrap() += 1);\n    \
         std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));\n    \
         println!(\"total {}\", TOTAL.lock().unwrap());\n}\n",
    );
    let recorded = place.retake(&["record", "-o", "take", "--", "./locks"]);
    assert_eq!((recorded.ended, recorded.stdout.as_slice()), (0, &b"total 4000\n"[..]), "{}", recorded.stderr);
    let said = "only threads were recorded, not locks: this Rust program locks with std::sync";
    assert!(recorded.stderr.contains(said), "{}", recorded.stderr);
    let doctor = place.retake(&["doctor", "./locks"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("std::sync locks are futexes"));
    let replayed = place.retake(&["replay", "take"]);
    assert_eq!((replayed.ended, &replayed.stdout), (0, &recorded.stdout), "{}", replayed.stderr);
    // One thread has no order to lose: nothing to be told.
    compile("alone", "fn main() { println!(\"hello\"); }\n");
    let alone = place.retake(&["record", "-o", "alone.take", "--", "./alone"]);
    assert!(!alone.stderr.contains("std::sync"), "{}", alone.stderr);
    place.end();
}
