//! Tasks on hosts that do not have the take's directory: recorded there, brought back by PVM's own remote shell, replayed here.

use crate::{Place, fixture, must};
use retake_testkit::{Limits, Outcome, run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Three hosts that are this machine under other names. Where the takes and the cache lie, each has a file system of its own;
/// the remote shell hands nothing on.
struct Hosts {
    place: Place,
    scratch: PathBuf,
}

impl Hosts {
    fn new(test: &str) -> Result<Hosts, String> {
        let place = Place::new()?;
        let hosts = Hosts { scratch: place.kit().scratch(test)?, place };
        let (dir, here) = (hosts.place.dir.display(), hosts.scratch.display());
        hosts.write("hosts", "127.0.0.1 localhost\n127.0.1.1 nodea\n127.0.1.2 nodeb\n127.0.1.3 nodec\n")?;
        let host =
            format!("hostname $1; mount -t tmpfs none {here}/own; echo $$ >new.$1; mv new.$1 pid.$1; exec sleep 300\n");
        hosts.write("host", &host)?;
        // When nodeb is lost, it no longer answers to those who want its tapes.
        let remote = format!(
            "#!/bin/sh\nwhile :; do case $1 in -l) shift 2;; -n) shift;; *) break;; esac; done\nhost=$1; shift\n\
             case \"$host $*\" in \"nodeb cd \"*) [ ! -e {dir}/lost ] || exit 255;; esac\n\
             mkdir -p {dir}/$host\n\
             exec nsenter -m -u -t $(cat {dir}/pid.$host) env -i HOME=/ PATH=/usr/bin:/bin PVM_ROOT=/usr/lib/pvm3 \
             PVM_TMP={dir}/$host PVM_PATH=/usr/bin PVM_ALLOW_ROOT=1 sh -c \"cd /; $*\"\n"
        );
        hosts.write("rsh", &remote)?;
        Ok(hosts)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.place.dir.join(name);
        fs::write(&path, text).map_err(|e| e.to_string())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|e| e.to_string())
    }

    /// Runs `steps` with three daemons. `$retake` and `$program` stand for themselves.
    fn run(&self, program: &str, steps: &str) -> Result<Outcome, String> {
        let kit = self.place.kit();
        let program = kit.compile(&fixture(program)?)?;
        let script = format!(
            "set -e\nretake={retake} program={program} dir={dir}\nmount --bind $dir/hosts /etc/hosts\nhostname nodea\n\
             mkdir own\nfor host in nodeb nodec; do (cd $dir; unshare -m -u sh host $host) & done\n\
             trap 'echo halt | pvm >/dev/null 2>&1 || true; kill $(cat $dir/pid.nodeb $dir/pid.nodec)' EXIT\n\
             until [ -e $dir/pid.nodeb ] && [ -e $dir/pid.nodec ]; do sleep 0.1; done\n\
             pvmd -nnodea >/dev/null 2>&1 &\n\
             for i in $(seq 500); do [ -s $dir/pvmd.0 ] && break; sleep 0.02; done\n\
             printf 'add nodeb nodec\\nconf\\nquit\\n' | pvm >$dir/conf\ngrep -q nodec $dir/conf\n{steps}",
            retake = env!("CARGO_BIN_EXE_retake"),
            program = program.display(),
            dir = self.place.dir.display(),
        );
        self.write("script", &script)?;
        let mut command = Command::new("unshare");
        command.args(["-r", "-m", "-u", "sh"]).arg(self.place.dir.join("script")).current_dir(&self.scratch);
        command
            .envs(self.place.variables())
            .env("PVM_RSH", self.place.dir.join("rsh"))
            .env("PVM_DPATH", "/usr/bin/pvmd");
        command
            .env("XDG_STATE_HOME", self.scratch.join("own/state"))
            .env("XDG_CACHE_HOME", self.scratch.join("own/cache"));
        // Three daemons, and twenty replays.
        run(&mut command, &self.scratch, Limits { wait_ms_max: kit.limits.wait_ms_max * 4 })
    }
}

/// Six tasks on three hosts come back on this one. Then a host is lost.
pub fn apart() -> Result<(), String> {
    let hosts = Hosts::new("hosts-apart")?;
    let steps = "$retake record -o own/take -- $program >recorded\nls own/take\n\
                 for i in $(seq 20); do $retake replay own/take >replayed; cmp recorded replayed; done\n\
                 $dir/rsh nodeb ls $PWD/own\n\
                 >$dir/lost\n$retake record -o own/second -- $program >/dev/null\n";
    let outcome = hosts.run("hosts_order", steps)?;
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let tasks: String = (1..=6).map(|task| format!("0.1.{task}.tape\n")).collect();
    // The other hosts keep the library only.
    let whole = format!("{tasks}0.tape\ntake.json\ncache\n");
    must(outcome.ended == 0 && text == whole, &format!("the tapes were not brought together:\n{text}"), &outcome)?;
    let lost = outcome.stderr.contains("to nodeb ended with exit status: 255; what was recorded there is missing");
    let told = outcome.stderr.contains("2 of 6 tasks left no tape here (0.1.");
    must(lost && told, "the lost host is not told", &outcome)
}

/// Hosts that cannot be given what their tasks need; and what is not in order between hosts that share nothing.
pub fn apart_is_told() -> Result<(), String> {
    let hosts = Hosts::new("hosts-apart-told")?;
    let steps = "PVM_RSH=/bin/false $retake record -o own/take -- $program\nls own/take\n";
    let outcome = hosts.run("hosts_order", steps)?;
    let given = outcome.stderr.contains("nodeb does not have") && outcome.stderr.contains("nodec does not have");
    let told = outcome.stderr.contains("4 of 6 tasks left no tape here (0.1.");
    must(outcome.ended == 0 && given && told, "the tasks are not told", &outcome)?;
    let hosts = Hosts::new("hosts-apart-groups")?;
    let outcome = hosts.run("group_join", "$retake record -o own/take -- $program\n")?;
    let told = "groups or mailboxes on a host that does not have the take (their order), which is not replayed";
    must(outcome.ended == 0 && outcome.stderr.contains(told), "groups are not told", &outcome)
}
