//! A pool whose workers steal: who has nothing to do asks another, who gives half of what it has. Member 1 begins with all
//! the work; member 0 counts what is done and ends it.
//!
//! `talk-pool [SIZE [ROUNDS]]`: so many members, and so many pieces of work for each worker on average.

mod crowd;

use crowd::Member;
use retake::Result;

fn main() {
    crowd::main("pool", |member| {
        member.meet()?;
        if member.number == 0 { counter(member) } else { worker(member) }
    });
}

fn counter(member: &mut Member) -> Result<()> {
    for _ in 0..member.rounds * (member.size - 1) {
        member.receive()?;
    }
    (1..member.size).try_for_each(|worker| member.send_if_there(worker, "end"))
}

fn worker(member: &mut Member) -> Result<()> {
    let mut work = if member.number == 1 { member.rounds * (member.size - 1) } else { 0 };
    let mut asked = false;
    loop {
        let message = if work > 0 { member.poll()? } else { wait(member, &mut asked)? };
        match message {
            None if work > 0 => {
                work -= 1;
                member.send(0, "done")?;
            }
            None => {}
            Some((_, word)) if word == "end" => return Ok(()),
            Some((thief, word)) if word == "give" => {
                let gives = work / 2;
                work -= gives;
                member.send_if_there(thief, &gives.to_string())?;
            }
            Some((_, word)) => {
                work += word.parse::<usize>().unwrap_or(0);
                asked = false;
            }
        }
    }
}

/// Asks somebody for work, once, and waits for whatever comes.
fn wait(member: &mut Member, asked: &mut bool) -> Result<Option<(usize, String)>> {
    let victim = member.somebody();
    if !*asked && victim != 0 {
        *asked = true;
        member.send_if_there(victim, "give")?;
    }
    if *asked { member.receive().map(Some) } else { member.poll() }
}
