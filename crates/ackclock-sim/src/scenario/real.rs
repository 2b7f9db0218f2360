//! All that runs in one simulation of a scenario, as data, for worlds in real time: the same flows with the same
//! random numbers over the same links.

use std::collections::BTreeMap;
use std::sync::Arc;

use ackclock_policy::Application;
use ackclock_units::{Bytes, Instant, Rng};

use super::build;
use super::error::{Result, ScenarioError};
use super::resolved::{Job, Resolved};
use crate::flow::{Access, DatagramSpec, FlowSeeds, application_stream};
use crate::link::LinkSpec;
use crate::network::{Network, NodeId};

/// Most flows drawn ahead.
const MOST_FLOWS: f64 = 1e6;

/// An application and its random stream.
pub type SeededApplication = (Box<dyn Application>, Rng);

/// A flow.
#[derive(Debug)]
pub struct RealFlow {
    /// When the client opens it.
    pub start: Instant,
    /// The workload that it belongs to.
    pub group: Arc<str>,
    /// Number of its source: flows of one source wait for each other at its barrier.
    pub source: usize,
    /// The client's node and the server's: positions in [`RealRun::nodes`].
    pub nodes: [usize; 2],
    /// The client's stack and the server's: positions in [`Resolved::stacks`].
    pub stacks: [usize; 2],
    /// Delays between its ends and their nodes.
    pub access: Access,
    /// Bytes to transfer, for the tables.
    pub size: Option<Bytes>,
}

/// A link.
pub struct RealLink {
    /// Its name.
    pub name: String,
    /// The nodes at its ends.
    pub ends: [usize; 2],
    /// What it is.
    pub spec: LinkSpec,
}

/// All that runs in one simulation of a scenario.
pub struct RealRun {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The links, by number.
    pub links: Vec<RealLink>,
    /// The flows in the order of their starts.
    pub flows: Vec<RealFlow>,
    /// For each of them, the client's application and the server's.
    pub apps: Vec<[SeededApplication; 2]>,
    /// For each source, how many flows wait for each other.
    pub members: Vec<u64>,
    /// The sources of datagrams.
    pub datagrams: Vec<DatagramSpec>,
    paths: Network,
}

impl RealRun {
    /// The links from one node to another, in order.
    ///
    /// # Errors
    /// When there is no path.
    pub fn path(&self, from: usize, to: usize) -> Result<Vec<u32>> {
        let path = self.paths.path(NodeId(from as u32), NodeId(to as u32));
        let path = path.map_err(|e| ScenarioError::new(format!("`path`: {e}")))?;
        Ok(path.into_iter().map(|link| link.0).collect())
    }
}

impl Resolved {
    /// All that runs in `job`.
    ///
    /// # Errors
    /// When there are too many flows, or no path for one.
    pub fn real_run(&self, job: Job) -> Result<RealRun> {
        if let Some(w) = self.workloads.iter().find(|w| w.expected_flows(self.duration()) > MOST_FLOWS) {
            return Err(ScenarioError::new(format!(
                "workload `{}` would make about {:.0} flows; at most {MOST_FLOWS:.0} run in real time",
                w.name,
                w.expected_flows(self.duration())
            )));
        }
        let paths = build::network(self, true)?;
        let mut sources = build::sources(self, job, &paths)?;
        let stacks: BTreeMap<&str, usize> =
            self.stacks.iter().enumerate().map(|(i, s)| (s.label.as_str(), i)).collect();
        // Not drawn from: starts, nodes, sizes and round-trip times have streams of their own.
        let (mut rng, mut seeds) = (Rng::stream(job.seed, "flows", 0), FlowSeeds::new(job.seed));
        let (mut flows, mut members) = (Vec::new(), Vec::new());
        for (number, source) in sources.flows.iter_mut().enumerate() {
            members.push(source.members());
            while let Some(flow) = source.next(Instant::ZERO, &mut rng) {
                let seed = seeds.next(&flow.group);
                let stack = |label: Arc<str>| stacks.get(&*label).copied().unwrap_or_default();
                let facts = RealFlow {
                    start: flow.start,
                    group: flow.group,
                    source: number,
                    nodes: [flow.client, flow.server].map(|node| node.0 as usize),
                    stacks: [stack(flow.client_stack.label()), stack(flow.server_stack.label())],
                    access: flow.access,
                    size: flow.size,
                };
                let apps = [
                    (flow.client_app, application_stream(seed, 0)),
                    (flow.server_app, application_stream(seed, 1)),
                ];
                flows.push((facts, apps));
            }
        }
        flows.sort_by_key(|(facts, _)| facts.start);
        let (flows, apps) = flows.into_iter().unzip();
        let link = |(name, ends, spec): (String, [NodeId; 2], LinkSpec)| RealLink {
            name,
            ends: ends.map(|node| node.0 as usize),
            spec,
        };
        let links = build::network(self, false)?.into_links().map(link).collect();
        let (nodes, datagrams) = (self.path.nodes.clone(), sources.datagrams);
        Ok(RealRun { nodes, links, flows, apps, members, datagrams, paths })
    }
}
