//! A task farm: member 0 gives each worker a task, and another whenever a result comes. Who gets which is a race.
//!
//! `talk-farm [SIZE [ROUNDS]]`: so many members, and so many tasks for each worker on average.

mod crowd;

use crowd::Member;
use retake::Result;

fn main() {
    crowd::main("farm", |member| if member.number == 0 { master(member) } else { worker(member) });
}

fn master(member: &mut Member) -> Result<()> {
    let workers = member.size - 1;
    let mut tasks = (0..member.rounds * workers).map(|task| task.to_string());
    for worker in 1..=workers {
        let task = tasks.next().unwrap_or_else(|| "end".into());
        member.send(worker, &task)?;
    }
    for _ in 0..member.rounds * workers {
        let (worker, _) = member.receive()?;
        let task = tasks.next().unwrap_or_else(|| "end".into());
        member.send(worker, &task)?;
    }
    Ok(())
}

fn worker(member: &mut Member) -> Result<()> {
    loop {
        let (_, task) = member.receive()?;
        let Ok(task) = task.parse::<u64>() else { return Ok(()) };
        member.send(0, &(task * task).to_string())?;
    }
}
