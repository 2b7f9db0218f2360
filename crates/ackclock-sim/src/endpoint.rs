//! One end of a flow: its connection, the application above it, and what the world knows of it.

use std::sync::Arc;

use ackclock_engine::{AbortReason, Connection};
use ackclock_policy::{AppIo, Application, Wake};
use ackclock_trace::Mask;
use ackclock_units::{Bytes, Duration, Instant, Rng, SeqNumber};
use ackclock_wire::Flags;

use crate::error::SimError;
use crate::flow::{Access, DatagramSpec, StackFactory};
use crate::lane::Lane;
use crate::network::NodeId;
use crate::packet::Packet;
use crate::truth::{Arrived, Dropped};

/// What the network needs to know of an endpoint: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Port {
    /// Packets on their way from the last link to the endpoint.
    pub(crate) inbound: Lane,
    /// Packets on their way from the endpoint to its first link.
    pub(crate) outbound: Lane,
    /// Delay from the endpoint to its first link.
    pub(crate) up: Duration,
    /// Delay from the last link to the endpoint.
    pub(crate) down: Duration,
    /// Moment of the wake event that counts; others that are pending are stale.
    pub(crate) wake: Instant,
    /// First link of its packets' route in the table of routes, and how many there are.
    pub(crate) route: u32,
    pub(crate) hops: u32,
}

impl Port {
    pub(crate) const IDLE: Self =
        Self { inbound: Lane::EMPTY, outbound: Lane::EMPTY, up: Duration::ZERO, down: Duration::ZERO, wake: Instant::FAR_FUTURE, route: 0, hops: 0 };
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    /// The connection; the server's comes with the first SYN.
    pub(crate) connection: Option<Connection>,
    pub(crate) app: Option<Box<dyn Application>>,
    pub(crate) app_rng: Rng,
    /// What the application waits for; `None` before the connection is established.
    pub(crate) wake: Option<Wake>,
    pub(crate) io: IoState,
    pub(crate) over: Option<Ending>,
    pub(crate) sent: SentTruth,
    pub(crate) arrived: Arrived,
    pub(crate) packets: PacketBooks,
}

/// How one end came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ending {
    pub(crate) at: Instant,
    /// `None` after an orderly close.
    pub(crate) reason: Option<AbortReason>,
}

/// What the world knows about what an endpoint has sent.
#[derive(Debug, Default)]
pub(crate) struct SentTruth {
    pub(crate) dropped: Dropped,
    /// Sequence number of stream position 0.
    pub(crate) first_seq: SeqNumber,
    /// First stream position that was never sent.
    pub(crate) high: u64,
    /// The latest SYN and the latest FIN without payload were dropped.
    pub(crate) syn: ControlTruth,
    pub(crate) fin: ControlTruth,
    /// The retransmission timer has expired and nothing was retransmitted since.
    pub(crate) timed_out: bool,
    pub(crate) unneeded: u64,
    pub(crate) spurious_timeouts: u32,
}

/// A SYN or a FIN, which occupy no stream position.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ControlTruth {
    pub(crate) sent: bool,
    pub(crate) dropped: bool,
}

/// Packets that an endpoint sent, by what became of them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PacketBooks {
    pub(crate) sent: u64,
    pub(crate) sent_bytes: Bytes,
    pub(crate) duplicated: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: Bytes,
    pub(crate) dropped: u64,
    pub(crate) corrupted: u64,
}

impl PacketBooks {
    /// Those that must be in the network.
    pub(crate) fn in_flight(&self) -> u64 {
        self.sent + self.duplicated - self.delivered - self.dropped - self.corrupted
    }
}

/// What an application has done with its connection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct IoState {
    pub(crate) written: Bytes,
    pub(crate) read: Bytes,
    pub(crate) started: Option<Instant>,
    pub(crate) response_sum: Duration,
    pub(crate) responses: u32,
    /// Bytes acknowledged when it was called last.
    pub(crate) seen_acked: Bytes,
}

/// An application's access to its connection.
pub(crate) struct Io<'a> {
    pub(crate) now: Instant,
    /// When the flow was opened, while that is when a transaction that starts now began: at the first call.
    pub(crate) opened: Option<Instant>,
    pub(crate) connection: &'a mut Connection,
    pub(crate) state: &'a mut IoState,
    /// The application has read or written something.
    pub(crate) moved: bool,
}

impl AppIo for Io<'_> {
    fn readable(&self) -> Bytes {
        self.connection.readable()
    }

    fn read(&mut self, n: Bytes) -> Bytes {
        let got = self.connection.read_counted(self.now, n);
        self.state.read += got;
        self.moved |= got > 0;
        got
    }

    fn writable(&self) -> Bytes {
        self.connection.writable()
    }

    fn write(&mut self, n: Bytes) -> Bytes {
        let taken = self.connection.write_counted(self.now, n);
        self.state.written += taken;
        self.moved |= taken > 0;
        taken
    }

    fn unacked(&self) -> Bytes {
        self.connection.unacked()
    }

    fn at_end(&self) -> bool {
        self.connection.at_end()
    }

    fn close(&mut self) {
        self.connection.close(self.now);
    }

    fn mark_start(&mut self) {
        self.state.started = Some(self.opened.unwrap_or(self.now));
    }

    fn mark_end(&mut self) {
        if let Some(started) = self.state.started.take() {
            self.state.response_sum += self.now.since(started);
            self.state.responses += 1;
        }
    }

    fn record_response(&mut self, since: Instant) {
        self.state.response_sum += self.now.since(since);
        self.state.responses += 1;
    }
}

/// A flow's place. The connections of an ended one are gone; the place stays until its packets are.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) ends: [End; 2],
    /// Packets of both ends in the network.
    pub(crate) in_flight: u32,
    pub(crate) ended: bool,
    pub(crate) info: FlowInfo,
}

/// What does not change in a flow's life.
#[derive(Clone, Debug)]
pub(crate) struct FlowInfo {
    pub(crate) number: u32,
    pub(crate) source: u32,
    pub(crate) client: NodeId,
    pub(crate) server: NodeId,
    /// The client's and the server's; `None` for datagrams.
    pub(crate) stacks: Option<[Arc<dyn StackFactory>; 2]>,
    pub(crate) access: Access,
    pub(crate) start: Instant,
    pub(crate) group: Arc<str>,
    pub(crate) size: Option<Bytes>,
    pub(crate) trace: Mask,
}

impl End {
    pub(crate) fn new() -> Self {
        Self {
            connection: None,
            app: None,
            app_rng: Rng::stream(0, "", 0),
            wake: None,
            io: IoState::default(),
            over: None,
            sent: SentTruth::default(),
            arrived: Arrived::default(),
            packets: PacketBooks::default(),
        }
    }

    /// When something happens here by itself; [`Instant::FAR_FUTURE`] for never.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        let timer = self.connection.as_ref().and_then(Connection::poll_timeout).unwrap_or(Instant::FAR_FUTURE);
        match self.wake {
            Some(Wake::At(at) | Wake::AckedOrAt(at)) => timer.min(at),
            _ => timer,
        }
    }
}

impl SentTruth {
    /// Takes note of a segment with payload `start..end`. Answers whether it repeats bytes, and how many links an earlier copy of them has passed.
    #[inline]
    pub(crate) fn note_data(&mut self, start: u64, end: u64) -> (bool, u8) {
        if start >= self.high {
            self.high = end;
            return (false, 0);
        }
        let passed = self.dropped.take(start, end.min(self.high));
        self.high = self.high.max(end);
        self.unneeded += u64::from(passed.is_none());
        self.judge_timeout(passed.is_some());
        (true, passed.unwrap_or(u8::MAX))
    }

    /// Takes note of a SYN, or of a FIN without payload. Answers whether it is a repetition.
    pub(crate) fn note_control(&mut self, syn: bool) -> bool {
        let truth = if syn { &mut self.syn } else { &mut self.fin };
        let before = std::mem::replace(truth, ControlTruth { sent: true, dropped: false });
        if before.sent {
            self.judge_timeout(before.dropped);
        }
        before.sent
    }

    /// The first segment repeated after a timeout is the one that timed out: if its latest copy was not dropped, the timeout was spurious.
    fn judge_timeout(&mut self, dropped: bool) {
        if std::mem::take(&mut self.timed_out) && !dropped {
            self.spurious_timeouts += 1;
        }
    }

    /// Takes note that a packet was dropped after `passed` links.
    pub(crate) fn note_drop(&mut self, p: &Packet, passed: u8) {
        if p.len > 0 {
            self.dropped.add(p.offset, p.end(), passed);
        } else if p.flags.any(Flags::SYN) {
            self.syn.dropped = true;
        } else if p.flags.any(Flags::FIN) {
            self.fin.dropped = true;
        }
    }
}

impl Flow {
    /// True when both ends closed in order, or one did and the other was about to.
    pub(crate) fn is_orderly(&self) -> bool {
        self.ends.iter().all(|end| end.over.is_some_and(|over| over.reason.is_none()))
    }

    fn broken<T>(&self, what: &str) -> Result<T, SimError> {
        Err(SimError::Conservation(format!("flow {}: {what}", self.info.number)))
    }

    /// Checks that the packets which the books miss are as many as those in flight.
    pub(crate) fn check_packets(&self) -> Result<(), SimError> {
        let missing: u64 = self.ends.iter().map(|end| end.packets.in_flight()).sum();
        if missing == u64::from(self.in_flight) {
            return Ok(());
        }
        self.broken(&format!("{missing} packets are neither delivered nor dropped, {} are in flight", self.in_flight))
    }

    /// Checks each direction's bytes: what was read was delivered, what was delivered had arrived, what arrived was sent, what was sent was
    /// written; and after an orderly close all of them are the same.
    pub(crate) fn check_bytes(&self) -> Result<(), SimError> {
        for (from, to) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            let acked = from.connection.as_ref().map_or(0, |c| c.stats().bytes_acked);
            let delivered = to.connection.as_ref().map_or(0, |c| c.stats().bytes_received);
            let chain = [acked, delivered, to.arrived.prefix, from.sent.high, from.io.written];
            if to.io.read > delivered || chain.windows(2).any(|w| w[0] > w[1]) {
                return self.broken(&format!("read {}, then acked, delivered, arrived, sent, written: {chain:?} is not in order", to.io.read));
            }
            if self.is_orderly() && chain.iter().any(|n| *n != from.io.written) {
                return self.broken(&format!("closed in order, but acked, delivered, arrived, sent, written differ: {chain:?}"));
            }
        }
        Ok(())
    }
}

impl FlowInfo {
    pub(crate) fn of_datagrams(spec: &DatagramSpec) -> Self {
        Self {
            number: 0,
            source: 0,
            client: spec.from,
            server: spec.to,
            stacks: None,
            access: Access { client_up: spec.up, server_down: spec.down, ..Access::default() },
            start: Instant::ZERO,
            group: spec.group.clone(),
            size: None,
            trace: Mask::NONE,
        }
    }
}
