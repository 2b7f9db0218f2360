//! One end of a flow: its connection, the application above it, and the ground truth about what it sent and
//! received.

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
pub(crate) use counts::{Baseline, Counts};
use io::Ending;
pub(crate) use io::{IoState, Rare};
pub(crate) use port::{Port, WayOut};
pub(crate) use sent::SentTruth;

/// One end of a connection. Fields used for every packet are adjacent.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct End {
    pub(crate) sent: SentTruth,
    pub(crate) arrived: Arrived,
    /// The application and its counters.
    pub(crate) user: User<IoState>,
    /// The connection; the server's comes with the first SYN.
    pub(crate) connection: Option<Connection>,
    pub(crate) app_rng: Rng,
}

/// A flow in its slot. When it ends its connections are dropped; the slot is kept until its last packet has
/// left the network.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) ended: bool,
    /// True once an end is over.
    pub(crate) over: bool,
    pub(crate) trace: Mask,
    pub(crate) number: u32,
    pub(crate) start: Instant,
    pub(crate) ends: [End; 2],
    pub(crate) info: FlowInfo,
    /// When its counters start; `None` when they count from the beginning.
    pub(crate) counting: Option<Box<Counting>>,
}

/// When a flow's counters start.
#[derive(Debug)]
pub(crate) enum Counting {
    /// After this many loss episodes.
    After(u32),
    /// They have started; their values then.
    From(Box<Baseline>),
}

/// Constant properties of a flow that are not used per packet.
#[derive(Clone, Debug)]
pub(crate) struct FlowInfo {
    pub(crate) kind: Arc<FlowKind>,
    /// Bytes to transfer; [`FlowInfo::NO_LIMIT`] where there is none.
    size: Bytes,
    /// Seed of its random streams. It depends only on the group and the flow's number within it, so that
    /// other groups do not change it.
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

/// What successive flows of one source have in common.
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
    /// True when both are equal, with stacks and group compared by pointer.
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

    /// Runs the application. Returns true when it was called, in which case another call may do more.
    /// `first`: something other than the application's own actions has happened at this end since the last
    /// call.
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

    /// When and why it was over; `None` while it is not.
    #[inline]
    pub(crate) fn over(&self) -> Option<Ending> {
        self.user.io.over()
    }

    /// As [`End::run_application`], after a call since which only the application has acted.
    #[inline(never)]
    pub(crate) fn run_application_again(&mut self, now: Instant, start: Instant) -> bool {
        self.run_application(now, start, false)
    }

    /// Reads the fields that the next packet will use, to bring them into the cache.
    #[inline]
    pub(crate) fn prefetch(&self) {
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

    /// The earliest deadline of connection and application; [`Instant::FAR_FUTURE`] when there is none.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        let timer =
            self.connection.as_ref().and_then(Connection::poll_timeout).unwrap_or(Instant::FAR_FUTURE);
        self.user.deadline().map_or(timer, |at| timer.min(at))
    }
}

impl Flow {
    /// True when both ends are over without having been aborted.
    pub(crate) fn is_orderly(&self) -> bool {
        self.ends.iter().all(|end| end.over().is_some_and(|over| over.reason.is_none()))
    }

    fn violated<T>(&self, what: &str) -> Result<T, SimError> {
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
            // Without applications.
            ends: [0, 1].map(|side| End::new(User::default(), application_stream(0, side))),
            info: FlowInfo::new(Arc::new(kind), None, 0),
        }
    }

    /// Packets in the network, by its counters.
    pub(crate) fn in_flight(&self) -> u64 {
        self.ends.iter().map(|end| u64::from(end.sent.in_flight)).sum()
    }

    /// Checks that in each direction read <= delivered and acked <= delivered <= arrived <= sent <= written,
    /// and that after an orderly close the last five are equal. Acknowledgments that a misbehaving receiver
    /// sends early are left out.
    pub(crate) fn check_bytes(&self) -> Result<(), SimError> {
        for (from, to) in [(&self.ends[0], &self.ends[1]), (&self.ends[1], &self.ends[0])] {
            let acked = from.connection.as_ref().map_or(0, |c| c.stats().bytes_acked);
            let delivered = to.connection.as_ref().map_or(0, |c| c.stats().bytes_received);
            // A misbehaving receiver may acknowledge bytes before they arrive.
            let acked = acked
                .saturating_sub(to.connection.as_ref().map_or(0, |c| c.acked_early()))
                .max(acked.min(delivered));
            let chain = [acked, delivered, to.arrived.prefix, from.sent.high, from.user.io.written];
            if to.user.io.read > delivered || chain.windows(2).any(|w| w[0] > w[1]) {
                return self.violated(&format!(
                    "read {}, then acked, delivered, arrived, sent, written: {chain:?} is not in order",
                    to.user.io.read
                ));
            }
            if self.is_orderly() && chain.iter().any(|n| *n != from.user.io.written) {
                return self.violated(&format!(
                    "closed in order, but acked, delivered, arrived, sent, written differ: {chain:?}"
                ));
            }
        }
        Ok(())
    }
}
