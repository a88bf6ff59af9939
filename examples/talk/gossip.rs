//! Gossip: everyone tells somebody, looks whether there is something to hear, and tells the next. At the end everyone says
//! goodbye to all, and waits until all have said it.
//!
//! `talk-gossip [SIZE [ROUNDS]]`: so many members, and so many messages from each.

mod crowd;

use retake::Result;

fn main() {
    crowd::main("gossip", part);
}

fn part(member: &mut crowd::Member) -> Result<()> {
    let mut leaving = 1;
    for round in 0..member.rounds {
        let somebody = member.somebody();
        member.send(somebody, &round.to_string())?;
        while let Some((_, word)) = member.poll()? {
            leaving += usize::from(word == "goodbye");
        }
    }
    let me = member.number;
    for other in (0..member.size).filter(|other| *other != me) {
        member.send(other, "goodbye")?;
    }
    while leaving < member.size {
        let (_, word) = member.receive()?;
        leaving += usize::from(word == "goodbye");
    }
    Ok(())
}
