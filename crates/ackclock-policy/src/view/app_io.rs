//! What an application can ask of its connection, and when it wants to be woken.

use ackclock_units::{Bytes, Instant};

/// What an application can do with its connection.
pub trait AppIo {
    /// Bytes that can be read.
    fn readable(&self) -> Bytes;
    /// Takes up to `n` bytes; returns how many there were.
    fn read(&mut self, n: Bytes) -> Bytes;
    /// Bytes that can be written now.
    fn writable(&self) -> Bytes;
    /// Queues up to `n` bytes; returns how many were taken.
    fn write(&mut self, n: Bytes) -> Bytes;
    /// Bytes written that the peer has not acknowledged.
    fn unacked(&self) -> Bytes;
    /// True when the peer has told that the bytes from `from` up to `to` of all that was written have
    /// arrived, in order or (by SACK) not.
    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool;
    /// Bytes that would leave at once if they were written now, as far as the congestion window and the
    /// receiver's go: what was written and waits, or is to be sent again, comes first. Nagle's algorithm may
    /// still hold back what makes no full segment.
    fn room(&mut self) -> Bytes;
    /// True when the peer has closed its side and everything was read.
    fn at_end(&self) -> bool;
    /// Closes the writing side once everything is sent.
    fn close(&mut self);
    /// Marks the beginning of a transaction for response times.
    fn mark_start(&mut self);
    /// Marks its end; the time since `mark_start` is recorded as one response time.
    fn mark_end(&mut self);
    /// Records one response time, from `since` until now: for transactions that overlap, such as packets
    /// typed before the last one was acknowledged.
    fn record_response(&mut self, _since: Instant) {}
}

/// When an application wants to be woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// When there is something to read, or the peer has closed.
    Readable,
    /// When the peer has closed and everything was read; what arrives until then is read at once, without a
    /// call.
    Ended,
    /// When there is room to write.
    Writable,
    /// When everything written is acknowledged.
    Flushed,
    /// At this moment.
    At(Instant),
    /// When more of what was written is acknowledged, or may have arrived out of order
    /// ([`AppIo::has_arrived`]), or at this moment, whichever comes first.
    AckedOrAt(Instant),
    /// When anything has happened that may have changed [`AppIo::room`] (a segment arrived, a timer of the
    /// connection expired), or at this moment. For an application that has more to send than the windows let
    /// go: as data that waits in the send buffer would, it counts as held back by the congestion window,
    /// which may then grow (RFC 7661).
    RoomOrAt(Instant),
    /// Not again.
    Done,
}
