//! Connections as they are while packets of them still come.

use std::net::SocketAddr;

use ackclock_units::{Duration, Instant};

use crate::Analysis;
use crate::report::Standing;

/// A connection at a moment.
#[derive(Clone, Debug)]
pub struct Glance {
    /// Who opened it, as far as the capture shows.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// Its first packet and its latest.
    pub start: Instant,
    /// See `start`.
    pub latest: Instant,
    /// Its state.
    pub standing: Standing,
    /// Packets, both ways.
    pub packets: u64,
    /// Payload from the client and from the server, each byte once.
    pub bytes: [u64; 2],
    /// Packets sent again, both ways.
    pub retransmitted: u64,
    /// The smoothed round-trip time of the whole path.
    pub rtt: Option<Duration>,
    /// Bytes under way, both ways.
    pub under_way: u64,
    /// A receiver's window is closed.
    pub closed: bool,
}

impl Analysis {
    /// The connections of which a packet came last, `most` at most, the latest first.
    pub fn glances(&self, most: usize) -> Vec<Glance> {
        let mut latest: Vec<_> = self.flows.iter().enumerate().collect();
        latest.sort_by_key(|(n, flow)| (std::cmp::Reverse(flow.latest()), *n));
        latest.into_iter().take(most).map(|(_, flow)| flow.glance()).collect()
    }

    /// How many connections there are, and how many were dropped for new ones.
    pub fn counted(&self) -> (usize, u64) {
        (self.flows.len(), self.replaced)
    }
}
