//! Duplicate acks. Without SACK, each of them shows that one segment has left the network.

use ackclock_policy::Phase;
use ackclock_units::{Duration, Instant};

use super::Connection;

/// Counts of duplicate acks.
#[derive(Clone, Copy, Debug)]
pub(super) struct DuplicateAcks {
    /// Duplicate acks since the acknowledgment number last advanced.
    pub(super) count: u32,
    /// Without SACK: bytes that have left the network by their count.
    pub(super) delivered: u32,
    /// Without SACK: the smallest round-trip sample of data. It is finer than that of an estimator that
    /// counts in ticks.
    shortest: Option<Duration>,
}

impl DuplicateAcks {
    pub(super) const fn new() -> Self {
        Self { count: 0, delivered: 0, shortest: None }
    }

    /// Starts counting from zero.
    pub(super) fn reset(&mut self) {
        (self.count, self.delivered) = (0, 0);
    }

    /// Notes a round-trip sample, without SACK.
    pub(super) fn on_rtt_sample(&mut self, rtt: Duration) {
        self.shortest = Some(self.shortest.map_or(rtt, |s| s.min(rtt)));
    }
}

impl Connection {
    /// Each duplicate ack shows that one segment has left the network. An ack of n segments covers n - 1 of
    /// those again, since one of the n was the hole (RFC 6582 §3.2 step 3, "partial acknowledgments", in
    /// terms of `pipe`). The hole itself is never counted.
    #[inline(never)]
    pub(super) fn count_duplicates(
        &mut self,
        now: Instant,
        is_dup: bool,
        segments_acked: u32,
        flight_before: u32,
    ) {
        let smss = self.smss;
        if is_dup && self.config.early_duplicates && self.phase == Phase::Loss {
            // After a timeout Linux counts them only where they may report new data (`tcp_process_loss`).
            if self.snd_nxt <= self.sender.recovery_point {
                return;
            }
        }
        // The timeout of a SYN repairs no data.
        let repaired = self.stats.fast_recoveries + self.stats.timeouts > self.stats.syn_retransmissions;
        if is_dup && self.config.early_duplicates && repaired && self.snd_una == self.sender.recovery_point {
            // And none at the end of a repair, which retransmissions may have elicited
            // (`tcp_is_non_sack_preventing_reopen`, RFC 6582 §4).
            return;
        }
        if is_dup {
            let most = self.acknowledgeable(now).min(flight_before).saturating_sub(self.holes());
            let dups = &mut self.sender.make_mut().dup_acks;
            dups.delivered = (dups.delivered + smss).min(most);
        } else if segments_acked > 0 && self.sender.dup_acks.delivered > 0 {
            let outstanding = if self.config.count_segments {
                self.undelivered_segments().saturating_mul(smss)
            } else {
                self.flight_size()
            };
            let most = if self.forgets_duplicates() { 0 } else { outstanding.saturating_sub(self.holes()) };
            let dups = &mut self.sender.make_mut().dup_acks;
            dups.delivered = dups.delivered.saturating_sub((segments_acked - 1) * smss).min(most);
        }
    }

    /// Outstanding bytes of which no duplicate ack tells: one segment that is missing, or in Linux all that are
    /// marked lost (`tcp_limit_reno_sacked`), in whole segments where windows count those.
    fn holes(&self) -> u32 {
        let sent = &self.sender.sent;
        let lost = match (self.config.early_duplicates, self.config.count_segments) {
            (false, _) => 0,
            (true, false) => sent.lost_bytes(),
            (true, true) => sent.lost_segments().saturating_mul(self.smss),
        };
        lost.max(self.smss)
    }

    /// True where an ack of new data ends what duplicate acks have told (`tcp_reset_reno_sack`): in Linux one that
    /// ends a recovery, one of a part after a timeout, and every one outside of repairs.
    fn forgets_duplicates(&self) -> bool {
        let over = self.snd_una >= self.sender.recovery_point;
        self.config.early_duplicates
            && match self.phase {
                Phase::Recovery => over,
                Phase::Loss => !over,
                Phase::Open | Phase::Disorder | Phase::Cwr => true,
            }
    }

    /// Outstanding bytes whose acks can have arrived by now: not those sent within the shortest round trip.
    /// So forged duplicate acks release no more segments than honest ones (RFC 5681 §3.2 step 4, its note on
    /// bogus duplicate acks).
    fn acknowledgeable(&self, now: Instant) -> u32 {
        if self.config.early_duplicates {
            return u32::MAX;
        }
        let measured = self.estimator.rtt().map(|r| r.min_rtt);
        let Some(shortest) = self.sender.dup_acks.shortest.into_iter().chain(measured).min() else {
            return u32::MAX;
        };
        self.sender.sent.sent_by(now.saturating_sub(shortest))
    }
}
