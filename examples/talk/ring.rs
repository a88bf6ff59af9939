//! A ring: two tokens go round and never race, as everyone hears from one neighbour only.
//!
//! `talk-ring [SIZE [ROUNDS]]`: so many members, and so often the first token goes round.

mod crowd;

use retake::Result;

fn main() {
    crowd::main("ring", part);
}

fn part(member: &mut crowd::Member) -> Result<()> {
    let next = (member.number + 1) % member.size;
    if member.number == 0 {
        member.send(next, "one")?;
        member.send(next, "two")?;
    }
    let mut rounds = 0;
    loop {
        let (_, token) = member.receive()?;
        if token == "end" {
            // Member 0 has sent it; when it is back, all have had it.
            return if member.number == 0 { Ok(()) } else { member.send(next, "end") };
        }
        rounds += usize::from(member.number == 0 && token == "one");
        if rounds < member.rounds || member.number != 0 {
            member.send(next, &token)?;
        } else if token == "one" {
            member.send(next, "end")?;
        }
    }
}
