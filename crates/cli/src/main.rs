//! `retake`: record one execution of a parallel program and run it again, the same, as often as you like.
//!
//! One file per command; what they share is the store, the take, the launch and the words. Nothing of retake's goes to
//! the standard output of a recorded or replayed program.

mod board;
mod check;
mod checkpoints;
mod deadlock;
mod demo;
mod develop;
mod diff;
mod doctor;
mod elf;
mod environment;
mod explore;
mod facts;
mod follow;
mod gdb;
mod hosts;
mod idle;
mod info;
mod launch;
mod launcher;
mod lines;
mod ls;
mod manual;
mod messages;
mod names;
mod optimize;
mod outside;
mod pack;
mod parts;
mod promote;
mod prune;
mod ranks;
mod reach;
mod record;
mod relay;
mod replay;
mod report;
mod rm;
mod running;
mod schedule;
mod session;
mod settle;
mod shim;
mod show;
mod status;
mod stop;
mod store;
mod streams;
mod symbols;
mod take;
mod talk;
mod tasks;
mod unwind;
mod wake;
mod words;

use clap::{Parser, Subcommand};
use facts::Ended;
use status::{Result, Status};

/// How retake ends.
pub enum Ending {
    /// With a status of its own.
    Status(Status),
    /// As the program ended.
    Like(Ended),
}

/// Record one execution of a parallel program and run it again, the same, as often as you like.
#[derive(Parser)]
#[command(name = "retake", version, max_term_width = 100, after_help = EXITS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXITS: &str = "\
record and replay end as the program ended. Statuses of retake's own:
  120 a replay diverged   121 a replay is stuck   122 ended in a deadlock, as asked
  123 a schedule cannot be followed
  125 retake failed       126 not executable      127 not found";

#[derive(Subcommand)]
enum Command {
    /// Run a program and record how it went
    Record(record::Args),
    /// Run a recorded execution again
    Replay(replay::Args),
    /// Run a program in the order that a schedule gives, one thread at a time
    Follow(follow::Args),
    /// Run a program again and again, in other orders each time, until one fails
    Explore(explore::Args),
    /// Find an order of threads in which the races of a take go as they went, for a replay that diverges
    Settle(settle::Args),
    /// Print the order of a take as a schedule
    Schedule(schedule::Args),
    /// Print a take as readable lines
    Show(show::Args),
    /// Find deadlocks, lost wake-ups and locks taken in different orders
    Check(check::Args),
    /// List takes
    Ls(ls::Args),
    /// Say what is known of a take
    Info(info::Args),
    /// Find where two takes part
    Diff(diff::Args),
    /// Remove takes
    Rm(rm::Args),
    /// Remove old takes, so that the store stays small
    Prune(prune::Args),
    /// Find the fewest receives that a take of the retake library's messages must know, and keep no more
    Optimize(optimize::Args),
    /// List the sleeping copies of participants that were recorded with --checkpoint-every, or end them
    Checkpoints(checkpoints::Args),
    /// Make one compressed file of a take
    Pack(pack::PackArgs),
    /// Make a take of a packed file
    Unpack(pack::UnpackArgs),
    /// Check whether programs can be recorded here
    Doctor(doctor::Args),
    /// Record and replay a program shipped inside, and explain what that shows
    Demo,
    /// Print completions for a shell
    Completions(manual::CompletionsArgs),
    /// Print the manual page
    Man(manual::ManArgs),
    #[command(name = demo::PROGRAM, hide = true)]
    DemoProgram,
    #[command(name = hosts::PROGRAM, hide = true)]
    ReachHost(hosts::Args),
    #[command(name = gdb::PROGRAM, hide = true)]
    GdbProgram(gdb::Args),
}

fn run(cli: Cli) -> Result<Ending> {
    if !matches!(cli.command, Command::Record(_) | Command::Replay(_) | Command::Follow(_)) {
        // SAFETY: as any command whose output may be piped into `head`.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }
    match cli.command {
        Command::Record(args) => record::main(args),
        Command::Replay(args) => replay::main(args),
        Command::Follow(args) => follow::main(args),
        Command::Explore(args) => explore::main(args),
        Command::Settle(args) => settle::main(args),
        Command::Schedule(args) => schedule::main(args),
        Command::Show(args) => show::main(args),
        Command::Check(args) => check::main(args),
        Command::Ls(args) => ls::main(args),
        Command::Info(args) => info::main(args),
        Command::Diff(args) => diff::main(args),
        Command::Rm(args) => rm::main(args),
        Command::Optimize(args) => optimize::main(args),
        Command::Checkpoints(args) => checkpoints::main(args),
        Command::Prune(args) => prune::main(args),
        Command::Pack(args) => pack::pack(args),
        Command::Unpack(args) => pack::unpack(args),
        Command::Doctor(args) => doctor::main(args),
        Command::Demo => demo::main(),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::man(args),
        Command::ReachHost(args) => hosts::main(args),
        Command::GdbProgram(args) => gdb::program(args),
        Command::DemoProgram => {
            demo::program::main();
            Ok(Ending::Status(Status::Fine))
        }
    }
}

fn main() {
    launch::survive_limits();
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        if !error.use_stderr() {
            let _ = error.print();
            std::process::exit(Status::Fine as i32)
        }
        let text = error.render().to_string();
        eprint!("retake: {}", text.strip_prefix("error: ").unwrap_or(&text));
        std::process::exit(Status::Failed as i32)
    });
    match run(cli) {
        Ok(Ending::Status(status)) => std::process::exit(status as i32),
        Ok(Ending::Like(ended)) => launch::end_as(ended),
        Err(failure) => {
            eprintln!("{failure}");
            std::process::exit(failure.status as i32)
        }
    }
}
