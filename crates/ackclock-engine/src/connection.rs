//! Placeholder of the connection: the signatures that the worlds build on.
#![allow(missing_docs, unused_variables, clippy::unimplemented, clippy::new_without_default)]
use std::sync::Arc;

use ackclock_policy::*;
use ackclock_trace::{Event, Mask};
use ackclock_units::*;
use ackclock_wire::Segment;

use crate::{Config, ConnectionEvent, Stats};

/// The policies of one connection.
#[derive(Debug)]
pub struct Policies {
    pub estimator: Box<dyn RttEstimator>,
    pub backoff: Box<dyn Backoff>,
    pub timer: Box<dyn RetransmissionTimer>,
    pub recovery: Box<dyn LossRecovery>,
    pub window: Box<dyn CongestionControl>,
    pub ack: Box<dyn AckPolicy>,
}

/// States of RFC 9293 §3.3.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// A segment to send, and where its payload lies in the stream.
#[derive(Clone, Copy, Debug)]
pub struct Transmit {
    pub segment: Segment,
    /// Position of the first payload byte in the stream of everything the application wrote (for [`Connection::copy_payload`], and for worlds that
    /// check delivery). Meaningless without payload.
    pub offset: u64,
    /// True when some of its payload was sent before.
    pub retransmission: bool,
    /// ECN field for the IP header.
    pub ecn: Ecn,
}

/// One TCP endpoint.
///
/// Payload comes in two kinds, chosen at construction: `counted` connections hold no bytes at all (`write_counted`, `read_counted`; payload slices are
/// empty and `Segment::len` alone counts), `new` ones hold real bytes.
#[derive(Debug)]
pub struct Connection {}

impl Connection {
    /// A closed connection with real bytes. `seed` feeds its random stream; `iss` is the initial send sequence number.
    pub fn new(config: Arc<Config>, policies: Policies, iss: SeqNumber, rng: Rng) -> Self {
        unimplemented!()
    }
    /// The same without bytes.
    pub fn counted(config: Arc<Config>, policies: Policies, iss: SeqNumber, rng: Rng) -> Self {
        unimplemented!()
    }
    /// Active open: from Closed to SynSent; the SYN comes out of `poll_transmit`.
    pub fn connect(&mut self, now: Instant) {}
    /// Passive open: from Closed to Listen; feed it the SYN with `handle_segment`.
    pub fn listen(&mut self) {}

    /// Takes in one segment. `payload` is its bytes (empty for counted connections); `ecn` the IP header's field.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment, payload: &[u8], ecn: Ecn) {}
    /// Acts on every deadline that has come.
    pub fn handle_timeout(&mut self, now: Instant) {}
    /// The next segment to send, if any. Call until `None` after every other call.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        None
    }
    /// The earliest deadline; `None` when nothing is pending.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<ConnectionEvent> {
        None
    }
    /// Copies payload from the send buffer: `out.len()` bytes from stream position `offset` (those of a `Transmit` are there).
    pub fn copy_payload(&self, offset: u64, out: &mut [u8]) {}

    /// Queues bytes; returns how many fitted.
    pub fn write(&mut self, now: Instant, data: &[u8]) -> usize {
        0
    }
    /// Queues `n` bytes that are counted only; returns how many fitted.
    pub fn write_counted(&mut self, now: Instant, n: u64) -> u64 {
        0
    }
    /// Room in the send buffer.
    pub fn writable(&self) -> u64 {
        0
    }
    /// Takes bytes received in order.
    pub fn read(&mut self, now: Instant, out: &mut [u8]) -> usize {
        0
    }
    /// Takes up to `n` counted bytes.
    pub fn read_counted(&mut self, now: Instant, n: u64) -> u64 {
        0
    }
    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        0
    }
    /// Bytes written and not acknowledged.
    pub fn unacked(&self) -> u64 {
        0
    }
    /// True when the peer's FIN was received and everything before it was read.
    pub fn at_end(&self) -> bool {
        false
    }
    /// Closes the writing side once everything is sent (FIN).
    pub fn close(&mut self, now: Instant) {}
    /// Resets the connection.
    pub fn abort(&mut self, now: Instant) {}
    /// While corked, only full segments are sent.
    pub fn set_cork(&mut self, now: Instant, corked: bool) {}

    /// Its state.
    pub fn state(&self) -> State {
        State::Closed
    }
    /// Its counters.
    pub fn stats(&self) -> &Stats {
        unimplemented!()
    }
    /// What its policies see.
    pub fn view(&self, now: Instant) -> SenderView {
        unimplemented!()
    }
    /// Chooses what is traced.
    pub fn set_trace(&mut self, mask: Mask) {}
    /// Moves the recorded events to `out`; the world fills in the connection number.
    pub fn drain_trace(&mut self, out: &mut Vec<Event>) {}
    /// A segment that answers one for which there is no connection (RST, RFC 9293 §3.10.7.1), if it deserves an answer.
    pub fn reset_for(segment: &Segment) -> Option<Segment> {
        None
    }
}
