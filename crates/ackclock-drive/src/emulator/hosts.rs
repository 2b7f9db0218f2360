//! Access delays of hosts, as of the simulator's flows.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ackclock_sim::Access;
use ackclock_units::Duration;

/// Access delays by address of the host behind the second port. That host is the client of [`Access`], and
/// its peer behind the first port is the server. An address without an entry has no delays.
pub type AccessDelays = Arc<HashMap<IpAddr, Access>>;

/// The access delays of one direction. The table is never iterated, so that its order does not matter.
#[derive(Clone, Default)]
pub(crate) struct Hosts {
    delays: AccessDelays,
    to_clients: bool,
}

impl Hosts {
    /// For the direction to the hosts of `delays` (`to_clients`) or from them.
    pub(crate) fn new(delays: AccessDelays, to_clients: bool) -> Self {
        Self { delays, to_clients }
    }

    /// The delays before and after the link for a packet between these addresses.
    pub(crate) fn delays(&self, (src, dst): (IpAddr, IpAddr)) -> (Duration, Duration) {
        if self.delays.is_empty() {
            return (Duration::ZERO, Duration::ZERO);
        }
        let access = self.delays.get(if self.to_clients { &dst } else { &src }).copied().unwrap_or_default();
        if self.to_clients {
            (access.server_up, access.client_down)
        } else {
            (access.client_up, access.server_down)
        }
    }
}
