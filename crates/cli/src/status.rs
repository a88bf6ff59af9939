//! How retake itself ends, and what it says then: the one list of exit statuses and the one form of message.
//!
//! A message says what happened, the likeliest cause, and the next command. All of them are listed in `docs/errors.md`.

use std::fmt;

/// Exit statuses of retake's own. Everything else is the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// It worked, or the outcome was the same.
    Fine = 0,
    /// `diff` found a difference, or `check` something wrong.
    Found = 1,
    /// A replay did something other than the take says.
    Diverged = 120,
    /// A replay stood still for too long.
    Stuck = 121,
    /// The program was ended because it had deadlocked.
    Deadlock = 122,
    /// A schedule could not be followed.
    Infeasible = 123,
    /// Retake itself failed or refused.
    Failed = 125,
    /// The program was found but cannot be executed.
    NotExecutable = 126,
    /// The program was not found.
    NotFound = 127,
}

/// Why a command ends early.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    pub what: String,
    next: Vec<String>,
}

impl Failure {
    pub fn new(status: Status, what: impl Into<String>) -> Failure {
        Failure { status, what: what.into(), next: Vec::new() }
    }

    /// Retake itself failed.
    pub fn own(what: impl Into<String>) -> Failure {
        Failure::new(Status::Failed, what)
    }

    /// Adds a command that helps.
    #[must_use]
    pub fn next(mut self, command: impl Into<String>) -> Failure {
        self.next.push(command.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "retake: {}", self.what)?;
        if !self.next.is_empty() {
            write!(f, "\nretake: next: {}", self.next.join(" · "))?;
        }
        Ok(())
    }
}

pub type Result<T> = std::result::Result<T, Failure>;

/// Says what was being done when an operation on a file failed.
pub trait Context<T> {
    fn because(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn because(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Failure::own(format!("{}: {}", what(), plain(&error))))
    }
}

/// An error of the system in words, without the number that Rust adds.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Tells the user something, in retake's own voice. A closed standard error is no reason to fail.
pub fn say(message: impl fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "retake: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_the_next_command() {
        let failure = Failure::own("there is no take yet").next("retake record -- CMD").next("retake demo");
        assert_eq!(
            failure.to_string(),
            "retake: there is no take yet\nretake: next: retake record -- CMD · retake demo"
        );
        assert_eq!(failure.status as i32, 125);
    }
}
