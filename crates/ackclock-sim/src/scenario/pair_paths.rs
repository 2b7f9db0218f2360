//! The paths between the nodes that a workload uses.

use std::collections::BTreeMap;

use ackclock_units::{Bytes, Duration, Rate};

use super::error::{Result, ScenarioError};
use super::resolved::Resolved;
use super::workload::{Body, WorkloadPlan};
use crate::network::{Network, NodeId};

/// Largest number of pairs of client and server whose paths are looked up, and of steps of that search.
pub(super) const MOST_PAIRS: usize = 100_000;
const MOST_STEPS: usize = 1_000_000_000;
/// IP and TCP headers without options.
pub(super) const HEADERS: Bytes = 40;

/// Delays and slowest rates of the paths between a workload's clients and servers, in both directions.
pub(super) struct PairPaths(BTreeMap<(NodeId, NodeId), PairPath>);

#[derive(Clone, Copy)]
pub(super) struct PairPath {
    /// Propagation delay in both directions together.
    pub(super) round_trip: Duration,
    /// Slowest link from client to server.
    pub(super) up: Option<Rate>,
    /// Slowest link from server to client.
    pub(super) down: Option<Rate>,
}

impl PairPaths {
    pub(super) fn get(&self, client: NodeId, server: NodeId) -> Option<PairPath> {
        self.0.get(&(client, server)).copied()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &PairPath> {
        self.0.values()
    }

    /// The paths that `w` uses.
    ///
    /// # Errors
    /// When there is no path between two of its nodes.
    pub(super) fn of(
        w: &WorkloadPlan,
        resolved: &Resolved,
        network: &Network,
        nodes: &BTreeMap<&str, NodeId>,
    ) -> Result<Self> {
        let pairs = w.clients.len().saturating_mul(w.servers.len());
        let most =
            MOST_PAIRS.min(MOST_STEPS / (resolved.path.nodes.len() + 2 * resolved.path.edges.len()).max(1));
        if pairs > most {
            let (name, clients, servers) = (&w.name, w.clients.len(), w.servers.len());
            return Err(ScenarioError::new(format!(
                "workload `{name}` has {clients} clients and {servers} servers; at most {most} pairs are \
                 allowed"
            )));
        }
        let links: Vec<_> = resolved.path.links().map(|(_, _, _, l)| (l.delay, l.capacity())).collect();
        let mut pairs_found = BTreeMap::new();
        if let Body::Flows { params, .. } = &w.body {
            let (wanted, short) = (params.count("per_server") as usize, |s: &&String| {
                w.clients.iter().filter(|c| c != s).count()
            });
            if let Some(server) = w.servers.iter().find(|s| short(s) < wanted) {
                let message =
                    format!("workload `{}` needs {wanted} flows `per_server` from different clients", w.name);
                return Err(ScenarioError::new(format!(
                    "{message}, and for `{server}` there are {}: give more of `client`",
                    short(&server)
                )));
            }
        }
        for client in &w.clients {
            if w.servers.iter().all(|server| server == client) {
                return Err(ScenarioError::new(format!(
                    "workload `{}` has node `{client}` as both client and server: give another `server`",
                    w.name
                )));
            }
            for server in &w.servers {
                let (c, s) = (nodes[client.as_str()], nodes[server.as_str()]);
                if c == s {
                    continue;
                }
                let walk = |from, to| -> Result<(Duration, Option<Rate>)> {
                    let path = network
                        .path(from, to)
                        .map_err(|e| ScenarioError::new(format!("workload `{}` cannot run: {e}", w.name)))?;
                    let along = path.iter().map(|l| links[l.0 as usize]);
                    Ok(along.fold((Duration::ZERO, None), |(sum, least), (delay, rate)| {
                        (sum + delay, [least, rate].into_iter().flatten().min())
                    }))
                };
                let ((there, up), (back, down)) = (walk(c, s)?, walk(s, c)?);
                pairs_found.insert((c, s), PairPath { round_trip: there + back, up, down });
            }
        }
        Ok(Self(pairs_found))
    }
}
