//! Unpredictable ports for outgoing connections (RFC 6056).

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

/// Double-hash port selection (RFC 6056 §3.3.4): a keyed hash of the destination selects the offset and the
/// counter. So ports to one destination are consecutive, and reveal nothing about those to another.
#[derive(Debug)]
pub(super) struct Ports {
    counters: [u16; TABLE],
}

/// First of the ports chosen for outgoing connections (RFC 6335 §6).
const FIRST: u16 = 49_152;
/// Number of these ports.
pub(super) const PORTS: u32 = u16::MAX as u32 - FIRST as u32 + 1;
/// Number of counters (RFC 6056 §3.3.4: TABLE_LENGTH).
const TABLE: usize = 256;

impl Ports {
    pub(super) fn new(keys: &RandomState) -> Self {
        Self { counters: std::array::from_fn(|i| keys.hash_one(("port counter", i)) as u16) }
    }

    /// The next port to try from `from` to `to`.
    pub(super) fn next(&mut self, keys: &RandomState, from: IpAddr, to: SocketAddr) -> u16 {
        let [offset, place] = ["port offset", "port place"].map(|what| keys.hash_one((what, from, to)));
        let counter = &mut self.counters[place as usize % TABLE];
        let port = (offset as u32 % PORTS + u32::from(*counter)) % PORTS;
        *counter = counter.wrapping_add(1);
        FIRST + port as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ports_of_a_destination_are_used_before_one_is_repeated() {
        let keys = RandomState::new();
        let (mut ports, from, to) = (Ports::new(&keys), [10, 0, 0, 1].into(), "10.0.0.2:80".parse().unwrap());
        let mut seen = std::collections::HashSet::new();
        for _ in 0..PORTS {
            let port = ports.next(&keys, from, to);
            assert!(port >= FIRST && seen.insert(port));
        }
    }
}
