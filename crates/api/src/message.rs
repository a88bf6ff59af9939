//! A message that was received, and the partner that it came from.

use std::sync::Arc;

/// A partner of a participant: cheap to copy, good as long as the participant that found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partner(pub(crate) u32);

/// A message that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sent it; good for sending back.
    pub from: Partner,
    /// The sender's name.
    pub name: Arc<str>,
    /// The host that the sender runs on.
    pub host: Arc<str>,
    /// The message's number among all that its sender has sent.
    pub id: u64,
    /// Whether the sender waits for a reply.
    pub expects_reply: bool,
    /// What was behind the head of its frame, and where in it the contents start.
    pub(crate) body: Vec<u8>,
    pub(crate) start: usize,
}

impl Message {
    /// The contents.
    pub fn contents(&self) -> &[u8] {
        &self.body[self.start..]
    }

    /// The contents, without a copy where that can be had.
    pub fn into_contents(mut self) -> Vec<u8> {
        self.body.drain(..self.start);
        self.body
    }
}
