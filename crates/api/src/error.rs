//! What can go wrong with messages, each with its own answer.

use std::fmt;

/// Why an operation of the library failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A name that no participant can have: 1 to 64 letters, digits, `_`, `-` or `.`, not starting with `.`.
    BadName(String),
    /// Somebody of the same group has this name already.
    NameTaken(String),
    /// Nobody of this name is there.
    NotThere(String),
    /// The partner has finished or died.
    Gone(String),
    /// A message from this partner was lost on the way.
    Gap(String),
    /// A reply to something that is not an unanswered call from that partner.
    NotACall(u64),
    /// A message longer than [`MESSAGE_MAX`](crate::MESSAGE_MAX).
    TooLong(usize),
    /// The participant belongs to the process that made it, not to its forked child.
    Forked,
    /// The tape in the take cannot be used, or there is none.
    Tape(String),
    /// What carries messages failed: a partner does not know the secret, a server is gone. The words say which.
    Transport(String),
    /// The setting of `RETAKE_MODE`, or of another variable, makes no sense.
    Setting(String),
    /// The system refused.
    System {
        /// What was to be done.
        what: &'static str,
        /// The system's number for why it could not be.
        errno: i32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::BadName(name) => {
                write!(f, "{name:?} is no name: 1 to 64 letters, digits, '_', '-' or '.', not starting with '.'")
            }
            Error::NameTaken(name) => write!(f, "there is a participant {name} already"),
            Error::NotThere(name) => write!(f, "there is no participant {name}"),
            Error::Gone(name) => write!(f, "{name} has finished or died"),
            Error::Gap(name) => write!(f, "a message from {name} was lost on the way"),
            Error::NotACall(id) => write!(f, "message {id} is not a call that waits for a reply"),
            Error::TooLong(length) => {
                write!(f, "a message of {length} bytes is too long: at most {}", crate::MESSAGE_MAX)
            }
            Error::Forked => write!(f, "a participant cannot be used by a forked child: call init there"),
            Error::Tape(why) => write!(f, "{why}"),
            Error::Setting(why) | Error::Transport(why) => write!(f, "{why}"),
            Error::System { what, errno } => {
                write!(f, "cannot {what}: {}", words(*errno))
            }
        }
    }
}

impl std::error::Error for Error {}

/// What the system says of an error.
pub(crate) fn words(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or(&text).into()
}

/// The library's results.
pub type Result<T> = std::result::Result<T, Error>;
