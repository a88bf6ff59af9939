//! One rank of a job under the real gdb, while the others run on.

use crate::ALL;
use crate::jobs::{Jobs, Said, must};
use retake_testkit::run;
use std::fs;
use std::path::Path;

impl Jobs {
    /// Rank 0 stops before an event, goes back, sees its messages as they came, and the job ends as it was recorded.
    pub fn debugged(&self) -> Said {
        let (kit, scratch) = self.begin("debugged")?;
        let program = self.compiled(ALL[0], "recv_any")?;
        let recorded =
            kit.record(Path::new(ALL[0].run), &["-np", "4", &program].map(str::to_string), &scratch.join("take"))?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        // A command that fails would end the script, and so the replay.
        let script = "retake-goto rank:0:20\ninfo retake\nretake-back 5\nprint i\n\
                      break see\ncontinue\nprint source\ncontinue\nprint source\n\
                      python\ntry: gdb.execute('retake-goto rank:2:1')\nexcept gdb.error as e: print(e)\nend\n\
                      delete\ncontinue\n";
        fs::write(scratch.join("script.gdb"), script).map_err(|e| e.to_string())?;
        let mut command = kit.retake(&scratch);
        command.args(["replay", "take", "--gdb", "rank:0"]);
        command.args(["--gdb-arg=-nx", "--gdb-arg=-batch", "--gdb-arg=-x", "--gdb-arg=script.gdb"]);
        let debugged = run(&mut command, &scratch, kit.limits)?;
        let printed = String::from_utf8_lossy(&debugged.stdout).into_owned();
        let order = String::from_utf8_lossy(&recorded.stdout).into_owned();
        // Event 1 is the start of MPI, so that event 15 is the receive of message 14, counted from 1.
        let came = &order[13..15];
        let values: String = printed
            .lines()
            .filter_map(|line| line.strip_prefix('$').and_then(|rest| rest.split(" = ").nth(1)))
            .map(|value| if value == "13" { "i" } else { value })
            .collect();
        let words = [
            "thread rank:0 stands before event 20 of 151: receive message",
            "thread rank:0 stands before event 15 of 151: receive message",
        ];
        must(words.iter().all(|words| printed.contains(words)), "no such stops", &debugged)?;
        must(["rank:1", "rank:2", "rank:3"].iter().all(|rank| printed.contains(rank)), "no other ranks", &debugged)?;
        must(values == format!("i{came}"), &format!("other messages than {came}"), &debugged)?;
        let elsewhere = "thread rank:2 is in process rank:2, which this gdb does not debug";
        must(
            printed.contains(elsewhere) || debugged.stderr.contains(elsewhere),
            "another rank is not told",
            &debugged,
        )?;
        must(printed.contains(order.trim_end()), "the job did not end as it was recorded", &debugged)?;
        must(!debugged.stderr.contains("non-zero exit code"), "the other ranks were ended", &debugged)?;

        let mut command = kit.retake(&scratch);
        let nobody = run(command.args(["replay", "take", "--gdb"]), &scratch, kit.limits)?;
        let told = nobody.ended == 125 && nobody.stderr.contains("--gdb rank:0");
        must(told, "no rank is proposed", &nobody)
    }

    /// Rank 0 is held inside the library, where it waits for a message, and the others wait for it, far longer than a replay
    /// may stand still: nobody calls it stuck.
    pub fn held_for_long(&self) -> Said {
        let (kit, scratch) = self.begin("held")?;
        let program = self.compiled(ALL[0], "recv_any")?;
        let recorded =
            kit.record(Path::new(ALL[0].run), &["-np", "4", &program].map(str::to_string), &scratch.join("take"))?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        let script = "retake-goto rank:0:20\nbreak ompi_request_default_test\ncontinue\nbacktrace 1\nshell sleep 6\n\
                      delete\ncontinue\n";
        fs::write(scratch.join("script.gdb"), script).map_err(|e| e.to_string())?;
        let mut command = kit.retake(&scratch);
        command.args(["replay", "--patience", "1", "take", "--gdb", "rank:0"]);
        command.args(["--gdb-arg=-nx", "--gdb-arg=-batch", "--gdb-arg=-x", "--gdb-arg=script.gdb"]);
        let debugged = run(&mut command, &scratch, kit.limits)?;
        let printed = String::from_utf8_lossy(&debugged.stdout).into_owned();
        must(printed.contains("#0 ") && printed.contains("ompi_request_default_test"), "it was not held", &debugged)?;
        let order = String::from_utf8_lossy(&recorded.stdout).into_owned();
        must(printed.contains(order.trim_end()), "the job did not end as it was recorded", &debugged)
    }
}
