//! Conservation of packets, checked at the end of a run.

use super::state::Simulation;
use crate::endpoint::Flow;
use crate::error::SimError;
use crate::packet::Packet;

impl Simulation {
    /// Counts every packet in flight, and compares with the counters of each flow and each link.
    pub(super) fn check_packets_in_flight(&mut self) -> Result<(), SimError> {
        let mut in_flight = vec![0_u64; self.flows.len()];
        let mut on_link = vec![0_u64; self.net.links.len()];
        for p in self.net.pool.alive() {
            in_flight[p.from as usize / 2] += 1;
            if let Some(link) = self.link_of(p) {
                on_link[link as usize] += 1;
            }
        }
        for (flow, found) in self.flows.iter().zip(&in_flight) {
            let counted = flow.as_ref().map_or(0, Flow::in_flight);
            if counted != *found {
                let number = flow.as_ref().map_or(u32::MAX, |f| f.number);
                return Err(SimError::Conservation(format!(
                    "flow {number} has {found} packets in flight, its counters say {counted}"
                )));
            }
        }
        for (i, (place, found)) in self.net.links.iter_mut().zip(&on_link).enumerate() {
            let c = place.link.counters(self.net.now);
            let counted = (c.offered + c.duplicated)
                .checked_sub(c.queue_drops + c.fault_drops + c.doomed + place.delivered);
            if counted != Some(*found) {
                let name = self.net.routes.link_labels(i)[0].clone();
                return Err(SimError::Conservation(format!(
                    "link `{name}` holds {found} packets, its counters say {counted:?}"
                )));
            }
        }
        Ok(())
    }

    /// The link whose counters include a packet: from its offer until it has reached the next link or its
    /// endpoint, access delays included.
    pub(super) fn link_of(&self, p: &Packet) -> Option<u32> {
        let route = self.net.ports[p.from as usize].route;
        match p.hop {
            hop if p.waits() => Some(self.net.routes.link(route, hop)),
            0 => None,
            hop => Some(self.net.routes.link(route, hop - 1)),
        }
    }
}

/// Corrupts the counters, to test the checks.
#[cfg(test)]
impl Simulation {
    pub(crate) fn make_a_packet_vanish(&mut self) {
        let id = self.net.pool.alive_ids().next().expect("a packet in flight");
        self.net.pool.free(id);
    }

    pub(crate) fn miscount_a_link(&mut self) {
        self.net.links[0].delivered += 1;
    }

    pub(crate) fn forget_arrivals(&mut self) {
        self.flows[0].as_mut().expect("the flow").ends[1].arrived = Default::default();
    }
}
