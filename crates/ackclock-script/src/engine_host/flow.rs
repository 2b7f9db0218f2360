//! A connection with what its host knows of it.

use ackclock_engine::{AbortReason, Connection, ConnectionEvent, State, Transmit};
use ackclock_trace::SendKind;
use ackclock_units::Instant;
use ackclock_wire::{IcmpError, IcmpKind, Segment};

use super::options::SocketOptions;
use super::reports::Reports;
use super::urgent::UrgentByte;
use crate::constants::Errno;
use crate::host::Ports;

/// A connection.
#[derive(Debug)]
pub(crate) struct Flow {
    pub connection: Connection,
    pub ports: Ports,
    pub options: SocketOptions,
    /// The listening socket at which it waits to be accepted.
    pub listener: Option<i32>,
    /// A pending error, which the next system call returns.
    pub error: Option<Errno>,
    pub shut_read: bool,
    pub shut_write: bool,
    pub established: bool,
    /// A call has returned that it is connected.
    pub connect_returned: bool,
    /// It ended without an orderly close.
    pub aborted: bool,
    /// A write was cut short, or somebody asked for room in vain.
    pub wants_room: bool,
    /// Bytes of the stream that were written and read.
    pub written: u64,
    pub read: u64,
    /// The urgent byte of the peer, until it was read past.
    pub urgent: Option<UrgentByte>,
    pub reports: Reports,
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
    /// The code of the latest "unreachable", and whether it is one of ICMPv6.
    unreachable: Option<(u8, bool)>,
}

impl Flow {
    pub(crate) fn new(connection: Connection, ports: Ports, options: SocketOptions) -> Self {
        Self {
            connection,
            ports,
            options,
            listener: None,
            error: None,
            shut_read: false,
            shut_write: false,
            established: false,
            connect_returned: false,
            aborted: false,
            wants_room: false,
            written: 0,
            read: 0,
            urgent: None,
            reports: Reports::default(),
            retransmitted: 0,
            counts: Counts::default(),
        }
    }

    /// The last descriptor is closed: by a reset where nothing is to linger.
    pub(crate) fn close(&mut self, now: Instant) {
        if self.options.lingers_not() {
            self.connection.abort(now);
        } else {
            self.connection.leave(now);
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

    /// A segment has left. Returns true where that is reported to the application.
    pub(crate) fn departed(&mut self, now: Instant, t: &Transmit) -> bool {
        self.counts.segments_out += 1;
        if t.retransmission {
            self.retransmitted += 1;
            self.counts.retransmitted_bytes += u64::from(t.segment.len);
        }
        if matches!(t.kind, SendKind::WindowProbe | SendKind::Keepalive) {
            self.counts.probes += 1;
        }
        let end = t.offset + u64::from(t.segment.len);
        t.segment.len > 0 && !t.retransmission && self.reports.left(now, end, &self.options)
    }

    /// An ICMP error has arrived.
    pub(crate) fn noted(&mut self, error: &IcmpError) {
        if let IcmpKind::Unreachable(code) = error.kind {
            self.counts.unreachable = Some((code, error.from.is_ipv6()));
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
            AbortReason::Reset if self.connection.at_end() => Some(Errno::EPIPE),
            AbortReason::Reset => Some(Errno::ECONNRESET),
            AbortReason::SynTimeout | AbortReason::Timeout | AbortReason::KeepaliveTimeout => {
                Some(Errno::ETIMEDOUT)
            }
            AbortReason::Unreachable => Some(match self.counts.unreachable {
                // No route (RFC 792, RFC 4443 §3.1).
                Some((0, _)) => Errno::ENETUNREACH,
                // No such protocol.
                Some((2, false)) => Errno::ENOPROTOOPT,
                // Prohibited.
                Some((1, true)) => Errno::EACCES,
                _ => Errno::EHOSTUNREACH,
            }),
            AbortReason::FalseAck => Some(Errno::EPROTO),
            AbortReason::Local => None,
        }
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
