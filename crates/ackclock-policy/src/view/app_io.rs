//! What an application can do with its connection, and when it is to be woken.

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
    /// True when the peer has acknowledged or SACKed the bytes from `from` up to `to` of all that was
    /// written.
    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool;
    /// Bytes that the congestion window and the receiver's window would let leave at once if they were
    /// written now. Unsent data and pending retransmissions come first. Nagle's algorithm may still hold back
    /// less than a full segment.
    fn room(&mut self) -> Bytes;
    /// True when the peer has closed its side and everything was read.
    fn at_end(&self) -> bool;
    /// Closes the writing side once everything is sent.
    fn close(&mut self);
    /// Leaves: closes both directions. What arrives later is not read, and the peer gets a reset for it.
    /// Where a transport cannot do that, only the writing side is closed.
    fn leave(&mut self) {
        self.close();
    }
    /// Marks the beginning of a transaction for response times.
    fn mark_start(&mut self);
    /// Marks its end; the time since `mark_start` is recorded as one response time.
    fn mark_end(&mut self);
    /// Records one response time, from `since` until now: for transactions that overlap, such as packets
    /// typed before the last one was acknowledged.
    fn record_response(&mut self, _since: Instant) {}
    /// Records one response time, from `since` until now, of a request whose response had `bytes`. Worlds
    /// that keep a table of exchanges have a row for it.
    fn record_exchange(&mut self, since: Instant, _bytes: Bytes) {
        self.record_response(since);
    }
}

/// When an application is to be woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// When there is something to read, or the peer has closed.
    Readable,
    /// When the peer has closed and everything was read. Data that arrives until then is read at once,
    /// without waking the application.
    Ended,
    /// When there is room to write.
    Writable,
    /// When everything written is acknowledged.
    Flushed,
    /// At this moment.
    At(Instant),
    /// When more of what was written is acknowledged, or may have been SACKed ([`AppIo::has_arrived`]), or at
    /// this moment, whichever comes first.
    AckedOrAt(Instant),
    /// When [`AppIo::room`] may have changed (a segment arrived, a timer of the connection expired), or at
    /// this moment. For an application with more to send than the windows allow: the connection then counts
    /// as limited by its congestion window, which may grow (RFC 7661), as if data waited in the send buffer.
    RoomOrAt(Instant),
    /// When there is room to write, or at this moment, whichever comes first.
    WritableOrAt(Instant),
    /// When the clients of all flows of its workload wait for this: a barrier. Never early, and only for the
    /// application of a client. Flows that have ended are not waited for.
    Barrier,
    /// Not again.
    Done,
}
