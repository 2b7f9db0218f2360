//! What a receiver shows to its ack policy, and what that decides.

use ackclock_units::{Bytes, Duration, Instant};

/// A data segment that arrived in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrivedSegment {
    /// When it arrived.
    pub now: Instant,
    /// Its payload, bytes.
    pub bytes: u32,
    /// True when it is at least as long as the largest seen (a full-sized segment).
    pub full_sized: bool,
    /// PSH was set.
    pub push: bool,
}

/// What a receiver has not yet acknowledged, the arriving segment included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckPending {
    /// Bytes received in order and not acknowledged.
    pub bytes: Bytes,
    /// Full-sized segments among them.
    pub full_segments: u32,
    /// Segments among them.
    pub segments: u32,
    /// Receive window last advertised, bytes.
    pub rcv_wnd: Bytes,
    /// Largest segment received so far (estimate of the peer's `smss`).
    pub rmss: u32,
    /// Deadline that runs already.
    pub deadline: Option<Instant>,
}

/// The state of a receiver that an ack policy may read if it
/// [follows events](crate::AckPolicy::follows_events).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverView {
    /// Now.
    pub now: Instant,
    /// Smoothed round-trip time, if this end has measured one.
    pub srtt: Option<Duration>,
    /// The retransmission timeout in force, if known.
    pub rto: Option<Duration>,
    /// Largest segment that this end accepts, bytes of payload.
    pub mss: u32,
    /// An ack sent now could not offer as large a window as the last one: data waits to be read.
    pub window_shrinks: bool,
    /// The segment that has just arrived lets this end offer a larger window.
    pub window_opens: bool,
    /// Something above a gap waits for what is missing.
    pub gap: bool,
    /// What arrived in order and was not read, bytes.
    pub unread: Bytes,
}

/// What happens at a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverEvent {
    /// Text arrived in order. If that filled a gap, or a part of one that is still there, it is acknowledged
    /// at once, whatever the answer.
    Arrived(ArrivedSegment),
    /// Text arrived above a gap, at an end that reports it by SACK.
    OutOfOrder(ArrivedSegment),
    /// Text arrived above a gap, at an end that reports it by SACK, and is not placed yet: so many other blocks,
    /// up to four, were reported before its own, and will be after it. An answer of [`AckAction::Now`] sends
    /// an ack of what was there before; every other one does nothing.
    Displaced(u8),
    /// Text arrived that was received before or lies outside the window. It is acknowledged at once,
    /// whatever the answer.
    Repeated,
    /// The first mark (ECN) arrived since the peer last confirmed one. It is acknowledged at once, whatever
    /// the answer.
    Marked,
    /// The peer's FIN arrived in order, and this side has not closed.
    Fin,
    /// The peer's SYN-ACK arrived.
    SynAck,
    /// The application has read something.
    Read,
    /// A segment with text was sent; it has acknowledged everything.
    Sent,
    /// An acknowledgment was sent, alone or with text.
    Acked,
    /// The deadline was reached: the acknowledgment is sent, whatever the answer.
    Deadline,
    /// The application asks for quick acks, or for acks that wait for its replies.
    Quick(bool),
}

/// When to acknowledge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckAction {
    /// At once.
    Now,
    /// No later than this moment.
    By(Instant),
    /// Not because of this segment.
    Hold,
    /// At once, with acks that an honest receiver would not send.
    Forge(Forgery),
}

/// How a receiver cheats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forgery {
    /// Acks for what has arrived, each of which acknowledges a part of it.
    pub parts: u16,
    /// Additional duplicate acks.
    pub repeats: u16,
    /// Bytes acknowledged beyond what has arrived.
    pub ahead: u32,
}

impl Forgery {
    /// None.
    pub const NONE: Self = Self { parts: 1, repeats: 0, ahead: 0 };
}
