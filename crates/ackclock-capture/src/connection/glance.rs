//! A connection while packets of it still come.

use ackclock_units::Instant;

use super::Flow;
use crate::glance::Glance;
use crate::half::Half;

impl Flow {
    /// Its latest packet.
    pub(crate) fn latest(&self) -> Instant {
        self.end
    }

    /// No packet of it is to be expected.
    pub(crate) fn is_over(&self) -> bool {
        self.closed() || self.resets.seen
    }

    pub(crate) fn glance(&self) -> Glance {
        let halves = [&self.halves[self.client], &self.halves[1 - self.client]];
        let sum = |of: fn(&Half) -> u64| halves.iter().map(|h| of(h)).sum();
        Glance {
            client: self.ends[self.client],
            server: self.ends[1 - self.client],
            start: self.start,
            latest: self.end,
            standing: self.standing(),
            packets: sum(|h| h.out.packets),
            bytes: halves.map(|h| h.out.unique_bytes),
            retransmitted: sum(|h| h.out.retransmitted_packets),
            rtt: halves.iter().filter_map(|h| h.path.rtt()).map(|r| r.0).max(),
            under_way: sum(|h| h.space.flight()),
            closed: halves.iter().any(|h| h.heard.window_closed()),
        }
    }
}
