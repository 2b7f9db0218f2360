//! Numbers of flows, for queues that distinguish them.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::net::SocketAddr;

/// Source and destination of a packet.
pub(super) type AddressPair = (SocketAddr, SocketAddr);

/// Number of flows with a unique number. Later flows share these numbers, which bounds the memory under a
/// flood of ports.
const MOST: usize = 65_536;

/// The numbers of one direction's flows.
#[derive(Default)]
pub(super) struct FlowNumbers {
    known: HashMap<AddressPair, u32>,
}

impl FlowNumbers {
    /// The number of the flow between these addresses; 0 for packets without addresses.
    pub(super) fn number(&mut self, ends: Option<AddressPair>) -> u32 {
        let Some(ends) = ends else { return 0 };
        if self.known.len() == MOST && !self.known.contains_key(&ends) {
            return 1 + (self.known.hasher().hash_one(ends) % MOST as u64) as u32;
        }
        let next = self.known.len() as u32 + 1;
        *self.known.entry(ends).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_keeps_its_number_and_the_table_is_bounded() {
        let mut flows = FlowNumbers::default();
        let ends = |n: u32| {
            let client = SocketAddr::from(([10, 0, (n >> 16) as u8, 1], n as u16));
            Some((client, SocketAddr::from(([10, 1, 0, 1], 80))))
        };
        let back = ends(7).map(|(a, b)| (b, a));
        assert_eq!([ends(7), ends(8), back, ends(7), None].map(|e| flows.number(e)), [1, 2, 3, 1, 0]);
        let last = (0..100_000).map(|n| flows.number(ends(n))).max();
        assert_eq!((last, flows.known.len()), (Some(MOST as u32), MOST));
        assert_eq!((flows.number(ends(7)), flows.number(ends(99_999))), (1, flows.number(ends(99_999))));
    }
}
