//! Hosts at different distances from the link, as the simulator's flows have them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ackclock_sim::Access;
use ackclock_units::Duration;

/// Delays between hosts and the emulated link, by the address of the host on the second port's side. It is
/// the client of [`Access`]; whoever it talks to on the other side is the server. An address without an entry
/// is right at the link.
pub type AccessDelays = Arc<HashMap<IpAddr, Access>>;

/// The delays of one direction. Addresses are looked up and never gone through, so that the order of the
/// table does not matter.
#[derive(Clone, Default)]
pub(crate) struct Hosts {
    delays: AccessDelays,
    to_clients: bool,
}

impl Hosts {
    /// Of the direction to the hosts that `delays` knows, or of that from them.
    pub(crate) fn new(delays: AccessDelays, to_clients: bool) -> Self {
        Self { delays, to_clients }
    }

    /// The delays before and after the link of a packet between these two.
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
