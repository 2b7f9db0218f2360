//! How long a segment that one sent later has overtaken may still arrive.

use ackclock_units::Duration;

use super::{Detection, at_least_sacked};
use crate::{AckInfo, Param, ScoreboardView, SenderView};

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
}

/// RACK.reo_wnd_persist.
pub(in crate::recovery::rack) const PERSIST: Param = Param::count(
    "reo_wnd_persist",
    16,
    1..=1000,
    "recoveries without a DSACK after which the reordering window is reset to a quarter of the smallest RTT \
     (RFC 8985 6.2)",
);
