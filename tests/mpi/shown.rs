//! What a person sees of a recorded job: its messages in words, and where two recordings part.

use crate::jobs::{Jobs, Said, must};
use crate::{ALL, Mpi};
use retake_testkit::{Kit, Outcome, run};
use std::path::Path;

impl Jobs {
    fn recorded(&self, kit: &Kit, mpi: Mpi, name: &str, ranks: &str, take: &Path) -> Result<Outcome, String> {
        let program = self.compiled(mpi, name)?;
        let recorded = kit.record(Path::new(mpi.run), &["-np", ranks, &program].map(str::to_string), take)?;
        must(recorded.ended == 0, "the recording failed", &recorded)?;
        Ok(recorded)
    }

    /// The order that the program printed, and the lines of `show`, `info` and `diff`, tell the same.
    pub fn shown(&self) -> Said {
        let (kit, scratch) = self.begin("shown")?;
        let (one, two) = (scratch.join("one"), scratch.join("two"));
        let told =
            |args: &[&str]| -> Result<Outcome, String> { run(kit.retake(&scratch).args(args), &scratch, kit.limits) };
        let text = |outcome: &Outcome| String::from_utf8_lossy(&outcome.stdout).into_owned();
        let first = self.recorded(&kit, ALL[0], "recv_any", "4", &one)?;
        let printed = text(&first);
        let sources: Vec<_> = printed.split(' ').next().unwrap_or("").chars().collect();

        let rich = told(&["show", "one", "--thread", "rank:0"])?;
        let shown = text(&rich);
        let lines = shown.lines().filter(|line| line.contains("receive message") && line.contains("MPI_COMM_WORLD"));
        let from = |line: &str| line.split("MPI_Recv from rank ").nth(1).and_then(|rest| rest.chars().next());
        let found: Vec<_> = lines.clone().filter_map(from).take(sources.len()).collect();
        let whole = lines.clone().all(|line| line.contains(", tag ") && line.contains(", 1 element"));
        must(sources.len() == 60 && found == sources && whole, "show tells another order", &rich)?;

        let light = told(&["show", "one", "--light"])?;
        let from = format!("receive 1 from anyone: MPI_Recv from rank {}, tag 0", sources[0]);
        let text_light = text(&light);
        must(text_light.contains(&from) || text_light.contains("receives 1 to"), "the tape tells no receive", &light)?;
        must(text_light.contains("4 ranks of Open MPI"), "the tape does not tell the job", &light)?;

        let info = told(&["info", "one"])?;
        must(text(&info).contains("150 receives from anyone"), "info counts no receives", &info)?;

        let same = told(&["diff", "one", "one"])?;
        must(same.ended == 0, "one take parts from itself", &same)?;
        // Two runs may come out alike, though hardly ever.
        let second = self.recorded(&kit, ALL[0], "recv_any", "4", &two)?;
        let parted = told(&["diff", "one", "two"])?;
        let words = ["part in thread rank:0 at receive ", "MPI_Recv from rank ", "event "];
        let fits = words.iter().all(|words| text(&parted).contains(words)) && parted.ended == 1;
        must(fits || second.stdout == first.stdout, "diff tells no receive", &parted)
    }

    /// Receives with requests, in communicators other than the world.
    pub fn shown_requests(&self) -> Said {
        for (name, ranks, words) in [
            ("testsome", "4", "got message            MPI_COMM_WORLD = MPI_Irecv from rank "),
            ("communicators", "6", "receive message        comm#1         = MPI_Recv from rank "),
        ] {
            let (kit, scratch) = self.begin(&format!("shown_{name}"))?;
            self.recorded(&kit, ALL[0], name, ranks, &scratch.join("take"))?;
            let shown = run(kit.retake(&scratch).args(["show", "take"]), &scratch, kit.limits)?;
            let text = String::from_utf8_lossy(&shown.stdout).into_owned();
            must(shown.ended == 0 && text.contains(words), "show does not tell it", &shown)?;
        }
        Ok(())
    }
}
