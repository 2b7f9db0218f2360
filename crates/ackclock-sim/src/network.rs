//! Nodes, links and the static shortest paths between them.

use std::collections::{BTreeMap, VecDeque};

use crate::error::SimError;
use crate::link::LinkSpec;

/// A node of a network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A one-way link of a network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// Builds a [`Network`].
#[derive(Default)]
pub struct NetworkBuilder {
    nodes: Vec<String>,
    node_names: BTreeMap<String, NodeId>,
    links: Vec<NamedLink>,
    link_names: BTreeMap<String, LinkId>,
}

/// A link with its name and its ends.
pub(crate) struct NamedLink {
    pub(crate) name: String,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) spec: LinkSpec,
}

impl NetworkBuilder {
    /// A network without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// When the name is taken.
    pub fn node(&mut self, name: &str) -> Result<NodeId, SimError> {
        let id = NodeId(
            u32::try_from(self.nodes.len()).map_err(|_| SimError::TooMany("nodes", u64::from(u32::MAX)))?,
        );
        if self.node_names.contains_key(name) {
            return Err(SimError::DuplicateName { what: "node", name: name.to_owned() });
        }
        self.node_names.insert(name.to_owned(), id);
        self.nodes.push(name.to_owned());
        Ok(id)
    }

    /// The node of that name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.node_names.get(name).copied()
    }

    /// Adds a one-way link.
    ///
    /// # Errors
    /// When the name is taken or a node does not exist.
    pub fn link(&mut self, name: &str, from: NodeId, to: NodeId, spec: LinkSpec) -> Result<LinkId, SimError> {
        for node in [from, to] {
            if node.0 as usize >= self.nodes.len() {
                return Err(SimError::UnknownNode(node.0));
            }
        }
        let id = LinkId(
            u32::try_from(self.links.len()).map_err(|_| SimError::TooMany("links", u64::from(u32::MAX)))?,
        );
        if self.link_names.contains_key(name) {
            return Err(SimError::DuplicateName { what: "link", name: name.to_owned() });
        }
        self.link_names.insert(name.to_owned(), id);
        self.links.push(NamedLink { name: name.to_owned(), from, to, spec });
        Ok(id)
    }

    /// Adds a link each way: `name` from `a` to `b`, and `name.back` from `b` to `a`.
    ///
    /// # Errors
    /// When a name is taken or a node does not exist.
    pub fn duplex(
        &mut self,
        name: &str,
        a: NodeId,
        b: NodeId,
        there: LinkSpec,
        back: LinkSpec,
    ) -> Result<(LinkId, LinkId), SimError> {
        Ok((self.link(name, a, b, there)?, self.link(&format!("{name}.back"), b, a, back)?))
    }

    /// The network.
    pub fn build(self) -> Network {
        let mut out = vec![Vec::new(); self.nodes.len()];
        for (i, link) in self.links.iter().enumerate() {
            out[link.from.0 as usize].push(i as u32);
        }
        Network { nodes: self.nodes, links: self.links, out }
    }
}

/// An immutable network.
pub struct Network {
    nodes: Vec<String>,
    pub(crate) links: Vec<NamedLink>,
    /// Links that leave each node, in the order in which they were added.
    out: Vec<Vec<u32>>,
}

/// A packet counts its hops in one byte, whose largest value means "all links".
const MAX_HOPS: usize = 254;

impl Network {
    /// The shortest path from one node to another, in links; among paths of equal length the one whose links
    /// were added first. Empty when both are the same node.
    ///
    /// # Errors
    /// When there is no path, or none of at most 254 links, or a node does not exist.
    pub fn path(&self, from: NodeId, to: NodeId) -> Result<Vec<LinkId>, SimError> {
        for node in [from, to] {
            if node.0 as usize >= self.nodes.len() {
                return Err(SimError::UnknownNode(node.0));
            }
        }
        // Breadth-first search: the first link to reach a node is on a shortest path to it.
        let mut reached_by = vec![None; self.nodes.len()];
        let mut frontier = VecDeque::from([from]);
        while let Some(node) = frontier.pop_front() {
            if node == to {
                break;
            }
            for &link in &self.out[node.0 as usize] {
                let next = self.links[link as usize].to;
                if next != from && reached_by[next.0 as usize].is_none() {
                    reached_by[next.0 as usize] = Some(link);
                    frontier.push_back(next);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let Some(link) = reached_by[node.0 as usize] else {
                let name = |n: NodeId| self.nodes[n.0 as usize].clone();
                return Err(SimError::NoPath { from: name(from), to: name(to) });
            };
            path.push(LinkId(link));
            node = self.links[link as usize].from;
        }
        if path.len() > MAX_HOPS {
            return Err(SimError::TooMany("links on a path", MAX_HOPS as u64));
        }
        path.reverse();
        Ok(path)
    }

    /// Its links, by number: name, ends and what each is.
    pub fn into_links(self) -> impl Iterator<Item = (String, [NodeId; 2], LinkSpec)> {
        self.links.into_iter().map(|link| (link.name, [link.from, link.to], link.spec))
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> Option<&str> {
        self.nodes.get(node.0 as usize).map(String::as_str)
    }

    /// Name of a link.
    pub fn link_name(&self, link: LinkId) -> Option<&str> {
        self.links.get(link.0 as usize).map(|l| l.name.as_str())
    }
}
