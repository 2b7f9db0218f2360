//! Builds the network and the sources of a resolved scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use ackclock_units::{Duration, Instant, Rng};

use super::error::{Result, ScenarioError};
use super::link::LinkPlan;
use super::log::LogRow;
use super::pair_paths::PairPaths;
use super::resolved::{Job, Resolved};
use super::workload::{Body, WorkloadPlan, makes_requests};
use crate::flow::{DatagramSource, DatagramSpec, FlowSource, Sources, StackFactory};
use crate::link::LinkSpec;
use crate::network::{Network, NetworkBuilder, NodeId};
use crate::workload::Arrivals;
use crate::workload::log::Logged;
use crate::workload::source::{Group, Places, RateControlled, Shares, Udp, Web, peer};
use crate::workload::transfer::{Closes, TransferApps};

/// Numbers of the network's nodes by name.
pub(super) fn node_ids(r: &Resolved) -> BTreeMap<&str, NodeId> {
    (0..).zip(&r.path.nodes).map(|(i, name)| (name.as_str(), NodeId(i))).collect()
}

/// The network; `bare` leaves out queues and faults, for looking up paths only.
pub(super) fn network(r: &Resolved, bare: bool) -> Result<Network> {
    let wrong = |e: crate::SimError| ScenarioError::new(format!("`path`: {e}"));
    let mut builder = NetworkBuilder::new();
    let mut nodes = BTreeMap::new();
    for name in &r.path.nodes {
        nodes.insert(name.as_str(), builder.node(name).map_err(wrong)?);
    }
    let mut link = |name: &str, ends: [&str; 2], spec: LinkSpec| {
        builder.link(name, nodes[ends[0]], nodes[ends[1]], spec).map(|_| ()).map_err(wrong)
    };
    for edge in &r.path.edges {
        let (from, to) = (edge.from.as_str(), edge.to.as_str());
        let bare_spec = |plan: &LinkPlan| LinkSpec::delay(plan.delay);
        let (there, back) = match &edge.back {
            Some(back) if bare => (bare_spec(&edge.link), Some(bare_spec(back))),
            None if bare => (bare_spec(&edge.link), None),
            Some(back) => {
                let (there, back) = edge.link.specs(back);
                (there, Some(back))
            }
            None => (edge.link.spec(), None),
        };
        link(&edge.name, [from, to], there)?;
        if let Some(back) = back {
            link(&format!("{}.back", edge.name), [to, from], back)?;
        }
    }
    Ok(builder.build())
}

/// The sources of flows and datagrams of one job.
pub(super) fn sources(r: &Resolved, job: Job, network: &Network) -> Result<Sources> {
    let nodes = node_ids(r);
    let factories: Vec<Arc<dyn StackFactory>> =
        r.stacks.iter().map(super::stack::StackPlan::factory).collect();
    let shares: Shares =
        r.runs[job.run].shares.iter().map(|(i, share)| (*share, Arc::clone(&factories[*i]))).collect();
    let mut sources = Sources::default();
    for w in &r.workloads {
        let paths = PairPaths::of(w, r, network, &nodes)?;
        match &w.body {
            Body::Udp { .. } => datagrams(&mut sources, w, r, job, &nodes, &paths),
            _ => {
                let own = w.stack.map(|i| vec![(1.0, Arc::clone(&factories[i]))]);
                sources.flows.push(flows(w, r, job, &nodes, paths, own.as_ref().unwrap_or(&shares)));
            }
        }
    }
    Ok(sources)
}

fn ids(names: &[String], nodes: &BTreeMap<&str, NodeId>) -> Vec<NodeId> {
    names.iter().filter_map(|n| nodes.get(n.as_str()).copied()).collect()
}

fn flows(
    w: &WorkloadPlan,
    r: &Resolved,
    job: Job,
    nodes: &BTreeMap<&str, NodeId>,
    paths: PairPaths,
    shares: &Shares,
) -> Box<dyn FlowSource> {
    let rtt = w.rtt.clone();
    let access = move |n: u64, client: NodeId, server: NodeId, rng: &mut Rng| {
        let links = paths.get(client, server).map_or(Duration::ZERO, |path| path.round_trip);
        rtt.draw(n, rng).map_or(Duration::ZERO, |all| all.saturating_sub(links))
    };
    let ends = (ids(&w.clients, nodes), ids(&w.servers, nodes));
    let server_sends = match &w.body {
        Body::Web(_) | Body::Log(_) => true,
        Body::Flows { app, .. } => app.name() == "request" || makes_requests(app),
        Body::Udp { .. } => false,
    };
    let places = Places::new(&w.name, job.seed, ends, Box::new(access), shares.clone(), server_sends);
    match &w.body {
        Body::Flows { params: p, app, peer } => {
            let starts = (p.duration("start"), p.duration("stagger"), p.duration("spread"));
            Box::new(Group::new(
                places,
                job.seed,
                (p.count("flows"), p.count("per_server")),
                starts,
                (app.clone(), peer.clone()),
            ))
        }
        Body::Log(log) => {
            let stop = Instant::ZERO + r.duration();
            let of = |row: &LogRow| (row.at, row.bytes);
            let apps = TransferApps::new(log.params.bytes("request"), Closes::Server);
            Box::new(Logged::new(places, Arc::clone(&log.rows), of, stop, apps))
        }
        Body::Web(web) => {
            let p = &web.params;
            let closes = if p.choice("closes") == "client" { Closes::Client } else { Closes::Server };
            Box::new(Web {
                arrivals: Arrivals::new(
                    web.arrivals,
                    p.ratio("arrival_rate"),
                    Instant::ZERO + p.duration("start"),
                    job.seed,
                    &w.name,
                ),
                sizes: web.sizes.clone(),
                size_rng: Rng::stream(job.seed, &format!("{}.sizes", w.name), 0),
                stop: Instant::ZERO + p.duration("stop").min(r.duration()),
                apps: TransferApps::new(p.bytes("request"), closes),
                places,
            })
        }
        Body::Udp { .. } => unreachable!("datagrams are no flows"),
    }
}

fn datagrams(
    sources: &mut Sources,
    w: &WorkloadPlan,
    r: &Resolved,
    job: Job,
    nodes: &BTreeMap<&str, NodeId>,
    paths: &PairPaths,
) {
    let Body::Udp { params: p, on_off, control } = &w.body else { return };
    let stream = |what: &str| Rng::stream(job.seed, &format!("{}.{what}", w.name), 0);
    let (mut node_rng, mut rtt_rng) = (stream("nodes"), stream("rtt"));
    let (clients, servers) = (ids(&w.clients, nodes), ids(&w.servers, nodes));
    let group: Arc<str> = w.name.as_str().into();
    let period = (Instant::ZERO + p.duration("start"), Instant::ZERO + p.duration("stop").min(r.duration()));
    for n in 0..p.count("flows") {
        let from = clients[node_rng.below(clients.len() as u64) as usize];
        // Checked when the scenario was read: every client has a server at another node.
        let Some(to) = peer(&servers, node_rng.below(servers.len() as u64) as usize, from) else { continue };
        let links = paths.get(from, to).map_or(Duration::ZERO, |path| path.round_trip);
        let extra = w.rtt.draw(n, &mut rtt_rng).map_or(Duration::ZERO, |all| all.saturating_sub(links));
        let bytes = p.bytes("bytes") as u32;
        let source: Box<dyn DatagramSource> = match control {
            Some(rule) => Box::new(RateControlled::new(rule.build(), bytes, period)),
            None => Box::new(Udp::new(&w.name, job.seed, n, (p.rate("rate"), bytes), period, *on_off)),
        };
        let reports = control.as_ref().map(|_| p.bytes("report_bytes") as u32);
        let (down, back) = (extra / 2, if reports.is_some() { extra - extra / 2 } else { Duration::ZERO });
        sources.datagrams.push(DatagramSpec {
            from,
            to,
            up: Duration::ZERO,
            down,
            reports,
            back,
            source,
            group: Arc::clone(&group),
        });
    }
}
