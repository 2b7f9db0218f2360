//! The routes in use, each stored once.

use std::collections::BTreeMap;
use std::sync::Arc;

use ackclock_units::Duration;

use crate::error::SimError;
use crate::link::LinkSpec;
use crate::network::{Network, NodeId};

/// Routes of a network.
pub(crate) struct Routes {
    network: Network,
    /// The links of all routes in use, one route after the other.
    links: Vec<u32>,
    known: BTreeMap<(NodeId, NodeId), (u32, u32)>,
    nodes: Vec<Arc<str>>,
    link_labels: Vec<Arc<str>>,
    delays: Vec<Duration>,
}

impl Routes {
    /// Takes the links out of a network.
    pub(crate) fn new(mut network: Network) -> (Self, Vec<LinkSpec>) {
        let nodes = (0..).map_while(|n| network.node_name(NodeId(n)).map(Arc::from)).collect();
        let link_labels = network.links.iter().map(|l| Arc::from(l.name.as_str())).collect();
        let delays = network.links.iter().map(|l| l.spec.delay).collect();
        let specs = network.links.iter_mut().map(|l| std::mem::take(&mut l.spec)).collect();
        (Self { network, links: Vec::new(), known: BTreeMap::new(), nodes, link_labels, delays }, specs)
    }

    /// The route from one node to another: its index in the table, and its number of links.
    pub(crate) fn find(&mut self, from: NodeId, to: NodeId) -> Result<(u32, u32), SimError> {
        if let Some(route) = self.known.get(&(from, to)) {
            return Ok(*route);
        }
        let path = self.network.path(from, to)?;
        let route = (self.links.len() as u32, path.len() as u32);
        self.links.extend(path.iter().map(|l| l.0));
        self.known.insert((from, to), route);
        Ok(route)
    }

    /// A link of a route.
    #[inline]
    pub(crate) fn link(&self, route: u32, hop: u8) -> u32 {
        self.links[route as usize + usize::from(hop)]
    }

    /// Sum of the propagation delays between two nodes. Zero for a pair without a route in use.
    pub(crate) fn delay_between(&self, from: NodeId, to: NodeId) -> Duration {
        let Some(&(start, len)) = self.known.get(&(from, to)) else { return Duration::ZERO };
        self.links[start as usize..(start + len) as usize]
            .iter()
            .fold(Duration::ZERO, |sum, l| sum + self.delays[*l as usize])
    }

    pub(crate) fn node_label(&self, node: NodeId) -> Arc<str> {
        self.nodes[node.0 as usize].clone()
    }

    /// Name of a link and of its two ends.
    pub(crate) fn link_labels(&self, link: usize) -> [Arc<str>; 3] {
        let l = &self.network.links[link];
        [self.link_labels[link].clone(), self.node_label(l.from), self.node_label(l.to)]
    }
}
