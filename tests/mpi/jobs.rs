//! Whole jobs under `mpirun`: other languages, real programs, launchers inside scripts, and what is told when a replay
//! does not fit.

use crate::{ALL, FIVES, Mpi};
use retake_testkit::{Fixture, Kit, Outcome, Test, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

pub type Said = Result<(), String>;

pub struct Jobs {
    pub programs: PathBuf,
    kit: Kit,
}

pub fn tests(root: &Path) -> Vec<Test> {
    let jobs = Arc::new(Jobs { programs: root.join("tests/programs/mpi"), kit: crate::kit("jobs", ALL[0]) });
    let mut tests = Vec::new();
    let mut add = |name: String, body: Box<dyn Fn(&Jobs) -> Said + Send + Sync>| {
        let jobs = jobs.clone();
        tests.push(Test::new(name, move || body(&jobs)));
    };
    for mpi in ALL {
        for source in ["any", "any08"] {
            add(format!("fortran_{source}_{}", mpi.name), Box::new(move |jobs| jobs.fortran(mpi, source)));
        }
    }
    for mpi in ALL.into_iter().chain(FIVES) {
        add(format!("cxx_{}", mpi.name), Box::new(move |jobs| jobs.cxx(mpi)));
        add(format!("a_rank_alone_{}", mpi.name), Box::new(move |jobs| jobs.alone(mpi)));
        add(format!("a_rank_alone_later_{}", mpi.name), Box::new(move |jobs| jobs.alone_later(mpi)));
    }
    add("a_rank_alone_later_or_not".into(), Box::new(Jobs::alone_later_or_not));
    add("a_rank_alone_in_other_languages".into(), Box::new(Jobs::alone_in_other_languages));
    add("a_rank_alone_that_differs".into(), Box::new(Jobs::alone_differs));
    add("a_rank_alone_under_gdb".into(), Box::new(Jobs::alone_under_gdb));
    add("what_cannot_be_replayed_alone_is_told".into(), Box::new(Jobs::not_alone));
    add("python".into(), Box::new(Jobs::python));
    for mpi in [ALL[1], FIVES[0], FIVES[1]] {
        add(format!("python_{}", mpi.name), Box::new(move |jobs| jobs.python_of_pypi(mpi)));
    }
    add("mplrs".into(), Box::new(Jobs::mplrs));
    add("hpcc".into(), Box::new(Jobs::hpcc));
    add("one_rank_under_gdb".into(), Box::new(Jobs::debugged));
    add("one_rank_under_gdb_for_long".into(), Box::new(Jobs::held_for_long));
    for mpi in [ALL[0], FIVES[0], FIVES[1]] {
        add(format!("ranks_that_a_job_starts_{}", mpi.name), Box::new(move |jobs| jobs.spawned(mpi)));
    }
    add("ranks_that_a_job_starts_from_a_path".into(), Box::new(Jobs::spawned_from_a_path));
    add("ranks_on_two_hosts".into(), Box::new(Jobs::two_hosts));
    for mpi in [ALL[0], ALL[1], FIVES[0], FIVES[1]] {
        add(format!("ranks_on_hosts_apart_{}", mpi.name), Box::new(move |jobs| jobs.hosts_apart(mpi)));
    }
    add("ranks_on_hosts_that_do_not_answer".into(), Box::new(Jobs::hosts_that_do_not_answer));
    for mpi in ALL {
        add(format!("killed_rank_{}", mpi.name), Box::new(move |jobs| jobs.killed_rank(mpi)));
    }
    add("script_with_two_jobs".into(), Box::new(Jobs::script));
    add("another_number_of_ranks".into(), Box::new(Jobs::another_number));
    add("another_library".into(), Box::new(Jobs::another_library));
    add("another_receive".into(), Box::new(Jobs::another_receive));
    add("a_message_that_does_not_come".into(), Box::new(Jobs::missing_message));
    add("a_rank_that_works_beside_its_waiting".into(), Box::new(Jobs::works_beside));
    for mpi in [ALL[0], ALL[1], FIVES[0], FIVES[1]] {
        add(format!("a_barrier_that_one_does_not_come_to_{}", mpi.name), Box::new(move |jobs| jobs.missing_rank(mpi)));
    }
    add("messages_are_shown".into(), Box::new(Jobs::shown));
    add("messages_of_requests_are_shown".into(), Box::new(Jobs::shown_requests));
    add("what_is_not_replayed_is_told".into(), Box::new(Jobs::told));
    add("a_job_linked_statically_is_told".into(), Box::new(Jobs::linked_statically));
    add("every_function_has_a_row".into(), Box::new(Jobs::every_function_has_a_row));
    tests
}

pub fn must(holds: bool, what: &str, outcome: &Outcome) -> Said {
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    if holds { Ok(()) } else { Err(format!("{what}; it ended {}:\n{text}\n{}", outcome.ended, outcome.stderr)) }
}

impl Jobs {
    /// An empty folder, and a kit for it.
    pub fn begin(&self, name: &str) -> Result<(Kit, PathBuf), String> {
        let scratch = self.kit.scratch(name)?;
        let mut kit = self.kit.clone();
        kit.environment.push(("TMPDIR".into(), scratch.clone()));
        Ok((kit, scratch))
    }

    pub fn compiled(&self, mpi: Mpi, name: &str) -> Result<String, String> {
        let fixture = Fixture::load(&self.programs.join(format!("{name}.c")))?;
        Ok(self.kit.compile_by(mpi.cc, &fixture)?.to_string_lossy().into_owned())
    }

    /// Records and replays a command of a launcher, which must end well.
    fn same(&self, name: &str, mpi: Mpi, args: &[&str], replays: u32) -> Said {
        let (kit, scratch) = self.begin(name)?;
        let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
        kit.record_and_replay(Path::new(mpi.run), &args, &scratch, replays, Some(0))
    }

    fn fortran(&self, mpi: Mpi, source: &str) -> Said {
        let name = format!("fortran_{source}_{}", mpi.name);
        let program = self.compiled_fortran(mpi, source, &name)?;
        self.same(&name, mpi, &["-np", "4", &program], 5)
    }

    pub fn compiled_fortran(&self, mpi: Mpi, source: &str, name: &str) -> Result<String, String> {
        let scratch = self.kit.scratch(&format!("{name}_bin"))?;
        let program = scratch.join(source);
        let compiler = mpi.cc.replace("mpicc", "mpif90");
        let made = Command::new(&compiler)
            .arg("-o")
            .arg(&program)
            .arg(self.programs.join(format!("{source}.f90")))
            .arg(format!("-J{}", scratch.display()))
            .output();
        let made = made.map_err(|e| format!("{compiler}: {e}"))?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        Ok(program.to_string_lossy().into_owned())
    }

    fn python(&self) -> Said {
        let script = self.programs.join("any.py");
        self.same("python", ALL[0], &["-np", "4", "/usr/bin/python3", &script.to_string_lossy()], 5)
    }

    /// PyPI's mpi4py, which finds its MPI library when it is loaded, and keeps it to itself; with Open MPI one that was built for
    /// it (docs/limits.md).
    fn python_of_pypi(&self, mpi: Mpi) -> Said {
        mpi.must_be_there()?;
        let (mut kit, scratch) = self.begin(&format!("python_{}", mpi.name))?;
        mpi.settle(&mut kit);
        let (python, library) = mpi.python(&scratch)?;
        kit.environment.push(("LD_LIBRARY_PATH".into(), library));
        let script = self.programs.join("any.py").to_string_lossy().into_owned();
        let args = ["-np".to_string(), "4".into(), python, script];
        kit.record_and_replay(Path::new(mpi.run), &args, &scratch, 5, Some(0))
    }

    fn mplrs(&self) -> Said {
        let input = self.programs.join("cube.ine");
        self.same("mplrs", ALL[0], &["-np", "4", "mplrs", &input.to_string_lossy()], 5)
    }

    /// Debian's benchmark suite, as it is: the times that it measured come back, too.
    fn hpcc(&self) -> Said {
        let (kit, scratch) = self.begin("hpcc")?;
        let (input, output) = (self.programs.join("hpccinf.txt"), scratch.join("hpccoutf.txt"));
        fs::copy(input, scratch.join("hpccinf.txt")).map_err(|e| e.to_string())?;
        // All but processor times, which are the system's (docs/limits.md).
        let results = || -> Result<Vec<String>, String> {
            let text = fs::read_to_string(&output).map_err(|e| format!("{}: {e}", output.display()))?;
            fs::remove_file(&output).map_err(|e| e.to_string())?;
            Ok(text.lines().filter(|line| !line.contains("CPU")).map(str::to_owned).collect())
        };
        let take = scratch.join("take");
        let recorded = kit.record(Path::new(ALL[0].run), &["-np", "4", "hpcc"].map(str::to_string), &take)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let expected = results()?;
        must(expected.iter().any(|line| line == "Success=1"), "hpcc itself failed", &recorded)?;
        for _ in 0..2 {
            let replayed = kit.replay(&take)?;
            must(replayed.ended == 0 && results()? == expected, "other results", &replayed)?;
        }
        Ok(())
    }

    /// A rank is killed; the replay comes as far in every rank, and ends so.
    fn killed_rank(&self, mpi: Mpi) -> Said {
        let (kit, scratch) = self.begin(&format!("killed_rank_{}", mpi.name))?;
        let (program, take) = (self.compiled(mpi, "killed")?, scratch.join("take"));
        let recorded = kit.record(Path::new(mpi.run), &["-np", "4", &program].map(str::to_string), &take)?;
        must(recorded.ended == if mpi.name == "mpich" { 9 } else { 137 }, "the recording failed", &recorded)?;
        // MPICH's launcher tells which process it was.
        let told = |outcome: &Outcome| {
            let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
            text.lines().filter(|line| !line.contains("PID ")).map(str::to_owned).collect::<Vec<_>>()
        };
        let received = told(&recorded).first().map_or(0, |line| line.split_whitespace().count());
        must(received == 41, "it was killed elsewhere", &recorded)?;
        for _ in 0..5 {
            let replayed = kit.replay(&take)?;
            let same = replayed.ended == recorded.ended && told(&replayed) == told(&recorded);
            must(same, &format!("not as recorded: {:?}", told(&recorded)), &replayed)?;
        }
        Ok(())
    }

    /// Debian's MPICH is there as an archive, too: nothing of it can be caught.
    fn linked_statically(&self) -> Said {
        let (kit, scratch) = self.begin("linked_statically")?;
        let program = scratch.join("static").to_string_lossy().into_owned();
        let mut make = Command::new("gcc");
        make.arg("-I/usr/include/x86_64-linux-gnu/mpich").arg(self.programs.join("recv_any.c")).args(["-o", &program]);
        make.arg("/usr/lib/x86_64-linux-gnu/libmpich.a")
            .args(["-lucp", "-lucs", "-luct", "-lucm", "-lpmix", "-lhwloc"]);
        let made = make.args(["-lpthread", "-lm", "-ldl", "-lrt"]).output().map_err(|e| e.to_string())?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        let args = ["-np", "4", &program].map(str::to_string);
        let recorded = kit.record(Path::new(ALL[1].run), &args, &scratch.join("take"))?;
        let told = "none of 4 ranks was seen to call MPI: they do not use it, or are linked statically with it";
        must(recorded.ended == 0 && recorded.stderr.contains(told), "it is not told", &recorded)
    }

    /// A C++ program whose threads meet at a lock between its messages.
    fn cxx(&self, mpi: Mpi) -> Said {
        mpi.must_be_there()?;
        let (mut kit, scratch) = self.begin(&format!("cxx_{}", mpi.name))?;
        mpi.settle(&mut kit);
        let program = scratch.join("any").to_string_lossy().into_owned();
        let compiler = mpi.cc.replace("mpicc", "mpicxx");
        let mut make = Command::new(&compiler);
        let made = make.args(["-O1", "-g", "-pthread", "-o", &program]).arg(self.programs.join("any.cpp")).output();
        let made = made.map_err(|e| format!("{compiler}: {e}"))?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        let args = ["-np", "4", &program].map(str::to_string);
        kit.record_and_replay(Path::new(mpi.run), &args, &scratch, 20_u32.div_ceil(mpi.part), Some(0))
    }

    fn script(&self) -> Said {
        let (kit, scratch) = self.begin("script")?;
        let program = self.compiled(ALL[0], "recv_any")?;
        let run = ALL[0].run;
        let line = format!("{run} -np 3 {program}; {run} -np 2 {program}; echo status $?");
        kit.record_and_replay(Path::new("/bin/sh"), &["-c".into(), line], &scratch, 3, Some(0))?;
        for name in ["0.1.rank:2.tape", "0.2.rank:1.tape"] {
            if !scratch.join("take").join(name).exists() {
                return Err(format!("{name} is not in the take"));
            }
        }
        Ok(())
    }

    /// Records `name` in the usual way, and replays it by another command line.
    fn replayed_by(&self, scratch: &str, name: &str, mpi: Mpi, ranks: &str) -> Result<Outcome, String> {
        let (kit, scratch) = self.begin(scratch)?;
        let take = scratch.join("take");
        let program = self.compiled(ALL[0], name)?;
        let recorded = kit.record(Path::new(ALL[0].run), &["-np", "3", &program].map(str::to_string), &take)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let mut command = kit.retake(&scratch);
        command.arg("replay").arg(&take).arg("--");
        command.args([mpi.run, "-np", ranks, &self.compiled(mpi, name)?]);
        run(&mut command, &scratch, kit.limits)
    }

    fn another_number(&self) -> Said {
        let fewer = self.replayed_by("fewer_ranks", "recv_any", ALL[0], "2")?;
        let words = "recorded 3 ranks of Open MPI; came 2 ranks of Open MPI";
        let told = fewer.stderr.contains(words) && fewer.stderr.contains("another number of ranks");
        must(fewer.ended == 120 && told, "fewer ranks", &fewer)?;
        let more = self.replayed_by("more_ranks", "recv_any", ALL[0], "4")?;
        must(more.ended == 120 && more.stderr.contains("rank"), "more ranks", &more)
    }

    fn another_library(&self) -> Said {
        let other = self.replayed_by("another_library", "recv_any", ALL[1], "3")?;
        let words = "recorded with Open MPI, replayed with MPICH";
        must(other.ended == 0 && other.stderr.contains(words), "another library", &other)
    }

    fn another_receive(&self) -> Said {
        let (kit, scratch) = self.begin("another_receive")?;
        let take = scratch.join("take");
        let program = self.compiled(ALL[0], "changed")?;
        let recorded = kit.record(Path::new(ALL[0].run), &["-np", "3", &program].map(str::to_string), &take)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let replayed = self.replayed_in(&kit, &scratch, "WAY=probe", &program)?;
        let words = "recorded MPI_Recv; came MPI_Probe from anyone";
        must(replayed.ended == 120 && replayed.stderr.contains(words), "another receive", &replayed)
    }

    fn missing_message(&self) -> Said {
        let (kit, scratch) = self.begin("missing_message")?;
        let take = scratch.join("take");
        let program = self.compiled(ALL[0], "changed")?;
        let recorded = kit.record(Path::new(ALL[0].run), &["-np", "3", &program].map(str::to_string), &take)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let replayed = self.replayed_in(&kit, &scratch, "WAY=fewer", &program)?;
        must(replayed.ended == 121 && replayed.stderr.contains("for a message from"), "a missing message", &replayed)
    }

    /// All ranks wait inside MPI, for longer than the patience, and a thread of one works.
    fn works_beside(&self) -> Said {
        let (kit, scratch) = self.begin("works_beside")?;
        let program = self.compiled(ALL[1], "beside")?;
        let args = ["-np", "2", &program].map(str::to_string);
        let recorded = kit.record(Path::new(ALL[1].run), &args, &scratch.join("take"))?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let mut command = kit.retake(&scratch);
        command.args(["replay", "--patience", "3", "take", "--", ALL[1].run, "-np", "2", &program, "6"]);
        let replayed = run(&mut command, &scratch, kit.limits)?;
        must(replayed.ended == 0, "a rank that works is called stuck", &replayed)
    }

    /// Two ranks stand in a barrier, and the third in `MPI_Finalize`: calls that do not come back to look.
    fn missing_rank(&self, mpi: Mpi) -> Said {
        let (mut kit, scratch) = self.begin(&format!("missing_rank_{}", mpi.name))?;
        mpi.settle(&mut kit);
        let program = self.compiled(mpi, "changed")?;
        let args = ["-np", "3", &program].map(str::to_string);
        let recorded = kit.record(Path::new(mpi.run), &args, &scratch.join("take"))?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let mut command = kit.retake(&scratch);
        command.args(["replay", "--patience", "5", "take", "--", mpi.run]);
        match mpi.name.contains("openmpi") {
            true => command.args(["-x", "WAY=apart"]),
            false => command.args(["-genv", "WAY", "apart"]),
        };
        let replayed = run(command.args(["-np", "3", &program]), &scratch, kit.limits)?;
        must(replayed.ended == 121, "a barrier that one does not come to", &replayed)?;
        let told = |rank: u32| {
            let rank = format!("rank:{rank} ");
            let lines: Vec<&str> = replayed.stderr.lines().filter(|line| line.contains(&rank)).collect();
            lines.iter().any(|line| line.contains("inside MPI"))
                && lines.iter().any(|line| line.contains("changed.c:") && line.contains("(main)"))
        };
        must((0..3).all(told), "not all ranks are told", &replayed)
    }

    /// Replays the take in `scratch` with a variable of the launcher's own set, which ranks inherit.
    fn replayed_in(&self, kit: &Kit, scratch: &Path, variable: &str, program: &str) -> Result<Outcome, String> {
        let mut command = kit.retake(scratch);
        command.arg("replay").arg(scratch.join("take")).arg("--");
        command.args([ALL[0].run, "-x", variable, "-np", "3", program]);
        run(&mut command, scratch, kit.limits)
    }

    fn told(&self) -> Said {
        for (name, words) in [("one_sided", "MPI_Fetch_and_op"), ("several_threads", "MPI_THREAD_MULTIPLE")] {
            let (kit, scratch) = self.begin(&format!("told_{name}"))?;
            let program = self.compiled(ALL[0], name)?;
            let args = ["-np", "3", &program].map(str::to_string);
            let recorded = kit.record(Path::new(ALL[0].run), &args, &scratch.join("take"))?;
            must(recorded.ended == 0 && recorded.stderr.contains(words), "it is not told", &recorded)?;
        }
        Ok(())
    }
}
