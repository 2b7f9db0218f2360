use super::episode::is_over;
use crate::{AckInfo, Param, Params, Phase, ScoreboardView, SenderView};

/// Duplicate acks without SACK, no more than all outstanding segments can elicit but those that are missing: what is
/// marked lost, and one at least. Where more arrive,
/// or all of them and then an ack of a part, segments were reordered, and the threshold is as many as are
/// outstanding. RFC 5681 §3.2 counts three of them whatever is outstanding; this is Linux's count
/// (`tcp_limit_reno_sacked`, `tcp_check_reno_reordering`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded {
    /// Segments that have left the network by this count.
    left: u16,
    threshold: u16,
}

/// The threshold does not grow beyond this (Linux's `tcp_max_reordering`).
const MOST: u32 = 300;

impl Bounded {
    /// Reads [`BOUNDED`] and the duplicate-ack threshold.
    pub fn new(p: &Params) -> Option<Self> {
        let threshold = p.count("dup_thresh") as u16;
        p.flag("bounded_duplicates").then_some(Self { left: 0, threshold })
    }

    /// Counts an ack. Returns how many duplicate acks it is as good as, where `dup_thresh` indicate a loss.
    pub fn on_ack(&mut self, a: &AckInfo, b: &dyn ScoreboardView, v: &SenderView, dup_thresh: u32) -> u32 {
        self.count(a, b, v);
        if self.left >= self.threshold { dup_thresh } else { u32::from(self.left).min(dup_thresh - 1) }
    }

    fn count(&mut self, a: &AckInfo, b: &dyn ScoreboardView, v: &SenderView) {
        let left = u32::from(self.left);
        if a.newly_acked > 0 {
            // One of the acknowledged segments was the hole, and the others are counted already.
            let reordered = left > 0
                && a.segments_acked <= left
                && v.flight_size > 0
                && !is_more(b, v, left + 1 - a.segments_acked);
            if reordered {
                self.threshold = (left + 1).min(MOST) as u16;
            }
            // A recovery that this ack has undone keeps them, as one that goes on (`tcp_try_undo_partial`); one that
            // it ends does not (`tcp_reset_reno_sack`).
            let repairs = (v.phase == Phase::Recovery || a.acks_original) && !is_over(v);
            let kept = if repairs { left.saturating_sub(a.segments_acked.max(1) - 1) } else { 0 };
            self.left = (if is_more(b, v, kept) { kept } else { kept.saturating_sub(1) }) as u16;
        } else if a.is_dup && !is_ignored(v) {
            let (segments, lost) = outstanding(b, v);
            if left + lost.max(1) < segments {
                self.left = self.left.saturating_add(1);
            } else {
                self.threshold = segments.min(MOST) as u16;
            }
        }
    }

    /// The timer has expired: what was counted is lost.
    pub fn forget(&mut self) {
        self.left = 0;
    }
}

/// True when more than `n` segments are outstanding.
fn is_more(b: &dyn ScoreboardView, v: &SenderView, n: u32) -> bool {
    let mut at = v.snd_una;
    for _ in 0..n {
        match b.segment(at).filter(|_| at < v.snd_nxt) {
            Some(s) => at = s.range.end,
            None => return false,
        }
    }
    at < v.snd_nxt
}

/// True where duplicate acks count for nothing: after a timeout until they may report new data (`tcp_process_loss`),
/// and at the end of a repair, which retransmissions may have elicited (`tcp_is_non_sack_preventing_reopen`).
fn is_ignored(v: &SenderView) -> bool {
    match v.phase {
        Phase::Loss => v.snd_nxt <= v.recovery_point || v.snd_una >= v.recovery_point,
        Phase::Recovery => v.snd_una >= v.recovery_point,
        Phase::Open | Phase::Disorder | Phase::Cwr => false,
    }
}

/// The outstanding segments, and how many of them are marked lost.
fn outstanding(b: &dyn ScoreboardView, v: &SenderView) -> (u32, u32) {
    let (mut at, mut segments, mut lost) = (v.snd_una, 0, 0);
    while let Some(s) = b.segment(at).filter(|_| at < v.snd_nxt) {
        (at, segments, lost) = (s.range.end, segments + 1, lost + u32::from(s.lost || s.transmissions > 1));
    }
    (segments, lost)
}

/// Whether they are counted so.
pub(super) const BOUNDED: Param = Param::flag(
    "bounded_duplicates",
    false,
    "without SACK, count no more duplicate acks than all outstanding segments but one can elicit, and take \
     further ones as a sign of reordering that raises or lowers the threshold to what is outstanding, as \
     Linux does; RFC 5681 3.2 counts all",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Sender;
    use crate::{LossRecovery, Registry};

    fn sender(segments: u32) -> Sender {
        let mut chosen = Registry::builtin().choose::<dyn LossRecovery>("rack").expect("built in");
        chosen.set("bounded_duplicates", "true").expect("declared");
        Sender::with(chosen.build(), false, ackclock_units::SeqNumber(7), segments)
    }

    #[test]
    fn a_single_segment_elicits_no_duplicates() {
        let mut s = sender(1);
        let first = s.v.snd_una;
        for _ in 0..5 {
            assert_ne!(s.ack(first, &[]), Phase::Recovery);
        }
    }

    #[test]
    fn three_segments_elicit_two_and_four_elicit_three() {
        for (segments, enough) in [(3, false), (4, true)] {
            let mut s = sender(segments);
            let first = s.v.snd_una;
            let phases: Vec<_> = (0..3).map(|_| s.ack(first, &[])).collect();
            assert_eq!(phases.contains(&Phase::Recovery), enough, "{segments}");
        }
    }
}
