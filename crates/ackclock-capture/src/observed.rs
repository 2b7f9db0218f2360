//! What a capture shows of one direction besides its retransmissions: how fast it was, how long packets
//! waited on their way, how often its receiver's window was closed, and what Nagle's rule held back.

mod closures;
mod held_back;
mod lateness;
mod throughput;
mod tls;

use ackclock_units::Instant;

pub use closures::Closures;
pub use held_back::HeldBack;
pub use lateness::Lateness;
pub use throughput::Throughput;
pub use tls::{Beginning, Tls};

use crate::Spread;
use crate::limits::Spans;

/// A place in a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// When its packet was captured.
    pub at: Instant,
    /// The number of the packet in its file, from 1.
    pub frame: u64,
}

/// What a capture shows of one direction besides its retransmissions.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Its receiver's closed windows.
    pub closures: Closures,
    /// Small segments that Nagle's rule held back until a delayed ack.
    pub held_back: HeldBack,
    /// New payload over time.
    pub throughput: Throughput,
    /// How much later than the soonest its packets reached the capture, by its sender's clock.
    pub late: Lateness,
    /// Times from an ack to the data that echoes its timestamp, sent upon an ack: round trips from the
    /// capture to the sender and back.
    pub echoes: Spread,
    /// Most bytes under way by these echoes.
    pub echoed_flight: u64,
    /// Where each of its limits began, and held longest.
    pub spans: Spans,
}
