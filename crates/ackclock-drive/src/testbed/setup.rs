//! What is set up before a run: hosts, addresses, sockets for datagrams, the roles of both sides.

use std::sync::Arc;

use ackclock_sim::scenario::{Job, RealFlow, RealLink, RealRun, Resolved, SeededApplication};
use ackclock_sim::{Access, Barrier};
use ackclock_units::{Duration, Instant};

use super::datagrams::{Datagrams, Receivers, Senders, SourceFacts};
use super::hosts::{Addresses, HostId, Hosts};
use crate::flows::{App, Barriers, Opening, Place, SideRole};
use crate::ledger::Ledger;
use crate::pattern::PayloadPattern;
use crate::sockets::{SocketOptions, TcpOption};
use crate::{DriveError, Port};

/// A run that is set up.
pub(super) struct Setup {
    pub(super) hosts: Hosts,
    pub(super) flows: Vec<RealFlow>,
    /// The addresses of each flow, then of each source of datagrams, and the round-trip time of each flow's path.
    addresses: Vec<Addresses>,
    pub(super) path_rtts: Vec<Duration>,
    /// Flows of each source that wait for each other.
    pub(super) members: Vec<u64>,
    pub(super) sources: Vec<SourceFacts>,
}

/// What a run consumes.
pub(super) struct Parts {
    pub(super) ports: Vec<Port>,
    pub(super) apps: Vec<[SeededApplication; 2]>,
    pub(super) links: Vec<RealLink>,
    pub(super) senders: Senders,
    pub(super) receivers: Receivers,
}

impl Setup {
    /// Sets a run up whose servers listen at `port`.
    pub(super) fn new(scenario: &Resolved, job: Job, port: u16) -> Result<(Self, Parts), DriveError> {
        let mut run = scenario.real_run(job).map_err(|e| DriveError::Input(e.to_string()))?;
        let stack = stack_of_datagrams(scenario, job.run);
        let of_flow =
            |flow: &RealFlow| [0, 1].map(|end| HostId { node: flow.nodes[end], stack: flow.stacks[end] });
        let of_nodes = |nodes: [usize; 2]| nodes.map(|node| HostId { node, stack });
        let ids = run.flows.iter().flat_map(of_flow);
        let ids =
            ids.chain(run.datagrams.iter().flat_map(|d| of_nodes([d.from, d.to].map(|n| n.0 as usize))));
        let (mut hosts, ports) = Hosts::new(scenario, ids.collect(), port)?;
        let (mut addresses, mut path_rtts) = (Vec::new(), Vec::new());
        for (flow, number) in run.flows.iter().zip(0..) {
            addresses.push(hosts.connect(&run, of_flow(flow), flow.access, number)?);
            path_rtts.push(path_rtt(&run, flow.nodes, flow.access)?);
        }
        let mut all = Datagrams::new()?;
        // As in the table of flows.
        for (d, number) in std::mem::take(&mut run.datagrams).into_iter().zip(run.flows.len() as u32..) {
            let nodes = [d.from, d.to].map(|n| n.0 as usize);
            let access =
                Access { client_up: d.up, server_down: d.down, server_up: d.back, ..Access::default() };
            let at = hosts.connect(&run, of_nodes(nodes), access, number)?;
            all.open(&hosts, &at, d, path_rtt(&run, nodes, access)?)?;
            addresses.push(at);
        }
        let Datagrams { senders, receivers, facts: sources } = all;
        let RealRun { flows, apps, links, members, .. } = run;
        let setup = Self { hosts, flows, addresses, path_rtts, members, sources };
        Ok((setup, Parts { ports, apps, links, senders, receivers }))
    }

    /// How many links the packets of one end of a flow or source take: 0 is the client's.
    pub(super) fn hops(&self, number: usize, end: usize) -> usize {
        let [client, server] = self.addresses[number].hosts;
        self.hosts.hops(if end == 0 { [client, server] } else { [server, client] })
    }

    /// The host of an end of a flow: 0 is the client's.
    pub(super) fn host(&self, number: usize, end: usize) -> usize {
        self.addresses[number].hosts[end]
    }

    /// The port of the host that opens the first connection.
    pub(super) fn first_port(&self) -> usize {
        self.addresses.first().map_or(0, |a| a.hosts[0])
    }

    /// The roles of the side that opens connections and of the one that accepts them.
    pub(super) fn roles(&self) -> (SideRole, SideRole) {
        let opening = |a: &Addresses| Opening { from: a.from, to: a.to, place: a.hosts[0] };
        let opens = SideRole::Opens {
            starts: self.flows.iter().map(|flow| flow.start).collect(),
            openings: self.addresses.iter().take(self.flows.len()).map(opening).collect(),
        };
        let flows = self.addresses.iter().take(self.flows.len()).zip(0..);
        let numbers = flows.map(|(a, n)| ((a.to.ip(), a.from.ip()), n)).collect();
        (opens, SideRole::Accepts { at: self.hosts.listening(), numbers })
    }

    /// Where each host's sockets are, and their options.
    pub(super) fn places(&self, scenario: &Resolved) -> Result<Vec<Place<'_>>, DriveError> {
        let all = self.hosts.stacks().zip(&self.hosts.namespaces).map(|(stack, namespace)| {
            let kernel = scenario.stacks[stack].kernel().unwrap_or_default();
            let options = kernel.options.iter().map(|(name, value)| Ok((TcpOption::named(name)?, *value)));
            let options = options.collect::<Result<Vec<_>, DriveError>>()?;
            Ok(Place { namespace: Some(namespace), options: SocketOptions::new(&options) })
        });
        all.collect()
    }

    /// Where clients wait for each other.
    pub(super) fn barriers(&self) -> Barriers {
        Barriers {
            of_source: self.members.iter().map(|n| Barrier::of(*n)).collect(),
            sources: self.flows.iter().map(|f| f.source).collect(),
        }
    }
}

/// The stack whose hosts send and receive datagrams, which have none themselves.
pub(super) fn stack_of_datagrams(scenario: &Resolved, run: usize) -> usize {
    scenario.runs[run].shares.first().map_or(0, |(stack, _)| *stack)
}

/// The applications of both sides, with what checks their bytes.
pub(super) fn with_ledgers(apps: Vec<[SeededApplication; 2]>) -> [Vec<(App, Ledger)>; 2] {
    let pattern = Arc::new(PayloadPattern::new());
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for (n, [mut client, mut server]) in apps.into_iter().enumerate() {
        client.0.run_began(Instant::ZERO);
        server.0.run_began(Instant::ZERO);
        clients.push((client, Ledger::new(&pattern, n, true)));
        servers.push((server, Ledger::new(&pattern, n, false)));
    }
    [clients, servers]
}

/// The round-trip time of a path without queues and without time to send.
fn path_rtt(run: &RealRun, [a, b]: [usize; 2], access: Access) -> Result<Duration, DriveError> {
    let mut sum = access.round_trip();
    for (from, to) in [(a, b), (b, a)] {
        let path = run.path(from, to).map_err(|e| DriveError::Input(e.to_string()))?;
        sum = path.iter().fold(sum, |sum, link| sum + run.links[*link as usize].spec.delay);
    }
    Ok(sum)
}
