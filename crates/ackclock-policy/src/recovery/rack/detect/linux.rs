//! What Linux does otherwise than RFC 8985.

use ackclock_units::SeqNumber;

use super::{Detection, at_least_sacked, next};
use crate::{AckInfo, Deliveries, Param, Phase, ScoreboardView, SenderView};

impl Detection {
    /// True where an ack may show losses. In Linux it does after something was delivered, where the ack is one that is
    /// examined (`tcp_ack_is_dubious`, `tcp_rack_mark_lost`), and shows no original of what is repaired
    /// (`tcp_try_undo_partial`); RFC 8985 §6.2 examines all.
    pub fn examines(&mut self, a: &AckInfo, v: &SenderView) -> bool {
        if a.acks_original {
            // It may have undone the recovery, and what was found lost be so no more.
            self.reset_examined(v);
        }
        if self.linux && a.acks_original {
            (self.advanced, self.lost_again) = (true, false);
            // Which is looked at no more: see `undo`.
            self.settled_to = self.found_to;
            return false;
        }
        let undone = std::mem::take(&mut self.undone);
        let dubious =
            undone || v.phase != Phase::Open || a.is_dup || a.newly_sacked > 0 || a.ece || a.dsack.is_some();
        let advanced = self.advanced;
        self.advanced &= !dubious;
        self.lost_again = false;
        !self.linux || advanced
    }

    /// True where what was found last begins a recovery in the repair after a timeout: a lost retransmission, which
    /// counts as another sign of congestion (RFC 5681 §4.3), or anything that the timer has found
    /// (`tcp_fastretrans_alert` with `FLAG_LOST_RETRANS`, `tcp_rack_reo_timeout`).
    pub fn reopens(&self, by_timer: bool) -> bool {
        self.linux && (self.lost_again || by_timer)
    }

    /// True where a recovery that is over leaves segments that were lost, sent again or not: they begin another one,
    /// with another reduction (`tcp_time_to_recover` with `lost_out`).
    pub fn leaves_lost(&self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        let mut at = v.snd_una;
        while let Some(s) = next(b, v, at).filter(|_| self.linux) {
            if s.lost || s.transmissions > 1 {
                return true;
            }
            at = s.range.end;
        }
        false
    }

    /// What shows reordering to Linux besides: a DSACK that reports a retransmission of what had been SACKed while
    /// something below was still missing (`tcp_sacktag_one`), for the next DSACK, not for this one; and an ack of a
    /// part of what is repaired that an original has elicited (`tcp_try_undo_partial`).
    pub(super) fn linux_sees_reordering(&self, a: &AckInfo, b: &dyn ScoreboardView) -> bool {
        let late_copy =
            a.dsack.and_then(|range| b.segment(range.start)).is_some_and(|s| s.sacked && s.transmissions > 1);
        late_copy || a.acks_original
    }

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

/// What Linux does otherwise.
pub(in crate::recovery::rack) const LINUX: Param = Param::flag(
    "linux",
    false,
    "as Linux does: take RACK.rtt of the highest segment that an ack acknowledges, or SACKs if it acknowledges none; \
     let DSACKs widen the reordering window only after reordering has been seen; look for losses only where \
     something was delivered since the last time and no original of what is repaired arrives, and no more at what \
     was found lost before an undo; begin another recovery, with another reduction, where a retransmission is lost \
     after a timeout or a recovery leaves lost segments; grow the window by what is SACKed where segments have come \
     later than `dup_thresh` others. Otherwise of the one sent last, by every DSACK, at every ack, at all that is \
     outstanding, none, and by what is acknowledged (RFC 8985 6.2; RFC 5681 3.1)",
);
