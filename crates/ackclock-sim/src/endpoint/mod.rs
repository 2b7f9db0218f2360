//! One end of a flow: its connection, the application above it, and what the world knows of it.

mod io;
mod sent;

use std::hint::black_box;
use std::sync::Arc;

use ackclock_engine::{AbortReason, Connection, ConnectionEvent, Stats};
use ackclock_policy::{Application, Wake};
use ackclock_trace::Mask;
use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::error::SimError;
use crate::flow::{DatagramSpec, StackFactory};
use crate::lane::Lane;
use crate::network::NodeId;
use crate::truth::Arrived;
use io::{Io, IoState};
use sent::{PacketBooks, SentTruth};

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
    pub(crate) app: Option<Box<dyn Application>>,
    /// What the application waits for; `None` before the connection is established.
    pub(crate) wake: Option<Wake>,
    pub(crate) over: Option<Ending>,
    pub(crate) io: IoState,
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
    /// From when on its counters count, where that is not from its beginning on.
    pub(crate) counting: Option<Box<Counting>>,
}

/// From when on a flow's counters count.
#[derive(Debug)]
pub(crate) enum Counting {
    /// From when so many loss episodes are over.
    After(u32),
    /// Its books when they began to count.
    From(Box<Before>),
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

    /// Reads the connection's events and calls the application where they concern it. True when it was called: then there may be more. `first`: something has
    /// happened here since it was asked last, other than what the application itself has done.
    #[inline]
    pub(crate) fn run_application(&mut self, now: Instant, start: Instant, first: bool) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        let mut call = match self.wake {
            Some(Wake::At(at)) => at <= now,
            Some(Wake::AckedOrAt(at)) => at <= now || connection.stats().bytes_acked > self.io.seen_acked || first && connection.holds_sacks(),
            Some(Wake::RoomOrAt(_)) => first,
            _ => false,
        };
        let mut established = false;
        while let Some(event) = connection.poll_event() {
            match event {
                ConnectionEvent::Established => established = true,
                ConnectionEvent::Readable if self.wake == Some(Wake::Ended) => {
                    self.io.read += connection.read_counted(now, Bytes::MAX);
                    call |= connection.at_end();
                }
                ConnectionEvent::Readable => call |= self.wake == Some(Wake::Readable),
                ConnectionEvent::Writable => call |= self.wake == Some(Wake::Writable),
                ConnectionEvent::Flushed => call |= self.wake == Some(Wake::Flushed),
                ConnectionEvent::Finished => self.over = self.over.or(Some(Ending { at: now, reason: None })),
                ConnectionEvent::Aborted(reason) => self.over = self.over.or(Some(Ending { at: now, reason: Some(reason) })),
            }
        }
        if call || established {
            // A transaction that begins as the connection opens has waited for the handshake too.
            self.call_application(now, established.then_some(start));
        }
        call || established
    }

    fn call_application(&mut self, now: Instant, opened: Option<Instant>) {
        let (Some(connection), Some(app)) = (&mut self.connection, &mut self.app) else { return };
        self.io.seen_acked = connection.stats().bytes_acked;
        for _ in 0..CALLS_AT_ONCE {
            let mut io = Io { now, opened, connection, state: &mut self.io, moved: false };
            let wake = app.on_wake(now, &mut io, &mut self.app_rng);
            let moved = io.moved;
            // Time must pass, or the run would not end.
            let soon = now + Duration::from_nanos(1);
            self.wake = Some(match wake {
                Wake::At(at) => Wake::At(at.max(soon)),
                Wake::AckedOrAt(at) => Wake::AckedOrAt(at.max(soon)),
                Wake::RoomOrAt(at) => {
                    connection.wait_for_room();
                    Wake::RoomOrAt(at.max(soon))
                }
                other => other,
            });
            let ready = match wake {
                Wake::Readable => moved && (connection.readable() > 0 || connection.at_end()),
                Wake::Ended => moved && connection.at_end(),
                Wake::Writable => moved && connection.writable() > 0,
                Wake::Flushed => connection.unacked() == 0,
                Wake::At(_) | Wake::AckedOrAt(_) | Wake::RoomOrAt(_) | Wake::Done => false,
            };
            if !ready {
                return;
            }
        }
    }

    /// Reads what the next packet will need, so that it is near by then.
    #[inline]
    pub(crate) fn glance(&self) {
        black_box((self.wake.is_some(), self.io.read, self.sent.high));
        if let Some(c) = &self.connection {
            black_box((c.state(), c.poll_timeout(), c.stats().bytes_received, c.stats().rtt_sum, c.unacked(), c.readable()));
        }
    }

    /// When something happens here by itself; [`Instant::FAR_FUTURE`] for never.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        let timer = self.connection.as_ref().and_then(Connection::poll_timeout).unwrap_or(Instant::FAR_FUTURE);
        match self.wake {
            Some(Wake::At(at) | Wake::AckedOrAt(at) | Wake::RoomOrAt(at)) => timer.min(at),
            _ => timer,
        }
    }
}

/// An application that asks again and again for what it already has waits for the next event after so many calls.
const CALLS_AT_ONCE: u32 = 64;

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
            counting: None,
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
