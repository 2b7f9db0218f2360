//! One end of a flow: its connection, the application above it, and what the world knows of it.

use std::hint::black_box;
use std::sync::Arc;

use ackclock_engine::{AbortReason, Books, Connection, ConnectionEvent, Stats, Transmit, User};
use ackclock_trace::{Mask, SendKind};
use ackclock_units::{Bytes, Duration, Instant, Rng, SeqNumber};
use ackclock_wire::Flags;

use crate::error::SimError;
use crate::flow::{DatagramSpec, StackFactory};
use crate::lane::Lane;
use crate::network::NodeId;
use crate::packet::Packet;
use crate::truth::{Arrived, Copied, Dropped};

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

/// One end of a connection. What a packet touches lies together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct End {
    pub(crate) packets: PacketBooks,
    pub(crate) arrived: Arrived,
    pub(crate) sent: SentTruth,
    /// The application.
    pub(crate) user: User<IoState>,
    pub(crate) over: Option<Ending>,
    /// The connection; the server's comes with the first SYN.
    pub(crate) connection: Option<Connection>,
    pub(crate) app_rng: Rng,
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
    /// Out of line: few stacks send copies.
    copied: Option<Box<Copied>>,
}

/// A SYN or a FIN, which occupy no stream position.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ControlTruth {
    pub(crate) sent: bool,
    pub(crate) dropped: bool,
}

/// Packets that an endpoint has sent, and those of them, with the copies that the network made, that must be in the network.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PacketBooks {
    pub(crate) sent: u64,
    pub(crate) in_flight: u32,
}

impl PacketBooks {
    #[inline]
    pub(crate) fn send(&mut self) {
        self.sent += 1;
        self.in_flight += 1;
    }

    /// The network has made a copy of one.
    pub(crate) fn copy(&mut self) {
        self.in_flight += 1;
    }

    /// One has left the network: it was delivered, dropped or found damaged.
    #[inline]
    pub(crate) fn leave(&mut self) {
        // One too many shows in the books as more than there can be.
        self.in_flight = self.in_flight.wrapping_sub(1);
    }
}

/// The books of a flow when its counting began.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) at: Instant,
    pub(crate) stats: [Stats; 2],
    /// Packets that its client had sent.
    pub(crate) sent: u64,
    /// Sent and delivered.
    pub(crate) datagram_bytes: [Bytes; 2],
    pub(crate) unneeded: [u64; 2],
    pub(crate) spurious_timeouts: [u32; 2],
}

/// What an application has done with its connection.
#[derive(Default, Debug)]
pub(crate) struct IoState {
    /// Of a source of datagrams: bytes sent.
    pub(crate) written: Bytes,
    /// Of a source of datagrams: bytes delivered to the other end.
    pub(crate) read: Bytes,
    /// Out of line: most applications have no transactions.
    pub(crate) responses: Option<Box<Responses>>,
}

/// Transactions of an application: when the one that runs began, how many are over and how long they took together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Responses {
    pub(crate) started: Option<Instant>,
    pub(crate) sum: Duration,
    pub(crate) count: u32,
}

impl Books for IoState {
    #[inline]
    fn read(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes {
        let got = connection.read_counted(now, n);
        self.read += got;
        got
    }

    #[inline]
    fn write(&mut self, connection: &mut Connection, now: Instant, n: Bytes) -> Bytes {
        let taken = connection.write_counted(now, n);
        self.written += taken;
        taken
    }

    fn begin(&mut self, at: Instant) {
        self.responses.get_or_insert_default().started = Some(at);
    }

    fn begun(&mut self) -> Option<Instant> {
        self.responses.as_mut().and_then(|r| r.started.take())
    }

    fn record(&mut self, since: Instant, now: Instant) {
        let responses = self.responses.get_or_insert_default();
        responses.sum += now.since(since);
        responses.count += 1;
    }
}

/// A flow's place. The connections of an ended one are gone; the place stays until its packets are.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) ended: bool,
    /// An end is over.
    pub(crate) over: bool,
    pub(crate) trace: Mask,
    pub(crate) number: u32,
    pub(crate) start: Instant,
    pub(crate) ends: [End; 2],
    pub(crate) info: FlowInfo,
    /// Loss episodes that must be over before its counters count; 0 when it waits for none.
    pub(crate) awaited: u32,
    /// Its books when they began to count, where that was not from the beginning.
    pub(crate) before: Option<Box<Before>>,
}

/// What does not change in a flow's life and no packet asks for.
#[derive(Clone, Debug)]
pub(crate) struct FlowInfo {
    pub(crate) kind: Arc<FlowKind>,
    pub(crate) size: Option<Bytes>,
    /// Seed of its random streams: follows from the group and the flow's number within it, so that other groups change nothing.
    pub(crate) seed: u64,
}

/// What flows have in common that a source makes one after the other.
#[derive(Clone, Debug)]
pub(crate) struct FlowKind {
    /// Number of the source of flows, or of datagrams, that it came from.
    pub(crate) source: u32,
    pub(crate) client: NodeId,
    pub(crate) server: NodeId,
    /// The client's and the server's; `None` for datagrams.
    pub(crate) stacks: Option<[Arc<dyn StackFactory>; 2]>,
    pub(crate) group: Arc<str>,
}

impl FlowKind {
    /// True when `other` is the same to the last pointer.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same_stacks = match (&self.stacks, &other.stacks) {
            (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b)),
            (a, b) => a.is_none() && b.is_none(),
        };
        same_stacks && Arc::ptr_eq(&self.group, &other.group) && (self.source, self.client, self.server) == (other.source, other.client, other.server)
    }
}

impl End {
    pub(crate) fn new() -> Self {
        Self {
            connection: None,
            user: User::default(),
            app_rng: Rng::stream(0, "", 0),
            over: None,
            sent: SentTruth::default(),
            arrived: Arrived::default(),
            packets: PacketBooks::default(),
        }
    }

    /// Lets the application do what there is to do. True when it was called: then there may be more. `first`: something has happened here since it was
    /// asked last, other than what the application itself has done.
    #[inline]
    pub(crate) fn run_application(&mut self, now: Instant, start: Instant, first: bool) -> bool {
        let (Some(connection), over) = (&mut self.connection, &mut self.over) else { return false };
        self.user.run(connection, &mut self.app_rng, (now, start), first, |event| {
            let reason = match event {
                ConnectionEvent::Finished => None,
                ConnectionEvent::Aborted(reason) => Some(reason),
                _ => return,
            };
            *over = over.or(Some(Ending { at: now, reason }));
        })
    }

    /// Reads what the next packet will need, so that it is near by then.
    #[inline]
    pub(crate) fn glance(&self) {
        black_box((self.user.is_waiting(), self.user.books.read, self.sent.high));
        if let Some(c) = &self.connection {
            black_box((c.state(), c.poll_timeout(), c.stats().bytes_received, c.stats().rtt_sum, c.unacked(), c.readable()));
        }
    }

    /// When something happens here by itself; [`Instant::FAR_FUTURE`] for never.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        let timer = self.connection.as_ref().and_then(Connection::poll_timeout).unwrap_or(Instant::FAR_FUTURE);
        self.user.deadline().map_or(timer, |at| timer.min(at))
    }
}

impl SentTruth {
    /// Takes note of a segment. Answers whether it repeats something, and how many links an earlier copy has passed; `None` when its sequence
    /// number does not stand for its stream position.
    #[inline]
    pub(crate) fn note(&mut self, t: &Transmit) -> Option<(bool, u8)> {
        let s = &t.segment;
        if s.len > 0 {
            let right = s.seq.0.wrapping_sub(self.first_seq.0) == t.offset as u32;
            let end = t.offset + u64::from(s.len);
            return right.then(|| if t.kind == SendKind::Copy { self.note_copy(t.offset, end) } else { self.note_data(t.offset, end) });
        }
        if s.flags.any(Flags::SYN | Flags::FIN) {
            return Some((self.note_control(s.flags.any(Flags::SYN)), 0));
        }
        Some((false, 0))
    }

    /// Takes note of a segment with payload `start..end`. Answers whether it repeats bytes, and how many links an earlier copy of them has passed.
    #[inline]
    pub(crate) fn note_data(&mut self, start: u64, end: u64) -> (bool, u8) {
        if start >= self.high {
            self.high = end;
            return (false, 0);
        }
        if let Some(copied) = &mut self.copied {
            copied.forget(start, end);
        }
        let passed = self.dropped.take(start, end.min(self.high));
        self.high = self.high.max(end);
        self.unneeded += u64::from(passed.is_none());
        self.judge_timeout(passed.is_some());
        (true, passed.unwrap_or(u8::MAX))
    }

    /// Takes note of a copy that is sent right behind the segment `start..end`: no retransmission, whatever becomes of the segment. Answers as
    /// [`SentTruth::note_data`].
    #[cold]
    fn note_copy(&mut self, start: u64, end: u64) -> (bool, u8) {
        let passed = self.dropped.take(start, end);
        if passed.is_none() {
            self.copied.get_or_insert_default().add(start, end);
        }
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

    /// Takes note that a packet was dropped after `passed` links. True when a copy of it is under way, or has arrived.
    pub(crate) fn note_drop(&mut self, p: &Packet, passed: u8) -> bool {
        if p.len > 0 && self.copied.as_mut().is_some_and(|copied| copied.spend(p.offset(), p.end())) {
            return true;
        }
        if p.len > 0 {
            self.dropped.add(p.offset(), p.end(), passed);
        } else if p.flags.any(Flags::SYN) {
            self.syn.dropped = true;
        } else if p.flags.any(Flags::FIN) {
            self.fin.dropped = true;
        }
        false
    }
}

impl Flow {
    /// True when both ends closed in order, or one did and the other was about to.
    pub(crate) fn is_orderly(&self) -> bool {
        self.ends.iter().all(|end| end.over.is_some_and(|over| over.reason.is_none()))
    }

    fn broken<T>(&self, what: &str) -> Result<T, SimError> {
        Err(SimError::Conservation(format!("flow {}: {what}", self.number)))
    }

    pub(crate) fn of_datagrams(spec: &DatagramSpec, place: u32) -> Self {
        let kind = FlowKind { source: place, client: spec.from, server: spec.to, stacks: None, group: spec.group.clone() };
        Self {
            ended: false,
            over: false,
            trace: Mask::NONE,
            number: 0,
            start: Instant::ZERO,
            awaited: 0,
            before: None,
            ends: [End::new(), End::new()],
            info: FlowInfo { kind: Arc::new(kind), size: None, seed: 0 },
        }
    }

    /// Packets that the books say must be in the network.
    pub(crate) fn in_flight(&self) -> u64 {
        self.ends.iter().map(|end| u64::from(end.packets.in_flight)).sum()
    }

    /// Checks each direction's bytes: what was read was delivered, what was delivered had arrived, what arrived was sent, what was sent was
    /// written; and after an orderly close all of them are the same.
    pub(crate) fn check_bytes(&self) -> Result<(), SimError> {
        for (from, to) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            let acked = from.connection.as_ref().map_or(0, |c| c.stats().bytes_acked);
            let delivered = to.connection.as_ref().map_or(0, |c| c.stats().bytes_received);
            let chain = [acked, delivered, to.arrived.prefix, from.sent.high, from.user.books.written];
            if to.user.books.read > delivered || chain.windows(2).any(|w| w[0] > w[1]) {
                return self
                    .broken(&format!("read {}, then acked, delivered, arrived, sent, written: {chain:?} is not in order", to.user.books.read));
            }
            if self.is_orderly() && chain.iter().any(|n| *n != from.user.books.written) {
                return self.broken(&format!("closed in order, but acked, delivered, arrived, sent, written differ: {chain:?}"));
            }
        }
        Ok(())
    }
}
