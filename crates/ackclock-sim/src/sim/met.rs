//! What the packets of an endpoint met on their way: drops, and waits in queues.

use ackclock_units::Duration;

use super::path::Net;

/// Counters of an endpoint's packets, from when counting began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Met {
    /// Packets that a queue, a policer or a fault dropped.
    pub dropped: u64,
    /// Waits in queues whose sojourn times are measured: their number, their sum and the longest.
    waits: u64,
    waited: Duration,
    longest: Duration,
}

impl Met {
    /// Adds a wait in a queue.
    pub fn wait(&mut self, time: Duration) {
        self.waits += 1;
        self.waited += time;
        self.longest = self.longest.max(time);
    }

    /// How long its packets waited in all queues of their path together, on average, and the longest wait in one
    /// queue; `None` without measured waits. `links`: how many links of the path measure them.
    pub fn waits(&self, links: u64) -> Option<[Duration; 2]> {
        let total = self.waited.as_nanos().checked_div(self.waits)? * links;
        Some([Duration::from_nanos(total), self.longest])
    }
}

impl Net {
    /// The counters of endpoint `e`.
    pub(super) fn met_by(&mut self, e: u32) -> &mut Met {
        if self.met.len() <= e as usize {
            self.met.resize(self.ports.len(), Met::default());
        }
        &mut self.met[e as usize]
    }

    /// Counts the packets of endpoint `e` from now on.
    pub(super) fn forget_met(&mut self, e: u32) {
        if let Some(met) = self.met.get_mut(e as usize) {
            *met = Met::default();
        }
    }

    /// Packets of endpoint `e` that were dropped.
    pub(super) fn dropped_of(&self, e: u32) -> u64 {
        self.met.get(e as usize).map_or(0, |met| met.dropped)
    }

    /// How long packets of endpoint `e` waited in all queues of their path together, on average, and the longest
    /// wait in one queue; `None` without measured waits.
    pub(super) fn waits_of(&self, e: u32) -> Option<[Duration; 2]> {
        let met = self.met.get(e as usize)?;
        let port = &self.ports[e as usize];
        let measured = (0..port.hops()).filter(|hop| {
            let link = self.routes.link(port.route, *hop as u8);
            self.links[link as usize].link.latest_sojourn().is_some()
        });
        met.waits(measured.count() as u64)
    }
}
