//! Duplicate acks without SACK, each of which says that one segment has left the network.

use ackclock_units::{Duration, Instant};

use super::Connection;

/// How many duplicate acks came, and what they tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct DuplicateAcks {
    /// Since the acknowledgment number last advanced.
    pub(super) count: u32,
    /// Without SACK: bytes that they say have left the network.
    pub(super) delivered: u32,
    /// Without SACK: the smallest round-trip sample of data, finer than what a timer that counts ticks keeps.
    shortest: Option<Duration>,
}

impl DuplicateAcks {
    pub(super) const fn new() -> Self {
        Self { count: 0, delivered: 0, shortest: None }
    }

    /// None came since.
    pub(super) fn forget(&mut self) {
        (self.count, self.delivered) = (0, 0);
    }

    /// A round-trip sample without SACK.
    pub(super) fn sampled(&mut self, rtt: Duration) {
        self.shortest = Some(self.shortest.map_or(rtt, |s| s.min(rtt)));
    }
}

impl Connection {
    /// Each duplicate ack says that one segment left the network; an ack of n segments takes n - 1 of them
    /// back, since one was the hole (RFC 6582 §3.2 step 3, "partial acknowledgments", in terms of `pipe`).
    /// The hole itself has not left it.
    #[inline(never)]
    pub(super) fn count_duplicates(
        &mut self,
        now: Instant,
        is_dup: bool,
        segments_acked: u32,
        flight_before: u32,
    ) {
        let smss = self.smss;
        if is_dup {
            let most = self.answerable(now).min(flight_before).saturating_sub(smss);
            let dups = &mut self.sender.make().dups;
            dups.delivered = (dups.delivered + smss).min(most);
        } else if segments_acked > 0 && self.sender.dups.delivered > 0 {
            let most = self.flight_size().saturating_sub(smss);
            let dups = &mut self.sender.make().dups;
            dups.delivered = dups.delivered.saturating_sub((segments_acked - 1) * smss).min(most);
        }
    }

    /// Bytes outstanding that the peer can have had an answer to by now: what was sent within the shortest
    /// round trip has hardly arrived. A receiver that forges duplicate acks has no more segments released
    /// than one that sends them honestly (RFC 5681 §3.2 step 4, its note on bogus duplicate acks).
    fn answerable(&self, now: Instant) -> u32 {
        let measured = self.estimator.rtt().map(|r| r.min_rtt);
        let Some(shortest) = self.sender.dups.shortest.into_iter().chain(measured).min() else {
            return u32::MAX;
        };
        self.sender.sent.sent_by(now.saturating_sub(shortest))
    }
}
