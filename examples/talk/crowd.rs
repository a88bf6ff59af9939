//! A crowd of participants, each a process of its own: what the four examples beside this file have in common.
//!
//! The program starts itself once for each participant, and prints what they say at their ends, in the order of their
//! numbers. Whatever differs from run to run comes from the order in which messages arrive.

#![allow(dead_code, reason = "each example uses a part of it")]

use retake::{Error, Message, Participant, Partner, Result};
use std::process::{Command, Stdio};
use std::time::Duration;

/// One of the crowd.
pub struct Member {
    pub me: Participant,
    /// From 0 to `size` - 1.
    pub number: usize,
    pub size: usize,
    pub rounds: usize,
    partners: Vec<Option<Partner>>,
    /// Of all that was received so far, and of its order.
    digest: u64,
    received: u64,
    random: u64,
}

/// Runs the crowd: `NAME [SIZE [ROUNDS]]`.
pub fn main(name: &str, part: fn(&mut Member) -> Result<()>) {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(default);
    let (size, rounds) = (number(0, 4).max(2), number(1, 100));
    if let Some(member) = words.get(2) {
        if let Err(error) = run(name, number(2, 0), size, rounds, part) {
            eprintln!("{name}-{member}: {error}");
            std::process::exit(1);
        }
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let start = |number: usize| {
        let words = [size, rounds, number].map(|word| word.to_string());
        Command::new(&program).args(words).stdout(Stdio::piped()).spawn().expect("a process")
    };
    let members: Vec<_> = (0..size).map(start).collect();
    for member in members {
        let output = member.wait_with_output().expect("its end");
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

fn run(name: &str, number: usize, size: usize, rounds: usize, part: fn(&mut Member) -> Result<()>) -> Result<()> {
    let me = retake::init(&format!("{name}-{number}"))?;
    let random = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let partners = vec![None; size];
    let mut member = Member { me, number, size, rounds, partners, digest: 0, received: 0, random };
    part(&mut member)?;
    println!("{}: {} received, {:016x}", member.me.name(), member.received, member.digest);
    member.me.finish();
    Ok(())
}

impl Member {
    pub fn send(&mut self, to: usize, word: &str) -> Result<()> {
        let partner = self.find(to)?;
        self.me.send(partner, word.as_bytes()).map(drop)
    }

    /// Sends to somebody who may have left.
    pub fn send_if_there(&mut self, to: usize, word: &str) -> Result<()> {
        match self.send(to, word) {
            Err(Error::Gone(_)) => Ok(()),
            other => other,
        }
    }

    /// Waits until everybody has met everybody.
    pub fn meet(&mut self) -> Result<()> {
        for other in (0..self.size).filter(|other| *other != self.number).collect::<Vec<_>>() {
            self.find(other)?;
        }
        if self.number == 0 {
            (1..self.size).try_for_each(|_| self.receive().map(drop))?;
            (1..self.size).try_for_each(|other| self.send(other, "go"))
        } else {
            self.send(0, "here")?;
            let zero = self.find(0)?;
            self.me.receive_from(zero, None).map(drop)
        }
    }

    fn find(&mut self, number: usize) -> Result<Partner> {
        if let Some(partner) = self.partners[number] {
            return Ok(partner);
        }
        let mine = self.me.name();
        let name = format!("{}-{number}", mine.rsplit_once('-').map_or(mine, |(name, _)| name));
        let partner = self.me.wait_for_partner(&name, None)?;
        self.partners[number] = Some(partner);
        Ok(partner)
    }

    /// The next message: who sent it, and what it says.
    pub fn receive(&mut self) -> Result<(usize, String)> {
        loop {
            if let Some(message) = self.me.receive(None)? {
                return Ok(self.took(&message));
            }
        }
    }

    /// The next message, if there is one already.
    pub fn poll(&mut self) -> Result<Option<(usize, String)>> {
        let message = self.me.receive(Some(Duration::ZERO))?;
        Ok(message.map(|message| self.took(&message)))
    }

    fn took(&mut self, message: &Message) -> (usize, String) {
        let from = message.name.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0);
        let word = String::from_utf8_lossy(message.contents()).into_owned();
        self.received += 1;
        for byte in (from as u64).to_le_bytes().iter().chain(word.as_bytes()) {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        (from, word)
    }

    /// Somebody else, the same in every run.
    pub fn somebody(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.number + 1 + (self.random >> 11) as usize % (self.size - 1)) % self.size
    }
}
