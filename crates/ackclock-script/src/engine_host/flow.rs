//! A connection with what its host knows of it.

use ackclock_engine::{AbortReason, Connection, ConnectionEvent, State, Transmit};
use ackclock_trace::SendKind;
use ackclock_units::{Instant, SeqNumber, SeqRange};
use ackclock_wire::{IcmpError, IcmpKind, Segment};

use super::freebsd::Buffers;
use super::options::SocketOptions;
use super::reordering::Reordering;
use super::reports::Reports;
use super::sending::Sending;
use super::stalls::Stalls;
use super::urgent::UrgentByte;
use crate::constants::Errno;
use crate::dialect::Dialect;
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
    /// Its SYN waits for the first data (`TCP_FASTOPEN_CONNECT`).
    pub deferred: bool,
    /// A call has returned that it is connected.
    pub connect_returned: bool,
    /// It ended without an orderly close.
    pub aborted: bool,
    /// A write was cut short, or somebody asked for room and there was none.
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
    pub stalls: Stalls,
    pub reordering: Reordering,
    /// Headers are predicted.
    pub predicting: bool,
    /// What Linux keeps of it; none of other hosts.
    pub sending: Option<Sending>,
    /// Sequence number and length of text that came with the SYN of a simultaneous open, and waits.
    pub held_text: Option<(SeqNumber, u32)>,
    /// Acks repeat a FIN that is not acknowledged.
    pub repeats_fin: bool,
    /// What FreeBSD reports of buffers; none of other hosts.
    pub buffers: Option<Buffers>,
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
    /// The largest segment received, and how many came before those below them.
    pub largest_in: u32,
    pub out_of_order_in: u32,
    /// A packet size that an ICMP error has claimed.
    pub mtu: Option<u32>,
    /// The code of the latest "unreachable", and whether it is one of ICMPv6.
    unreachable: Option<(u8, bool)>,
}

impl Flow {
    pub(crate) fn new(
        connection: Connection,
        ports: Ports,
        options: SocketOptions,
        sending: Option<Sending>,
    ) -> Self {
        Self {
            connection,
            ports,
            options,
            listener: None,
            error: None,
            shut_read: false,
            shut_write: false,
            established: false,
            deferred: false,
            connect_returned: false,
            aborted: false,
            wants_room: false,
            written: 0,
            read: 0,
            urgent: None,
            reports: Reports::default(),
            retransmitted: 0,
            counts: Counts::default(),
            stalls: Stalls::default(),
            reordering: Reordering::default(),
            predicting: true,
            sending,
            held_text: None,
            repeats_fin: false,
            buffers: None,
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
            self.counts.largest_in = self.counts.largest_in.max(segment.len);
            let early = self.established && segment.seq > self.connection.rcv_nxt();
            self.counts.out_of_order_in += u32::from(early);
        }
        self.counts.last_ack_received = Some(now);
        let v = self.connection.view(now);
        self.reordering.arrived(segment, &v);
        if let Some(sending) = &mut self.sending {
            let una = sending.queue.end().saturating_sub(self.connection.unacked());
            let outstanding = SeqRange::new(v.snd_una, v.snd_nxt);
            for block in segment.options.sack.as_slice().iter().filter(|b| b.is_inside(outstanding)) {
                let position = |seq: SeqNumber| una + u64::from(seq.bytes_since(v.snd_una));
                sending.queue.sacked(position(block.start), position(block.end), v.smss);
            }
        }
    }

    /// A segment has left. Returns true where that is reported to the application.
    pub(crate) fn departed(&mut self, now: Instant, t: &Transmit) -> bool {
        self.counts.segments_out += 1;
        if t.retransmission {
            self.retransmitted += 1;
            self.counts.retransmitted_bytes += u64::from(t.segment.len);
            self.reordering.retransmitted(&t.segment);
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
        if let IcmpKind::TooBig { mtu } = error.kind {
            self.counts.mtu = Some(mtu);
        }
    }

    /// Something happened to the connection.
    pub(crate) fn took(&mut self, event: ConnectionEvent, now: Instant, dialect: Dialect) {
        match event {
            ConnectionEvent::Established => {
                self.established = true;
                self.predicting = self.listener.is_some() || self.connection.window_shifts().0 == 0;
                // The clock of what is received begins here (`tcp_init_transfer`).
                self.counts.last_data_received.get_or_insert(now);
                self.connection.room(now);
                if let Some(sending) = &mut self.sending {
                    sending.grow(&self.connection, self.reordering.degree);
                }
            }
            ConnectionEvent::Aborted(reason) => {
                self.aborted = true;
                self.error = self.errno_of(reason, dialect);
            }
            _ => {}
        }
    }

    /// The error of an end.
    fn errno_of(&self, reason: AbortReason, dialect: Dialect) -> Option<Errno> {
        match reason {
            AbortReason::Refused => Some(Errno::ECONNREFUSED),
            // After the peer's FIN nothing but writing is left to fail (`tcp_reset` of Linux).
            AbortReason::Reset if dialect != Dialect::FreeBsd && self.connection.peer_has_closed() => {
                Some(Errno::EPIPE)
            }
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
            // Of a socket that is still open: data came that nobody will read.
            AbortReason::Local => Some(Errno::ECONNRESET),
        }
    }

    /// True when three timeouts in a row make it seem that the network drops what follows a SYN of Fast Open.
    pub(crate) fn seems_black_holed(&self, now: Instant) -> bool {
        let attempted = |r: ackclock_engine::FastOpenReport| r.option.is_some() || r.sent > 0;
        self.connection.fast_open().is_some_and(attempted) && self.connection.view(now).expiries == 3
    }

    /// True when nothing can arrive beyond what is there to be read.
    pub(crate) fn is_complete(&self) -> bool {
        let state = self.connection.state();
        let closed = matches!(
            state,
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait | State::Closed
        );
        (closed || self.shut_read || self.aborted) && !self.deferred
    }

    /// True when a read returns 0.
    pub(crate) fn is_read_out(&self) -> bool {
        let closed = self.connection.state() == State::Closed && !self.deferred;
        self.connection.at_end() || self.shut_read || self.aborted || closed
    }

    /// True while the handshake goes on, and data has to wait for its end.
    pub(crate) fn is_opening(&self) -> bool {
        match self.connection.state() {
            State::SynSent => true,
            State::SynReceived => !self.connection.fast_open().is_some_and(|report| report.accepted),
            _ => self.deferred,
        }
    }
}
