//! Ranks that come to a job by other ways than a launcher on this host: started by the job itself, or by a remote shell.

use crate::jobs::{Jobs, Said, must};
use crate::{ALL, FIVES, Mpi};
use retake_testkit::{Kit, Outcome, run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file that can be executed.
fn write(folder: &Path, name: &str, text: &str) -> Said {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|e| e.to_string())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|e| e.to_string())
}

/// Runs a script in `folder`, with mounts and a host name of its own, and with places in the folder for those variables.
fn apart(kit: &Kit, folder: &Path, script: &str, places: &[(&str, &str)]) -> Result<Outcome, String> {
    write(folder, "script", script)?;
    let mut command = Command::new("unshare");
    command.args(["-r", "-m", "-u", "sh"]).arg(folder.join("script")).current_dir(folder);
    command.envs(kit.environment.iter().cloned()).envs(places.iter().map(|(name, at)| (name, folder.join(at))));
    run(&mut command, folder, kit.limits)
}

impl Jobs {
    /// Each rank that a job starts has its name, and runs alone. That the whole job comes back is shown by the fixture.
    pub fn spawned(&self, mpi: Mpi) -> Said {
        let (kit, scratch, program) = self.started_by(mpi, "spawned")?;
        let retake = |args: &[&str]| run(kit.retake(&scratch).args(args), &scratch, kit.limits);
        let recorded = retake(&["record", "--full", "-o", "take", "--", mpi.run, "-np", "2", &program])?;
        let is_told = recorded.stderr.contains("not replayed");
        must(recorded.ended == 0 && !recorded.stdout.is_empty() && !is_told, "the recording failed", &recorded)?;
        let started = ["rank:0.1.rank:0", "rank:0.1.rank:1", "rank:1.2.rank:0", "rank:1.2.rank:1"];
        for name in started.into_iter().chain(["rank:0", "rank:1"]) {
            let alone = retake(&["replay", "--check", "--only", name, "take"])?;
            let expected: &[u8] = if name == "rank:0" { &recorded.stdout } else { b"" };
            must(alone.ended == 0 && alone.stdout == expected, &format!("{name} alone"), &alone)?;
        }
        Ok(())
    }

    /// Hydra would look there for what names the ranks: they run without a name, and that is told.
    pub fn spawned_from_a_path(&self) -> Said {
        let mpi = FIVES[1];
        let (kit, scratch, program) = self.started_by(mpi, "spawned_from_a_path")?;
        fs::copy(&program, scratch.join("spawn")).map_err(|e| e.to_string())?;
        let args = ["-np", "2", &program, &scratch.to_string_lossy()].map(str::to_string);
        let recorded = kit.record(Path::new(mpi.run), &args, &scratch.join("take"))?;
        let words = "called MPI_Comm_spawn with `path` in its info, which is not replayed";
        must(recorded.ended == 0 && recorded.stderr.contains(words), "it is not told", &recorded)
    }

    /// A folder for a program that starts ranks.
    fn started_by(&self, mpi: Mpi, name: &str) -> Result<(Kit, PathBuf, String), String> {
        mpi.must_be_there()?;
        let (mut kit, scratch) = self.begin(&format!("{name}_{}", mpi.name))?;
        mpi.settle(&mut kit);
        mpi.with_tcp(&mut kit);
        Ok((kit, scratch, self.compiled(mpi, "spawn")?))
    }

    /// A folder with the names of three hosts, and a program to run on two of them.
    fn with_hosts(&self, mpi: Mpi, name: &str) -> Result<(Kit, PathBuf, String), String> {
        mpi.must_be_there()?;
        let (mut kit, scratch) = self.begin(&format!("{name}_{}", mpi.name))?;
        mpi.settle(&mut kit);
        mpi.with_tcp(&mut kit);
        write(&scratch, "hosts", "127.0.0.1 localhost\n127.0.1.1 here\n127.0.1.2 nodea\n127.0.1.3 nodeb\n")?;
        Ok((kit, scratch, self.compiled(mpi, "recv_any")?))
    }

    /// Two hosts that are this machine under other names, reached by a remote shell that hands no variable on. Then one of
    /// them does not see the take's directory.
    pub fn two_hosts(&self) -> Said {
        let (kit, scratch, program) = self.with_hosts(ALL[0], "two_hosts")?;
        let here = scratch.display();
        let remote = format!(
            "#!/bin/sh\nhost=$1; shift; cd /\n\
             exec env -i HOME=/ PATH=/usr/bin:/bin OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
             unshare -m -u sh -c \"hostname $host; \
             [ $host = nodea ] || [ ! -d {here}/lost ] || mount -t tmpfs none {here}/lost; $*\"\n"
        );
        write(&scratch, "rsh", &remote)?;
        let (retake, run_by) = (env!("CARGO_BIN_EXE_retake"), ALL[0].run);
        let job = format!(
            "{run_by} -mca plm_rsh_agent {here}/rsh -mca plm_rsh_no_tree_spawn 1 --host nodea:2,nodeb:2 -np 4 {program}"
        );
        let script = format!(
            "set -e\nmount --bind {here}/hosts /etc/hosts\n\
             {retake} record -o take -- {job} >recorded\n\
             for i in 1 2; do {retake} replay take >replayed; cmp recorded replayed; done\n\
             ls take\n{retake} record -o lost -- {job} >/dev/null\nls lost\n"
        );
        let outcome = apart(&kit, &scratch, &script, &[("XDG_STATE_HOME", "state")])?;
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let whole = outcome.ended == 0 && text.matches("rank:3.tape").count() == 1;
        must(whole, "not the same on two hosts", &outcome)?;
        let told = outcome.stderr.contains("2 of 4 ranks of Open MPI left no tape here (2, 3)");
        must(told, "the lost host is not told", &outcome)
    }

    /// Two hosts with file systems of their own: their tapes are brought back, and the take is replayed here. Then one of
    /// them is lost.
    pub fn hosts_apart(&self, mpi: Mpi) -> Said {
        let steps = "$retake record -o own/take -- $job >recorded\nls own/take\n\
                     for i in 1 2; do $retake replay own/take >replayed; cmp recorded replayed; done\n\
                     ./rsh nodeb ls $PWD/own\n\
                     echo 'case $1 in cd*) exit 255;; esac' >lost\n$retake record -o own/second -- $job >/dev/null\n";
        let outcome = self.with_hosts_apart(mpi, "hosts_apart", steps)?;
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let whole = "rank:0.tape\nrank:1.tape\nrank:2.tape\nrank:3.tape\ntake.json\n";
        must(outcome.ended == 0 && text == format!("{whole}cache\n"), "the tapes were not brought together", &outcome)?;
        let library = if mpi.name.contains("openmpi") { "Open MPI" } else { "MPICH" };
        let lost = outcome.stderr.contains("to nodeb ended with exit status: 255; what was recorded there is missing");
        let told = outcome.stderr.contains(&format!("2 of 4 ranks of {library} left no tape here (2, 3)"));
        must(lost && told, "the lost host is not told", &outcome)
    }

    /// A remote shell that does nothing any more when tapes are wanted, and one that asks for a password on the terminal that
    /// there is: both are given up, the job ends as it ended, and what others recorded is kept.
    pub fn hosts_that_do_not_answer(&self) -> Said {
        let steps = "echo 'case $1 in cd*) sleep 300;; esac' >lost\n\
                     $retake record --patience 3 -o own/first -- $job >/dev/null\nls own/first\n\
                     echo 'exec </dev/tty || exit 255; read word; exit 255' >lost\n\
                     mkfifo never; exec 9<>never\n\
                     script -qec \"$retake record --patience 600 -o own/second -- $job\" /dev/null <&9 >&2\nls own/second\n";
        let outcome = self.with_hosts_apart(ALL[0], "hosts_that_do_not_answer", steps)?;
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let others = "rank:0.tape\nrank:1.tape\ntake.json\n".repeat(2);
        must(outcome.ended == 0 && text == others, "what others recorded is not kept", &outcome)?;
        let hangs = "rsh to nodeb did nothing for 3 seconds; what was recorded there is missing";
        let next = "rsh nodeb true, which must not ask for anything";
        let told = outcome.stderr.contains(hangs) && outcome.stderr.contains(next);
        must(told, "a shell that does nothing is not told", &outcome)?;
        let told = outcome.stderr.contains("own/second, and cannot be given it: ");
        must(told, "a shell that asks is not told", &outcome)
    }

    /// Runs `steps` with two hosts that have file systems of their own. `$retake` and `$job` stand for themselves, a file
    /// `lost` for what nodeb does instead when we want something of it ourselves.
    fn with_hosts_apart(&self, mpi: Mpi, name: &str, steps: &str) -> Result<Outcome, String> {
        let (mut kit, scratch, program) = self.with_hosts(mpi, name)?;
        // Two ranks on each.
        kit.environment.retain(|(name, _)| !name.ends_with("mapping_policy"));
        let here = scratch.display();
        let host =
            format!("hostname $1; mount -t tmpfs none {here}/own; echo $$ >new.$1; mv new.$1 pid.$1; exec sleep 300\n");
        write(&scratch, "host", &host)?;
        let remote = format!(
            "#!/bin/sh\n[ \"$1\" != -x ] || shift\nhost=$1; shift\n\
             case \"$host $1\" in \"nodeb cd \"*|\"nodeb cat \"*) [ ! -e {here}/lost ] || . {here}/lost;; esac\n\
             exec nsenter -m -u -t $(cat {here}/pid.$host) env -i HOME=/ PATH=/usr/bin:/bin OMPI_ALLOW_RUN_AS_ROOT=1 \
             OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c \"cd /; $*\"\n"
        );
        write(&scratch, "rsh", &remote)?;
        let (retake, run_by) = (env!("CARGO_BIN_EXE_retake"), mpi.run);
        let reach = match mpi.name {
            "mpich" | "mpich5" => format!("-launcher-exec {here}/rsh -hosts"),
            _ => format!("--mca plm_rsh_agent {here}/rsh --host"),
        };
        let script = format!(
            "set -e\nretake={retake}\njob='{run_by} {reach} nodea:2,nodeb:2 -np 4 {program}'\nmount --bind {here}/hosts /etc/hosts\nhostname here\nmkdir own\n\
             for host in nodea nodeb; do unshare -m -u sh host $host & done\n\
             trap 'kill $(cat pid.nodea pid.nodeb)' EXIT\n\
             until [ -e pid.nodea ] && [ -e pid.nodeb ]; do sleep 0.1; done\n{steps}"
        );
        let places = [("XDG_STATE_HOME", "own/state"), ("XDG_CACHE_HOME", "own/cache")];
        apart(&kit, &scratch, &script, &places)
    }
}
