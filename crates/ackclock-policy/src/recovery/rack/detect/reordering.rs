//! How long a segment that one sent later has overtaken may still arrive.

use ackclock_units::{Duration, SeqNumber};

use super::{Detection, at_least_sacked};
use crate::{AckInfo, Deliveries, Param, Phase, ScoreboardView, SenderView};

impl Detection {
    /// RACK_update_reo_wnd(): the reordering window grows once in each round trip in which a DSACK shows a
    /// spurious retransmission (the receiver had the data), and is reset after a number of recoveries without
    /// one.
    pub(super) fn update_reo_wnd(&mut self, a: &AckInfo, v: &SenderView, repaired: bool) {
        if self.dsack_round.is_some_and(|end| v.snd_una >= end) {
            self.dsack_round = None;
        }
        // Without reordering before it, Linux does not take a DSACK for reordering (`tcp_dsack_seen`).
        let counts = !self.linux || self.reordering_seen;
        if a.dsack.is_some() && counts && self.dsack_round.is_none() {
            self.dsack_round = Some(v.snd_nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = self.persist;
        } else if repaired {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// RACK.reo_wnd: quarters of the smallest round-trip time, at most the smoothed one. Zero while no
    /// reordering has been seen and a loss is certain.
    pub fn reo_wnd(&self, b: &dyn ScoreboardView, v: &SenderView, repairing: bool) -> Duration {
        if !self.reordering_seen && (repairing || at_least_sacked(self.dup_thresh, b)) {
            return Duration::ZERO;
        }
        let quarter = self.min_rtt.get().unwrap_or(self.rtt) / 4;
        quarter.saturating_mul(u64::from(self.reo_wnd_mult)).min(v.rtt.map_or(Duration::MAX, |r| r.srtt))
    }

    /// What shows reordering to Linux besides: a DSACK that reports a retransmission of what had been SACKed while
    /// something below was still missing (`tcp_sacktag_one`), for the next DSACK, not for this one; and an ack of a
    /// part of what is repaired whose timestamp is older than the retransmission that it acknowledges
    /// (`tcp_try_undo_partial`).
    pub(super) fn linux_sees_reordering(
        &self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        repaired: bool,
    ) -> bool {
        let late_copy =
            a.dsack.and_then(|range| b.segment(range.start)).is_some_and(|s| s.sacked && s.transmissions > 1);
        let partial = v.phase == Phase::Recovery && !repaired && a.newly_acked > 0;
        let of_original = |d: &Deliveries| {
            d.retransmitted
                .zip(d.echoed)
                .is_some_and(|(t, echoed)| t.end_seq <= v.snd_una && echoed < t.xmit_ts)
        };
        late_copy || (partial && a.deliveries.as_ref().is_some_and(of_original))
    }
}

impl Detection {
    /// Linux measures how far a segment that was sent once has come behind the highest one delivered, in segments
    /// (`tcp_check_sack_reordering`); a segment counts as a full one here. Of that only matters whether it is more
    /// than the threshold for duplicate acks.
    pub(super) fn note_distance(&mut self, d: &Deliveries, b: &dyn ScoreboardView, v: &SenderView) {
        let late = |end_seq: &SeqNumber| self.linux && *end_seq < self.fack;
        let Some(end_seq) = d.lowest_sent_once.filter(late) else { return };
        let highest = b.sacked().last().map_or(v.snd_una, |range| range.end).max(self.fack);
        let segment = u64::from(v.smss);
        let distance = u64::from(highest.bytes_since(end_seq)) + segment;
        self.reordered_far |= distance > u64::from(self.dup_thresh) * segment;
    }

    /// A timeout outside of a repair, although the receiver holds as much as would tell of a loss, shows that the
    /// network does not reorder that far any more (`tcp_enter_loss`).
    pub(super) fn forget_distance(&mut self, b: &dyn ScoreboardView, v: &SenderView) {
        if matches!(v.phase, Phase::Open | Phase::Disorder) && at_least_sacked(self.dup_thresh, b) {
            self.reordered_far = false;
        }
    }

    /// True where what arrives out of order counts for the window (`tcp_may_raise_cwnd`).
    pub fn grows_out_of_order(&self) -> bool {
        self.reordered_far
    }
}

/// RACK.reo_wnd_persist.
pub(in crate::recovery::rack) const PERSIST: Param = Param::count(
    "reo_wnd_persist",
    16,
    1..=1000,
    "recoveries without a DSACK after which the reordering window is reset to a quarter of the smallest RTT \
     (RFC 8985 6.2)",
);
