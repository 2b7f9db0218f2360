//! Encodes a probe's number in its destination port, for replies that quote too little of the probe. The
//! order of ports is unpredictable.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Traceroute's first port, which is normally unused.
pub(super) const FIRST_PORT: u16 = 33_434;
/// Number of ports used: 2^14.
pub(super) const PORTS: u64 = 1 << (2 * HALF);
/// Bits of each half of the value in the Feistel network.
const HALF: u32 = 7;
const MASK: u64 = (1 << HALF) - 1;
/// Four rounds of a Feistel network turn a keyed hash into a permutation (Luby and Rackoff 1988).
const ROUNDS: u64 = 4;

/// The port of probe `number`. Each block of [`PORTS`] probes uses all ports, in a different order.
pub(super) fn port_of(keys: &RandomState, number: u64) -> u16 {
    let (block, place) = (number / PORTS, number % PORTS);
    let (left, right) =
        (0..ROUNDS).fold((place >> HALF, place & MASK), |(l, r), round| (r, l ^ hash(keys, block, round, r)));
    FIRST_PORT + (left << HALF | right) as u16
}

/// The number of the latest probe to `port` before probe `next`.
pub(super) fn latest_to(keys: &RandomState, port: u16, next: u64) -> Option<u64> {
    let place = u64::from(port.checked_sub(FIRST_PORT)?);
    let last = next.checked_sub(1)?;
    let in_block = |block: u64| {
        let (left, right) = (0..ROUNDS)
            .rev()
            .fold((place >> HALF, place & MASK), |(l, r), round| (r ^ hash(keys, block, round, l), l));
        block * PORTS + (left << HALF | right)
    };
    let block = last / PORTS;
    let this = (place < PORTS).then(|| in_block(block))?;
    if this <= last { Some(this) } else { block.checked_sub(1).map(in_block) }
}

fn hash(keys: &RandomState, block: u64, round: u64, half: u64) -> u64 {
    keys.hash_one(("port", block, round, half)) & MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_identifies_the_latest_probe_sent_to_it() {
        let keys = &RandomState::new();
        for number in [0, 1, PORTS - 1, PORTS, 5 * PORTS + 77] {
            let port = port_of(keys, number);
            assert_eq!(latest_to(keys, port, number + 1), Some(number));
            let later = latest_to(keys, port, number + PORTS).expect("a probe to that port");
            assert!((number..number + PORTS).contains(&later) && port_of(keys, later) == port);
        }
        // No probe was sent, or none to that port.
        assert_eq!(latest_to(keys, FIRST_PORT, 0), None);
        assert_eq!(latest_to(keys, port_of(keys, 5), 5), None);
        assert_eq!(latest_to(keys, FIRST_PORT - 1, 100), None);
        assert_eq!(latest_to(keys, FIRST_PORT + PORTS as u16, u64::MAX / 2), None);
    }

    #[test]
    fn a_block_uses_all_ports_in_an_unpredictable_order() {
        let keys = &RandomState::new();
        let ports: Vec<u16> = (0..PORTS).map(|n| port_of(keys, n)).collect();
        let mut sorted = ports.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(FIRST_PORT..FIRST_PORT + PORTS as u16));
        let follow =
            ports.windows(2).filter(|w| w[1].wrapping_sub(w[0]) == ports[1].wrapping_sub(ports[0])).count();
        assert!(follow < 20, "{follow}");
    }
}
