//! Which receives are noted: a policy, apart from how they are noted.

/// Decides which receives go on the tape.
pub trait Noting: Send {
    /// Whether to note the receive of the `seq`-th message from this sender to this participant.
    fn is_noted(&mut self, from: &str, seq: u64) -> bool;
}

/// Every receive is noted: a part can be read without the others.
#[derive(Debug)]
pub struct All;

impl Noting for All {
    fn is_noted(&mut self, _: &str, _: u64) -> bool {
        true
    }
}
