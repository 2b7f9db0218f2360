//! One end of a flow: its connection, the application above it, and what the world knows of it.

mod counts;
mod io;
mod port;
mod sent;

use std::hint::black_box;
use std::sync::Arc;

use ackclock_engine::{Connection, ConnectionEvent, User};
use ackclock_trace::Mask;
use ackclock_units::{Bytes, Instant, Rng, seldom};

use crate::error::SimError;
use crate::flow::{DatagramSpec, StackFactory, application_stream};
use crate::network::NodeId;
use crate::truth::Arrived;
pub(crate) use counts::{Before, Counts};
use io::Ending;
pub(crate) use io::{IoState, Rare};
pub(crate) use port::{Port, WayOut};
use sent::SentTruth;

/// One end of a connection. What a packet touches lies together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct End {
    pub(crate) sent: SentTruth,
    pub(crate) arrived: Arrived,
    /// The application.
    pub(crate) user: User<IoState>,
    /// The connection; the server's comes with the first SYN.
    pub(crate) connection: Option<Connection>,
    pub(crate) app_rng: Rng,
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
    /// Bytes to transfer; [`FlowInfo::NO_LIMIT`] where there is none.
    size: Bytes,
    /// Seed of its random streams: follows from the group and the flow's number within it, so that other
    /// groups change nothing.
    pub(crate) seed: u64,
}

impl FlowInfo {
    const NO_LIMIT: Bytes = Bytes::MAX;

    pub(crate) fn new(kind: Arc<FlowKind>, size: Option<Bytes>, seed: u64) -> Self {
        Self { kind, size: size.unwrap_or(Self::NO_LIMIT), seed }
    }

    pub(crate) fn size(&self) -> Option<Bytes> {
        Some(self.size).filter(|size| *size != Self::NO_LIMIT)
    }
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
        same_stacks
            && Arc::ptr_eq(&self.group, &other.group)
            && (self.source, self.client, self.server) == (other.source, other.client, other.server)
    }
}

impl End {
    #[inline]
    pub(crate) fn new(user: User<IoState>, app_rng: Rng) -> Self {
        Self { sent: SentTruth::default(), arrived: Arrived::default(), user, connection: None, app_rng }
    }

    /// Lets the application do what there is to do. True when it was called: then there may be more. `first`:
    /// something has happened here since it was asked last, other than what the application itself has done.
    #[inline(always)]
    pub(crate) fn run_application(&mut self, now: Instant, start: Instant, first: bool) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        let mut over = None;
        let called = self.user.run(connection, &mut self.app_rng, (now, start), first, |event| {
            let reason = match event {
                ConnectionEvent::Finished => None,
                ConnectionEvent::Aborted(reason) => Some(reason),
                _ => return,
            };
            over = over.or(Some(Ending { at: now, reason }));
        });
        if seldom(over.is_some()) {
            let rare = self.user.io.rare.get_or_insert_default();
            rare.over = rare.over.or(over);
        }
        called
    }

    /// How it came to its end, if it has.
    #[inline]
    pub(crate) fn over(&self) -> Option<Ending> {
        self.user.io.over()
    }

    /// The same once more, when only the application itself has done something since.
    #[inline(never)]
    pub(crate) fn run_application_again(&mut self, now: Instant, start: Instant) -> bool {
        self.run_application(now, start, false)
    }

    /// Reads what the next packet will need, so that it is near by then.
    #[inline]
    pub(crate) fn glance(&self) {
        black_box((self.user.is_waiting(), self.user.io.read, self.sent.high));
        if let Some(c) = &self.connection {
            black_box((
                c.state(),
                c.poll_timeout(),
                c.stats().bytes_received,
                c.stats().rtt_sum,
                c.unacked(),
                c.readable(),
            ));
        }
    }

    /// When something happens here by itself; [`Instant::FAR_FUTURE`] for never.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        let timer =
            self.connection.as_ref().and_then(Connection::poll_timeout).unwrap_or(Instant::FAR_FUTURE);
        self.user.deadline().map_or(timer, |at| timer.min(at))
    }
}

impl Flow {
    /// True when both ends closed in order, or one did and the other was about to.
    pub(crate) fn is_orderly(&self) -> bool {
        self.ends.iter().all(|end| end.over().is_some_and(|over| over.reason.is_none()))
    }

    fn broken<T>(&self, what: &str) -> Result<T, SimError> {
        Err(SimError::Conservation(format!("flow {}: {what}", self.number)))
    }

    pub(crate) fn of_datagrams(spec: &DatagramSpec, place: u32) -> Self {
        let kind = FlowKind {
            source: place,
            client: spec.from,
            server: spec.to,
            stacks: None,
            group: spec.group.clone(),
        };
        Self {
            ended: false,
            over: false,
            trace: Mask::NONE,
            number: 0,
            start: Instant::ZERO,
            counting: None,
            // Nobody is above them.
            ends: [0, 1].map(|side| End::new(User::default(), application_stream(0, side))),
            info: FlowInfo::new(Arc::new(kind), None, 0),
        }
    }

    /// Packets that the books say must be in the network.
    pub(crate) fn in_flight(&self) -> u64 {
        self.ends.iter().map(|end| u64::from(end.sent.in_flight)).sum()
    }

    /// Checks each direction's bytes: what was read was delivered, what was delivered had arrived, what
    /// arrived was sent, what was sent was written; and after an orderly close all of them are the same. What
    /// is acknowledged was delivered, by honest receivers.
    pub(crate) fn check_bytes(&self) -> Result<(), SimError> {
        for (from, to) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            let acked = from.connection.as_ref().map_or(0, |c| c.stats().bytes_acked);
            let delivered = to.connection.as_ref().map_or(0, |c| c.stats().bytes_received);
            // A receiver that cheats may have acknowledged so much before it arrived.
            let acked = acked
                .saturating_sub(to.connection.as_ref().map_or(0, |c| c.acked_early()))
                .max(acked.min(delivered));
            let chain = [acked, delivered, to.arrived.prefix, from.sent.high, from.user.io.written];
            if to.user.io.read > delivered || chain.windows(2).any(|w| w[0] > w[1]) {
                return self.broken(&format!(
                    "read {}, then acked, delivered, arrived, sent, written: {chain:?} is not in order",
                    to.user.io.read
                ));
            }
            if self.is_orderly() && chain.iter().any(|n| *n != from.user.io.written) {
                return self.broken(&format!(
                    "closed in order, but acked, delivered, arrived, sent, written differ: {chain:?}"
                ));
            }
        }
        Ok(())
    }
}
