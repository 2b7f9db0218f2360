//! What Linux does otherwise than RFC 8985.

use ackclock_units::{Duration, SeqNumber};

use super::{Detection, at_least_sacked};
use crate::{AckInfo, Deliveries, Param, Phase, ScoreboardView, SenderView};

impl Detection {
    /// True where it does as Linux. Its timer then sends what it has found lost, and no new data
    /// (`tcp_rack_reo_timeout`).
    pub fn is_linux(&self) -> bool {
        self.linux
    }

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
        let dubious = self.is_dubious(a, v);
        self.undone = false;
        let advanced = self.advanced;
        self.advanced &= !dubious;
        self.lost_again = false;
        !self.linux || advanced && dubious
    }

    /// The round-trip time that may be the smallest one: the sample of the ack. Linux takes that of the highest segment it
    /// SACKs, or else acknowledges, which has not waited for a delayed ack (`ca_rtt_us` of `tcp_clean_rtx_queue`).
    pub(super) fn newest_sample(&self, a: &AckInfo, v: &SenderView) -> Option<Duration> {
        let newest = |d: &Deliveries| {
            let sacked = d.highest_sacked.filter(|(_, once)| *once);
            let acked = d.highest_acked.filter(|(_, once)| *once && d.retransmitted.is_none());
            sacked.or(acked).map(|(highest, _)| v.now.since(highest.xmit_ts))
        };
        let deliveries = a.deliveries.as_ref().filter(|_| self.linux && a.rtt.is_some());
        deliveries.and_then(newest).or(a.rtt)
    }

    /// True for an ack that Linux looks at more closely (`tcp_ack_is_dubious`).
    fn is_dubious(&self, a: &AckInfo, v: &SenderView) -> bool {
        self.undone || v.phase != Phase::Open || a.is_dup || a.newly_sacked > 0 || a.ece || a.dsack.is_some()
    }

    /// True where such an ack leaves Linux in Disorder although nothing is SACKed: retransmissions are in the network
    /// beside what they repeat, or the oldest segment was sent again (`tcp_try_keep_open`).
    pub fn keeps_disorder(&self, a: &AckInfo, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        self.linux && self.is_dubious(a, v) && b.has_retransmissions()
    }

    /// True for an ack of a part of what is repaired that an original has elicited, while the repair goes on since
    /// retransmissions are in the network: it clocks out new data, and nothing is retransmitted on its account
    /// (`tcp_try_undo_partial`).
    pub fn sends_only_new(&self, a: &AckInfo, v: &SenderView) -> bool {
        self.linux && a.acks_original && v.phase == Phase::Recovery
    }

    /// True where what was found last begins a recovery in the repair after a timeout: a lost retransmission, which
    /// counts as another sign of congestion (RFC 5681 §4.3), or anything that the timer has found
    /// (`tcp_fastretrans_alert` with `FLAG_LOST_RETRANS`, `tcp_rack_reo_timeout`).
    pub fn reopens(&self, by_timer: bool) -> bool {
        self.linux && (self.lost_again || by_timer)
    }

    /// True where segments are lost, sent again or not, as a recovery ends or at an ack outside of one that Linux looks at
    /// more closely: they begin another one, with another reduction (`tcp_time_to_recover` with `lost_out`).
    pub fn leaves_lost(&self, a: &AckInfo, b: &dyn ScoreboardView, v: &SenderView, over: bool) -> bool {
        let outside = matches!(v.phase, Phase::Open | Phase::Disorder);
        self.linux && (over || outside && self.is_dubious(a, v)) && b.has_marked_lost()
    }

    /// What shows reordering to Linux besides: a DSACK that reports a retransmission of what had been SACKed while
    /// something below was still missing (`tcp_sacktag_one`), for the next DSACK, not for this one; and an ack of a
    /// part of what is repaired that an original has elicited (`tcp_try_undo_partial`).
    pub(super) fn linux_sees_reordering(&self, a: &AckInfo, b: &dyn ScoreboardView) -> bool {
        late_copy(a, b).is_some() || a.acks_original
    }

    /// Linux measures how far a segment that was sent once has come behind the highest one delivered, in segments
    /// (`tcp_check_sack_reordering`); a segment counts as a full one here. Of that only matters whether it is more
    /// than the threshold for duplicate acks.
    pub(super) fn note_distance(
        &mut self,
        a: &AckInfo,
        d: &Deliveries,
        b: &dyn ScoreboardView,
        v: &SenderView,
    ) {
        let highest = b.sacked().last().map_or(v.snd_una, |range| range.end).max(self.fack);
        let segment = u64::from(v.smss);
        let late = |end_seq: &SeqNumber| self.linux && *end_seq < self.fack;
        let alone =
            d.lowest_sent_once.filter(late).map(|end_seq| u64::from(highest.bytes_since(end_seq)) + segment);
        // Of an original of what is repaired, from what was acknowledged before (`tcp_try_undo_partial`).
        let repaired = (self.linux && a.acks_original)
            .then(|| u64::from(highest.bytes_since(v.snd_una - a.newly_acked as u32)));
        let reported =
            late_copy(a, b).filter(|_| self.linux).map(|start| u64::from(highest.bytes_since(start)));
        let far = u64::from(self.dup_thresh) * segment;
        self.reordered_far |= alone.max(repaired).max(reported).is_some_and(|distance| distance > far);
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

/// The start of a segment that had been SACKed and of which a DSACK reports the retransmission.
fn late_copy(a: &AckInfo, b: &dyn ScoreboardView) -> Option<SeqNumber> {
    let s = b.segment(a.dsack?.start)?;
    (s.sacked && s.transmissions > 1).then_some(s.range.start)
}

/// What Linux does otherwise.
pub(in crate::recovery::rack) const LINUX: Param = Param::flag(
    "linux",
    false,
    "as Linux does: take RACK.rtt and the smallest round-trip time of the highest segment that an ack acknowledges, or SACKs if it \
     acknowledges none; \
     let DSACKs widen the reordering window only after reordering has been seen; look for losses only where \
     something was delivered since the last time, the ack does more than acknowledge new data outside of a repair, and \
     no original of what is repaired arrives, on whose account \
     nothing is retransmitted either, and no more at what was found lost before an undo; begin another recovery, with another reduction, where a retransmission is lost \
     after a timeout or a recovery leaves lost segments; send no new data when the timer finds losses; grow the window by what is SACKed where segments have come \
     later than `dup_thresh` others. Otherwise of the one sent last, by every DSACK, at every ack, at all that is \
     outstanding, none, and by what is acknowledged (RFC 8985 6.2; RFC 5681 3.1)",
);
