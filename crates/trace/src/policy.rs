//! The choice of what to trace: one small trait, and the names by which a user chooses.
//!
//! A policy is told of every receive that took a message, in the order of one process, and answers for each of them
//! once, in the same order: traced or not. Receives that took nothing (a time-out, a poll) are outcomes: they are on
//! the tape, a replay does not look for a message there, and so nothing can race with them.
//!
//! Law: whatever a policy decides, of two receives that race ([`crate::race`]) at least one is traced. That is all that
//! a replay needs; the proof is in [`crate::follow`].

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use crate::algorithm_a::AlgorithmA;
use crate::algorithm_b::AlgorithmB;
use crate::front::Front;
use crate::netzer_miller::NetzerMiller;
use crate::window::Window;
use crate::{Arrival, window};

/// What was decided about one receive; receives that took a message are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub receive: u64,
    pub traced: bool,
}

pub trait Policy: Send {
    /// A receive took a message. Answers for it, or for an earlier one, or not yet.
    fn took(&mut self, arrival: &Arrival) -> Option<Decision>;

    /// No more receives will come; called until it answers `None`.
    fn end(&mut self) -> Option<Decision> {
        None
    }
}

/// The policies, by the names of `--trace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    All,
    NetzerMiller,
    A,
    B,
    Front,
    Window(usize),
}

impl Method {
    /// What is used unless asked otherwise: it never needs more trace than the papers' methods where every receive is a
    /// wildcard, and needs less memory than any of them.
    pub const DEFAULT: Method = Method::Front;

    /// As a number that can stand in shared memory; never 0.
    pub fn number(self) -> u32 {
        match self {
            Method::All => 1,
            Method::NetzerMiller => 2,
            Method::A => 3,
            Method::B => 4,
            Method::Front => 5,
            Method::Window(receives) => 6 | (receives as u32) << 8,
        }
    }

    /// The inverse of [`Method::number`].
    pub fn of_number(number: u32) -> Option<Method> {
        match number {
            1 => Some(Method::All),
            2 => Some(Method::NetzerMiller),
            3 => Some(Method::A),
            4 => Some(Method::B),
            5 => Some(Method::Front),
            _ if number & 0xff == 6 && number >> 8 <= window::WIDTH_MAX as u32 => {
                Some(Method::Window((number >> 8) as usize))
            }
            _ => None,
        }
    }

    pub fn policy(self) -> Box<dyn Policy> {
        match self {
            Method::All => Box::new(All::default()),
            Method::NetzerMiller => Box::new(NetzerMiller::default()),
            Method::A => Box::new(AlgorithmA::default()),
            Method::B => Box::new(AlgorithmB::default()),
            Method::Front => Box::new(Front::default()),
            Method::Window(receives) => Box::new(Window::new(receives)),
        }
    }

    /// Whether senders must stamp their messages for it.
    pub fn needs_clocks(self) -> bool {
        self != Method::All
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::All => f.write_str("all"),
            Method::NetzerMiller => f.write_str("netzer-miller"),
            Method::A => f.write_str("a"),
            Method::B => f.write_str("b"),
            Method::Front => f.write_str("front"),
            Method::Window(receives) => write!(f, "window={receives}"),
        }
    }
}

/// The words are none of the names, or the window is too wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMethod;

impl fmt::Display for UnknownMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be all, netzer-miller, a, b, front, or window=N with N at most {}", window::WIDTH_MAX)
    }
}

impl core::error::Error for UnknownMethod {}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(words: &str) -> Result<Method, UnknownMethod> {
        match words {
            "all" => Ok(Method::All),
            "netzer-miller" => Ok(Method::NetzerMiller),
            "a" => Ok(Method::A),
            "b" => Ok(Method::B),
            "front" => Ok(Method::Front),
            _ => {
                let receives = words.strip_prefix("window=").ok_or(UnknownMethod)?;
                let receives = receives.parse().map_err(|_| UnknownMethod)?;
                if receives <= window::WIDTH_MAX { Ok(Method::Window(receives)) } else { Err(UnknownMethod) }
            }
        }
    }
}

/// Every receive is traced: needs no clocks, and a process can be read without its partners.
#[derive(Default)]
struct All {
    next: u64,
}

impl Policy for All {
    fn took(&mut self, _: &Arrival) -> Option<Decision> {
        let receive = self.next;
        self.next += 1;
        Some(Decision { receive, traced: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn methods_have_words_and_numbers() {
        for words in ["all", "netzer-miller", "a", "b", "front", "window=0", "window=63"] {
            let method: Method = words.parse().expect("a method");
            assert_eq!(method.to_string(), words);
            assert_eq!(Method::of_number(method.number()), Some(method));
        }
        for words in ["", "c", "window", "window=", "window=64", "window=-1"] {
            assert_eq!(words.parse::<Method>(), Err(UnknownMethod), "{words}");
        }
        assert_eq!([0, 7, 6 | 64 << 8].map(Method::of_number), [None; 3]);
    }
}
