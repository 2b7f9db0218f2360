//! The hosts of a run: a namespace for each node and stack, with an address for each connection.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ackclock_sim::Access;
use ackclock_sim::scenario::{KernelPlan, RealRun, Resolved};
use ackclock_units::Bytes;

use super::KernelCounters;
use crate::emulator::{Route, Way, WayTable};
use crate::{DriveError, Namespace, Port, Tun, TunOptions};

/// Most hosts of a run.
const MOST_HOSTS: usize = 160;
/// Most connections that a host opens.
const MOST_ADDRESSES: u32 = 65_000;
/// Bytes of a segment's IP and TCP headers without options.
pub(super) const HEADERS: Bytes = 40;
/// Where servers listen, unless a run has a port of its own.
pub(super) const PORT: u16 = 5001;
/// Hosts listen at this number of their network, and open from numbers of [`FIRST`] on.
const OWN: u32 = 2;
const FIRST: u32 = 256;
/// Connections that a server may have pending.
const BACKLOG: &str = "16384";

/// What a host is: its node, and the stack that its kernel has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct HostId {
    pub(super) node: usize,
    pub(super) stack: usize,
}

/// All hosts of a run.
pub(super) struct Hosts {
    ids: Vec<HostId>,
    numbers: BTreeMap<HostId, usize>,
    /// By number.
    pub(super) namespaces: Vec<Namespace>,
    /// Connections opened by each.
    opened: Vec<u32>,
    /// The routes, by the numbers of the hosts at their ends.
    routes: BTreeMap<[usize; 2], u32>,
    table: WayTable,
    /// Where servers listen.
    port: u16,
}

/// The addresses of a connection.
pub(super) struct Addresses {
    /// Numbers of the hosts: the one that opens, and the one that is opened to.
    pub(super) hosts: [usize; 2],
    /// Where the connection is opened from and to.
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
}

impl Hosts {
    /// Sets up the hosts `ids` with their kernels' settings, and returns them with a port of each. Servers listen at
    /// `port`.
    pub(super) fn new(
        scenario: &Resolved,
        mut ids: Vec<HostId>,
        port: u16,
    ) -> Result<(Self, Vec<Port>), DriveError> {
        ids.sort_unstable();
        ids.dedup();
        if ids.len() > MOST_HOSTS {
            return Err(DriveError::Input(format!(
                "the scenario has {} hosts, a network namespace for each node and stack with a workload: \
                 expected at most {MOST_HOSTS}",
                ids.len()
            )));
        }
        let (mut namespaces, mut ports) = (Vec::new(), Vec::new());
        for (number, id) in ids.iter().enumerate() {
            let (namespace, device) = host(scenario, number, id.stack)?;
            namespaces.push(namespace);
            ports.push(device);
        }
        let numbers = ids.iter().copied().zip(0..).collect();
        let (opened, routes) = (vec![0; ids.len()], BTreeMap::new());
        Ok((Self { ids, numbers, namespaces, opened, routes, table: WayTable::default(), port }, ports))
    }

    /// The addresses of the next connection between two hosts, which the emulator carries from now on. `number` is
    /// that of its flow.
    pub(super) fn connect(
        &mut self,
        run: &RealRun,
        [client, server]: [HostId; 2],
        access: Access,
        number: u32,
    ) -> Result<Addresses, DriveError> {
        let hosts = [client, server].map(|id| self.numbers[&id]);
        let [a, b] = hosts;
        let opened = &mut self.opened[a];
        if *opened >= MOST_ADDRESSES {
            return Err(DriveError::Input(format!(
                "host `{}` opens more than {MOST_ADDRESSES} connections, each with an address: expected fewer flows",
                run.nodes[client.node]
            )));
        }
        let (from, to) = (address(a, FIRST + *opened), address(b, OWN));
        *opened += 1;
        let there = Way {
            route: self.route(run, [a, b])?,
            before: access.client_up,
            after: access.server_down,
            stream: Some(2 * number),
        };
        let back = Way {
            route: self.route(run, [b, a])?,
            before: access.server_up,
            after: access.client_down,
            stream: Some(2 * number + 1),
        };
        self.table.ways.insert((from, to), there);
        self.table.ways.insert((to, from), back);
        Ok(Addresses { hosts, from: SocketAddr::new(from, 0), to: SocketAddr::new(to, self.port) })
    }

    fn route(&mut self, run: &RealRun, ends: [usize; 2]) -> Result<u32, DriveError> {
        if let Some(route) = self.routes.get(&ends) {
            return Ok(*route);
        }
        let [from, to] = ends.map(|host| self.ids[host].node);
        let links = run.path(from, to).map_err(|e| DriveError::Input(e.to_string()))?;
        let number = self.table.routes.len() as u32;
        self.table.routes.push(Route { links: Arc::from(links), port: ends[1] });
        self.routes.insert(ends, number);
        Ok(number)
    }

    /// The number of links from one host to another, which have a connection.
    pub(super) fn hops(&self, ends: [usize; 2]) -> usize {
        self.routes.get(&ends).map_or(0, |route| self.table.routes[*route as usize].links.len())
    }

    /// The emulator's table of the connections so far.
    pub(super) fn ways(&self) -> WayTable {
        self.table.clone()
    }

    /// The streams between two addresses.
    pub(super) fn streams(&self) -> HashMap<(IpAddr, IpAddr), u32> {
        self.table.ways.iter().filter_map(|(ends, way)| Some((*ends, way.stream?))).collect()
    }

    /// What a host is called in a sentence.
    pub(super) fn name(&self, scenario: &Resolved, host: usize) -> String {
        let HostId { node, stack } = self.ids[host];
        format!(
            "the connections of host `{}` with stack `{}`",
            scenario.path.nodes[node], scenario.stacks[stack].label
        )
    }

    /// Where each host listens.
    pub(super) fn listening(&self) -> Vec<(SocketAddr, usize)> {
        (0..self.ids.len()).map(|host| (SocketAddr::new(address(host, OWN), self.port), host)).collect()
    }

    /// The stack of each host.
    pub(super) fn stacks(&self) -> impl Iterator<Item = usize> {
        self.ids.iter().map(|id| id.stack)
    }

    /// What the kernels have counted.
    pub(super) fn counters(&self, scenario: &Resolved) -> Result<Vec<KernelCounters>, DriveError> {
        let all = self.ids.iter().zip(&self.namespaces).map(|(id, namespace)| {
            Ok(KernelCounters {
                host: scenario.path.nodes[id.node].clone(),
                stack: scenario.stacks[id.stack].label.clone(),
                counters: namespace.tcp_counters()?,
            })
        });
        all.collect()
    }
}

/// Address `n` of a host. Each has a network of 65,536 addresses.
fn address(host: usize, n: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(network(host).to_bits() + n))
}

fn network(host: usize) -> Ipv4Addr {
    // From 10.64.0.0 on; `MOST_HOSTS` fit.
    Ipv4Addr::new(10, 64 + host as u8, 0, 0)
}

/// The namespace of a host whose kernel has the settings of a stack, and its end of the path.
fn host(scenario: &Resolved, number: usize, stack: usize) -> Result<(Namespace, Port), DriveError> {
    let plan = &scenario.stacks[stack];
    let kernel = plan.kernel().unwrap_or_default();
    let namespace = Namespace::new(false)?;
    let [_, x, ..] = network(number).octets();
    let largest = u16::try_from(plan.mss() + HEADERS).unwrap_or(u16::MAX);
    // The device has the last address of the host's network; the network of all hosts is behind it.
    let tun = TunOptions { ipv4: (Ipv4Addr::new(10, x, 255, 254), 8), mtu: largest, ..TunOptions::default() };
    let port = Port::from(Tun::new(&namespace, &tun)?);
    namespace.own(network(number), 16)?;
    for (key, value) in [
        // A connection must not begin with what another one has learned: runs would depend on their order.
        ("net.ipv4.tcp_no_metrics_save", "1"),
        ("net.core.somaxconn", BACKLOG),
        ("net.ipv4.tcp_max_syn_backlog", BACKLOG),
    ] {
        namespace.set_sysctl(key, value)?;
    }
    if plan.ecn() {
        namespace.set_sysctl("net.ipv4.tcp_ecn", "1")?;
    }
    if let Some(retries) = plan.syn_retries() {
        for key in ["net.ipv4.tcp_syn_retries", "net.ipv4.tcp_synack_retries"] {
            namespace.set_sysctl(key, &retries.to_string())?;
        }
    }
    set_kernel(&namespace, &plan.label, &kernel)?;
    Ok((namespace, port))
}

/// Gives a namespace the settings of a stack.
fn set_kernel(namespace: &Namespace, label: &str, kernel: &KernelPlan) -> Result<(), DriveError> {
    let available =
        fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    if !available.is_empty() && !available.split_ascii_whitespace().any(|name| name == kernel.cc) {
        return Err(DriveError::Missing(format!(
            "`stacks.{label}.kernel.cc` is `{}`, which this kernel does not have: expected one of {} \
             (net.ipv4.tcp_available_congestion_control; `modprobe tcp_{}` may add it)",
            kernel.cc,
            available.split_ascii_whitespace().collect::<Vec<_>>().join(", "),
            kernel.cc
        )));
    }
    namespace.set_sysctl("net.ipv4.tcp_congestion_control", &kernel.cc)?;
    if let Some(least) = kernel.rto_min {
        // What a route's `rto_min` does, for all routes.
        let us = (least.as_nanos() / 1000).max(1);
        namespace.set_sysctl("net.ipv4.tcp_rto_min_us", &us.to_string())?;
    }
    kernel.sysctl.iter().try_for_each(|(key, value)| namespace.set_sysctl(key, value))
}
