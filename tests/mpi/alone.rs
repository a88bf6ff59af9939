//! One rank alone: no launcher, no other ranks, everything that it received from the take.

use crate::jobs::{Jobs, Said, must};
use crate::{ALL, Mpi};
use retake_testkit::{Kit, Outcome, run};
use std::path::Path;
use std::slice::from_ref;

/// Runs `retake` in `scratch`.
fn retake(kit: &Kit, scratch: &Path, args: &[&str]) -> Result<Outcome, String> {
    run(kit.retake(scratch).args(args), scratch, kit.limits)
}

/// Sorted, since ranks print in any order.
fn lines(outputs: &[Outcome]) -> Vec<String> {
    let texts = outputs.iter().map(|outcome| String::from_utf8_lossy(&outcome.stdout).into_owned());
    let mut lines: Vec<_> = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.sort();
    lines
}

impl Jobs {
    /// Records a job of four ranks with its contents, and replays each of them alone.
    fn each_alone(&self, kit: &Kit, scratch: &Path, mpi: Mpi, command: &[&str]) -> Said {
        let record = [&["record", "-q", "--full", "-o", "take", "--", mpi.run, "-np", "4"], command].concat();
        let recorded = retake(kit, scratch, &record)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        replayed_alone(kit, scratch, &recorded)
    }

    /// The same of a job that was recorded without its contents: they are kept while it is replayed. The take that is made
    /// by that replays as a whole, too.
    fn each_alone_later(&self, kit: &Kit, scratch: &Path, mpi: Mpi, command: &[&str]) -> Said {
        let record = [&["record", "-q", "-o", "light", "--", mpi.run, "-np", "4"], command].concat();
        let recorded = retake(kit, scratch, &record)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        for take in ["take", "again"] {
            let replayed = retake(kit, scratch, &["replay", "--full", "light", "-o", take])?;
            let fits = replayed.ended == 0 && replayed.stderr.contains("next: retake replay --only rank:0");
            must(fits && lines(from_ref(&replayed)) == lines(from_ref(&recorded)), "it is not made full", &replayed)?;
        }
        let whole = retake(kit, scratch, &["replay", "take"])?;
        let same = lines(std::slice::from_ref(&whole)) == lines(std::slice::from_ref(&recorded));
        must(whole.ended == 0 && same, "the full take is another", &whole)?;
        let refused = retake(kit, scratch, &["replay", "--full", "take"])?;
        must(refused.ended == 125 && refused.stderr.contains("holds the contents already"), "full twice", &refused)?;
        replayed_alone(kit, scratch, &recorded)
    }

    pub fn alone_later(&self, mpi: Mpi) -> Said {
        mpi.must_be_there()?;
        let few = ["alone", "testsome", "get_status"];
        let many =
            ["persistent", "mprobe", "probe", "sendrecv_any", "waitsome", "irecv_waitall", "communicators", "cancel"];
        let all = if mpi.part < 10 { &many[..] } else { &[] };
        for name in few.iter().chain(all) {
            let (mut kit, scratch) = self.begin(&format!("later_{name}_{}", mpi.name))?;
            mpi.settle(&mut kit);
            self.each_alone_later(&kit, &scratch, mpi, &[&self.compiled(mpi, name)?])
                .map_err(|why| format!("{name}: {why}"))?;
        }
        Ok(())
    }

    /// A rank that was killed, and what cannot be alone.
    pub fn alone_later_or_not(&self) -> Said {
        let (kit, scratch) = self.begin("later_or_not")?;
        let program = self.compiled(ALL[0], "killed")?;
        let recorded =
            retake(&kit, &scratch, &["record", "-q", "-o", "light", "--", ALL[0].run, "-np", "4", &program])?;
        must(recorded.ended == 137, "the recording failed", &recorded)?;
        let full = retake(&kit, &scratch, &["replay", "--full", "light", "-o", "take"])?;
        must(full.ended == 137, "it is not made full", &full)?;
        let alone = retake(&kit, &scratch, &["replay", "--only", "rank:0", "take"])?;
        must(lines(from_ref(&alone)) == lines(&[recorded]), "the killed rank's partner alone", &alone)?;
        let program = self.compiled(ALL[0], "one_sided")?;
        retake(&kit, &scratch, &["record", "-q", "-o", "bound", "--", ALL[0].run, "-np", "3", &program])?;
        let told = retake(&kit, &scratch, &["replay", "--full", "bound", "-o", "bound_full"])?;
        let words = "rank:0, rank:1, rank:2 called MPI_Fetch_and_op, and cannot be replayed alone";
        must(told.stderr.contains(words), "it is not told", &told)?;
        let refused = retake(&kit, &scratch, &["replay", "--only", "rank:1", "bound_full"])?;
        must(refused.ended == 125 && refused.stderr.contains("it called MPI_Fetch_and_op"), "not refused", &refused)?;
        retake(&kit, &scratch, &["record", "-q", "-o", "nobody", "--", "/bin/true"])?;
        let refused = retake(&kit, &scratch, &["replay", "--full", "nobody"])?;
        must(refused.ended == 125 && refused.stderr.contains("nobody who could be alone"), "not refused", &refused)
    }
}

/// Replays each of four ranks alone.
fn replayed_alone(kit: &Kit, scratch: &Path, recorded: &Outcome) -> Said {
    let mut outputs = Vec::new();
    for rank in 0..4 {
        let mut command = kit.retake(scratch);
        command.args(["replay", "--check", "--only", &format!("rank:{rank}"), "take"]);
        // No launcher is to be had.
        let alone = run(command.env("PATH", "/nowhere"), scratch, kit.limits)?;
        must(alone.ended == 0, &format!("rank {rank} alone"), &alone)?;
        outputs.push(alone);
    }
    let (expected, found) = (lines(std::slice::from_ref(recorded)), lines(&outputs));
    if expected == found { Ok(()) } else { Err(format!("recorded {expected:#?}\nalone {found:#?}")) }
}

impl Jobs {
    pub fn alone(&self, mpi: Mpi) -> Said {
        mpi.must_be_there()?;
        for name in ["alone", "testsome"] {
            let (mut kit, scratch) = self.begin(&format!("{name}_{}", mpi.name))?;
            mpi.settle(&mut kit);
            self.each_alone(&kit, &scratch, mpi, &[&self.compiled(mpi, name)?])?;
        }
        Ok(())
    }

    pub fn alone_in_other_languages(&self) -> Said {
        let (kit, scratch) = self.begin("alone_fortran")?;
        let program = self.compiled_fortran(ALL[1], "any08", "alone_fortran")?;
        self.each_alone(&kit, &scratch, ALL[1], &[&program])?;
        let (kit, scratch) = self.begin("alone_python")?;
        let script = self.programs.join("any.py");
        self.each_alone(&kit, &scratch, ALL[0], &["/usr/bin/python3", &script.to_string_lossy()])
    }

    /// A changed program sends something else.
    pub fn alone_differs(&self) -> Said {
        let (kit, scratch) = self.begin("alone_differs")?;
        let program = self.compiled(ALL[0], "alone")?;
        let record = ["record", "-q", "--full", "-o", "take", "--", ALL[0].run, "-np", "4", &program];
        let recorded = retake(&kit, &scratch, &record)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let only = ["replay", "--only", "rank:1", "take", "--", &program, "x"];
        let other = retake(&kit, &scratch, &only)?;
        let words = "rank:1 sends other bytes than it did before event";
        let told = other.stderr.contains(words) && other.stderr.contains("MPI_Isend to rank 0, tag 9, 16 bytes");
        must(other.ended == 0 && told, "other bytes", &other)?;
        let fewer = retake(&kit, &scratch, &[&only[..], &["y"]].concat())?;
        let words = "recorded MPI_Isend to rank 0, tag 9, 16 bytes; came MPI_Isend to rank 0, tag 9, 12 bytes";
        must(fewer.ended == 120 && fewer.stderr.contains(words), "fewer bytes", &fewer)
    }

    pub fn alone_under_gdb(&self) -> Said {
        let (kit, scratch) = self.begin("alone_gdb")?;
        let program = self.compiled(ALL[0], "alone")?;
        let record = ["record", "-q", "--full", "-o", "take", "--", ALL[0].run, "-np", "4", &program];
        let recorded = retake(&kit, &scratch, &record)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let debug = ["replay", "--only", "rank:2", "take", "--gdb", "--gdb-arg=-batch"];
        let steps = ["break MPI_Mrecv", "run", "up", "print me", "print ranks", "print count", "continue"];
        let steps = steps.map(|step| format!("--gdb-arg=-ex={step}"));
        let debugged =
            retake(&kit, &scratch, &debug.into_iter().chain(steps.iter().map(String::as_str)).collect::<Vec<_>>())?;
        let text = String::from_utf8_lossy(&debugged.stdout).into_owned();
        let fits = ["$1 = 2", "$2 = 4", "$3 = 4", "rank 2 of 4: "].iter().all(|words| text.contains(words));
        must(fits, "the debugger shows something else", &debugged)
    }

    pub fn not_alone(&self) -> Said {
        let (kit, scratch) = self.begin("not_alone")?;
        let several = "MPI in several threads at once (MPI_THREAD_MULTIPLE)";
        let all = "rank:0, rank:1, rank:2";
        for (name, callers, call) in [("one_sided", all, "MPI_Fetch_and_op"), ("several_threads", "rank:0", several)] {
            let program = self.compiled(ALL[0], name)?;
            let record = ["record", "--full", "-o", name, "--", ALL[0].run, "-np", "3", &program];
            let recorded = retake(&kit, &scratch, &record)?;
            must(recorded.stderr.contains(&format!("{callers} called {call}")), "it is not told", &recorded)?;
            let refused = retake(&kit, &scratch, &["replay", "--only", "rank:0", name])?;
            let words = format!("rank:0 cannot be replayed alone: it called {call}");
            must(refused.ended == 125 && refused.stderr.contains(&words), "it is not refused", &refused)?;
        }
        let light = ["record", "-q", "-o", "light", "--", ALL[0].run, "-np", "3", &self.compiled(ALL[0], "recv_any")?];
        retake(&kit, &scratch, &light)?;
        let refused = retake(&kit, &scratch, &["replay", "--only", "rank:1", "light"])?;
        let told = refused.stderr.contains("retake replay --full") && refused.stderr.contains("retake record --full");
        must(refused.ended == 125 && told, "a light take", &refused)
    }
}
