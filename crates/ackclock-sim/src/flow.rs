//! What runs over a network: flows, datagrams and where they come from.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use ackclock_engine::{Config, Policies};
use ackclock_policy::Application;
use ackclock_trace::Mask;
use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::network::NodeId;

/// Builds the endpoints of flows: a configuration shared by all of them, and new policies for each.
pub trait StackFactory: Send + Sync + Debug {
    /// The label under which results are grouped.
    fn label(&self) -> Arc<str>;
    /// The configuration.
    fn config(&self) -> Arc<Config>;
    /// Policies for one endpoint.
    fn policies(&self) -> Policies;
}

/// Pure delays between a flow's endpoints and their nodes. They need no link and lose nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// From the client to its node.
    pub client_up: Duration,
    /// From the client's node to the client.
    pub client_down: Duration,
    /// From the server to its node.
    pub server_up: Duration,
    /// From the server's node to the server.
    pub server_down: Duration,
}

impl Access {
    /// A round trip of `rtt`, all of it at the server's end, half each way. The cheapest to simulate when the
    /// client sends.
    pub fn at_server(rtt: Duration) -> Self {
        let half = rtt / 2;
        Self { server_down: half, server_up: rtt - half, ..Self::default() }
    }

    /// A round trip of `rtt`, all of it at the client's end, half each way.
    pub fn at_client(rtt: Duration) -> Self {
        let half = rtt / 2;
        Self { client_up: half, client_down: rtt - half, ..Self::default() }
    }

    /// A round trip of `rtt` in the last hop of either direction. The cheapest to simulate of all: no packet
    /// is delayed before its first link.
    pub fn in_last_hops(rtt: Duration) -> Self {
        let half = rtt / 2;
        Self { server_down: half, client_down: rtt - half, ..Self::default() }
    }

    /// The sum of all four.
    pub fn round_trip(&self) -> Duration {
        self.client_up + self.client_down + self.server_up + self.server_down
    }
}

/// A connection to simulate.
#[derive(Debug)]
pub struct FlowSpec {
    /// Node of the side that opens.
    pub client: NodeId,
    /// Node of the side that listens.
    pub server: NodeId,
    /// How the client's endpoint is made.
    pub client_stack: Arc<dyn StackFactory>,
    /// How the server's endpoint is made.
    pub server_stack: Arc<dyn StackFactory>,
    /// What runs above the client.
    pub client_app: Box<dyn Application>,
    /// What runs above the server.
    pub server_app: Box<dyn Application>,
    /// Delays between the endpoints and their nodes.
    pub access: Access,
    /// When the client opens.
    pub start: Instant,
    /// Its group in the results (a workload's or a stack's label).
    pub group: Arc<str>,
    /// Application bytes to transfer, for the tables; `None` where there is no limit.
    pub size: Option<Bytes>,
    /// What is traced of it; joined to the mask of the run.
    pub trace: Mask,
}

/// A source of flows, called for one flow at a time during the run, so that they need not all exist at once.
pub trait FlowSource: Send {
    /// Returns the next flow, which must not start before the previous one; `None` when there is none for
    /// now. `rng` is the source's own stream.
    ///
    /// After `None` it is called again when one of its flows has ended.
    fn next(&mut self, now: Instant, rng: &mut Rng) -> Option<FlowSpec>;

    /// Called when one of its flows has ended, for sources that wait for that. `orderly`: the flow was not
    /// aborted.
    fn on_end(&mut self, _now: Instant, _group: &str, _orderly: bool) {}

    /// Number of flows, where the clients of all of them wait for each other at a barrier
    /// ([`ackclock_policy::Wake::Barrier`]).
    fn members(&self) -> u64 {
        0
    }
}

/// A packet of a datagram source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// When it is sent.
    pub at: Instant,
    /// Its size on the wire, headers included.
    pub bytes: u32,
}

/// A source of unacknowledged datagrams (UDP constant, ON/OFF, rate-controlled).
pub trait DatagramSource: Send {
    /// Returns the next packet, which must not be sent before the previous one; `None` ends the source.
    /// Called when the previous one leaves. `rng` is the source's own stream.
    fn next(&mut self, rng: &mut Rng) -> Option<Datagram>;

    /// Called when the receiver's report arrives that datagrams up to this number, counted from 1, are
    /// missing ([`DatagramSpec::reports`]).
    fn on_report(&mut self, _number: u64) {}
}

/// A datagram source and its path.
pub struct DatagramSpec {
    /// Node of the sender.
    pub from: NodeId,
    /// Node of the receiver.
    pub to: NodeId,
    /// Pure delay before the first link.
    pub up: Duration,
    /// Pure delay after the last link.
    pub down: Duration,
    /// Size on the wire of the report that the receiver sends at once for each gap in the numbers of arriving
    /// datagrams; `None` when it sends no reports.
    pub reports: Option<u32>,
    /// Pure delay of a report before the first link of the return path.
    pub back: Duration,
    /// The source of the packets.
    pub source: Box<dyn DatagramSource>,
    /// Its group in the results.
    pub group: Arc<str>,
}

/// The receiver of a source that is paced by reports: it reports each gap in the numbers of arriving datagrams.
#[derive(Debug)]
pub struct GapReceiver {
    /// The number that it expects next.
    expected: u64,
}

impl Default for GapReceiver {
    fn default() -> Self {
        Self { expected: 1 }
    }
}

impl GapReceiver {
    /// A datagram of this number, counted from 1, arrives. Returns what a report says that is sent at once:
    /// datagrams up to this number are missing ([`DatagramSource::on_report`]).
    pub fn arrived(&mut self, number: u64) -> Option<u64> {
        let gap = number > self.expected;
        self.expected = self.expected.max(number.saturating_add(1));
        gap.then(|| number - 1)
    }
}

/// All that runs over a network.
#[derive(Default)]
pub struct Sources {
    /// Sources of flows.
    pub flows: Vec<Box<dyn FlowSource>>,
    /// Sources of datagrams.
    pub datagrams: Vec<DatagramSpec>,
}

/// A fixed list of flows, returned in order of their starts.
pub struct FlowList(std::vec::IntoIter<FlowSpec>);

impl FlowList {
    /// Sorts the flows by start; those that start together keep their order.
    pub fn new(mut flows: Vec<FlowSpec>) -> Self {
        flows.sort_by_key(|f| f.start);
        Self(flows.into_iter())
    }
}

impl FlowSource for FlowList {
    fn next(&mut self, _now: Instant, _rng: &mut Rng) -> Option<FlowSpec> {
        self.0.next()
    }
}

/// Seeds of flows. Each depends only on the run's seed, the flow's group and its number within it, so that
/// other groups do not change it.
pub(crate) struct FlowSeeds {
    seed: u64,
    /// Seed of each group, and how many of it have started.
    groups: BTreeMap<Arc<str>, (u64, u64)>,
}

impl FlowSeeds {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, groups: BTreeMap::new() }
    }

    /// The seed of the next flow of a group.
    pub(crate) fn next(&mut self, group: &Arc<str>) -> u64 {
        if !self.groups.contains_key(group) {
            let seed = Rng::stream(self.seed, &format!("group {group}"), 0).next_u64();
            self.groups.insert(Arc::clone(group), (seed, 0));
        }
        let (seed, count) = self.groups.get_mut(group).expect("just inserted where it was missing");
        *count += 1;
        Rng::stream(*seed, "flow", *count).next_u64()
    }
}

/// The random stream of the application at one end of a flow: side 0 is the client's, side 1 the server's.
pub(crate) fn application_stream(flow_seed: u64, side: u64) -> Rng {
    Rng::stream(flow_seed, "application", side)
}
