//! What carries messages: the one narrow thing that differs between one machine and many.
//!
//! A transport opens ways to partners by name, takes frames for them, and brings frames in. It knows nothing of ids,
//! replies, modes or tapes: capture and replay sit above it, so that a take made over one transport replays over another.
//!
//! Law: frames of one way arrive in the order in which they were sent, or their loss is told.

use crate::cutter::Piece;
use crate::error::Result;
use crate::frame::{Head, Hello};

/// The way to a partner, as this transport numbers them.
pub type Way = usize;
/// Somebody who sends to this participant, as this transport numbers them.
pub type Source = usize;

/// What came in.
#[derive(Debug)]
pub enum Arrival {
    /// A new source, and who it is.
    Met(Source, Hello),
    /// A frame from a source: its head, and what is behind it.
    Frame(Source, Head, Vec<u8>),
    /// Something that this source sent was lost on the way. Streams lose nothing.
    #[cfg_attr(not(feature = "nats"), allow(dead_code))]
    Missing(Source),
    /// The source will send no more: it has finished, died, or sent something that is no frame.
    Ended(Source),
    /// Whoever was at the end of this way is gone.
    Lost(Way),
}

impl Arrival {
    /// What came on a stream.
    pub fn of(source: Source, piece: Piece) -> Arrival {
        match piece {
            Piece::Hello(hello) => Arrival::Met(source, hello),
            Piece::Frame(head, body) => Arrival::Frame(source, head, body),
        }
    }
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Only take what is there.
    Now,
    /// Until this moment of the monotonic clock, in nanoseconds.
    Moment(i64),
    Forever,
}

/// Carries frames between participants.
pub trait Transport: Send {
    /// Opens a way to the participant of this name, if it is there.
    fn open(&mut self, name: &str) -> Result<Option<Way>>;

    /// Sends a frame (in two pieces). Does not wait for the receiver; an error means that it is gone.
    fn send(&mut self, way: Way, head: &[u8], contents: &[u8]) -> Result<()>;

    /// Waits until something comes in or the time is over, and gives everything that is there to `sink`. Meanwhile, what
    /// could not be sent yet is sent.
    fn pump(&mut self, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()>;

    /// The same, for whoever needs something of this source before anything else can help.
    fn pump_from(&mut self, _source: Source, until: Until, sink: &mut dyn FnMut(Arrival)) -> Result<()> {
        self.pump(until, sink)
    }

    /// Bytes that are still to be sent.
    fn backlog(&self) -> usize;

    /// Says goodbye. What is still to be sent is lost.
    fn close(&mut self);
}
