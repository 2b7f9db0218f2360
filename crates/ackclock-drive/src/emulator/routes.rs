//! Which links a packet takes, by its addresses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ackclock_units::Duration;

use super::hosts::Hosts;

/// The way of a packet through the emulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Its route: a position in [`WayTable::routes`].
    pub route: u32,
    /// Access delay before its first link.
    pub before: Duration,
    /// Access delay after its last link.
    pub after: Duration,
    /// Number of the stream that its packets carry: twice that of their flow, and 1 for the server's; `None` where
    /// flows have no numbers.
    pub stream: Option<u32>,
}

/// A sequence of links, and the port behind the last one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// Numbers of the links.
    pub links: Arc<[u32]>,
    /// Number of the port.
    pub port: usize,
}

/// The routes of a network, and the way of the packets between two addresses. Nothing depends on the order of the
/// latter.
#[derive(Clone, Debug, Default)]
pub struct WayTable {
    /// The routes.
    pub routes: Vec<Route>,
    /// By source and destination. Packets between other addresses go nowhere.
    pub ways: HashMap<(IpAddr, IpAddr), Way>,
}

/// The routes of an emulator.
pub(super) enum Routes {
    /// Two ports with a link each way: the port decides, and the addresses give the access delays.
    TwoPorts([Hosts; 2]),
    /// The addresses decide.
    Table(WayTable),
}

impl Routes {
    /// The way of a packet that came in at `port`, between these addresses; `None` where there is none.
    pub(super) fn find(&self, port: usize, ends: Option<(IpAddr, IpAddr)>) -> Option<Way> {
        match self {
            Self::TwoPorts(hosts) => {
                let none = (Duration::ZERO, Duration::ZERO);
                let (before, after) = ends.map_or(none, |ends| hosts[port].delays(ends));
                Some(Way { route: port as u32, before, after, stream: None })
            }
            Self::Table(table) => table.ways.get(&ends?).copied(),
        }
    }

    /// The link of a route after `hop` others.
    pub(super) fn link(&self, route: u32, hop: u8) -> Option<usize> {
        match self {
            Self::TwoPorts(_) => (hop == 0).then_some(route as usize),
            Self::Table(t) => t.routes[route as usize].links.get(usize::from(hop)).map(|l| *l as usize),
        }
    }

    /// The ways of packets that are known ahead.
    pub(super) fn ways(&self) -> impl Iterator<Item = &Way> {
        let table = match self {
            Self::TwoPorts(_) => None,
            Self::Table(table) => Some(table),
        };
        table.into_iter().flat_map(|table| table.ways.values())
    }

    /// The port behind a route.
    pub(super) fn port(&self, route: u32) -> usize {
        match self {
            Self::TwoPorts(_) => 1 - route as usize,
            Self::Table(table) => table.routes[route as usize].port,
        }
    }
}
