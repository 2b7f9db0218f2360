//! Sources of flows and datagrams, built from sizes, arrivals and applications.

use std::sync::Arc;

use ackclock_policy::{Application, Chosen, RateControl, Value, introduce};
use ackclock_trace::Mask;
use ackclock_units::{Bytes, Duration, Instant, Rate, Rng};

use super::transfer::TransferApps;
use super::{Arrivals, OnOff, Sizes};
use crate::flow::{Access, Datagram, DatagramSource, FlowSource, FlowSpec, StackFactory};
use crate::network::NodeId;

/// Stacks and the share of flows that each gets; the shares add up to 1.
pub type Shares = Vec<(f64, Arc<dyn StackFactory>)>;

/// Returns the access delay that a flow adds to the links between two nodes, by number of the flow.
pub type AccessRule = Box<dyn FnMut(u64, NodeId, NodeId, &mut Rng) -> Duration + Send>;

/// The nodes, delays and stacks of a workload's flows.
pub struct Places {
    /// Client nodes; one is drawn for each flow.
    pub clients: Vec<NodeId>,
    /// Server nodes.
    pub servers: Vec<NodeId>,
    /// Access delays of flows.
    pub access: AccessRule,
    /// True when the data flows from server to client. The access delay is then at the client, which is
    /// cheaper to simulate.
    pub server_sends: bool,
    /// Name of the workload: the group of its flows.
    pub group: Arc<str>,
    /// Stacks.
    pub shares: Shares,
    node_rng: Rng,
    rtt_rng: Rng,
    share_rng: Rng,
    count: u64,
}

impl Places {
    /// Places of the workload `group` in the run with seed `seed`.
    pub fn new(
        group: &str,
        seed: u64,
        (clients, servers): (Vec<NodeId>, Vec<NodeId>),
        access: AccessRule,
        shares: Shares,
        server_sends: bool,
    ) -> Self {
        let stream = |what: &str| Rng::stream(seed, &format!("{group}.{what}"), 0);
        let (node_rng, rtt_rng, share_rng) = (stream("nodes"), stream("rtt"), stream("stack"));
        Self {
            clients,
            servers,
            access,
            server_sends,
            group: group.into(),
            shares,
            node_rng,
            rtt_rng,
            share_rng,
            count: 0,
        }
    }

    pub(super) fn next(
        &mut self,
        start: Instant,
        client_app: Box<dyn Application>,
        server_app: Box<dyn Application>,
        size: Option<Bytes>,
    ) -> Option<FlowSpec> {
        // Both are drawn even when there is only one node, so that a second node at one side does not change
        // the other.
        let (c, s) =
            (self.node_rng.below(self.clients.len() as u64), self.node_rng.below(self.servers.len() as u64));
        let client = *self.clients.get(c as usize)?;
        // A node is never its own peer: the next one in the list is taken instead.
        let server = peer(&self.servers, s as usize, client)?;
        self.between((client, server), start, (client_app, server_app), size)
    }

    /// A flow between two nodes that are chosen already.
    fn between(
        &mut self,
        (client, server): (NodeId, NodeId),
        start: Instant,
        (client_app, server_app): (Box<dyn Application>, Box<dyn Application>),
        size: Option<Bytes>,
    ) -> Option<FlowSpec> {
        let extra = (self.access)(self.count, client, server, &mut self.rtt_rng);
        self.count += 1;
        // One number per flow, whatever the shares are, so that a larger share keeps all flows of a smaller
        // one.
        let (u, mut sum) = (self.share_rng.unit(), 0.0);
        let last = self.shares.last()?;
        let chosen = self.shares.iter().find(|(share, _)| {
            sum += share;
            u < sum
        });
        let stack = &chosen.unwrap_or(last).1;
        Some(FlowSpec {
            client,
            server,
            client_stack: Arc::clone(stack),
            server_stack: Arc::clone(stack),
            client_app,
            server_app,
            access: if self.server_sends { Access::at_client(extra) } else { Access::at_server(extra) },
            start,
            group: Arc::clone(&self.group),
            size,
            trace: Mask::NONE,
        })
    }
}

/// Pairs of client and server: `each` different clients for every server, drawn at random. A node is never
/// its own peer (B-A11).
pub(crate) fn peers(
    clients: &[NodeId],
    servers: &[NodeId],
    each: usize,
    rng: &mut Rng,
) -> Vec<(NodeId, NodeId)> {
    let mut pairs = Vec::new();
    for &server in servers {
        let mut others: Vec<NodeId> = clients.iter().copied().filter(|node| *node != server).collect();
        for i in 0..each.min(others.len()) {
            let drawn = i + rng.below((others.len() - i) as u64) as usize;
            others.swap(i, drawn);
            pairs.push((others[i], server));
        }
    }
    pairs
}

/// The node at position `at`, or if that is `other`, the first one after it (cyclically) that is not.
pub(crate) fn peer(nodes: &[NodeId], at: usize, other: NodeId) -> Option<NodeId> {
    nodes[at..].iter().chain(&nodes[..at]).copied().find(|node| *node != other)
}

/// Random arrivals of transfers: the client sends a request, the server a file of random size.
pub struct Web {
    /// Nodes, delays and stacks.
    pub places: Places,
    /// PacketArrival times.
    pub arrivals: Arrivals,
    /// File sizes.
    pub sizes: Sizes,
    /// The random stream of sizes.
    pub size_rng: Rng,
    /// No flow starts at or after this.
    pub stop: Instant,
    /// The applications.
    pub apps: TransferApps,
}

impl FlowSource for Web {
    fn next(&mut self, _: Instant, _: &mut Rng) -> Option<FlowSpec> {
        if self.stop == Instant::ZERO {
            return None;
        }
        let start = self.arrivals.next_arrival();
        if start >= self.stop {
            // The source is called again whenever a flow has ended.
            self.stop = Instant::ZERO;
            return None;
        }
        let size = self.sizes.draw(&mut self.size_rng);
        let (client, server) = self.apps.build(size);
        self.places.next(start, client, server, Some(size))
    }
}

/// A number of flows that run one application each.
pub struct Group {
    /// Nodes, delays and stacks.
    pub places: Places,
    /// Starts that are still to come, the next one last.
    starts: Vec<Instant>,
    /// Number of flows in all.
    flows: u64,
    /// Nodes of the flows in the same order, when they were drawn ahead.
    pairs: Vec<(NodeId, NodeId)>,
    client: Chosen<dyn Application>,
    server: Chosen<dyn Application>,
    size: Option<Bytes>,
}

impl Group {
    /// `flows` flows, or `per_server` flows to each server from different clients unless that is 0. The n-th
    /// starts at `start + n * stagger` plus a random part of `spread`.
    pub fn new(
        places: Places,
        seed: u64,
        (flows, per_server): (u64, u64),
        (start, stagger, spread): (Duration, Duration, Duration),
        (client, server): (Chosen<dyn Application>, Chosen<dyn Application>),
    ) -> Self {
        let mut peers_rng = Rng::stream(seed, &format!("{}.peers", places.group), 0);
        let mut pairs = peers(&places.clients, &places.servers, per_server as usize, &mut peers_rng);
        pairs.reverse();
        let flows = if per_server > 0 { pairs.len() as u64 } else { flows };
        let mut rng = Rng::stream(seed, &format!("{}.starts", places.group), 0);
        let mut starts: Vec<_> =
            (0..flows).map(|n| Instant::ZERO + start + stagger * n + spread.mul_f64(rng.unit())).collect();
        starts.sort_unstable_by(|a, b| b.cmp(a));
        let size = client.params().iter().find_map(|(name, value)| match value {
            Value::Bytes(n) if name == "size" => Some(n),
            _ => None,
        });
        Self { places, starts, flows, pairs, client, server, size }
    }
}

impl FlowSource for Group {
    fn next(&mut self, _: Instant, _: &mut Rng) -> Option<FlowSpec> {
        let start = self.starts.pop()?;
        let (client, mut server) = (self.client.build(), self.server.build());
        // Checked when the scenario was read: the server responds to the requests.
        introduce(&*client, &mut *server);
        match self.pairs.pop() {
            Some(pair) => self.places.between(pair, start, (client, server), self.size),
            None => self.places.next(start, client, server, self.size),
        }
    }

    fn members(&self) -> u64 {
        self.flows
    }
}

/// Datagrams at a constant rate, all the time or in bursts.
pub struct Udp {
    bytes: u32,
    interval: Duration,
    next: Instant,
    stop: Instant,
    bursts: Option<(OnOff, Instant)>,
    rng: Rng,
}

impl Udp {
    /// Source number `index` of the workload `group`: datagrams of `bytes` bytes at `rate` from `start` until
    /// `stop`.
    pub fn new(
        group: &str,
        seed: u64,
        index: u64,
        (rate, bytes): (Rate, u32),
        (start, stop): (Instant, Instant),
        on_off: Option<OnOff>,
    ) -> Self {
        let mut rng = Rng::stream(seed, &format!("{group}.periods"), index);
        let interval = rate.time_to_send(bytes.into()).max(Duration::from_nanos(1));
        // A random phase, so that sources that start together do not send in step.
        let phase = interval.mul_f64(Rng::stream(seed, &format!("{group}.phase"), index).unit());
        let bursts = on_off.map(|p| (p, start + p.periods.draw(p.on, &mut rng)));
        Self { bytes, interval, next: start + phase, stop, bursts, rng }
    }
}

impl DatagramSource for Udp {
    fn next(&mut self, _: &mut Rng) -> Option<Datagram> {
        if let Some((p, on_until)) = &mut self.bursts {
            while self.next >= *on_until && self.next < self.stop {
                let begins = *on_until + p.periods.draw(p.off, &mut self.rng);
                *on_until = begins + p.periods.draw(p.on, &mut self.rng).max(Duration::from_nanos(1));
                self.next = self.next.max(begins);
            }
        }
        if self.next >= self.stop {
            return None;
        }
        let at = self.next;
        self.next += self.interval;
        Some(Datagram { at, bytes: self.bytes })
    }
}

/// Datagrams paced by a rate control (J-A15).
pub struct RateControlled {
    bytes: u32,
    rule: Box<dyn RateControl>,
    next: Instant,
    stop: Instant,
    /// Datagrams sent.
    sent: u64,
    /// Datagrams sent when the rate was last reduced. Reports about these belong to the same congestion: they
    /// were in flight at the old rate.
    fell_at: u64,
}

impl RateControlled {
    /// A source of datagrams of `bytes` bytes, the first at `start`, none from `stop` on.
    pub fn new(rule: Box<dyn RateControl>, bytes: u32, (start, stop): (Instant, Instant)) -> Self {
        Self { bytes, rule, next: start, stop, sent: 0, fell_at: 0 }
    }
}

impl DatagramSource for RateControlled {
    fn next(&mut self, _: &mut Rng) -> Option<Datagram> {
        if self.sent > 0 {
            self.next += self.rule.on_sent().max(Duration::from_nanos(1));
        }
        if self.next >= self.stop {
            return None;
        }
        self.sent += 1;
        Some(Datagram { at: self.next, bytes: self.bytes })
    }

    fn on_report(&mut self, number: u64) {
        if number > self.fell_at {
            self.rule.on_congestion();
            self.fell_at = self.sent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Periods;

    fn sent(on_off: Option<OnOff>, seconds: u64) -> Vec<f64> {
        let stop = Instant::ZERO + Duration::from_secs(seconds);
        let mut source =
            Udp::new("udp", 1, 0, (Rate::from_bits_per_sec(1_000_000), 1250), (Instant::ZERO, stop), on_off);
        let mut rng = Rng::stream(1, "unused", 0);
        std::iter::from_fn(|| source.next(&mut rng)).map(|d| d.at.as_secs_f64()).collect()
    }

    #[test]
    fn a_node_is_never_its_own_peer() {
        let nodes = [0, 1, 2].map(NodeId);
        assert_eq!(peer(&nodes, 1, NodeId(0)), Some(NodeId(1)));
        assert_eq!(peer(&nodes, 1, NodeId(1)), Some(NodeId(2)));
        assert_eq!(peer(&nodes, 2, NodeId(2)), Some(NodeId(0)));
        assert_eq!(peer(&nodes[..1], 0, NodeId(0)), None);
    }

    #[test]
    fn constant_datagrams_keep_their_rate() {
        let times = sent(None, 100);
        assert_eq!(times.len(), 10_000);
        assert!(times.windows(2).all(|w| (w[1] - w[0] - 0.01).abs() < 1e-9));
    }

    #[test]
    fn the_rate_is_reduced_once_for_all_datagrams_in_flight() {
        let mut choice = ackclock_policy::Registry::builtin()
            .choose::<dyn RateControl>("constant-decrement")
            .expect("built in");
        choice.set("step", "0s").expect("a time");
        let mut source = RateControlled::new(
            choice.build(),
            576,
            (Instant::ZERO, Instant::ZERO + Duration::from_secs(100)),
        );
        let mut rng = Rng::stream(1, "unused", 0);
        let mut seconds = |source: &mut RateControlled| source.next(&mut rng).map(|d| d.at.as_secs_f64());
        assert_eq!(
            [seconds(&mut source), seconds(&mut source), seconds(&mut source)],
            [Some(0.0), Some(1.0), Some(2.0)]
        );
        source.on_report(1);
        // Datagrams 2 and 3 were sent at the old rate.
        source.on_report(2);
        source.on_report(3);
        assert_eq!([seconds(&mut source), seconds(&mut source)], [Some(4.0), Some(6.0)]);
        source.on_report(4);
        assert_eq!([seconds(&mut source), seconds(&mut source)], [Some(10.0), Some(14.0)]);
        assert_eq!((0..30).filter_map(|_| seconds(&mut source)).last(), Some(98.0), "none from the end on");
    }

    #[test]
    fn bursts_take_their_share_of_the_time() {
        let p =
            OnOff { on: Duration::from_secs(1), off: Duration::from_millis(500), periods: Periods::Constant };
        let times = sent(Some(p), 150);
        assert!((times.len() as i64 - 10_000).abs() < 150, "{}", times.len());
        assert!(times.iter().all(|t| (t + 1e-9) % 1.5 < 1.0 + 1e-6), "none during OFF");
        let p =
            OnOff { on: Duration::from_secs(2), off: Duration::from_secs(1), periods: Periods::Pareto(2.5) };
        let share = sent(Some(p), 30_000).len() as f64 / 3_000_000.0;
        assert!((share - 2.0 / 3.0).abs() < 0.03, "share {share}");
    }
}
