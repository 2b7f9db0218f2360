//! A connection with what its host knows of it.

use ackclock_engine::{AbortReason, Connection, ConnectionEvent, State, Transmit};
use ackclock_trace::SendKind;
use ackclock_units::Instant;
use ackclock_wire::{IcmpError, IcmpKind, Segment};

use super::options::SocketOptions;
use crate::constants::Errno;
use crate::host::Ports;

/// A connection.
#[derive(Debug)]
pub(crate) struct Flow {
    pub connection: Connection,
    pub ports: Ports,
    pub options: SocketOptions,
    /// A pending error, which the next system call returns.
    pub error: Option<Errno>,
    /// No descriptor is left.
    closed: bool,
    pub shut_read: bool,
    pub shut_write: bool,
    pub established: bool,
    /// A call has returned that it is connected.
    pub connect_returned: bool,
    /// It ended without an orderly close.
    pub aborted: bool,
    /// Segments that were retransmitted.
    pub retransmitted: u32,
    pub counts: Counts,
}

/// What TCP_INFO counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub probes: u32,
    pub segments_out: u64,
    pub segments_in: u64,
    pub data_segments_in: u64,
    pub retransmitted_bytes: u64,
    pub last_data_sent: Option<Instant>,
    pub last_data_received: Option<Instant>,
    pub last_ack_received: Option<Instant>,
    /// An ICMP error that ends an attempt to connect.
    unreachable: Option<u8>,
}

impl Flow {
    pub(crate) fn new(connection: Connection, ports: Ports, options: SocketOptions) -> Self {
        Self {
            connection,
            ports,
            options,
            error: None,
            closed: false,
            shut_read: false,
            shut_write: false,
            established: false,
            connect_returned: false,
            aborted: false,
            retransmitted: 0,
            counts: Counts::default(),
        }
    }

    /// True when the application is done with both directions.
    pub(crate) fn is_done(&self) -> bool {
        self.closed || self.shut_read && self.shut_write
    }

    /// The last descriptor is closed: in order, or by a reset where data stays unread (RFC 2525 §2.17) or
    /// nothing is to linger.
    pub(crate) fn close(&mut self, now: Instant) {
        self.closed = true;
        if self.connection.readable() > 0 || self.options.lingers_not() {
            self.connection.abort(now);
        } else {
            self.connection.close(now);
        }
    }

    /// A segment has arrived.
    pub(crate) fn arrived(&mut self, now: Instant, segment: &Segment) {
        self.counts.segments_in += 1;
        if segment.len > 0 {
            self.counts.data_segments_in += 1;
            self.counts.last_data_received = Some(now);
        }
        self.counts.last_ack_received = Some(now);
    }

    /// A segment has left.
    pub(crate) fn departed(&mut self, t: &Transmit) {
        self.counts.segments_out += 1;
        if t.retransmission {
            self.retransmitted += 1;
            self.counts.retransmitted_bytes += u64::from(t.segment.len);
        }
        if matches!(t.kind, SendKind::WindowProbe | SendKind::Keepalive) {
            self.counts.probes += 1;
        }
    }

    /// An ICMP error has arrived.
    pub(crate) fn noted(&mut self, error: &IcmpError) {
        if let IcmpKind::Unreachable(code) = error.kind {
            self.counts.unreachable = Some(code);
        }
    }

    /// Something happened to the connection.
    pub(crate) fn took(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Established => self.established = true,
            ConnectionEvent::Aborted(reason) => {
                self.aborted = true;
                self.error = self.errno_of(reason);
            }
            _ => {}
        }
    }

    /// The error of an end, as Linux reports it.
    fn errno_of(&self, reason: AbortReason) -> Option<Errno> {
        match reason {
            AbortReason::Refused => Some(Errno::ECONNREFUSED),
            // After the peer's FIN nothing but writing is left to fail.
            AbortReason::Reset if self.connection.peer_has_closed() => Some(Errno::EPIPE),
            AbortReason::Reset => Some(Errno::ECONNRESET),
            AbortReason::SynTimeout | AbortReason::Timeout | AbortReason::KeepaliveTimeout => {
                Some(Errno::ETIMEDOUT)
            }
            // Codes 0, 1 and 2 of RFC 792.
            AbortReason::Unreachable if self.counts.unreachable == Some(0) => Some(Errno::ENETUNREACH),
            AbortReason::Unreachable if self.counts.unreachable == Some(2) => Some(Errno::ENOPROTOOPT),
            AbortReason::Unreachable => Some(Errno::EHOSTUNREACH),
            AbortReason::FalseAck => Some(Errno::EPROTO),
            AbortReason::Local => None,
        }
    }

    /// True when a read would return at once.
    pub(crate) fn is_readable(&self) -> bool {
        self.connection.readable() > 0 || self.is_read_out() || self.error.is_some()
    }

    /// True when nothing can arrive beyond what is there to be read.
    pub(crate) fn is_complete(&self) -> bool {
        let state = self.connection.state();
        let closed = matches!(
            state,
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait | State::Closed
        );
        closed || self.shut_read || self.aborted
    }

    /// True when a read returns 0.
    pub(crate) fn is_read_out(&self) -> bool {
        self.connection.at_end() || self.shut_read || self.aborted || self.connection.state() == State::Closed
    }

    /// True while the handshake goes on.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.connection.state(), State::SynSent | State::SynReceived)
    }
}
