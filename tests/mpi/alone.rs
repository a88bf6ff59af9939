//! One rank alone: no launcher, no other ranks, everything that it received from the take.

use crate::jobs::{Jobs, Said, must};
use crate::{ALL, Mpi};
use retake_testkit::{Kit, Outcome, run};
use std::path::Path;

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
        let mut outputs = Vec::new();
        for rank in 0..4 {
            let mut command = kit.retake(scratch);
            command.args(["replay", "--check", "--only", &format!("rank:{rank}"), "take"]);
            // No launcher is to be had.
            let alone = run(command.env("PATH", "/nowhere"), scratch, kit.limits)?;
            must(alone.ended == 0, &format!("rank {rank} alone"), &alone)?;
            outputs.push(alone);
        }
        let (expected, found) = (lines(std::slice::from_ref(&recorded)), lines(&outputs));
        if expected == found { Ok(()) } else { Err(format!("recorded {expected:#?}\nalone {found:#?}")) }
    }

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
        must(refused.ended == 125 && refused.stderr.contains("retake record --full"), "a light take", &refused)?;
        let refused = retake(&kit, &scratch, &["replay", "--full", "light"])?;
        let told = refused.stderr.contains("light is a job of MPI") && refused.stderr.contains("retake record --full");
        must(refused.ended == 125 && told, "a light take is to be made a full one", &refused)
    }
}
